//! The methods that can be compared, behind one face.

use anyhow::{Result, bail};
use clap::ValueEnum;
use mahala::{ColumnStatistics, Dataset, Fit, Gmml, Mat, Metric, TChoice};

/// A method of `evaluate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// No learning: the plain distance
    Euclidean,
    /// Geometric mean metric learning
    Gmml,
}

/// What a method learned.
pub(crate) struct Learned {
    pub metric: Metric,
    pub t: Option<f64>,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Euclidean => "euclidean",
            Self::Gmml => "gmml",
        }
    }

    /// Learns a metric, choosing what is left open.
    pub(crate) fn learn(self, gmml: &Gmml, data: &Dataset) -> Result<Learned> {
        match self {
            Self::Euclidean => Ok(Learned { metric: euclidean(gmml, data)?, t: None }),
            Self::Gmml => {
                let Fit { metric, t, .. } = gmml.fit(data)?;
                Ok(Learned { metric, t: Some(t) })
            }
        }
    }

    /// The same parameters with every choice made: what one fit alone costs.
    pub(crate) fn fixed(gmml: &Gmml, learned: &Learned) -> Gmml {
        Gmml { t: learned.t.map_or(gmml.t, TChoice::Fixed), ..gmml.clone() }
    }
}

/// The plain distance, of standardised columns if so asked: then methods differ in the metric alone.
fn euclidean(gmml: &Gmml, data: &Dataset) -> Result<Metric> {
    let d = data.columns();
    if d > 20_000 {
        bail!(
            "the Euclidean metric of {d} columns has {:.0} GB\nhint: --methods gmml",
            8e-9 * (d as f64).powi(2)
        );
    }
    let statistics = ColumnStatistics::of(data.rows());
    let scale = gmml.standardize.then_some(statistics.scale);
    Ok(Metric::new(Mat::identity(d, d), vec![0.0; d], scale)?)
}
