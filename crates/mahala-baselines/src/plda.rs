//! PLDA: probabilistic linear discriminant analysis with two covariances (Ioffe 2006), for verification.
//!
//! # Formula
//! ```text
//! x = m + b + w,   b ~ N(0, Φ_b) the same for all rows of a class,   w ~ N(0, Φ_w) anew for every row
//! u = V(x − m),    VΦ_wVᵀ = I,   VΦ_bVᵀ = Ψ = diag(ψ)
//!
//! llr(x, y) = log p(x, y | one class) − log p(x)p(y)
//!           = Σ_i ½[log((1+ψ)²/(1+2ψ)) − ((1+ψ)(u²+v²) − 2ψuv)/(1+2ψ) + (u²+v²)/(1+ψ)]
//!
//! Φ_w = W/(n − c),   Φ_b = [B/(c − 1) − Φ_w]/n₀, its negative part 0,   n₀ = (n − Σ n_c²/n)/(c − 1)
//! ```
//! W and B are the scatter within classes and between their means, and the estimates those of the analysis of variance,
//! which are unbiased for classes of different sizes. The score is not a distance: two rows far from the mean in the same
//! direction are better evidence of one class than two rows at the mean.

use crate::pencil::{Standardized, check_shrinkage, checked_rank, within_and_total};
use faer::{Mat, MatRef};
use mahala::error::{Error, MemoryRemedy, Result};
use mahala::footprint::{Shape, memory_limit_gb};
use mahala::scatter::check_labels;
use mahala::{Dataset, Metric, Rows};
use mahala_kernels::blas::product;
use mahala_kernels::eigen::eigen;
use mahala_kernels::workspace::Workspace;

/// Parameters of PLDA.
///
/// ```
/// use mahala::{Dataset, Labels, Rows};
/// use mahala_baselines::Plda;
/// let cells = vec![0.0, 0.2, 1.0, 1.3, 4.0, 4.2, 6.0, 5.9];
/// let labels = Labels::new(["a", "a", "b", "b", "c", "c", "d", "d"]);
/// let model = Plda::default().fit(&Dataset::new(Rows::new(cells, 1)?, labels)?)?;
/// let (x, y) = (Rows::new(vec![5.0, 5.0], 1)?, Rows::new(vec![5.1, 1.0], 1)?);
/// let scores = model.log_likelihood_ratios(&x, &y)?;
/// assert!(scores[0] > 0.0 && scores[1] < 0.0);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plda {
    /// The most directions, of the largest ψ; all with ψ above 0 if None.
    pub rank: Option<usize>,
    /// How far `Φ_w` is shrunk towards its diagonal.
    pub shrinkage: f64,
}

/// The two covariances, diagonalised together.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PldaModel {
    /// V, on rows: where rows of one class have the covariance I.
    pub within: Metric,
    /// ψ, the variance between classes in each of its coordinates, in descending order.
    pub between: Vec<f64>,
}

impl Plda {
    /// Estimates both covariances.
    ///
    /// # Errors
    /// Parameters out of range; one class, or classes of one row; rows that vary within classes in fewer directions than
    /// there are columns, without shrinkage; no direction in which classes differ by more than chance; more memory needed
    /// than the process may take.
    pub fn fit(&self, data: &Dataset) -> Result<PldaModel> {
        check_shrinkage(Some(self.shrinkage))?;
        let rank = checked_rank(self.rank, data.columns())?;
        check_labels(data.labels())?;
        let shape = Shape::labelled(data.rows(), data.labels().class_count());
        let (gigabytes, limit) = (8e-9 * shape.matrices(12.0, 4.0), memory_limit_gb());
        if gigabytes > limit {
            let (what, remedy) = ("plda", MemoryRemedy::Columns);
            return Err(Error::Memory { what, gigabytes, d: data.columns(), limit, remedy });
        }
        let rows = Standardized::of(data.rows())?;
        let [within, between] = self.covariances(&rows.rows, data)?;
        let (whitening, ratios) = diagonalised(within.as_ref(), between.as_ref())?;
        let kept = ratios.iter().take(rank).filter(|&&psi| psi > 0.0).count();
        if kept == 0 {
            let reason = "the means of the classes differ by no more than rows within classes do".to_owned();
            return Err(Error::NoDissimilarPair { reason });
        }
        let components = Mat::from_fn(kept, data.columns(), |i, j| whitening[(j, i)]);
        Ok(PldaModel { within: rows.learned(components, None)?.metric, between: ratios[..kept].to_vec() })
    }

    /// `Φ_w`, and `Φ_b` before its negative part is left out.
    fn covariances(&self, rows: &Rows, data: &Dataset) -> Result<[Mat<f64>; 2]> {
        let (n, d) = (rows.len() as f64, rows.columns());
        let sizes: Vec<f64> = data.labels().class_sizes().iter().map(|&size| size as f64).collect();
        let classes = sizes.iter().filter(|&&size| size > 0.0).count() as f64;
        let groups: Vec<Option<u32>> = data.labels().codes().iter().map(|&code| Some(code)).collect();
        let [within, total] = within_and_total(rows, &groups, sizes.len());
        if n <= classes {
            return Err(Error::NoSimilarPair { reason: "every class has one row".to_owned() });
        }
        let per_class = (n - sizes.iter().map(|size| size * size).sum::<f64>() / n) / (classes - 1.0);
        let own = |i, j| within[(i, j)] * n / (n - classes);
        let shared = |i, j| (total[(i, j)] - within[(i, j)]) * n / (classes - 1.0);
        let between = Mat::from_fn(d, d, |i, j| (shared(i, j) - own(i, j)) / per_class);
        let keep = 1.0 - self.shrinkage;
        let within = Mat::from_fn(d, d, |i, j| if i == j { own(i, j) } else { keep * own(i, j) });
        Ok([within, between])
    }
}

/// The columns of a whitening of `within`, and the variances `between` in its coordinates, in descending order.
fn diagonalised(within: MatRef<'_, f64>, between: MatRef<'_, f64>) -> Result<(Mat<f64>, Vec<f64>)> {
    let d = within.nrows();
    let e = eigen(within, "the covariance within classes", &mut Workspace::default())?;
    // A column that does not vary within classes has standardised cells of rounding's size there.
    if e.values[0] <= 1e-12 * e.values[d - 1] {
        return Err(Error::Parameter {
            name: "shrinkage",
            value: "too small for a singular covariance within classes".to_owned(),
            allowed: "above 0 where rows of one class vary in fewer directions than there are columns; a column that is \
                      constant within classes must be left out",
        });
    }
    let whitening = Mat::from_fn(d, d, |i, k| e.vectors[(i, k)] / e.values[k].sqrt());
    let inner = product(whitening.transpose(), product(between, whitening.as_ref()).as_ref());
    let symmetric = Mat::from_fn(d, d, |i, j| 0.5 * (inner[(i, j)] + inner[(j, i)]));
    let e = eigen(symmetric.as_ref(), "the covariance between classes", &mut Workspace::default())?;
    let descending = Mat::from_fn(d, d, |i, k| e.vectors[(i, d - 1 - k)]);
    let ratios = e.values.iter().rev().map(|psi| psi.max(0.0)).collect();
    Ok((product(whitening.as_ref(), descending.as_ref()), ratios))
}

impl PldaModel {
    /// A model of parts that were kept; the variances belong to the metric's coordinates, one each.
    pub fn new(within: Metric, between: Vec<f64>) -> Self {
        Self { within, between }
    }

    /// How much likelier row i of both tables is under one class than under two, as a natural logarithm.
    ///
    /// # Errors
    /// Tables of different lengths, rows with other columns, or a coordinate outside the range of 64-bit numbers.
    pub fn log_likelihood_ratios(&self, first: &Rows, second: &Rows) -> Result<Vec<f64>> {
        if first.len() != second.len() {
            let (seen, expected) = (second.len(), first.len());
            return Err(Error::Length { what: "second ends of pairs", seen, expected });
        }
        let (u, v) = (self.within.transform(first)?, self.within.transform(second)?);
        let score = |i: usize| {
            let cells = self.between.iter().zip(u.row(i).iter().zip(v.row(i)));
            cells.map(|(&psi, (&u, &v))| log_likelihood_ratio(psi, u, v)).sum()
        };
        Ok((0..u.len()).map(score).collect())
    }
}

/// The ratio in one coordinate, as squares of sum and difference: nothing is subtracted that is large.
///
/// `(1+ψ)(u²+v²) − 2ψuv = ½[(u+v)² + (1+2ψ)(u−v)²]`, so the exponent is `½ψ/(1+ψ)·[½(u+v)²/(1+2ψ) − ½(u−v)²]`.
fn log_likelihood_ratio(psi: f64, u: f64, v: f64) -> f64 {
    let (sum, difference) = (0.5 * (u + v).powi(2), 0.5 * (u - v).powi(2));
    let normalisation = 2.0 * psi.ln_1p() - (2.0 * psi).ln_1p();
    0.5 * (normalisation + psi / (1.0 + psi) * (sum / (1.0 + 2.0 * psi) - difference))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::Labels;
    use mahala::data::Random;

    #[test]
    fn the_score_is_that_of_the_formula_and_of_the_normal_densities() {
        for (psi, u, v) in [(0.5, 1.0, -0.3), (3.0, 2.0, 1.5), (20.0, 0.1, 4.0), (1e-3, 1.0, 1.0)] {
            let f: f64 = 1.0 + psi;
            let squares = u * u + v * v;
            let determinant = 1.0 + 2.0 * psi;
            let formula = 0.5
                * ((f * f / determinant).ln() - (f * squares - 2.0 * psi * u * v) / determinant
                    + squares / f);
            let score = log_likelihood_ratio(psi, u, v);
            assert!((score - formula).abs() < 1e-12 * formula.abs().max(1.0), "{psi}: {score} {formula}");
        }
        assert_eq!(log_likelihood_ratio(0.0, 3.0, -2.0), 0.0);
    }

    /// Rows of 400 classes around means of their own, of variances 4 and 1/4 between, and 1 within.
    fn sample() -> Dataset {
        let mut random = Random::new(3, 0);
        let mut normal = || (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
        let mut cells = Vec::new();
        for _ in 0..400 {
            let mean = [2.0 * normal(), 0.5 * normal()];
            (0..4).for_each(|_| cells.extend([mean[0] + normal(), mean[1] + normal()]));
        }
        let labels = Labels::new((0..1600).map(|i| (i / 4).to_string()));
        Dataset::new(Rows::new(cells, 2).unwrap(), labels).unwrap()
    }

    #[test]
    fn both_covariances_are_found_and_units_change_no_score() {
        let data = sample();
        let model = Plda::default().fit(&data).unwrap();
        // Of 400 means: a standard error of about 7 % and, of the second, of 11 %.
        assert!((model.between[0] / 4.0 - 1.0).abs() < 0.25 && (model.between[1] / 0.25 - 1.0).abs() < 0.4);
        let inverse = model.within.matrix().unwrap();
        assert!((inverse[(0, 0)] - 1.0).abs() < 0.15 && (inverse[(1, 1)] - 1.0).abs() < 0.15);
        let other = Rows::new(data.rows().values().iter().rev().copied().collect(), 2).unwrap();
        let scores = model.log_likelihood_ratios(data.rows(), &other).unwrap();
        let swapped = model.log_likelihood_ratios(&other, data.rows()).unwrap();
        assert_eq!(scores, swapped);
        let in_units = |rows: &Rows| {
            let cells = rows.values().iter().enumerate().map(|(at, x)| x * [1000.0, 0.01][at % 2]);
            Rows::new(cells.collect(), 2).unwrap()
        };
        let scaled = Dataset::new(in_units(data.rows()), data.labels().clone()).unwrap();
        let again = Plda::default().fit(&scaled).unwrap();
        let again = again.log_likelihood_ratios(scaled.rows(), &in_units(&other)).unwrap();
        assert!(scores.iter().zip(&again).all(|(a, b)| (a - b).abs() < 1e-9 * a.abs().max(1.0)));
    }

    #[test]
    fn what_cannot_be_estimated_is_refused_with_its_remedy() {
        let flat = |y: [&str; 4]| {
            let rows = Rows::new(vec![0.0, 1.0, 1.0, 1.0, 5.0, 3.0, 6.0, 3.0], 2).unwrap();
            Dataset::new(rows, Labels::new(y)).unwrap()
        };
        let error = Plda::default().fit(&flat(["a", "a", "b", "b"])).unwrap_err().to_string();
        assert!(error.contains("constant within classes"), "{error}");
        assert!(Plda::default().fit(&flat(["a", "b", "c", "d"])).is_err());
        assert!(Plda::default().fit(&flat(["a"; 4])).is_err());
        let mixed = flat(["a", "b", "b", "a"]);
        let told = Plda { shrinkage: 0.5, ..Plda::default() }.fit(&mixed).unwrap_err().to_string();
        assert!(told.contains("differ by no more than"), "{told}");
        assert!(Plda { rank: Some(3), ..Plda::default() }.fit(&sample()).is_err());
        assert!(Plda { shrinkage: 1.5, ..Plda::default() }.fit(&sample()).is_err());
        let model = Plda::default().fit(&sample()).unwrap();
        let two = Rows::new(vec![0.0; 4], 2).unwrap();
        assert!(model.log_likelihood_ratios(&two, &Rows::new(vec![0.0; 2], 2).unwrap()).is_err());
    }
}
