//! The inner loop of the neighbour search: scores of 6 queries against panels of 16 rows, in 16-bit integers or in
//! single precision, compared with the bounds before anything is stored.
//!
//! The loops are plain safe Rust over arrays of fixed size, compiled a second time for AVX2 and FMA
//! ([`crate::simd`]): there 12 registers hold the 6 × 16 scores. One instruction that compilers do not find by
//! themselves, products of 16-bit integers added in pairs, stands in an `unsafe` block, which is sound because
//! it is reached only in the build that runs behind the detection of AVX2.
#![allow(unsafe_code)]
#![allow(clippy::inline_always, reason = "inlined, a loop takes on the instructions of its caller")]

use crate::simd::{Work, run};

/// Queries in a tile.
pub const QUERIES: usize = 6;
/// Rows in a panel.
pub const ROWS: usize = 16;

/// Features summed before they are added to the score: the rounding of a sum of d terms grows with the
/// longest chain of additions, here `PIECE + d/PIECE` instead of d.
pub const PIECE: usize = 256;

/// Tiles that meet a panel together, piece by piece: the panel's piece, at most 16 kB, stays in the nearest cache
/// while those of the tiles pass.
const TOGETHER: usize = 8;

/// Numbers in which scores are computed.
pub trait Number: Copy + Default + Into<f64> + Send + Sync {
    /// Features that lie together, of a row or of a query.
    const FEATURES: usize;

    /// The nearest number of this kind.
    fn of(x: f64) -> Self;

    /// Adds the products of a tile's and a panel's features to the scores, times each query's factor (which is 1 for `f32`).
    fn add_products<const FUSED: bool>(
        scores: &mut Scores,
        tile: &[Self],
        factors: &[f32; QUERIES],
        rows: &[Self],
    );
}

/// The scores of one tile against one panel.
pub type Scores = [[f32; ROWS]; QUERIES];

/// A tile, a panel, their scores, and for each row a bit for each query whose bound the score reaches.
pub struct Found<'a> {
    /// The tile of queries.
    pub tile: usize,
    /// The panel of rows.
    pub panel: usize,
    /// All scores of the tile against the panel.
    pub scores: &'a Scores,
    /// For each row of the panel, the queries whose bound it reaches, as bits.
    pub reached: [u32; ROWS],
}

impl Found<'_> {
    /// Queries of the tile, rows of the panel and their scores.
    #[inline]
    pub fn each(&self, mut told: impl FnMut(usize, usize, f32)) {
        for (row, &(mut queries)) in self.reached.iter().enumerate() {
            while queries != 0 {
                let query = queries.trailing_zeros() as usize;
                told(query, row, self.scores[query][row]);
                queries &= queries - 1;
            }
        }
    }
}

/// Told of a tile and a panel of which some score reaches its query's bound; may raise the bounds of the tile.
pub type Told<'a> = dyn FnMut(&Found<'_>, &mut [f32; QUERIES]) + 'a;

/// Tiles of queries and panels of rows: `d × QUERIES` numbers for each tile, `d × ROWS` for each panel, where for
/// every [`Number::FEATURES`] features one row comes after the other; a factor for each query, and a number for each
/// row at which its scores `start + factor·(x·y)` begin.
#[derive(Clone, Copy)]
pub struct Packed<'a, N> {
    /// Tiles of queries.
    pub tiles: &'a [N],
    /// What brings a query's scores into the unit of the rows.
    pub factors: &'a [[f32; QUERIES]],
    /// Panels of rows.
    pub panels: &'a [N],
    /// `−½‖y‖²` of each row.
    pub starts: &'a [f32],
}

impl<'a, N> Packed<'a, N> {
    fn features(&self) -> usize {
        self.panels.len() / self.starts.len()
    }

    /// Tiles and their factors, at most so many at a time.
    #[inline(always)]
    fn tiles(&self, together: usize) -> impl Iterator<Item = (&'a [N], &'a [[f32; QUERIES]])> {
        self.tiles.chunks(together * self.features() * QUERIES).zip(self.factors.chunks(together))
    }

    /// Each panel with the beginnings of its scores.
    #[inline(always)]
    fn panels(&self) -> impl Iterator<Item = (&'a [N], &'a [f32; ROWS])> {
        self.panels.chunks_exact(self.features() * ROWS).zip(self.starts.as_chunks().0)
    }
}

/// Scores tiles of queries, of which each has its bounds, against panels of rows.
pub fn scan<N: Number>(packed: Packed<'_, N>, bounds: &mut [[f32; QUERIES]], told: &mut Told<'_>) {
    run(Scan { packed, bounds, told });
}

/// For each query of the tiles and each place in a panel, the highest score of the rows in that place.
pub fn peaks<N: Number>(packed: Packed<'_, N>) -> Vec<Scores> {
    run(Peaks(packed))
}

struct Scan<'a, 'b, N> {
    packed: Packed<'a, N>,
    bounds: &'a mut [[f32; QUERIES]],
    told: &'a mut Told<'b>,
}

impl<N: Number> Work for Scan<'_, '_, N> {
    type Output = ();

    #[inline(always)]
    fn call<const FUSED: bool>(self) {
        let d = self.packed.features();
        let groups = self.packed.tiles(TOGETHER).zip(self.bounds.chunks_mut(TOGETHER));
        for (((tiles, factors), bounds), first) in groups.zip((0..).step_by(TOGETHER)) {
            for (panel, (rows, start)) in self.packed.panels().enumerate() {
                if d <= PIECE {
                    let tiles = tiles.chunks_exact(d * QUERIES).zip(factors).zip(&mut *bounds);
                    for (tile, ((values, factors), bounds)) in tiles.enumerate() {
                        let mut scores = [*start; QUERIES];
                        N::add_products::<FUSED>(&mut scores, values, factors, rows);
                        tell(first + tile, panel, &scores, bounds, self.told);
                    }
                } else {
                    let scores = score_together::<N, FUSED>(tiles, factors, rows, start);
                    for (tile, (scores, bounds)) in scores.iter().zip(&mut *bounds).enumerate() {
                        tell(first + tile, panel, scores, bounds, self.told);
                    }
                }
            }
        }
    }
}

struct Peaks<'a, N>(Packed<'a, N>);

impl<N: Number> Work for Peaks<'_, N> {
    type Output = Vec<Scores>;

    #[inline(always)]
    fn call<const FUSED: bool>(self) -> Vec<Scores> {
        let mut all = vec![[[f32::NEG_INFINITY; ROWS]; QUERIES]; self.0.factors.len()];
        for ((tile, factors), peaks) in self.0.tiles(1).zip(&mut all) {
            for (rows, start) in self.0.panels() {
                let mut scores = [*start; QUERIES];
                N::add_products::<FUSED>(&mut scores, tile, &factors[0], rows);
                for (peaks, scores) in peaks.iter_mut().zip(&scores) {
                    for (peak, score) in peaks.iter_mut().zip(scores) {
                        *peak = if score > peak { *score } else { *peak };
                    }
                }
            }
        }
        all
    }
}

/// The scores of at most [`TOGETHER`] tiles against a panel, piece by piece.
#[inline(always)]
fn score_together<N: Number, const FUSED: bool>(
    tiles: &[N],
    factors: &[[f32; QUERIES]],
    rows: &[N],
    start: &[f32; ROWS],
) -> [Scores; TOGETHER] {
    let d = rows.len() / ROWS;
    let piece = d.div_ceil(d.div_ceil(PIECE)).next_multiple_of(N::FEATURES);
    let mut scores = [[*start; QUERIES]; TOGETHER];
    for (first, rows) in (0..).step_by(piece).zip(rows.chunks(piece * ROWS)) {
        let length = rows.len() / ROWS * QUERIES;
        for ((tile, factors), scores) in tiles.chunks_exact(d * QUERIES).zip(factors).zip(&mut scores) {
            let mut sums = [[0f32; ROWS]; QUERIES];
            N::add_products::<FUSED>(&mut sums, &tile[first * QUERIES..][..length], factors, rows);
            for (scores, sums) in scores.iter_mut().zip(&sums) {
                scores.iter_mut().zip(sums).for_each(|(score, sum)| *score += sum);
            }
        }
    }
    scores
}

impl Number for f32 {
    const FEATURES: usize = 1;

    #[inline(always)]
    fn of(x: f64) -> Self {
        x as Self
    }

    #[inline(always)]
    fn add_products<const FUSED: bool>(
        scores: &mut Scores,
        tile: &[Self],
        _: &[f32; QUERIES],
        rows: &[Self],
    ) {
        let mut sums = *scores;
        for (x, y) in tile.as_chunks::<QUERIES>().0.iter().zip(rows.as_chunks::<ROWS>().0) {
            for (sums, &x) in sums.iter_mut().zip(x) {
                for (sum, &y) in sums.iter_mut().zip(y) {
                    *sum = if FUSED { x.mul_add(y, *sum) } else { *sum + x * y };
                }
            }
        }
        *scores = sums;
    }
}

impl Number for i16 {
    const FEATURES: usize = 2;

    #[inline(always)]
    fn of(x: f64) -> Self {
        x.round_ties_even() as Self
    }

    #[inline(always)]
    fn add_products<const FUSED: bool>(
        scores: &mut Scores,
        tile: &[Self],
        factors: &[f32; QUERIES],
        rows: &[Self],
    ) {
        let tile = tile.as_chunks::<{ 2 * QUERIES }>().0;
        let mut sums = [[0i32; ROWS]; QUERIES];
        for (x, y) in tile.iter().zip(rows.as_chunks::<{ 2 * ROWS }>().0) {
            for (sums, x) in sums.iter_mut().zip(x.as_chunks::<2>().0) {
                add_pairs::<FUSED>(sums, *x, y);
            }
        }
        let mut added = *scores;
        for ((scores, sums), &factor) in added.iter_mut().zip(&sums).zip(factors) {
            for (score, &sum) in scores.iter_mut().zip(sums) {
                let sum = sum as f32;
                *score = if FUSED { factor.mul_add(sum, *score) } else { *score + factor * sum };
            }
        }
        *scores = added;
    }
}

/// Adds `x₀y₀ + x₁y₁` for each of the 16 rows.
#[inline(always)]
fn add_pairs<const FUSED: bool>(sums: &mut [i32; ROWS], x: [i16; 2], rows: &[i16; 2 * ROWS]) {
    #[cfg(target_arch = "x86_64")]
    if FUSED {
        use std::arch::x86_64::{__m256i, _mm256_add_epi32, _mm256_madd_epi16, _mm256_set1_epi32};
        // SAFETY: FUSED is true only in the build for AVX2, which runs where AVX2 was found; the arrays have the size of
        // two registers, and any bits are integers.
        unsafe {
            let x = _mm256_set1_epi32(std::mem::transmute::<[i16; 2], i32>(x));
            let y: [__m256i; 2] = std::mem::transmute(*rows);
            let s: [__m256i; 2] = std::mem::transmute(*sums);
            let add = |s, y| _mm256_add_epi32(s, _mm256_madd_epi16(x, y));
            *sums = std::mem::transmute::<[__m256i; 2], [i32; ROWS]>([add(s[0], y[0]), add(s[1], y[1])]);
        }
        return;
    }
    for (sum, y) in sums.iter_mut().zip(rows.as_chunks::<2>().0) {
        *sum += i32::from(x[0]) * i32::from(y[0]) + i32::from(x[1]) * i32::from(y[1]);
    }
}

/// Tells of scores of which some reach the bounds.
#[inline(always)]
fn tell(tile: usize, panel: usize, scores: &Scores, bounds: &mut [f32; QUERIES], told: &mut Told<'_>) {
    if reaches(scores, bounds) {
        // A copy, or the scores would leave the registers also where nothing is told.
        let scores = *scores;
        told(&Found { tile, panel, reached: reached(&scores, bounds), scores: &scores }, bounds);
    }
}

#[inline(always)]
fn reaches(scores: &Scores, bounds: &[f32; QUERIES]) -> bool {
    // A flag for each place in the registers; they meet in one test at the end.
    let mut any = [0u32; ROWS];
    for (scores, bound) in scores.iter().zip(bounds) {
        for (any, score) in any.iter_mut().zip(scores) {
            *any |= u32::from(score >= bound);
        }
    }
    any.iter().fold(0, |all, any| all | any) != 0
}

/// For each row a bit for each query whose bound the score reaches.
#[inline(never)]
fn reached(scores: &Scores, bounds: &[f32; QUERIES]) -> [u32; ROWS] {
    let mut reached = [0u32; ROWS];
    for (query, (scores, bound)) in scores.iter().zip(bounds).enumerate() {
        for (reached, score) in reached.iter_mut().zip(scores) {
            *reached |= u32::from(score >= bound) << query;
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Scores of every build against the plain formula; numbers are at most `size`, and scores may be off by so many
    /// roundings of the largest.
    fn assert_plain<N: Number>(d: usize, size: f64, roundings: f64) {
        let mut random = Random::new(0, 0);
        let mut numbers =
            |n: usize| -> Vec<N> { (0..n).map(|_| N::of(size * (2.0 * random.uniform() - 1.0))).collect() };
        let (tiles, panels) = (numbers(9 * d * QUERIES), numbers(3 * d * ROWS));
        let starts: Vec<f32> = numbers(3 * ROWS).into_iter().map(|x| x.into() as f32).collect();
        let factors = [[if N::FEATURES == 1 { 1.0 } else { 0.75 }; QUERIES]; 9];
        let largest = size * size * d as f64 + size;
        let value = |values: &[N], width: usize, group: usize, place: usize, j: usize| {
            let (whole, part) = (j / N::FEATURES, j % N::FEATURES);
            values[group * d * width + (whole * width + place) * N::FEATURES + part].into()
        };
        let mut checked = 0;
        let mut check = |found: &Found<'_>, _: &mut [f32; QUERIES]| {
            let Found { tile, panel, scores, reached } = found;
            assert_eq!(*reached, [(1 << QUERIES) - 1; ROWS], "every score reaches the lowest bound");
            for (q, r) in (0..QUERIES).flat_map(|q| (0..ROWS).map(move |r| (q, r))) {
                let product =
                    |j: usize| value(&tiles, QUERIES, *tile, q, j) * value(&panels, ROWS, *panel, r, j);
                let exact = f64::from(starts[panel * ROWS + r])
                    + f64::from(factors[*tile][q]) * (0..d).map(product).sum::<f64>();
                let error = (f64::from(scores[q][r]) - exact).abs();
                assert!(error <= roundings * 2f64.powi(-24) * largest, "{d} {tile} {panel} {q} {r}: {error}");
                checked += 1;
            }
        };
        let packed = Packed { tiles: &tiles, factors: &factors, panels: &panels, starts: &starts };
        scan(packed, &mut [[f32::MIN; QUERIES]; 9], &mut check);
        let scan = Scan { packed, bounds: &mut [[f32::MIN; QUERIES]; 9], told: &mut check };
        scan.call::<false>();
        assert_eq!(checked, 2 * 9 * 3 * QUERIES * ROWS);
    }

    #[test]
    fn every_build_computes_the_plain_formula() {
        // More tiles than meet a panel together; pieces that are whole, one, and more.
        for d in [1, 2, 7, 64, 256, 257, 784] {
            assert_plain::<f32>(d, 0.5, d as f64 + 1.0);
            // The largest integers whose sums stay below 2³¹: these are exact, and rounded four times for each piece.
            let pairs = d.next_multiple_of(2);
            assert_plain::<i16>(pairs, (30_000.0 / (pairs as f64).sqrt()).floor(), 12.0);
        }
    }

    #[test]
    fn peaks_are_the_highest_scores_of_their_places() {
        let mut random = Random::new(3, 0);
        let mut numbers = |n: usize| (0..n).map(|_| random.uniform() as f32).collect::<Vec<f32>>();
        let (d, tiles, panels) = (5, 2, 7);
        let (tiles, starts) = (numbers(tiles * d * QUERIES), numbers(panels * ROWS));
        let (panels, factors) = (numbers(panels * d * ROWS), [[1.0; QUERIES]; 2]);
        let packed = Packed { tiles: &tiles, factors: &factors, panels: &panels, starts: &starts };
        let mut highest = vec![[[f32::NEG_INFINITY; ROWS]; QUERIES]; 2];
        scan(packed, &mut [[f32::MIN; QUERIES]; 2], &mut |found, _| {
            found.each(|q, r, score| highest[found.tile][q][r] = score.max(highest[found.tile][q][r]));
        });
        assert_eq!(peaks(packed), highest);
    }

    #[test]
    fn panels_below_every_bound_are_passed_over() {
        let mut told = Vec::new();
        let mut bounds = [[2.0, 9.0, 9.0, 9.0, 9.0, 9.0]];
        let mut starts = [0.0; 3 * ROWS];
        starts[ROWS + 3] = 2.0;
        let (tiles, factors, panels) = (&[0f32; QUERIES], &[[1.0; QUERIES]], &[0.0; 3 * ROWS]);
        let packed = Packed { tiles, factors, panels, starts: &starts };
        scan(packed, &mut bounds, &mut |found, _| {
            found.each(|q, r, score| told.push((found.panel, q, r, score)));
        });
        assert_eq!(told, [(1, 0, 3, 2.0)]);
    }
}
