//! Which units are learned on and which are tested, run by run. A unit is a row, a pair or a tuple.

use crate::options::evaluate::Evaluate;
use crate::terminal::format;
use crate::terminal::message::print_message;
use anyhow::{Result, bail};
use mahala::Labels;
use mahala::data::{Folds, Random};
use std::collections::HashSet;

/// One division: what to learn on and what to test.
pub(super) struct Split {
    pub train: Vec<usize>,
    pub test: Vec<usize>,
}

/// Several splits whose errors are counted together.
pub(super) type Run = Vec<Split>;

/// What is divided.
pub(super) struct Units<'a> {
    /// The rows of each unit; none if every row is a unit.
    pub members: Option<&'a [Vec<usize>]>,
    pub rows: usize,
    /// The group of each row, if it is known.
    pub groups: Option<&'a Labels>,
    pub row_numbers: &'a [u64],
    /// What a unit is called.
    pub noun: &'static str,
}

impl Units<'_> {
    fn len(&self) -> usize {
        self.members.map_or(self.rows, <[Vec<usize>]>::len)
    }

    /// The units whose rows are all among these.
    fn within(&self, rows: &[usize]) -> Vec<usize> {
        let Some(members) = self.members else { return rows.to_vec() };
        let inside: HashSet<&usize> = rows.iter().collect();
        (0..members.len()).filter(|&unit| members[unit].iter().all(|row| inside.contains(row))).collect()
    }

    /// A division of rows as one of units; those with rows on both sides are left out.
    fn split(&self, train: &[usize], test: &[usize]) -> Split {
        Split { train: self.within(train), test: self.within(test) }
    }
}

/// The splits that the options ask for, and what to call them.
pub(super) fn draw_runs(args: &Evaluate, units: &Units<'_>) -> Result<(Vec<Run>, String)> {
    if let (Some(train), Some(test)) = (&args.train_rows, &args.test_rows) {
        let rows = (train.positions(units.row_numbers)?, test.positions(units.row_numbers)?);
        if let Some(groups) = units.groups {
            check_apart(&rows, groups)?;
        }
        let split = units.split(&rows.0, &rows.1);
        check_sides(&split, units)?;
        return Ok((vec![vec![split]], format!("rows {train} against rows {test}")));
    }
    let folds = args.test_folds.unwrap_or(2);
    let runs = if args.test_folds.is_some() { 1 } else { args.runs };
    if let Some(groups) = units.groups {
        let seen = groups.class_sizes().iter().filter(|&&size| size > 0).count();
        if seen < folds {
            let seen = format::count(seen as u64, "group");
            bail!("--groups names {seen}, too few for {folds} folds that keep them whole");
        }
    }
    let mut protocol = match args.test_folds {
        Some(k) => format!("{k}-fold cross-validation"),
        None => {
            format!("{} of random halves, each tested against the other", format::count(runs as u64, "run"))
        }
    };
    if units.members.is_some() {
        protocol += &format!(" of the {}s", units.noun);
    }
    if units.groups.is_some() {
        protocol += "; groups are kept whole";
    }
    let runs = (0..runs).map(|run| draw(units, folds, args.learn.seed, run)).collect::<Result<Vec<Run>>>()?;
    runs.iter().flatten().try_for_each(|split| check_sides(split, units))?;
    Ok((runs, protocol))
}

fn draw(units: &Units<'_>, folds: usize, seed: u64, run: usize) -> Result<Run> {
    let random = &mut Random::new(seed, run as u64);
    let drawn = match units.groups {
        Some(groups) => Folds::by_shuffled_group(groups, folds, random),
        None => Folds::new(units.len(), folds, random),
    }?;
    let split = |fold| {
        let (train, test) = drawn.split(fold);
        if units.groups.is_some() { units.split(&train, &test) } else { Split { train, test } }
    };
    Ok((0..drawn.len()).map(split).collect())
}

/// Refuses a side without units.
fn check_sides(split: &Split, units: &Units<'_>) -> Result<()> {
    if split.train.is_empty() || split.test.is_empty() {
        let side = if split.train.is_empty() { "learned on" } else { "tested" };
        bail!(
            "there is no {} with all its rows among those {side}\nhint: other rows, fewer groups, or no --groups",
            units.noun
        );
    }
    Ok(())
}

/// Refuses a given split that learns on rows of a group and tests others of it.
fn check_apart((train, test): &(Vec<usize>, Vec<usize>), groups: &Labels) -> Result<()> {
    let learned: HashSet<u32> = train.iter().map(|&i| groups.codes()[i]).collect();
    if let Some(&row) = test.iter().find(|&&i| learned.contains(&groups.codes()[i])) {
        let group = &groups.names()[groups.codes()[row] as usize];
        bail!("group '{group}' is in --train-rows and in --test-rows\nhint: divide the rows between groups");
    }
    Ok(())
}

/// Refuses more neighbours than rows to learn on; says when units are both learned on and tested.
pub(super) fn check_runs(runs: &[Run], k: usize, units: &Units<'_>) -> Result<()> {
    for split in runs.iter().flatten() {
        if units.members.is_none() && k > split.train.len() {
            let rows = format::count(split.train.len() as u64, "row");
            bail!("-k is {k}, but only {rows} can vote");
        }
        let learned: HashSet<&usize> = split.train.iter().collect();
        let both = split.test.iter().filter(|unit| learned.contains(unit)).count();
        if both > 0 {
            let both = format::count(both as u64, units.noun);
            print_message(&format!("note: {both} both learned on and tested: the error comes out too small"));
        }
    }
    Ok(())
}
