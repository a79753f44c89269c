//! The result of a neighbour search: indices, distances and majority votes.

use crate::data::Labels;

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
        (0..self.len())
            .map(|query| {
                let votes = self.votes(query, labels);
                let most = votes.iter().copied().max().unwrap_or(0);
                votes.iter().position(|&v| v == most).unwrap_or(0) as u32
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Knn, Labels, Rows};

    #[test]
    fn a_vote_tie_goes_to_the_first_class() {
        let knn = Knn::new(Rows::new(vec![0.0, 1.0, 2.0, 3.0], 1).unwrap()).unwrap();
        let found = knn.search(&Rows::new(vec![3.0], 1).unwrap(), 4).unwrap();
        assert_eq!(found.vote(&Labels::new(["b", "b", "a", "a"])), [0]);
        assert_eq!(found.votes(0, &Labels::new(["b", "b", "a", "a"])), [2, 2]);
    }
}
