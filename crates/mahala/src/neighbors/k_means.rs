//! k-means clustering: Lloyd's iteration from k-means++ seeds.

use crate::data::Rows;
use crate::data::random::Random;
use crate::error::Result;
use crate::neighbors::Knn;
use mahala_kernels::knn::distance::squared_distance;

/// The limit of Lloyd's iterations; it usually converges long before.
const MOST_ROUNDS: usize = 100;

/// The cluster of each row, `0..count`; some may be empty if rows are equal.
pub(crate) fn clusters(rows: &Rows, count: usize, random: &mut Random) -> Result<Vec<u32>> {
    let mut centres = seeds(rows, count, random);
    let mut groups = nearest(rows, &centres)?;
    for _ in 0..MOST_ROUNDS {
        centres = means(rows, &groups, &centres);
        let next = nearest(rows, &centres)?;
        if next == groups {
            break;
        }
        groups = next;
    }
    Ok(groups)
}

/// k-means++: each seed is drawn with probability proportional to its squared distance to the nearest seed before
/// it.
fn seeds(rows: &Rows, count: usize, random: &mut Random) -> Rows {
    let mut chosen = vec![random.below(rows.len())];
    let mut squared = vec![f64::INFINITY; rows.len()];
    while chosen.len() < count {
        let last = rows.row(chosen[chosen.len() - 1]);
        for (i, nearest) in squared.iter_mut().enumerate() {
            *nearest = nearest.min(squared_distance(rows.row(i), last));
        }
        let total: f64 = squared.iter().sum();
        let mut left = random.uniform() * total;
        let drawn = squared.iter().position(|d| {
            left -= d;
            left < 0.0
        });
        // Rounding, or rows that all equal a seed: any row serves.
        chosen.push(drawn.unwrap_or_else(|| random.below(rows.len())));
    }
    rows.subset(&chosen)
}

fn nearest(rows: &Rows, centres: &Rows) -> Result<Vec<u32>> {
    let found = Knn::new(centres.clone())?.search(rows, 1)?;
    Ok((0..rows.len()).map(|i| found.indices(i)[0] as u32).collect())
}

/// The mean of each cluster's rows; an empty cluster keeps its centre.
fn means(rows: &Rows, groups: &[u32], centres: &Rows) -> Rows {
    let d = rows.columns();
    let mut sizes = vec![0.0; centres.len()];
    groups.iter().for_each(|&group| sizes[group as usize] += 1.0);
    let mut values: Vec<f64> = centres.values().to_vec();
    values.chunks_exact_mut(d).zip(&sizes).filter(|(_, size)| **size > 0.0).for_each(|(c, _)| c.fill(0.0));
    for (i, &group) in groups.iter().enumerate() {
        let centre = &mut values[group as usize * d..][..d];
        // Divided before summation: a sum of rows near 1e308 would overflow.
        centre.iter_mut().zip(rows.row(i)).for_each(|(c, x)| *c += x / sizes[group as usize]);
    }
    Rows::from_finite(values, d)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heaps_apart_are_found_and_the_seed_decides() {
        let cells = (0..60).map(|i| f64::from(i % 3) * 100.0 + f64::from(i) * 0.1).collect();
        let rows = Rows::new(cells, 1).unwrap();
        let groups = clusters(&rows, 3, &mut Random::new(4, 0)).unwrap();
        assert!((0..60).all(|i| groups[i] == groups[i % 3]));
        let mut three = groups[..3].to_vec();
        three.sort_unstable();
        assert_eq!(three, [0, 1, 2]);
        assert_eq!(groups, clusters(&rows, 3, &mut Random::new(4, 0)).unwrap());
    }

    #[test]
    fn equal_rows_are_one_cluster() {
        let rows = Rows::new(vec![2.0; 5], 1).unwrap();
        assert_eq!(clusters(&rows, 3, &mut Random::new(0, 0)).unwrap(), [0; 5]);
    }
}
