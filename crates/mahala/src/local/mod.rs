//! Local metrics: one for each class, or each cluster of rows, on the geodesic from the global metric to its own.
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
//! Every metric is stored as a map of the coordinates in which the global one is Euclidean.

mod group_geodesics;
mod maps;
mod one_against_rest;

pub use maps::{LocalIndex, LocalMaps, LocalMetrics};

use crate::data::random::{Random, Stream};
use crate::data::{Dataset, Labels};
use crate::error::{Error, MemoryRemedy, Result};
use crate::footprint::Shape;
use crate::gmml::low_rank::LearnedSpan;
use crate::gmml::regularize::Regularization;
use crate::gmml::select_t::{choose_rows, first_minimum, is_lack_of_pairs};
use crate::gmml::span::InSpan;
use crate::gmml::{FitOptions, Gmml};
use crate::local::group_geodesics::{GlobalCoordinates, GroupGeodesics};
use crate::local::one_against_rest::scatters_of_classes;
use crate::metric::Metric;
use crate::neighbors::k_means::clusters;
use crate::progress::{Progress, Step, silent};
use crate::scatter::Scatter;
use crate::scatter::all_pairs::check_labels;
use crate::scatter::moments::Moments;
use faer::Mat;

/// The parameters of a local fit.
///
/// ```
/// use mahala::{Dataset, Labels, Rows};
/// use mahala::local::LocalGmml;
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
    /// The groups: classes or clusters.
    pub by: Locality,
    /// s: how much of the way from the global metric to the group's own.
    pub share: Share,
}

/// The groups of rows that have a metric of their own.
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

impl Default for LocalGmml {
    fn default() -> Self {
        Self { gmml: Gmml::default(), by: Locality::Class, share: Share::CrossValidated }
    }
}

impl LocalGmml {
    /// Learns the global metric, then one for each group.
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns too far apart
    /// in scale, or too much memory needed; a reduced rank, s outside [0, 1], no cluster, or more clusters than rows.
    pub fn fit(&self, data: &Dataset) -> Result<LocalMetrics> {
        self.fit_with(data, &FitOptions::default(), &mut silent)
    }

    /// Learns the global metric, then one for each group; folds keep the groups of rows of `options` whole.
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns too far apart
    /// in scale, or too much memory needed; a reduced rank, s outside [0, 1], no cluster, or more clusters than rows;
    /// weights that are negative, not finite, all 0, or not one a row; weights with sampled pairs or standardisation;
    /// another number of groups than of rows; [`Error::Cancelled`] if `progress` stops it; weights, which local
    /// metrics do not have.
    pub fn fit_with(
        &self,
        data: &Dataset,
        options: &FitOptions<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<LocalMetrics> {
        self.check(data.len())?;
        if options.weights.is_some() {
            let value = "given, with local metrics".to_owned();
            return Err(Error::Parameter {
                name: "weights",
                value,
                allowed: "left out: local metrics have none",
            });
        }
        self.check_memory(data)?;
        if self.is_in_span(data) {
            check_labels(data.labels())?;
            let span = InSpan::of(data.rows(), self.gmml.standardize)?;
            let within = Dataset::new(span.rows.clone(), data.labels().clone())?;
            let gmml = Gmml { standardize: false, ..self.gmml.clone() };
            let mut local = Self { gmml, ..self.clone() }.fit_with(&within, options, progress)?;
            let (directions, randomized) = (span.rows.columns(), false);
            local.fit.metric = span.composed(&local.fit.metric)?;
            local.fit.diagnostics.span = Some(LearnedSpan { directions, randomized, outside: 0.0 });
            local.fit.diagnostics.constant_columns = span.constant_columns();
            return Ok(local);
        }
        let fit = self.gmml.fit_with(data, options, progress)?;
        let curve = match self.share {
            Share::Fixed(_) => Vec::new(),
            Share::CrossValidated => self.errors(data, options.groups, fit.t, progress)?,
        };
        let share = match self.share {
            Share::Fixed(share) => share,
            Share::CrossValidated => {
                curve[first_minimum(&curve.iter().map(|point| point.1).collect::<Vec<_>>())].0
            }
        };
        let geodesics = self.geodesics(data, &fit.metric, fit.t)?;
        let z = fit.metric.transform(data.rows())?;
        let (maps, references) = (geodesics.at(share), (z, data.labels().clone()));
        Ok(LocalMetrics { fit, maps, references, share, curve })
    }

    /// Whether all metrics lie in the span of the rows, and are equivariant under their rotations.
    fn is_in_span(&self, data: &Dataset) -> bool {
        let plain = matches!(self.gmml.regularization, Regularization::None | Regularization::Lambda(0.0));
        data.columns() > data.len() && plain && self.gmml.principal.is_none()
    }

    /// Checks the memory of a map for each group, the sums of each while they are computed, and the fit of one.
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
    fn errors(
        &self,
        data: &Dataset,
        groups: Option<&Labels>,
        t: f64,
        progress: &mut Progress<'_>,
    ) -> Result<Vec<(f64, f64)>> {
        let Gmml { seed, selection_rows, k, .. } = self.gmml;
        let chosen = choose_rows(data.len(), selection_rows, seed);
        let folds = self.gmml.divide(data.len(), chosen.as_deref(), groups)?;
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
            let geodesics = self.geodesics(&train, &metric, t)?;
            let (z, queries) = (metric.transform(train.rows())?, metric.transform(test.rows())?);
            for (wrong, share) in wrong.iter_mut().zip(SHARES) {
                let found = geodesics.at(share).search(&z, &queries, k.min(train.len()))?;
                let predicted = found.vote(train.labels());
                *wrong += predicted.iter().zip(test.labels().codes()).filter(|(p, c)| p != c).count();
                if progress(Step::of(fold, folds.len())).is_break() {
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
    fn geodesics(&self, data: &Dataset, metric: &Metric, t: f64) -> Result<GroupGeodesics> {
        let (groups, scatters) = match self.by {
            Locality::Class => (data.labels().codes().to_vec(), scatters_of_classes(data)?),
            Locality::Cluster(count) => self.scatters_of_clusters(data, metric, count.min(data.len()))?,
        };
        let coordinates = GlobalCoordinates::new(metric)?;
        let path = |scatter: Result<Scatter>| -> Result<Option<(Mat<f64>, Vec<f64>)>> {
            let own = scatter.and_then(|scatter| {
                let scale = metric.scale().map(<[f64]>::to_vec);
                self.gmml.solve_scaled(scatter, scale)?.metric(t)
            });
            match own {
                Ok(own) => coordinates.path_to(&own),
                Err(error) if is_lack_of_pairs(&error) => Ok(None),
                Err(error) => Err(error),
            }
        };
        let to_groups = scatters.into_iter().map(path).collect::<Result<_>>()?;
        Ok(GroupGeodesics { to_groups, groups, rank: metric.rank() })
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
