//! Probability calibration (Platt scaling, isotonic regression): from the distance of a pair to the probability
//! that it is similar.
//!
//! # Formula
//! ```text
//! Platt:     P(similar | x) = 1/(1 + exp(a·x + b)),  a and b of greatest likelihood for the targets
//!            (w₊ + 1)/(w₊ + 2) of similar and 1/(w₋ + 2) of dissimilar pairs (w₊, w₋: their weights)
//! isotonic:  the step function, falling in the distance x, of least squared error to 1 and 0 (pool adjacent
//!            violators), with straight lines between its steps
//! ```
//! Platt's two numbers are found by Newton's method with halved steps (Lin, Lin, Weng, "A note on Platt's
//! probabilistic outputs", 2007). Both are to be fitted on pairs the metric was not learned from: under it,
//! training pairs are too near and too far. [`Gmml::held_out_pairs`] and [`Gmml::held_out_rows`] make them.

use crate::error::{Error, Result};
use crate::pairs::Pairs;
use serde_json::{Value, json};

/// A calibration curve: a probability for every distance.
///
/// ```
/// use mahala::metric::Calibration;
/// use mahala::pairs::{Pair, Pairs};
/// let similar = [true, true, true, false, true, false, false];
/// let pairs = similar.map(|same| if same { Pair::similar(0, 1) } else { Pair::dissimilar(0, 1) });
/// let pairs = Pairs::new(pairs.to_vec(), 2, 2)?;
/// let distances = [0.1, 0.3, 0.4, 0.6, 0.7, 1.1, 1.5];
/// let platt = Calibration::platt(&distances, &pairs)?;
/// assert!(platt.probability(0.2) > 0.8 && platt.probability(1.4) < 0.2);
/// let isotonic = Calibration::isotonic(&distances, &pairs)?;
/// assert_eq!(isotonic.probability(0.65), 0.5); // one of the two there is similar
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Calibration {
    /// `1/(1 + exp(a·distance + b))`.
    Platt {
        /// The slope; above 0 if near pairs are similar.
        a: f64,
        /// The offset.
        b: f64,
    },
    /// Straight lines between these points, constant beyond them.
    Isotonic {
        /// The distances, ascending.
        distances: Vec<f64>,
        /// The probabilities, not ascending, in [0, 1].
        probabilities: Vec<f64>,
    },
}

/// Steps of Newton's method; ten are usual.
const MOST_STEPS: usize = 100;
/// How many times the 90 % quantile a distance may count. A curve that is of use has reached 0 there.
const OUTLYING: f64 = 3.0;

impl Calibration {
    /// Platt scaling.
    ///
    /// A distance beyond three times the 90 % quantile counts as that much: one similar pair of a distance in the thousands, as a column
    /// that did not vary among the pairs learned on makes it, would draw the whole curve to ½.
    ///
    /// # Errors
    /// Another number of distances than of pairs, a distance that is not finite, or no pair of one kind.
    pub fn platt(distances: &[f64], pairs: &Pairs) -> Result<Self> {
        let [w_similar, w_dissimilar] = check(distances, pairs)?;
        let targets = [(w_similar + 1.0) / (w_similar + 2.0), 1.0 / (w_dissimilar + 2.0)];
        let farthest = OUTLYING * quantile(distances, 0.9);
        let near: Vec<f64> =
            distances.iter().map(|&x| if farthest > 0.0 { x.min(farthest) } else { x }).collect();
        // In units of the mean distance, for Newton's equations to be well scaled.
        let mean = near.iter().map(|x| x / near.len() as f64).sum::<f64>();
        let unit = if mean > 0.0 { mean } else { 1.0 };
        let points: Vec<[f64; 3]> = near
            .iter()
            .zip(pairs.as_slice())
            .map(|(x, pair)| [x / unit, targets[usize::from(!pair.similar)], pair.weight])
            .collect();
        let [a, b] = newton(&points, [0.0, ((w_dissimilar + 1.0) / (w_similar + 1.0)).ln()]);
        Ok(Self::Platt { a: a / unit, b })
    }

    /// Isotonic regression, falling in the distance.
    ///
    /// # Errors
    /// Another number of distances than of pairs, a distance that is not finite, or no pair of one kind.
    pub fn isotonic(distances: &[f64], pairs: &Pairs) -> Result<Self> {
        check(distances, pairs)?;
        let mut order: Vec<usize> =
            (0..distances.len()).filter(|&i| pairs.as_slice()[i].weight > 0.0).collect();
        order.sort_by(|&i, &j| distances[i].total_cmp(&distances[j]));
        // Blocks of first and last distance, weight, and share of similar pairs.
        let mut blocks: Vec<(f64, f64, f64, f64)> = Vec::new();
        for tied in order.chunk_by(|&i, &j| distances[i] == distances[j]) {
            let pairs = || tied.iter().map(|&i| &pairs.as_slice()[i]);
            let weight: f64 = pairs().map(|pair| pair.weight).sum();
            let similar: f64 = pairs().filter(|pair| pair.similar).map(|pair| pair.weight).sum();
            let mut block = (distances[tied[0]], distances[tied[0]], weight, similar / weight);
            while let Some(&(first, _, w, share)) = blocks.last()
                && share <= block.3
            {
                block = (first, block.1, w + block.2, (w * share + block.2 * block.3) / (w + block.2));
                blocks.pop();
            }
            blocks.push(block);
        }
        let mut knots: Vec<(f64, f64)> =
            blocks.iter().flat_map(|&(first, last, _, share)| [(first, share), (last, share)]).collect();
        knots.dedup();
        let (distances, probabilities) = knots.into_iter().unzip();
        Ok(Self::Isotonic { distances, probabilities })
    }

    /// The probability that a pair this far apart is similar.
    pub fn probability(&self, distance: f64) -> f64 {
        match self {
            Self::Platt { a, b } => logistic(a * distance + b),
            Self::Isotonic { distances, probabilities } => {
                let after = distances.partition_point(|&x| x <= distance);
                let last = distances.len() - 1;
                if after == 0 || after > last {
                    return probabilities[after.min(last)];
                }
                let (x0, x1) = (distances[after - 1], distances[after]);
                let (p0, p1) = (probabilities[after - 1], probabilities[after]);
                p0 + (p1 - p0) * ((distance - x0) / (x1 - x0))
            }
        }
    }

    /// The calibration, for files.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Platt { a, b } => json!({"method": "platt", "a": a, "b": b}),
            Self::Isotonic { distances, probabilities } => {
                json!({"method": "isotonic", "distances": distances, "probabilities": probabilities})
            }
        }
    }

    /// Reads what [`Calibration::to_json`] wrote.
    ///
    /// # Errors
    /// Whatever cannot be a calibration: an unknown method, missing numbers, probabilities that rise.
    pub fn from_json(value: &Value) -> Result<Self> {
        let invalid = |reason: &str| Error::Bytes { what: "calibration", reason: reason.to_owned() };
        let number = |key: &str| value[key].as_f64().ok_or_else(|| invalid(&format!("'{key}' is no number")));
        let list = |key: &str| -> Result<Vec<f64>> {
            let list: Option<Vec<f64>> =
                value[key].as_array().into_iter().flatten().map(Value::as_f64).collect();
            list.filter(|list| !list.is_empty())
                .ok_or_else(|| invalid(&format!("'{key}' is no list of numbers")))
        };
        match value["method"].as_str() {
            Some("platt") => Ok(Self::Platt { a: number("a")?, b: number("b")? }),
            Some("isotonic") => {
                let (distances, probabilities) = (list("distances")?, list("probabilities")?);
                let ordered =
                    distances.is_sorted_by(|a, b| a < b) && probabilities.is_sorted_by(|a, b| a >= b);
                let inside = probabilities.iter().all(|p| (0.0..=1.0).contains(p));
                if !(ordered && inside && distances.len() == probabilities.len()) {
                    return Err(invalid("distances must rise, and as many probabilities fall from 1 to 0"));
                }
                Ok(Self::Isotonic { distances, probabilities })
            }
            _ => Err(invalid("its method is neither 'platt' nor 'isotonic'")),
        }
    }
}

/// The weights of similar and of dissimilar pairs; both must be present.
fn check(distances: &[f64], pairs: &Pairs) -> Result<[f64; 2]> {
    if distances.len() != pairs.len() {
        return Err(Error::Length {
            what: "distances of pairs",
            seen: distances.len(),
            expected: pairs.len(),
        });
    }
    if let Some(&bad) = distances.iter().find(|x| !x.is_finite()) {
        return Err(Error::Parameter { name: "distance", value: bad.to_string(), allowed: "finite" });
    }
    let weight_of = |kind: bool| -> f64 {
        pairs.as_slice().iter().filter(|pair| pair.similar == kind).map(|pair| pair.weight).sum()
    };
    let reason = || format!("of the {} pairs to calibrate on none is so marked", pairs.len());
    match [weight_of(true), weight_of(false)] {
        [similar, _] if similar <= 0.0 => Err(Error::NoSimilarPair { reason: reason() }),
        [_, dissimilar] if dissimilar <= 0.0 => Err(Error::NoDissimilarPair { reason: reason() }),
        weights => Ok(weights),
    }
}

/// Minimises `Σ w [y·f + log(1 + exp(−f))]` with `f = a·x + b`, from points (x, y, w).
fn newton(points: &[[f64; 3]], start: [f64; 2]) -> [f64; 2] {
    let loss = |[a, b]: [f64; 2]| -> f64 {
        let term = |&[x, y, w]: &[f64; 3]| {
            let f = a * x + b;
            // log(1 + exp(−f)) without overflow.
            w * (y * f + (-f).max(0.0) + (-f.abs()).exp().ln_1p())
        };
        points.iter().map(term).sum()
    };
    let (mut at, mut least) = (start, loss(start));
    for _ in 0..MOST_STEPS {
        let step = newton_step(points, at);
        let mut length = 1.0;
        let next = loop {
            let next = [at[0] + length * step[0], at[1] + length * step[1]];
            if loss(next) < least {
                break Some(next);
            }
            length *= 0.5;
            if length < 1e-10 {
                break None;
            }
        };
        let Some(next) = next else { break };
        (at, least) = (next, loss(next));
    }
    at
}

/// `−H⁻¹g` of the loss at (a, b).
fn newton_step(points: &[[f64; 3]], [a, b]: [f64; 2]) -> [f64; 2] {
    // A small ridge, for distances that are all equal.
    let (mut g, mut h) = ([0.0; 2], [1e-12, 0.0, 1e-12]);
    for &[x, y, w] in points {
        let p = logistic(a * x + b);
        let (slope, curve) = (w * (y - p), w * p * (1.0 - p));
        g = [g[0] + slope * x, g[1] + slope];
        h = [h[0] + curve * x * x, h[1] + curve * x, h[2] + curve];
    }
    let determinant = h[0] * h[2] - h[1] * h[1];
    [-(h[2] * g[0] - h[1] * g[1]) / determinant, -(h[0] * g[1] - h[1] * g[0]) / determinant]
}

/// The value below which this share of the values lies.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

/// `1/(1 + exp(f))`, without overflow.
fn logistic(f: f64) -> f64 {
    if f >= 0.0 { (-f).exp() / (1.0 + (-f).exp()) } else { 1.0 / (1.0 + f.exp()) }
}
