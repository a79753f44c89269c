//! A metric for each class, or each cluster of rows, between its own and the global one.
//!
//! # Formula
//! ```text
//! A_g(s) = A ♯_s A_g,     A: of all pairs,  A_g: of the pairs of group g,  scaled to det A_g = det A
//! by class c:    S_c = w_c M_c,   D_c = Σ_{b≠c} [w_b M_c + w_c M_b + w_c w_b (m_c − m_b)(m_c − m_b)ᵀ]
//! by cluster g:  S_g, D_g over all pairs of rows of the cluster
//! d(x, y) = (x − y)ᵀA_g(s)(x − y)  from a row x to the training row y of group g
//! ```
//! s = 0 is the global metric, s = 1 each group's own; in between, groups with few rows borrow strength from all.
//! Equal determinants make the distances of different groups comparable: no group has all its rows nearer than
//! others' by its scale alone. One factorisation serves every s, and s is chosen by cross-validation.
//!
//! Every metric is held as a map of the coordinates in which the global one is Euclidean.

use crate::data::random::{Random, Stream};
use crate::data::{Dataset, Labels, Rows};
use crate::error::{Error, MemoryRemedy, Result};
use crate::footprint::Shape;
use crate::geometry::geodesic::Geodesic;
use crate::geometry::spd::Spd;
use crate::gmml::low_rank::LearnedSpan;
use crate::gmml::regularize::Regularization;
use crate::gmml::select_t::{Watch, choose_rows, first_minimum, is_lack_of_pairs};
use crate::gmml::span::InSpan;
use crate::gmml::{Fit, Gmml, on_paper_scale};
use crate::metric::Metric;
use crate::neighbors::Knn;
use crate::neighbors::found::Neighbors;
use crate::neighbors::k_means::clusters;
use crate::scatter::all_pairs::{check_labels, degrees_of_freedom};
use crate::scatter::moments::{ClassMoments, Moments};
use crate::scatter::{PairCount, Scatter};
use faer::Mat;
use mahala_kernels::blas::syrk::Block;
use mahala_kernels::blas::{product, weighted_gram};

/// The parameters of a local fit.
///
/// ```
/// use mahala::{Dataset, Labels, LocalGmml, Rows};
/// // Class "a" is long in the first column, class "b" in the second.
/// let rows = vec![-4.0, 0.2, 4.0, -0.2, 2.0, 0.1, -2.0, 0.0, 6.0, 4.0, 6.2, -4.0, 5.8, 2.0, 6.1, -2.0];
/// let labels = Labels::new(["a", "a", "a", "a", "b", "b", "b", "b"]);
/// let data = Dataset::new(Rows::new(rows, 2)?, labels)?;
/// let local = LocalGmml::default().fit(&data)?;
/// assert_eq!(local.predict(&Rows::new(vec![6.0, 1.0, 1.0, 0.1], 2)?, 1)?, [1, 0]);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LocalGmml {
    /// How the global metric, and each group's own, are learned; t is chosen for the global one.
    pub gmml: Gmml,
    /// What a group is.
    pub by: Locality,
    /// s: how much of the way from the global metric to the group's own.
    pub share: Share,
}

/// What has a metric of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locality {
    /// Each class.
    Class,
    /// Each of this many clusters (k-means under the global metric).
    Cluster(usize),
}

/// How s is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Share {
    /// By cross-validation over [`SHARES`].
    CrossValidated,
    /// Given.
    Fixed(f64),
}

/// The values of s that are tried; the first of those with the least error wins, so that s = 0, the global metric,
/// stays unless another is better.
pub const SHARES: [f64; 6] = [0.0, 0.1, 0.25, 0.5, 0.75, 1.0];

/// What turns a global metric into local ones.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalMaps {
    maps: Vec<Mat<f64>>,
    groups: Vec<u32>,
}

/// Local metrics with the rows they were learned from.
#[derive(Debug, Clone)]
pub struct LocalMetrics {
    /// The global metric.
    pub fit: Fit,
    /// From it to each group's.
    pub maps: LocalMaps,
    /// The training rows, in the coordinates of the global metric, and their labels.
    pub references: (Rows, Labels),
    /// The s in use.
    pub share: f64,
    /// Every s tried, with its cross-validated error; empty if s was given.
    pub curve: Vec<(f64, f64)>,
}

/// The geodesics from the global metric to each group's; None for a group with nothing to learn from.
struct Paths {
    /// In the coordinates of the global metric: directions, and log Λ of mean 0.
    to_groups: Vec<Option<(Mat<f64>, Vec<f64>)>>,
    groups: Vec<u32>,
    rank: usize,
}

impl Default for LocalGmml {
    fn default() -> Self {
        Self { gmml: Gmml::default(), by: Locality::Class, share: Share::CrossValidated }
    }
}

impl LocalGmml {
    /// Learns the global metric, then one for each group.
    ///
    /// # Errors
    /// As [`Gmml::fit`]; a reduced rank, s outside [0, 1], no cluster, or more clusters than rows.
    pub fn fit(&self, data: &Dataset) -> Result<LocalMetrics> {
        self.fit_watched(data, &mut |_, _| true)
    }

    /// As [`LocalGmml::fit`]; `watch` as in [`Gmml::fit_watched`].
    ///
    /// # Errors
    /// As [`LocalGmml::fit`].
    pub fn fit_watched(&self, data: &Dataset, watch: &mut Watch<'_>) -> Result<LocalMetrics> {
        self.check(data.len())?;
        self.check_memory(data)?;
        if self.is_in_span(data) {
            check_labels(data.labels())?;
            let span = InSpan::of(data.rows(), self.gmml.standardize)?;
            let within = Dataset::new(span.rows.clone(), data.labels().clone())?;
            let gmml = Gmml { standardize: false, ..self.gmml.clone() };
            let mut local = Self { gmml, ..self.clone() }.fit_watched(&within, watch)?;
            let (directions, randomized) = (span.rows.columns(), false);
            local.fit.metric = span.composed(&local.fit.metric)?;
            local.fit.diagnostics.span = Some(LearnedSpan { directions, randomized, outside: 0.0 });
            local.fit.diagnostics.constant_columns = span.constant_columns();
            return Ok(local);
        }
        let fit = self.gmml.fit_watched(data, watch)?;
        let curve = match self.share {
            Share::Fixed(_) => Vec::new(),
            Share::CrossValidated => self.errors(data, fit.t, watch)?,
        };
        let share = match self.share {
            Share::Fixed(share) => share,
            Share::CrossValidated => {
                curve[first_minimum(&curve.iter().map(|point| point.1).collect::<Vec<_>>())].0
            }
        };
        let paths = self.paths(data, &fit.metric, fit.t)?;
        let z = fit.metric.transform(data.rows())?;
        let (maps, references) = (paths.at(share), (z, data.labels().clone()));
        Ok(LocalMetrics { fit, maps, references, share, curve })
    }

    /// Whether all metrics lie in the span of the rows, and turn with them.
    fn is_in_span(&self, data: &Dataset) -> bool {
        let plain = matches!(self.gmml.regularization, Regularization::None | Regularization::Lambda(0.0));
        data.columns() > data.len() && plain && self.gmml.principal.is_none()
    }

    /// A map for each group, the sums of each while they are made, and the fit of one.
    fn check_memory(&self, data: &Dataset) -> Result<()> {
        let shape = Shape::labelled(data.rows(), data.labels().class_count());
        let groups = match self.by {
            Locality::Class => shape.classes,
            Locality::Cluster(count) => count,
        };
        let numbers = if self.is_in_span(data) {
            shape.span() + shape.in_span().matrices(5.0 * groups as f64 + 12.0, 6.0)
        } else {
            shape.matrices(5.0 * groups as f64 + 12.0, 6.0)
        };
        self.gmml.check_memory("the local metrics", numbers, shape.columns, MemoryRemedy::Columns)
    }

    fn check(&self, rows: usize) -> Result<()> {
        if let Share::Fixed(share) = self.share
            && !(0.0..=1.0).contains(&share)
        {
            let value = share.to_string();
            return Err(Error::Parameter { name: "share", value, allowed: "between 0 and 1" });
        }
        if let Some(rank) = self.gmml.rank {
            let allowed = "left out: local metrics need all columns";
            return Err(Error::Parameter { name: "rank", value: rank.to_string(), allowed });
        }
        match self.by {
            Locality::Cluster(count) if !(1..=rows).contains(&count) => {
                let allowed = "at least 1 and at most the number of rows";
                Err(Error::Parameter { name: "clusters", value: count.to_string(), allowed })
            }
            _ => Ok(()),
        }
    }

    /// The cross-validated error of every s of [`SHARES`], on the folds that t was chosen on.
    fn errors(&self, data: &Dataset, t: f64, watch: &mut Watch<'_>) -> Result<Vec<(f64, f64)>> {
        let Gmml { seed, selection_rows, k, .. } = self.gmml;
        let chosen = choose_rows(data.len(), selection_rows, seed);
        let folds = self.gmml.divide(data.len(), chosen.as_deref(), None)?;
        let data = chosen.map_or_else(|| data.clone(), |rows| data.subset(&rows));
        let (mut wrong, mut tested) = ([0usize; SHARES.len()], 0);
        for fold in 0..folds.len() {
            let (train, test) = folds.split(fold);
            let (train, test) = (data.subset(&train), data.subset(&test));
            let solved = self.gmml.solve_labelled(&train, Stream::PairsOfFold(fold as u32));
            if solved.as_ref().is_err_and(is_lack_of_pairs) {
                continue;
            }
            let (solution, mean) = solved?;
            let metric = solution.metric(t)?.centred_at(mean)?;
            let paths = self.paths(&train, &metric, t)?;
            let (z, queries) = (metric.transform(train.rows())?, metric.transform(test.rows())?);
            for (wrong, share) in wrong.iter_mut().zip(SHARES) {
                let found = paths.at(share).search(&z, &queries, k.min(train.len()))?;
                let predicted = found.vote(train.labels());
                *wrong += predicted.iter().zip(test.labels().codes()).filter(|(p, c)| p != c).count();
                if !watch(fold, folds.len()) {
                    return Err(Error::Cancelled);
                }
            }
            tested += test.len();
        }
        if tested == 0 {
            return Err(Error::NoUsableFold { rows: data.len() });
        }
        Ok(SHARES.into_iter().zip(wrong).map(|(s, wrong)| (s, wrong as f64 / tested as f64)).collect())
    }

    /// The path from the global metric to that of each group, at the same t.
    fn paths(&self, data: &Dataset, metric: &Metric, t: f64) -> Result<Paths> {
        let (groups, scatters) = match self.by {
            Locality::Class => (data.labels().codes().to_vec(), scatters_of_classes(data)?),
            Locality::Cluster(count) => self.scatters_of_clusters(data, metric, count.min(data.len()))?,
        };
        let frame = Frame::new(metric)?;
        let path = |scatter: Result<Scatter>| -> Result<Option<(Mat<f64>, Vec<f64>)>> {
            let own = scatter.and_then(|scatter| {
                let scale = metric.scale().map(<[f64]>::to_vec);
                self.gmml.solve_scaled(scatter, scale)?.metric(t)
            });
            match own {
                Ok(own) => frame.path_to(&own),
                Err(error) if is_lack_of_pairs(&error) => Ok(None),
                Err(error) => Err(error),
            }
        };
        let to_groups = scatters.into_iter().map(path).collect::<Result<_>>()?;
        Ok(Paths { to_groups, groups, rank: metric.rank() })
    }

    /// Clusters under the global metric, and for each of them the pairs of its rows.
    fn scatters_of_clusters(
        &self,
        data: &Dataset,
        metric: &Metric,
        count: usize,
    ) -> Result<(Vec<u32>, Vec<Result<Scatter>>)> {
        let z = metric.transform(data.rows())?;
        let groups = clusters(&z, count, &mut Random::of(self.gmml.seed, Stream::Clusters))?;
        let scatter = |group: u32| {
            let rows: Vec<usize> = (0..groups.len()).filter(|&i| groups[i] == group).collect();
            self.gmml.scatter_of(&Moments::of(&data.subset(&rows))?)
        };
        let scatters = (0..count as u32).map(scatter).collect();
        Ok((groups, scatters))
    }
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

    /// The `k` nearest training rows of each query, each measured by the metric of its group; both in the
    /// coordinates of the global metric. Equal distances go to the earlier row.
    ///
    /// # Errors
    /// Another number of rows or columns than the maps have, or `k` that is 0 or above the number of rows.
    pub fn search(&self, rows: &Rows, queries: &Rows, k: usize) -> Result<Neighbors> {
        if rows.len() != self.groups.len() {
            let (seen, expected) = (rows.len(), self.groups.len());
            return Err(Error::Length { what: "training rows of local metrics", seen, expected });
        }
        if k == 0 || k > rows.len() {
            let allowed = "at least 1 and at most the number of rows searched";
            return Err(Error::Parameter { name: "k", value: k.to_string(), allowed });
        }
        let mut best: Vec<Vec<(f64, usize)>> = vec![Vec::new(); queries.len()];
        for (group, map) in self.maps.iter().enumerate() {
            let members: Vec<usize> = (0..rows.len()).filter(|&i| self.groups[i] as usize == group).collect();
            if members.is_empty() {
                continue;
            }
            let metric = Metric::computed(map.clone(), vec![0.0; map.ncols()], None)?;
            let knn = Knn::new(metric.transform(&rows.subset(&members))?)?;
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

impl Paths {
    /// The maps at s: `Λ^{s/2}Qᵀ`; nothing at all at s = 0.
    fn at(&self, share: f64) -> LocalMaps {
        let map = |path: &Option<(Mat<f64>, Vec<f64>)>| match path {
            Some((q, log)) if share > 0.0 => {
                Mat::from_fn(self.rank, self.rank, |i, j| (0.5 * share * log[i]).exp() * q[(i, j)])
            }
            _ => Mat::identity(self.rank, self.rank),
        };
        LocalMaps { maps: self.to_groups.iter().map(map).collect(), groups: self.groups.clone() }
    }
}

/// The global metric on the columns that vary, ready to be compared with others.
///
/// Where columns depend on others the metric has fewer coordinates z = Lx than columns. Then others are compared
/// with it in those coordinates, where it is the identity: rows do not vary in any other direction.
struct Frame {
    active: Vec<usize>,
    a: Spd,
    /// `L⁻¹ = A⁻¹Lᵀ`; the identity where coordinates are compared.
    inverse: Mat<f64>,
    /// `L⁺ = Lᵀ(LLᵀ)⁻¹`, which leads from coordinates back to columns, if they are fewer.
    back: Option<Mat<f64>>,
}

impl Frame {
    fn new(metric: &Metric) -> Result<Self> {
        let l = metric.components();
        let active: Vec<usize> = (0..l.ncols()).filter(|&j| l.col(j).iter().any(|x| *x != 0.0)).collect();
        let l = Mat::from_fn(l.nrows(), active.len(), |i, j| l[(i, active[j])]);
        let r = l.nrows();
        if r < active.len() {
            let products = Spd::named(weighted_gram(l.as_ref(), &vec![1.0; l.ncols()]), "the global metric")?;
            let back = product(l.transpose(), products.inverse()?.as_mat());
            return Ok(Self { active, a: Spd::identity(r), inverse: Mat::identity(r, r), back: Some(back) });
        }
        let a = Spd::named(weighted_gram(l.transpose(), &vec![1.0; l.nrows()]), "the global metric")?;
        let inverse = product(a.inverse()?.as_mat(), l.transpose());
        Ok(Self { active, a, inverse, back: None })
    }

    /// The geodesic to another metric, in the coordinates of this one; None if that is singular here.
    fn path_to(&self, own: &Metric) -> Result<Option<(Mat<f64>, Vec<f64>)>> {
        let l = own.components();
        let l = Mat::from_fn(l.nrows(), self.active.len(), |i, j| l[(i, self.active[j])]);
        let l = self.back.as_ref().map_or_else(|| l.clone(), |back| product(l.as_ref(), back.as_ref()));
        let own = match Spd::named(weighted_gram(l.transpose(), &vec![1.0; l.nrows()]), "a local metric") {
            Ok(own) => own,
            // A column that does not vary in this group: it says nothing about it.
            Err(Error::NotPositiveDefinite { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let path = Geodesic::between(&self.a, &own)?;
        let mean = path.log_eigenvalues().iter().sum::<f64>() / path.log_eigenvalues().len() as f64;
        let log = path.log_eigenvalues().iter().map(|log| log - mean).collect();
        Ok(Some((product(path.directions().transpose(), self.inverse.as_ref()), log)))
    }
}

/// For each class, its own pairs and those with rows of other classes.
fn scatters_of_classes(data: &Dataset) -> Result<Vec<Result<Scatter>>> {
    let moments = Moments::of(data)?;
    let named = |name: &String| moments.classes().iter().position(|class| class.name() == name);
    Ok(data.labels().names().iter().map(|name| one_against_rest(&moments, named(name))).collect())
}

/// The pairs within one class, and those between it and all others.
fn one_against_rest(moments: &Moments, class: Option<usize>) -> Result<Scatter> {
    let Some(c) = class else {
        return Err(Error::NoSimilarPair { reason: "a class has no row".to_owned() });
    };
    let (own, d) = (moments.class(c), moments.columns());
    let others = || moments.classes().iter().enumerate().filter(|(b, _)| *b != c).map(|(_, class)| class);
    let w = own.weight();
    let rest: f64 = others().map(ClassMoments::weight).sum();
    let s = Mat::from_fn(d, d, |i, j| if i >= j { w * own.scatter()[(i, j)] } else { 0.0 });
    let entry = |i: usize, j: usize| {
        let theirs: f64 = others().map(|class| class.scatter()[(i, j)]).sum();
        rest * own.scatter()[(i, j)] + w * theirs
    };
    let mut across = Mat::from_fn(d, d, |i, j| if i >= j { entry(i, j) } else { 0.0 });
    let mut block = Block::new(d, 1);
    for class in others() {
        let root = (w * class.weight()).sqrt();
        block.push(own.mean().iter().zip(class.mean()).map(|(a, b)| root * (a - b)));
        block.flush_into(across.as_mut());
    }
    let rows: u64 = others().map(ClassMoments::rows).sum();
    let similar =
        PairCount { pairs: own.rows() * own.rows().saturating_sub(1) / 2, weight: 0.5 * w * (w - 1.0) };
    let dissimilar = PairCount { pairs: own.rows() * rows, weight: w * rest };
    let samples = degrees_of_freedom([own.rows()].into_iter());
    let scatter = Scatter::assemble(s, across, moments.units().to_vec(), [similar, dissimilar], samples)?;
    Ok(on_paper_scale(scatter, moments.classes().len(), w + rest))
}
