//! Sums over a list of pairs: differences are packed by kind, a block at a time, and added by SYRK.

use crate::data::Rows;
use crate::pairs::Pair;
use crate::scatter::column_scaling::Units;
use crate::scatter::totals::{PairSum, Totals};
use faer::Par;
use mahala_kernels::blas::syrk::{BLOCK, Block};
use mahala_kernels::parallel::{both, parallelism};
use rayon::prelude::*;

/// Pairs of rows of two tables, with the exponents of their columns.
#[derive(Clone, Copy)]
struct Differing<'a> {
    tables: [&'a Rows; 2],
    pairs: &'a [Pair],
    units: &'a Units,
}

/// The pieces that a long list is cut into: as many threads can share it. Their sums are added in order, so that no bit
/// depends on the number of threads.
const PIECES: usize = 16;
/// The work, pairs times columns², from which a list is long: below it pieces of their own cost more than they save.
const LONG: usize = 16_000_000;

/// The sums over similar and over dissimilar pairs.
pub(super) fn sums_of_differences(tables: [&Rows; 2], pairs: &[Pair], units: &Units) -> Totals {
    let n = units.exponents().len();
    // Wide sums are parallel within their products. Those of the pieces take no more memory than the list.
    let narrow =
        matches!(parallelism(n), Par::Seq) && 2 * PIECES * n * n * size_of::<f64>() <= size_of_val(pairs);
    let work = pairs.len().saturating_mul(n * n);
    if !narrow || work < LONG {
        // Small sums are too cheap for a second thread, or for a block of their own.
        return sum_of_run(tables, pairs, units, work >= 1_000_000);
    }
    let runs: Vec<&[Pair]> = pairs.chunks(pairs.len().div_ceil(PIECES)).collect();
    let parts: Vec<Totals> = runs.into_par_iter().map(|run| sum_of_run(tables, run, units, false)).collect();
    let mut totals = Totals::new(n);
    parts.iter().for_each(|part| totals.merge(part));
    totals
}

/// The sums over a run of pairs, the two kinds at once if `in_parallel`.
fn sum_of_run(tables: [&Rows; 2], pairs: &[Pair], units: &Units, in_parallel: bool) -> Totals {
    let n = units.exponents().len();
    let mut totals = Totals::new(n);
    let mut indices = vec![0; sorted(n).min(pairs.len())];
    let new_block = || Block::new(n, depth(n).min(pairs.len()));
    let mut block = new_block();
    let mut second = in_parallel.then(new_block);
    for pairs in pairs.chunks(sorted(n)) {
        let (similar, dissimilar) = by_kind(pairs, &mut indices);
        let of = Differing { tables, pairs, units };
        let Totals { s, d } = &mut totals;
        if let Some(second) = &mut second {
            both(
                Par::rayon(2),
                || s.add_differences(of, similar, &mut block),
                || d.add_differences(of, dissimilar, second),
            );
        } else {
            s.add_differences(of, similar, &mut block);
            d.add_differences(of, dissimilar, &mut block);
        }
    }
    totals
}

/// Pairs of a block: fewer for few columns, because a block is cleared first and should stay in cache.
fn depth(columns: usize) -> usize {
    if columns < 32 { BLOCK / 2 } else { BLOCK }
}

/// Pairs partitioned by kind at a time: few, to stay in cache, but many for wide rows, because a partial block
/// takes as long to add as a full one.
fn sorted(columns: usize) -> usize {
    if columns < 32 { 8 * depth(columns) } else { 128 * BLOCK }
}

/// Partitions the pairs by kind, without branches: the indices of similar pairs, and of the others in reverse
/// order.
fn by_kind<'a>(pairs: &[Pair], indices: &'a mut [usize]) -> (&'a [usize], &'a [usize]) {
    let indices = &mut indices[..pairs.len()];
    let mut similar = 0;
    // Written to both ends and kept in one: a branch on the kind would be mispredicted.
    for (i, pair) in pairs.iter().enumerate() {
        indices[similar] = i;
        indices[similar + pairs.len() - 1 - i] = i;
        similar += usize::from(pair.similar);
    }
    indices.split_at(similar)
}

impl PairSum {
    /// Adds the chosen pairs.
    fn add_differences(
        &mut self,
        Differing { tables, pairs, units }: Differing<'_>,
        chosen: &[usize],
        block: &mut Block,
    ) {
        let n = self.matrix.ncols();
        for chosen in chosen.chunks(depth(n)) {
            block.gather_differences(tables.map(Rows::values), pairs, chosen, units.exponents());
            block.add_gram_to(self.matrix.as_mut(), parallelism(n));
            // In four independent partial sums, which hide the latency of additions.
            let mut weights = [0.0; 4];
            for four in chosen.chunks(weights.len()) {
                weights.iter_mut().zip(four).for_each(|(sum, &i)| *sum += pairs[i].weight);
            }
            self.count.pairs += chosen.len() as u64;
            self.count.weight += weights.iter().sum::<f64>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::random::Random;

    #[test]
    fn pairs_of_several_sorts_and_blocks_are_summed_by_their_kind() {
        let mut random = Random::new(7, 0);
        let mut up_to = |n: f64| (n * random.uniform()) as usize;
        // The last list is long: it is summed in pieces.
        for (columns, count) in [(3, 1), (3, 5000), (70, 1300), (20, 45_000)] {
            let values: Vec<f64> = (0..40 * columns).map(|_| up_to(9.0) as f64).collect();
            let rows = Rows::new(values, columns).unwrap();
            let mut pair = |i: usize| Pair {
                first: up_to(40.0),
                second: up_to(40.0),
                similar: i == 0 || up_to(3.0) == 0,
                weight: (1 + up_to(2.0)) as f64,
            };
            let mut pairs: Vec<Pair> = (0..count).map(&mut pair).collect();
            pairs.push(Pair { similar: false, ..pair(1) });
            let units = Units::new(columns);
            let Totals { s, d } = sums_of_differences([&rows, &rows], &pairs, &units);
            for (sum, similar) in [(s, true), (d, false)] {
                let kind = || pairs.iter().filter(|pair| pair.similar == similar);
                assert_eq!(sum.count.pairs, kind().count() as u64);
                assert_eq!(sum.count.weight, kind().map(|pair| pair.weight).sum::<f64>());
                for (i, j) in (0..columns).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                    let difference =
                        |pair: &Pair, j: usize| rows.row(pair.first)[j] - rows.row(pair.second)[j];
                    let plain: f64 =
                        kind().map(|pair| pair.weight * difference(pair, i) * difference(pair, j)).sum();
                    assert!(
                        (sum.matrix[(i, j)] - plain).abs() < 1e-9 * plain.abs().max(1.0),
                        "{columns} columns: {i}, {j}"
                    );
                }
            }
        }
    }
}
