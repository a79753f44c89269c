//! Rows as the kernel of the neighbour search reads them: centred, scaled, in few bits, a panel of rows at a time with
//! each feature's values together; and how far scores computed from them can be off.
#![allow(clippy::inline_always, reason = "inlined, a loop takes on the instructions of its caller")]

use crate::knn::distance::squared_distance;
use crate::knn::scan::{Number, PIECE, QUERIES, ROWS};
use crate::rows::RowsRef;
use crate::simd::{Work, is_wide, run};

/// What rounding to these numbers costs.
pub trait Rounding: Number {
    /// What a query of this norm is multiplied by, where rows are multiplied by `unit`.
    fn query_unit(unit: f64, norm: f64) -> f64;

    /// A bound on `|computed score − true score|`, in the unit of the rows, for a query of this norm in that unit, with this
    /// factor of its scores, and rows no longer than `longest`.
    fn score_error(d: usize, query_norm: f64, factor: f64, longest: f64) -> f64;
}

/// Rows in panels.
#[derive(Debug, Clone)]
pub struct Panels<N> {
    /// What rows are multiplied by.
    unit: f64,
    /// All panels and their starts; where they would take too much memory, they are made anew for each block of queries.
    kept: Option<(Vec<N>, Vec<f32>)>,
    /// The length of the longest row, in the unit.
    longest: f64,
}

/// Queries as the kernel reads them.
pub struct Tiles<N> {
    /// The quantised queries.
    pub values: Vec<N>,
    /// What brings a query's scores into the unit of the rows.
    pub factors: Vec<[f32; QUERIES]>,
    /// How far each query's scores may be off.
    pub errors: Vec<f32>,
}

impl<N: Rounding> Panels<N> {
    /// Rows of at most this length from the centre, times the unit; kept if they take no more than so many bytes.
    pub fn new(rows: RowsRef<'_>, centre: &[f64], longest: f64, unit: f64, most: usize) -> Self {
        let numbers = rows.len().next_multiple_of(ROWS) * padded::<N>(centre.len());
        let mut panels = Self { unit, kept: None, longest: longest * unit };
        if numbers * size_of::<N>() <= most {
            let mut kept =
                (Vec::with_capacity(numbers), Vec::with_capacity(rows.len().next_multiple_of(ROWS)));
            panels.blocks(rows, centre, |_, block, starts| {
                kept.0.extend_from_slice(block);
                kept.1.extend_from_slice(starts);
                true
            });
            panels.kept = Some(kept);
        }
        panels
    }

    /// Whether the panels need not be made again.
    pub fn are_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Queries of these norms in tiles.
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

    /// All panels and their starts, if they are kept.
    pub fn kept(&self) -> Option<(&[N], &[f32])> {
        self.kept.as_ref().map(|(panels, starts)| (panels.as_slice(), starts.as_slice()))
    }

    /// Calls `meet` with blocks of panels, each small enough to stay in the cache while many queries meet it: the first
    /// row, the panels, and their starts: `−½‖y‖²` of each row, −∞ for those that fill the last panel. Stops where the
    /// answer is no, and returns the last answer.
    pub fn blocks(
        &self,
        rows: RowsRef<'_>,
        centre: &[f64],
        mut meet: impl FnMut(usize, &[N], &[f32]) -> bool,
    ) -> bool {
        let d = padded::<N>(centre.len());
        let step = rows_together(d);
        let mut block = Vec::new();
        (0..rows.len()).step_by(step).all(|first| {
            if let Some((kept, starts)) = &self.kept {
                let starts = &starts[first..starts.len().min(first + step)];
                return meet(first, &kept[first * d..][..starts.len() * d], starts);
            }
            self.pack(rows, centre, first, &mut block);
            meet(first, &block, &starts(&block, d, rows.len() - first))
        })
    }

    /// A block of panels from row `first` on.
    fn pack(&self, rows: RowsRef<'_>, centre: &[f64], first: usize, block: &mut Vec<N>) {
        let d = centre.len();
        let most = rows_together(padded::<N>(d));
        let rows: Vec<&[f64]> = rows.values()[first * d..].chunks_exact(d).take(most).collect();
        pack_into::<N, ROWS>(&rows, centre, &vec![self.unit; rows.len()], block);
    }
}

/// Rows, centred and each times its unit, `WIDTH` at a time with each feature's values together; the last group is filled up
/// with zeros.
pub fn pack<N: Number, const WIDTH: usize>(rows: &[&[f64]], centre: &[f64], units: &[f64]) -> Vec<N> {
    let mut packed = Vec::new();
    pack_into::<N, WIDTH>(rows, centre, units, &mut packed);
    packed
}

/// The longest row and the longest query in 16-bit integers: sums of products then stay below 2³¹.
const LONGEST: f64 = 32_000.0;

/// What brings rows of this length into 16-bit integers; nothing if integers do not suit. Where there is an instruction for
/// the products, they have half again the speed of single precision.
pub fn integer_unit(longest: f64) -> Option<f64> {
    (is_wide() && longest > 1e-250 && longest < 1e250).then(|| LONGEST / longest)
}

/// What rows are multiplied by in single precision: a power of two that brings rows of this length below 1; 1 if there is none.
pub fn single_unit(longest: f64) -> f64 {
    if longest > 0.0 && longest.is_finite() {
        // Clamped: beside subnormal rows the power itself would overflow.
        2f64.powi((-(longest.log2().floor() as i32) - 1).min(1000))
    } else {
        1.0
    }
}

/// A centre: the mean of a thousand rows or so. Divided first, for a sum of rows near 1e308 would overflow.
pub fn centre(rows: RowsRef<'_>) -> Vec<f64> {
    let looked_at = || rows.values().chunks_exact(rows.columns()).step_by(rows.len().div_ceil(1024));
    let share = 1.0 / looked_at().len() as f64;
    let mut centre = vec![0.0; rows.columns()];
    for row in looked_at() {
        centre.iter_mut().zip(row).for_each(|(m, x)| *m += x * share);
    }
    centre
}

/// The length of a row from the centre on.
pub fn centred_norm(row: &[f64], centre: &[f64]) -> f64 {
    let squares = squared_distance(row, centre);
    if squares > 1e-280 && squares < 1e300 {
        return squares.sqrt();
    }
    // The squares left the range: once more, relative to the largest difference.
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

    /// Roundings of 2⁻²⁴ each, relative to `‖x‖‖y‖ + ½‖y‖²`: of the values, of chains of at most a piece and of the pieces.
    /// The factor covers higher orders, the last term products below the range of single precision. Beyond 1e15 the
    /// product itself may overflow.
    fn score_error(d: usize, query_norm: f64, _: f64, longest: f64) -> f64 {
        let roundings = (d.min(PIECE) + d.div_ceil(PIECE) + 6) as f64;
        let relative = 1.01 * roundings * 2f64.powi(-24);
        let error = relative * (query_norm * longest + 0.5 * longest * longest) + d as f64 * 2f64.powi(-120);
        if query_norm < 1e15 { error } else { f64::INFINITY }
    }
}

impl Rounding for i16 {
    fn query_unit(unit: f64, norm: f64) -> f64 {
        let own = LONGEST / norm;
        if own.is_normal() { own } else { unit }
    }

    /// Rounding to integers moves a row, and a query in its own unit, by no more than h = ½√d. Then
    /// `x̂·ŷ − ½‖ŷ‖² − (x·y − ½‖y‖²) = δx·ŷ + (x − y)·δy − ½‖δy‖²`. Sums are exact; they are rounded when they become scores.
    fn score_error(d: usize, query_norm: f64, factor: f64, longest: f64) -> f64 {
        let h = 0.5 * (d as f64).sqrt() * (1.0 + 1e-6);
        let moved = factor * h * (longest + h) + h * (query_norm + longest + h);
        let largest = (query_norm + factor * h) * (longest + h) + 0.5 * (longest + h).powi(2);
        let rounded = (4 * d.div_ceil(PIECE) + 3) as f64 * 2f64.powi(-24) * largest;
        if query_norm < 1e15 { 1.01 * (moved + rounded) } else { f64::INFINITY }
    }
}

/// Features, and what fills the last of those that lie together.
fn padded<N: Number>(d: usize) -> usize {
    d.next_multiple_of(N::FEATURES)
}

/// The rows of a block.
fn rows_together(d: usize) -> usize {
    (32_768 / (d * ROWS)).max(1) * ROWS
}

/// `−½‖y‖²` of each packed row; −∞ for those that fill the last panel, after `n` rows.
pub fn starts<N: Number>(panels: &[N], d: usize, n: usize) -> Vec<f32> {
    let mut starts = Vec::with_capacity(panels.len() / d);
    for panel in panels.chunks_exact(d * ROWS) {
        let mut squares = [0.0f64; ROWS];
        for values in panel.chunks_exact(N::FEATURES * ROWS) {
            for (sum, y) in squares.iter_mut().zip(values.chunks_exact(N::FEATURES)) {
                *sum += y.iter().map(|&y| y.into() * y.into()).sum::<f64>();
            }
        }
        starts.extend(squares.map(|square| (-0.5 * square) as f32));
    }
    starts.iter_mut().skip(n).for_each(|start| *start = f32::NEG_INFINITY);
    starts
}

/// [`pack`], in memory that may have been used before.
fn pack_into<N: Number, const WIDTH: usize>(
    rows: &[&[f64]],
    centre: &[f64],
    units: &[f64],
    packed: &mut Vec<N>,
) {
    packed.clear();
    packed.resize(rows.len().div_ceil(WIDTH) * padded::<N>(centre.len()) * WIDTH, N::default());
    run(Pack::<N, WIDTH> { rows, centre, units, packed });
}

/// Features that change sides together.
const TURNED: usize = 32;

struct Pack<'a, N, const WIDTH: usize> {
    rows: &'a [&'a [f64]],
    centre: &'a [f64],
    units: &'a [f64],
    packed: &'a mut [N],
}

impl<N: Number, const WIDTH: usize> Work for Pack<'_, N, WIDTH> {
    type Output = ();

    #[inline(always)]
    fn call<const FUSED: bool>(self) {
        let groups = self.packed.chunks_exact_mut(padded::<N>(self.centre.len()) * WIDTH);
        let rows = self.rows.chunks(WIDTH).zip(self.units.chunks(WIDTH));
        for ((rows, units), group) in rows.zip(groups) {
            let pieces = self.centre.chunks(TURNED).zip(group.chunks_mut(TURNED * WIDTH));
            for (first, (centre, group)) in (0..).step_by(TURNED).zip(pieces) {
                for (place, (row, unit)) in rows.iter().zip(units).enumerate() {
                    let mut numbers = [N::default(); TURNED];
                    for ((number, x), c) in numbers.iter_mut().zip(&row[first..]).zip(centre) {
                        *number = N::of((x - c) * unit);
                    }
                    let places = group.chunks_exact_mut(N::FEATURES * WIDTH);
                    for (to, from) in places.zip(numbers.chunks_exact(N::FEATURES)) {
                        to[place * N::FEATURES..][..N::FEATURES].copy_from_slice(from);
                    }
                }
            }
        }
    }
}
