//! The sums of all pairs in parts: within classes and between them, so that each can be weighed by itself.
//!
//! # Formula
//! ```text
//! S = Σ_c w_c M_c  or  Σ_c M_c,     D_β = β Σ_c (w − w_c) M_c + w Σ_c w_c (m_c − m)(m_c − m)ᵀ
//! ```
//! with `w_c`, `m_c`, `M_c` the weight, mean and centred scatter of class c, and `w`, `m` those of all rows. All pairs of rows
//! give the first S and `β = 1`. The second S gives every row the same weight, whatever the size of its class, as LDA and
//! RCA have it; `β = 0` leaves the scatter of the class means alone.

use crate::data::{Dataset, Labels};
use crate::error::Result;
use crate::scatter::all_pairs::{AllPairs, count_pairs, degrees_of_freedom, pairs_between};
use crate::scatter::moments::Moments;
use crate::scatter::totals::{PairSum, Totals};
use crate::scatter::{PairCount, Scatter};
use faer::{Mat, MatRef};
use serde::{Deserialize, Serialize};

/// What a class weighs in `S`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClassWeight {
    /// A class weighs its number of rows: every similar pair counts once, as in GMML and KISSME.
    #[default]
    Size,
    /// A class weighs one: every row counts once, as in LDA and RCA.
    One,
}

/// Sums over all pairs of labelled rows, within classes and between them apart.
///
/// ```
/// use mahala::{Dataset, Labels, Rows};
/// use mahala::scatter::{ClassWeight, Scatter, ScatterParts};
/// let rows = Rows::new(vec![0.0, 2.0, 5.0, 6.0, 7.0], 1)?;
/// let data = Dataset::new(rows, Labels::new(["a", "a", "b", "b", "b"]))?;
/// let parts = ScatterParts::of(&data)?;
/// let all = Scatter::all_pairs_of(&data)?.0;
/// assert_eq!(parts.scatter(ClassWeight::Size, 1.0)?.d(), all.d());
/// // Scatter within the classes: 2 and 2.
/// assert_eq!(parts.scatter(ClassWeight::Size, 1.0)?.s()[(0, 0)], 2.0 * 2.0 + 3.0 * 2.0);
/// assert_eq!(parts.scatter(ClassWeight::One, 0.0)?.s()[(0, 0)], 2.0 + 2.0);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ScatterParts {
    /// `Σ_c w_c M_c`, and `w Σ_c w_c (m_c − m)(m_c − m)ᵀ` for `D`.
    between: Scatter,
    /// `Σ_c (w − w_c) M_c`, lower triangle.
    across: Mat<f64>,
    /// `w`
    weight: f64,
    mean: Vec<f64>,
    /// Rows and weight of each class that has rows.
    classes: Vec<(u64, f64)>,
}

impl ScatterParts {
    /// Of labelled rows, in one pass.
    ///
    /// # Errors
    /// One class only, or no class with two rows.
    pub fn of(data: &Dataset) -> Result<Self> {
        Self::of_rows(data.rows().as_mat(), data.labels())
    }

    /// Of labelled rows in a matrix of any layout; see [`Scatter::all_pairs_of_rows`].
    ///
    /// # Errors
    /// One class only, no class with two rows, another number of labels than of rows, or a cell that is not finite.
    pub fn of_rows<T: Copy + Into<f64> + Sync>(rows: MatRef<'_, T>, labels: &Labels) -> Result<Self> {
        Self::of_all_pairs(AllPairs::of_rows(rows, labels)?)
    }

    /// From the moments of the classes.
    ///
    /// # Errors
    /// One class only, or no class with two rows.
    pub fn of_moments(moments: &Moments) -> Result<Self> {
        Self::of_all_pairs(AllPairs::of_moments(moments)?)
    }

    fn of_all_pairs(all_pairs: AllPairs) -> Result<Self> {
        let AllPairs { within: Totals { s, d: across }, w: weight, classes, units } = all_pairs;
        let parts: Vec<(u64, f64, &[f64])> =
            classes.iter().map(|(rows, weight, mean)| (*rows, *weight, &mean[..])).collect();
        let within = Totals { s, d: PairSum::new(units.len()) };
        let (between, mean) = pairs_between(within, weight, &parts, &units)?;
        let classes = classes.iter().map(|(rows, weight, _)| (*rows, *weight)).collect();
        Ok(Self { between, across: across.matrix, weight, mean, classes })
    }

    /// The mean of the rows.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The number of classes that have rows.
    pub fn class_count(&self) -> usize {
        self.classes.len()
    }

    /// Whether all classes are of one size.
    pub fn is_balanced(&self) -> bool {
        self.classes.windows(2).all(|two| two[0].1 == two[1].1)
    }

    /// `S` with these class weights, and `D` with its part within classes scaled by `β`.
    ///
    /// # Errors
    /// Weights of 0 together.
    pub fn scatter(&self, class_weight: ClassWeight, beta: f64) -> Result<Scatter> {
        let [plain, dissimilar] = count_pairs(&self.classes);
        let similar = match class_weight {
            ClassWeight::Size => plain,
            ClassWeight::One => {
                // A pair of a class of n_c rows weighs 1/n_c.
                let weight = |&(rows, weight): &(u64, f64)| {
                    if weight == rows as f64 { 0.5 * (weight - 1.0) } else { 0.5 * weight }
                };
                PairCount { weight: self.classes.iter().map(weight).sum(), ..plain }
            }
        };
        // w·ΣM_c = Σ w_c M_c + Σ (w − w_c) M_c: nothing cancels in a sum.
        let mut totals = Totals::new(self.across.ncols());
        totals.s.add(1.0, self.between.s());
        totals.d.add(1.0, self.between.d());
        if class_weight == ClassWeight::One {
            totals.s.add(1.0, self.across.as_ref());
            totals.s.divide(self.weight);
        }
        totals.d.add(beta, self.across.as_ref());
        let samples = degrees_of_freedom(self.classes.iter().map(|class| class.0));
        totals.with_counts([similar, dissimilar]).finish(self.between.units().to_vec(), samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::data::random::Random;

    fn table() -> Dataset {
        let mut random = Random::new(3, 0);
        let sizes = [7, 12, 3];
        let labels: Vec<usize> = (0..3).flat_map(|class| vec![class; sizes[class]]).collect();
        let cell = |at: usize, random: &mut Random| random.uniform() + (labels[at / 2] * (at % 2)) as f64;
        let values = (0..44).map(|at| cell(at, &mut random)).collect();
        let names = labels.iter().map(usize::to_string);
        Dataset::new(Rows::new(values, 2).unwrap(), Labels::new(names)).unwrap()
    }

    #[test]
    fn the_parts_are_those_of_the_formula() {
        let data = table();
        let moments = Moments::of(&data).unwrap();
        for parts in [ScatterParts::of(&data).unwrap(), ScatterParts::of_moments(&moments).unwrap()] {
            let (w, m) = (22.0, parts.mean().to_vec());
            for (one, beta) in [(false, 1.0), (false, 0.3), (true, 0.0), (true, 1.0)] {
                let class_weight = if one { ClassWeight::One } else { ClassWeight::Size };
                let scatter = parts.scatter(class_weight, beta).unwrap();
                for (i, j) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                    let (mut s, mut d) = (0.0, 0.0);
                    for class in moments.classes() {
                        let (n, mean, inner) =
                            (class.weight(), class.mean(), class.scatter()[(i.max(j), i.min(j))]);
                        s += if one { inner } else { n * inner };
                        d += beta * (w - n) * inner + w * n * (mean[i] - m[i]) * (mean[j] - m[j]);
                    }
                    // Sums of some 500 terms of size 1.
                    assert!(
                        (scatter.s()[(i, j)] - s).abs() < 1e-11 && (scatter.d()[(i, j)] - d).abs() < 1e-10
                    );
                }
            }
        }
    }

    #[test]
    fn equal_classes_are_known_as_such() {
        let rows = |n: usize| Rows::new((0..n).map(|i| (i * i) as f64).collect(), 1).unwrap();
        let parts = |labels: &[&str]| {
            let data = Dataset::new(rows(labels.len()), Labels::new(labels.iter().copied())).unwrap();
            ScatterParts::of(&data).unwrap()
        };
        assert!(parts(&["a", "b", "a", "b"]).is_balanced());
        assert!(!parts(&["a", "b", "a", "b", "b"]).is_balanced());
    }
}
