//! Fixed-radius neighbour search: every pair of rows of which one is within the other's radius, each found once.
//! It serves LMNN's margins and NCA's and MCML's tails.
//!
//! Rows are sorted by radius, largest first. Of two rows the earlier then has the larger radius, so each pair is
//! tested once: it is within the radius of the earlier, or within neither. The kernel of the neighbour search
//! finds candidates in single precision, with a margin for its rounding, so none is missed; the caller measures
//! them in double precision. Memory is a few times that of the rows.

use mahala_kernels::knn::distance::squared_distance;
use mahala_kernels::knn::quantized::{Rounding, offsets, pack, single_unit};
use mahala_kernels::knn::scan::{Packed, QUERIES, ROWS, scan};

/// Rows, each with a radius.
pub(crate) struct Reach<'a> {
    z: &'a [f64],
    rank: usize,
    /// Rows by descending radius.
    order: Vec<usize>,
    /// All rows in this order, in single precision, and `−½‖z‖²` of each.
    panels: Vec<f32>,
    offsets: Vec<f32>,
    /// The least score of a row within the radius, in this order.
    bounds: Vec<f32>,
    unit: f64,
}

impl<'a> Reach<'a> {
    /// Rows `z`, one after the other, each with the square of its radius.
    pub(crate) fn new(z: &'a [f64], radii: &[f64]) -> Self {
        let n = radii.len();
        let rank = z.len() / n;
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| radii[b].total_cmp(&radii[a]).then(a.cmp(&b)));
        let rows: Vec<&[f64]> = order.iter().map(|&i| &z[i * rank..(i + 1) * rank]).collect();
        let origin = vec![0.0; rank];
        let squares: Vec<f64> = rows.iter().map(|row| squared_distance(row, &origin)).collect();
        let longest = squares.iter().copied().fold(0.0, f64::max).sqrt();
        let unit = single_unit(longest);
        let bound = |(&i, &square): (&usize, &f64)| {
            let score = 0.5 * (square - radii[i]) * unit * unit;
            let error = f32::score_error(rank, square.sqrt() * unit, 1.0, longest * unit);
            (score - error - score.abs() * 2f64.powi(-23)) as f32
        };
        let bounds = order.iter().zip(&squares).map(bound).collect();
        let panels = pack::<f32, ROWS>(&rows, &origin, &vec![unit; n]);
        let offsets = offsets(&panels, rank, n);
        Self { z, rank, order, panels, offsets, bounds, unit }
    }

    /// Calls `found` for the pairs of every `groups`th block of rows from block `group` on, and for a few that
    /// are a rounding too far. The blocks depend on the shape of the rows alone.
    pub(crate) fn pairs(&self, group: usize, groups: usize, mut found: impl FnMut(usize, usize)) {
        // As many rows as leave cache for others; whole panels.
        let block_rows = (32_768 / self.rank).clamp(QUERIES * ROWS, 5 * QUERIES * ROWS);
        let block_rows = block_rows.next_multiple_of(QUERIES * ROWS);
        for first in (group * block_rows..self.order.len()).step_by(groups * block_rows) {
            let last = (first + block_rows).min(self.order.len());
            self.block(first..last, &mut found);
        }
    }

    /// All pairs of a row of the block and one behind it.
    fn block(&self, block: std::ops::Range<usize>, found: &mut impl FnMut(usize, usize)) {
        let row = |&i: &usize| &self.z[i * self.rank..(i + 1) * self.rank];
        let rows: Vec<&[f64]> = self.order[block.clone()].iter().map(row).collect();
        let tiles = pack::<f32, QUERIES>(&rows, &vec![0.0; self.rank], &vec![self.unit; rows.len()]);
        let factors = vec![[1.0; QUERIES]; rows.len().div_ceil(QUERIES)];
        let block_rows = rows.len().next_multiple_of(QUERIES);
        let mut bounds = vec![[f32::INFINITY; QUERIES]; block_rows / QUERIES];
        bounds.as_flattened_mut()[..rows.len()].copy_from_slice(&self.bounds[block.clone()]);
        let panels = (32_768 / (self.rank * ROWS)).max(1);
        let mut pairs = Vec::new();
        for start in (block.start..self.order.len()).step_by(panels * ROWS) {
            let end = (start + panels * ROWS).min(self.offsets.len());
            // Within the block each tile has a first panel of its own; behind it all tiles share theirs.
            let block_rows = if start < block.end { QUERIES } else { block_rows };
            let groups = tiles.chunks(self.rank * block_rows).zip(bounds.chunks_mut(block_rows / QUERIES));
            for ((tiles, bounds), first) in groups.zip(block.clone().step_by(block_rows)) {
                let start = start.max(first / ROWS * ROWS);
                if start >= end {
                    continue;
                }
                let panels = &self.panels[start * self.rank..end * self.rank];
                let packed = Packed {
                    tiles,
                    factors: &factors[..bounds.len()],
                    panels,
                    offsets: &self.offsets[start..end],
                };
                scan(packed, bounds, &mut |found, _| {
                    let (first, start) = (first + found.tile * QUERIES, start + found.panel * ROWS);
                    found.for_each(|a, b, _| pairs.push((first + a, start + b)));
                });
                // A tile's first panel may begin before the tile, and a bound of −∞ admits padding.
                for (a, b) in pairs.drain(..).filter(|&(a, b)| a < b && b < self.order.len()) {
                    found(self.order[a], self.order[b]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::data::Random;

    #[test]
    fn every_pair_in_reach_is_found_once() {
        for (n, rank, radius) in [(1usize, 1usize, 1.0), (7, 1, 0.1), (300, 3, 0.3), (700, 40, 5.0)] {
            let mut random = Random::new(9, n as u64);
            let z: Vec<f64> = (0..n * rank).map(|_| random.uniform()).collect();
            let radii: Vec<f64> = (0..n).map(|_| radius * random.uniform()).collect();
            let distance = |i: usize, j: usize| {
                squared_distance(&z[i * rank..(i + 1) * rank], &z[j * rank..(j + 1) * rank])
            };
            let inside = |i: usize, j: usize| distance(i, j) <= radii[i].max(radii[j]);
            let reach = Reach::new(&z, &radii);
            let mut found = Vec::new();
            (0..3).for_each(|group| reach.pairs(group, 3, |i, j| found.push((i.min(j), i.max(j)))));
            found.retain(|&(i, j)| inside(i, j));
            found.sort_unstable();
            let all = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
            assert_eq!(found, all.filter(|&(i, j)| inside(i, j)).collect::<Vec<_>>(), "{n} {rank}");
        }
    }
}
