//! Whether learning is worth it on this data: the best method beside the plain distance.

use crate::commands::evaluate::material::Measure;
use crate::commands::evaluate::report::Outcome;
use crate::options::method::Method;
use mahala::Labels;
use mahala::evaluation::{Interval, corrected_resampled, ratio_over_units};
use serde_json::{Value, json};
use std::fmt;

/// How sure all intervals together are.
const CONFIDENCE: f64 = 0.95;

/// The error of the plain distance less that of each learned metric.
pub(super) struct Verdict {
    /// In the order of the methods, without the plain distance.
    gains: Vec<Gain>,
    /// What the intervals are taken over.
    over: &'static str,
    units: usize,
    measure: Measure,
}

/// How many points of error a method saves.
struct Gain {
    name: String,
    interval: Interval,
}

/// What a gain amounts to.
#[derive(PartialEq, Eq)]
enum Worth {
    Better,
    Chance,
    Worse,
}

/// How the intervals are to be taken.
pub(super) enum Over<'a> {
    /// Over splits that share rows, with this mean ratio of tested to learned units.
    Splits(f64),
    /// Over the units of one split: the group of each, if it is known.
    Units(Option<&'a Labels>, &'a [usize]),
}

impl Verdict {
    /// None where there is no plain distance, or nothing beside it, or no interval can be had.
    pub(super) fn of(outcomes: &[Outcome], over: &Over<'_>) -> Option<Self> {
        let plain = outcomes.iter().find(|outcome| outcome.method == Method::Euclidean)?;
        let others: Vec<&Outcome> =
            outcomes.iter().filter(|outcome| outcome.method != Method::Euclidean).collect();
        // The best of several is named, so all intervals must hold at once (Bonferroni).
        let confidence = 1.0 - (1.0 - CONFIDENCE) / others.len().max(1) as f64;
        let gain = |outcome: &&Outcome| {
            let interval = over.interval(plain, outcome, confidence)?;
            interval.low.is_finite().then(|| Gain { name: outcome.name.clone(), interval })
        };
        let gains: Vec<Gain> = others.iter().map(gain).collect::<Option<_>>()?;
        let (what, units) = match over {
            Over::Splits(_) => ("splits", plain.losses.len()),
            Over::Units(None, tested) => ("rows", tested.len()),
            Over::Units(Some(groups), tested) => {
                let seen: std::collections::HashSet<u32> =
                    tested.iter().map(|&i| groups.codes()[i]).collect();
                ("groups", seen.len())
            }
        };
        (!gains.is_empty()).then_some(Self { gains, over: what, units, measure: Measure::Votes })
    }

    /// These gains, said to be of another measure.
    pub(super) fn of_measure(self, measure: Measure) -> Self {
        Self { measure, ..self }
    }

    /// The method that saves most; of equals the one named first.
    fn best(&self) -> &Gain {
        let by_mean = |a: &&Gain, b: &&Gain| a.interval.mean.total_cmp(&b.interval.mean);
        self.gains.iter().rev().max_by(by_mean).unwrap_or(&self.gains[0])
    }

    pub(super) fn to_json(&self) -> Value {
        let gain = |gain: &Gain| {
            let Interval { mean, low, high, .. } = gain.interval;
            json!({"method": gain.name, "gain": mean, "low": low, "high": high})
        };
        json!({
            "sentence": self.to_string(), "best": self.best().name, "worth_it": self.best().worth() == Worth::Better,
            "gains": self.gains.iter().map(gain).collect::<Vec<_>>(),
            "confidence": CONFIDENCE, "over": self.over, "units": self.units,
        })
    }
}

impl Over<'_> {
    fn interval(&self, plain: &Outcome, other: &Outcome, confidence: f64) -> Option<Interval> {
        match self {
            Self::Splits(ratio) => {
                let saved: Vec<f64> = plain.losses.iter().zip(&other.losses).map(|(a, b)| a - b).collect();
                Some(corrected_resampled(&saved, *ratio, confidence))
            }
            Self::Units(groups, tested) => {
                let (plain, other) = (plain.wrong.as_ref()?, other.wrong.as_ref()?);
                let unit_of = |&row: &usize| groups.map_or(row, |groups| groups.codes()[row] as usize);
                let units = tested.iter().map(unit_of).max()? + 1;
                let (mut saved, mut times) = (vec![0.0; units], vec![0.0; units]);
                for row in *tested {
                    saved[unit_of(row)] += 100.0 * (plain[*row] - other[*row]);
                    times[unit_of(row)] += 1.0;
                }
                Some(ratio_over_units(&saved, &times, confidence))
            }
        }
    }
}

impl Gain {
    fn worth(&self) -> Worth {
        if self.interval.low > 0.0 {
            Worth::Better
        } else if self.interval.high < 0.0 {
            Worth::Worse
        } else {
            Worth::Chance
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let best = self.best();
        let (name, saved) = (&best.name, points(best.interval.mean));
        let interval =
            format!("95 % interval {} to {}", points(best.interval.low), points(best.interval.high));
        let explains = self.measure == Measure::Squares;
        match best.worth() {
            Worth::Better if explains => write!(
                f,
                "Learning is worth it on this data: {name} explains {saved} points more of the targets' variance (R²) than \
                 the plain distance ({interval})."
            ),
            Worth::Better => write!(
                f,
                "Learning is worth it on this data: {name} has {saved} points less error than the plain distance ({interval})."
            ),
            Worth::Chance if explains => write!(
                f,
                "Learning is not shown to be worth it on this data: {name}, the best, explains {saved} points more of the \
                 targets' variance (R²), which may be chance ({interval})."
            ),
            Worth::Chance => write!(
                f,
                "Learning is not shown to be worth it on this data: {name}, the best, saves {saved} points of error, which may \
                 be chance ({interval})."
            ),
            Worth::Worse if explains => write!(
                f,
                "Learning does harm on this data: every method explains less of the targets' variance (R²) than the plain \
                 distance ({name}, the best, {saved} points, {interval})."
            ),
            Worth::Worse => write!(
                f,
                "Learning does harm on this data: every method has more error than the plain distance ({name}, the best, \
                 saves {saved} points, {interval})."
            ),
        }
    }
}

fn points(value: f64) -> String {
    // Not "-0.0".
    let rounded = (10.0 * value).round() / 10.0 + 0.0;
    format!("{rounded:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(method: Method, losses: Vec<f64>, wrong: Option<Vec<f64>>) -> Outcome {
        Outcome { losses, wrong, ..Outcome::empty(method, method.name().to_owned()) }
    }

    /// Ones on the first rows of so many.
    fn ones(count: usize, rows: usize) -> Vec<f64> {
        (0..rows).map(|row| f64::from(u8::from(row < count))).collect()
    }

    fn of_one_split(plain: usize, learned: usize, groups: Option<&Labels>) -> String {
        let outcomes = [
            outcome(Method::Euclidean, vec![0.0], Some(ones(plain, 100))),
            outcome(Method::Auto, vec![0.0], Some(ones(learned, 100))),
        ];
        let tested: Vec<usize> = (0..100).collect();
        Verdict::of(&outcomes, &Over::Units(groups, &tested)).unwrap().to_string()
    }

    #[test]
    fn on_one_split_the_rows_that_two_methods_decide_otherwise_count() {
        // 20 of 100 rows saved: a standard error of sqrt(0.2 · 0.8 / 99) = 4.02 points, times t_99 = 1.984.
        let text = of_one_split(30, 10, None);
        assert!(
            text.starts_with("Learning is worth it on this data: auto has 20.0 points less error"),
            "{text}"
        );
        assert!(text.contains("95 % interval 12.0 to 28.0"), "{text}");
        assert!(of_one_split(11, 10, None).starts_with("Learning is not shown to be worth it"));
        assert!(of_one_split(10, 30, None).starts_with("Learning does harm"));
        // All rows that are saved are of one group of five.
        let groups = Labels::new((0..100).map(|row| ["a", "b", "c", "d", "e"][row / 20]));
        let text = of_one_split(30, 10, Some(&groups));
        assert!(text.starts_with("Learning is not shown to be worth it"), "{text}");
    }

    #[test]
    fn over_splits_the_interval_is_corrected_for_the_rows_they_share() {
        let plain = outcome(Method::Euclidean, vec![10.0, 12.0, 11.0, 11.0], None);
        let learned = outcome(Method::Auto, vec![8.0, 9.0, 10.0, 9.0], None);
        let gains = [plain, learned];
        // Differences 2, 3, 1, 2: t_3 = 3.182 times sqrt((1/4 + 1) · 2/3).
        let verdict = Verdict::of(&gains, &Over::Splits(1.0)).unwrap();
        assert!(verdict.to_string().contains("95 % interval -0.9 to 4.9"), "{verdict}");
        let independent = Verdict::of(&gains, &Over::Splits(0.0)).unwrap();
        assert!(independent.to_string().contains("95 % interval 0.7 to 3.3"), "{independent}");
    }

    #[test]
    fn the_best_of_several_has_a_wider_interval() {
        let of = |names: &[Method]| {
            let mut all = vec![outcome(Method::Euclidean, vec![10.0, 12.0, 11.0, 11.0], None)];
            all.extend(names.iter().map(|&name| outcome(name, vec![8.0, 9.0, 10.0, 9.0], None)));
            Verdict::of(&all, &Over::Splits(0.0)).unwrap().gains[0].interval.low
        };
        assert!(of(&[Method::Auto, Method::Lda]) < of(&[Method::Auto]));
    }

    #[test]
    fn without_the_plain_distance_or_an_interval_there_is_nothing_to_say() {
        let of = |outcomes: &[Outcome]| Verdict::of(outcomes, &Over::Splits(1.0));
        let losses = || vec![1.0, 2.0];
        assert!(of(&[outcome(Method::Lda, losses(), None), outcome(Method::Auto, losses(), None)]).is_none());
        assert!(of(&[outcome(Method::Euclidean, losses(), None)]).is_none());
        assert!(
            of(&[outcome(Method::Euclidean, vec![1.0], None), outcome(Method::Auto, vec![1.0], None)])
                .is_none()
        );
    }
}
