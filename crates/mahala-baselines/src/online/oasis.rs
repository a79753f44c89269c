//! OASIS: online algorithm for scalable image similarity (Chechik, Sharma, Shalit and Bengio 2010).
//!
//! # Formula
//! ```text
//! S(p, q) = pᵀWq,    ℓ = max(0, 1 − S(p, p⁺) + S(p, p⁻)),    W₀ = I
//! τ = min(C, ℓ/(‖p‖²‖p⁺ − p⁻‖²)),    W ← W + τ·p(p⁺ − p⁻)ᵀ
//! A = the positive semidefinite part of ½(W + Wᵀ)
//! ```
//! W − I has an entry only where p and p⁺ or p⁻ had one, and only such entries are stored: a triplet costs the product
//! of its numbers of non-zeros, whatever the number of columns.

use crate::online::presentation::{Presentation, nearest_triplets};
use crate::online::{
    Online, check_dense, checked_columns, checked_positive, difference, metric_of_positive_part,
    needs_triplets,
};
use faer::Mat;
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, Training, fields};
use mahala::metric::Metric;
use mahala::progress::Progress;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Parameters of OASIS as a batch learner: centred rows of length 1 at most, triplets in passes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Oasis {
    /// The aggressiveness C: the largest step.
    pub aggressiveness: f64,
    /// Nearest rows of its own class for each row of a labelled table; 3 if None. Refused with triplets.
    pub targets: Option<usize>,
    /// Nearest rows of other classes for each of these; 10 if None. Refused with triplets.
    pub impostors: Option<usize>,
    /// How often each triplet is presented.
    pub passes: usize,
    /// The seed of the order.
    pub seed: u64,
}

impl Default for Oasis {
    fn default() -> Self {
        Self { aggressiveness: 0.1, targets: None, impostors: None, passes: 1, seed: 0 }
    }
}

impl Learner for Oasis {
    fn name(&self) -> &'static str {
        "oasis"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        let triplets = nearest_triplets(shape, [self.targets, self.impostors]);
        shape.matrices(8.0, 2.0) + 6.0 * triplets + 3.0 * shape.pairs as f64
    }

    /// Iterations are passes; the objective is the mean of ℓ before the updates.
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        let presentation = Presentation::of_triplets(training, self.name(), [self.targets, self.impostors])?;
        let mut state = OnlineOasis::new(presentation.rows.columns(), self.aggressiveness)?;
        presentation.learned(&mut state, self.passes, self.seed, progress)
    }
}

/// The state of OASIS.
///
/// ```
/// use mahala_baselines::online::OnlineOasis;
/// // A million columns, three words a document.
/// let mut oasis = OnlineOasis::new(1_000_000, 0.1)?;
/// let (query, good, bad) = ([(7, 1.0)], [(7, 1.0), (90_000, 1.0)], [(500, 2.0)]);
/// let loss = oasis.update_sparse(&query, &good, &bad)?;
/// assert_eq!((loss, oasis.entries()), (0.0, 0)); // 1 − 1 + 0: nothing to learn
/// assert_eq!(oasis.update_sparse(&query, &bad, &good)?, 2.0);
/// assert_eq!(oasis.entries(), 3);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineOasis {
    /// W − I, row by row.
    rows: Vec<Entries>,
    aggressiveness: f64,
}

/// The entries of one row, by ascending column.
#[derive(Debug, Clone, Default)]
struct Entries {
    columns: Vec<usize>,
    values: Vec<f64>,
}

/// The non-zeros of a row: column and value, by ascending column.
type Sparse = Vec<(usize, f64)>;

impl OnlineOasis {
    /// W = I.
    ///
    /// # Errors
    /// No column, or an aggressiveness that is not positive and finite.
    pub fn new(columns: usize, aggressiveness: f64) -> Result<Self> {
        let aggressiveness = checked_positive("aggressiveness", aggressiveness)?;
        Ok(Self { rows: vec![Entries::default(); checked_columns(columns)?], aggressiveness })
    }

    /// The number of entries stored: those of W − I that an update has reached.
    pub fn entries(&self) -> usize {
        self.rows.iter().map(|row| row.columns.len()).sum()
    }

    /// [`Online::update_triplet`] for rows given by their non-zeros, each by ascending column.
    ///
    /// # Errors
    /// A column that does not exist or is out of order, or a value that is not finite.
    pub fn update_sparse(
        &mut self,
        anchor: &[(usize, f64)],
        near: &[(usize, f64)],
        far: &[(usize, f64)],
    ) -> Result<f64> {
        for (row, cells) in [anchor, near, far].into_iter().enumerate() {
            check_sparse(row, cells, self.rows.len())?;
        }
        self.update(anchor, &subtracted(near, far))
    }

    /// `S(p, q)`, for rows given by their non-zeros.
    fn similarity(&self, p: &[(usize, f64)], q: &[(usize, f64)]) -> f64 {
        let of_row = |&(i, x): &(usize, f64)| x * q.iter().map(|&(j, y)| y * self.weight(i, j)).sum::<f64>();
        p.iter().map(of_row).sum()
    }

    fn weight(&self, i: usize, j: usize) -> f64 {
        f64::from(u8::from(i == j)) + self.rows[i].get(j, self.rows.len())
    }

    fn update(&mut self, p: &[(usize, f64)], delta: &[(usize, f64)]) -> Result<f64> {
        let squares = |x: &[(usize, f64)]| x.iter().map(|(_, x)| x * x).sum::<f64>();
        let loss = (1.0 - self.similarity(p, delta)).max(0.0);
        let size = squares(p) * squares(delta);
        if !(loss.is_finite() && size.is_finite()) {
            return Err(Error::OutOfRange { what: "the loss of a triplet" });
        }
        if loss > 0.0 && size > 0.0 {
            let tau = self.aggressiveness.min(loss / size);
            let columns = self.rows.len();
            for &(i, x) in p {
                delta.iter().for_each(|&(j, y)| self.rows[i].add(j, tau * x * y, columns));
            }
        }
        Ok(loss)
    }
}

impl Entries {
    fn get(&self, column: usize, columns: usize) -> f64 {
        if self.columns.len() == columns {
            return self.values[column];
        }
        self.columns.binary_search(&column).map_or(0.0, |at| self.values[at])
    }

    fn add(&mut self, column: usize, value: f64, columns: usize) {
        if self.columns.len() == columns {
            self.values[column] += value;
            return;
        }
        match self.columns.binary_search(&column) {
            Ok(at) => self.values[at] += value,
            Err(at) => {
                self.columns.insert(at, column);
                self.values.insert(at, value);
            }
        }
    }
}

impl Online for OnlineOasis {
    fn name(&self) -> &'static str {
        "oasis"
    }

    fn columns(&self) -> usize {
        self.rows.len()
    }

    fn update_pair(&mut self, _: &[f64], _: &[f64], _: bool) -> Result<f64> {
        Err(needs_triplets(self.name()))
    }

    fn update_triplet(&mut self, anchor: &[f64], near: &[f64], far: &[f64]) -> Result<f64> {
        difference(self.columns(), anchor, anchor)?;
        let delta = difference(self.columns(), near, far)?;
        self.update(&non_zeros(anchor), &non_zeros(&delta))
    }

    /// The metric of the symmetrised W. This one step is dense: columns × columns.
    fn metric(&self) -> Result<Metric> {
        let d = self.columns();
        check_dense("the metric of oasis", d)?;
        let half = |i: usize, j: usize| 0.5 * (self.weight(i, j) + self.weight(j, i));
        metric_of_positive_part(Mat::from_fn(d, d, half).as_ref())
    }
}

fn check_sparse(row: usize, cells: &[(usize, f64)], columns: usize) -> Result<()> {
    if let Some(&(column, value)) = cells.iter().find(|(_, x)| !x.is_finite() || x.abs() >= 1e70) {
        return Err(Error::NotFinite { row, column, value });
    }
    let ascending = cells.is_sorted_by(|a, b| a.0 < b.0);
    match cells.iter().map(|&(column, _)| column).max() {
        Some(last) if last >= columns || !ascending => Err(Error::Parameter {
            name: "column",
            value: format!("{last} of {columns}"),
            allowed: "a column index of the table, and above the one before it",
        }),
        _ => Ok(()),
    }
}

fn non_zeros(row: &[f64]) -> Sparse {
    row.iter().copied().enumerate().filter(|(_, x)| *x != 0.0).collect()
}

/// `a − b`, by a merge.
fn subtracted(a: &[(usize, f64)], b: &[(usize, f64)]) -> Sparse {
    let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    let mut result = Vec::new();
    loop {
        let next = match (a.peek(), b.peek()) {
            (None, None) => return result,
            (Some(&(i, x)), Some(&(j, y))) if i == j => (i, x - y),
            (Some(&(i, x)), Some(&(j, _))) if i < j => (i, x),
            (Some(&(i, x)), None) => (i, x),
            (_, Some(&(j, y))) => (j, -y),
        };
        a.next_if(|cell| cell.0 == next.0);
        b.next_if(|cell| cell.0 == next.0);
        if next.1 != 0.0 {
            result.push(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::data::Random;

    #[test]
    fn an_update_is_the_smallest_that_makes_the_loss_0_or_as_long_as_allowed() {
        let (p, near, far) = ([0.6, 0.2, 0.0], [0.1, 0.5, 0.3], [0.9, 0.1, 0.2]);
        let mut free = OnlineOasis::new(3, 1e9).unwrap();
        assert!(free.update_triplet(&p, &near, &far).unwrap() > 1.0);
        // Passive-aggressive: 0 to rounding, and nothing to do the second time.
        assert!(free.update_triplet(&p, &near, &far).unwrap() < 1e-14);
        let mut bound = OnlineOasis::new(3, 0.1).unwrap();
        let before = bound.update_triplet(&p, &near, &far).unwrap();
        let after = bound.update_triplet(&p, &near, &far).unwrap();
        // ℓ falls by C‖p‖²‖p⁺ − p⁻‖².
        assert!((before - after - 0.1 * 0.4 * (0.64 + 0.16 + 0.01)).abs() < 1e-15);
    }

    #[test]
    fn sparse_rows_give_what_dense_rows_give() {
        let mut random = Random::new(9, 0);
        let (mut dense, mut sparse) =
            (OnlineOasis::new(20, 0.1).unwrap(), OnlineOasis::new(20, 0.1).unwrap());
        for _ in 0..300 {
            let rows: [Vec<f64>; 3] = std::array::from_fn(|_| {
                let cell = |_| if random.uniform() < 0.2 { random.uniform() } else { 0.0 };
                (0..20).map(cell).collect()
            });
            let seen = dense.update_triplet(&rows[0], &rows[1], &rows[2]).unwrap();
            let rows = rows.map(|row| non_zeros(&row));
            assert_eq!(seen, sparse.update_sparse(&rows[0], &rows[1], &rows[2]).unwrap());
        }
        assert_eq!(dense.metric().unwrap(), sparse.metric().unwrap());
    }

    #[test]
    fn a_triplet_costs_its_non_zeros_and_not_its_columns() {
        // A dense W of a million columns would be 8 TB.
        let mut oasis = OnlineOasis::new(1_000_000, 0.1).unwrap();
        let mut random = Random::new(6, 0);
        let (mut most, mut updates) = (0, 0);
        for _ in 0..2000 {
            let mut row = || {
                let mut columns: Vec<usize> = (0..5).map(|_| random.below(1_000_000)).collect();
                columns.sort_unstable();
                columns.dedup();
                columns.into_iter().map(|column| (column, 1.0)).collect::<Sparse>()
            };
            let (p, near, far) = (row(), row(), row());
            if oasis.update_sparse(&p, &near, &far).unwrap() > 0.0 {
                most += p.len() * (near.len() + far.len());
                updates += 1;
            }
        }
        assert!(updates > 1900 && oasis.entries() <= most, "{} {most}", oasis.entries());
        assert!(matches!(oasis.metric(), Err(Error::Memory { d: 1_000_000, .. })));
        assert!(oasis.update_sparse(&[(1_000_000, 1.0)], &[], &[]).is_err());
        assert!(oasis.update_sparse(&[(5, 1.0), (5, 1.0)], &[], &[]).is_err());
        assert!(oasis.update_sparse(&[(5, f64::NAN)], &[], &[]).is_err());
    }
}
