//! A cell under way: its runs, one after the other, until all are done or the time is up.

use crate::cell::{Job, Run, Status, grid, rounded};
use crate::protocol::{Method, Set, gmml, gmml_all};
use anyhow::Result;
use cpu_time::ProcessTime;
use mahala::data::{Random, Stream};
use mahala::learner::{Learned, Outcome, Report, Training};
use mahala::neighbors::wrong_votes;
use mahala::pairs::Pairs;
use mahala::progress::{Step, Stop};
use mahala::scatter::Scatter;
use mahala::{Dataset, Error, Rows};
use std::ops::ControlFlow;
use std::time::Instant;

/// Neighbours that vote.
const K: usize = 5;

/// A cell under way.
pub(crate) struct Work {
    job: Job,
    data: Dataset,
    start: ProcessTime,
}

/// Whether a run came to its end.
pub(crate) enum Ending {
    Whole,
    /// Cut short; what was learned so far was tested.
    Cut,
    /// Cut before anything was learned.
    Nothing,
}

/// What was learned, and its t; or none if the limit came before anything was.
type Fitted = Option<(Learned, Option<f64>)>;

impl Work {
    pub(crate) fn new(job: Job, data: Dataset) -> Self {
        Self { job, data, start: ProcessTime::now() }
    }

    pub(crate) fn spent(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn order(&self) -> ControlFlow<Stop> {
        if self.spent() > self.job.limit {
            ControlFlow::Break(Stop::TimeUp)
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Runs until all are done or the limit is reached. Of a run cut short the result counts only if there is
    /// no other.
    pub(crate) fn all_runs(
        &self,
        one: impl Fn(usize) -> Result<(Run, Ending)>,
    ) -> Result<(Vec<Run>, Status)> {
        let mut runs = Vec::new();
        for number in 0..self.job.planned_runs() {
            // By the runs so far, the next would not end in time.
            if number > 0 && self.spent() * (number + 1) as f64 / number as f64 > self.job.limit {
                return Ok((runs, Status::Limit));
            }
            match one(number)? {
                (run, Ending::Whole) => runs.push(run),
                (run, Ending::Cut) if runs.is_empty() => return Ok((vec![run], Status::Limit)),
                _ => return Ok((runs, Status::Limit)),
            }
        }
        Ok((runs, Status::Complete))
    }

    pub(crate) fn error_run(&self, method: Method, number: usize) -> Result<(Run, Ending)> {
        let wall = Instant::now();
        let mut run = Run::default();
        let mut ending = Ending::Whole;
        for (train, test) in self.job.set.splits(&self.data, self.job.seed, number)? {
            let (train, test) = (self.data.subset(&train), self.data.subset(&test));
            let start = ProcessTime::now();
            let fitted = self.learn(method, &train, self.job.seed + number as u64)?;
            run.learn_seconds += start.elapsed().as_secs_f64();
            let Some((learned, t)) = fitted else { return Ok((run, Ending::Nothing)) };
            let start = ProcessTime::now();
            run.wrong += wrong_under(|rows| learned.transform(rows), &train, &test)?;
            run.test_seconds += start.elapsed().as_secs_f64();
            run.tested += test.len();
            run.note(method, self.job.set, t, &learned.report);
            if learned.report.outcome == Outcome::TimeLimit {
                ending = Ending::Cut;
                break;
            }
        }
        run.round(wall);
        Ok((run, ending))
    }

    fn learn(&self, method: Method, train: &Dataset, seed: u64) -> Result<Fitted> {
        let closed_form = match method {
            Method::Gmml => Some(gmml(self.job.set, seed)),
            Method::GmmlAll => Some(gmml_all(self.job.set, seed)),
            _ => None,
        };
        if let Some(gmml) = closed_form {
            let fit = gmml.fit(train)?;
            return Ok(Some((Learned::new(fit.metric, Report::closed_form()), Some(fit.t))));
        }
        let learner = method.learner(self.job.set, seed, false)?;
        let groups = self.job.set.groups(train.len()).filter(|_| method.takes_groups());
        let training = match &groups {
            Some(groups) => Training::Grouped(train, groups),
            None => Training::Labelled(train),
        };
        match learner.learn(&training, &mut |_: Step| self.order()) {
            // ITML's choice of γ was cut: nothing was learned with the γ it would have had.
            Ok(Learned { report, .. }) if report.outcome == Outcome::TimeLimit && report.iterations == 0 => {
                Ok(None)
            }
            Ok(learned) => Ok(Some((learned, None))),
            Err(Error::Cancelled) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// One solution serves every t.
    pub(crate) fn curve_run(&self, number: usize) -> Result<(Run, Ending)> {
        let wall = Instant::now();
        let seed = self.job.seed + number as u64;
        let mut run = Run { curve: vec![0; grid().len()], ..Run::default() };
        for (train, test) in self.job.set.splits(&self.data, self.job.seed, number)? {
            let (train, test) = (self.data.subset(&train), self.data.subset(&test));
            let start = ProcessTime::now();
            let pairs = Pairs::sampled(train.labels(), &mut Random::of(seed, Stream::Pairs));
            let solution = gmml(self.job.set, seed).solve(&Scatter::from_pairs(train.rows(), &pairs)?)?;
            run.learn_seconds += start.elapsed().as_secs_f64();
            for (wrong, t) in run.curve.iter_mut().zip(grid()) {
                let metric = solution.metric(t)?;
                *wrong += wrong_under(|rows| metric.transform(rows), &train, &test)?;
            }
            run.tested += test.len();
        }
        run.round(wall);
        Ok((run, Ending::Whole))
    }

    /// One fit, repeated up to a hundred times within two CPU seconds: the least CPU time.
    pub(crate) fn time(&self, method: Method) -> Result<(Vec<Run>, Status)> {
        let (train, _) = self.job.set.splits(&self.data, self.job.seed, 0)?.swap_remove(0);
        let train = self.data.subset(&train);
        let learner = method.learner(self.job.set, self.job.seed, true)?;
        let mut best: Option<(Run, Outcome)> = None;
        for _ in 0..100 {
            let (wall, start) = (Instant::now(), ProcessTime::now());
            let learned = match learner.learn(&Training::Labelled(&train), &mut |_: Step| self.order()) {
                Err(Error::Cancelled) => return Ok((Vec::new(), Status::Limit)),
                other => other?,
            };
            let mut run = Run { learn_seconds: start.elapsed().as_secs_f64(), ..Run::default() };
            run.wall_seconds = wall.elapsed().as_secs_f64();
            run.note(method, self.job.set, None, &learned.report);
            if best.as_ref().is_none_or(|(best, _)| run.learn_seconds < best.learn_seconds) {
                best = Some((run, learned.report.outcome));
            }
            if self.spent() > 2.0 {
                break;
            }
        }
        let cut = best.as_ref().is_some_and(|(_, outcome)| *outcome == Outcome::TimeLimit);
        let status = if cut { Status::Limit } else { Status::Complete };
        Ok((best.into_iter().map(|(run, _)| run).collect(), status))
    }
}

impl Run {
    fn note(&mut self, method: Method, set: &Set, t: Option<f64>, report: &Report) {
        self.t.extend(t);
        if matches!(method, Method::Gmml | Method::GmmlAll) {
            self.lambda = Some(set.lambda);
        }
        if report.outcome != Outcome::ClosedForm {
            self.iterations.push(report.iterations);
            self.outcomes.push(report.outcome.to_string());
        }
        if let Some(recipes) = report.choice.as_ref().and_then(|choice| choice["recipes"].as_array()) {
            let recipes: Vec<&str> = recipes.iter().filter_map(|recipe| recipe["recipe"].as_str()).collect();
            self.choices.push(recipes.join(" + "));
        }
    }

    fn round(&mut self, wall: Instant) {
        self.wall_seconds = rounded(wall.elapsed().as_secs_f64());
        self.learn_seconds = rounded(self.learn_seconds);
        self.test_seconds = rounded(self.test_seconds);
    }
}

fn wrong_under(
    transform: impl Fn(&Rows) -> mahala::Result<Rows>,
    train: &Dataset,
    test: &Dataset,
) -> Result<usize> {
    let seen = |part: &Dataset| Dataset::new(transform(part.rows())?, part.labels().clone());
    Ok(wrong_votes(&seen(train)?, &seen(test)?, K)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Task;
    use crate::data::{Source, path_of, read};

    #[test]
    fn the_curve_at_a_t_is_the_error_of_a_fit_with_that_t() {
        let set = Set::named("iris").unwrap();
        let job = Job { set, task: Task::Curve, seed: 0, runs: 2, limit: 100.0 };
        let cell = job.compute(&path_of(set, None).unwrap()).unwrap();
        let Source { data, .. } = read(job.set, &path_of(job.set, None).unwrap()).unwrap();
        let mut wrong = 0;
        for (train, test) in job.set.splits(&data, 0, 1).unwrap() {
            let (train, test) = (data.subset(&train), data.subset(&test));
            let gmml = mahala::Gmml { t: mahala::gmml::TChoice::Fixed(0.3), ..gmml(job.set, 1) };
            let metric = gmml.fit(&train).unwrap().metric;
            wrong += wrong_under(|rows| metric.transform(rows), &train, &test).unwrap();
        }
        assert_eq!(cell.runs[1].curve[15], wrong);
        assert_eq!(grid()[15], 0.3);
    }
}
