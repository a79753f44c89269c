//! How work is cut for threads: by its size alone, so that the bits do not depend on their number.

use faer::{MatMut, Par};

/// How the work on a `d × d` matrix is cut. The cut depends on `d` alone, not on the number of
/// threads that share it, so that the bits do not either; below 128 threads cost more than they give.
pub fn parallelism(d: usize) -> Par {
    if d < 128 { Par::Seq } else { Par::rayon(2) }
}

/// Two pieces of work, at the same time if there are threads.
pub fn both<T: Send>(par: Par, one: impl FnOnce() -> T + Send, two: impl FnOnce() -> T + Send) -> (T, T) {
    match par {
        Par::Seq => (one(), two()),
        Par::Rayon(_) => rayon::join(one, two),
    }
}

/// After how many columns a lower triangle is cut into two parts of about as many entries: a multiple of `step`.
pub fn triangle_cut(columns: usize, step: usize) -> usize {
    ((1.0 - 0.5f64.sqrt()) * columns as f64 / step as f64).round() as usize * step
}

/// Work on a matrix whose columns know nothing of each other: on its halves, at the same time if there are threads.
/// A library's own cut of the same work costs a tenth of it on one thread.
pub fn by_halves(m: MatMut<'_, f64>, work: impl Fn(MatMut<'_, f64>) + Sync) {
    let (par, half) = (parallelism(m.ncols()), m.ncols() / 2);
    if matches!(par, Par::Seq) {
        return work(m);
    }
    let (left, right) = m.split_at_col_mut(half);
    both(par, || work(left), || work(right));
}
