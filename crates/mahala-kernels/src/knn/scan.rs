//! The micro-kernel of the neighbour search: scores of 6 queries against panels of 16 rows, in int16 or in single precision,
//! compared with the bounds before anything is stored.
//!
//! A GEMM micro-kernel with MR = 6 and NR = 16, in safe Rust over arrays of fixed size, compiled a second time for AVX2 and FMA
//! ([`crate::simd`]), where 12 registers hold the 6 × 16 scores. One instruction that compilers do not select, `pmaddwd`
//! (products of 16-bit integers added in pairs), stands in an `unsafe` block, which is sound because it is reached only in the
//! build that runs after the detection of AVX2.
#![allow(unsafe_code)]
#![allow(clippy::inline_always, reason = "an inlined loop inherits the instruction set of its caller")]

use crate::simd::{Kernel, dispatch};

/// Queries in a tile (MR).
pub const QUERIES: usize = 6;
/// Rows in a panel (NR).
pub const ROWS: usize = 16;

/// Features summed before they are added to the score (`GotoBLAS`'s KC): the rounding error of a sum of d terms grows with the
/// longest chain of additions, here `KC + d/KC` instead of d.
pub const KC: usize = 256;

/// Tiles scored against a panel at a time, KC features after KC features: the panel's part, at most 16 kB, stays in L1.
const TILES: usize = 8;

/// A number type in which scores are computed.
pub trait Number: Copy + Default + Into<f64> + Send + Sync {
    /// Features of a row or query that are adjacent in memory.
    const FEATURES: usize;

    /// Rounds to the nearest number of this type.
    fn of(x: f64) -> Self;

    /// Adds the products of a tile's and a panel's features to the scores, times each query's factor (which is 1 for `f32`).
    fn add_products<const FMA: bool>(
        scores: &mut Scores,
        tile: &[Self],
        factors: &[f32; QUERIES],
        rows: &[Self],
    );
}

/// The scores of one tile against one panel.
pub type Scores = [[f32; ROWS]; QUERIES];

/// The hits of one tile against one panel: the scores that reach the bound of their query.
pub struct Hits<'a> {
    /// Index of the tile of queries.
    pub tile: usize,
    /// Index of the panel of rows.
    pub panel: usize,
    /// All scores of the tile against the panel.
    pub scores: &'a Scores,
    /// For each row of the panel, a bit mask of the queries whose bound it reaches.
    pub reached: [u32; ROWS],
}

impl Hits<'_> {
    /// Calls `on_hit(query, row, score)` for each hit, indices within tile and panel.
    #[inline]
    pub fn for_each(&self, mut on_hit: impl FnMut(usize, usize, f32)) {
        for (row, &(mut queries)) in self.reached.iter().enumerate() {
            while queries != 0 {
                let query = queries.trailing_zeros() as usize;
                on_hit(query, row, self.scores[query][row]);
                queries &= queries - 1;
            }
        }
    }
}

/// The hit callback: called for each tile and panel with a hit; may raise the bounds of the tile.
pub type OnHit<'a> = dyn FnMut(&Hits<'_>, &mut [f32; QUERIES]) + 'a;

/// Packed tiles of queries and panels of rows: `d × QUERIES` numbers for each tile, `d × ROWS` for each panel, feature-major in
/// groups of [`Number::FEATURES`]. The score is `offset + factor·(x·y)`, with a factor for each query and an offset for each
/// row.
#[derive(Clone, Copy)]
pub struct Packed<'a, N> {
    /// Tiles of queries.
    pub tiles: &'a [N],
    /// The factor that brings each query's scores to the scale of the rows.
    pub factors: &'a [[f32; QUERIES]],
    /// Panels of rows.
    pub panels: &'a [N],
    /// `−½‖y‖²` of each row.
    pub offsets: &'a [f32],
}

impl<'a, N> Packed<'a, N> {
    fn features(&self) -> usize {
        self.panels.len() / self.offsets.len()
    }

    /// Tiles and their factors, at most `count` at a time.
    #[inline(always)]
    fn tiles(&self, count: usize) -> impl Iterator<Item = (&'a [N], &'a [[f32; QUERIES]])> {
        self.tiles.chunks(count * self.features() * QUERIES).zip(self.factors.chunks(count))
    }

    /// Each panel with the offsets of its rows.
    #[inline(always)]
    fn panels(&self) -> impl Iterator<Item = (&'a [N], &'a [f32; ROWS])> {
        self.panels.chunks_exact(self.features() * ROWS).zip(self.offsets.as_chunks().0)
    }
}

/// Scores all tiles against all panels, and reports the scores that reach their query's bound to the hit callback.
pub fn scan<N: Number>(packed: Packed<'_, N>, bounds: &mut [[f32; QUERIES]], on_hit: &mut OnHit<'_>) {
    dispatch(Scan { packed, bounds, on_hit });
}

/// For each query and each position in a panel, the highest score over all panels.
pub fn peaks<N: Number>(packed: Packed<'_, N>) -> Vec<Scores> {
    dispatch(Peaks(packed))
}

struct Scan<'a, 'b, N> {
    packed: Packed<'a, N>,
    bounds: &'a mut [[f32; QUERIES]],
    on_hit: &'a mut OnHit<'b>,
}

impl<N: Number> Kernel for Scan<'_, '_, N> {
    type Output = ();

    #[inline(always)]
    fn call<const FMA: bool>(self) {
        let d = self.packed.features();
        let groups = self.packed.tiles(TILES).zip(self.bounds.chunks_mut(TILES));
        for (((tiles, factors), bounds), first) in groups.zip((0..).step_by(TILES)) {
            for (panel, (rows, offset)) in self.packed.panels().enumerate() {
                if d <= KC {
                    let tiles = tiles.chunks_exact(d * QUERIES).zip(factors).zip(&mut *bounds);
                    for (tile, ((values, factors), bounds)) in tiles.enumerate() {
                        let mut scores = [*offset; QUERIES];
                        N::add_products::<FMA>(&mut scores, values, factors, rows);
                        report(first + tile, panel, &scores, bounds, self.on_hit);
                    }
                } else {
                    let scores = score_tiles::<N, FMA>(tiles, factors, rows, offset);
                    for (tile, (scores, bounds)) in scores.iter().zip(&mut *bounds).enumerate() {
                        report(first + tile, panel, scores, bounds, self.on_hit);
                    }
                }
            }
        }
    }
}

struct Peaks<'a, N>(Packed<'a, N>);

impl<N: Number> Kernel for Peaks<'_, N> {
    type Output = Vec<Scores>;

    #[inline(always)]
    fn call<const FMA: bool>(self) -> Vec<Scores> {
        let mut all = vec![[[f32::NEG_INFINITY; ROWS]; QUERIES]; self.0.factors.len()];
        for ((tile, factors), peaks) in self.0.tiles(1).zip(&mut all) {
            for (rows, offset) in self.0.panels() {
                let mut scores = [*offset; QUERIES];
                N::add_products::<FMA>(&mut scores, tile, &factors[0], rows);
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

/// The scores of at most [`TILES`] tiles against a panel, KC features after KC features.
#[inline(always)]
fn score_tiles<N: Number, const FMA: bool>(
    tiles: &[N],
    factors: &[[f32; QUERIES]],
    rows: &[N],
    offset: &[f32; ROWS],
) -> [Scores; TILES] {
    let d = rows.len() / ROWS;
    let depth = d.div_ceil(d.div_ceil(KC)).next_multiple_of(N::FEATURES);
    let mut scores = [[*offset; QUERIES]; TILES];
    for (first, rows) in (0..).step_by(depth).zip(rows.chunks(depth * ROWS)) {
        let length = rows.len() / ROWS * QUERIES;
        for ((tile, factors), scores) in tiles.chunks_exact(d * QUERIES).zip(factors).zip(&mut scores) {
            let mut sums = [[0f32; ROWS]; QUERIES];
            N::add_products::<FMA>(&mut sums, &tile[first * QUERIES..][..length], factors, rows);
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
    fn add_products<const FMA: bool>(scores: &mut Scores, tile: &[Self], _: &[f32; QUERIES], rows: &[Self]) {
        let mut sums = *scores;
        for (x, y) in tile.as_chunks::<QUERIES>().0.iter().zip(rows.as_chunks::<ROWS>().0) {
            for (sums, &x) in sums.iter_mut().zip(x) {
                for (sum, &y) in sums.iter_mut().zip(y) {
                    *sum = if FMA { x.mul_add(y, *sum) } else { *sum + x * y };
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
    fn add_products<const FMA: bool>(
        scores: &mut Scores,
        tile: &[Self],
        factors: &[f32; QUERIES],
        rows: &[Self],
    ) {
        let tile = tile.as_chunks::<{ 2 * QUERIES }>().0;
        let mut sums = [[0i32; ROWS]; QUERIES];
        for (x, y) in tile.iter().zip(rows.as_chunks::<{ 2 * ROWS }>().0) {
            for (sums, x) in sums.iter_mut().zip(x.as_chunks::<2>().0) {
                add_pairs::<FMA>(sums, *x, y);
            }
        }
        let mut added = *scores;
        for ((scores, sums), &factor) in added.iter_mut().zip(&sums).zip(factors) {
            for (score, &sum) in scores.iter_mut().zip(sums) {
                let sum = sum as f32;
                *score = if FMA { factor.mul_add(sum, *score) } else { *score + factor * sum };
            }
        }
        *scores = added;
    }
}

/// Adds `x₀y₀ + x₁y₁` for each of the 16 rows (`pmaddwd`).
#[inline(always)]
fn add_pairs<const FMA: bool>(sums: &mut [i32; ROWS], x: [i16; 2], rows: &[i16; 2 * ROWS]) {
    #[cfg(target_arch = "x86_64")]
    if FMA {
        use std::arch::x86_64::{__m256i, _mm256_add_epi32, _mm256_madd_epi16, _mm256_set1_epi32};
        // SAFETY: FMA is true only in the build for AVX2, which runs only where AVX2 was detected; the arrays have the size
        // of two registers, and any bit pattern is a valid integer.
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

/// Reports scores of which some reach the bounds to the hit callback.
#[inline(always)]
fn report(tile: usize, panel: usize, scores: &Scores, bounds: &mut [f32; QUERIES], on_hit: &mut OnHit<'_>) {
    if reaches(scores, bounds) {
        // A copy, or the scores would be spilled also where there is no hit.
        let scores = *scores;
        on_hit(&Hits { tile, panel, reached: reached(&scores, bounds), scores: &scores }, bounds);
    }
}

#[inline(always)]
fn reaches(scores: &Scores, bounds: &[f32; QUERIES]) -> bool {
    // A flag for each lane, reduced once at the end.
    let mut any = [0u32; ROWS];
    for (scores, bound) in scores.iter().zip(bounds) {
        for (any, score) in any.iter_mut().zip(scores) {
            *any |= u32::from(score >= bound);
        }
    }
    any.iter().fold(0, |all, any| all | any) != 0
}

/// For each row, a bit mask of the queries whose bound its score reaches.
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

    /// Compares the scores of every build with the plain formula; numbers are at most `size`, and the error at most so many
    /// roundings of the largest score.
    fn assert_plain<N: Number>(d: usize, size: f64, roundings: f64) {
        let mut random = Random::new(0, 0);
        let mut numbers =
            |n: usize| -> Vec<N> { (0..n).map(|_| N::of(size * (2.0 * random.uniform() - 1.0))).collect() };
        let (tiles, panels) = (numbers(9 * d * QUERIES), numbers(3 * d * ROWS));
        let offsets: Vec<f32> = numbers(3 * ROWS).into_iter().map(|x| x.into() as f32).collect();
        let factors = [[if N::FEATURES == 1 { 1.0 } else { 0.75 }; QUERIES]; 9];
        let largest = size * size * d as f64 + size;
        let value = |values: &[N], width: usize, group: usize, place: usize, j: usize| {
            let (whole, part) = (j / N::FEATURES, j % N::FEATURES);
            values[group * d * width + (whole * width + place) * N::FEATURES + part].into()
        };
        let mut checked = 0;
        let mut check = |hits: &Hits<'_>, _: &mut [f32; QUERIES]| {
            let Hits { tile, panel, scores, reached } = hits;
            assert_eq!(*reached, [(1 << QUERIES) - 1; ROWS], "every score reaches the lowest bound");
            for (q, r) in (0..QUERIES).flat_map(|q| (0..ROWS).map(move |r| (q, r))) {
                let product =
                    |j: usize| value(&tiles, QUERIES, *tile, q, j) * value(&panels, ROWS, *panel, r, j);
                let exact = f64::from(offsets[panel * ROWS + r])
                    + f64::from(factors[*tile][q]) * (0..d).map(product).sum::<f64>();
                let error = (f64::from(scores[q][r]) - exact).abs();
                assert!(error <= roundings * 2f64.powi(-24) * largest, "{d} {tile} {panel} {q} {r}: {error}");
                checked += 1;
            }
        };
        let packed = Packed { tiles: &tiles, factors: &factors, panels: &panels, offsets: &offsets };
        scan(packed, &mut [[f32::MIN; QUERIES]; 9], &mut check);
        let scan = Scan { packed, bounds: &mut [[f32::MIN; QUERIES]; 9], on_hit: &mut check };
        scan.call::<false>();
        assert_eq!(checked, 2 * 9 * 3 * QUERIES * ROWS);
    }

    #[test]
    fn every_build_computes_the_plain_formula() {
        // More tiles than are scored at a time; depths below, at and above KC.
        for d in [1, 2, 7, 64, 256, 257, 784] {
            assert_plain::<f32>(d, 0.5, d as f64 + 1.0);
            // The largest integers whose sums stay below 2³¹: these are exact, and rounded four times for each KC features.
            let pairs = d.next_multiple_of(2);
            assert_plain::<i16>(pairs, (30_000.0 / (pairs as f64).sqrt()).floor(), 12.0);
        }
    }

    #[test]
    fn peaks_are_the_highest_scores_of_their_positions() {
        let mut random = Random::new(3, 0);
        let mut numbers = |n: usize| (0..n).map(|_| random.uniform() as f32).collect::<Vec<f32>>();
        let (d, tiles, panels) = (5, 2, 7);
        let (tiles, offsets) = (numbers(tiles * d * QUERIES), numbers(panels * ROWS));
        let (panels, factors) = (numbers(panels * d * ROWS), [[1.0; QUERIES]; 2]);
        let packed = Packed { tiles: &tiles, factors: &factors, panels: &panels, offsets: &offsets };
        let mut highest = vec![[[f32::NEG_INFINITY; ROWS]; QUERIES]; 2];
        scan(packed, &mut [[f32::MIN; QUERIES]; 2], &mut |hits, _| {
            hits.for_each(|q, r, score| highest[hits.tile][q][r] = score.max(highest[hits.tile][q][r]));
        });
        assert_eq!(peaks(packed), highest);
    }

    #[test]
    fn panels_below_every_bound_are_not_reported() {
        let mut reported = Vec::new();
        let mut bounds = [[2.0, 9.0, 9.0, 9.0, 9.0, 9.0]];
        let mut offsets = [0.0; 3 * ROWS];
        offsets[ROWS + 3] = 2.0;
        let (tiles, factors, panels) = (&[0f32; QUERIES], &[[1.0; QUERIES]], &[0.0; 3 * ROWS]);
        let packed = Packed { tiles, factors, panels, offsets: &offsets };
        scan(packed, &mut bounds, &mut |hits, _| {
            hits.for_each(|q, r, score| reported.push((hits.panel, q, r, score)));
        });
        assert_eq!(reported, [(1, 0, 3, 2.0)]);
    }
}
