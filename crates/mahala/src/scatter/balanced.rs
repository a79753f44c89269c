//! Class-balanced scatter: classes of unequal size have equal weight.
//!
//! # Formula
//! With `w_c`, `m_c`, `M_c` the weight, mean and centred scatter of class c, C classes and `w = Σ_c w_c`,
//! ```text
//! S = (w/C)² Σ_c M_c/w_c,     D = (w/C)² Σ_{a<b} v_ab E_ab
//! E_ab = M_a/w_a + M_b/w_b + (m_a − m_b)(m_a − m_b)ᵀ
//! ```
//! where `E_ab` is the mean outer product of differences between a row of a and a row of b. With `v_ab = 1` this
//! is the sum over all pairs of rows weighted `w/(C·w_c)` each: [`Balance::Classes`]. [`Balance::ClassPairs`]
//! takes `v_ab ∝ 1/Σ_j (E_ab)_jj/S_jj`, of mean 1: otherwise two classes far apart, which are easy to separate,
//! would dominate `D`.

use crate::error::Result;
use crate::scatter::all_pairs::{check, count_pairs, degrees_of_freedom};
use crate::scatter::class_moments::ClassMoments;
use crate::scatter::moments::Moments;
use crate::scatter::totals::{PairSum, Totals};
use crate::scatter::{PairCount, Scatter};
use faer::Mat;

/// What has equal weight when classes differ in size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Balance {
    /// Rows: large classes count for more, as in the paper.
    #[default]
    None,
    /// Classes: a row of class c has the weight `n/(C·n_c)`. Every pair of classes then has the same weight in
    /// `D`, too.
    Classes,
    /// Class pairs: the weights of [`Balance::Classes`], and every pair of classes adds the same amount to `D`,
    /// measured in the spread within classes: near classes count as much as those far apart.
    ClassPairs,
}

impl Scatter {
    /// All pairs from the moments, with equal weight for classes, or for pairs of classes.
    ///
    /// ```
    /// use mahala::{Dataset, Labels, Rows};
    /// use mahala::scatter::{Balance, Moments, Scatter};
    /// // Class "a" varies by ±1 in 2 rows, class "b" by ±2 in 4: their mean squares are 1 and 4.
    /// let rows = Rows::new(vec![-1.0, 1.0, 8.0, 12.0, 8.0, 12.0], 1)?;
    /// let data = Dataset::new(rows, Labels::new(["a", "a", "b", "b", "b", "b"]))?;
    /// let scatter = Scatter::balanced(&Moments::of(&data)?, Balance::Classes)?;
    /// assert_eq!(scatter.s()[(0, 0)], 9.0 * (1.0 + 4.0)); // (6/2)² of each
    /// assert_eq!(scatter.d()[(0, 0)], 9.0 * (1.0 + 4.0 + 100.0));
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// One class only, or no class with two rows.
    pub fn balanced(moments: &Moments, balance: Balance) -> Result<Self> {
        if balance == Balance::None {
            return Self::all_pairs(moments);
        }
        let classes: Vec<&ClassMoments> = moments.classes().iter().filter(|c| c.weight() > 0.0).collect();
        check(classes.iter().map(|class| (class.name(), class.rows())))?;
        let (d, count) = (moments.columns(), classes.len() as f64);
        let w: f64 = classes.iter().map(|class| class.weight()).sum();
        let each = (w / count).powi(2);
        let mut totals = Totals::new(d);
        classes.iter().for_each(|class| totals.s.add(each / class.weight(), class.scatter()));
        let shares = match balance {
            Balance::ClassPairs => equal_amounts(&classes, &diagonal(&totals.s.matrix)),
            Balance::None | Balance::Classes => ones(classes.len()),
        };
        for (a, class) in classes.iter().enumerate() {
            let sum: f64 = shares[a].iter().sum();
            totals.d.add(each * sum / class.weight(), class.scatter());
        }
        add_steps(&mut totals.d, each, &classes, &shares);
        let counts: Vec<(u64, f64)> = classes.iter().map(|class| (class.rows(), class.weight())).collect();
        let [similar, dissimilar] = count_pairs(&counts);
        let weighing = |pairs: PairCount, weight: f64| PairCount { weight, ..pairs };
        let (within, across) = (0.5 * each * count, 0.5 * each * count * (count - 1.0));
        let counts = [weighing(similar, within), weighing(dissimilar, across)];
        let samples = degrees_of_freedom(classes.iter().map(|class| class.rows()));
        totals.with_counts(counts).finish(moments.units().to_vec(), samples)
    }
}

/// `sum += each·Σ_{a<b} v_ab (m_a − m_b)(m_a − m_b)ᵀ`: one row of a SYRK for each pair of classes.
fn add_steps(sum: &mut PairSum, each: f64, classes: &[&ClassMoments], shares: &[Vec<f64>]) {
    let pairs: Vec<(usize, usize)> = pairs_of(classes.len()).collect();
    let mut products = sum.outer_products(pairs.len());
    for (a, b) in pairs {
        let root = (each * shares[a][b]).sqrt();
        let means = classes[a].mean().iter().zip(classes[b].mean());
        products.push(means.map(|(a, b)| root * (a - b)));
    }
}

/// `v_ab` that give every pair of classes the same `Σ_j (E_ab)_jj/S_jj`; their mean is 1.
fn equal_amounts(classes: &[&ClassMoments], s: &[f64]) -> Vec<Vec<f64>> {
    let varying: Vec<usize> = (0..s.len()).filter(|&j| s[j] > 0.0).collect();
    let amount = |a: &ClassMoments, b: &ClassMoments| -> f64 {
        let spread = |class: &ClassMoments, j: usize| class.scatter()[(j, j)] / class.weight();
        let entry = |j: usize| spread(a, j) + spread(b, j) + (a.mean()[j] - b.mean()[j]).powi(2);
        varying.iter().map(|&j| entry(j) / s[j]).sum()
    };
    let mut shares = ones(classes.len());
    let mut total = 0.0;
    for (a, b) in pairs_of(classes.len()) {
        let amount = amount(classes[a], classes[b]);
        if !(amount > 0.0 && amount.is_finite()) {
            // Two classes that differ in nothing: there is no amount to make equal.
            return ones(classes.len());
        }
        (shares[a][b], shares[b][a]) = (1.0 / amount, 1.0 / amount);
        total += 1.0 / amount;
    }
    let mean = total / pairs_of(classes.len()).count() as f64;
    shares.iter_mut().flatten().for_each(|share| *share /= mean);
    (0..classes.len()).for_each(|a| shares[a][a] = 0.0);
    shares
}

/// `v_ab = 1`, and 0 for a class with itself.
fn ones(classes: usize) -> Vec<Vec<f64>> {
    (0..classes).map(|a| (0..classes).map(|b| f64::from(u8::from(a != b))).collect()).collect()
}

fn pairs_of(classes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..classes).flat_map(move |a| (a + 1..classes).map(move |b| (a, b)))
}

fn diagonal(matrix: &Mat<f64>) -> Vec<f64> {
    (0..matrix.ncols()).map(|j| matrix[(j, j)]).collect()
}
