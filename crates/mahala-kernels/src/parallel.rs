//! Parallel decomposition: by the shape of the data alone, so that no bit depends on the number of threads.

use faer::{MatMut, Par};

/// The decomposition of the work on a `d × d` matrix. It depends on `d` alone, not on the number of threads, so that no bit
/// does either; below 128 columns a second thread costs more than it saves.
pub fn parallelism(d: usize) -> Par {
    if d < 128 { Par::Seq } else { Par::rayon(2) }
}

/// Runs two closures, in parallel if `par` allows (`rayon::join`).
pub fn both<T: Send>(par: Par, one: impl FnOnce() -> T + Send, two: impl FnOnce() -> T + Send) -> (T, T) {
    match par {
        Par::Seq => (one(), two()),
        Par::Rayon(_) => rayon::join(one, two),
    }
}

/// The column that splits a lower triangle into two parts of about equal area, rounded to a multiple of `step`.
pub fn triangle_cut(columns: usize, step: usize) -> usize {
    ((1.0 - 0.5f64.sqrt()) * columns as f64 / step as f64).round() as usize * step
}

/// Applies work that is independent for each column to the two halves of the columns, in parallel from 128 columns on.
/// faer's own decomposition of the same work costs 10 % more on one thread.
pub fn by_halves(m: MatMut<'_, f64>, work: impl Fn(MatMut<'_, f64>) + Sync) {
    let (par, half) = (parallelism(m.ncols()), m.ncols() / 2);
    if matches!(par, Par::Seq) {
        return work(m);
    }
    let (left, right) = m.split_at_col_mut(half);
    both(par, || work(left), || work(right));
}
