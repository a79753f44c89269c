//! What the cells say: means, deviations, agreement with the paper; and the files for machines.

use crate::cell::{Cell, Status, grid, write_whole};
use crate::paper;
use crate::protocol::{METHODS, Method, SETS, Set};
use anyhow::Result;
use serde_json::{Value, json};
use std::path::Path;

/// All cells that are there.
pub(crate) struct Results(Vec<Cell>);

/// A cell in two numbers.
#[derive(Clone, Copy)]
pub(crate) struct Summary {
    /// In percent.
    pub mean: f64,
    pub std: f64,
    pub runs: usize,
    pub planned: usize,
    pub status: Status,
}

/// How a cell stands to the paper's bar.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agreement {
    Within,
    Better,
    Worse,
}

/// A curve over t: mean and deviation at each t of the grid.
pub(crate) struct Curve {
    pub points: Vec<(f64, f64, f64)>,
}

/// One fit, timed.
pub(crate) struct Timing {
    pub seconds: f64,
    /// Iterations made when the limit came, if it did.
    pub cut_after: Option<usize>,
}

impl Results {
    /// Reads every cell of a folder.
    pub(crate) fn load(folder: &Path) -> Result<Self> {
        let mut cells = Vec::new();
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "json") {
                cells.extend(Cell::load(&path)?);
            }
        }
        let place = |cell: &Cell| {
            let set = SETS.iter().position(|set| set.name == cell.set);
            (cell.task.clone(), set, Method::all().position(|method| method.name() == cell.method))
        };
        cells.sort_by_key(place);
        Ok(Self(cells))
    }

    pub(crate) fn cells(&self) -> &[Cell] {
        &self.0
    }

    pub(crate) fn cell(&self, set: &Set, task: &str, method: Method) -> Option<&Cell> {
        self.0.iter().find(|cell| cell.set == set.name && cell.task == task && cell.method == method.name())
    }

    /// The error of a method; none if there is no run.
    pub(crate) fn error(&self, set: &Set, method: Method) -> Option<Summary> {
        summary(self.cell(set, "error", method)?)
    }

    pub(crate) fn curve(&self, set: &Set) -> Option<Curve> {
        let cell = self.cell(set, "curve", Method::Gmml)?;
        let at = |i: usize| -> (f64, f64) {
            let errors = cell.runs.iter().map(|run| 100.0 * run.curve[i] as f64 / run.tested as f64);
            mean_and_std(&errors.collect::<Vec<_>>())
        };
        let point = |(i, t): (usize, f64)| (t, at(i).0, at(i).1);
        Some(Curve { points: grid().into_iter().enumerate().map(point).collect() })
    }

    pub(crate) fn time(&self, set: &Set, method: Method) -> Option<Timing> {
        let cell = self.cell(set, "time", method)?;
        let run = cell.runs.first()?;
        let cut_after = (cell.status == Status::Limit).then(|| run.iterations.first().copied()).flatten();
        Some(Timing { seconds: run.learn_seconds, cut_after })
    }

    /// `runs.csv`, `effect-of-t.csv`, `times.csv` and `results.json`.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        write_whole(&folder.join("runs.csv"), &self.runs_csv())?;
        write_whole(&folder.join("effect-of-t.csv"), &self.curves_csv())?;
        write_whole(&folder.join("times.csv"), &self.times_csv())?;
        write_whole(&folder.join("results.json"), &format!("{:#}\n", self.to_json()))
    }

    fn runs_csv(&self) -> String {
        let mut csv = String::from(
            "set,method,run,error_percent,wrong,tested,t,lambda,learn_cpu_seconds,test_cpu_seconds,iterations,outcome,recipe\n",
        );
        for cell in self.0.iter().filter(|cell| cell.task == "error") {
            for (number, run) in cell.runs.iter().enumerate() {
                let t = joined(run.t.iter().map(f64::to_string));
                let lambda = run.lambda.map(|lambda| lambda.to_string()).unwrap_or_default();
                let iterations = joined(run.iterations.iter().map(usize::to_string));
                let [outcomes, recipes] = [&run.outcomes, &run.choices].map(|list| quoted(list));
                csv.push_str(&format!(
                    "{},{},{number},{:.4},{},{},{t},{lambda},{},{},{iterations},{outcomes},{recipes}\n",
                    cell.set,
                    cell.method,
                    run.error(),
                    run.wrong,
                    run.tested,
                    run.learn_seconds,
                    run.test_seconds,
                ));
            }
        }
        csv
    }

    fn curves_csv(&self) -> String {
        let mut csv = String::from("set,t,error_percent,std,paper_error_percent\n");
        for set in &SETS {
            let paper = paper::curve(set.name);
            for (i, (t, mean, std)) in self.curve(set).into_iter().flat_map(|curve| curve.points).enumerate()
            {
                let theirs = paper.get(i).map(|(_, error)| error.to_string()).unwrap_or_default();
                csv.push_str(&format!("{},{t},{mean:.4},{std:.4},{theirs}\n", set.name));
            }
        }
        csv
    }

    fn times_csv(&self) -> String {
        let mut csv = String::from("set,method,cpu_seconds,iterations_when_cut,paper_seconds\n");
        for set in &SETS {
            for method in METHODS {
                let Some(Timing { seconds, cut_after }) = self.time(set, method) else { continue };
                let cut = cut_after.map(|n| n.to_string()).unwrap_or_default();
                let paper = paper::seconds(set.name, method).map(|s| s.to_string()).unwrap_or_default();
                csv.push_str(&format!("{},{},{seconds},{cut},{paper}\n", set.name, method.name()));
            }
        }
        csv
    }

    /// A summary of every cell; the cells themselves hold every run.
    fn to_json(&self) -> Value {
        let one = |cell: &Cell| {
            let (set, method) = (Set::named(&cell.set), Method::named(&cell.method));
            let paper = set.zip(method).and_then(|(set, method)| paper::bar(set.paper, method));
            let summary = (cell.task == "error").then(|| summary(cell)).flatten();
            json!({
                "set": cell.set, "task": cell.task, "method": cell.method, "status": cell.status,
                "note": cell.note, "limit_cpu_seconds": cell.limit, "cpu_seconds": cell.cpu_seconds,
                "setting": cell.setting, "runs": cell.runs.len(),
                "error_percent": summary.map(|s| s.mean), "std": summary.map(|s| s.std),
                "paper": if cell.task == "error" { json!(paper) } else { Value::Null },
            })
        };
        Value::Array(self.0.iter().map(one).collect())
    }
}

impl Summary {
    /// Against a bar of the paper: two of its standard deviations; where it has none, its rounding.
    pub(crate) fn against(&self, (bar, std): (f64, f64)) -> Agreement {
        let room = if std > 0.0 { 2.0 * std } else { 0.005 };
        match self.mean - bar {
            off if off.abs() <= room => Agreement::Within,
            off if off < 0.0 => Agreement::Better,
            _ => Agreement::Worse,
        }
    }
}

impl Curve {
    /// Where the error is least (the first such t), and how much it is.
    pub(crate) fn minimum(&self) -> (f64, f64) {
        least(self.points.iter().map(|&(t, mean, _)| (t, mean)))
    }
}

/// The first point with the least second coordinate.
pub(crate) fn least(points: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    points.fold((0.0, f64::INFINITY), |best, point| if point.1 < best.1 { point } else { best })
}

fn summary(cell: &Cell) -> Option<Summary> {
    if cell.runs.is_empty() {
        return None;
    }
    let (mean, std) = mean_and_std(&cell.runs.iter().map(crate::cell::Run::error).collect::<Vec<_>>());
    let planned = cell.setting["runs"].as_u64().unwrap_or(0) as usize;
    Some(Summary { mean, std, runs: cell.runs.len(), planned, status: cell.status })
}

fn mean_and_std(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(";")
}

fn quoted(list: &[String]) -> String {
    if list.is_empty() { String::new() } else { format!("\"{}\"", list.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_is_two_standard_deviations_or_rounding() {
        let of = |mean| Summary { mean, std: 0.0, runs: 1, planned: 1, status: Status::Complete };
        assert!(of(5.19).against((5.0, 0.1)) == Agreement::Within);
        assert!(of(5.21).against((5.0, 0.1)) == Agreement::Worse);
        assert!(of(4.7).against((5.0, 0.1)) == Agreement::Better);
        // 195 of 462, printed as 42.207.
        assert!(of(100.0 * 195.0 / 462.0).against((42.207, 0.0)) == Agreement::Within);
        assert!(of(100.0 * 196.0 / 462.0).against((42.207, 0.0)) == Agreement::Worse);
    }

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        assert_eq!(mean_and_std(&[1.0, 3.0]), (2.0, 2f64.sqrt()));
        assert_eq!(mean_and_std(&[4.0]), (4.0, 0.0));
        assert_eq!(least([(0.0, 2.0), (0.1, 1.0), (0.2, 1.0)].into_iter()), (0.1, 1.0));
    }
}
