//! One cell: a method on a data set, all runs; and its result file.
//!
//! A cell is computed in a process of its own with one thread, so that its CPU time is its own.

use crate::data::{Source, read};
use crate::protocol::{Division, Method, Set, gmml};
use crate::work::Work;
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;

/// What is computed of a set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// The error of a method.
    Error(Method),
    /// GMML's error over t.
    Curve,
    /// The time of one fit with every choice made.
    Time(Method),
}

/// A cell to compute.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    pub set: &'static Set,
    pub task: Task,
    pub seed: u64,
    /// At most so many runs.
    pub runs: usize,
    /// CPU seconds after which what iterates stops; a run that would not end by then is not begun.
    pub limit: f64,
}

/// A computed cell: the content of its file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub set: String,
    /// `error`, `curve` or `time`.
    pub task: String,
    pub method: String,
    /// What the numbers depend on; a cell with another setting is computed anew.
    pub setting: Value,
    /// CPU seconds.
    pub limit: f64,
    pub status: Status,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    pub cpu_seconds: f64,
    pub runs: Vec<Run>,
}

/// How a cell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// All runs done.
    Complete,
    /// The time limit came first.
    Limit,
    Failed,
    /// The data set is not there.
    Absent,
}

/// One run of a cell: what was learned and how it did.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Run {
    /// Tested rows put into a wrong class; for a curve see `curve`.
    pub wrong: usize,
    pub tested: usize,
    /// One a fit, if the method has it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub t: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// CPU seconds of learning, choices included, and of testing.
    pub learn_seconds: f64,
    pub test_seconds: f64,
    pub wall_seconds: f64,
    /// One a fit, if the method iterates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub iterations: Vec<usize>,
    /// Why each fit stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<String>,
    /// The recipes of the automatic mode.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Wrong votes at each t of [`grid`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<usize>,
}

/// t = 0, .02, …, 1.
pub(crate) fn grid() -> Vec<f64> {
    (0..=50).map(|i| f64::from(2 * i) / 100.0).collect()
}

impl Run {
    /// In percent.
    pub(crate) fn error(&self) -> f64 {
        100.0 * self.wrong as f64 / self.tested as f64
    }
}

impl Job {
    /// The name of the cell, and of its file without `.json`.
    pub(crate) fn key(&self) -> String {
        match self.task {
            Task::Error(method) => format!("{}.{}", self.set.name, method.name()),
            Task::Curve => format!("{}.curve", self.set.name),
            Task::Time(method) => format!("{}.{}.time", self.set.name, method.name()),
        }
    }

    /// About how long it takes, in seconds, for the estimate of the time left.
    pub(crate) fn expected_seconds(&self) -> f64 {
        let (n, d, c) = self.set.shape;
        let (n, d, c) = (n as f64, d as f64, c as f64);
        let (pairs, runs) = (40.0 * c * (c - 1.0), self.planned_runs() as f64);
        let search = 1e-10 * n * n * d;
        let one = |method| match method {
            Method::Euclidean | Method::Covariance => search,
            Method::Gmml | Method::GmmlAll => 10.0 * search + 1e-9 * d.powi(3),
            Method::Lmnn => 200.0 * search,
            Method::Itml => 2e-4 * d * d / 8.0 + 1e-2,
            Method::FlatGeo => 2e-6 * pairs * d * d + 0.5,
            Method::Nca | Method::Mcml => 400.0 * search,
            Method::Mmc | Method::MmcDiagonal => 1e-7 * pairs * d * d,
            Method::Auto | Method::AutoGrouped => 200.0 * search + 0.2,
            Method::AutoKernel => 300.0 * search + 1.0,
        };
        match self.task {
            Task::Error(method) => (runs * one(method)).min(self.limit),
            Task::Curve => runs * 60.0 * search,
            Task::Time(method) => one(method).min(self.limit),
        }
    }

    pub(crate) fn planned_runs(&self) -> usize {
        match (self.task, &self.set.division) {
            (Task::Error(method), Division::Fixed { .. }) if method.is_deterministic() => 1,
            (Task::Time(_), _) => 1,
            _ => self.runs.min(self.set.runs()),
        }
    }

    fn setting(&self, sha256: &str) -> Result<Value> {
        let parameters = match self.task {
            Task::Error(method) => method.learner(self.set, 0, false)?.parameters(),
            Task::Time(method) => method.learner(self.set, 0, true)?.parameters(),
            Task::Curve => gmml(self.set, 0).to_json(),
        };
        Ok(json!({
            "division": self.set.division_text(), "runs": self.planned_runs(), "seed": self.seed,
            "parameters": parameters, "data_sha256": sha256,
        }))
    }

    /// Whether a cell already there is the one wanted.
    pub(crate) fn is_answered_by(&self, cell: &Cell, sha256: &str) -> Result<bool> {
        let enough = cell.status == Status::Complete || cell.limit >= self.limit;
        Ok(enough && cell.setting == self.setting(sha256)?)
    }

    /// Computes the cell; an error of a method is a failed cell.
    pub(crate) fn compute(&self, path: &Path) -> Result<Cell> {
        let Source { data, sha256 } = read(self.set, path)?;
        let work = Work::new(*self, data);
        let (task, method, result) = match self.task {
            Task::Error(method) => ("error", method.name(), work.all_runs(|run| work.error_run(method, run))),
            Task::Curve => ("curve", "gmml", work.all_runs(|run| work.curve_run(run))),
            Task::Time(method) => ("time", method.name(), work.time(method)),
        };
        let (runs, status, note) = match result {
            Ok((runs, status)) => (runs, status, String::new()),
            Err(error) => (Vec::new(), Status::Failed, format!("{error:#}")),
        };
        Ok(Cell {
            set: self.set.name.into(),
            task: task.into(),
            method: method.into(),
            setting: self.setting(&sha256)?,
            limit: self.limit,
            status,
            note,
            cpu_seconds: rounded(work.spent()),
            runs,
        })
    }
}

impl Cell {
    /// A cell that could not be computed at all.
    pub(crate) fn empty(job: &Job, status: Status, note: String) -> Self {
        let (task, method) = match job.task {
            Task::Error(method) => ("error", method.name()),
            Task::Curve => ("curve", "gmml"),
            Task::Time(method) => ("time", method.name()),
        };
        Self {
            set: job.set.name.into(),
            task: task.into(),
            method: method.into(),
            setting: Value::Null,
            limit: job.limit,
            status,
            note,
            cpu_seconds: 0.0,
            runs: Vec::new(),
        }
    }

    /// The file, or none if it is not there. One that cannot be read is an error.
    pub(crate) fn load(path: &Path) -> Result<Option<Self>> {
        if !path.exists() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        serde_json::from_str(&text).with_context(|| path.display().to_string()).map(Some)
    }

    /// Writes the file whole or not at all, a line a run.
    pub(crate) fn save(&self, path: &Path) -> Result<()> {
        let mut head = serde_json::to_value(self)?;
        let runs = self.runs.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        if let Some(fields) = head.as_object_mut() {
            fields.remove("runs");
        }
        let head = head.to_string();
        let text =
            format!("{},\"runs\":[\n{}\n]}}\n", head.strip_suffix('}').unwrap_or(&head), runs.join(",\n"));
        write_whole(path, &text)
    }
}

/// Writes text that appears under its name when it is complete; the folder is made if there is none.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<()> {
    write_bytes(path, text.as_bytes())
}

/// Writes bytes that appear under their name when they are complete; the folder is made if there is none.
pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    Ok(mahala_io::write_atomic(path, bytes)?)
}

/// To microseconds: more digits would be noise in the files.
pub(crate) fn rounded(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::path_of;

    fn iris(task: Task, limit: f64) -> (Job, Cell) {
        let job = Job { set: Set::named("iris").unwrap(), task, seed: 0, runs: 2, limit };
        (job, job.compute(&path_of(job.set, None).unwrap()).unwrap())
    }

    #[test]
    fn a_cell_comes_back_from_its_file_and_answers_the_same_question_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("iris.gmml.json");
        let (job, cell) = iris(Task::Error(Method::Gmml), 100.0);
        cell.save(&path).unwrap();
        let back = Cell::load(&path).unwrap().unwrap();
        assert_eq!((back.status, back.runs.len(), back.runs[0].tested), (Status::Complete, 2, 150));
        assert_eq!((back.runs[1].t.len(), back.runs[1].lambda), (2, Some(0.0)));
        let sum = back.setting["data_sha256"].as_str().unwrap();
        assert!(job.is_answered_by(&back, sum).unwrap());
        assert!(!job.is_answered_by(&back, "another").unwrap());
        assert!(!Job { runs: 1, ..job }.is_answered_by(&back, sum).unwrap());
        assert!(Cell::load(&folder.path().join("none.json")).unwrap().is_none());
    }

    #[test]
    fn the_limit_is_told_and_a_higher_one_asks_again() {
        let (job, cut) = iris(Task::Error(Method::Lmnn), 0.0);
        assert_eq!((cut.status, cut.runs.len()), (Status::Limit, 1));
        assert!(cut.runs[0].outcomes[0].contains("limit of time"), "{:?}", cut.runs[0].outcomes);
        let sum = cut.setting["data_sha256"].as_str().unwrap();
        assert!(job.is_answered_by(&cut, sum).unwrap());
        assert!(!Job { limit: 1.0, ..job }.is_answered_by(&cut, sum).unwrap());
        // γ was not chosen: there is nothing to report.
        let (_, nothing) = iris(Task::Error(Method::Itml), 0.0);
        assert_eq!((nothing.status, nothing.runs.len()), (Status::Limit, 0));
    }
}
