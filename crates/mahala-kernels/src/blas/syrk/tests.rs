//! Both layouts of a block against the plain triple loop: row-major up to 63 columns, packed panels from 64 on.

use super::*;
use crate::random::Random;
use faer::Mat;

/// Every third number of columns, and all around the switch of the layout, whole panels (8), micro-tiles (24) and groups (96).
fn column_counts() -> impl Iterator<Item = usize> {
    (1..=140).filter(|n| {
        n % 3 == 1 || [8, 9, 23, 24, 62, 63, 64, 65, 71, 72, 95, 96, 98, 119, 120, 128].contains(n)
    })
}

fn uniform(rows: usize, columns: usize, seed: u64) -> Mat<f64> {
    let mut random = Random::new(seed, 11);
    Mat::from_fn(rows, columns, |_, _| random.uniform() - 0.5)
}

/// Adds the block to a target that is NaN above the diagonal, and compares the sum with `Σ_r x_ri·x_rj`, entry by entry.
fn assert_triple_loop(name: &str, block: &Block, rows: &Mat<f64>) {
    let n = rows.ncols();
    let start = |i: usize, j: usize| (i + 2 * j) as f64 / 64.0;
    let mut target = Mat::from_fn(n, n, |i, j| if i < j { f64::NAN } else { start(i, j) });
    block.add_gram_to(target.as_mut(), parallelism(n));
    for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
        if i < j {
            assert!(target[(i, j)].is_nan(), "{name}, {n} columns: ({i}, {j}) above the diagonal");
            continue;
        }
        let (mut sum, mut size) = (0.0, start(i, j));
        for r in 0..rows.nrows() {
            sum += rows[(r, i)] * rows[(r, j)];
            size += (rows[(r, i)] * rows[(r, j)]).abs();
        }
        let error = (target[(i, j)] - start(i, j) - sum).abs();
        // Two sums of as many terms, and centred entries with a few roundings each.
        let bound = 2.0 * (rows.nrows() + 8) as f64 * f64::EPSILON * size;
        assert!(error <= bound, "{name}, {n} columns, ({i}, {j}): {error:e} above {bound:e}");
    }
}

struct Pair {
    rows: [usize; 2],
    weight: f64,
}

impl IndexPair for Pair {
    fn rows(&self) -> [usize; 2] {
        self.rows
    }

    fn weight(&self) -> f64 {
        self.weight
    }
}

#[test]
fn pushed_rows_are_added_as_they_are() {
    for (n, rows) in column_counts().map(|n| (n, 1 + 5 * n % 17)) {
        let plain = uniform(rows, n, n as u64);
        let mut block = Block::new(n, rows);
        plain.row_iter().for_each(|row| block.push(row.iter().copied()));
        assert_triple_loop("pushed", &block, &plain);
        let mut target = Mat::zeros(n, n);
        block.flush_into(target.as_mut());
        assert_triple_loop("flushed", &block, &Mat::zeros(0, n));
    }
}

#[test]
fn gathered_rows_are_centred_and_weighted_in_every_layout() {
    for n in column_counts() {
        // From one row to a full block; the chosen rows are not all, and not in order.
        let rows = [1, 7, 8, 9, 40, BLOCK][n % 6];
        let table = uniform(2 * rows, n, 1000 + n as u64);
        let indices: Vec<usize> = (0..rows).map(|r| (2 * rows - 1) - 2 * r).collect();
        let weights: Vec<f64> = (0..rows).map(|r| 0.5 + (r % 4) as f64).collect();
        let row_major: Vec<f64> =
            table.row_iter().flat_map(|row| row.iter().copied().collect::<Vec<_>>()).collect();
        let by_rows = MatRef::from_row_major_slice(&row_major, 2 * rows, n);
        for given in [None, Some(&weights[..])] {
            let weight = |r: usize| given.map_or(1.0, |weights| weights[r]);
            let total: f64 = (0..rows).map(weight).sum();
            let mean = |j: usize| (0..rows).map(|r| weight(r) * table[(indices[r], j)]).sum::<f64>() / total;
            let centred = Mat::from_fn(rows, n, |r, j| weight(r).sqrt() * (table[(indices[r], j)] - mean(j)));
            // Entries are of size 1 before the mean is subtracted, and that is what they are accurate to.
            let mut blocks = [(); 2].map(|()| Block::new(n, rows));
            let means = [
                blocks[0].gather_centred(by_rows, &indices, &vec![0; n], given),
                blocks[1].gather_centred(table.as_ref(), &indices, &vec![0; n], given),
            ];
            assert_eq!(means[0], means[1], "{n} columns: row-major and column-major tables");
            assert!((0..n).all(|j| (means[0][j] - mean(j)).abs() < 1e-15), "{n} columns: the mean");
            let mut targets = [(); 2].map(|()| Mat::<f64>::zeros(n, n));
            for (block, target) in blocks.iter().zip(&mut targets) {
                block.add_gram_to(target.as_mut(), Par::Seq);
            }
            assert_eq!(targets[0], targets[1], "{n} columns: row-major and column-major tables");
            let expected = centred.transpose() * &centred;
            for (i, j) in (0..n).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                let error = (targets[0][(i, j)] - expected[(i, j)]).abs();
                assert!(error < 1e-15 * (rows + 8) as f64 * 4.0, "{n} columns, ({i}, {j}): {error:e}");
            }
        }
    }
}

#[test]
fn single_precision_rows_are_converted_exactly() {
    for n in [1, 8, 63, 64, 97] {
        let table = Mat::from_fn(30, n, |i, j| ((i * 31 + j * 17) % 101) as f32 / 64.0);
        let wide = Mat::from_fn(30, n, |i, j| f64::from(table[(i, j)]));
        let indices: Vec<usize> = (0..30).collect();
        let mut blocks = [(); 2].map(|()| Block::new(n, 30));
        let means = (
            blocks[0].gather_centred(table.as_ref(), &indices, &vec![0; n], None),
            blocks[1].gather_centred(wide.as_ref(), &indices, &vec![0; n], None),
        );
        assert_eq!(means.0, means.1);
        let of = |block: &Block| {
            let mut target = Mat::<f64>::zeros(n, n);
            block.add_gram_to(target.as_mut(), Par::Seq);
            target
        };
        assert_eq!(of(&blocks[0]), of(&blocks[1]), "{n} columns");
    }
}

#[test]
fn weighted_differences_of_pairs_are_added() {
    for n in column_counts() {
        let tables = [uniform(12, n, 2000 + n as u64), uniform(9, n, 3000 + n as u64)];
        let cells = tables
            .each_ref()
            .map(|m| m.row_iter().flat_map(|r| r.iter().copied().collect::<Vec<_>>()).collect::<Vec<_>>());
        let pairs: Vec<Pair> =
            (0..40).map(|p| Pair { rows: [p * 5 % 12, p * 7 % 9], weight: 0.25 + (p % 3) as f64 }).collect();
        let chosen: Vec<usize> = (0..40).filter(|p| p % 4 != 1).collect();
        let differences = Mat::from_fn(chosen.len(), n, |r, j| {
            let Pair { rows: [a, b], weight } = pairs[chosen[r]];
            weight.sqrt() * (tables[0][(a, j)] - tables[1][(b, j)])
        });
        let mut block = Block::new(n, chosen.len());
        block.gather_differences([&cells[0], &cells[1]], &pairs, &chosen, &vec![0; n]);
        assert_triple_loop("differences", &block, &differences);
    }
}

#[test]
fn exponents_of_columns_change_no_bit() {
    // Columns times powers of two, and the powers taken out again: both are exact, up to the ends of the range.
    for n in column_counts() {
        let plain = uniform(20, n, 4000 + n as u64);
        let exponents: Vec<i32> = (0..n).map(|j| [0, 300, -300, 1000, -900, 1][j % 6]).collect();
        let scaled = Mat::from_fn(20, n, |i, j| times_power_of_two(plain[(i, j)], exponents[j]));
        let (indices, none) = ((0..20).collect::<Vec<_>>(), vec![0; n]);
        let sums = |table: &Mat<f64>, exponents: &[i32]| {
            let (mut block, mut centred, mut differences) =
                (Block::new(n, 20), Mat::<f64>::zeros(n, n), Mat::<f64>::zeros(n, n));
            let mean = block.gather_centred(table.as_ref(), &indices, exponents, None);
            block.flush_into(centred.as_mut());
            let cells: Vec<f64> =
                table.row_iter().flat_map(|r| r.iter().copied().collect::<Vec<_>>()).collect();
            let pairs: Vec<Pair> = (0..20).map(|p| Pair { rows: [p, p * 3 % 20], weight: 2.0 }).collect();
            block.gather_differences([&cells, &cells], &pairs, &indices, exponents);
            block.flush_into(differences.as_mut());
            (mean, centred, differences)
        };
        assert_eq!(sums(&plain, &none), sums(&scaled, &exponents), "{n} columns");
    }
}
