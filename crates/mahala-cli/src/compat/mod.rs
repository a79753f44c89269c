//! Which option goes with which method and source: one table, asked by every command before a file is read.
//!
//! An option that was typed is either used or refused with what to do instead. Defaults are never refused: only what
//! stands on the command line is looked up.

mod learning;
mod rules;
mod settings;

use crate::options::Command;
use crate::options::explore::Explore;
use crate::options::export::{Export, Form, form_of};
use crate::options::learn::{LearnArgs, RankArg};
use crate::options::target::PairsArg;
use crate::options::tune::Tune;
use anyhow::{Result, bail};
use clap::ArgMatches;
use clap::parser::ValueSource;
use learning::{check_evaluate, check_fit};
use mahala::gmml::Components;
pub(crate) use rules::learns_from;
use rules::{RULES, Rule};
use std::collections::BTreeSet;

/// The options that were typed, by the names clap has for them.
pub(crate) struct Given(BTreeSet<String>);

impl Given {
    /// The options typed after the subcommand.
    pub(crate) fn of(matches: &ArgMatches) -> Self {
        let Some((_, matches)) = matches.subcommand() else { return Self(BTreeSet::new()) };
        let typed = |id: &&clap::Id| {
            // Groups of options have names, too: those of their types.
            !id.as_str().starts_with(|c: char| c.is_ascii_uppercase())
                && matches.try_contains_id(id.as_str()).is_ok()
                && matches.value_source(id.as_str()) == Some(ValueSource::CommandLine)
        };
        Self(matches.ids().filter(typed).map(|id| id.as_str().to_owned()).collect())
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.0.contains(id)
    }

    fn ids(&self) -> impl Iterator<Item = &String> {
        self.0.iter()
    }
}

/// Refuses an option that would change nothing, with what to do instead.
pub(crate) fn check(command: &Command, given: &Given) -> Result<()> {
    match command {
        Command::Fit(fit) => check_fit(fit, given),
        Command::Evaluate(evaluate) => check_evaluate(evaluate, given),
        Command::Tune(tune) => check_tune(tune, given),
        Command::Explore(explore) => check_explore(explore),
        Command::Export(export) => check_export(export, given),
        // Their options go with any model; what does not is refused where the model is known.
        Command::Demo(_)
        | Command::Adapt(_)
        | Command::Retrieval(_)
        | Command::Transform(_)
        | Command::Predict(_)
        | Command::Neighbors(_)
        | Command::Pairs(_)
        | Command::Moments(_)
        | Command::Merge(_)
        | Command::Man(_)
        | Command::Methods(_)
        | Command::Inspect(_)
        | Command::Completions { .. } => Ok(()),
    }
}

/// The keys of the table for what was typed.
fn keys(given: &Given, learn: &LearnArgs, pairs: &PairsArg) -> Vec<&'static str> {
    let kind = |rule: &&Rule| match rule.key.split_once('=') {
        None if rule.key == "rank" => {
            given.has("rank") && matches!(learn.rank, Some(RankArg::Given(Components::Count(_))))
        }
        None => given.has(rule.key),
        Some(("rank", "auto")) => matches!(learn.rank, Some(RankArg::Chosen)),
        Some(("rank", _)) => matches!(learn.rank, Some(RankArg::Given(Components::Share(_)))),
        Some((_, "all")) => given.has("pairs") && *pairs == PairsArg::All,
        Some((_, "sampled")) => *pairs == PairsArg::Sampled,
        Some(_) => matches!(pairs, PairsArg::File(_)),
    };
    RULES.iter().filter(kind).map(|rule| rule.key).collect()
}

fn check_tune(tune: &Tune, given: &Given) -> Result<()> {
    if matches!(tune.pairs, PairsArg::File(_)) {
        bail!("--pairs must be all or sampled here: the curve needs labels");
    }
    if given.has("t") {
        bail!("--t has no effect on tune, which tries every t\nhint: leave it out, or --steps N");
    }
    match tune.learn.rank {
        Some(RankArg::Chosen) => bail!("--rank auto has no effect on tune\nhint: mahala fit --rank auto"),
        Some(RankArg::Given(_)) => bail!(
            "--rank has no effect on tune: t is chosen with all coordinates, before some are left out\nhint: leave it out"
        ),
        None => Ok(()),
    }
}

fn check_explore(explore: &Explore) -> Result<()> {
    if matches!(explore.pairs, PairsArg::File(_)) {
        bail!("--pairs must be all or sampled here: the page needs labels");
    }
    match explore.learn.rank {
        Some(_) => {
            bail!(
                "--rank has no effect on explore, which follows every coordinate\nhint: --coordinates N, or leave it out"
            )
        }
        None => Ok(()),
    }
}

fn check_export(export: &Export, given: &Given) -> Result<()> {
    let form = form_of(export)?;
    if given.has("what") && !matches!(form, Form::Npy | Form::Csv) {
        let has = if form == Form::Json { "JSON holds both matrices" } else { "ONNX holds the map of rows" };
        bail!("--what has no effect: {has}\nhint: leave it out, or --format npy or csv");
    }
    if export.f32 && form != Form::Onnx {
        bail!("--f32 is for ONNX alone\nhint: leave it out, or --format onnx");
    }
    Ok(())
}
