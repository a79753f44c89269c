//! The paper reproduced: every figure and the table, all methods, one command.
//!
//! `experiments all --data DIR --out experiments/results` computes what is missing and writes the report; `small`,
//! `effect-of-t`, `large` and `times` do a part of it. Data on stdout, talk on stderr.

mod cell;
mod data;
mod document;
mod fetch;
mod figures;
mod paper;
mod protocol;
mod reasons;
mod report;
mod report_curves;
mod report_times;
mod results;
mod run;
mod work;

use anyhow::{Context as _, Result, bail};
use cell::{Job, Task};
use clap::{Args, Parser, Subcommand};
use protocol::{CURVES, Figure, METHODS, Method, SETS, Set, TIMED};
use run::Plan;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Reproduces the figures and the table of "Geometric Mean Metric Learning" (ICML 2016).
#[derive(Parser)]
#[command(
    name = "experiments",
    version,
    after_help = "Examples:
  experiments small --bundled                         the bundled sets, no data needed
  experiments fetch --data data-sets                  get the public sets
  experiments all --data data-sets                    everything; goes on where it was stopped
  experiments all --data data-sets --methods auto --again"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Everything: both figures of errors, the effect of t, the times
    All(Options),
    /// Figure "small datasets"
    Small(Options),
    /// Figure "effect of t"
    EffectOfT(Options),
    /// Figure "large datasets"
    Large(Options),
    /// Table 1: the time of one fit, one cell after the other
    Times(Options),
    /// Get the data sets from their public homes
    Fetch(fetch::Fetch),
    /// Write tables, figures and report from the cells that are there
    Report(Options),
    /// Compute one cell and print it
    #[command(hide = true)]
    Cell(OneCell),
    /// Print the splits of a set as JSON, for programs that try other methods on the same rows
    Splits(Splits),
}

/// What to compute, from what, and where to.
#[derive(Args)]
struct Options {
    /// The folder with the data sets
    #[arg(long, value_name = "DIR", conflicts_with = "bundled")]
    data: Option<PathBuf>,
    /// Use the sets bundled with the repository, and no others
    #[arg(long)]
    bundled: bool,
    /// Where tables, figures and the report go [default: experiments/results; bundled: target/experiments]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Where the result files of the cells are kept [default: OUT/cells]
    #[arg(long, value_name = "DIR")]
    cells: Option<PathBuf>,
    /// Only these sets
    #[arg(long, value_delimiter = ',', value_parser = set_named)]
    sets: Vec<&'static Set>,
    /// Only these methods
    #[arg(long, value_delimiter = ',', value_parser = method_named)]
    methods: Vec<Method>,
    /// At most so many runs a cell [default: the paper's, 40 and 5]
    #[arg(long, default_value_t = usize::MAX, hide_default_value = true)]
    runs: usize,
    /// CPU seconds a cell may take; what is done by then is the entry, and says so
    #[arg(long, default_value_t = 600.0, value_name = "SECONDS")]
    limit: f64,
    /// Cells at a time; times are always measured alone [default: the processors]
    #[arg(long)]
    workers: Option<usize>,
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Compute also cells that are there
    #[arg(long)]
    again: bool,
}

#[derive(Args)]
struct OneCell {
    key: String,
    #[arg(long)]
    file: PathBuf,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    runs: usize,
    #[arg(long)]
    limit: f64,
}

#[derive(Args)]
struct Splits {
    #[arg(value_parser = set_named)]
    set: &'static Set,
    /// The folder with the data sets
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// [default: the paper's, 40 and 5]
    #[arg(long)]
    runs: Option<usize>,
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::from(1)
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::All(options) => {
            let small = options.errors(Figure::Small);
            options.compute(&[small, options.curves(), options.errors(Figure::Large)].concat())?;
            options.compute_alone(&options.times())?;
            options.report()
        }
        Command::Small(options) => {
            options.compute(&options.errors(Figure::Small))?;
            options.report()
        }
        Command::EffectOfT(options) => {
            options.compute(&options.curves())?;
            options.report()
        }
        Command::Large(options) => {
            options.compute(&options.errors(Figure::Large))?;
            options.report()
        }
        Command::Times(options) => {
            options.compute_alone(&options.times())?;
            options.report()
        }
        Command::Fetch(options) => fetch::run(&options),
        Command::Report(options) => options.report(),
        Command::Cell(one) => print_cell(&one),
        Command::Splits(wanted) => print_splits(&wanted),
    }
}

impl Options {
    fn job(&self, set: &'static Set, task: Task) -> Job {
        Job { set, task, seed: self.seed, runs: self.runs.max(1), limit: self.limit }
    }

    fn sets(&self) -> impl Iterator<Item = &'static Set> {
        let bundled = |set: &&Set| !self.bundled || set.bundled.is_some();
        let wanted = |set: &&Set| self.sets.is_empty() || self.sets.iter().any(|one| one.name == set.name);
        SETS.iter().filter(bundled).filter(wanted)
    }

    fn methods(&self, of: &[Method]) -> Vec<Method> {
        let wanted = |method: &Method| self.methods.is_empty() || self.methods.contains(method);
        of.iter().copied().filter(wanted).collect()
    }

    /// Method after method, so that those that are done early can be looked at.
    fn errors(&self, figure: Figure) -> Vec<Job> {
        let sets: Vec<_> = self.sets().filter(|set| set.figure == figure).collect();
        let of = |method: Method| {
            sets.iter().filter(move |set| method.is_run_on(set)).map(move |set| (*set, Task::Error(method)))
        };
        self.methods(&Method::all().collect::<Vec<_>>())
            .into_iter()
            .flat_map(of)
            .map(|(set, task)| self.job(set, task))
            .collect()
    }

    fn curves(&self) -> Vec<Job> {
        if self.methods(&[Method::Gmml]).is_empty() {
            return Vec::new();
        }
        self.sets().filter(|set| CURVES.contains(&set.name)).map(|set| self.job(set, Task::Curve)).collect()
    }

    fn times(&self) -> Vec<Job> {
        let methods = self.methods(&METHODS);
        let of = |set| methods.iter().map(move |&method| self.job(set, Task::Time(method)));
        self.sets().filter(|set| TIMED.contains(&set.name)).flat_map(of).collect()
    }

    fn compute(&self, jobs: &[Job]) -> Result<()> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        run::run(jobs, &self.plan(self.workers.unwrap_or(processors))?)
    }

    /// One cell after the other, so that none takes another's time.
    fn compute_alone(&self, jobs: &[Job]) -> Result<()> {
        run::run(jobs, &self.plan(1)?)
    }

    fn plan(&self, workers: usize) -> Result<Plan> {
        if self.data.is_none() && !self.bundled {
            bail!(
                "name the folder of data sets with --data DIR (`experiments fetch` fills one), or run the bundled sets with --bundled"
            );
        }
        Ok(Plan { data: self.data.clone(), cells: self.cells(), workers: workers.max(1), again: self.again })
    }

    fn cells(&self) -> PathBuf {
        self.cells.clone().unwrap_or_else(|| self.out().join("cells"))
    }

    /// The results of bundled sets alone do not go over those of all.
    fn out(&self) -> PathBuf {
        let usual = if self.bundled { "target/experiments" } else { "experiments/results" };
        self.out.clone().unwrap_or_else(|| usual.into())
    }

    fn report(&self) -> Result<()> {
        report::write(&self.cells(), &self.out())?;
        say(&format!("written: {}", self.out().join("report.html").display()));
        Ok(())
    }
}

fn print_cell(one: &OneCell) -> Result<()> {
    let mut parts = one.key.split('.');
    let set = parts.next().and_then(Set::named).context("no such set")?;
    let task = match (parts.next(), parts.next()) {
        (Some("curve"), None) => Task::Curve,
        (Some(method), None) => Task::Error(Method::named(method).context("no such method")?),
        (Some(method), Some("time")) => Task::Time(Method::named(method).context("no such method")?),
        _ => bail!("{} is no cell", one.key),
    };
    let job = Job { set, task, seed: one.seed, runs: one.runs, limit: one.limit };
    let text = serde_json::to_string(&job.compute(&one.file)?)?;
    writeln!(std::io::stdout(), "{text}").context("standard output")
}

/// For each run its splits, each the rows learned on and the rows tested, counted from 0.
fn print_splits(wanted: &Splits) -> Result<()> {
    let set = wanted.set;
    let source = data::read(set, &data::path_of(set, Some(&wanted.data)).context(set.file)?)?;
    let runs = 0..wanted.runs.unwrap_or(set.runs());
    let splits = runs.map(|run| set.splits(&source.data, wanted.seed, run)).collect::<Result<Vec<_>>>()?;
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&splits)?).context("standard output")
}

fn set_named(name: &str) -> Result<&'static Set, String> {
    let names = || SETS.iter().map(|set| set.name).collect::<Vec<_>>().join(", ");
    Set::named(name).ok_or_else(|| format!("it must be one of {}", names()))
}

fn method_named(name: &str) -> Result<Method, String> {
    let names = || Method::all().map(Method::name).collect::<Vec<_>>().join(", ");
    Method::named(name).ok_or_else(|| format!("it must be one of {}", names()))
}

/// Says something to the person at the terminal.
fn say(message: &str) {
    let _ = writeln!(std::io::stderr(), "{message}");
}
