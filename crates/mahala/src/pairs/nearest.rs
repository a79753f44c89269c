//! Pairs of nearest neighbours, under the metric of the previous round.
//!
//! All pairs demand a metric under which whole classes are separated. A nearest-neighbour rule needs less: that
//! near rows of another class are farther than near rows of one's own. So after a first fit `S` is summed over
//! each row's nearest rows of its class and `D` over its nearest rows of other classes, and the closed form is
//! solved again.

use crate::data::members_by_class;
use crate::data::{Labels, Rows};
use crate::error::{Error, Result};
use crate::neighbors::Knn;
use crate::pairs::{Pair, Pairs};
use rayon::prelude::*;

impl Pairs {
    /// Each row with its `k` nearest rows of its own class (similar) and of other classes (dissimilar).
    ///
    /// `rows` are as the current metric sees them ([`crate::Metric::transform`]). Classes smaller than that
    /// give what they have; equal distances go to the earlier row; a row is never its own neighbour, but a
    /// duplicate of it may be.
    ///
    /// # Errors
    /// `k` is 0, or another number of labels than of rows.
    ///
    /// ```
    /// use mahala::{Labels, Rows};
    /// use mahala::pairs::Pairs;
    /// let rows = Rows::new(vec![0.0, 1.0, 5.0, 2.0], 1)?;
    /// let pairs = Pairs::nearest(&rows, &Labels::new(["a", "a", "a", "b"]), 1)?;
    /// let ends = |similar| pairs.as_slice().iter().filter(|p| p.similar == similar)
    ///     .map(|p| (p.first, p.second)).collect::<Vec<_>>();
    /// assert_eq!(ends(true), [(0, 1), (1, 0), (2, 1)]);
    /// assert_eq!(ends(false), [(0, 3), (1, 3), (2, 3), (3, 1)]);
    /// # Ok::<(), mahala::Error>(())
    /// ```
    pub fn nearest(rows: &Rows, labels: &Labels, k: usize) -> Result<Self> {
        Self::nearest_across(rows, labels, None, k)
    }

    /// Each row with its `k` nearest rows of its own class and of other classes, among rows of other groups
    /// alone: a row that is near because it shares a speaker is no model for rows of a new speaker.
    pub(crate) fn nearest_across(
        rows: &Rows,
        labels: &Labels,
        groups: Option<&Labels>,
        k: usize,
    ) -> Result<Self> {
        if k == 0 {
            return Err(Error::Parameter { name: "neighbors", value: k.to_string(), allowed: "at least 1" });
        }
        if labels.len() != rows.len() {
            return Err(Error::Length { what: "labels", seen: labels.len(), expected: rows.len() });
        }
        let group_of = |i: usize| groups.map(|groups| groups.codes()[i]);
        // Queries of one class and, if there are groups, of one group share a search.
        let asking: Vec<Vec<usize>> = match groups {
            None => members_by_class(labels),
            Some(groups) => {
                let part = |members: &Vec<usize>| -> Vec<Vec<usize>> {
                    let mut parts = vec![Vec::new(); groups.class_count()];
                    members.iter().for_each(|&i| parts[groups.codes()[i] as usize].push(i));
                    parts
                };
                members_by_class(labels).iter().flat_map(part).collect()
            }
        };
        let pairs_of = |own: &Vec<usize>| -> Result<Vec<Pair>> {
            let Some(&first) = own.first() else { return Ok(Vec::new()) };
            let other_group = |i: usize| groups.is_none() || group_of(i) != group_of(first);
            let same = |i: usize| labels.codes()[i] == labels.codes()[first];
            let like: Vec<usize> = (0..rows.len()).filter(|&i| same(i) && other_group(i)).collect();
            let others: Vec<usize> = (0..rows.len()).filter(|&i| !same(i) && other_group(i)).collect();
            let queries = rows.subset(own);
            let mut pairs = Vec::with_capacity(2 * k * own.len());
            // One more than `k`: without groups a row finds itself.
            for (query, near) in nearest_of(&queries, rows.subset(&like), k + 1)?.iter().enumerate() {
                let near = near.iter().filter(|&&i| like[i] != own[query]).take(k);
                pairs.extend(near.map(|&i| Pair::similar(own[query], like[i])));
            }
            for (query, near) in nearest_of(&queries, rows.subset(&others), k)?.iter().enumerate() {
                pairs.extend(near.iter().map(|&i| Pair::dissimilar(own[query], others[i])));
            }
            Ok(pairs)
        };
        let found: Vec<Vec<Pair>> = asking.par_iter().map(pairs_of).collect::<Result<_>>()?;
        Self::new(found.concat(), rows.len(), rows.len())
    }
}

/// The `k` nearest rows of each query, or as many as there are.
fn nearest_of(queries: &Rows, rows: Rows, k: usize) -> Result<Vec<Vec<usize>>> {
    let k = k.min(rows.len());
    if k == 0 {
        return Ok(Vec::new());
    }
    let found = Knn::new(rows)?.search(queries, k)?;
    Ok((0..found.len()).map(|query| found.indices(query).to_vec()).collect())
}
