//! All cells: those that are missing are computed, several at a time, each in a process of its own.

use crate::cell::{Cell, Job, Status};
use crate::data::{path_of, sum_of};
use crate::say;
use anyhow::{Context as _, Result, bail};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Where data, cells and workers come from.
pub(crate) struct Plan {
    /// The folder of data sets; none for the bundled ones.
    pub data: Option<PathBuf>,
    /// The folder of result files.
    pub cells: PathBuf,
    /// Cells at a time.
    pub workers: usize,
    /// Compute also what is there.
    pub again: bool,
}

/// Computes what is not there yet. A cell whose data set is missing says so.
pub(crate) fn run(jobs: &[Job], plan: &Plan) -> Result<()> {
    let missing = plan.open_jobs(jobs)?;
    let progress = Progress::new(&missing, plan.workers);
    let queue = Mutex::new(missing.iter());
    let next = || queue.lock().ok().and_then(|mut queue| queue.next());
    let worker = || -> Result<()> {
        while let Some((job, data)) = next() {
            let cell = in_own_process(job, data);
            let cell = cell.unwrap_or_else(|error| Cell::empty(job, Status::Failed, format!("{error:#}")));
            cell.save(&plan.file(job))?;
            progress.done(job, &cell);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.workers).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(result) => result,
            Err(_) => bail!("a worker panicked"),
        })
    })
}

impl Plan {
    fn file(&self, job: &Job) -> PathBuf {
        self.cells.join(format!("{}.json", job.key()))
    }

    /// The jobs without a result, with their data files.
    fn open_jobs(&self, jobs: &[Job]) -> Result<Vec<(Job, PathBuf)>> {
        let mut sums: HashMap<PathBuf, String> = HashMap::new();
        let (mut open, mut absent) = (Vec::new(), Vec::new());
        for job in jobs {
            let Some(path) = path_of(job.set, self.data.as_deref()) else {
                absent.push(job.set.title);
                self.note_absence(job)?;
                continue;
            };
            if !sums.contains_key(&path) {
                sums.insert(path.clone(), sum_of(&path)?);
            }
            let there = if self.again { None } else { Cell::load(&self.file(job))? };
            let answered = match there {
                Some(cell) => job.is_answered_by(&cell, &sums[&path])?,
                None => false,
            };
            if !answered {
                open.push((*job, path));
            }
        }
        absent.dedup();
        if !absent.is_empty() {
            say(&format!(
                "no data, left out: {} (`experiments fetch` gets what is public)",
                absent.join(", ")
            ));
        }
        Ok(open)
    }

    /// A cell that says that its data are missing, unless there is a better one.
    fn note_absence(&self, job: &Job) -> Result<()> {
        if self.file(job).exists() {
            return Ok(());
        }
        Cell::empty(job, Status::Absent, format!("{} is not there", job.set.file)).save(&self.file(job))
    }
}

/// This program again, for one cell and with one thread.
fn in_own_process(job: &Job, data: &Path) -> Result<Cell> {
    let output = Command::new(std::env::current_exe()?)
        .args(["cell", &job.key(), "--file"])
        .arg(data)
        .args(["--seed", &job.seed.to_string(), "--runs", &job.runs.to_string()])
        .args(["--limit", &job.limit.to_string()])
        .env("RAYON_NUM_THREADS", "1")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    if !output.status.success() {
        bail!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).context("the cell's process printed no cell")
}

/// A bar on a terminal, lines elsewhere; both with an estimate of the time left.
struct Progress {
    bar: ProgressBar,
    start: Instant,
    total: f64,
    workers: usize,
    /// Cells done, and the expected seconds of those.
    state: Mutex<(usize, f64)>,
    cells: usize,
}

impl Progress {
    fn new(jobs: &[(Job, PathBuf)], workers: usize) -> Self {
        let bar = ProgressBar::new(jobs.len() as u64);
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} cells, {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        let total: f64 = jobs.iter().map(|(job, _)| job.expected_seconds()).sum();
        Self { bar, start: Instant::now(), total, workers, state: Mutex::new((0, 0.0)), cells: jobs.len() }
    }

    fn done(&self, job: &Job, cell: &Cell) {
        let Ok(mut state) = self.state.lock() else { return };
        state.0 += 1;
        state.1 += job.expected_seconds();
        // Expected seconds are corrected by how long the expected seconds so far have taken; the guess counts
        // as much as ten seconds of experience.
        let pace = (self.start.elapsed().as_secs_f64() + 10.0 / self.workers as f64) / (state.1 + 10.0);
        let left = Duration::from_secs_f64((self.total - state.1).max(0.0) * pace);
        let what = match cell.status {
            Status::Complete => format!("{} in {:.1} CPU s", runs(cell), cell.cpu_seconds),
            Status::Limit => format!("stopped by the limit of {} s after {}", cell.limit, runs(cell)),
            Status::Failed | Status::Absent => format!("failed: {}", cell.note),
        };
        let left = format!("about {} left", HumanDuration(left));
        let line = format!("{}: {what}", job.key());
        if self.bar.is_hidden() {
            say(&format!("[{}/{}] {line}; {left}", state.0, self.cells));
        } else {
            self.bar.println(line);
            self.bar.set_message(left);
            self.bar.inc(1);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn runs(cell: &Cell) -> String {
    match cell.runs.len() {
        1 => "1 run".into(),
        n => format!("{n} runs"),
    }
}
