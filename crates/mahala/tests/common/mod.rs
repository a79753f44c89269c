//! What the tests share: matrices with a chosen condition, small data sets, the bundled files.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use mahala::data::Random;
use mahala::geometry::Spd;
use mahala::neighbors::wrong_votes;
use mahala::scatter::Scatter;
use mahala::{Dataset, Labels, Mat, MatRef, Model, Rows};
use std::path::PathBuf;

pub(crate) const EPS: f64 = f64::EPSILON;

/// A draw from the standard normal distribution (Box and Muller).
pub(crate) fn gaussian(random: &mut Random) -> f64 {
    let (u, v) = (1.0 - random.uniform(), random.uniform());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Test rows that five training rows put into a wrong class under a model's metric.
pub(crate) fn wrong(model: &Model, train: &Dataset, test: &Dataset) -> usize {
    let seen =
        |part: &Dataset| Dataset::new(model.transform(part.rows()).unwrap(), part.labels().clone()).unwrap();
    wrong_votes(&seen(train), &seen(test), 5).unwrap()
}

/// A random matrix with orthonormal columns (Gram and Schmidt, twice).
pub(crate) fn orthogonal(d: usize, random: &mut Random) -> Mat<f64> {
    let mut q: Mat<f64> = Mat::from_fn(d, d, |_, _| gaussian(random));
    for j in 0..d {
        for _ in 0..2 {
            for k in 0..j {
                let dot: f64 = (0..d).map(|i| q[(i, k)] * q[(i, j)]).sum();
                (0..d).for_each(|i| q[(i, j)] -= dot * q[(i, k)]);
            }
            let norm = (0..d).map(|i| q[(i, j)].powi(2)).sum::<f64>().sqrt();
            (0..d).for_each(|i| q[(i, j)] /= norm);
        }
    }
    q
}

/// `Q·diag(entries)·Qᵀ`, exactly symmetric.
pub(crate) fn with_spectrum(q: &Mat<f64>, entries: &[f64]) -> Spd {
    let d = entries.len();
    let entry = |i: usize, j: usize| (0..d).map(|k| q[(i, k)] * entries[k] * q[(j, k)]).sum::<f64>();
    Spd::new(Mat::from_fn(d, d, |i, j| if i >= j { entry(i, j) } else { entry(j, i) })).unwrap()
}

/// A random matrix with eigenvalues evenly spaced in their logarithms from 1 to `condition`.
pub(crate) fn spd(d: usize, condition: f64, seed: u64) -> Spd {
    let mut random = Random::new(seed, 7);
    let step = |k: usize| if d == 1 { 0.5 } else { k as f64 / (d - 1) as f64 };
    let entries: Vec<f64> = (0..d).map(|k| condition.powf(step(k))).collect();
    with_spectrum(&orthogonal(d, &mut random), &entries)
}

/// `S` and `D` as sums of differences: the columns of their Cholesky factors.
pub(crate) fn scatter_of(s: &Spd, d: &Spd) -> Scatter {
    let n = s.dimension();
    let columns = |m: &Spd| -> Vec<f64> {
        let l = m.cholesky();
        (0..n).flat_map(|k| (0..n).map(move |i| l[(i, k)])).collect()
    };
    let rows = Rows::new([columns(s), columns(d)].concat(), n).unwrap();
    let similar: Vec<bool> = (0..2 * n).map(|i| i < n).collect();
    Scatter::from_differences(&rows, &similar, None).unwrap()
}

/// `‖a − b‖_F / ‖b‖_F`, without over- or underflow.
pub(crate) fn relative_difference(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> f64 {
    let scale = 1.0 / b.norm_max();
    let cells = || (0..b.ncols()).flat_map(|j| (0..b.nrows()).map(move |i| (i, j)));
    let difference = cells().fold(0.0, |sum: f64, c| sum.hypot((a[c] - b[c]) * scale));
    difference / cells().fold(0.0, |sum: f64, c| sum.hypot(b[c] * scale))
}

/// A table from its rows.
pub(crate) fn table<const N: usize>(rows: &[[f64; N]]) -> Rows {
    Rows::new(rows.concat(), N).unwrap()
}

/// A data set from its rows and labels.
pub(crate) fn labelled<const N: usize>(rows: &[[f64; N]], labels: &[&str]) -> Dataset {
    Dataset::new(table(rows), Labels::new(labels)).unwrap()
}

/// `n` rows of normal noise in `d` columns; class `i % c` is moved by `i % c` in every column.
pub(crate) fn blobs(n: usize, d: usize, c: usize, seed: u64) -> Dataset {
    let mut random = Random::new(seed, 3);
    let values = (0..n * d).map(|cell| gaussian(&mut random) + ((cell / d) % c) as f64).collect();
    let labels = Labels::new((0..n).map(|i| (i % c).to_string()));
    Dataset::new(Rows::new(values, d).unwrap(), labels).unwrap()
}

/// Groups of rows that are nearly alike, and the group of each; the class of a group is chance.
pub(crate) fn repeated(groups: usize, each: usize, seed: u64) -> (Dataset, Labels) {
    let mut random = Random::new(seed, 5);
    let (mut values, mut classes, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for group in 0..groups {
        let (centre, class) = ([(); 3].map(|()| gaussian(&mut random)), random.below(2));
        for _ in 0..each {
            values.extend(centre.map(|x| x + 1e-3 * gaussian(&mut random)));
            classes.push(class.to_string());
            names.push(group.to_string());
        }
    }
    (Dataset::new(Rows::new(values, 3).unwrap(), Labels::new(classes)).unwrap(), Labels::new(names))
}

/// The same rows with column `j` multiplied by `factors[j]`.
pub(crate) fn rescaled(data: &Dataset, factors: &[f64]) -> Dataset {
    let d = data.columns();
    let values = data.rows().values().iter().enumerate().map(|(cell, x)| x * factors[cell % d]).collect();
    Dataset::new(Rows::new(values, d).unwrap(), data.labels().clone()).unwrap()
}

/// A file of the repository's `data` folder: label last, a header first.
pub(crate) fn bundled(name: &str) -> Dataset {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let (mut values, mut labels, mut columns) = (Vec::new(), Vec::new(), 0);
    for line in text.lines().skip(1) {
        let (cells, label) = line.rsplit_once(',').unwrap();
        columns = cells.split(',').count();
        values.extend(cells.split(',').map(|cell| cell.parse::<f64>().unwrap()));
        labels.push(label);
    }
    Dataset::new(Rows::new(values, columns).unwrap(), Labels::new(labels)).unwrap()
}

/// A file of `tests/reference`.
pub(crate) fn reference(name: &str) -> serde_json::Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/reference").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A number of a reference file, written as a number or as text with 25 digits.
pub(crate) fn number(value: &serde_json::Value) -> f64 {
    value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

/// A list of numbers of a reference file.
pub(crate) fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

/// A square matrix of a reference file, row by row.
pub(crate) fn matrix(value: &serde_json::Value) -> Mat<f64> {
    let cells = numbers(value);
    let d = cells.len().isqrt();
    Mat::from_fn(d, d, |i, j| cells[i * d + j])
}

/// Random halves of the rows: even and odd places of a permutation.
pub(crate) fn halves(data: &Dataset, seed: u64) -> (Dataset, Dataset) {
    let order = Random::new(seed, 9).permutation(data.len());
    let half = |odd: usize| -> Vec<usize> { order.iter().copied().skip(odd).step_by(2).collect() };
    (data.subset(&half(0)), data.subset(&half(1)))
}
