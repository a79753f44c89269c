//! Bootstrap intervals of means over queries, and the paired comparison of two systems on the same queries.

use crate::data::{Random, Stream};
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// How means are resampled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampling {
    /// The share of resamples inside the interval.
    pub confidence: f64,
    /// How many resamples are drawn.
    pub resamples: usize,
    /// Decides the draws.
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Self {
        Self { confidence: 0.95, resamples: 2000, seed: 0 }
    }
}

/// A mean with its bootstrap interval.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Interval {
    /// The mean over queries.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The number of queries that have a value.
    pub queries: usize,
}

/// The mean difference after − before, its bootstrap interval, and the p-value of a sign-flip permutation test.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PairedTest {
    /// The mean of after − before.
    pub difference: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Two-sided.
    pub p_value: f64,
    /// The number of queries that have both values.
    pub queries: usize,
}

impl PairedTest {
    /// Whether the interval leaves 0 out.
    pub fn significant(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

impl std::fmt::Display for Interval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.4} [{:.4}, {:.4}]", self.mean, self.low, self.high)
    }
}

impl std::fmt::Display for PairedTest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:+.4} [{:+.4}, {:+.4}], p = {:.4}", self.difference, self.low, self.high, self.p_value)
    }
}

/// The percentile bootstrap interval of the mean over queries. NaN marks queries without a value, which are left out.
///
/// With groups, whole groups are resampled: the class of a query, a user, whose queries are not independent.
///
/// ```
/// use mahala::retrieval::{Resampling, bootstrap_interval};
/// let interval = bootstrap_interval(&[0.0, 1.0, 1.0, 1.0], None, Resampling::default())?;
/// assert!(interval.mean == 0.75 && interval.low < 0.75 && 0.75 < interval.high);
/// # Ok::<(), mahala::Error>(())
/// ```
///
/// # Errors
/// No value, another number of groups than of values, a confidence outside (0, 1), fewer than two resamples.
pub fn bootstrap_interval(
    values: &[f64],
    groups: Option<&[u32]>,
    resampling: Resampling,
) -> Result<Interval> {
    let sums = Sums::of(values, groups)?;
    let (low, high) = sums.interval(resampling)?;
    Ok(Interval { mean: sums.mean(), low, high, queries: sums.queries() })
}

/// Compares two systems on the same queries: the bootstrap's interval of the mean difference, and a two-sided p-value from
/// flipping the sign of the differences at random (of whole groups, if there are groups), with the observed one counted
/// among the draws. A query that is NaN in either is left out.
///
/// ```
/// use mahala::retrieval::{Resampling, paired_test};
/// let test = paired_test(&[0.1; 20], &[0.3; 20], None, Resampling::default())?;
/// assert!(test.significant() && test.p_value < 0.01);
/// # Ok::<(), mahala::Error>(())
/// ```
///
/// # Errors
/// Other lengths; else as [`bootstrap_interval`].
pub fn paired_test(
    before: &[f64],
    after: &[f64],
    groups: Option<&[u32]>,
    resampling: Resampling,
) -> Result<PairedTest> {
    if before.len() != after.len() {
        return Err(Error::Length { what: "queries after", seen: after.len(), expected: before.len() });
    }
    let differences: Vec<f64> = before.iter().zip(after).map(|(before, after)| after - before).collect();
    let sums = Sums::of(&differences, groups)?;
    let (low, high) = sums.interval(resampling)?;
    let p_value = sums.sign_flip_p_value(resampling);
    Ok(PairedTest { difference: sums.mean(), low, high, p_value, queries: sums.queries() })
}

/// The sum and the number of queries of each group.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn of(values: &[f64], groups: Option<&[u32]>) -> Result<Self> {
        if let Some(groups) = groups
            && groups.len() != values.len()
        {
            return Err(Error::Length { what: "groups", seen: groups.len(), expected: values.len() });
        }
        let known = (0..values.len()).filter(|&i| !values[i].is_nan());
        let sums: Vec<(f64, f64)> = match groups {
            None => known.map(|i| (values[i], 1.0)).collect(),
            Some(groups) => {
                let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
                for i in known {
                    let (sum, count) = sums.entry(groups[i]).or_default();
                    *sum += values[i];
                    *count += 1.0;
                }
                sums.into_values().collect()
            }
        };
        if sums.is_empty() {
            return Err(Error::Empty { what: "the list of queries that have a relevant row" });
        }
        Ok(Self(sums))
    }

    fn mean(&self) -> f64 {
        mean(self.0.iter())
    }

    fn queries(&self) -> usize {
        self.0.iter().map(|(_, count)| *count as usize).sum()
    }

    fn interval(&self, resampling: Resampling) -> Result<(f64, f64)> {
        let Resampling { confidence, resamples, seed } = resampling;
        if !(confidence > 0.0 && confidence < 1.0) {
            let allowed = "above 0 and below 1, such as 0.95";
            return Err(Error::Parameter { name: "confidence", value: confidence.to_string(), allowed });
        }
        let Some(draws) = u32::try_from(resamples).ok().filter(|&draws| draws >= 2) else {
            let allowed = "at least 2 and below 2^32";
            return Err(Error::Parameter { name: "n_resamples", value: resamples.to_string(), allowed });
        };
        // A stream for each resample: the same draws with any number of threads.
        let mut means: Vec<f64> = (0..draws)
            .into_par_iter()
            .map(|draw| {
                let mut random = Random::of(seed, Stream::Resample(draw));
                mean((0..self.0.len()).map(|_| &self.0[random.below(self.0.len())]))
            })
            .collect();
        means.sort_by(f64::total_cmp);
        Ok((quantile(&means, (1.0 - confidence) / 2.0), quantile(&means, f64::midpoint(1.0, confidence))))
    }

    fn sign_flip_p_value(&self, resampling: Resampling) -> f64 {
        let observed: f64 = self.0.iter().map(|(sum, _)| sum).sum();
        // Rounding must not make a draw that only reorders the observed sum smaller than it.
        let least = observed.abs() * (1.0 - 1e-12);
        let extreme = (0..resampling.resamples as u32)
            .into_par_iter()
            .filter(|&draw| {
                let mut random = Random::of(resampling.seed, Stream::SignFlips(draw));
                let mut sum = 0.0;
                for group in self.0.chunks(64) {
                    let bits = random.bits();
                    sum += group
                        .iter()
                        .enumerate()
                        .map(|(i, (s, _))| if bits >> i & 1 == 1 { *s } else { -s })
                        .sum::<f64>();
                }
                sum.abs() >= least
            })
            .count();
        (extreme + 1) as f64 / (resampling.resamples + 1) as f64
    }
}

fn mean<'a>(groups: impl Iterator<Item = &'a (f64, f64)>) -> f64 {
    let (sum, count) = groups.fold((0.0, 0.0), |(sum, count), group| (sum + group.0, count + group.1));
    sum / count
}

/// Linear interpolation between order statistics.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (place - place.floor()) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_differences_of_one_sign_are_as_rare_as_two_of_256() {
        let resampling = Resampling { resamples: 20_000, ..Resampling::default() };
        let test = paired_test(&[0.0; 8], &[1.0; 8], None, resampling).unwrap();
        // 4 standard errors of a share of 2/256 in 20,000 draws.
        assert!((test.p_value - 2.0 / 256.0).abs() < 0.0025, "{test}");
        assert_eq!((test.difference, test.low, test.high, test.queries), (1.0, 1.0, 1.0, 8));
    }

    #[test]
    fn groups_widen_the_interval_and_unknown_values_are_left_out() {
        let groups: Vec<u32> = (0..360).map(|i| i / 30).collect();
        let mut random = Random::new(4, 0);
        let of_group: Vec<f64> = (0..12).map(|_| random.uniform()).collect();
        let mut values: Vec<f64> =
            groups.iter().map(|&g| of_group[g as usize] + 0.01 * random.uniform()).collect();
        values[7] = f64::NAN;
        let alone = bootstrap_interval(&values, None, Resampling::default()).unwrap();
        let together = bootstrap_interval(&values, Some(&groups), Resampling::default()).unwrap();
        assert!(together.high - together.low > 3.0 * (alone.high - alone.low), "{alone} {together}");
        assert_eq!(alone.queries, 359);
    }

    #[test]
    fn what_cannot_be_resampled_is_refused() {
        let default = Resampling::default();
        assert!(bootstrap_interval(&[f64::NAN], None, default).is_err());
        assert!(bootstrap_interval(&[1.0], Some(&[0, 1]), default).is_err());
        assert!(bootstrap_interval(&[1.0], None, Resampling { confidence: 1.0, ..default }).is_err());
        assert!(bootstrap_interval(&[1.0], None, Resampling { resamples: 1, ..default }).is_err());
        assert!(paired_test(&[1.0], &[1.0, 2.0], None, default).is_err());
    }

    #[test]
    fn quantiles_are_interpolated() {
        assert_eq!(quantile(&[0.0, 1.0, 3.0], 0.75), 2.0);
    }
}
