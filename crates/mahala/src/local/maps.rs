//! Local metrics as maps of the coordinates of the global one, and the neighbour search under them.

use crate::data::{Labels, Rows};
use crate::error::{Error, Result};
use crate::gmml::Fit;
use crate::metric::Metric;
use crate::neighbors::Knn;
use crate::neighbors::found::Neighbors;
use faer::Mat;
use mahala_kernels::blas::product;

/// The maps from the coordinates of a global metric to those of local ones.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalMaps {
    pub(super) maps: Vec<Mat<f64>>,
    pub(super) groups: Vec<u32>,
}

/// Local metrics with the rows they were learned from.
#[derive(Debug, Clone)]
pub struct LocalMetrics {
    /// The global metric.
    pub fit: Fit,
    /// The maps from the global metric to each group's.
    pub maps: LocalMaps,
    /// The training rows, in the coordinates of the global metric, and their labels.
    pub references: (Rows, Labels),
    /// The s in use.
    pub share: f64,
    /// Every s tried, with its cross-validated error; empty if s was given.
    pub curve: Vec<(f64, f64)>,
}

impl LocalMetrics {
    /// The metric of one group.
    ///
    /// # Errors
    /// A result outside the range of 64-bit numbers.
    ///
    /// # Panics
    /// If there are not that many groups.
    pub fn metric(&self, group: usize) -> Result<Metric> {
        let global = &self.fit.metric;
        let components = product(self.maps.maps[group].as_ref(), global.components());
        Metric::computed(components, global.mean().to_vec(), global.scale().map(<[f64]>::to_vec))
    }

    /// The class of each row, by a vote of the `k` nearest training rows, each measured by the metric of its group.
    ///
    /// # Errors
    /// Rows with other columns, or `k` above the number of training rows.
    pub fn predict(&self, rows: &Rows, k: usize) -> Result<Vec<u32>> {
        let found = self.maps.search(&self.references.0, &self.fit.metric.transform(rows)?, k)?;
        Ok(found.vote(&self.references.1))
    }
}

impl LocalMaps {
    /// Maps of the coordinates of a global metric, one a group, and the group of each training row.
    ///
    /// # Errors
    /// No map, maps that are not square, of different sizes or not finite, a group without a map.
    pub fn new(maps: Vec<Mat<f64>>, groups: Vec<u32>) -> Result<Self> {
        let Some(r) = maps.first().map(Mat::nrows) else {
            return Err(Error::Empty { what: "the list of local metrics" });
        };
        for map in &maps {
            if (map.nrows(), map.ncols()) != (r, r) {
                let (rows, columns) = (map.nrows(), map.ncols());
                return Err(Error::NotSquare { what: "a local metric", rows, columns });
            }
            mahala_kernels::view::check_finite(map.as_ref())?;
        }
        match groups.iter().find(|&&group| group as usize >= maps.len()) {
            Some(group) => {
                let allowed = "below the number of local metrics";
                Err(Error::Parameter { name: "group", value: group.to_string(), allowed })
            }
            None => Ok(Self { maps, groups }),
        }
    }

    /// The map of each group.
    pub fn maps(&self) -> &[Mat<f64>] {
        &self.maps
    }

    /// The group of each training row.
    pub fn groups(&self) -> &[u32] {
        &self.groups
    }

    /// An index of the training rows, in the coordinates of the global metric, each measured by the metric of its group.
    ///
    /// # Errors
    /// Another number of rows or columns than the maps have, or a coordinate outside the range of 64-bit numbers.
    pub fn index(&self, rows: &Rows) -> Result<LocalIndex> {
        if rows.len() != self.groups.len() {
            let (seen, expected) = (rows.len(), self.groups.len());
            return Err(Error::Length { what: "training rows of local metrics", seen, expected });
        }
        let mut members = vec![Vec::new(); self.maps.len()];
        self.groups.iter().enumerate().for_each(|(row, &group)| members[group as usize].push(row));
        let mut groups = Vec::with_capacity(self.maps.len());
        for (map, members) in self.maps.iter().zip(members).filter(|(_, members)| !members.is_empty()) {
            let metric = Metric::computed(map.clone(), vec![0.0; map.ncols()], None)?;
            let knn = Knn::new(metric.transform(&rows.subset(&members))?)?;
            groups.push(Group { metric, members, knn });
        }
        Ok(LocalIndex { groups, rows: rows.len() })
    }

    /// The `k` nearest training rows of each query, each measured by the metric of its group; both in the
    /// coordinates of the global metric. Equal distances go to the earlier row. For more than one search, keep
    /// [`LocalMaps::index`].
    ///
    /// # Errors
    /// Another number of rows or columns than the maps have, or `k` that is 0 or above the number of rows.
    pub fn search(&self, rows: &Rows, queries: &Rows, k: usize) -> Result<Neighbors> {
        self.index(rows)?.search(queries, k)
    }
}

/// Training rows under local metrics, ready to be searched.
#[derive(Debug)]
pub struct LocalIndex {
    /// The groups that have rows.
    groups: Vec<Group>,
    rows: usize,
}

/// The rows of one group, in the coordinates of its metric.
#[derive(Debug)]
struct Group {
    metric: Metric,
    members: Vec<usize>,
    knn: Knn,
}

impl LocalIndex {
    /// The `k` nearest training rows of each query, which is in the coordinates of the global metric. Equal distances go
    /// to the earlier row.
    ///
    /// # Errors
    /// Queries with other columns, or `k` that is 0 or above the number of rows.
    pub fn search(&self, queries: &Rows, k: usize) -> Result<Neighbors> {
        if k == 0 || k > self.rows {
            let allowed = "at least 1 and at most the number of rows searched";
            return Err(Error::Parameter { name: "k", value: k.to_string(), allowed });
        }
        let mut best: Vec<Vec<(f64, usize)>> = vec![Vec::new(); queries.len()];
        for Group { metric, members, knn } in &self.groups {
            let found = knn.search(&metric.transform(queries)?, k.min(members.len()))?;
            for (query, best) in best.iter_mut().enumerate() {
                let indices = found.indices(query).iter().map(|&i| members[i]);
                best.extend(found.distances(query).iter().copied().zip(indices));
                best.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                best.truncate(k);
            }
        }
        Ok(Neighbors::new(k, best.into_iter().flatten()))
    }
}
