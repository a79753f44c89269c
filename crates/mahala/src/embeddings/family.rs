//! All members from one pair of sums; factorisations are kept, for members share them.

use crate::embeddings::map::LinearMap;
use crate::embeddings::member::{Form, Member};
use crate::embeddings::sums::TwoSums;
use crate::error::{Error, Result};
use faer::{Mat, MatRef};
use mahala_kernels::blas::{product, weighted_gram};
use mahala_kernels::eigen::eigen;
use mahala_kernels::workspace::Workspace;
use std::collections::HashMap;
use std::rc::Rc;

/// Eigenvalues this much below the largest are rounding.
const NEGLIGIBLE: f64 = 1e-10;

/// Directions, one a row, with the eigenvalue of each, descending: every member is `Σ weight(value)·bbᵀ`.
pub(crate) struct Basis {
    pub rows: Mat<f64>,
    values: Vec<f64>,
    /// bᵀTb of each direction.
    spread: Vec<f64>,
}

/// Bases differ by what is decomposed, the shrinkage and the share of S in D.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Decomposed {
    Total,
    Pencil,
    Geodesic,
}

/// The members of one pair of sums.
pub(crate) struct Family {
    sums: TwoSums,
    bases: HashMap<(Decomposed, u64, u64), Rc<Basis>>,
    /// Eigenvalues and eigenvectors of S: they serve every shrinkage.
    similar: Option<Rc<(Vec<f64>, Mat<f64>)>>,
    workspace: Workspace,
}

impl Family {
    pub(crate) fn new(sums: TwoSums) -> Self {
        Self { sums, bases: HashMap::new(), similar: None, workspace: Workspace::default() }
    }

    pub(crate) fn sums(&self) -> &TwoSums {
        &self.sums
    }

    fn columns(&self) -> usize {
        self.sums.mean.len()
    }

    /// The linear map of a member, reduced to the coordinates in which mapped rows vary most.
    pub(crate) fn map_of(&mut self, member: Member, n_components: Option<usize>) -> Result<LinearMap> {
        let d = self.columns();
        let (factor, mean) = match member.form {
            Form::Plain => (Mat::identity(d, d), vec![0.0; d]),
            _ => (self.factor(member)?, self.sums.mean.clone()),
        };
        let Some(kept) = n_components.filter(|&kept| kept < factor.nrows()) else {
            return Ok(LinearMap::new(factor, mean));
        };
        // About the mean for all but plain rows, whose length counts under the cosine.
        let m = &self.sums.mean;
        let offset = |i: usize, j: usize| if member.form == Form::Plain { m[i] * m[j] } else { 0.0 };
        let spread = Mat::from_fn(d, d, |i, j| self.sums.total[(i, j)] + offset(i, j));
        let half = product(factor.as_ref(), spread.as_ref());
        let mapped = symmetric(product(half.as_ref(), factor.transpose()).as_ref());
        let e = eigen(mapped.as_ref(), "the covariance of mapped rows", &mut self.workspace)?;
        let k = e.values.len();
        let leading = Mat::from_fn(kept, k, |i, j| e.vectors[(j, k - 1 - i)]);
        Ok(LinearMap::new(product(leading.as_ref(), factor.as_ref()), mean))
    }

    /// The basis of a member that has one, and the weights of its directions, scaled so that mapped rows have the mean
    /// square of plain ones.
    pub(crate) fn weighted(&mut self, member: Member) -> Result<Option<(Rc<Basis>, Vec<f64>)>> {
        if member.form.is_plain() || member.plain_share > 0.0 {
            return Ok(None);
        }
        let basis = self.basis(member)?;
        let directions = self.sums.directions;
        let largest = basis.values[0];
        let floored = |value: f64| value.max(NEGLIGIBLE * largest);
        let weight = |(k, &value): (usize, &f64)| match member.form {
            Form::Whitening => 1.0 / floored(value),
            Form::Lda => {
                let kept = (member.share_of_directions * directions as f64).round_ties_even().max(1.0);
                f64::from((k as f64) < kept)
            }
            Form::Kissme => (1.0 - 1.0 / value.max(1.0)).max(0.0),
            Form::Gmml => floored(value).powf(member.t.unwrap_or(0.0)),
            _ => floored(value).powf(member.power.unwrap_or(0.0)),
        };
        let mut weights: Vec<f64> = basis.values.iter().enumerate().map(weight).collect();
        let most = weights.iter().copied().fold(0.0, f64::max);
        if most <= 0.0 {
            // No direction in which dissimilar pairs are farther apart: all are alike.
            weights.fill(1.0);
        }
        weights.iter_mut().filter(|w| **w <= NEGLIGIBLE * most).for_each(|w| *w = 0.0);
        let before: f64 = (0..self.columns()).map(|j| self.sums.total[(j, j)]).sum();
        let after: f64 = weights.iter().zip(&basis.spread).map(|(w, s)| w * s).sum();
        if after > 0.0 {
            weights.iter_mut().for_each(|w| *w *= before / after);
        }
        Ok(Some((basis, weights)))
    }

    /// `L` with `A = LᵀL`.
    fn factor(&mut self, member: Member) -> Result<Mat<f64>> {
        let d = self.columns();
        if member.form.is_plain() {
            return Ok(Mat::identity(d, d));
        }
        let bare = Member { plain_share: 0.0, ..member };
        let Some((basis, weights)) = self.weighted(bare)? else { return Ok(Mat::identity(d, d)) };
        let used: Vec<usize> = (0..weights.len()).filter(|&k| weights[k] > 0.0).collect();
        let factor = Mat::from_fn(used.len(), d, |i, j| weights[used[i]].sqrt() * basis.rows[(used[i], j)]);
        if member.plain_share == 0.0 {
            return Ok(factor);
        }
        let mut a = product(factor.transpose(), factor.as_ref());
        for i in 0..d {
            for j in 0..d {
                a[(i, j)] *= 1.0 - member.plain_share;
            }
            a[(i, i)] += member.plain_share;
        }
        let e = eigen(symmetric(a.as_ref()).as_ref(), "the blended metric", &mut self.workspace)?;
        let largest = e.values[d - 1];
        let used: Vec<usize> = (0..d).rev().filter(|&k| e.values[k] > NEGLIGIBLE * largest).collect();
        Ok(Mat::from_fn(used.len(), d, |i, j| e.values[used[i]].sqrt() * e.vectors[(j, used[i])]))
    }

    fn basis(&mut self, member: Member) -> Result<Rc<Basis>> {
        let (kind, within) = match member.form {
            Form::Whitening => (Decomposed::Total, 1.0),
            Form::Gmml => (Decomposed::Geodesic, member.within),
            _ => (Decomposed::Pencil, 1.0),
        };
        let key = (kind, member.shrinkage.to_bits(), within.to_bits());
        if let Some(basis) = self.bases.get(&key) {
            return Ok(basis.clone());
        }
        let (values, rows) = match kind {
            Decomposed::Total => {
                let total = shrunk(self.sums.total.as_ref(), member.shrinkage);
                let e = eigen(total.as_ref(), "the covariance of the rows", &mut self.workspace)?;
                descending(&e.values, e.vectors.as_ref(), None)
            }
            Decomposed::Pencil | Decomposed::Geodesic => {
                let (root, inverse) = self.roots(member.shrinkage)?;
                let side = if kind == Decomposed::Pencil { &inverse } else { &root };
                let d = self.dissimilar(member.shrinkage, within);
                let half = product(side.as_ref(), d.as_ref());
                let whole = symmetric(product(half.as_ref(), side.as_ref()).as_ref());
                let e = eigen(whole.as_ref(), "the pencil (D, S)", &mut self.workspace)?;
                descending(&e.values, e.vectors.as_ref(), Some(inverse.as_ref()))
            }
        };
        let spread = product(rows.as_ref(), self.sums.total.as_ref());
        let spread = (0..rows.nrows())
            .map(|i| (0..rows.ncols()).map(|j| spread[(i, j)] * rows[(i, j)]).sum())
            .collect();
        let basis = Rc::new(Basis { rows, values, spread });
        self.bases.insert(key, basis.clone());
        Ok(basis)
    }

    fn dissimilar(&self, shrinkage: f64, within: f64) -> Mat<f64> {
        let Some(between) = &self.sums.between else {
            return shrunk(self.sums.dissimilar.as_ref(), shrinkage);
        };
        let s = shrunk(self.sums.similar.as_ref(), shrinkage);
        Mat::from_fn(s.nrows(), s.ncols(), |i, j| within * s[(i, j)] + between[(i, j)])
    }

    /// S^½ and S^−½ of the shrunk sum.
    fn roots(&mut self, shrinkage: f64) -> Result<(Mat<f64>, Mat<f64>)> {
        if self.similar.is_none() {
            let e = eigen(self.sums.similar.as_ref(), "S", &mut self.workspace)?;
            self.similar = Some(Rc::new((e.values, e.vectors)));
        }
        let Some(similar) = &self.similar else { return Err(Error::NoConvergence { what: "S" }) };
        let mean = similar.0.iter().sum::<f64>() / similar.0.len() as f64;
        // Where similar pairs do not differ at all, and nothing is shrunk, they are taken to differ by rounding.
        let floor = NEGLIGIBLE * mean.max(f64::MIN_POSITIVE);
        let root = |v: &f64| ((1.0 - shrinkage) * v.max(0.0) + shrinkage * mean).max(floor).sqrt();
        let roots: Vec<f64> = similar.0.iter().map(root).collect();
        let inverses: Vec<f64> = roots.iter().map(|root| 1.0 / root).collect();
        let vectors = similar.1.as_ref();
        Ok((weighted_gram(vectors, &roots), weighted_gram(vectors, &inverses)))
    }
}

/// Eigenvalues in descending order and their vectors as rows, times a matrix where there is one.
fn descending(
    values: &[f64],
    vectors: MatRef<'_, f64>,
    times: Option<MatRef<'_, f64>>,
) -> (Vec<f64>, Mat<f64>) {
    let d = values.len();
    let rows = Mat::from_fn(d, d, |i, j| vectors[(j, d - 1 - i)]);
    let rows = times.map_or_else(|| rows.clone(), |times| product(rows.as_ref(), times));
    (values.iter().rev().copied().collect(), rows)
}

/// (1 − shrinkage)·M + shrinkage·(tr M / d)·I
fn shrunk(m: MatRef<'_, f64>, shrinkage: f64) -> Mat<f64> {
    let d = m.nrows();
    let mean = (0..d).map(|j| m[(j, j)]).sum::<f64>() / d as f64;
    Mat::from_fn(d, d, |i, j| (1.0 - shrinkage) * m[(i, j)] + if i == j { shrinkage * mean } else { 0.0 })
}

fn symmetric(m: MatRef<'_, f64>) -> Mat<f64> {
    Mat::from_fn(m.nrows(), m.ncols(), |i, j| f64::midpoint(m[(i, j)], m[(j, i)]))
}
