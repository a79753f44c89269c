//! LMNN's hinges: every row of another class inside a row's margin, found exactly.
//!
//! Rows are put in order of their radius, `1 +` the distance to the farthest target, largest first. Of two
//! rows the earlier then has the wider margin, so each pair is looked at once: within the radius of the
//! earlier, or in neither margin. The kernel of the neighbour search finds candidates in single precision,
//! with room for its rounding; what counts is measured again in double precision. Memory is a few times that
//! of the rows, whatever the number of impostors.

use super::lmnn::{Hinge, Targets};
use crate::knn::{pack, score_error, starts, unit_of};
use crate::knn_kernel::{QUERIES, ROWS, scan, squared_distance};
use rayon::prelude::*;

/// The most sums made side by side, each of its own blocks of rows.
const GROUPS: usize = 8;
/// The most numbers in all of them.
const NUMBERS: usize = 1 << 25;

/// The objective and its derivatives, summed up.
pub(super) struct Hinges {
    /// The objective.
    pub(super) value: f64,
    /// Its derivative by the distance of each row to each of its targets.
    pub(super) weights: Vec<f64>,
    /// `Σ_l w_il (z_i − z_l)` for each row, with w the derivative by the distance to an impostor.
    pub(super) laplacian: Vec<f64>,
}

/// Adds `push · Σ_i Σ_{j∈T(i)} Σ_l hinge(1 + D_ij − D_il)` over all rows l of another class than i's.
///
/// `z` are the rows under the metric, `distances` those to the targets.
pub(super) fn add_hinges(
    codes: &[u32],
    targets: &Targets,
    distances: &[f64],
    z: &[f64],
    (hinge, push): (Hinge, f64),
    sums: &mut Hinges,
) {
    let search = Search::new(codes, targets, distances, z, (hinge, push));
    let groups = (NUMBERS / z.len()).clamp(1, GROUPS);
    let parts: Vec<Hinges> = (0..groups).into_par_iter().map(|group| search.group(group, groups)).collect();
    for part in parts {
        sums.value += part.value;
        sums.weights.iter_mut().zip(&part.weights).for_each(|(sum, part)| *sum += part);
        sums.laplacian.iter_mut().zip(&part.laplacian).for_each(|(sum, part)| *sum += part);
    }
}

struct Search<'a> {
    codes: &'a [u32],
    targets: &'a Targets,
    distances: &'a [f64],
    z: &'a [f64],
    rank: usize,
    hinge: Hinge,
    push: f64,
    /// Rows by descending radius.
    order: Vec<usize>,
    /// All rows in this order, in single precision, and `−½‖z‖²` of each.
    panels: Vec<f32>,
    starts: Vec<f32>,
    /// The score from which on a row may be within the radius, by the same order.
    bounds: Vec<f32>,
    unit: f64,
}

impl<'a> Search<'a> {
    fn new(
        codes: &'a [u32],
        targets: &'a Targets,
        distances: &'a [f64],
        z: &'a [f64],
        (hinge, push): (Hinge, f64),
    ) -> Self {
        let n = codes.len();
        let rank = z.len() / n;
        // A row without targets has no margin, and comes last.
        let radius =
            |i: usize| distances[targets.places(i)].iter().fold(0.0, |most: f64, &x| most.max(1.0 + x));
        let radii: Vec<f64> = (0..n).map(radius).collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| radii[b].total_cmp(&radii[a]).then(a.cmp(&b)));
        let rows: Vec<&[f64]> = order.iter().map(|&i| &z[i * rank..(i + 1) * rank]).collect();
        let origin = vec![0.0; rank];
        let squares: Vec<f64> = rows.iter().map(|row| squared_distance(row, &origin)).collect();
        let longest = squares.iter().copied().fold(0.0, f64::max).sqrt();
        let unit = unit_of(longest);
        let bound = |(&i, &square): (&usize, &f64)| {
            let score = 0.5 * (square - radii[i]) * unit * unit;
            let error = score_error(rank, square.sqrt() * unit, longest * unit);
            (score - error - score.abs() * 2f64.powi(-23)) as f32
        };
        let bounds = order.iter().zip(&squares).map(bound).collect();
        let panels = pack::<ROWS>(&rows, &origin, unit);
        let starts = starts(&panels, n, rank);
        Self { codes, targets, distances, z, rank, hinge, push, order, panels, starts, bounds, unit }
    }

    /// Every `groups`th block of rows from this one on.
    fn group(&self, group: usize, groups: usize) -> Hinges {
        let mut sums = Hinges {
            value: 0.0,
            weights: vec![0.0; self.distances.len()],
            laplacian: vec![0.0; self.z.len()],
        };
        // As many rows as leave room for others in the cache; whole panels.
        let together = (32_768 / self.rank).clamp(QUERIES * ROWS, 5 * QUERIES * ROWS);
        let together = together.next_multiple_of(QUERIES * ROWS);
        for first in (group * together..self.order.len()).step_by(groups * together) {
            let last = (first + together).min(self.order.len());
            self.block(first..last, &mut sums);
        }
        sums
    }

    /// All pairs of a row of the block and one at the same place or behind.
    fn block(&self, block: std::ops::Range<usize>, sums: &mut Hinges) {
        let row = |&i: &usize| &self.z[i * self.rank..(i + 1) * self.rank];
        let rows: Vec<&[f64]> = self.order[block.clone()].iter().map(row).collect();
        let tiles = pack::<QUERIES>(&rows, &vec![0.0; self.rank], self.unit);
        let panels = (32_768 / (self.rank * ROWS)).max(1);
        let mut pairs = Vec::new();
        for start in (block.start..self.order.len()).step_by(panels * ROWS) {
            let end = (start + panels * ROWS).min(self.starts.len());
            let others = &self.panels[start * self.rank..end * self.rank];
            for (tile, first) in tiles.chunks_exact(self.rank * QUERIES).zip(block.clone().step_by(QUERIES)) {
                let mut bounds = [f32::INFINITY; QUERIES];
                bounds.iter_mut().zip(&self.bounds[first..block.end]).for_each(|(to, bound)| *to = *bound);
                scan(tile, others, &self.starts[start..end], &mut bounds, &mut |panel, scores, bounds| {
                    for (a, (scores, bound)) in scores.iter().zip(&*bounds).enumerate() {
                        for (b, score) in scores.iter().enumerate() {
                            if score >= bound {
                                pairs.push((first + a, start + panel * ROWS + b));
                            }
                        }
                    }
                });
                pairs.drain(..).for_each(|(a, b)| self.pair(a, b, sums));
            }
        }
    }

    /// The hinges between two rows, by their places in the order.
    fn pair(&self, a: usize, b: usize, sums: &mut Hinges) {
        // Tiles meet the panels of their own block too, and a bound of −∞ lets in what fills the last panel.
        if b <= a || b >= self.order.len() {
            return;
        }
        let (i, l) = (self.order[a], self.order[b]);
        if self.codes[i] == self.codes[l] {
            return;
        }
        let (z_i, z_l) =
            (&self.z[i * self.rank..(i + 1) * self.rank], &self.z[l * self.rank..(l + 1) * self.rank]);
        let distance = squared_distance(z_i, z_l);
        let mut weight = 0.0;
        for place in self.targets.places(i).chain(self.targets.places(l)) {
            let intrusion = 1.0 + self.distances[place] - distance;
            if intrusion > 0.0 {
                let (value, slope) = match self.hinge {
                    Hinge::Squared => (intrusion * intrusion, 2.0 * intrusion),
                    Hinge::Classic => (intrusion, 1.0),
                };
                sums.value += self.push * value;
                sums.weights[place] += self.push * slope;
                weight += self.push * slope;
            }
        }
        if weight > 0.0 {
            for (k, (x, y)) in z_i.iter().zip(z_l).enumerate() {
                let part = weight * (x - y);
                sums.laplacian[i * self.rank + k] -= part;
                sums.laplacian[l * self.rank + k] += part;
            }
        }
    }
}
