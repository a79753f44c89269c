//! Parallel decomposition: by the shape of the data alone, so that no bit depends on the number of threads.

use faer::{MatMut, Par};

/// The most pieces that the work on one matrix is cut into: as many threads can share it.
const MOST_PIECES: usize = 16;

/// The decomposition of the work on a `d × d` matrix: pieces of at least 64 columns, up to 16. It depends on `d` alone, not
/// on the number of threads, so that no bit does either; below 128 columns a second thread costs more than it saves.
pub fn parallelism(d: usize) -> Par {
    if d < 128 { Par::Seq } else { Par::rayon((d / 64).min(MOST_PIECES)) }
}

/// The number of pieces of a reduction whose partial sums are added in order: of at least 256 columns each, for every piece
/// has a vector of its own to be added.
pub fn reduction_pieces(d: usize) -> usize {
    (d / 256).clamp(2, MOST_PIECES)
}

/// Runs two closures, in parallel if `par` allows (`rayon::join`).
pub fn both<T: Send>(par: Par, one: impl FnOnce() -> T + Send, two: impl FnOnce() -> T + Send) -> (T, T) {
    match par {
        Par::Seq => (one(), two()),
        Par::Rayon(_) => rayon::join(one, two),
    }
}

/// Runs `work` on every item, in parallel if `par` allows.
pub fn each<T: Send>(par: Par, items: &mut [T], work: &(impl Fn(&mut T) + Sync)) {
    match items {
        [] => {}
        [item] => work(item),
        _ => {
            let (one, two) = items.split_at_mut(items.len() / 2);
            both(par, || each(par, one, work), || each(par, two, work));
        }
    }
}

/// The columns at which a lower triangle is cut into pieces of about equal area, multiples of `step`, ascending.
pub fn triangle_cuts(columns: usize, step: usize, pieces: usize) -> Vec<usize> {
    let cut = |piece: usize| {
        let left = 1.0 - piece as f64 / pieces as f64;
        ((1.0 - left.sqrt()) * columns as f64 / step as f64).round() as usize * step
    };
    (1..pieces).map(cut).collect()
}

/// The columns at which a matrix is cut into pieces of equal width, one for each thread that `par` allows.
pub fn column_cuts(columns: usize, par: Par) -> Vec<usize> {
    let pieces = match par {
        Par::Seq => 1,
        Par::Rayon(pieces) => pieces.get(),
    };
    (1..pieces).map(|piece| columns * piece / pieces).collect()
}

/// A matrix cut at the given columns: each piece with its first column.
pub fn cut_columns<'a>(mut m: MatMut<'a, f64>, cuts: &[usize]) -> Vec<(usize, MatMut<'a, f64>)> {
    let mut pieces = Vec::with_capacity(cuts.len() + 1);
    let mut first = 0;
    for &cut in cuts {
        let (left, right) = m.split_at_col_mut(cut - first);
        pieces.push((first, left));
        (first, m) = (cut, right);
    }
    pieces.push((first, m));
    pieces
}

/// Applies work that is independent for each column to pieces of the columns, in parallel from 128 columns on.
/// faer's own decomposition of the same work costs 10 % more on one thread.
pub fn by_columns(m: MatMut<'_, f64>, work: impl Fn(MatMut<'_, f64>) + Sync) {
    let par = parallelism(m.ncols());
    let cuts = column_cuts(m.ncols(), par);
    each(par, &mut cut_columns(m, &cuts), &|(_, piece)| work(piece.as_mut()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;

    #[test]
    fn pieces_of_a_triangle_have_about_equal_areas() {
        let (n, pieces) = (1000, 16);
        let cuts = triangle_cuts(n, 4, pieces);
        let ends = cuts.iter().copied().chain([n]);
        let starts = [0].into_iter().chain(cuts.iter().copied());
        let areas: Vec<usize> = starts.zip(ends).map(|(a, b)| (a..b).map(|j| n - j).sum()).collect();
        let even = n * (n + 1) / 2 / pieces;
        // A cut is off by at most half a step of columns of length n at each end.
        assert!(areas.iter().all(|area| area.abs_diff(even) <= 4 * n), "{areas:?}");
        assert_eq!(areas.iter().sum::<usize>(), n * (n + 1) / 2);
    }

    #[test]
    fn every_column_belongs_to_one_piece() {
        let mut m = Mat::<f64>::zeros(3, 1100);
        by_columns(m.as_mut(), |mut piece| piece.as_mut().col_iter_mut().for_each(|mut c| c[0] += 1.0));
        assert!(m.row(0).iter().all(|&x| x == 1.0));
        assert_eq!(column_cuts(1100, parallelism(1100)).len() + 1, MOST_PIECES);
        assert_eq!(column_cuts(127, parallelism(127)), []);
    }
}
