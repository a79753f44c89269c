//! Moments of one class: weight, mean and centred scatter, by Chan's pairwise update.

use crate::scatter::column_scaling::{Units, shift_lower};
use faer::{Mat, MatRef, Par};
use mahala_kernels::blas::syrk::Block;
use mahala_kernels::scaling::times_power_of_two;

/// The moments of one class, in the units of their columns (see [`Moments::units`](super::Moments::units)).
#[derive(Debug, Clone)]
pub struct ClassMoments {
    pub(crate) name: String,
    pub(crate) rows: u64,
    pub(crate) weight: f64,
    pub(crate) mean: Vec<f64>,
    /// `Σ w (x − mean)(x − mean)ᵀ`, lower triangle.
    pub(crate) scatter: Mat<f64>,
}

/// The largest number of rows of a class: what a 64-bit float counts exactly.
pub(crate) const MAX_ROWS: u64 = 1 << 53;

impl ClassMoments {
    pub(crate) fn new(name: &str, columns: usize) -> Self {
        let (mean, scatter) = (vec![0.0; columns], Mat::zeros(columns, columns));
        Self { name: name.to_owned(), rows: 0, weight: 0.0, mean, scatter }
    }

    /// Starts another class whose scatter is added to the present one.
    pub(crate) fn begin_class(&mut self) {
        (self.rows, self.weight) = (0, 0.0);
        self.mean.fill(0.0);
    }

    /// The class's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many rows were seen.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The sum of the rows' weights.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The weighted mean of the rows.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The centred scatter `Σ w (x − mean)(x − mean)ᵀ` of the rows; only the lower triangle is stored.
    pub fn scatter(&self) -> MatRef<'_, f64> {
        self.scatter.as_ref()
    }

    /// Adds the rows of one block: its own scatter, and the step between the two means as one more row.
    ///
    /// # Formula
    /// ```text
    /// M ← M_a + M_b + (w_a w_b / (w_a + w_b)) (m_b − m_a)(m_b − m_a)ᵀ
    /// ```
    pub(crate) fn absorb<T: Copy + Into<f64>>(
        &mut self,
        block: &mut Block,
        rows: MatRef<'_, T>,
        indices: &[usize],
        units: &Units,
        weights: Option<&[f64]>,
        par: Par,
    ) {
        let chosen: Option<Vec<f64>> = weights.map(|w| indices.iter().map(|&i| w[i]).collect());
        let weight = chosen.as_ref().map_or(indices.len() as f64, |w| w.iter().sum());
        self.rows += indices.len() as u64;
        if weight == 0.0 {
            return;
        }
        let mean = block.gather_centred(rows, indices, units.exponents(), chosen.as_deref());
        if self.weight > 0.0 {
            let root = (self.weight * weight / (self.weight + weight)).sqrt();
            block.push(mean.iter().zip(&self.mean).map(|(b, a)| root * (b - a)));
        }
        block.add_gram_to(self.scatter.as_mut(), par);
        self.shift_mean(&mean, weight);
    }

    fn shift_mean(&mut self, mean: &[f64], weight: f64) {
        self.weight += weight;
        let share = weight / self.weight;
        self.mean.iter_mut().zip(mean).for_each(|(a, b)| *a += share * (b - *a));
    }

    /// Adds the moments of other rows of the class (Chan's pairwise update).
    pub(super) fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        if other.weight == 0.0 {
            return;
        }
        let step = self.weight * other.weight / (self.weight + other.weight);
        self.combine(other, 1.0, step);
        self.shift_mean(&other.mean, other.weight);
    }

    /// Undoes [`ClassMoments::merge`].
    pub(super) fn subtract(&mut self, other: &Self) {
        self.rows -= other.rows;
        if other.weight == 0.0 {
            return;
        }
        let rest = self.weight - other.weight;
        if self.rows == 0 || rest <= 0.0 {
            *self = Self { rows: self.rows, ..Self::new(&self.name, self.mean.len()) };
            return;
        }
        for (a, b) in self.mean.iter_mut().zip(&other.mean) {
            *a += (other.weight / rest) * (*a - b);
        }
        self.combine(other, -1.0, -rest * other.weight / self.weight);
        self.weight = rest;
        for j in 0..self.mean.len() {
            self.scatter[(j, j)] = self.scatter[(j, j)].max(0.0);
        }
    }

    /// `M ← M + sign·M_other + step·(m_other − m)(m_other − m)ᵀ`
    fn combine(&mut self, other: &Self, sign: f64, step: f64) {
        let between: Vec<f64> = other.mean.iter().zip(&self.mean).map(|(b, a)| b - a).collect();
        for j in 0..between.len() {
            for i in j..between.len() {
                self.scatter[(i, j)] += sign * other.scatter[(i, j)] + step * between[i] * between[j];
            }
        }
    }

    /// Multiplies column j by `2^shift[j]`.
    pub(super) fn shift(&mut self, shift: &[i32]) {
        self.mean.iter_mut().zip(shift).for_each(|(m, &s)| *m = times_power_of_two(*m, s));
        shift_lower(&mut self.scatter, shift);
    }

    /// The moments in other units.
    pub(super) fn in_units(&self, from: &Units, to: &Units) -> Self {
        let mut copy = self.clone();
        if let Some(shift) = from.shift_to(to) {
            copy.shift(&shift);
        }
        copy
    }
}
