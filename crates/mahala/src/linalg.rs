//! The two factorisations everything rests on, and the care they need.
//!
//! Every factorisation checks its input for NaN and infinity first: the eigenvalue iteration would otherwise
//! run on for seconds before it gives up. A common power of two is taken out before an eigenproblem, so that
//! entries of any uniform scale converge.

use crate::error::{Error, Result};
use crate::memory::Spare;
use crate::tiles::mirror_lower;
use crate::{reduction, small, tridiagonal};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{
    LltParams, LltRegularization, cholesky_in_place, cholesky_in_place_scratch,
};
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, Mat, MatMut, MatRef, Par, Spec};

/// The eigenvalues (ascending) and eigenvectors (columns) of a symmetric matrix.
pub(crate) struct Eigen {
    pub(crate) values: Vec<f64>,
    pub(crate) vectors: Mat<f64>,
}

/// The lower Cholesky factor of a symmetric matrix, of which only the lower triangle is read.
pub(crate) fn cholesky(matrix: MatRef<'_, f64>, what: &'static str, spare: &mut Spare) -> Result<Mat<f64>> {
    let d = matrix.nrows();
    // Of a small matrix, a second thread takes nothing off.
    let par = if d < 900 { Par::Seq } else { parallelism(d) };
    let params = Spec::<LltParams, f64>::default();
    let mut factor = spare.take(d);
    factor.copy_from_triangular_lower(matrix);
    let mut buffer = MemBuffer::new(cholesky_in_place_scratch::<f64>(d, par, params));
    cholesky_in_place(factor.as_mut(), LltRegularization::default(), par, MemStack::new(&mut buffer), params)
        .map_err(|error| {
            let faer::linalg::cholesky::llt::factor::LltError::NonPositivePivot { index } = error;
            Error::NotPositiveDefinite { what, column: index }
        })?;
    if let Some(column) = (0..d).find(|&i| !(factor[(i, i)] > 0.0 && factor[(i, i)].is_finite())) {
        return Err(Error::NotPositiveDefinite { what, column });
    }
    // The factorisation uses the other triangle as scratch.
    for j in 1..d {
        factor.as_mut().col_mut(j).subrows_mut(0, j).fill(0.0);
    }
    Ok(factor)
}

/// Eigenvalues and eigenvectors of a symmetric matrix, of which only the lower triangle is read.
pub(crate) fn eigen(matrix: MatRef<'_, f64>, what: &'static str, spare: &mut Spare) -> Result<Eigen> {
    let mut copy = spare.take(matrix.nrows());
    copy.copy_from_triangular_lower(matrix);
    eigen_of(copy, what, spare)
}

/// The same, for a matrix that is no longer needed.
pub(crate) fn eigen_of(mut matrix: Mat<f64>, what: &'static str, spare: &mut Spare) -> Result<Eigen> {
    // No cell of the caller's rows: what was computed from them left the range.
    check_finite_lower(matrix.as_ref()).map_err(|_| Error::OutOfRange { what })?;
    let exponent = extreme_exponent(max_abs_lower(matrix.as_ref()));
    if exponent != 0 {
        matrix = scaled_lower(matrix.as_ref(), -exponent);
    }
    let mut eigen = match matrix.nrows() {
        0 => Eigen { values: Vec::new(), vectors: matrix },
        2 => eigen_of_two(matrix[(0, 0)], matrix[(1, 0)], matrix[(1, 1)]),
        n => if n <= small::LARGEST { eigen_of_few(&matrix, spare) } else { eigen_of_many(matrix, spare) }
            .ok_or(Error::NoConvergence { what })?,
    };
    eigen.values.iter_mut().for_each(|x| *x = times_power_of_two(*x, exponent));
    if eigen.values.iter().any(|x| !x.is_finite()) {
        return Err(Error::NoConvergence { what });
    }
    Ok(eigen)
}

/// `A = HTHᵀ`, `T = QΛQᵀ`, so that the eigenvectors are `HQ`.
fn eigen_of_many(matrix: Mat<f64>, spare: &mut Spare) -> Option<Eigen> {
    let n = matrix.nrows();
    let par = parallelism(n);
    let (mut q, mut room) = (spare.take(n), spare.take(n));
    let (mut values, mut below, reflections) = reduction::reduce(matrix, par);
    let order = tridiagonal::eigen(&mut values, &mut below, q.as_mut(), room.as_mut(), par)?;
    for (k, &j) in order.iter().enumerate() {
        column_mut(room.as_mut(), k).copy_from_slice(column(q.as_ref(), j));
    }
    reflections.apply(room.as_mut());
    spare.give(q);
    spare.give(reflections.basis);
    Some(Eigen { values: order.iter().map(|&j| values[j]).collect(), vectors: room })
}

fn eigen_of_few(matrix: &Mat<f64>, spare: &mut Spare) -> Option<Eigen> {
    let n = matrix.nrows();
    let mut columns = small::identity();
    let values = small::eigen(matrix.as_ref(), &mut columns)?;
    let order = ascending(&values);
    let mut vectors = spare.take(n);
    for (k, &j) in order.iter().enumerate() {
        column_mut(vectors.as_mut(), k).copy_from_slice(&columns[j][..n]);
    }
    Some(Eigen { values: order.iter().map(|&j| values[j]).collect(), vectors })
}

/// One rotation of Jacobi's for `[[p, q], [q, r]]`. The general routine treats two rows by a formula
/// that cancels: of diag(1, 1e-8) it returns the small eigenvalue with half its digits.
fn eigen_of_two(p: f64, q: f64, r: f64) -> Eigen {
    let tangent = if q == 0.0 {
        0.0
    } else {
        let cotangent = 0.5 * (r - p) / q; // of twice the angle
        1f64.copysign(cotangent) / (cotangent.abs() + cotangent.hypot(1.0))
    };
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    let mut pairs = [(p - tangent * q, [cosine, -sine]), (r + tangent * q, [sine, cosine])];
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    Eigen { values: pairs.map(|(x, _)| x).to_vec(), vectors: Mat::from_fn(2, 2, |i, j| pairs[j].1[i]) }
}

/// The positions of the values, smallest first; equal ones in order.
pub(crate) fn ascending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    order
}

/// The positions of the values, largest first; equal ones in order.
pub(crate) fn descending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    order
}

/// `V·diag(w)·Vᵀ`, exactly symmetric, for weights that are not negative (or any sign, at the same cost).
pub(crate) fn weighted_gram(v: MatRef<'_, f64>, weights: &[f64]) -> Mat<f64> {
    let d = v.nrows();
    let scaled = Mat::from_fn(d, v.ncols(), |i, j| v[(i, j)] * weights[j]);
    let mut product = Mat::zeros(d, d);
    matmul(
        product.as_mut(),
        BlockStructure::TriangularLower,
        Accum::Replace,
        scaled.as_ref(),
        BlockStructure::Rectangular,
        v.transpose(),
        BlockStructure::Rectangular,
        1.0,
        parallelism(d),
    );
    mirror_lower(&mut product);
    product
}

/// `A·B`, cut by its size alone: the operator `*` cuts by the number of threads, which changes bits.
pub(crate) fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut product = Mat::zeros(a.nrows(), b.ncols());
    // A vector is not worth a second thread.
    let par = if b.ncols() == 1 { Par::Seq } else { parallelism(a.nrows()) };
    faer::linalg::matmul::matmul(product.as_mut(), Accum::Replace, a, b, 1.0, par);
    product
}

/// The sum of the squares of all entries; faer's norms add in an order that depends on the processor.
pub(crate) fn squared_norm(matrix: MatRef<'_, f64>) -> f64 {
    let of_column = |j: usize| match matrix.col(j).try_as_col_major() {
        Some(column) => sum_of_eights(column.as_slice(), column.as_slice(), |x, y| x * y),
        None => matrix.col(j).iter().map(|x| x * x).sum(),
    };
    (0..matrix.ncols()).map(of_column).sum()
}

/// `|x|ᵀy`
pub(crate) fn dot_of_sizes(x: &[f64], y: &[f64]) -> f64 {
    sum_of_eights(x, y, |x, y| x.abs() * y)
}

/// `Σ f(x_i, y_i)` by eight partial sums, which need not wait for each other.
pub(crate) fn sum_of_eights(x: &[f64], y: &[f64], f: impl Fn(f64, f64) -> f64) -> f64 {
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<8>(), y.as_chunks::<8>());
    let mut partial = [0.0; 8];
    for (x, y) in x.iter().zip(y) {
        partial.iter_mut().zip(x.iter().zip(y)).for_each(|(sum, (x, y))| *sum += f(*x, *y));
    }
    partial.iter().sum::<f64>() + x_rest.iter().zip(y_rest).map(|(x, y)| f(*x, *y)).sum::<f64>()
}

/// How the work on a `d × d` matrix is cut. The cut depends on `d` alone, not on the number of
/// threads that share it, so that the bits do not either; below 128 threads cost more than they give.
pub(crate) fn parallelism(d: usize) -> Par {
    if d < 128 { Par::Seq } else { Par::rayon(2) }
}

/// Two pieces of work, at the same time if there are threads.
pub(crate) fn both<T: Send>(
    par: Par,
    one: impl FnOnce() -> T + Send,
    two: impl FnOnce() -> T + Send,
) -> (T, T) {
    match par {
        Par::Seq => (one(), two()),
        Par::Rayon(_) => rayon::join(one, two),
    }
}

/// After how many columns a lower triangle is cut into two parts of about as many entries: a multiple of `step`.
pub(crate) fn triangle_cut(columns: usize, step: usize) -> usize {
    ((1.0 - 0.5f64.sqrt()) * columns as f64 / step as f64).round() as usize * step
}

/// Work on a matrix whose columns know nothing of each other: on its halves, at the same time if there are threads.
/// A library's own cut of the same work costs a tenth of it on one thread.
pub(crate) fn by_halves(m: MatMut<'_, f64>, work: impl Fn(MatMut<'_, f64>) + Sync) {
    let (par, half) = (parallelism(m.ncols()), m.ncols() / 2);
    if matches!(par, Par::Seq) {
        return work(m);
    }
    let (left, right) = m.split_at_col_mut(half);
    both(par, || work(left), || work(right));
}

/// `x·2^exponent`, exact unless it leaves the range of 64-bit numbers, for any exponent.
#[inline]
pub(crate) fn times_power_of_two(x: f64, exponent: i32) -> f64 {
    if exponent == 0 {
        return x;
    }
    if (-1000..=1000).contains(&exponent) {
        return x * f64::from_bits(((1023 + exponent) as u64) << 52);
    }
    let mut rest = exponent;
    let mut result = x;
    while rest != 0 {
        let step = rest.clamp(-1000, 1000);
        result *= f64::from_bits(((1023 + step) as u64) << 52);
        rest -= step;
    }
    result
}

/// The power of two at or below a positive finite number; 0 for 0.
pub(crate) fn exponent_of(x: f64) -> i32 {
    if x == 0.0 { 0 } else { x.log2().floor() as i32 }
}

/// The power of two to take out of a matrix whose largest entry this is: 0 wherever products of its
/// entries stay far from the ends of the range.
pub(crate) fn extreme_exponent(x: f64) -> i32 {
    let exponent = exponent_of(x);
    if exponent.abs() <= 200 { 0 } else { exponent }
}

/// The lower triangle times a power of two; 0 above it.
pub(crate) fn scaled_lower(matrix: MatRef<'_, f64>, exponent: i32) -> Mat<f64> {
    let scale = |i, j| if i >= j { times_power_of_two(matrix[(i, j)], exponent) } else { 0.0 };
    Mat::from_fn(matrix.nrows(), matrix.ncols(), scale)
}

/// The largest entry of the lower triangle in absolute value.
pub(crate) fn max_abs_lower(matrix: MatRef<'_, f64>) -> f64 {
    let larger = |m: f64, x: f64| if x > m { x } else { m };
    let mut largest = [0.0; 8];
    for j in 0..matrix.ncols() {
        let below = matrix.col(j).subrows(j, matrix.nrows() - j);
        let Some(contiguous) = below.try_as_col_major() else {
            largest[0] = below.iter().fold(largest[0], |m, x| larger(m, x.abs()));
            continue;
        };
        let (eights, rest) = contiguous.as_slice().as_chunks::<8>();
        for eight in eights {
            largest.iter_mut().zip(eight).for_each(|(m, x)| *m = larger(*m, x.abs()));
        }
        largest.iter_mut().zip(rest).for_each(|(m, x)| *m = larger(*m, x.abs()));
    }
    largest.into_iter().fold(0.0, larger)
}

/// One column of a matrix that owns its cells, or is part of one.
pub(crate) fn column(matrix: MatRef<'_, f64>, j: usize) -> &[f64] {
    matrix.col(j).try_as_col_major().expect("an owned matrix has contiguous columns").as_slice()
}

/// The same, to be written to.
pub(crate) fn column_mut(matrix: MatMut<'_, f64>, j: usize) -> &mut [f64] {
    matrix.col_mut(j).try_as_col_major_mut().expect("an owned matrix has contiguous columns").as_slice_mut()
}

fn check_finite_lower(matrix: MatRef<'_, f64>) -> Result<()> {
    (0..matrix.ncols()).try_for_each(|column| check_finite_column(matrix, column, column))
}

/// No NaN, no infinity.
pub(crate) fn check_finite(matrix: MatRef<'_, f64>) -> Result<()> {
    (0..matrix.ncols()).try_for_each(|column| check_finite_column(matrix, column, 0))
}

fn check_finite_column(matrix: MatRef<'_, f64>, column: usize, from: usize) -> Result<()> {
    let below = matrix.col(column).subrows(from, matrix.nrows() - from);
    // x·0 is 0 for a finite number only; the sum needs no branch.
    let products = match below.try_as_col_major() {
        Some(below) => sum_of_eights(below.as_slice(), below.as_slice(), |x, _| x * 0.0),
        None => below.iter().map(|x| x * 0.0).sum(),
    };
    if products == 0.0 {
        return Ok(());
    }
    let row = (from..matrix.nrows()).find(|&row| !matrix[(row, column)].is_finite()).unwrap_or(from);
    Err(Error::NotFinite { row, column, value: matrix[(row, column)] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(entries: &[&[f64]]) -> Mat<f64> {
        Mat::from_fn(entries.len(), entries[0].len(), |i, j| entries[i][j])
    }

    #[test]
    fn eigenvalues_survive_extreme_uniform_scales() {
        for scale in [1e-300, 1e-160, 1.0, 1e160, 1e300] {
            let values = eigen(
                matrix(&[&[2.0 * scale, scale], &[scale, 2.0 * scale]]).as_ref(),
                "m",
                &mut Spare::default(),
            )
            .unwrap()
            .values;
            assert!((values[0] / scale - 1.0).abs() < 1e-14, "{scale}: {values:?}");
            assert!((values[1] / scale - 3.0).abs() < 1e-14, "{scale}: {values:?}");
        }
    }

    #[test]
    fn two_rows_keep_the_digits_of_a_small_eigenvalue() {
        for x in [1e-8f64, 1e-20, 1e-100] {
            // λ₁λ₂ = x·(1 − 0.09) and λ₂ ≈ 1 + 0.09x.
            let e = eigen(
                matrix(&[&[1.0, 0.3 * x.sqrt()], &[0.3 * x.sqrt(), x]]).as_ref(),
                "m",
                &mut Spare::default(),
            )
            .unwrap();
            assert!((e.values[0] * (1.0 + 0.09 * x) / (0.91 * x) - 1.0).abs() < 1e-15, "{x}: {:?}", e.values);
        }
        let e = eigen(matrix(&[&[2.0, -1.0], &[-1.0, 2.0]]).as_ref(), "m", &mut Spare::default()).unwrap();
        assert!((e.values[0] - 1.0).abs() < 1e-15 && (e.values[1] - 3.0).abs() < 1e-15);
        assert!((e.vectors[(0, 0)] - e.vectors[(1, 0)]).abs() < 1e-15);
    }

    #[test]
    fn a_matrix_of_our_own_that_overflowed_is_not_taken_for_the_cell_of_a_user() {
        let m = matrix(&[&[1.0, 0.0, 0.0], &[0.0, f64::NAN, 0.0], &[0.0, 0.0, 1.0]]);
        let error = eigen(m.as_ref(), "LᵀDL", &mut Spare::default()).err();
        assert_eq!(error, Some(Error::OutOfRange { what: "LᵀDL" }));
    }

    #[test]
    fn powers_of_two_are_exact_beyond_the_range_of_one_factor() {
        assert_eq!(times_power_of_two(1.5, 1000), 1.5 * 2f64.powi(1000));
        assert_eq!(times_power_of_two(times_power_of_two(1.5e-300, 1900), -1900), 1.5e-300);
    }
}
