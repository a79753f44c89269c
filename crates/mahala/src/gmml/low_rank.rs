//! Low-rank GMML for more columns than rows (d > n): exact learning inside the span of the rows.
//!
//! # Formula
//! With `A₀ = I`, λ > 0 and `Q` (d × r, r ≤ n − 1) an orthonormal basis of the span of the centred rows
//! ```text
//! A = λ^(2t−1)·(I − QQᵀ) + Q·[(QᵀSQ + λI)⁻¹ ♯_t (QᵀDQ + λI)]·Qᵀ
//! ```
//! because `S` and `D` vanish outside the span, and GMML with the identity as prior is equivariant under
//! rotations of the rows. So the rows become their r coordinates, ordinary [`Gmml`] learns on those (t included:
//! every fold lies in the same span), and the metric found, `M`, is composed with `Qᵀ`. `O(n²d + r³)`, and no
//! matrix is d × d.
//!
//! Without λ nothing is known outside the span, and its weight is 0.

use crate::data::centered::{Cells, Centred};
use crate::data::sparse::SparseRows;
use crate::data::{Dataset, Labels, Rows};
use crate::error::{Error, MemoryRemedy, Result};
use crate::gmml::FitOptions;
use crate::gmml::regularize::{Prior, Regularization};
use crate::gmml::span::{Leading, Span};
use crate::gmml::{Diagnostics, Fit, Gmml};
use crate::metric::Metric;
use crate::progress::Progress;
use faer::{Mat, MatRef};
use mahala_kernels::blas::weighted_gram;
use mahala_kernels::eigen::eigen;
use mahala_kernels::eigen::graded::{are_lost, of_gram};
use mahala_kernels::workspace::Workspace;

/// The subspace that a metric was learned in, if not in all of the space.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LearnedSpan {
    /// The number of directions.
    pub directions: usize,
    /// Whether they are the leading ones, by a randomised search, rather than all that the rows span.
    pub randomized: bool,
    /// The share of the rows' squared distances from their mean that lies outside; 0 if they span no more.
    pub outside: f64,
}

/// The largest number of columns, or of rows, up to which sparse rows are learned on without approximation.
const SMALL: usize = 5_000;
/// The number of principal directions for a sparse table that is larger both ways.
const DIRECTIONS: usize = 256;

/// How a table is reduced to few columns.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reduction {
    /// Not at all.
    None,
    /// To the span of its rows.
    Span,
    /// To this many leading principal directions.
    Leading(usize),
}

/// A table in reduced coordinates, and the map back.
pub(crate) struct Reduced<'a> {
    /// The parameters for the coordinates.
    pub(crate) gmml: Gmml,
    pub(crate) data: Dataset,
    centred: Centred<'a>,
    basis: Basis,
    outside: f64,
}

enum Basis {
    Rows(Span),
    Directions(Mat<f64>),
}

impl Gmml {
    /// Learns from sparse rows and labels, without ever forming a dense table or a matrix of all columns
    /// by all columns unless they are small.
    ///
    /// Up to 5,000 rows the result is exact. With more rows and more columns than that, learning happens inside
    /// the leading principal directions of the rows (256, or as `principal` says), and the diagnostics report the
    /// share of the rows outside.
    ///
    /// ```
    /// use mahala::{Gmml, Labels};
    /// use mahala::data::SparseRows;
    /// use mahala::gmml::TChoice;
    /// use mahala::progress::silent;
    /// let rows = SparseRows::new(vec![0, 1, 3, 4, 6], vec![0, 0, 7, 1, 1, 9], vec![1.0; 6], 10)?;
    /// let labels = Labels::new(["a", "a", "b", "b"]);
    /// let gmml = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() };
    /// let fit = gmml.fit_sparse(&rows, &labels, &mut silent)?;
    /// assert_eq!(fit.metric.transform_sparse(&rows)?.columns(), 3);
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns too far apart
    /// in scale, or too much memory needed; as many labels as rows are needed.
    pub fn fit_sparse(&self, rows: &SparseRows, labels: &Labels, progress: &mut Progress<'_>) -> Result<Fit> {
        let options = FitOptions::default();
        if let Some(reduced) = Reduced::of(self, Cells::Sparse(rows), labels)? {
            return reduced.fit(self, &options, progress);
        }
        self.fit_with(&Dataset::new(self.densified(rows)?, labels.clone())?, &options, progress)
    }

    fn densified(&self, rows: &SparseRows) -> Result<Rows> {
        let numbers = rows.len() as f64 * rows.columns() as f64;
        let what = "a dense table of these rows";
        self.check_memory(what, numbers, rows.columns(), MemoryRemedy::Principal)?;
        rows.to_rows()
    }

    /// Whether the formula holds: the metric must be equivariant under rotations of the rows.
    fn is_rotation_equivariant(&self) -> bool {
        match self.regularization {
            Regularization::None | Regularization::Lambda(0.0) => true,
            Regularization::Lambda(_) => matches!(self.prior, Prior::Identity),
            Regularization::Shrinkage(rho)
            | Regularization::ShrinkSimilar(rho)
            | Regularization::ShrinkSimilarToIdentity(rho)
            | Regularization::ShrinkToIdentity(rho) => rho == 0.0,
            Regularization::Analytic => false,
        }
    }

    /// Whether a dense table of this shape is learned on as it is, neither inside its span nor in leading directions.
    pub(crate) fn learns_in_all_columns(&self, rows: usize, columns: usize) -> bool {
        self.principal.is_none() && !(columns > rows && self.is_rotation_equivariant())
    }

    fn reduction(&self, cells: Cells<'_>) -> Reduction {
        let (n, d) = (cells.len(), cells.columns());
        match (self.principal, cells) {
            (Some(directions), _) => Reduction::Leading(directions),
            _ if !self.is_rotation_equivariant() => Reduction::None,
            (None, Cells::Sparse(_)) if n.min(d) > SMALL => Reduction::Leading(DIRECTIONS),
            _ if d > n => Reduction::Span,
            _ => Reduction::None,
        }
    }
}

impl<'a> Reduced<'a> {
    /// The table in reduced coordinates, if it is to be learned in them.
    ///
    /// # Errors
    /// No row, labels of another number, rows all alike, a parameter out of range, too much memory needed.
    pub(crate) fn of(gmml: &Gmml, cells: Cells<'a>, labels: &Labels) -> Result<Option<Self>> {
        let reduction = gmml.reduction(cells);
        if reduction == Reduction::None {
            return Ok(None);
        }
        check(gmml, reduction, cells, labels)?;
        let centred = Centred::new(cells, gmml.standardize)?;
        let (basis, coordinates, outside) = if let Reduction::Leading(directions) = reduction {
            let leading = Leading::of(&centred, directions, gmml.seed)?;
            let rows = leading.rows(centred.exponent)?;
            (Basis::Directions(leading.directions), rows, leading.outside)
        } else {
            let span = Span::of_gram(centred.gram().as_ref(), "the products of the rows");
            let span = span.map_err(|error| match error {
                Error::AllConstant { .. } => Error::AllConstant { columns: cells.columns() },
                other => other,
            })?;
            let rows = span.coordinates(centred.exponent)?;
            (Basis::Rows(span), rows, 0.0)
        };
        let gmml = Gmml { standardize: false, principal: None, ..gmml.clone() };
        let data = Dataset::new(coordinates, labels.clone())?;
        Ok(Some(Self { gmml, data, centred, basis, outside }))
    }

    /// Learns on the coordinates and composes the metric with the basis; `given` are the parameters of the
    /// caller.
    pub(crate) fn fit(
        self,
        given: &Gmml,
        options: &FitOptions<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Fit> {
        let fit = self.gmml.fit_with(&self.data, options, progress)?;
        let (m, weight) = match (given.regularization, &self.basis) {
            (Regularization::Lambda(lambda), Basis::Rows(_)) if lambda > 0.0 && given.rank.is_none() => {
                (orthogonal(fit.metric.components())?, Some(lambda.powf(2.0 * fit.t - 1.0)))
            }
            _ => (fit.metric.components().to_owned(), None),
        };
        let components = self.composed(m.as_ref());
        let Centred { mean, scale, constant, .. } = self.centred;
        let mut metric = Metric::computed(components, mean, scale)?;
        if let Some(weight) = weight {
            metric = metric.with_weight_outside(weight)?;
        }
        let span = LearnedSpan {
            directions: self.data.columns(),
            randomized: matches!(self.basis, Basis::Directions(_)),
            outside: self.outside,
        };
        let constant_columns = if weight.is_some() { Vec::new() } else { constant };
        let diagnostics = Diagnostics { span: Some(span), constant_columns, ..fit.diagnostics };
        Ok(Fit { metric, t: fit.t, diagnostics })
    }

    /// The number of columns of the table itself.
    pub(crate) fn columns(&self) -> usize {
        self.centred.mean.len()
    }

    /// What is subtracted from the columns, and what they are divided by.
    pub(crate) fn mean_and_scale(self) -> (Vec<f64>, Option<Vec<f64>>) {
        (self.centred.mean, self.centred.scale)
    }

    /// `M·Qᵀ`, k × d.
    pub(crate) fn composed(&self, m: MatRef<'_, f64>) -> Mat<f64> {
        match &self.basis {
            Basis::Rows(span) => self.centred.combined(span.combination(m).as_ref()),
            Basis::Directions(directions) => mahala_kernels::blas::product(m, directions.as_ref()),
        }
    }
}

/// `L` with the same `LᵀL` and orthogonal rows, longest first: `Θ^{½}Vᵀ` of `MᵀM = VΘVᵀ`.
pub(crate) fn orthogonal(m: MatRef<'_, f64>) -> Result<Mat<f64>> {
    let a = weighted_gram(m.transpose(), &vec![1.0; m.nrows()]);
    let e = eigen(a.as_ref(), "A", &mut Workspace::default())?;
    let r = m.ncols();
    if are_lost(&e.values) {
        let e = of_gram(m, "A")?;
        let length = |i: usize| (0.5 * e.log_values[r - 1 - i]).exp();
        return Ok(Mat::from_fn(r, r, |i, j| length(i) * e.vectors[(j, r - 1 - i)]));
    }
    Ok(Mat::from_fn(r, r, |i, j| e.values[r - 1 - i].max(0.0).sqrt() * e.vectors[(j, r - 1 - i)]))
}

fn check(gmml: &Gmml, reduction: Reduction, cells: Cells<'_>, labels: &Labels) -> Result<()> {
    let (n, d) = (cells.len(), cells.columns());
    gmml.check_parameters(d)?;
    if n == 0 {
        return Err(Error::Empty { what: "the table of rows" });
    }
    if labels.len() != n {
        return Err(Error::Length { what: "labels", seen: labels.len(), expected: n });
    }
    let directions = match reduction {
        Reduction::Leading(0) => {
            let allowed = "at least 1";
            return Err(Error::Parameter { name: "principal", value: "0".into(), allowed });
        }
        Reduction::Leading(directions) => directions.min(n).min(d),
        _ => n - 1,
    };
    // The Gram matrix of all rows, its eigenvectors and workspace; or a few tall matrices; and the metric
    // itself.
    let products = if reduction == Reduction::Span {
        4.0 * (n as f64).powi(2)
    } else {
        5.0 * directions as f64 * n as f64
    };
    let numbers = products + (directions as f64 + 512.0) * d as f64;
    gmml.check_memory("the fit", numbers, d, MemoryRemedy::Principal)
}
