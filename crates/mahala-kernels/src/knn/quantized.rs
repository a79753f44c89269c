//! int16-quantised and single-precision rows, centred, scaled and packed into panels for the scan; and the bound on the error
//! of scores computed from them.
#![allow(clippy::inline_always, reason = "an inlined loop inherits the instruction set of its caller")]

use crate::knn::distance::squared_distance;
use crate::knn::scan::{KC, Number, QUERIES, ROWS};
use crate::rows::RowsRef;
use crate::simd::{Kernel, dispatch, has_avx2};

/// The rounding error of scores in a number type.
pub trait Rounding: Number {
    /// The scale of a query of this norm, where the scale of the rows is `unit`.
    fn query_unit(unit: f64, norm: f64) -> f64;

    /// A bound on `|computed score − true score|` in the scale of the rows, for a query of this norm in that scale, with this
    /// factor of its scores, and rows of norm at most `longest`.
    fn score_error(d: usize, query_norm: f64, factor: f64, longest: f64) -> f64;
}

/// Packed panels of rows.
#[derive(Debug, Clone)]
pub struct Panels<N> {
    /// The scale of the rows.
    unit: f64,
    /// All panels and their offsets; if they would take too much memory, they are packed anew for each block of queries.
    kept: Option<(Vec<N>, Vec<f32>)>,
    /// The largest norm of a row, scaled.
    longest: f64,
}

/// Packed tiles of queries.
pub struct Tiles<N> {
    /// The quantised queries.
    pub values: Vec<N>,
    /// The factor that brings each query's scores to the scale of the rows.
    pub factors: Vec<[f32; QUERIES]>,
    /// The bound on the error of each query's scores.
    pub errors: Vec<f32>,
}

impl<N: Rounding> Panels<N> {
    /// Packs rows with centred norm at most `longest`, scaled by `unit`; kept if they take at most `max_bytes`.
    pub fn new(rows: RowsRef<'_>, centre: &[f64], longest: f64, unit: f64, max_bytes: usize) -> Self {
        let numbers = rows.len().next_multiple_of(ROWS) * padded::<N>(centre.len());
        let mut panels = Self { unit, kept: None, longest: longest * unit };
        if numbers * size_of::<N>() <= max_bytes {
            let mut kept =
                (Vec::with_capacity(numbers), Vec::with_capacity(rows.len().next_multiple_of(ROWS)));
            panels.blocks(rows, centre, |_, block, offsets| {
                kept.0.extend_from_slice(block);
                kept.1.extend_from_slice(offsets);
                true
            });
            panels.kept = Some(kept);
        }
        panels
    }

    /// Whether all panels are kept in memory.
    pub fn are_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Packs queries of these norms into tiles.
    pub fn tiles(&self, queries: &[&[f64]], norms: &[f64], centre: &[f64]) -> Tiles<N> {
        let units: Vec<f64> = norms.iter().map(|&norm| N::query_unit(self.unit, norm)).collect();
        let mut factors = vec![[0.0; QUERIES]; queries.len().div_ceil(QUERIES)];
        let mut errors = Vec::with_capacity(queries.len());
        for ((norm, unit), to) in norms.iter().zip(&units).zip(factors.as_flattened_mut()) {
            *to = (self.unit / unit) as f32;
            let error = N::score_error(centre.len(), norm * self.unit, self.unit / unit, self.longest);
            errors.push(error as f32);
        }
        Tiles { values: pack::<N, QUERIES>(queries, centre, &units), factors, errors }
    }

    /// All panels and their offsets, if they are kept.
    pub fn kept(&self) -> Option<(&[N], &[f32])> {
        self.kept.as_ref().map(|(panels, offsets)| (panels.as_slice(), offsets.as_slice()))
    }

    /// Calls `visit` with blocks of panels, each small enough to stay in cache for many queries: the first row, the panels, and
    /// the offsets `−½‖y‖²` of their rows, −∞ for padding. Stops when `visit` returns false, and returns its last result.
    pub fn blocks(
        &self,
        rows: RowsRef<'_>,
        centre: &[f64],
        mut visit: impl FnMut(usize, &[N], &[f32]) -> bool,
    ) -> bool {
        let d = padded::<N>(centre.len());
        let step = rows_per_block(d);
        let mut block = Vec::new();
        (0..rows.len()).step_by(step).all(|first| {
            if let Some((kept, offsets)) = &self.kept {
                let offsets = &offsets[first..offsets.len().min(first + step)];
                return visit(first, &kept[first * d..][..offsets.len() * d], offsets);
            }
            self.pack(rows, centre, first, &mut block);
            visit(first, &block, &offsets(&block, d, rows.len() - first))
        })
    }

    /// Packs the block of panels from row `first` on.
    fn pack(&self, rows: RowsRef<'_>, centre: &[f64], first: usize, block: &mut Vec<N>) {
        let d = centre.len();
        let most = rows_per_block(padded::<N>(d));
        let rows: Vec<&[f64]> = rows.values()[first * d..].chunks_exact(d).take(most).collect();
        pack_into::<N, ROWS>(&rows, centre, &vec![self.unit; rows.len()], block);
    }
}

/// Packs rows, centred and each times its scale, into panels of `WIDTH` rows, feature-major; the last panel is padded with
/// zeros.
pub fn pack<N: Number, const WIDTH: usize>(rows: &[&[f64]], centre: &[f64], units: &[f64]) -> Vec<N> {
    let mut packed = Vec::new();
    pack_into::<N, WIDTH>(rows, centre, units, &mut packed);
    packed
}

/// The largest norm of a quantised row or query: dot products then stay below 2³¹.
const MAX_NORM: f64 = 32_000.0;

/// The int16 quantisation scale for rows of at most this norm; none without AVX2, whose `pmaddwd` makes int16 50 % faster than
/// single precision, or for extreme norms.
pub fn integer_unit(longest: f64) -> Option<f64> {
    (has_avx2() && longest > 1e-250 && longest < 1e250).then(|| MAX_NORM / longest)
}

/// The single-precision scale for rows of at most this norm: the power of two that brings them below 1; 1 for norm 0.
pub fn single_unit(longest: f64) -> f64 {
    if longest > 0.0 && longest.is_finite() {
        // Clamped: for subnormal rows the power itself would overflow.
        2f64.powi((-(longest.log2().floor() as i32) - 1).min(1000))
    } else {
        1.0
    }
}

/// The mean of some thousand rows, evenly spaced. Divided before summation: a sum of rows near 1e308 would overflow.
pub fn centre(rows: RowsRef<'_>) -> Vec<f64> {
    let sampled = || rows.values().chunks_exact(rows.columns()).step_by(rows.len().div_ceil(1024));
    let share = 1.0 / sampled().len() as f64;
    let mut centre = vec![0.0; rows.columns()];
    for row in sampled() {
        centre.iter_mut().zip(row).for_each(|(m, x)| *m += x * share);
    }
    centre
}

/// The norm of a centred row.
pub fn centred_norm(row: &[f64], centre: &[f64]) -> f64 {
    let squares = squared_distance(row, centre);
    if squares > 1e-280 && squares < 1e300 {
        return squares.sqrt();
    }
    // The squares overflowed or underflowed: scaled by the largest difference.
    let largest = row.iter().zip(centre).map(|(x, c)| (x - c).abs()).fold(0.0, f64::max);
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * row.iter().zip(centre).map(|(x, c)| ((x - c) / largest).powi(2)).sum::<f64>().sqrt()
}

impl Rounding for f32 {
    fn query_unit(unit: f64, _: f64) -> f64 {
        unit
    }

    /// Roundings of 2⁻²⁴ each, relative to `‖x‖‖y‖ + ½‖y‖²`: of the values, of sums of at most KC terms and of their sum. The
    /// factor 1.01 covers higher orders, the last term products that underflow. Beyond 1e15 the product itself may overflow.
    fn score_error(d: usize, query_norm: f64, _: f64, longest: f64) -> f64 {
        let roundings = (d.min(KC) + d.div_ceil(KC) + 6) as f64;
        let relative = 1.01 * roundings * 2f64.powi(-24);
        let error = relative * (query_norm * longest + 0.5 * longest * longest) + d as f64 * 2f64.powi(-120);
        if query_norm < 1e15 { error } else { f64::INFINITY }
    }
}

impl Rounding for i16 {
    fn query_unit(unit: f64, norm: f64) -> f64 {
        let own = MAX_NORM / norm;
        if own.is_normal() { own } else { unit }
    }

    /// Rounding to integers moves a row, and a query in its own scale, by no more than h = ½√d. Then
    /// `x̂·ŷ − ½‖ŷ‖² − (x·y − ½‖y‖²) = δx·ŷ + (x − y)·δy − ½‖δy‖²`. Sums are exact; they are rounded on conversion to scores.
    fn score_error(d: usize, query_norm: f64, factor: f64, longest: f64) -> f64 {
        let h = 0.5 * (d as f64).sqrt() * (1.0 + 1e-6);
        let moved = factor * h * (longest + h) + h * (query_norm + longest + h);
        let largest = (query_norm + factor * h) * (longest + h) + 0.5 * (longest + h).powi(2);
        let rounded = (4 * d.div_ceil(KC) + 3) as f64 * 2f64.powi(-24) * largest;
        if query_norm < 1e15 { 1.01 * (moved + rounded) } else { f64::INFINITY }
    }
}

/// The number of features, padded to a multiple of [`Number::FEATURES`].
fn padded<N: Number>(d: usize) -> usize {
    d.next_multiple_of(N::FEATURES)
}

/// The number of rows in a block of panels.
fn rows_per_block(d: usize) -> usize {
    (32_768 / (d * ROWS)).max(1) * ROWS
}

/// The offsets `−½‖y‖²` of packed rows; −∞ for padding, after `n` rows.
pub fn offsets<N: Number>(panels: &[N], d: usize, n: usize) -> Vec<f32> {
    let mut offsets = Vec::with_capacity(panels.len() / d);
    for panel in panels.chunks_exact(d * ROWS) {
        let mut squares = [0.0f64; ROWS];
        for values in panel.chunks_exact(N::FEATURES * ROWS) {
            for (sum, y) in squares.iter_mut().zip(values.chunks_exact(N::FEATURES)) {
                *sum += y.iter().map(|&y| y.into() * y.into()).sum::<f64>();
            }
        }
        offsets.extend(squares.map(|square| (-0.5 * square) as f32));
    }
    offsets.iter_mut().skip(n).for_each(|offset| *offset = f32::NEG_INFINITY);
    offsets
}

/// [`pack`] into a reused buffer.
fn pack_into<N: Number, const WIDTH: usize>(
    rows: &[&[f64]],
    centre: &[f64],
    units: &[f64],
    packed: &mut Vec<N>,
) {
    packed.clear();
    packed.resize(rows.len().div_ceil(WIDTH) * padded::<N>(centre.len()) * WIDTH, N::default());
    dispatch(Pack::<N, WIDTH> { rows, centre, units, packed });
}

/// Features transposed at a time.
const TILE: usize = 32;

struct Pack<'a, N, const WIDTH: usize> {
    rows: &'a [&'a [f64]],
    centre: &'a [f64],
    units: &'a [f64],
    packed: &'a mut [N],
}

impl<N: Number, const WIDTH: usize> Kernel for Pack<'_, N, WIDTH> {
    type Output = ();

    #[inline(always)]
    fn call<const FMA: bool>(self) {
        let panels = self.packed.chunks_exact_mut(padded::<N>(self.centre.len()) * WIDTH);
        let rows = self.rows.chunks(WIDTH).zip(self.units.chunks(WIDTH));
        for ((rows, units), panel) in rows.zip(panels) {
            let pieces = self.centre.chunks(TILE).zip(panel.chunks_mut(TILE * WIDTH));
            for (first, (centre, panel)) in (0..).step_by(TILE).zip(pieces) {
                for (place, (row, unit)) in rows.iter().zip(units).enumerate() {
                    let mut numbers = [N::default(); TILE];
                    for ((number, x), c) in numbers.iter_mut().zip(&row[first..]).zip(centre) {
                        *number = N::of((x - c) * unit);
                    }
                    let places = panel.chunks_exact_mut(N::FEATURES * WIDTH);
                    for (to, from) in places.zip(numbers.chunks_exact(N::FEATURES)) {
                        to[place * N::FEATURES..][..N::FEATURES].copy_from_slice(from);
                    }
                }
            }
        }
    }
}
