//! An adaptation as a model file.

use crate::embeddings::Adaptation;
use crate::embeddings::map::LinearMap;
use crate::embeddings::report::Report;
use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::model::Model;
use crate::retrieval::Similarity;
use serde_json::{Value, json};

impl Adaptation {
    /// The model file's content: the linear map, what it is searched by, and the report.
    pub fn to_model(&self) -> Model {
        let params = json!({
            "method": "embeddings", "metric": self.similarity.to_string(), "classes": self.classes.to_string(),
            "member": self.member,
        });
        let mut diagnostics = self.report.as_ref().map_or_else(|| json!({}), Report::to_json);
        diagnostics["reason"] = json!(self.reason);
        let metric = Metric::computed(self.map.components().to_owned(), self.map.mean().to_vec(), None);
        Model {
            params,
            diagnostics,
            ..Model::new(metric.unwrap_or_else(|_| Metric::euclidean(self.map.mean().len())))
        }
    }

    /// What a model file describes, without the report.
    ///
    /// # Errors
    /// A model of another method, or with parameters that cannot be.
    pub fn from_model(model: &Model) -> Result<Self> {
        let method = model.params.get("method").and_then(Value::as_str).unwrap_or("gmml");
        let invalid = |reason: String| Error::Bytes { what: "model of an adapter", reason };
        if method != "embeddings" {
            return Err(invalid(format!("the model is of method '{method}'; read it as any other model")));
        }
        let text = |name: &str| model.params.get(name).and_then(Value::as_str).unwrap_or_default();
        let member = model.params.get("member").cloned().unwrap_or_default();
        let member =
            serde_json::from_value(member).map_err(|error| invalid(format!("its member: {error}")))?;
        let reason = model.diagnostics.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned();
        let map = LinearMap::new(model.metric.components().to_owned(), model.metric.mean().to_vec());
        let (similarity, classes) = (text("metric").parse()?, text("classes").parse()?);
        Ok(Self { map, similarity, classes, member, report: None, reason })
    }
}

impl Model {
    /// By which similarity transformed rows are to be searched, if the model is an adapter's, or was chosen for the cosine: said
    /// once, checked ever after.
    pub fn searched_by(&self) -> Option<Similarity> {
        let adapted = Adaptation::from_model(self).ok().map(|adaptation| adaptation.similarity());
        adapted.or_else(|| Some(self.similarity()).filter(|&similarity| similarity == Similarity::Cosine))
    }
}
