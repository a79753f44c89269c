//! Whether learning is worth it on this data: the best method beside the plain distance, row by row.

use crate::commands::evaluate::report::Outcome;
use crate::options::method::Method;
use crate::terminal::format;
use mahala::Labels;
use serde_json::{Value, json};
use std::fmt;

/// 97.5 % of a normal distribution lie below so many standard deviations.
const NORMAL: f64 = 1.96;

/// The error of the plain distance less that of each learned metric.
pub(super) struct Verdict {
    /// In the order of the methods, without the plain distance.
    gains: Vec<Gain>,
    /// Rows, or groups, over which the intervals are taken.
    units: usize,
    grouped: bool,
}

/// How many points of error a method saves, with an interval that has it in 95 of 100 tables.
struct Gain {
    method: Method,
    mean: f64,
    low: f64,
    high: f64,
}

/// What a gain amounts to.
#[derive(PartialEq, Eq)]
enum Worth {
    Better,
    Chance,
    Worse,
}

impl Verdict {
    /// None where there is no plain distance, or nothing beside it. `tested` says how often each row was tested; rows of a
    /// group count as one.
    pub(super) fn of(outcomes: &[Outcome], tested: &[u32], groups: Option<&Labels>) -> Option<Self> {
        let plain = outcomes.iter().find(|outcome| outcome.method == Method::Euclidean)?;
        let unit_of: Vec<usize> = match groups {
            Some(groups) => groups.codes().iter().map(|&code| code as usize).collect(),
            None => (0..tested.len()).collect(),
        };
        let mut times = vec![0.0; unit_of.iter().max()? + 1];
        unit_of.iter().zip(tested).for_each(|(&unit, &tested)| times[unit] += f64::from(tested));
        let units = times.iter().filter(|&&times| times > 0.0).count();
        let gain = |outcome: &Outcome| {
            let mut saved = vec![0.0; times.len()];
            for (row, &unit) in unit_of.iter().enumerate() {
                saved[unit] += f64::from(plain.wrong[row]) - f64::from(outcome.wrong[row]);
            }
            let (mean, error) = ratio(&saved, &times);
            let (mean, half) = (100.0 * mean, 100.0 * NORMAL * error);
            Gain { method: outcome.method, mean, low: mean - half, high: mean + half }
        };
        let others = outcomes.iter().filter(|outcome| outcome.method != Method::Euclidean);
        let gains: Vec<Gain> = others.map(gain).collect();
        (!gains.is_empty()).then_some(Self { gains, units, grouped: groups.is_some() })
    }

    /// The method that saves most; of equals the one named first.
    fn best(&self) -> &Gain {
        self.gains.iter().rev().max_by(|a, b| a.mean.total_cmp(&b.mean)).unwrap_or(&self.gains[0])
    }

    pub(super) fn to_json(&self) -> Value {
        let gain = |gain: &Gain| json!({"method": gain.method.name(), "gain": gain.mean, "low": gain.low, "high": gain.high});
        json!({
            "sentence": self.to_string(), "best": self.best().method.name(),
            "worth_it": self.best().worth() == Worth::Better,
            "gains": self.gains.iter().map(gain).collect::<Vec<_>>(),
            "confidence": 0.95, "over": if self.grouped { "groups" } else { "rows" }, "units": self.units,
        })
    }
}

impl Gain {
    fn worth(&self) -> Worth {
        if self.low > 0.0 {
            Worth::Better
        } else if self.high < 0.0 {
            Worth::Worse
        } else {
            Worth::Chance
        }
    }

    fn in_words(&self) -> String {
        format!("95 % interval {} to {}", points(self.low), points(self.high))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let best = self.best();
        let (name, interval) = (best.method.name(), best.in_words());
        match best.worth() {
            Worth::Better => {
                let saved = points(best.mean);
                write!(
                    f,
                    "Learning is worth it: {name} has {saved} points less error than the plain distance ({interval})."
                )
            }
            Worth::Chance => {
                let gain = points(best.mean);
                write!(
                    f,
                    "Learning is not worth it on this data: {name}, the best, saves {gain} points of error, which may be \
                     chance ({interval}). Use the plain distance, or give more rows."
                )
            }
            Worth::Worse => write!(
                f,
                "Learning does harm on this data: every method has more error than the plain distance ({name}, the best: \
                 {interval} points saved). Use the plain distance."
            ),
        }?;
        if self.units < 30 {
            let unit = if self.grouped { "group" } else { "row" };
            write!(f, " With {} tested the interval is rough.", format::count(self.units as u64, unit))?;
        }
        Ok(())
    }
}

fn points(value: f64) -> String {
    // Not "-0.0".
    let rounded = (10.0 * value).round() / 10.0 + 0.0;
    format!("{rounded:.1}")
}

/// The ratio of two sums over units, and its standard error.
fn ratio(numerators: &[f64], denominators: &[f64]) -> (f64, f64) {
    let total: f64 = denominators.iter().sum();
    let ratio = numerators.iter().sum::<f64>() / total;
    let units = denominators.iter().filter(|&&times| times > 0.0).count() as f64;
    let residuals = numerators.iter().zip(denominators).map(|(x, w)| (x - ratio * w).powi(2));
    let correction = if units > 1.0 { units / (units - 1.0) } else { 1.0 };
    (ratio, (correction * residuals.sum::<f64>()).sqrt() / total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(method: Method, wrong: Vec<u32>) -> Outcome {
        let (counts, t, reports) = (Vec::new(), Vec::new(), Vec::new());
        Outcome { method, counts, wrong, t, reports, fit_seconds: 0.0, selection_seconds: 0.0 }
    }

    /// Ones on the first rows of so many.
    fn ones(count: usize, rows: usize) -> Vec<u32> {
        (0..rows).map(|row| u32::from(row < count)).collect()
    }

    fn sentence(plain: Vec<u32>, learned: Vec<u32>, groups: Option<&Labels>) -> String {
        let tested = vec![1; plain.len()];
        let outcomes = [outcome(Method::Euclidean, plain), outcome(Method::Auto, learned)];
        Verdict::of(&outcomes, &tested, groups).unwrap().to_string()
    }

    #[test]
    fn a_gain_beyond_chance_is_worth_it() {
        // 20 of 100 rows saved: a standard error of sqrt(0.2 · 0.8 / 99) = 4.02 points.
        let text = sentence(ones(30, 100), ones(10, 100), None);
        assert!(text.starts_with("Learning is worth it: auto has 20.0 points less error"), "{text}");
        assert!(text.contains("95 % interval 12.1 to 27.9"), "{text}");
    }

    #[test]
    fn one_row_in_a_hundred_may_be_chance_and_more_errors_do_harm() {
        assert!(sentence(ones(11, 100), ones(10, 100), None).starts_with("Learning is not worth it"));
        assert!(sentence(ones(10, 100), ones(30, 100), None).starts_with("Learning does harm"));
        assert!(sentence(ones(10, 100), ones(10, 100), None).contains("interval 0.0 to 0.0"));
    }

    #[test]
    fn rows_of_one_group_count_as_one() {
        // All rows that are saved are of one group of five.
        let groups = Labels::new((0..100).map(|row| ["a", "b", "c", "d", "e"][row / 20]));
        let text = sentence(ones(30, 100), ones(10, 100), Some(&groups));
        assert!(text.starts_with("Learning is not worth it"), "{text}");
        assert!(text.ends_with("With 5 groups tested the interval is rough."), "{text}");
    }

    #[test]
    fn without_the_plain_distance_there_is_nothing_to_say() {
        let outcomes = [outcome(Method::Lda, ones(1, 9)), outcome(Method::Auto, ones(1, 9))];
        assert!(Verdict::of(&outcomes, &[1; 9], None).is_none());
        assert!(Verdict::of(&[outcome(Method::Euclidean, ones(1, 9))], &[1; 9], None).is_none());
    }
}
