//! The inner loop of the neighbour search: scores of 6 queries against panels of 16 rows, in single
//! precision, compared with the bounds before anything is stored.
//!
//! The loop is plain safe Rust over arrays of fixed size. On x86-64 with AVX2 and FMA, found at run time,
//! the same source is compiled a second time for these instructions (12 registers hold the 6 × 16 scores);
//! elsewhere the portable build of it runs. An `unsafe` block calls the second build, which is sound
//! because it stands behind the detection of exactly the features it was compiled for.
#![allow(unsafe_code)]

/// Queries in a tile.
pub(crate) const QUERIES: usize = 6;
/// Rows in a panel.
pub(crate) const ROWS: usize = 16;

/// Features summed before they are added to the score: the rounding of a sum of d terms grows with the
/// longest chain of additions, here `PIECE + d/PIECE` instead of d.
const PIECE: usize = 128;

/// A bound on the rounding of one score, in units of 2⁻²⁴ of `Σ|x_j y_j| + |start|`, for `d` features whose
/// values were rounded once each.
pub(crate) fn roundings(d: usize) -> f64 {
    (d.min(PIECE) + d.div_ceil(PIECE) + 6) as f64
}

/// The scores of one tile against one panel.
pub(crate) type Scores = [[f32; ROWS]; QUERIES];

/// Told of a panel in which some score reaches its query's bound; may raise the bounds.
pub(crate) type Found<'a> = dyn FnMut(usize, &Scores, &mut [f32; QUERIES]) + 'a;

/// Scores one tile of queries against panels of rows: `start + x·y`.
///
/// `tile` holds `d × QUERIES` numbers and each panel `d × ROWS`, feature by feature; `starts` holds a
/// number for each row.
pub(crate) fn scan(
    tile: &[f32],
    panels: &[f32],
    starts: &[f32],
    bounds: &mut [f32; QUERIES],
    found: &mut Found<'_>,
) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the processor has both features the function is compiled for.
        unsafe { scan_avx2(tile, panels, starts, bounds, found) };
        return;
    }
    scan_with::<false>(tile, panels, starts, bounds, found);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn scan_avx2(
    tile: &[f32],
    panels: &[f32],
    starts: &[f32],
    bounds: &mut [f32; QUERIES],
    found: &mut Found<'_>,
) {
    scan_with::<true>(tile, panels, starts, bounds, found);
}

/// `Σ(x_j − y_j)²` in double precision, in a fixed order of eight partial sums: every build gives the same
/// bits, for none fuses multiplication and addition.
pub(crate) fn squared_distance(x: &[f64], y: &[f64]) -> f64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature the function is compiled for.
        return unsafe { squared_distance_avx2(x, y) };
    }
    squared_distance_with(x, y)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn squared_distance_avx2(x: &[f64], y: &[f64]) -> f64 {
    squared_distance_with(x, y)
}

#[inline(always)]
#[allow(clippy::inline_always)]
fn squared_distance_with(x: &[f64], y: &[f64]) -> f64 {
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<8>(), y.as_chunks::<8>());
    let mut sums = [0f64; 8];
    for (x, y) in x.iter().zip(y) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += (x - y) * (x - y);
        }
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| (x - y) * (x - y)).sum();
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7])) + rest
}

#[inline(always)]
#[allow(clippy::inline_always)] // inlined, it takes on the instructions of its caller
fn scan_with<const FUSED: bool>(
    tile: &[f32],
    panels: &[f32],
    starts: &[f32],
    bounds: &mut [f32; QUERIES],
    found: &mut Found<'_>,
) {
    let tile = tile.as_chunks::<QUERIES>().0;
    let starts = starts.as_chunks::<ROWS>().0;
    for (panel, (rows, start)) in panels.chunks_exact(tile.len() * ROWS).zip(starts).enumerate() {
        let scores = score::<FUSED>(tile, rows.as_chunks::<ROWS>().0, start);
        if reaches(&scores, bounds) {
            found(panel, &scores, bounds);
        }
    }
}

#[inline(always)]
#[allow(clippy::inline_always)]
fn score<const FUSED: bool>(tile: &[[f32; QUERIES]], rows: &[[f32; ROWS]], start: &[f32; ROWS]) -> Scores {
    let (tile, more) = tile.split_at(tile.len().min(PIECE));
    let (rows, more_rows) = rows.split_at(tile.len());
    let mut scores = [*start; QUERIES];
    accumulate::<FUSED>(&mut scores, tile, rows);
    for (tile, rows) in more.chunks(PIECE).zip(more_rows.chunks(PIECE)) {
        let mut sums = [[0f32; ROWS]; QUERIES];
        accumulate::<FUSED>(&mut sums, tile, rows);
        for (scores, sums) in scores.iter_mut().zip(&sums) {
            scores.iter_mut().zip(sums).for_each(|(score, sum)| *score += sum);
        }
    }
    scores
}

#[inline(always)]
#[allow(clippy::inline_always)]
fn accumulate<const FUSED: bool>(sums: &mut Scores, tile: &[[f32; QUERIES]], rows: &[[f32; ROWS]]) {
    let mut kept = *sums;
    for (x, y) in tile.iter().zip(rows) {
        for (sums, &x) in kept.iter_mut().zip(x) {
            for (sum, &y) in sums.iter_mut().zip(y) {
                *sum = if FUSED { x.mul_add(y, *sum) } else { *sum + x * y };
            }
        }
    }
    *sums = kept;
}

#[inline(always)]
#[allow(clippy::inline_always)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn every_build_computes_the_plain_formula() {
        let mut random = Random::new(0, 0);
        let mut numbers = |n: usize| (0..n).map(|_| random.uniform() as f32 - 0.5).collect::<Vec<f32>>();
        for d in [1, 2, 7, 64, 129] {
            let (tile, panels, starts) = (numbers(d * QUERIES), numbers(3 * d * ROWS), numbers(3 * ROWS));
            let mut checked = 0;
            let mut check = |panel: usize, scores: &Scores, _: &mut [f32; QUERIES]| {
                for (q, r) in (0..QUERIES).flat_map(|q| (0..ROWS).map(move |r| (q, r))) {
                    let product = |j: usize| {
                        f64::from(tile[j * QUERIES + q]) * f64::from(panels[(panel * d + j) * ROWS + r])
                    };
                    let exact = f64::from(starts[panel * ROWS + r]) + (0..d).map(product).sum::<f64>();
                    // d roundings of numbers below d/4 + 1/2.
                    let tolerance = (d as f64 + 1.0).powi(2) * f64::from(f32::EPSILON);
                    assert!((f64::from(scores[q][r]) - exact).abs() <= tolerance, "{d} {panel} {q} {r}");
                    checked += 1;
                }
            };
            scan(&tile, &panels, &starts, &mut [f32::MIN; QUERIES], &mut check);
            scan_with::<false>(&tile, &panels, &starts, &mut [f32::MIN; QUERIES], &mut check);
            assert_eq!(checked, 2 * 3 * QUERIES * ROWS);
        }
    }

    #[test]
    fn every_build_of_the_distance_gives_the_same_bits() {
        let mut random = Random::new(1, 0);
        let mut numbers = |n: usize| (0..n).map(|_| random.uniform() - 0.5).collect::<Vec<f64>>();
        for d in [0, 1, 7, 8, 9, 64, 131] {
            let (x, y) = (numbers(d), numbers(d));
            assert_eq!(squared_distance(&x, &y).to_bits(), squared_distance_with(&x, &y).to_bits());
            let plain: f64 = x.iter().zip(&y).map(|(x, y)| (x - y).powi(2)).sum();
            assert!((squared_distance(&x, &y) - plain).abs() <= d as f64 * f64::EPSILON * plain);
        }
    }

    #[test]
    fn panels_below_every_bound_are_passed_over() {
        let mut told = Vec::new();
        let mut bounds = [2.0, 9.0, 9.0, 9.0, 9.0, 9.0];
        let mut starts = [0.0; 3 * ROWS];
        starts[ROWS + 3] = 2.0;
        scan(&[0.0; QUERIES], &[0.0; 3 * ROWS], &starts, &mut bounds, &mut |panel, _, _| told.push(panel));
        assert_eq!(told, [1]);
    }
}
