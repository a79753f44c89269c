//! What came out: as a table, as JSON, as a figure.

use crate::commands::evaluate::material::{Judged, Measure};
use crate::commands::evaluate::verdict::Verdict;
use crate::options::method::Method;
use crate::terminal::json::versioned;
use crate::terminal::{format, table};
use mahala::learner::Report;
use mahala_plot::BarPlot;
use serde_json::{Value, json};

/// How much of what was tested was decided wrongly.
#[derive(Clone, Copy, Default)]
pub(super) struct Count {
    pub wrong: f64,
    pub tested: f64,
}

/// What one method gave over all splits.
pub(super) struct Outcome {
    pub method: Method,
    /// The method as the table calls it: with its kernel, say.
    pub name: String,
    /// One a run.
    pub counts: Vec<Count>,
    /// In percent, one a split.
    pub losses: Vec<f64>,
    /// The losses of each unit together, where units are decided one by one: how often it was decided wrongly.
    pub wrong: Option<Vec<f64>>,
    /// In percent, one a split, where there is a threshold.
    pub at_threshold: Vec<f64>,
    /// The root mean squared error, one a split, where numbers are predicted.
    pub rmse: Vec<f64>,
    /// One a split.
    pub t: Vec<f64>,
    /// One a split.
    pub reports: Vec<Report>,
    pub fit_seconds: f64,
    pub selection_seconds: f64,
}

/// What was evaluated.
pub(super) struct Subject {
    pub source: String,
    pub rows: usize,
    pub columns: usize,
    pub classes: Option<usize>,
    /// How many pairs or tuples, and what one is called.
    pub tuples: Option<(usize, &'static str)>,
    pub measure: Measure,
    pub protocol: String,
}

impl Outcome {
    /// Before the first split.
    pub(super) fn empty(method: Method, name: String) -> Self {
        let (counts, losses, at_threshold, t, reports) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self {
            method,
            name,
            counts,
            losses,
            wrong: None,
            at_threshold,
            rmse: Vec::new(),
            t,
            reports,
            fit_seconds: 0.0,
            selection_seconds: 0.0,
        }
    }

    /// Takes in what one run of splits gave, of so many units.
    pub(super) fn add(&mut self, run: Vec<Judged>, units: usize) {
        let mut count = Count::default();
        for judged in run {
            count.wrong += judged.wrong;
            count.tested += judged.tested;
            self.losses.push(100.0 * judged.wrong / judged.tested);
            if let Some(wrong) = judged.units {
                let times = self.wrong.get_or_insert_with(|| vec![0.0; units]);
                wrong.into_iter().for_each(|(unit, loss)| times[unit] += loss);
            }
            self.at_threshold.extend(judged.at_threshold);
            self.rmse.extend(judged.rmse);
            self.t.extend(judged.answer.t);
            self.reports.push(judged.answer.report);
        }
        self.counts.push(count);
    }

    /// In percent, one a run.
    fn errors(&self) -> Vec<f64> {
        self.counts.iter().map(|count| 100.0 * count.wrong / count.tested).collect()
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
        let (name, fits) = (&self.name, self.reports.len());
        Some(format!("warning: {name}: {open} of {fits} fits {last}"))
    }

    /// Over all runs.
    fn total(&self) -> Count {
        let add = |a: Count, b: &Count| Count { wrong: a.wrong + b.wrong, tested: a.tested + b.tested };
        self.counts.iter().fold(Count::default(), add)
    }

    pub(super) fn to_json(&self, measure: Measure) -> Value {
        let errors = self.errors();
        let (error_mean, error_std) = mean_and_std(&errors);
        let Count { wrong, tested } = self.total();
        let t_mean = (!self.t.is_empty()).then(|| mean_and_std(&self.t).0);
        let mut json = json!({
            "method": self.method.name(), "name": self.name, "error_mean": error_mean, "error_std": error_std,
            "t_mean": t_mean, "fit_seconds": self.fit_seconds, "selection_seconds": self.selection_seconds,
            "errors": errors, "t": self.t, "wrong": whole(wrong), "tested": whole(tested),
            "iterations_mean": self.iterations(), "objective_mean": self.objective(),
            "fits": self.reports.len(), "converged": self.converged(),
        });
        if measure == Measure::Ranking {
            json["auc_mean"] = json!(1.0 - error_mean / 100.0);
            json["error_at_threshold_mean"] = json!(mean_and_std(&self.at_threshold).0);
        }
        if measure == Measure::Squares {
            json["r2_mean"] = json!(1.0 - error_mean / 100.0);
            json["r2_std"] = json!(error_std / 100.0);
            json["rmse_mean"] = json!(mean_and_std(&self.rmse).0);
            // No unit is right or wrong.
            for key in ["wrong", "tested"] {
                json.as_object_mut().and_then(|fields| fields.remove(key));
            }
        }
        json
    }

    /// The error, or the area under the curve, as a cell.
    fn result(&self, measure: Measure) -> String {
        let (mean, std) = mean_and_std(&self.errors());
        match (measure, &self.counts[..]) {
            (Measure::Ranking | Measure::Squares, [_]) => format!("{:.4}", 1.0 - mean / 100.0),
            (Measure::Ranking | Measure::Squares, _) => {
                format!("{:.4} ± {:.4}", 1.0 - mean / 100.0, std / 100.0)
            }
            (_, [Count { wrong, tested }]) => format!("{wrong}/{tested} = {mean:.2}"),
            _ => format!("{mean:.2} ± {std:.2}"),
        }
    }
}

impl Measure {
    /// In `--json`.
    fn name(self) -> &'static str {
        match self {
            Self::Votes => "nearest-neighbour error",
            Self::Ranking => "1 - area under the ROC curve",
            Self::Order => "tuples in wrong order",
            Self::Squares => "1 - R² of the mean of nearest neighbours",
        }
    }

    /// The heads of its columns.
    fn heads(self) -> &'static [&'static str] {
        match self {
            Self::Votes => &["error %"],
            Self::Ranking => &["AUC", "error %"],
            Self::Order => &["wrong order %"],
            Self::Squares => &["R²", "RMSE"],
        }
    }
}

pub(super) fn to_json(subject: &Subject, outcomes: &[Outcome], verdict: Option<&Verdict>) -> Value {
    let results: Vec<Value> = outcomes.iter().map(|outcome| outcome.to_json(subject.measure)).collect();
    let mut json = json!({
        "dataset": subject.source, "n": subject.rows, "d": subject.columns, "c": subject.classes,
        "protocol": subject.protocol, "measure": subject.measure.name(), "results": results,
        "verdict": verdict.map(Verdict::to_json),
    });
    if let Some((count, noun)) = subject.tuples {
        json[format!("{noun}s")] = json!(count);
    }
    versioned("evaluate", json)
}

pub(super) fn figure(subject: &Subject, outcomes: &[Outcome]) -> BarPlot {
    let classes = subject.classes.map_or(String::new(), |c| format!(", c = {c}"));
    let bar = |outcome: &Outcome| (outcome.name.clone(), vec![Some(mean_and_std(&outcome.errors()))]);
    let (title, y_label) = match subject.measure {
        Measure::Votes => ("Error of nearest neighbours on held-out rows", "error, %"),
        Measure::Ranking => ("Held-out pairs: 1 − area under the ROC curve", "1 − AUC, %"),
        Measure::Order => ("Held-out tuples in the wrong order", "wrong order, %"),
        Measure::Squares => ("Held-out rows: variance of the targets not explained", "1 − R², %"),
    };
    BarPlot {
        title: title.into(),
        y_label: y_label.into(),
        groups: vec![(
            subject.source.clone(),
            format!("n = {}, d = {}{classes}", subject.rows, subject.columns),
        )],
        series: outcomes.iter().map(bar).collect(),
    }
}

pub(super) fn to_text(subject: &Subject, outcomes: &[Outcome], verdict: Option<&Verdict>) -> String {
    let Subject { source, rows, columns, protocol, .. } = subject;
    let columns = format::count(*columns as u64, "column");
    let of = match (subject.tuples, subject.classes) {
        (Some((count, noun)), _) => format::count(count as u64, noun),
        (None, Some(classes)) => format!("{classes} classes"),
        (None, None) if subject.measure == Measure::Squares => "a number each".into(),
        (None, None) => "several labels a row".into(),
    };
    let verdict = verdict.map(|verdict| format!("\n{verdict}\n")).unwrap_or_default();
    format!(
        "{source}: {rows} rows, {columns}, {of}\n{protocol}\n\n{}{verdict}",
        table_of(subject.measure, outcomes)
    )
}

pub(super) fn table_of(measure: Measure, outcomes: &[Outcome]) -> String {
    // What iterates says how long and how far; where nothing does, two columns would be empty.
    let iterating = outcomes.iter().any(|outcome| outcome.iterations() > 0.0);
    let row = |outcome: &Outcome| {
        let selecting = outcome.selection_seconds > 0.0 && !outcome.t.is_empty();
        let mut row = vec![outcome.name.clone(), outcome.result(measure)];
        if measure == Measure::Ranking {
            row.push(format!("{:.2}", mean_and_std(&outcome.at_threshold).0));
        }
        if measure == Measure::Squares {
            row.push(format::rounded(mean_and_std(&outcome.rmse).0));
        }
        row.extend([
            if outcome.t.is_empty() { "–".into() } else { format!("{:.3}", mean_and_std(&outcome.t).0) },
            format::seconds(outcome.fit_seconds),
            if selecting { format::seconds(outcome.selection_seconds) } else { "–".into() },
        ]);
        if iterating {
            let iterations = outcome.iterations();
            row.push(if iterations > 0.0 { format!("{iterations:.0}") } else { "–".into() });
            row.push(outcome.objective().map_or("–".into(), format::rounded));
        }
        row
    };
    let rows: Vec<Vec<String>> = outcomes.iter().map(row).collect();
    let mut header = vec!["method"];
    header.extend(measure.heads());
    header.extend(["mean t", "one fit", "choosing t"]);
    header.extend(if iterating { &["iterations", "objective"][..] } else { &[] });
    table::render(&header, &rows)
}

/// A whole number as one.
fn whole(value: f64) -> Value {
    if value.fract() == 0.0 { json!(value as u64) } else { json!(value) }
}

fn mean_and_std(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}
