//! Column means of the training rows, for the imputation of missing cells.

use crate::data::Rows;
use crate::data::column_stats::ColumnStatistics;
use crate::model::Model;

impl Model {
    /// The mean of each column over the training rows; `None` if the model does not contain it, as for the
    /// Euclidean distance and for metrics with a kernel in files of version 0.1.0.
    pub fn training_means(&self) -> Option<&[f64]> {
        if let Some(means) = &self.column_means {
            return Some(means);
        }
        // A metric with mean 0 may have been learned on any rows.
        let moved = self.metric.mean().iter().any(|&mean| mean != 0.0);
        let method = self.params["method"].as_str().unwrap_or_default();
        let centred = moved || !["euclidean", "itml"].contains(&method);
        (self.kernel.is_none() && centred).then(|| self.metric.mean())
    }

    /// Stores the means of the training rows' columns, if the metric does not hold them.
    ///
    /// ```
    /// use mahala::{Metric, Model, Rows};
    /// let mut model = Model::new(Metric::euclidean(1));
    /// model.params["method"] = "euclidean".into();
    /// assert_eq!(model.training_means(), None);
    /// model.keep_training_means(&Rows::new(vec![1.0, 3.0], 1)?);
    /// assert_eq!(model.training_means(), Some(&[2.0][..]));
    /// # Ok::<(), mahala::Error>(())
    /// ```
    pub fn keep_training_means(&mut self, rows: &Rows) {
        if self.training_means().is_none() && rows.columns() == self.columns() {
            self.column_means = Some(ColumnStatistics::of(rows).mean);
        }
    }
}
