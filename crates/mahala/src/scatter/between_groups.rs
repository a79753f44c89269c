//! Scatter of all pairs of rows of different groups: effects that rows of one group share cancel within it.
//!
//! # Formula
//! With `w_cg`, `m_cg`, `M_cg` the number, mean and centred scatter of the rows of class c in group g, sums over an index
//! left out written without it, and `u_cg = w − w_c − w_g + w_cg` the rows that differ from those in both,
//! ```text
//! S = Σ_cg (w_c − w_cg) M_cg + Σ_c w_c Σ_g w_cg (m_cg − m_c)(m_cg − m_c)ᵀ
//! D = Σ_cg u_cg M_cg + Σ_cg w_cg m_cg (u_cg m_cg − Σ_{b≠c, h≠g} w_bh m_bh)ᵀ
//! ```
//! with means relative to that of all rows. No sum is the difference of two larger ones: pairs within groups are
//! never added, so they need not be subtracted.

use crate::data::{Dataset, Labels, Rows};
use crate::error::{Error, Result};
use crate::scatter::all_pairs::{check_labels, degrees_of_freedom};
use crate::scatter::column_scaling::{Units, column_peaks};
use crate::scatter::totals::Totals;
use crate::scatter::{PairCount, Scatter};
use faer::{Mat, MatRef};
use mahala_kernels::blas::product;
use mahala_kernels::scaling::times_power_of_two;

/// The rows of one class in one group.
struct Cell {
    class: usize,
    group: usize,
    rows: Vec<usize>,
    /// The rows of its class in other groups, and those of other classes in other groups.
    others: [usize; 2],
}

impl Scatter {
    /// All pairs of labelled rows but those within a group, and the rows' mean. If all rows are of one group, all
    /// pairs.
    ///
    /// # Errors
    /// One class only, or no class with two rows; no similar or no dissimilar pair between groups.
    pub(crate) fn across_groups(data: &Dataset, groups: &Labels) -> Result<Self> {
        check_labels(data.labels())?;
        groups.check_length("groups", data.len())?;
        if groups.class_sizes().iter().filter(|&&size| size > 0).count() < 2 {
            return Ok(Self::all_pairs_of(data)?.0);
        }
        let cells = cells(data.labels(), groups);
        let count = |kind: usize| {
            let twice: u128 = cells.iter().map(|cell| (cell.rows.len() * cell.others[kind]) as u128).sum();
            PairCount { pairs: u64::try_from(twice / 2).unwrap_or(u64::MAX), weight: (twice / 2) as f64 }
        };
        let pairs = [count(0), count(1)];
        let between = "two rows of different groups";
        if pairs[0].pairs == 0 {
            return Err(Error::NoSimilarPair { reason: format!("no {between} are of one class") });
        }
        if pairs[1].pairs == 0 {
            return Err(Error::NoDissimilarPair { reason: format!("no {between} are of different classes") });
        }
        let units = Units::from_peaks(column_peaks(data.rows().as_mat()));
        let means = centred_means(data.rows(), &cells, &units);
        let mut totals = within_cells(data.rows(), &cells, &units);
        add_between(&mut totals, &cells, &means, groups.class_count());
        let sizes = data.labels().class_sizes();
        let samples = degrees_of_freedom(sizes.iter().map(|&size| size as u64));
        totals.with_counts(pairs).finish(units.exponents().to_vec(), samples)
    }
}

/// The cells that have rows, class after class.
fn cells(labels: &Labels, groups: &Labels) -> Vec<Cell> {
    let (n, classes, sizes) = (labels.len(), labels.class_sizes(), groups.class_sizes());
    let mut order: Vec<usize> = (0..n).collect();
    let place = |i: usize| (labels.codes()[i] as usize, groups.codes()[i] as usize);
    order.sort_by_key(|&i| place(i));
    let cell = |rows: &[usize]| {
        let (class, group) = place(rows[0]);
        let of_class = classes[class] - rows.len();
        let of_neither = n - classes[class] - sizes[group] + rows.len();
        Cell { class, group, rows: rows.to_vec(), others: [of_class, of_neither] }
    };
    order.chunk_by(|&i, &j| place(i) == place(j)).map(cell).collect()
}

/// A row, column j scaled by `2^-exponents[j]`.
fn in_units<'a>(rows: &'a Rows, i: usize, units: &'a Units) -> impl Iterator<Item = f64> + 'a {
    rows.row(i).iter().zip(units.exponents()).map(|(&x, &unit)| times_power_of_two(x, -unit))
}

/// The mean of some rows, around the first of them: exact for constant columns.
fn mean_of(rows: &Rows, some: &[usize], units: &Units) -> Vec<f64> {
    let first: Vec<f64> = in_units(rows, some[0], units).collect();
    let mut sum = vec![0.0; first.len()];
    for &i in some {
        sum.iter_mut()
            .zip(in_units(rows, i, units))
            .zip(&first)
            .for_each(|((sum, x), first)| *sum += x - first);
    }
    first.iter().zip(sum).map(|(first, sum)| first + sum / some.len() as f64).collect()
}

/// The mean of each cell from that of all rows, one a row.
fn centred_means(rows: &Rows, cells: &[Cell], units: &Units) -> Mat<f64> {
    let all = mean_of(rows, &(0..rows.len()).collect::<Vec<_>>(), units);
    let means: Vec<Vec<f64>> = cells.iter().map(|cell| mean_of(rows, &cell.rows, units)).collect();
    Mat::from_fn(cells.len(), all.len(), |i, j| means[i][j] - all[j])
}

/// `Σ (w_c − w_cg) M_cg` and `Σ u_cg M_cg`.
fn within_cells(rows: &Rows, cells: &[Cell], units: &Units) -> Totals {
    let mut totals = Totals::new(rows.columns());
    for (kind, sum) in [&mut totals.s, &mut totals.d].into_iter().enumerate() {
        let mut products = sum.outer_products(rows.len());
        for cell in cells.iter().filter(|cell| cell.others[kind] > 0 && cell.rows.len() > 1) {
            let mean = mean_of(rows, &cell.rows, units);
            let root = (cell.others[kind] as f64).sqrt();
            for &i in &cell.rows {
                products.push(in_units(rows, i, units).zip(&mean).map(|(x, mean)| root * (x - mean)));
            }
        }
    }
    totals
}

/// Adds the scatter between the means of cells.
fn add_between(totals: &mut Totals, cells: &[Cell], means: &Mat<f64>, groups: usize) {
    let mut of_s = totals.s.outer_products(cells.len());
    let mut gaps = Mat::zeros(cells.len(), means.ncols());
    let mut first = 0;
    for class in cells.chunk_by(|a, b| a.class == b.class) {
        let own = first..first + class.len();
        let size: usize = class.iter().map(|cell| cell.rows.len()).sum();
        let weight = |i: usize| cells[i].rows.len() as f64;
        let mean: Vec<f64> = (0..means.ncols())
            .map(|j| own.clone().map(|i| weight(i) * means[(i, j)]).sum::<f64>() / size as f64)
            .collect();
        for i in own.clone() {
            let root = (size as f64 * weight(i)).sqrt();
            of_s.push(mean.iter().enumerate().map(|(j, mean)| root * (means[(i, j)] - mean)));
        }
        let [before, after] = sums_of_others(cells, means.as_ref(), class[0].class, groups);
        for i in own.clone() {
            let (group, all) = (cells[i].group, cells[i].others[1] as f64);
            for j in 0..means.ncols() {
                let others = before[(group, j)] + after[(group, j)];
                gaps[(i, j)] = weight(i) * (all * means[(i, j)] - others);
            }
        }
        first = own.end;
    }
    let (d, between) = (&mut totals.d.matrix, product(means.transpose(), gaps.as_ref()));
    for j in 0..d.ncols() {
        (j..d.nrows()).for_each(|i| d[(i, j)] += 0.5 * (between[(i, j)] + between[(j, i)]));
    }
}

/// `Σ w_bh m_bh` over the classes b other than one, and over the groups h before each, and after each.
fn sums_of_others(cells: &[Cell], means: MatRef<'_, f64>, class: usize, groups: usize) -> [Mat<f64>; 2] {
    let mut of_group: Mat<f64> = Mat::zeros(groups, means.ncols());
    for (i, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.class != class) {
        (0..means.ncols()).for_each(|j| of_group[(cell.group, j)] += cell.rows.len() as f64 * means[(i, j)]);
    }
    let running = |order: &mut dyn Iterator<Item = usize>| {
        let (mut sums, mut sum) = (Mat::zeros(groups, means.ncols()), vec![0.0; means.ncols()]);
        for group in order {
            for (j, sum) in sum.iter_mut().enumerate() {
                sums[(group, j)] = *sum;
                *sum += of_group[(group, j)];
            }
        }
        sums
    };
    [running(&mut (0..groups)), running(&mut (0..groups).rev())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::random::Random;
    use crate::pairs::Pairs;

    /// Rows far from the origin in different units; nearly all rows of a class are of one group.
    fn hostile(n: usize, seed: u64) -> (Dataset, Labels) {
        let mut random = Random::new(seed, 0);
        let (mut values, mut labels, mut groups) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..n {
            let class = i % 3;
            let group = if i < n - 6 { class } else { random.below(4) };
            // Within groups rows differ a thousand times as much as between them.
            let x = |random: &mut Random| 1e3 * random.uniform() + (class + group) as f64;
            values.extend([1e6 + x(&mut random), 1e-4 * x(&mut random), 7.0, 1e3 * x(&mut random)]);
            labels.push(class.to_string());
            groups.push(group.to_string());
        }
        (Dataset::new(Rows::new(values, 4).unwrap(), Labels::new(labels)).unwrap(), Labels::new(groups))
    }

    #[test]
    fn the_sums_are_those_of_the_pairs_listed() {
        for seed in 0..4 {
            let (data, groups) = hostile(120, seed);
            let all = Pairs::all(data.labels());
            let across =
                |pair: &&crate::pairs::Pair| groups.codes()[pair.first] != groups.codes()[pair.second];
            let listed: Vec<_> = all.as_slice().iter().filter(across).copied().collect();
            let listed = Scatter::from_pairs(data.rows(), &Pairs::new(listed, 120, 120).unwrap()).unwrap();
            let summed = Scatter::across_groups(&data, &groups).unwrap();
            assert_eq!(summed.similar(), listed.similar());
            assert_eq!(summed.dissimilar(), listed.dissimilar());
            for (a, b) in [(summed.s(), listed.s()), (summed.d(), listed.d())] {
                for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
                    let unit = (b[(i, i)] * b[(j, j)]).sqrt();
                    // The offset of 10⁶ takes three digits of the rows themselves.
                    assert!((a[(i, j)] - b[(i, j)]).abs() <= 1e-11 * unit, "{seed}: {i}, {j}");
                }
            }
        }
    }

    #[test]
    fn groups_without_a_pair_between_them_are_refused_in_words() {
        let rows = Rows::new((0..8).map(f64::from).collect(), 1).unwrap();
        let data = Dataset::new(rows, Labels::new(["a", "a", "b", "b", "a", "a", "b", "b"])).unwrap();
        let groups = |names: [&str; 8]| Scatter::across_groups(&data, &Labels::new(names));
        let classes = groups(["x", "x", "y", "y", "x", "x", "y", "y"]);
        assert!(
            matches!(classes, Err(Error::NoSimilarPair { reason }) if reason.contains("different groups"))
        );
        // One group has no pairs between groups: then all pairs are used.
        assert_eq!(groups(["x"; 8]).unwrap().similar().pairs, 12);
    }
}
