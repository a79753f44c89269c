//! Local metrics and probabilities, as they are typed.

use anyhow::Result;
use clap::{Args, ValueEnum};
use mahala::gmml::HeldOut;
use mahala::local::{Locality, Share};
use mahala::metric::Calibration;
use std::str::FromStr;

/// Local metrics.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Method")]
pub(crate) struct ExtensionArgs {
    /// A metric for each class, or for each of K clusters, used by `predict`
    #[arg(long, value_name = "class|cluster:K", hide_short_help = true)]
    pub local: Option<LocalBy>,
    /// How far local metrics are from the global one (0) to their own (1): 'auto' (cross-validated) or a number
    #[arg(long, default_value = "auto", value_name = "auto|NUMBER", value_parser = share, requires = "local")]
    #[arg(hide_short_help = true)]
    pub share: Share,
}

/// How distances become probabilities.
#[derive(ValueEnum, Debug, Clone, Copy)]
pub(crate) enum CalibrationMethod {
    /// A logistic curve: for few pairs
    Platt,
    /// Any falling curve: for thousands of pairs
    Isotonic,
}

/// What has a metric of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalBy(pub Locality);

impl FromStr for LocalBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let count = text.strip_prefix("cluster:").map(str::parse::<usize>);
        match (text, count) {
            ("class", _) => Ok(Self(Locality::Class)),
            (_, Some(Ok(count))) if count > 0 => Ok(Self(Locality::Cluster(count))),
            _ => Err("'class', or 'cluster:' and a number, such as cluster:8".into()),
        }
    }
}

impl CalibrationMethod {
    pub(crate) fn fit(self, held: &HeldOut) -> mahala::Result<Calibration> {
        match self {
            Self::Platt => Calibration::platt(&held.distances, &held.pairs),
            Self::Isotonic => Calibration::isotonic(&held.distances, &held.pairs),
        }
    }
}

impl std::fmt::Display for LocalBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Locality::Class => f.write_str("class"),
            Locality::Cluster(count) => write!(f, "cluster:{count}"),
        }
    }
}

fn share(text: &str) -> Result<Share, String> {
    match (text, text.parse::<f64>()) {
        ("auto", _) => Ok(Share::CrossValidated),
        (_, Ok(share)) if (0.0..=1.0).contains(&share) => Ok(Share::Fixed(share)),
        _ => Err("'auto' or a number between 0 and 1".into()),
    }
}
