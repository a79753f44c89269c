//! Scatter of all pairs of labelled rows, from class moments, without listing pairs.
//!
//! # Formula
//! ```text
//! S = Σ_c w_c M_c,     D = Σ_c (w − w_c) M_c + w Σ_c w_c (m_c − m)(m_c − m)ᵀ
//! ```
//! with `w_c`, `m_c`, `M_c` the weight, mean and centred scatter of class c, and `w`, `m` those of all rows.

use crate::data::{Dataset, Labels};
use crate::error::{Error, Result};
use crate::scatter::class_moments::ClassMoments;
use crate::scatter::column_scaling::{Units, column_peaks};
use crate::scatter::moments::{Moments, first_not_finite};
use crate::scatter::totals::{PairSum, Totals};
use crate::scatter::{PairCount, Scatter};
use faer::{MatRef, Par};
use mahala_kernels::blas::syrk::{BLOCK, Block};
use mahala_kernels::parallel::parallelism;
use mahala_kernels::scaling::times_power_of_two;
use mahala_kernels::view::{column, column_mut};
use rayon::prelude::*;
use std::ops::Range;

/// Both sums within classes, and what the sums between them need.
pub(crate) struct AllPairs {
    /// `Σ_c w_c M_c` and `Σ_c (w − w_c) M_c`.
    pub(crate) within: Totals,
    pub(crate) w: f64,
    /// Rows, weight and mean of each class.
    pub(crate) classes: Vec<(u64, f64, Vec<f64>)>,
    pub(crate) units: Vec<i32>,
}

/// The sums over a run of rows.
struct Pooled {
    /// `Σ_c n_c M_c`, with `n_c` the rows of the whole class and `M_c` the scatter of those in the run; and `Σ_c M_c` in
    /// place of `D`, until all runs are merged.
    totals: Totals,
    /// The rows of each class in the run, and their mean; largest class first.
    classes: Vec<(u64, Vec<f64>)>,
}

/// The class of each row as a position in descending order of class size, and the size of each.
struct Order<'a> {
    codes: &'a [u32],
    places: Vec<usize>,
    sizes: Vec<f64>,
}

/// The least number of rows in a run.
const RUN: usize = 16 * BLOCK;

impl Scatter {
    /// All pairs at once, in `O(c·d²)` from the moments.
    ///
    /// # Errors
    /// One class only, or no class with two rows.
    pub fn all_pairs(moments: &Moments) -> Result<Self> {
        Ok(AllPairs::of_moments(moments)?.finish()?.0)
    }

    /// All pairs of labelled rows, and the rows' mean: one pass, two matrices whatever the number of
    /// classes.
    ///
    /// # Formula
    /// With the classes in descending order of size, and `P_c` the scatter within the first c of them,
    /// ```text
    /// S = Σ_c (w_c − w_{c+1}) P_c,     D = w P − S + w Σ_c w_c (m_c − m)(m_c − m)ᵀ
    /// ```
    /// so that only where sizes differ is there anything to add.
    ///
    /// # Errors
    /// One class only, or no class with two rows.
    pub fn all_pairs_of(data: &Dataset) -> Result<(Self, Vec<f64>)> {
        Self::all_pairs_of_rows(data.rows().as_mat(), data.labels())
    }

    /// All pairs of labelled rows, and the rows' mean, for a matrix of any layout whose cells 64-bit floats
    /// represent exactly (`f64`, `f32`, integers): they are converted a block at a time, and all sums are in
    /// double precision.
    ///
    /// ```
    /// use mahala::{Labels, Mat};
    /// use mahala::scatter::Scatter;
    /// let rows = Mat::from_fn(4, 1, |i, _| [0.0f32, 1.0, 5.0, 6.0][i]);
    /// let (scatter, mean) = Scatter::all_pairs_of_rows(rows.as_ref(), &Labels::new(["a", "a", "b", "b"]))?;
    /// assert_eq!((scatter.s()[(0, 0)], mean[0]), (2.0, 3.0));
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// One class only, or no class with two rows; another number of labels than of rows, or a cell that is not
    /// finite.
    pub fn all_pairs_of_rows<T: Copy + Into<f64> + Sync>(
        rows: MatRef<'_, T>,
        labels: &Labels,
    ) -> Result<(Self, Vec<f64>)> {
        AllPairs::of_rows(rows, labels)?.finish()
    }
}

impl AllPairs {
    /// From the moments of the classes.
    pub(crate) fn of_moments(moments: &Moments) -> Result<Self> {
        let classes: Vec<&ClassMoments> = moments.classes().iter().filter(|class| class.rows() > 0).collect();
        check(classes.iter().map(|class| (class.name(), class.rows())))?;
        let w = classes.iter().map(|class| class.weight()).sum();
        let mut within = Totals::new(moments.columns());
        classes.chunks(4).for_each(|classes| add_within(&mut within, w, classes));
        let classes = classes.iter().map(|class| (class.rows(), class.weight(), class.mean().to_vec()));
        Ok(Self { within, w, classes: classes.collect(), units: moments.units().to_vec() })
    }

    /// From labelled rows, in one pass.
    pub(crate) fn of_rows<T: Copy + Into<f64> + Sync>(rows: MatRef<'_, T>, labels: &Labels) -> Result<Self> {
        let (n, columns) = rows.shape();
        if labels.len() != n {
            return Err(Error::Length { what: "labels", seen: labels.len(), expected: n });
        }
        check_labels(labels)?;
        let order = Order::of(labels);
        if 1000.0 * order.sizes[0] > 999.0 * n as f64 {
            // Nearly all rows are of one class: w P − S would cancel.
            let mut moments = Moments::new(columns)?;
            moments.update(rows, labels, None)?;
            return Self::of_moments(&moments);
        }
        // Columns of extreme scale are rare: all cells are inspected only if the sums indicate one.
        let mut units = Units::new(columns);
        let mut pooled = Pooled::of(rows, &order, &units);
        if !pooled.surely_in_range() {
            let peaks = column_peaks(rows);
            if peaks.iter().any(|peak| !peak.is_finite()) {
                return Err(first_not_finite(rows));
            }
            units = Units::from_peaks(peaks);
            if !units.are_plain() {
                pooled = Pooled::of(rows, &order, &units);
            }
        }
        Ok(pooled.finish(n as f64, &units))
    }

    /// Both sums with the part between classes, and the rows' mean.
    fn finish(self) -> Result<(Scatter, Vec<f64>)> {
        let classes: Vec<(u64, f64, &[f64])> =
            self.classes.iter().map(|(rows, weight, mean)| (*rows, *weight, &mean[..])).collect();
        pairs_between(self.within, self.w, &classes, &self.units)
    }
}

impl<'a> Order<'a> {
    /// Drops classes that have no row.
    fn of(labels: &'a Labels) -> Self {
        let sizes = labels.class_sizes();
        let mut order: Vec<usize> = (0..sizes.len()).filter(|&code| sizes[code] > 0).collect();
        order.sort_by_key(|&code| std::cmp::Reverse(sizes[code]));
        let mut places = vec![0; sizes.len()];
        order.iter().enumerate().for_each(|(place, &code)| places[code] = place);
        let sizes = order.into_iter().map(|code| sizes[code] as f64).collect();
        Self { codes: labels.codes(), places, sizes }
    }

    /// The number of rows summed before their sum is merged. Their class means take no more than one matrix `d ×
    /// d`; merging many classes of a few rows each would take longer than summing the rows.
    fn length_of_run(&self, columns: usize) -> usize {
        let classes = self.sizes.len();
        RUN.max(2 * columns * columns).max(256 * classes).min(u32::MAX as usize)
    }

    /// The rows of each class among those of a run, counted from its first.
    fn members(&self, run: Range<usize>) -> Vec<Vec<u32>> {
        let places = || self.codes[run.clone()].iter().map(|&code| self.places[code as usize]);
        let mut counts = vec![0; self.sizes.len()];
        places().for_each(|place| counts[place] += 1);
        let mut members: Vec<Vec<u32>> = counts.into_iter().map(Vec::with_capacity).collect();
        (0..).zip(places()).for_each(|(i, place)| members[place].push(i));
        members
    }
}

impl Pooled {
    fn of<T: Copy + Into<f64> + Sync>(rows: MatRef<'_, T>, order: &Order<'_>, units: &Units) -> Self {
        let (n, d) = rows.shape();
        let par = parallelism(d);
        // The division into runs depends on the shape alone, so no bit depends on the number of threads.
        let length = order.length_of_run(d);
        let firsts: Vec<usize> = (0..n).step_by(length).collect();
        let run = |&first: &usize| Self::of_run(rows, first..(first + length).min(n), order, units, par);
        // Wide rows are parallel within the product. For narrow ones a few runs at a time are summed in
        // parallel, to bound the memory; they are merged in order.
        let threads = rayon::current_num_threads();
        let shared = threads > 1 && matches!(par, Par::Seq) && n * d * d >= 50_000_000;
        let at_once = if shared { threads * (RUN / (d * d)).clamp(2, 32) } else { 1 };
        let parts = firsts.chunks(at_once).flat_map(|firsts| match firsts {
            // A single run is summed on the calling thread.
            [first] => vec![run(first)],
            _ => firsts.par_iter().map(run).collect(),
        });
        parts.reduce(|sum, part| sum.merged(part, &order.sizes)).expect("there are rows")
    }

    fn of_run<T: Copy + Into<f64>>(
        rows: MatRef<'_, T>,
        run: Range<usize>,
        order: &Order<'_>,
        units: &Units,
        par: Par,
    ) -> Self {
        let d = rows.ncols();
        let (mut s, mut classes) = (PairSum::new(d), vec![(0, Vec::new()); order.sizes.len()]);
        let (mut pooled, mut block) = (ClassMoments::new("", d), Block::new(d, run.len()));
        let members = order.members(run.clone());
        let present: Vec<usize> = (0..members.len()).filter(|&class| !members[class].is_empty()).collect();
        for (k, &class) in present.iter().enumerate() {
            pooled.begin_class();
            for members in members[class].chunks(BLOCK) {
                let indices: Vec<usize> = members.iter().map(|&i| run.start + i as usize).collect();
                pooled.absorb(&mut block, rows, &indices, units, None, par);
            }
            classes[class] = (pooled.rows, pooled.mean.clone());
            let next = present.get(k + 1).map_or(0.0, |&next| order.sizes[next]);
            s.add(order.sizes[class] - next, pooled.scatter());
        }
        let d = PairSum { matrix: pooled.scatter, count: PairCount::default() };
        Self { totals: Totals { s, d }, classes }
    }

    /// Merges another run. A class in both adds one more row: the step between the two means (see
    /// [`ClassMoments::absorb`]).
    fn merged(mut self, other: Self, sizes: &[f64]) -> Self {
        self.totals.merge(&other.totals);
        let Totals { s, d: p } = &mut self.totals;
        let (mut of_s, mut of_p) = (s.outer_products(sizes.len()), p.outer_products(sizes.len()));
        for ((mine, theirs), size) in self.classes.iter_mut().zip(other.classes).zip(sizes) {
            if mine.0 == 0 || theirs.0 == 0 {
                *mine = if mine.0 == 0 { theirs } else { std::mem::take(mine) };
                continue;
            }
            let (a, b) = (mine.0 as f64, theirs.0 as f64);
            let between: Vec<f64> = theirs.1.iter().zip(&mine.1).map(|(b, a)| b - a).collect();
            let root = (a * b / (a + b)).sqrt();
            of_p.push(between.iter().map(|x| root * x));
            of_s.push(between.iter().map(|x| size.sqrt() * root * x));
            mine.0 += theirs.0;
            mine.1.iter_mut().zip(&between).for_each(|(mean, x)| *mean += b / (a + b) * x);
        }
        drop((of_s, of_p));
        self
    }

    /// Both sums within classes: `D = w Σ_c M_c − S`.
    fn finish(self, w: f64, units: &Units) -> AllPairs {
        let mut within = self.totals;
        let Totals { s, d } = &mut within;
        for j in 0..units.exponents().len() {
            let d = &mut column_mut(d.matrix.as_mut(), j)[j..];
            d.iter_mut().zip(&column(s.matrix.as_ref(), j)[j..]).for_each(|(d, s)| *d = w * *d - s);
        }
        let classes = self.classes.into_iter().map(|(rows, mean)| (rows, rows as f64, mean)).collect();
        AllPairs { within, w, classes, units: units.exponents().to_vec() }
    }

    /// Whether the largest value of each column is between 2^-200 and 2^200: it is at most
    /// `|m| + √P_jj`, and at least 2^-40 of that for any number of rows.
    fn surely_in_range(&self) -> bool {
        let p = &self.totals.d.matrix;
        (0..p.ncols()).all(|j| {
            let mean = self.classes.iter().fold(0.0, |m: f64, (_, mean)| m.max(mean[j].abs()));
            (2f64.powi(-160)..2f64.powi(200)).contains(&(mean + p[(j, j)].sqrt()))
        })
    }
}

/// Adds `w_c M_c` and `(w − w_c) M_c` for classes in order; the result does not depend on how they are divided into calls.
fn add_within(within: &mut Totals, w: f64, classes: &[&ClassMoments]) {
    let n = within.s.matrix.nrows();
    for j in 0..n {
        let s = column_mut(within.s.matrix.as_mut(), j);
        let d = column_mut(within.d.matrix.as_mut(), j);
        let columns: Vec<(f64, f64, &[f64])> = classes
            .iter()
            .map(|class| (class.weight(), w - class.weight(), column(class.scatter(), j)))
            .collect();
        for i in j..n {
            for (w_c, rest, m) in &columns {
                s[i] += w_c * m[i];
                d[i] += rest * m[i];
            }
        }
    }
}

/// Adds the scatter between class means to the sums within classes: one row of a SYRK for each class, given as
/// rows, weight and mean.
pub(crate) fn pairs_between(
    mut within: Totals,
    w: f64,
    classes: &[(u64, f64, &[f64])],
    units: &[i32],
) -> Result<(Scatter, Vec<f64>)> {
    let m = mean_of(classes, w);
    let mut products = within.d.outer_products(classes.len());
    for (_, w_c, m_c) in classes {
        let root = (w * w_c).sqrt();
        products.push(m_c.iter().zip(&m).map(|(m_c, m)| root * (m_c - m)));
    }
    drop(products);
    let counts: Vec<(u64, f64)> = classes.iter().map(|(rows, weight, _)| (*rows, *weight)).collect();
    let mean = m.iter().zip(units).map(|(m, &unit)| times_power_of_two(*m, unit)).collect();
    let samples = degrees_of_freedom(classes.iter().map(|class| class.0));
    Ok((within.with_counts(count_pairs(&counts)).finish(units.to_vec(), samples)?, mean))
}

/// Degrees of freedom within classes of so many rows: rows minus classes.
pub(crate) fn degrees_of_freedom(rows: impl Iterator<Item = u64>) -> f64 {
    rows.map(|rows| rows.saturating_sub(1)).sum::<u64>() as f64
}

/// The mean of all rows, around that of one class: exact for constant columns.
fn mean_of(classes: &[(u64, f64, &[f64])], w: f64) -> Vec<f64> {
    let counted = classes.iter().position(|class| class.1 > 0.0).unwrap_or(0);
    let pivot = classes[counted].2;
    let offset = |j: usize| classes.iter().map(|(_, w_c, m_c)| w_c * (m_c[j] - pivot[j])).sum::<f64>();
    (0..pivot.len()).map(|j| pivot[j] + offset(j) / w).collect()
}

/// Checks that labelled rows have a similar and a dissimilar pair.
///
/// # Errors
/// One class only, or no class with two rows.
pub fn check_labels(labels: &Labels) -> Result<()> {
    let sizes = labels.class_sizes();
    let named = labels.names().iter().zip(sizes).filter(|(_, size)| *size > 0);
    check(named.map(|(name, size)| (name.as_str(), size as u64)))
}

/// Checks that there are two classes, one of them of two rows.
pub(crate) fn check<'a>(classes: impl Iterator<Item = (&'a str, u64)>) -> Result<()> {
    let classes: Vec<(&str, u64)> = classes.collect();
    if classes.len() < 2 {
        let class = classes.first().map_or("", |class| class.0).to_owned();
        return Err(Error::OneClass { class, rows: classes.iter().map(|class| class.1 as usize).sum() });
    }
    if classes.iter().all(|class| class.1 < 2) {
        return Err(Error::NoSimilarPair {
            reason: format!("each of the {} classes has one row", classes.len()),
        });
    }
    Ok(())
}

/// The numbers of similar and dissimilar pairs among all; no overflow up to 6·10⁹ rows.
pub(crate) fn count_pairs(classes: &[(u64, f64)]) -> [PairCount; 2] {
    let pairs_of = |n: u64| u128::from(n) * u128::from(n.saturating_sub(1)) / 2;
    let within: u128 = classes.iter().map(|class| pairs_of(class.0)).sum();
    let total = pairs_of(classes.iter().map(|class| class.0).sum());
    // Within a class the squares of single weights are not known: the plain count stands for Σ w_i w_j
    // when all weights are 1, and its bound w_c²/2 otherwise.
    let plain = classes.iter().all(|class| class.1 == class.0 as f64);
    let w: f64 = classes.iter().map(|class| class.1).sum();
    let squares: f64 = classes.iter().map(|class| class.1.powi(2)).sum();
    let within_weight = if plain { within as f64 } else { 0.5 * squares };
    let across = total - within;
    let across_weight = if plain { across as f64 } else { 0.5 * (w * w - squares) };
    [
        PairCount { pairs: u64::try_from(within).unwrap_or(u64::MAX), weight: within_weight },
        PairCount { pairs: u64::try_from(across).unwrap_or(u64::MAX), weight: across_weight },
    ]
}
