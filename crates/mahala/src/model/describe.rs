//! Conversion of a fit to the content of a model file.

use crate::data::{Labels, Rows};
use crate::gmml::{Fit, Gmml};
use crate::kernel::gmml::{KernelFit, KernelGmml};
use crate::learner::{Learned, Learner};
use crate::metric::Metric;
use crate::model::Model;
use serde_json::json;

impl Fit {
    /// The model file's content for this fit; `references` are the training rows, not yet transformed.
    ///
    /// # Errors
    /// Rows that do not fit the metric.
    pub fn into_model(
        self,
        gmml: &Gmml,
        feature_names: Vec<String>,
        references: Option<(&Rows, &Labels)>,
        threshold: Option<f64>,
    ) -> crate::Result<Model> {
        let references = kept(&self.metric, references)?;
        let mut params = gmml.to_json();
        params["t_used"] = json!(self.t);
        Ok(Model {
            log_eigenvalues: self.diagnostics.log_eigenvalues.clone(),
            feature_names,
            references,
            threshold,
            params,
            diagnostics: self.diagnostics.to_json(),
            ..Model::new(self.metric)
        })
    }
}

impl Learned {
    /// The model file's content; `references` are the training rows, not yet transformed.
    ///
    /// # Errors
    /// Rows that do not fit the metric.
    pub fn into_model(
        self,
        method: &dyn Learner,
        standardize: bool,
        feature_names: Vec<String>,
        references: Option<(&Rows, &Labels)>,
        threshold: Option<f64>,
    ) -> crate::Result<Model> {
        let kept = |(rows, labels): (&Rows, &Labels)| -> crate::Result<_> {
            Ok((self.transform(rows)?, labels.clone()))
        };
        let references = references.map(kept).transpose()?;
        let mut params = method.parameters();
        params["method"] = json!(method.name());
        // A recipe of the automatic mode may standardise too.
        params["standardize"] = json!(standardize || params["standardize"] == true);
        Ok(Model {
            feature_names,
            references,
            threshold,
            params,
            diagnostics: self.report.to_json(),
            kernel: self.kernel,
            ..Model::new(self.metric)
        })
    }
}

/// The training rows as a model stores them: transformed.
fn kept(metric: &Metric, references: Option<(&Rows, &Labels)>) -> crate::Result<Option<(Rows, Labels)>> {
    references.map(|(rows, labels)| Ok((metric.transform(rows)?, labels.clone()))).transpose()
}
impl KernelFit {
    /// The model file's content for this fit: the metric inside the span it was learned in.
    pub fn into_model(self, gmml: &KernelGmml, feature_names: Vec<String>) -> Model {
        let mut params = gmml.gmml.to_json();
        params["t_used"] = json!(self.t);
        params["kernel"] = gmml.kernel.to_json();
        params["landmarks"] = json!(gmml.landmarks);
        let (kernel, metric) = self.metric.into_parts();
        Model {
            kernel: Some(kernel),
            log_eigenvalues: self.diagnostics.log_eigenvalues.clone(),
            feature_names,
            params,
            diagnostics: self.diagnostics.to_json(),
            ..Model::new(metric)
        }
    }
}
