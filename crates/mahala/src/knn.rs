//! Exact k nearest neighbours, by blocks.
//!
//! Scores `x·y − ½‖y‖²` come from single precision over centred rows, a tile of queries against a panel of
//! rows at a time ([`crate::knn_kernel`]); only those that reach the bound of the k best so far are ever
//! stored. Every row within the rounding bound of the k-th best is then measured again in double precision
//! by the plain formula `Σ(x_j − y_j)²`. The answer is therefore the exact one, whatever the machine and the
//! number of threads: nearest first, equal distances to the earlier row.

use crate::dataset::{Labels, Rows};
use crate::error::{Error, Result};
use crate::knn_candidates::{Candidates, take};
use crate::knn_kernel::{QUERIES, ROWS, roundings, scan, squared_distance};
use rayon::prelude::*;

/// Rows to search among.
///
/// ```
/// use mahala::{Knn, Labels, Rows};
/// let knn = Knn::new(Rows::new(vec![0.0, 1.0, 10.0, 11.0], 1)?)?;
/// let found = knn.search(&Rows::new(vec![9.0], 1)?, 2)?;
/// assert_eq!(found.indices(0), [2, 3]);
/// assert_eq!(found.distances(0), [1.0, 2.0]);
/// let labels = Labels::new(["left", "left", "right", "right"]);
/// assert_eq!(found.vote(&labels), [1]); // "right"
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Knn {
    rows: Rows,
    /// Subtracted before the single-precision product: it loses digits far from the origin.
    centre: Vec<f64>,
    /// A power of two that brings the longest centred row below 1.
    unit: f64,
    /// Panels of rows in single precision, feature by feature; where they would take more than [`KEPT`], they are made
    /// anew for each block of queries, and a search needs no more memory than the rows.
    panels: Option<Vec<f32>>,
    /// `−½‖y‖²` of each row; −∞ for those that fill the last panel.
    starts: Vec<f32>,
    longest: f64,
}

/// The most numbers in single precision that are kept beside the rows: 64 MiB.
const KEPT: usize = 1 << 24;

/// The neighbours of each query: `k` indices and distances, nearest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbors {
    k: usize,
    indices: Vec<usize>,
    distances: Vec<f64>,
}

impl Knn {
    /// Prepares the rows.
    ///
    /// # Errors
    /// No row.
    pub fn new(rows: Rows) -> Result<Self> {
        Self::keeping(rows, KEPT)
    }

    /// With at most so many numbers in single precision beside the rows.
    fn keeping(rows: Rows, most: usize) -> Result<Self> {
        if rows.is_empty() {
            return Err(Error::Empty { what: "the table of rows to search" });
        }
        let centre = mean(&rows);
        let longest = (0..rows.len()).map(|i| centred_norm(rows.row(i), &centre)).fold(0.0, f64::max);
        let unit = unit_of(longest);
        let mut knn = Self { rows, centre, unit, panels: None, starts: Vec::new(), longest: longest * unit };
        let (n, d) = (knn.rows.len(), knn.rows.columns());
        let kept = n.next_multiple_of(ROWS) * d <= most;
        let step = if kept { n } else { knn.rows_together() };
        let mut panels = Vec::new();
        for first in (0..n).step_by(step) {
            knn.pack_rows(first, step, &mut panels);
            knn.starts.extend(starts(&panels, step.min(n - first), d));
        }
        knn.panels = kept.then_some(panels);
        Ok(knn)
    }

    /// The rows searched among.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The rows back.
    pub fn into_rows(self) -> Rows {
        self.rows
    }

    /// The `k` nearest rows of each query.
    ///
    /// # Errors
    /// `k` is 0 or above the number of rows, or queries with other columns.
    pub fn search(&self, queries: &Rows, k: usize) -> Result<Neighbors> {
        if queries.columns() != self.rows.columns() {
            let (seen, expected) = (queries.columns(), self.rows.columns());
            return Err(Error::Length { what: "columns of the queries", seen, expected });
        }
        if k == 0 || k > self.rows.len() {
            let allowed = "at least 1 and at most the number of rows searched";
            return Err(Error::Parameter { name: "k", value: k.to_string(), allowed });
        }
        let d = queries.columns();
        // As many queries as leave room for rows in the cache; more, if the rows are packed for each block of them.
        let (room, most) = if self.panels.is_some() { (32_768, 240) } else { (131_072, 960) };
        let share = queries.len().div_ceil(rayon::current_num_threads());
        let together = (room / d).min(share).clamp(4 * QUERIES, most).next_multiple_of(QUERIES);
        let found: Vec<Vec<(f64, usize)>> = queries
            .values()
            .par_chunks(together * d)
            .flat_map_iter(|block| self.search_block(&block.chunks_exact(d).collect::<Vec<_>>(), k))
            .collect();
        Ok(Neighbors::new(k, &found))
    }

    /// Block after block of rows, each small enough to stay in the cache while all queries meet it.
    fn search_block(&self, queries: &[&[f64]], k: usize) -> Vec<Vec<(f64, usize)>> {
        let d = self.rows.columns();
        let tiles = pack::<QUERIES>(queries, &self.centre, self.unit);
        let norm = |query: &&[f64]| centred_norm(query, &self.centre) * self.unit;
        let mut candidates: Vec<Candidates> =
            queries.iter().map(|query| Candidates::new(k, self.score_error(norm(query)))).collect();
        let step = self.rows_together();
        let mut packed = Vec::new();
        for (first, starts) in (0..).step_by(step).zip(self.starts.chunks(step)) {
            let rows = if let Some(panels) = &self.panels {
                &panels[first * d..][..starts.len() * d]
            } else {
                self.pack_rows(first, step, &mut packed);
                &packed[..]
            };
            for (tile, candidates) in tiles.chunks_exact(d * QUERIES).zip(candidates.chunks_mut(QUERIES)) {
                let mut bounds = [f32::INFINITY; QUERIES];
                bounds.iter_mut().zip(&*candidates).for_each(|(bound, c)| *bound = c.bound);
                scan(tile, rows, starts, &mut bounds, &mut |panel, scores, bounds| {
                    take(candidates, scores, first + panel * ROWS, bounds);
                });
            }
        }
        candidates
            .into_iter()
            .zip(queries)
            .map(|(candidates, query)| self.decide(candidates, query, k))
            .collect()
    }

    /// The rows of a block: panels that stay in the cache while all queries of a block meet them.
    fn rows_together(&self) -> usize {
        (32_768 / (self.rows.columns() * ROWS)).max(1) * ROWS
    }

    /// Panels of at most so many rows from `first` on.
    fn pack_rows(&self, first: usize, most: usize, packed: &mut Vec<f32>) {
        let d = self.rows.columns();
        let rows: Vec<&[f64]> = self.rows.values()[first * d..].chunks_exact(d).take(most).collect();
        pack_into::<ROWS>(&rows, &self.centre, self.unit, packed);
    }

    /// [`score_error`]; beyond 1e15 the product itself may overflow, and every row becomes a candidate.
    fn score_error(&self, query_norm: f64) -> f32 {
        let bound = score_error(self.rows.columns(), query_norm, self.longest);
        if query_norm < 1e15 { bound as f32 } else { f32::INFINITY }
    }

    /// Measures the candidates by the plain formula and keeps the `k` best, with their distances.
    fn decide(&self, candidates: Candidates, query: &[f64], k: usize) -> Vec<(f64, usize)> {
        let all = 0..self.rows.len();
        let indices: Vec<usize> =
            if candidates.error.is_finite() { candidates.into_indices() } else { all.collect() };
        let unit = self.measuring_unit(query);
        let mut measured: Vec<(f64, usize)> =
            indices.into_iter().map(|i| (squared_distance_in(unit, query, self.rows.row(i)), i)).collect();
        let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if measured.len() > k {
            measured.select_nth_unstable_by(k - 1, order);
            measured.truncate(k);
        }
        measured.sort_unstable_by(order);
        measured.iter_mut().for_each(|(distance, _)| *distance = distance.sqrt() / unit);
        measured
    }

    /// The power of two in which differences from this query are squared: 1 unless squares would leave
    /// the range of 64-bit numbers.
    fn measuring_unit(&self, query: &[f64]) -> f64 {
        let size = centred_norm(query, &self.centre).max(self.longest / self.unit);
        if size > 1e140 {
            2f64.powi(-600)
        } else if size < 1e-120 {
            2f64.powi(600)
        } else {
            1.0
        }
    }
}

impl Neighbors {
    /// From the distances and indices of each query, `k` of them, nearest first.
    pub(crate) fn new(k: usize, found: &[Vec<(f64, usize)>]) -> Self {
        let indices = found.iter().flatten().map(|&(_, i)| i).collect();
        let distances = found.iter().flatten().map(|&(distance, _)| distance).collect();
        Self { k, indices, distances }
    }

    /// How many neighbours each query has.
    pub fn k(&self) -> usize {
        self.k
    }

    /// The number of queries.
    pub fn len(&self) -> usize {
        self.indices.len() / self.k
    }

    /// Whether there is no query.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// The neighbours of one query, as row indices, nearest first.
    pub fn indices(&self, query: usize) -> &[usize] {
        &self.indices[query * self.k..(query + 1) * self.k]
    }

    /// Their distances.
    pub fn distances(&self, query: usize) -> &[f64] {
        &self.distances[query * self.k..(query + 1) * self.k]
    }

    /// How many neighbours of one query each class has.
    pub fn votes(&self, query: usize, labels: &Labels) -> Vec<usize> {
        let mut votes = vec![0; labels.class_count()];
        self.indices(query).iter().for_each(|&i| votes[labels.codes()[i] as usize] += 1);
        votes
    }

    /// The class of each query by majority; a tie goes to the first class in order.
    pub fn vote(&self, labels: &Labels) -> Vec<u32> {
        (0..self.len())
            .map(|query| {
                let votes = self.votes(query, labels);
                let most = votes.iter().copied().max().unwrap_or(0);
                votes.iter().position(|&v| v == most).unwrap_or(0) as u32
            })
            .collect()
    }
}

/// A bound on `|computed score − true score|` for a query of this norm and rows no longer than `longest`.
///
/// Roundings of 2⁻²⁴ each (see [`roundings`]), relative to `‖x‖‖y‖ + ½‖y‖²`; the factor covers higher
/// orders, the last term products below the range of single precision.
pub(crate) fn score_error(d: usize, query_norm: f64, longest: f64) -> f64 {
    let relative = 1.01 * roundings(d) * 2f64.powi(-24);
    relative * (query_norm * longest + 0.5 * longest * longest) + d as f64 * 2f64.powi(-120)
}

/// A power of two that brings rows of this length below 1; 1 if there is none.
pub(crate) fn unit_of(longest: f64) -> f64 {
    if longest > 0.0 && longest.is_finite() {
        // Clamped: beside subnormal rows the power itself would overflow.
        2f64.powi((-(longest.log2().floor() as i32) - 1).min(1000))
    } else {
        1.0
    }
}

/// Rows in single precision, centred and scaled, `WIDTH` at a time with each feature's values together;
/// the last group is filled up with zeros.
pub(crate) fn pack<const WIDTH: usize>(rows: &[&[f64]], centre: &[f64], unit: f64) -> Vec<f32> {
    let mut packed = Vec::new();
    pack_into::<WIDTH>(rows, centre, unit, &mut packed);
    packed
}

/// [`pack`], in memory that may have been used before.
fn pack_into<const WIDTH: usize>(rows: &[&[f64]], centre: &[f64], unit: f64, packed: &mut Vec<f32>) {
    let d = centre.len();
    packed.clear();
    packed.resize(rows.len().div_ceil(WIDTH) * d * WIDTH, 0.0);
    for (rows, group) in rows.chunks(WIDTH).zip(packed.chunks_exact_mut(d * WIDTH)) {
        for (j, (c, to)) in centre.iter().zip(group.as_chunks_mut::<WIDTH>().0).enumerate() {
            to.iter_mut().zip(rows).for_each(|(to, row)| *to = ((row[j] - c) * unit) as f32);
        }
    }
}

/// `−½‖y‖²` of each packed row; −∞ for the zeros that fill the last panel.
pub(crate) fn starts(panels: &[f32], n: usize, d: usize) -> Vec<f32> {
    let mut starts = Vec::with_capacity(n.next_multiple_of(ROWS));
    for panel in panels.chunks_exact(d * ROWS) {
        let mut squares = [0.0f64; ROWS];
        for values in panel.as_chunks::<ROWS>().0 {
            squares.iter_mut().zip(values).for_each(|(sum, &y)| *sum += f64::from(y) * f64::from(y));
        }
        starts.extend(squares.map(|square| (-0.5 * square) as f32));
    }
    starts[n..].fill(f32::NEG_INFINITY);
    starts
}

/// The mean of the rows; divided first, for a sum of rows near 1e308 would overflow.
fn mean(rows: &Rows) -> Vec<f64> {
    let share = 1.0 / rows.len() as f64;
    let mut mean = vec![0.0; rows.columns()];
    for row in rows.values().chunks_exact(rows.columns()) {
        mean.iter_mut().zip(row).for_each(|(m, x)| *m += x * share);
    }
    mean
}

/// `Σ(x_j − y_j)²` in the given unit.
fn squared_distance_in(unit: f64, x: &[f64], y: &[f64]) -> f64 {
    if unit == 1.0 {
        return squared_distance(x, y);
    }
    // Large numbers are made small before the subtraction, small differences large after it.
    let (before, after) = (unit.min(1.0), unit.max(1.0));
    x.iter().zip(y).map(|(x, y)| ((x * before - y * before) * after).powi(2)).sum()
}

fn centred_norm(row: &[f64], centre: &[f64]) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn brute(rows: &Rows, query: &[f64], k: usize) -> Vec<usize> {
        let mut all: Vec<(f64, usize)> =
            (0..rows.len()).map(|i| (squared_distance(query, rows.row(i)), i)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all[..k].iter().map(|&(_, i)| i).collect()
    }

    fn random_rows(n: usize, d: usize, seed: u64, f: impl Fn(f64) -> f64) -> Rows {
        let mut random = Random::new(seed, 0);
        Rows::new((0..n * d).map(|_| f(random.uniform())).collect(), d).unwrap()
    }

    fn assert_exact(rows: &Rows, queries: &Rows, k: usize) {
        let found = Knn::new(rows.clone()).unwrap().search(queries, k).unwrap();
        for q in 0..queries.len() {
            assert_eq!(found.indices(q), brute(rows, queries.row(q), k), "query {q}");
        }
    }

    #[test]
    fn the_answer_equals_the_plain_formula() {
        for (n, d, k) in [(1, 1, 1), (7, 3, 7), (3000, 5, 4), (1500, 40, 17), (1100, 130, 1)] {
            assert_exact(&random_rows(n, d, 1, |x| x), &random_rows(70, d, 2, |x| x), k);
        }
    }

    #[test]
    fn panels_made_on_the_way_give_the_same_answer() {
        for (n, d) in [(1, 3), (3000, 5), (1100, 130), (5000, 17)] {
            let (rows, queries) = (random_rows(n, d, 9, |x| x), random_rows(300, d, 10, |x| x));
            let k = 7.min(n);
            let (kept, made) = (Knn::new(rows.clone()).unwrap(), Knn::keeping(rows, 0).unwrap());
            assert!(kept.panels.is_some() && made.panels.is_none());
            assert_eq!(kept.starts, made.starts);
            assert_eq!(kept.search(&queries, k).unwrap(), made.search(&queries, k).unwrap(), "{n} x {d}");
        }
    }

    #[test]
    fn equal_distances_go_to_the_earlier_row() {
        let rows = random_rows(2500, 3, 3, |x| (4.0 * x).floor());
        assert_exact(&rows, &random_rows(50, 3, 4, |x| (4.0 * x).floor()), 9);
    }

    #[test]
    fn near_ties_below_single_precision_are_decided_right() {
        // Distances differ by parts in 1e12: single precision sees them as equal.
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

    #[test]
    fn a_vote_tie_goes_to_the_first_class() {
        let knn = Knn::new(Rows::new(vec![0.0, 1.0, 2.0, 3.0], 1).unwrap()).unwrap();
        let found = knn.search(&Rows::new(vec![3.0], 1).unwrap(), 4).unwrap();
        assert_eq!(found.vote(&Labels::new(["b", "b", "a", "a"])), [0]);
        assert_eq!(found.votes(0, &Labels::new(["b", "b", "a", "a"])), [2, 2]);
    }

    #[test]
    fn k_must_fit() {
        let knn = Knn::new(Rows::new(vec![0.0, 1.0], 1).unwrap()).unwrap();
        let query = Rows::new(vec![0.0], 1).unwrap();
        assert!(knn.search(&query, 0).is_err() && knn.search(&query, 3).is_err());
        assert!(knn.search(&Rows::new(vec![0.0, 1.0], 2).unwrap(), 1).is_err());
    }
}
