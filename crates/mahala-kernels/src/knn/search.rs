//! Exact k nearest neighbours: a blocked scan of int16-quantised rows, re-ranked in double precision.
//!
//! Scores `x·y − ½‖y‖²` of centred rows are computed in low precision, a tile of queries against a panel of rows at a time
//! ([`crate::knn::scan`]); only those that reach the bound of the k best so far are stored. Every row within the error bound of
//! the k-th best is then re-ranked in double precision by `Σ(x_j − y_j)²`. The result is therefore exact, whatever the
//! processor and the number of threads: nearest first, equal distances by row index.
//!
//! int16 is tried first. Where it leaves more rows to re-rank than it saves time (few rows; rows whose distances are small
//! compared with their distance from the centre), single precision takes over. For many queries against many rows of few
//! columns a k-d tree is faster than both ([`crate::knn::kd_tree`]).

use crate::knn::candidates::Candidates;
use crate::knn::distance::squared_distances;
use crate::knn::kd_tree;
use crate::knn::kd_tree::Tree;
use crate::knn::quantized::{Panels, Rounding, Tiles, centre, centred_norm, integer_unit, single_unit};
use crate::knn::scan::{Packed, QUERIES, ROWS, peaks, scan};
use crate::rows::RowsRef;
use rayon::prelude::*;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The search index. It does not hold the rows: the caller passes the same rows at every call.
#[derive(Debug, Clone)]
pub struct Index {
    /// Subtracted before low-precision products, which cancel far from the origin.
    centre: Vec<f64>,
    /// The largest norm of a centred row.
    longest: f64,
    /// The int16-quantised rows, unless they would not be faster.
    int16: Option<Panels<i16>>,
    /// The rows in single precision, packed when first needed.
    single: OnceLock<Panels<f32>>,
    /// The limit on the bytes that either takes above the rows.
    max_bytes: usize,
    /// The k-d tree, built at the first search with many queries.
    tree: OnceLock<Box<Tree>>,
}

/// The limit on the bytes of quantised rows: beyond, they are packed anew for each block of queries, which bounds the peak
/// memory above the input.
const MAX_BYTES: usize = 64 << 20;

impl Index {
    /// Builds the index of at least one row.
    pub fn new(rows: RowsRef<'_>) -> Self {
        Self::with_max_bytes(rows, MAX_BYTES)
    }

    /// Builds the index with a limit on the bytes of quantised rows.
    fn with_max_bytes(rows: RowsRef<'_>, max_bytes: usize) -> Self {
        let centre = centre(rows);
        let longest = (0..rows.len()).map(|i| centred_norm(rows.row(i), &centre)).fold(0.0, f64::max);
        let unit = integer_unit(longest).filter(|_| rerank_budget(rows) > 3);
        let int16 = unit.map(|unit| Panels::new(rows, &centre, longest, unit, max_bytes));
        Self { centre, longest, int16, single: OnceLock::new(), max_bytes, tree: OnceLock::new() }
    }

    /// The `k` nearest rows of each query, `1 ≤ k ≤ rows.len()`: distances and row indices, nearest first, query after query.
    pub fn search(&self, rows: RowsRef<'_>, queries: RowsRef<'_>, k: usize) -> Vec<(f64, usize)> {
        if let Some(tree) = self.tree(rows, queries, k) {
            return tree.search(queries, k);
        }
        let d = queries.columns();
        // As many queries as leave cache for rows; more, if the rows are packed anew for each block of queries.
        let most = if self.int16.as_ref().is_none_or(Panels::are_kept) { 480 } else { 960 };
        let share = queries.len().div_ceil(rayon::current_num_threads());
        let block_len = (131_072 / d).min(share).clamp(4 * QUERIES, most).next_multiple_of(QUERIES);
        let blocks: Vec<Vec<&[f64]>> =
            queries.values().chunks(block_len * d).map(|block| block.chunks_exact(d).collect()).collect();
        let most = k + rerank_budget(rows);
        let int16_failed = AtomicBool::new(self.int16.is_none() || most < 2 * k);
        let mut found: Vec<Option<Vec<(f64, usize)>>> = blocks
            .par_iter()
            .map(|block| {
                let int16 = self.int16.as_ref().filter(|_| !int16_failed.load(Ordering::Relaxed))?;
                let found = self.search_block(rows, int16, block, k, most * block.len());
                int16_failed.fetch_or(found.is_none(), Ordering::Relaxed);
                found
            })
            .collect();
        if int16_failed.into_inner() {
            let single = self.single(rows);
            found.par_iter_mut().zip(&blocks).filter(|(found, _)| found.is_none()).for_each(
                |(found, block)| {
                    *found = self.search_block(rows, single, block, k, usize::MAX);
                },
            );
        }
        debug_assert!(found.iter().all(Option::is_some), "single precision suits every query");
        found.into_iter().flatten().flatten().collect()
    }

    /// The k-d tree, if it is faster and no query is so large that squares must be scaled.
    fn tree(&self, rows: RowsRef<'_>, queries: RowsRef<'_>, k: usize) -> Option<&Tree> {
        let to_answer = self.tree.get().is_none().then_some(queries.len());
        let plain = |i: usize| self.measuring_unit(centred_norm(queries.row(i), &self.centre)) == 1.0;
        let faster = kd_tree::is_faster(rows, to_answer, k) && (0..queries.len()).all(plain);
        faster.then(|| &**self.tree.get_or_init(|| Box::new(Tree::new(rows))))
    }

    #[cfg(test)]
    pub(crate) fn has_tree(&self) -> bool {
        self.tree.get().is_some()
    }

    /// The rows in single precision, packed at the first call.
    fn single(&self, rows: RowsRef<'_>) -> &Panels<f32> {
        let unit = single_unit(self.longest);
        self.single.get_or_init(|| Panels::new(rows, &self.centre, self.longest, unit, self.max_bytes))
    }

    /// The neighbours of a block of queries; none if these panels leave more than `most` candidates to re-rank.
    fn search_block<N: Rounding>(
        &self,
        rows: RowsRef<'_>,
        panels: &Panels<N>,
        queries: &[&[f64]],
        k: usize,
        most: usize,
    ) -> Option<Vec<(f64, usize)>> {
        let norms: Vec<f64> = queries.iter().map(|query| centred_norm(query, &self.centre)).collect();
        let tiles = panels.tiles(queries, &norms, &self.centre);
        let mut candidates: Vec<Candidates> =
            tiles.errors.iter().map(|&error| Candidates::new(k, error)).collect();
        // The padding of the last tile hits nothing.
        let mut bounds = vec![[f32::INFINITY; QUERIES]; queries.len().div_ceil(QUERIES)];
        bounds.as_flattened_mut()[..queries.len()].fill(f32::MIN);
        initial_bounds(panels, &tiles, self.centre.len(), &mut candidates, bounds.as_flattened_mut());
        let few = panels.blocks(rows, &self.centre, |first, panels, offsets| {
            let packed = Packed { tiles: &tiles.values, factors: &tiles.factors, panels, offsets };
            scan(packed, &mut bounds, &mut |hits, bounds| {
                let candidates = &mut candidates[hits.tile * QUERIES..];
                hits.for_each(|query, row, score| {
                    bounds[query] = candidates[query].offer(score, first + hits.panel * ROWS + row);
                });
            });
            at_most(&mut candidates, most)
        });
        few.then(|| self.rerank(rows, queries, &norms, candidates, k))
    }

    /// Re-ranks the candidates in double precision: the `k` nearest of each query, with their distances.
    fn rerank(
        &self,
        rows: RowsRef<'_>,
        queries: &[&[f64]],
        norms: &[f64],
        candidates: Vec<Candidates>,
        k: usize,
    ) -> Vec<(f64, usize)> {
        let mut found = Vec::with_capacity(queries.len() * k);
        let (mut indices, mut measured) = (Vec::new(), Vec::new());
        for (candidates, (query, &norm)) in candidates.into_iter().zip(queries.iter().zip(norms)) {
            indices.clear();
            if candidates.error.is_finite() {
                indices.extend(candidates.into_indices());
            } else {
                indices.extend(0..rows.len());
            }
            let unit = self.measuring_unit(norm);
            measure(rows, query, unit, &indices, &mut measured);
            found.extend(nearest(&mut measured, k).map(|(square, i)| (square.sqrt() / unit, i)));
        }
        found
    }

    /// The power of two by which differences from a query of this norm are scaled before they are squared: 1 unless squares
    /// would overflow or underflow.
    fn measuring_unit(&self, norm: f64) -> f64 {
        let size = norm.max(self.longest);
        if size > 1e140 {
            2f64.powi(-600)
        } else if size < 1e-120 {
            2f64.powi(600)
        } else {
            1.0
        }
    }
}

/// The squared distances of rows from a query in double precision, scaled by `unit²`.
fn measure(rows: RowsRef<'_>, query: &[f64], unit: f64, indices: &[usize], measured: &mut Vec<(f64, usize)>) {
    let (chunks, rest) = indices.as_chunks::<4>();
    measured.clear();
    for chunk in chunks {
        let squares = squared_distances_in(unit, query, chunk.map(|i| rows.row(i)));
        measured.extend(squares.into_iter().zip(*chunk));
    }
    for &i in rest {
        measured.push((squared_distances_in(unit, query, [rows.row(i)])[0], i));
    }
}

/// The number of rows that can be re-ranked in the time that int16 saves in scoring all rows for one query: a row costs some
/// 30 ns plus 0.5 ns for each feature, and int16 saves a third of a scan; below 16 features comparisons dominate, and it saves
/// nothing.
fn rerank_budget(rows: RowsRef<'_>) -> usize {
    if rows.columns() < 16 { 0 } else { rows.values().len() / (60 * rows.columns() + 4300) }
}

/// Initial bounds from a sample of panels: the highest scores at the positions of a panel belong to different rows, so `k` rows
/// reach the k-th highest of them. Without initial bounds each query stores `k·ln(n/k)` candidates; the number of panels
/// balances the time to store these with the time to score the sample twice.
fn initial_bounds<N: Rounding>(
    panels: &Panels<N>,
    tiles: &Tiles<N>,
    d: usize,
    candidates: &mut [Candidates],
    bounds: &mut [f32],
) {
    let Some((panels, offsets)) = panels.kept() else { return };
    let k = candidates[0].k;
    let all = offsets.len() / ROWS;
    // Few rows of few columns are all scored twice: that is cheaper than to store what a looser bound lets through.
    let sampled = if all <= 64 && d <= 32 { all } else { (150 * k / d).min(all / 8) };
    if k > ROWS || sampled < 4 {
        return;
    }
    let panels = &panels[..sampled * ROWS * (panels.len() / offsets.len())];
    let offsets = &offsets[..sampled * ROWS];
    let highest = peaks(Packed { tiles: &tiles.values, factors: &tiles.factors, panels, offsets });
    for ((candidates, bound), highest) in candidates.iter_mut().zip(bounds).zip(highest.as_flattened()) {
        let mut highest = *highest;
        highest.sort_unstable_by(|a, b| b.total_cmp(a));
        *bound = candidates.raise(highest[k - 1]);
    }
}

/// Whether there are at most so many candidates, after pruning if need be.
fn at_most(candidates: &mut [Candidates], most: usize) -> bool {
    let few = |candidates: &[Candidates]| candidates.iter().map(Candidates::count).sum::<usize>() <= most;
    few(candidates) || {
        candidates.iter_mut().for_each(Candidates::prune);
        few(candidates)
    }
}

/// The `k` smallest squared distances with their rows, in ascending order, ties by row index.
fn nearest(measured: &mut [(f64, usize)], k: usize) -> impl Iterator<Item = (f64, usize)> {
    let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if measured.len() > k {
        measured.select_nth_unstable_by(k - 1, order);
    }
    let nearest = &mut measured[..k];
    nearest.sort_unstable_by(order);
    nearest.iter().copied()
}

/// `unit²·Σ(x_j − y_j)²`, scaled before squaring.
fn squared_distances_in<const N: usize>(unit: f64, x: &[f64], ys: [&[f64]; N]) -> [f64; N] {
    if unit == 1.0 {
        return squared_distances(x, ys);
    }
    // Large numbers are scaled down before the subtraction, small differences up after it.
    let (before, after) = (unit.min(1.0), unit.max(1.0));
    ys.map(|y| x.iter().zip(y).map(|(x, y)| ((x * before - y * before) * after).powi(2)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knn::distance::squared_distance;
    use crate::random::Random;
    use crate::simd::has_avx2;

    /// A table and its index.
    struct Knn {
        rows: Table,
        index: Index,
    }

    #[derive(Clone)]
    struct Table(Vec<f64>, usize);

    impl Table {
        fn view(&self) -> RowsRef<'_> {
            RowsRef::new(&self.0, self.1)
        }
    }

    impl Knn {
        fn new(rows: Table) -> Self {
            Self::with_max_bytes(rows, MAX_BYTES)
        }

        fn with_max_bytes(rows: Table, max_bytes: usize) -> Self {
            Self { index: Index::with_max_bytes(rows.view(), max_bytes), rows }
        }

        fn search(&self, queries: &Table, k: usize) -> Vec<(f64, usize)> {
            self.index.search(self.rows.view(), queries.view(), k)
        }
    }

    fn brute(rows: RowsRef<'_>, query: &[f64], k: usize) -> Vec<usize> {
        let mut all: Vec<(f64, usize)> =
            (0..rows.len()).map(|i| (squared_distance(query, rows.row(i)), i)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all[..k].iter().map(|&(_, i)| i).collect()
    }

    fn random_rows(n: usize, d: usize, seed: u64, f: impl Fn(f64) -> f64) -> Table {
        let mut random = Random::new(seed, 0);
        Table((0..n * d).map(|_| f(random.uniform())).collect(), d)
    }

    fn assert_exact(rows: &Table, queries: &Table, k: usize) {
        let (rows, queries) = (rows.view(), queries.view());
        let found = Index::new(rows).search(rows, queries, k);
        for (q, found) in found.chunks_exact(k).enumerate() {
            let found: Vec<usize> = found.iter().map(|&(_, i)| i).collect();
            assert_eq!(found, brute(rows, queries.row(q), k), "query {q}");
        }
    }

    #[test]
    fn the_result_equals_the_plain_formula() {
        for (n, d, k) in [(1, 1, 1), (7, 3, 7), (3000, 5, 4), (1500, 40, 17), (1100, 130, 1)] {
            assert_exact(&random_rows(n, d, 1, |x| x), &random_rows(70, d, 2, |x| x), k);
        }
    }

    #[test]
    fn panels_packed_anew_give_the_same_result() {
        for (n, d) in [(1, 3), (3000, 5), (1100, 130), (5000, 17)] {
            let (rows, queries) = (random_rows(n, d, 9, |x| x), random_rows(300, d, 10, |x| x));
            let k = 7.min(n);
            let (kept, made) = (Knn::new(Table(rows.0.clone(), d)), Knn::with_max_bytes(rows, 0));
            assert!(
                kept.index.single(kept.rows.view()).are_kept()
                    && !made.index.single(made.rows.view()).are_kept()
            );
            let offsets = |knn: &Knn| {
                let mut all = Vec::new();
                knn.index.single(knn.rows.view()).blocks(
                    knn.rows.view(),
                    &knn.index.centre,
                    |_, _, offsets| {
                        all.extend_from_slice(offsets);
                        true
                    },
                );
                all
            };
            assert_eq!(offsets(&kept), offsets(&made));
            assert_eq!(kept.search(&queries, k), made.search(&queries, k), "{n} x {d}");
        }
    }

    #[test]
    fn int16_and_single_precision_give_the_same_result() {
        for (n, d, k) in [(5000, 17, 4), (4000, 41, 17), (1100, 300, 1), (700, 784, 5)] {
            let (rows, queries) = (random_rows(n, d, 21, |x| x), random_rows(70, d, 22, |x| x));
            let knn = Knn::new(rows);
            let mut single = knn.index.clone();
            single.int16 = None;
            assert_eq!(
                knn.search(&queries, k),
                single.search(knn.rows.view(), queries.view(), k),
                "{n} x {d}"
            );
            assert_eq!(knn.index.single.get().is_some(), !has_avx2(), "int16 sufficed, where it is used");
        }
    }

    #[test]
    fn single_precision_takes_over_where_int16_is_too_coarse() {
        // Two tight groups far apart: within a group int16 sees no difference.
        let tight = |n: usize, seed| {
            let values = random_rows(n, 16, seed, |x| 1e-6 * x).0;
            let far = |(i, x): (usize, f64)| if i < 8 * n { x } else { 1.0 + x };
            Table(values.into_iter().enumerate().map(far).collect(), 16)
        };
        let knn = Knn::new(tight(4000, 24));
        assert_eq!(knn.index.int16.is_some(), has_avx2());
        knn.search(&tight(40, 25), 3);
        assert!(knn.index.single.get().is_some());
        assert_exact(&tight(4000, 24), &tight(40, 25), 3);
    }

    #[test]
    fn the_error_of_int16_scores_is_within_its_bound() {
        // The worst case: every value lies half-way between integers.
        let mut random = Random::new(28, 0);
        let mut row = |most: f64| -> Vec<f64> {
            (0..64).map(|_| (most * (2.0 * random.uniform() - 1.0)).floor() + 0.5).collect()
        };
        let rounded = |x: &[f64]| x.iter().map(|x| x.round_ties_even()).collect::<Vec<f64>>();
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let score = |factor: f64, x: &[f64], y: &[f64]| -> f64 {
            x.iter().zip(y).map(|(x, y)| factor * x * y - 0.5 * y * y).sum()
        };
        for factor in [0.01, 1.0, 40.0] {
            let (x, y) = (row(4000.0), row(3700.0));
            let off = (score(factor, &rounded(&x), &rounded(&y)) - score(factor, &x, &y)).abs();
            assert!(off <= i16::score_error(64, factor * norm(&x), factor, norm(&y)), "{factor} {off}");
        }
    }

    #[test]
    fn queries_of_any_norm_are_answered_in_int16() {
        let rows = random_rows(4000, 16, 26, |x| x);
        let queries = random_rows(30, 16, 27, |x| if x < 0.5 { 1e-9 * x } else { 1e4 * x });
        let knn = Knn::new(rows.clone());
        knn.search(&queries, 3);
        assert_eq!(knn.index.single.get().is_some(), !has_avx2());
        assert_exact(&rows, &queries, 3);
    }

    #[test]
    fn equal_distances_go_to_the_earlier_row() {
        let rows = random_rows(2500, 3, 3, |x| (4.0 * x).floor());
        assert_exact(&rows, &random_rows(50, 3, 4, |x| (4.0 * x).floor()), 9);
    }

    #[test]
    fn near_ties_below_single_precision_are_decided_right() {
        // Distances differ by 1e-12 relative: they are equal in single precision.
        let rows = random_rows(2000, 8, 5, |x| 1.0 + 1e-12 * x);
        assert_exact(&rows, &random_rows(20, 8, 6, |x| 3.0 + x), 5);
    }

    #[test]
    fn far_from_the_origin_and_at_extreme_scales_nothing_is_lost() {
        for f in [|x: f64| 1e9 + x, |x| 1e-150 * x, |x| 1e150 * x, |x| if x > 0.99 { 1e12 * x } else { x }] {
            assert_exact(&random_rows(1200, 6, 7, f), &random_rows(20, 6, 8, f), 5);
        }
        // A query far outside the range of the rows.
        assert_exact(&random_rows(1200, 6, 7, |x| x), &random_rows(3, 6, 8, |x| 1e60 * x), 5);
    }
}
