//! Reductions (sums, dot products, maxima) in a fixed order, so that no bit depends on the vector width.

use faer::MatRef;

/// The squared Frobenius norm; faer's norms add in an order that depends on the processor.
pub fn squared_norm(matrix: MatRef<'_, f64>) -> f64 {
    let of_column = |j: usize| match matrix.col(j).try_as_col_major() {
        Some(column) => sum_by_lanes(column.as_slice(), column.as_slice(), |x, y| x * y),
        None => matrix.col(j).iter().map(|x| x * x).sum(),
    };
    (0..matrix.ncols()).map(of_column).sum()
}

/// `|x|ᵀy`
pub fn dot_abs(x: &[f64], y: &[f64]) -> f64 {
    sum_by_lanes(x, y, |x, y| x.abs() * y)
}

/// `Σ f(x_i, y_i)` in eight lanes (independent partial sums), which hides the latency of additions.
pub fn sum_by_lanes(x: &[f64], y: &[f64], f: impl Fn(f64, f64) -> f64) -> f64 {
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<8>(), y.as_chunks::<8>());
    let mut partial = [0.0; 8];
    for (x, y) in x.iter().zip(y) {
        partial.iter_mut().zip(x.iter().zip(y)).for_each(|(sum, (x, y))| *sum += f(*x, *y));
    }
    partial.iter().sum::<f64>() + x_rest.iter().zip(y_rest).map(|(x, y)| f(*x, *y)).sum::<f64>()
}

/// The largest entry of the lower triangle in absolute value.
pub fn max_abs_lower(matrix: MatRef<'_, f64>) -> f64 {
    let larger = |m: f64, x: f64| if x > m { x } else { m };
    let mut largest = [0.0; 8];
    for j in 0..matrix.ncols() {
        let below = matrix.col(j).subrows(j, matrix.nrows() - j);
        let Some(contiguous) = below.try_as_col_major() else {
            largest[0] = below.iter().fold(largest[0], |m, x| larger(m, x.abs()));
            continue;
        };
        let (chunks, rest) = contiguous.as_slice().as_chunks::<8>();
        for chunk in chunks {
            largest.iter_mut().zip(chunk).for_each(|(m, x)| *m = larger(*m, x.abs()));
        }
        largest.iter_mut().zip(rest).for_each(|(m, x)| *m = larger(*m, x.abs()));
    }
    largest.into_iter().fold(0.0, larger)
}
