//! What came out: as a table, as JSON, as a figure.

use crate::commands::evaluate::verdict::Verdict;
use crate::options::method::Method;
use crate::terminal::{format, table};
use mahala::Dataset;
use mahala::learner::Report;
use mahala_plot::BarPlot;
use serde_json::{Value, json};

/// How many of the tested rows were put into a wrong class.
#[derive(Clone, Copy, Default)]
pub(super) struct Count {
    pub wrong: usize,
    pub tested: usize,
}

pub(super) struct Outcome {
    pub method: Method,
    /// One a run.
    pub counts: Vec<Count>,
    /// How often each row of the table was put into a wrong class.
    pub wrong: Vec<u32>,
    /// One a split.
    pub t: Vec<f64>,
    /// One a split.
    pub reports: Vec<Report>,
    pub fit_seconds: f64,
    pub selection_seconds: f64,
}

impl Outcome {
    /// In percent, one a run.
    fn errors(&self) -> Vec<f64> {
        self.counts.iter().map(|count| 100.0 * count.wrong as f64 / count.tested as f64).collect()
    }

    /// The mean over all fits.
    fn iterations(&self) -> f64 {
        self.reports.iter().map(|report| report.iterations as f64).sum::<f64>() / self.reports.len() as f64
    }

    /// The mean over all fits, if every one has an objective.
    fn objective(&self) -> Option<f64> {
        let objectives: Option<Vec<f64>> = self.reports.iter().map(|report| report.objective).collect();
        objectives.filter(|list| !list.is_empty()).map(|list| mean_and_std(&list).0)
    }

    /// How many fits went to their end.
    fn converged(&self) -> usize {
        self.reports.iter().filter(|report| report.outcome.is_final()).count()
    }

    /// What to say of fits that did not.
    pub(super) fn warning(&self) -> Option<String> {
        let open = self.reports.len() - self.converged();
        let last = self.reports.iter().map(|report| report.outcome).find(|outcome| !outcome.is_final())?;
        let (name, fits) = (self.method.name(), self.reports.len());
        Some(format!("warning: {name}: {open} of {fits} fits {last}"))
    }

    /// Over all runs.
    fn total(&self) -> Count {
        let add = |a: Count, b: &Count| Count { wrong: a.wrong + b.wrong, tested: a.tested + b.tested };
        self.counts.iter().fold(Count::default(), add)
    }
}

pub(super) fn to_json(
    source: &str,
    data: &Dataset,
    protocol: &str,
    outcomes: &[Outcome],
    verdict: Option<&Verdict>,
) -> Value {
    let results: Vec<Value> = outcomes
        .iter()
        .map(|outcome| {
            let errors = outcome.errors();
            let (error_mean, error_std) = mean_and_std(&errors);
            let Count { wrong, tested } = outcome.total();
            let t_mean = (!outcome.t.is_empty()).then(|| mean_and_std(&outcome.t).0);
            json!({
                "method": outcome.method.name(), "error_mean": error_mean, "error_std": error_std,
                "t_mean": t_mean, "fit_seconds": outcome.fit_seconds,
                "selection_seconds": outcome.selection_seconds, "errors": errors, "t": outcome.t, "wrong": wrong, "tested": tested,
                "iterations_mean": outcome.iterations(), "objective_mean": outcome.objective(),
                "fits": outcome.reports.len(), "converged": outcome.converged(),
            })
        })
        .collect();
    let c = data.labels().class_count();
    json!({
        "dataset": source, "n": data.len(), "d": data.columns(), "c": c, "protocol": protocol, "results": results,
        "verdict": verdict.map(Verdict::to_json),
    })
}

pub(super) fn figure(source: &str, data: &Dataset, outcomes: &[Outcome]) -> BarPlot {
    let (n, d, c) = (data.len(), data.columns(), data.labels().class_count());
    let bar =
        |outcome: &Outcome| (outcome.method.name().to_owned(), vec![Some(mean_and_std(&outcome.errors()))]);
    BarPlot {
        title: "Error of nearest neighbours on held-out rows".into(),
        y_label: "error, %".into(),
        groups: vec![(source.to_owned(), format!("n = {n}, d = {d}, c = {c}"))],
        series: outcomes.iter().map(bar).collect(),
    }
}

pub(super) fn to_text(
    source: &str,
    data: &Dataset,
    protocol: &str,
    outcomes: &[Outcome],
    verdict: Option<&Verdict>,
) -> String {
    let (n, d, c) = (data.len(), data.columns(), data.labels().class_count());
    let columns = format::count(d as u64, "column");
    let verdict = verdict.map(|verdict| format!("\n{verdict}\n")).unwrap_or_default();
    format!("{source}: {n} rows, {columns}, {c} classes\n{protocol}\n\n{}{verdict}", table_of(outcomes))
}

pub(super) fn table_of(outcomes: &[Outcome]) -> String {
    // What iterates says how long and how far; where nothing does, two columns would be empty.
    let iterating = outcomes.iter().any(|outcome| outcome.iterations() > 0.0);
    let rows: Vec<Vec<String>> = outcomes
        .iter()
        .map(|outcome| {
            let (mean, std) = mean_and_std(&outcome.errors());
            let selecting = outcome.selection_seconds > 0.0 && !outcome.t.is_empty();
            let mut row = vec![
                outcome.method.name().to_owned(),
                match outcome.counts[..] {
                    [Count { wrong, tested }] => format!("{wrong}/{tested} = {mean:.2}"),
                    _ => format!("{mean:.2} ± {std:.2}"),
                },
                if outcome.t.is_empty() {
                    "–".into()
                } else {
                    format!("{:.3}", mean_and_std(&outcome.t).0)
                },
                format::seconds(outcome.fit_seconds),
                if selecting { format::seconds(outcome.selection_seconds) } else { "–".into() },
            ];
            if iterating {
                let iterations = outcome.iterations();
                row.push(if iterations > 0.0 { format!("{iterations:.0}") } else { "–".into() });
                row.push(outcome.objective().map_or("–".into(), format::rounded));
            }
            row
        })
        .collect();
    let header = ["method", "error %", "mean t", "one fit", "choosing t", "iterations", "objective"];
    table::render(if iterating { &header } else { &header[..5] }, &rows)
}

fn mean_and_std(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}
