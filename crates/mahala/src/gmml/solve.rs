//! Solution of GMML for every t at once: scatter, regularisation, factorisation (eqs. 15 and 16).

use crate::data::Dataset;
use crate::data::column_stats::{ColumnStatistics, mean_and_scale};
use crate::data::random::{Random, Stream};
use crate::error::Result;
use crate::geometry::geodesic::{Accuracy, Geodesic};
use crate::gmml::regularize::prepare;
use crate::gmml::solution::Solution;
use crate::gmml::{Gmml, PairRule};
use crate::pairs::{Pairs, pair_budget};
use crate::scatter::Scatter;
use crate::scatter::all_pairs::check_labels;
use crate::scatter::balanced::Balance;
use crate::scatter::class_moments::ClassMoments;
use crate::scatter::moments::Moments;
use faer::Mat;
use mahala_kernels::workspace::Workspace;

impl Gmml {
    /// Solves for every t at once.
    ///
    /// # Errors
    /// No column that varies, columns too far apart in scale, or a prior that does not fit.
    pub fn solve(&self, scatter: &Scatter) -> Result<Solution> {
        self.solve_owned(scatter.clone(), Workspace::default())
    }

    /// [`Gmml::solve`] with small eigenvalues to `eps·λ_max` alone, for trials that are judged by votes.
    pub(crate) fn solve_norm_wise(&self, scatter: &Scatter) -> Result<Solution> {
        self.solve_to(scatter.clone(), Some(Accuracy::NormWise), Workspace::default())
    }

    fn solve_owned(&self, scatter: Scatter, workspace: Workspace) -> Result<Solution> {
        self.solve_to(scatter, None, workspace)
    }

    fn solve_to(
        &self,
        scatter: Scatter,
        accuracy: Option<Accuracy>,
        mut workspace: Workspace,
    ) -> Result<Solution> {
        let (columns, counts) = (scatter.columns(), [scatter.similar(), scatter.dissimilar()]);
        let mut prepared = prepare(scatter, self.regularization, &self.prior, &mut workspace)?;
        // The memory of D is reused, unless the metric is to be reduced.
        let d = if self.rank.is_some() {
            prepared.d.clone()
        } else {
            std::mem::replace(&mut prepared.d, Mat::new())
        };
        let full = if prepared.ridge > 0.0 { Accuracy::RelativeAboveRidge } else { Accuracy::Relative };
        let geodesic =
            Geodesic::from_factor(prepared.l.as_ref(), d, accuracy.unwrap_or(full), &mut workspace)?;
        Ok(Solution::new(columns, counts, prepared, geodesic, self.rank.is_some(), &mut workspace))
    }

    /// The solution for labelled rows and their mean; `stream` is for a draw of pairs.
    pub(crate) fn solve_labelled(&self, data: &Dataset, stream: Stream) -> Result<(Solution, Vec<f64>)> {
        let mean_and_scale = || mean_and_scale(data.rows(), data.rows(), self.standardize);
        match self.pairs {
            PairRule::All if self.balance != Balance::None => {
                let (mean, scale) = mean_and_scale();
                Ok((self.solve_moments(&Moments::of(data)?, scale)?, mean))
            }
            PairRule::All => {
                let (scatter, mean) = Scatter::all_pairs_of(data)?;
                let classes = data.labels().class_sizes().iter().filter(|&&size| size > 0).count();
                let scatter = on_paper_scale(scatter, classes, data.len() as f64);
                let scale = self.standardize.then(|| ColumnStatistics::of(data.rows()).scale);
                Ok((self.solve_scaled(scatter, scale)?, mean))
            }
            PairRule::Sampled => {
                check_labels(data.labels())?;
                let pairs = Pairs::sampled(data.labels(), &mut Random::of(self.seed, stream));
                let (mean, scale) = mean_and_scale();
                let scatter = Scatter::from_pairs(data.rows(), &pairs)?;
                Ok((self.solve_scaled(scatter, scale)?, mean))
            }
        }
    }

    /// The solution for moments of labelled rows, and the scale to divide their columns by.
    pub(crate) fn solve_moments(&self, moments: &Moments, scale: Option<Vec<f64>>) -> Result<Solution> {
        self.solve_scaled(self.scatter_of(moments)?, scale)
    }

    /// The scatter of all pairs from moments, balanced, on the paper's scale.
    pub(crate) fn scatter_of(&self, moments: &Moments) -> Result<Scatter> {
        let classes = moments.classes().iter().filter(|class| class.rows() > 0).count();
        let weight = moments.classes().iter().map(ClassMoments::weight).sum();
        Ok(on_paper_scale(Scatter::balanced(moments, self.balance)?, classes, weight))
    }

    /// Solves for every t at once, after dividing the columns by a scale.
    pub(crate) fn solve_scaled(&self, scatter: Scatter, scale: Option<Vec<f64>>) -> Result<Solution> {
        let Some(scale) = scale else { return self.solve_owned(scatter, Workspace::default()) };
        let solution = self.solve_owned(scatter.standardized(&scale), Workspace::default())?;
        Ok(solution.with_scale(scale))
    }
}

/// All pairs, scaled to what the paper's draw of `40c(c−1)` would sum to on average, so that λ
/// means the same for both. Without λ the factor changes no neighbour.
pub(crate) fn on_paper_scale(scatter: Scatter, classes: usize, weight: f64) -> Scatter {
    scatter.scaled(2.0 * pair_budget(classes) as f64 / (weight * weight))
}
