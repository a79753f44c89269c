//! The result of a neighbour search: indices, distances and majority votes.

use crate::data::Labels;
use crate::error::{Error, Result};

/// The neighbours of each query: `k` indices and distances, nearest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbors {
    k: usize,
    indices: Vec<usize>,
    distances: Vec<f64>,
}

impl Neighbors {
    /// Collects the distances and indices of each query, `k` of them, nearest first.
    pub(crate) fn new(k: usize, found: impl Iterator<Item = (f64, usize)>) -> Self {
        let (distances, indices) = found.unzip();
        Self { k, indices, distances }
    }

    /// Neighbours that were found elsewhere: `k` indices and distances for each query.
    ///
    /// # Errors
    /// Other numbers of indices and of distances, or a number that is no multiple of `k`.
    pub fn from_parts(k: usize, indices: Vec<usize>, distances: Vec<f64>) -> Result<Self> {
        if k == 0 || !indices.len().is_multiple_of(k) {
            return Err(Error::Parameter {
                name: "k",
                value: k.to_string(),
                allowed: "a divisor of the indices",
            });
        }
        if distances.len() != indices.len() {
            let (seen, expected) = (distances.len(), indices.len());
            return Err(Error::Length { what: "distances of neighbours", seen, expected });
        }
        Ok(Self { k, indices, distances })
    }

    /// Weights `1 / distance` for every neighbour; where neighbours are at distance 0, 1 for these and 0 for the others.
    ///
    /// ```
    /// use mahala::{Knn, Rows};
    /// let knn = Knn::new(Rows::new(vec![0.0, 2.0], 1)?)?;
    /// let found = knn.search(&Rows::new(vec![-2.0, 2.0], 1)?, 2)?;
    /// assert_eq!(found.inverse_distances(), [0.5, 0.25, 1.0, 0.0]);
    /// # Ok::<(), mahala::Error>(())
    /// ```
    pub fn inverse_distances(&self) -> Vec<f64> {
        let of_query = |distances: &[f64]| -> Vec<f64> {
            let inverse: Vec<f64> = distances.iter().map(|d| 1.0 / d).collect();
            if inverse.iter().all(|w| w.is_finite()) {
                return inverse;
            }
            inverse.iter().map(|w| if w.is_finite() { 0.0 } else { 1.0 }).collect()
        };
        self.distances.chunks(self.k).flat_map(of_query).collect()
    }

    /// The weight of each class among the neighbours of each query, query after query.
    ///
    /// # Errors
    /// Another number of weights than of neighbours, or a neighbour without a label.
    pub fn weighted_votes(&self, labels: &Labels, weights: &[f64]) -> Result<Vec<f64>> {
        self.check(labels.len(), weights)?;
        let mut votes = vec![0.0; self.len() * labels.class_count()];
        let queries = self.indices.chunks(self.k).zip(weights.chunks(self.k));
        for (votes, (indices, weights)) in votes.chunks_mut(labels.class_count().max(1)).zip(queries) {
            indices.iter().zip(weights).for_each(|(&i, w)| votes[labels.codes()[i] as usize] += w);
        }
        Ok(votes)
    }

    /// The weighted mean of the neighbours' targets for each query: `outputs` numbers for every row, row after row.
    ///
    /// # Errors
    /// Another number of weights than of neighbours, or a neighbour without a target.
    pub fn weighted_means(&self, targets: &[f64], outputs: usize, weights: &[f64]) -> Result<Vec<f64>> {
        self.check(targets.len() / outputs.max(1), weights)?;
        let mut means = vec![0.0; self.len() * outputs];
        let queries = self.indices.chunks(self.k).zip(weights.chunks(self.k));
        for (means, (indices, weights)) in means.chunks_mut(outputs.max(1)).zip(queries) {
            for (&i, w) in indices.iter().zip(weights) {
                means.iter_mut().zip(&targets[i * outputs..]).for_each(|(mean, x)| *mean += w * x);
            }
            let total: f64 = weights.iter().sum();
            means.iter_mut().for_each(|mean| *mean /= total);
        }
        Ok(means)
    }

    /// The mean of the neighbours' targets for each query: k-NN regression.
    ///
    /// ```
    /// use mahala::{Knn, Rows};
    /// let found = Knn::new(Rows::new(vec![0.0, 1.0, 5.0], 1)?)?.search(&Rows::new(vec![0.4], 1)?, 2)?;
    /// assert_eq!(found.mean_targets(&[10.0, 20.0, 90.0])?, [15.0]);
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// A neighbour without a target.
    pub fn mean_targets(&self, targets: &[f64]) -> Result<Vec<f64>> {
        self.weighted_means(targets, 1, &vec![1.0; self.indices.len()])
    }

    fn check(&self, rows: usize, weights: &[f64]) -> Result<()> {
        if weights.len() != self.indices.len() {
            let (seen, expected) = (weights.len(), self.indices.len());
            return Err(Error::Length { what: "weights of neighbours", seen, expected });
        }
        match self.indices.iter().max() {
            Some(&most) if most >= rows => {
                Err(Error::Length { what: "rows with a label or target", seen: rows, expected: most + 1 })
            }
            _ => Ok(()),
        }
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

    /// The distances of the neighbours of one query, nearest first.
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
        // Of the neighbours' own classes alone: all classes may be thousands.
        let mut codes: Vec<u32> = Vec::with_capacity(self.k);
        (0..self.len())
            .map(|query| {
                codes.clear();
                codes.extend(self.indices(query).iter().map(|&i| labels.codes()[i]));
                codes.sort_unstable();
                let by_size = codes.chunk_by(|a, b| a == b).rev();
                by_size.max_by_key(|votes| votes.len()).map_or(0, |votes| votes[0])
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Knn, Labels, Rows};

    #[test]
    fn weights_count_in_votes_and_means() {
        let knn = Knn::new(Rows::new(vec![0.0, 1.0, 4.0], 1).unwrap()).unwrap();
        let found = knn.search(&Rows::new(vec![2.0, 1.0], 1).unwrap(), 3).unwrap();
        let weights = found.inverse_distances();
        // From 2: the second row at distance 1, the first and third at 2; from 1: the second at 0.
        assert_eq!(weights, [1.0, 0.5, 0.5, 1.0, 0.0, 0.0]);
        let votes = found.weighted_votes(&Labels::new(["a", "b", "a"]), &weights).unwrap();
        assert_eq!(votes, [1.0, 1.0, 0.0, 1.0]);
        let means = found.weighted_means(&[0.0, 0.0, 4.0, 8.0, 2.0, 4.0], 2, &weights).unwrap();
        assert_eq!(means, [2.5, 5.0, 4.0, 8.0]);
        assert!(found.weighted_votes(&Labels::new(["a", "b"]), &weights).is_err());
        assert!(found.weighted_means(&[0.0; 3], 1, &weights[1..]).is_err());
    }

    #[test]
    fn a_vote_tie_goes_to_the_first_class() {
        let knn = Knn::new(Rows::new(vec![0.0, 1.0, 2.0, 3.0], 1).unwrap()).unwrap();
        let found = knn.search(&Rows::new(vec![3.0], 1).unwrap(), 4).unwrap();
        assert_eq!(found.vote(&Labels::new(["b", "b", "a", "a"])), [0]);
        assert_eq!(found.votes(0, &Labels::new(["b", "b", "a", "a"])), [2, 2]);
    }
}
