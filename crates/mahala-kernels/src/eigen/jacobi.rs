//! One-sided Jacobi SVD, preconditioned by QR with column pivoting (Drmač and Veselić 2008): singular values and right
//! singular vectors to high relative accuracy.
//!
//! # Formula
//! ```text
//! ΠG·P = QR  (rows sorted by size, columns pivoted),   RᵀJ = WΣ  (J: rotations until the columns are orthogonal),   V = PW
//! ```
//! If `G = D₁BD₂` with diagonal `D₁`, `D₂` of any spread and `B` well conditioned, every singular value has a relative error of some
//! `n·eps·cond(B)`; a solver that is accurate to the norm alone loses all values below `eps·‖G‖`.
//!
//! Sums run in a fixed order, without fused multiplication, on one thread: the bits depend on neither processor nor threads.
#![allow(clippy::inline_always, reason = "an inlined loop inherits the instruction set of its caller")]

use crate::aligned::AlignedVec;
use crate::error::{Error, Result};
use crate::order::{ascending, descending};
use crate::scaling::{exponent_of, times_power_of_two};
use crate::simd::{Kernel, dispatch};
use crate::view::{check_finite, column, column_mut};
use faer::{Mat, MatRef};

/// Lanes of a dot product: four AVX2 registers of four, which hide the latency of additions.
const LANES: usize = 16;
/// Columns of a tile: two tiles of 16 columns stay in L2 up to 2,000 rows.
const TILE: usize = 16;
/// The limit of sweeps; ten are rare.
const MAX_SWEEPS: usize = 40;
/// The exponent to which the largest entry is scaled, so that squares of entries 2^900 times smaller are still normal numbers.
const TARGET_EXPONENT: i32 = 400;

/// Singular values, ascending, and the right singular vectors, as columns.
pub struct Singular {
    /// In units of 2^exponent.
    pub values: Vec<f64>,
    /// The exponent of two by which all values are scaled.
    pub exponent: i32,
    /// The right singular vectors, a column each.
    pub vectors: Mat<f64>,
}

/// The singular value decomposition of a matrix with at least as many rows as columns, without its left vectors.
///
/// # Errors
/// An entry that is not finite, or no convergence.
pub fn singular(g: MatRef<'_, f64>, what: &'static str) -> Result<Singular> {
    check_finite(g).map_err(|_| Error::OutOfRange { what })?;
    let n = g.ncols();
    let largest = g.norm_max();
    if n == 0 || largest == 0.0 {
        return Ok(Singular { values: vec![0.0; n], exponent: 0, vectors: Mat::identity(n, n) });
    }
    let exponent = exponent_of(largest) - TARGET_EXPONENT;
    let mut columns = Columns::sorted(g, -exponent);
    let pivots = dispatch(PivotedQr(&mut columns));
    let mut x = columns.upper_transposed();
    drop(columns);
    let norms = dispatch(Rotations(&mut x)).ok_or(Error::NoConvergence { what })?;
    let order = ascending(&norms);
    let mut vectors = Mat::zeros(n, n);
    for (k, &j) in order.iter().enumerate() {
        let to = column_mut(vectors.as_mut(), k);
        if norms[j] > 0.0 {
            pivots.iter().zip(x.column(j)).for_each(|(&i, x)| to[i] = x / norms[j]);
        }
    }
    let values: Vec<f64> = order.iter().map(|&j| norms[j]).collect();
    complete(&mut vectors, values.iter().filter(|&&x| x == 0.0).count());
    Ok(Singular { values, exponent, vectors })
}

/// A column-major matrix, columns padded with zeros to whole registers.
struct Columns {
    cells: AlignedVec,
    rows: usize,
    count: usize,
    stride: usize,
}

impl Columns {
    fn zeros(rows: usize, count: usize) -> Self {
        let stride = rows.next_multiple_of(LANES);
        Self { cells: AlignedVec::zeros(stride * count), rows, count, stride }
    }

    /// A matrix times a power of two, its rows in descending order of their largest entry: QR with column pivoting is then
    /// row-wise backward stable (Cox and Higham 1998).
    fn sorted(g: MatRef<'_, f64>, exponent: i32) -> Self {
        let size = |i: usize| g.row(i).iter().fold(0.0, |size: f64, x| size.max(x.abs()));
        let rows = descending(&(0..g.nrows()).map(size).collect::<Vec<_>>());
        let mut columns = Self::zeros(g.nrows(), g.ncols());
        for j in 0..g.ncols() {
            let to = columns.column_mut(j);
            rows.iter().zip(to).for_each(|(&i, to)| *to = times_power_of_two(g[(i, j)], exponent));
        }
        columns
    }

    /// `Rᵀ` of the upper triangular factor `R`.
    fn upper_transposed(&self) -> Self {
        let n = self.count;
        let mut transposed = Self::zeros(n, n);
        for j in 0..n {
            let upper = &self.column(j)[..(j + 1).min(self.rows)];
            upper.iter().enumerate().for_each(|(i, x)| transposed.column_mut(i)[j] = *x);
        }
        transposed
    }

    #[inline(always)]
    fn column(&self, j: usize) -> &[f64] {
        &self.cells[j * self.stride..][..self.stride]
    }

    #[inline(always)]
    fn column_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.cells[j * self.stride..][..self.stride]
    }

    #[inline(always)]
    fn two(&mut self, a: usize, b: usize) -> (&mut [f64], &mut [f64]) {
        let (left, right) = self.cells.split_at_mut(a.max(b) * self.stride);
        let (x, y) = (&mut left[a.min(b) * self.stride..][..self.stride], &mut right[..self.stride]);
        if a < b { (x, y) } else { (y, x) }
    }
}

/// Householder QR with column pivoting; leaves `R` in the upper triangle and returns the pivots.
struct PivotedQr<'a>(&'a mut Columns);

impl Kernel for PivotedQr<'_> {
    type Output = Vec<usize>;

    #[inline(always)]
    fn call<const FMA: bool>(self) -> Vec<usize> {
        let a = self.0;
        let n = a.count;
        let mut pivots: Vec<usize> = (0..n).collect();
        let mut left: Vec<f64> = (0..n).map(|j| squares_from(a.column(j), 0)).collect();
        let mut v = Columns::zeros(a.rows, 1);
        for k in 0..n.min(a.rows) {
            let best = (k + 1..n).fold(k, |best, j| if left[j] > left[best] { j } else { best });
            if left[best] == 0.0 {
                break;
            }
            if best != k {
                let (x, y) = a.two(k, best);
                x.swap_with_slice(y);
                pivots.swap(k, best);
                left.swap(k, best);
            }
            // (I − τvvᵀ)x = βe_k with v_k = 1; β has the other sign, so that nothing cancels.
            let (x, v) = (a.column_mut(k), v.column_mut(0));
            let beta = -squares_from(x, k).sqrt().copysign(x[k]);
            let (head, tau) = (x[k] - beta, (beta - x[k]) / beta);
            v[..k].fill(0.0);
            v[k] = 1.0;
            v[k + 1..].iter_mut().zip(&x[k + 1..]).for_each(|(v, x)| *v = x / head);
            x[k] = beta;
            x[k + 1..].fill(0.0);
            let from = k / LANES * LANES;
            for (j, left) in left.iter_mut().enumerate().take(n).skip(k + 1) {
                let x = a.column_mut(j);
                let along = -tau * dot(&v[from..], &x[from..]);
                add(&mut x[from..], &v[from..], along);
                *left = squares_from(x, k + 1);
            }
        }
        pivots
    }
}

/// Jacobi sweeps: rotates pairs of columns until all are orthogonal; returns their norms.
struct Rotations<'a>(&'a mut Columns);

impl Kernel for Rotations<'_> {
    type Output = Option<Vec<f64>>;

    #[inline(always)]
    fn call<const FMA: bool>(self) -> Option<Vec<f64>> {
        let x = self.0;
        let n = x.count;
        let tolerance = (n as f64).sqrt() * (f64::EPSILON / 2.0);
        for _ in 0..MAX_SWEEPS {
            let norms: Vec<f64> = (0..n).map(|j| squares_from(x.column(j), 0).sqrt()).collect();
            // The longer column first: rotations then converge fastest (de Rijk 1989).
            let order = descending(&norms);
            let mut sweep = Sweep { x, norms, tolerance, rotations: 0 };
            for first in (0..n).step_by(TILE) {
                for second in (first..n).step_by(TILE) {
                    for i in first..n.min(first + TILE) {
                        for j in second.max(i + 1)..n.min(second + TILE) {
                            sweep.pair(order[i], order[j]);
                        }
                    }
                }
            }
            if sweep.rotations == 0 {
                return Some(sweep.norms);
            }
        }
        None
    }
}

struct Sweep<'a> {
    x: &'a mut Columns,
    norms: Vec<f64>,
    tolerance: f64,
    rotations: usize,
}

impl Sweep<'_> {
    /// Rotates two columns so that they are orthogonal, unless they are.
    #[inline(always)]
    fn pair(&mut self, p: usize, q: usize) {
        let (x, y) = self.x.two(p, q);
        let (a, b) = (self.norms[p], self.norms[q]);
        let product = dot(x, y);
        if product.abs() <= self.tolerance * a * b {
            return;
        }
        self.rotations += 1;
        let (a, b) = (a * a, b * b);
        let cotangent = 0.5 * (b - a) / product; // of twice the angle
        let tangent = if cotangent.abs() > 1e8 {
            0.5 / cotangent
        } else {
            1f64.copysign(cotangent) / (cotangent.abs() + (1.0 + cotangent * cotangent).sqrt())
        };
        let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
        rotate(x, y, cosine, tangent * cosine);
        let squares = [(p, a, a - tangent * product), (q, b, b + tangent * product)];
        for (j, before, after) in squares {
            // The updated norm has lost digits to cancellation.
            let after = if after < 0.5 * before { squares_from(self.x.column(j), 0) } else { after };
            self.norms[j] = after.sqrt();
        }
    }
}

/// Completes an orthonormal basis: replaces the first `missing` columns by unit vectors orthogonal to all others.
fn complete(vectors: &mut Mat<f64>, missing: usize) {
    let n = vectors.ncols();
    let mut taken = vec![false; n];
    for k in (0..missing).rev() {
        // The coordinate axis farthest from the span of the others.
        let covered = |i: usize| (k + 1..n).map(|j| vectors[(i, j)] * vectors[(i, j)]).sum::<f64>();
        let free = (0..n).filter(|&i| !taken[i]).min_by(|&i, &j| covered(i).total_cmp(&covered(j)));
        let Some(axis) = free else { return };
        taken[axis] = true;
        let mut x = vec![0.0; n];
        x[axis] = 1.0;
        // Gram-Schmidt twice: once leaves rounding.
        for j in (k + 1..n).chain(k + 1..n) {
            let other = column(vectors.as_ref(), j);
            let along: f64 = x.iter().zip(other).map(|(x, y)| x * y).sum();
            x.iter_mut().zip(other).for_each(|(x, y)| *x -= along * y);
        }
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        column_mut(vectors.as_mut(), k).iter_mut().zip(x).for_each(|(to, x)| *to = x / norm);
    }
}

/// `xᵀy`
#[inline(always)]
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    for (x, y) in x.as_chunks::<LANES>().0.iter().zip(y.as_chunks::<LANES>().0) {
        for l in 0..LANES {
            sums[l] += x[l] * y[l];
        }
    }
    total(sums)
}

/// `Σ x_i²` over `i ≥ from`.
#[inline(always)]
fn squares_from(x: &[f64], from: usize) -> f64 {
    let (head, rest) = x[from..].split_at(from.next_multiple_of(LANES).min(x.len()) - from);
    head.iter().map(|x| x * x).sum::<f64>() + dot(rest, rest)
}

/// Reduces the lanes pairwise: one order of additions for all processors.
#[inline(always)]
fn total(mut sums: [f64; LANES]) -> f64 {
    let mut width = LANES / 2;
    while width > 0 {
        for l in 0..width {
            sums[l] += sums[l + width];
        }
        width /= 2;
    }
    sums[0]
}

/// `y += a·x`
#[inline(always)]
fn add(y: &mut [f64], x: &[f64], a: f64) {
    for (y, x) in y.as_chunks_mut::<LANES>().0.iter_mut().zip(x.as_chunks::<LANES>().0) {
        for l in 0..LANES {
            y[l] += a * x[l];
        }
    }
}

/// `[x, y] ← [c·x − s·y, s·x + c·y]`
#[inline(always)]
fn rotate(x: &mut [f64], y: &mut [f64], cosine: f64, sine: f64) {
    for (x, y) in x.as_chunks_mut::<LANES>().0.iter_mut().zip(y.as_chunks_mut::<LANES>().0) {
        for l in 0..LANES {
            (x[l], y[l]) = (cosine * x[l] - sine * y[l], sine * x[l] + cosine * y[l]);
        }
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_wrap, reason = "indices of small matrices")]
mod tests {
    use super::*;
    use crate::eigen::eigen;
    use crate::random::Random;
    use crate::workspace::Workspace;

    fn uniform(n: usize, seed: u64) -> Mat<f64> {
        let mut random = Random::new(seed, 0);
        Mat::from_fn(n, n, |_, _| random.uniform() - 0.5)
    }

    /// Singular values in the units of the matrix, and vectors.
    fn solved(g: &Mat<f64>) -> (Vec<f64>, Mat<f64>) {
        let Singular { values, exponent, vectors } = singular(g.as_ref(), "G").unwrap();
        (values.iter().map(|s| times_power_of_two(*s, exponent)).collect(), vectors)
    }

    /// The largest entries of `VᵀV − I`, and of `(GV)ᵀ(GV) − Σ²` over the columns' own sizes.
    fn errors(g: &Mat<f64>, values: &[f64], v: &Mat<f64>) -> (f64, f64) {
        let n = values.len();
        let gv = g * v;
        let image =
            |i: usize, j: usize| (0..n).map(|k| gv[(k, i)] / values[i] * (gv[(k, j)] / values[j])).sum();
        let one = |i: usize, j: usize| f64::from(u8::from(i == j));
        let worst = |f: &dyn Fn(usize, usize) -> f64| {
            (0..n * n).map(|at| (f(at / n, at % n) - one(at / n, at % n)).abs()).fold(0.0, f64::max)
        };
        let gram = v.transpose() * v;
        (worst(&|i, j| gram[(i, j)]), worst(&image))
    }

    #[test]
    fn vectors_are_orthogonal_and_so_are_their_images() {
        for n in [1, 2, 3, 15, 16, 17, 40, 65] {
            let g = uniform(n, n as u64);
            let (values, v) = solved(&g);
            let (orthogonal, images) = errors(&g, &values, &v);
            assert!(
                values.is_sorted() && orthogonal < 1e-14 && images < 1e-12,
                "{n}: {orthogonal:e} {images:e}"
            );
            let squares =
                eigen((g.transpose() * &g).as_ref(), "GᵀG", &mut Workspace::default()).unwrap().values;
            for (s, square) in values.iter().zip(&squares) {
                // The product has a rounding for each of its terms.
                assert!((s * s - square).abs() < 1e-13 * squares[n - 1], "{n}");
            }
        }
    }

    /// `G = LΔ`, `L` of ones with halves below, `Δ` of powers of two in no order; and `G⁻¹`: both without rounding.
    fn graded(n: usize, decades: i32) -> [Mat<f64>; 2] {
        let power = |j: usize| (j * 17 % n) as i32 * (decades * 10 / 3) / n as i32;
        let half = |k: usize| times_power_of_two(1.0, -(k as i32));
        let g = |i: usize, j: usize| if i == j || i == j + 1 { half(i - j) } else { 0.0 };
        let inverse = |i: usize, j: usize| {
            if i >= j { half(i - j) * (if (i - j).is_multiple_of(2) { 1.0 } else { -1.0 }) } else { 0.0 }
        };
        [
            Mat::from_fn(n, n, |i, j| times_power_of_two(g(i, j), power(j))),
            Mat::from_fn(n, n, |i, j| times_power_of_two(inverse(i, j), -power(i))),
        ]
    }

    #[test]
    fn small_values_of_graded_columns_keep_their_digits() {
        for (n, decades) in [(2, 60), (7, 20), (33, 12), (64, 24), (100, 100)] {
            let [g, inverse] = graded(n, decades);
            let ((values, v), (of_inverse, _)) = (solved(&g), solved(&inverse));
            assert!(values[n - 1] / values[0] > 10f64.powi(decades / 2));
            // The two come from different matrices; for a solver accurate to the norm most products would be noise.
            for (s, r) in values.iter().zip(of_inverse.iter().rev()) {
                assert!((s * r - 1.0).abs() < 1e-13, "{n} columns, 1e{decades}: {s:e} {r:e}");
            }
            let (orthogonal, _) = errors(&g, &values, &v);
            assert!(orthogonal < 1e-14, "{n}: {orthogonal:e}");
        }
    }

    #[test]
    fn a_common_scale_changes_the_unit_alone() {
        let [g, _] = graded(20, 30);
        let (values, v) = solved(&g);
        for exponent in [-900, 700] {
            let scaled = Mat::from_fn(20, 20, |i, j| times_power_of_two(g[(i, j)], exponent));
            let (of_scaled, v_of_scaled) = solved(&scaled);
            assert_eq!(v, v_of_scaled);
            assert!(values.iter().zip(of_scaled).all(|(s, r)| times_power_of_two(*s, exponent) == r));
        }
    }

    #[test]
    fn what_is_missing_in_rank_is_0_and_the_vectors_are_orthogonal_all_the_same() {
        let full = uniform(12, 1);
        let twice = Mat::from_fn(12, 12, |i, j| if j == 5 { full[(i, 2)] } else { full[(i, j)] });
        let without = Mat::from_fn(12, 12, |i, j| if j == 3 || j == 8 { 0.0 } else { full[(i, j)] });
        let one = Mat::from_fn(12, 12, |i, j| (i + 1) as f64 * (j + 2) as f64);
        let wide = full.subrows(0, 4).to_owned();
        for (g, rank) in [(twice, 11), (without, 10), (one, 1), (Mat::zeros(12, 12), 0), (wide, 4)] {
            let (values, v) = solved(&g);
            assert!(
                values[..12 - rank].iter().all(|s| *s < 1e-14 * values[11].max(1.0)),
                "{rank}: {values:?}"
            );
            assert!(values[12 - rank..].iter().all(|s| *s > 1e-3));
            assert!((v.transpose() * &v - Mat::<f64>::identity(12, 12)).norm_max() < 1e-13, "{rank}");
            let images = &g * &v;
            assert!((0..12 - rank).all(|k| images.col(k).norm_max() < 1e-12), "{rank}");
        }
    }

    #[test]
    fn nothing_has_no_values_and_nan_is_refused() {
        assert!(solved(&Mat::zeros(0, 0)).0.is_empty());
        let bad = Mat::from_fn(3, 3, |i, j| if (i, j) == (1, 2) { f64::NAN } else { 1.0 });
        assert_eq!(singular(bad.as_ref(), "G").err(), Some(Error::OutOfRange { what: "G" }));
    }
}
