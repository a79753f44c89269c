//! Closed forms against their formulas, evaluated by plain loops.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../mahala/tests/common/mod.rs"]
mod common;

use common::{blobs, bundled, numbers, reference, relative_difference, rescaled};
use mahala::learner::{Learner, Training};
use mahala::pairs::{Chunklets, Pairs};
use mahala::progress::silent;
use mahala::{Dataset, Labels, Mat, Rows};
use mahala_baselines::{Dmlmj, Embedding, Kissme, Lda, Lfda, Rca, Xqda};

fn matrix(method: &dyn Learner, training: &Training<'_>) -> Mat<f64> {
    method.learn(training, &mut silent).unwrap().metric.matrix().unwrap()
}

/// The inverse by Gauss and Jordan's elimination with row exchanges.
fn inverse(m: &Mat<f64>) -> Mat<f64> {
    let d = m.nrows();
    let mut a =
        Mat::from_fn(d, 2 * d, |i, j| if j < d { m[(i, j)] } else { f64::from(u8::from(i + d == j)) });
    for k in 0..d {
        let pivot = (k..d).max_by(|&i, &j| a[(i, k)].abs().total_cmp(&a[(j, k)].abs())).unwrap();
        for j in 0..2 * d {
            let (x, y) = (a[(k, j)], a[(pivot, j)]);
            (a[(k, j)], a[(pivot, j)]) = (y, x);
        }
        let head = a[(k, k)];
        (0..2 * d).for_each(|j| a[(k, j)] /= head);
        for i in (0..d).filter(|&i| i != k) {
            let factor = a[(i, k)];
            (0..2 * d).for_each(|j| a[(i, j)] -= factor * a[(k, j)]);
        }
    }
    Mat::from_fn(d, d, |i, j| a[(i, j + d)])
}

/// `Σ_ij weight(i, j)·(x_i − x_j)(x_i − x_j)ᵀ` over ordered pairs.
fn pair_sum(rows: &Rows, weight: impl Fn(usize, usize) -> f64) -> Mat<f64> {
    let (n, d) = (rows.len(), rows.columns());
    let mut sum = Mat::zeros(d, d);
    for i in 0..n {
        for j in 0..n {
            let w = weight(i, j);
            let x: Vec<f64> = (0..d).map(|a| rows.row(i)[a] - rows.row(j)[a]).collect();
            (0..d).for_each(|a| (0..d).for_each(|b| sum[(a, b)] += w * x[a] * x[b]));
        }
    }
    sum
}

/// Classes well apart, of different sizes.
fn apart() -> Dataset {
    let data = blobs(90, 4, 3, 5);
    let kept: Vec<usize> = (0..90).filter(|i| i % 3 != 1 || *i < 40).collect();
    let data = data.subset(&kept);
    let values = data.rows().values().iter().enumerate();
    let moved = values
        .map(|(at, x)| x + 3.0 * f64::from(data.labels().codes()[at / 4]) * [1.0, -1.0, 0.5, 2.0][at % 4]);
    Dataset::new(Rows::new(moved.collect(), 4).unwrap(), data.labels().clone()).unwrap()
}

fn sizes(labels: &Labels) -> impl Fn(usize) -> f64 {
    let (sizes, codes) = (labels.class_sizes(), labels.codes().to_vec());
    move |i| sizes[codes[i] as usize] as f64
}

/// `1/n Σ_c Σ_i (x_i − m_c)(x_i − m_c)ᵀ = 1/n Σ_c 1/(2n_c) Σ_{i,j∈c} x_ij x_ijᵀ`.
fn within(data: &Dataset) -> Mat<f64> {
    let (codes, size) = (data.labels().codes(), sizes(data.labels()));
    let n = data.len() as f64;
    pair_sum(data.rows(), |i, j| if codes[i] == codes[j] { 0.5 / (n * size(i)) } else { 0.0 })
}

#[test]
fn rca_is_the_inverse_of_the_covariance_within_chunklets() {
    let data = apart();
    let a = matrix(&Rca::default(), &Training::Labelled(&data));
    assert!(relative_difference(a.as_ref(), inverse(&within(&data)).as_ref()) < 1e-10);
    // Rows in no chunklet count for nothing at full rank.
    let ids: Vec<Option<u64>> = (0..data.len()).map(|i| (i < 60).then_some(i as u64 % 7)).collect();
    let chunklets = Chunklets::new(&ids).unwrap();
    let a = matrix(&Rca::default(), &Training::Chunklets(data.rows(), &chunklets));
    let labels = Labels::new((0..60).map(|i| (i % 7).to_string()));
    let first = Dataset::new(data.rows().subset(&(0..60).collect::<Vec<_>>()), labels).unwrap();
    assert!(relative_difference(a.as_ref(), inverse(&within(&first)).as_ref()) < 1e-10);
    let error = Rca { chunklets: Some(3), ..Rca::default() }
        .learn(&Training::Chunklets(data.rows(), &chunklets), &mut silent)
        .unwrap_err();
    assert!(error.to_string().contains("chunklets is 3"), "{error}");
}

#[test]
fn lda_of_two_classes_is_fishers_direction() {
    let data = apart();
    let kept: Vec<usize> = (0..data.len()).filter(|&i| data.labels().codes()[i] < 2).collect();
    let data = data.subset(&kept);
    let (codes, size) = (data.labels().codes(), sizes(data.labels()));
    let mut delta = [0.0; 4];
    for (i, &code) in codes.iter().enumerate() {
        let sign = if code == 0 { 1.0 } else { -1.0 };
        (0..4).for_each(|j| delta[j] += sign * data.rows().row(i)[j] / size(i));
    }
    let inverse = inverse(&within(&data));
    let v: Vec<f64> = (0..4).map(|i| (0..4).map(|j| inverse[(i, j)] * delta[j]).sum()).collect();
    let length: f64 = v.iter().zip(&delta).map(|(v, d)| v * d).sum();
    let expected = Mat::from_fn(4, 4, |i, j| v[i] * v[j] / length);
    let a = matrix(&Lda::default(), &Training::Labelled(&data));
    assert!(relative_difference(a.as_ref(), expected.as_ref()) < 1e-10);
    let full = matrix(&Lda { rank: Some(4), ..Lda::default() }, &Training::Labelled(&data));
    assert!(relative_difference(full.as_ref(), inverse.as_ref()) < 1e-10);
}

#[test]
fn kissme_is_the_difference_of_two_inverses() {
    let data = apart();
    let codes = data.labels().codes();
    let mean = |similar: bool| {
        let kind = |i: usize, j: usize| f64::from(u8::from(i != j && (codes[i] == codes[j]) == similar));
        let count: f64 = (0..data.len()).map(|i| (0..data.len()).map(|j| kind(i, j)).sum::<f64>()).sum();
        pair_sum(data.rows(), |i, j| kind(i, j) / count)
    };
    let [s, d] = [inverse(&mean(true)), inverse(&mean(false))];
    let expected = Mat::from_fn(4, 4, |i, j| s[(i, j)] - d[(i, j)]);
    let a = matrix(&Kissme::default(), &Training::Labelled(&data));
    let full = matrix(&Kissme::default(), &Training::Paired(data.rows(), &Pairs::all(data.labels())));
    assert!(relative_difference(full.as_ref(), a.as_ref()) < 1e-10);
    // D̄ is above S̄ in the two directions that separate three classes alone; clipping only adds.
    let difference = Mat::from_fn(4, 4, |i, j| a[(i, j)] - expected[(i, j)]);
    let ridged = Mat::from_fn(4, 4, |i, j| difference[(i, j)] + if i == j { 1e-10 } else { 0.0 });
    assert!(mahala::geometry::Spd::new(ridged).is_ok());
    // In each direction v of the metric vᵀS̄v·(S̄⁻¹ − D̄⁻¹) has the weight 1 − 1/λ: without ridge XQDA is the same.
    let xqda = matrix(&Xqda { ridge: 1e-13, ..Xqda::default() }, &Training::Labelled(&data));
    assert!(relative_difference(xqda.as_ref(), a.as_ref()) < 1e-10);
    // Where every direction separates, nothing is clipped.
    let centre = [[0.0, 0.0], [100.0, 0.0], [0.0, 100.0]];
    let far = (0..60).map(|i| ((i * i * 7 + i) % 23) as f64 + centre[i / 20][i % 2]).collect();
    let codes: Vec<i64> = (0..30).map(|i| i / 10).collect();
    let data = Dataset::new(Rows::new(far, 2).unwrap(), Labels::from_integers(&codes)).unwrap();
    let mean = |similar: bool| {
        let kind = |i: usize, j: usize| f64::from(u8::from(i != j && (codes[i] == codes[j]) == similar));
        let count: f64 = (0..30).map(|i| (0..30).map(|j| kind(i, j)).sum::<f64>()).sum();
        inverse(&pair_sum(data.rows(), |i, j| kind(i, j) / count))
    };
    let [s, d] = [mean(true), mean(false)];
    let expected = Mat::from_fn(2, 2, |i, j| s[(i, j)] - d[(i, j)]);
    let a = matrix(&Kissme::default(), &Training::Labelled(&data));
    assert!(relative_difference(a.as_ref(), expected.as_ref()) < 1e-10);
}

#[test]
fn dmlmj_keeps_the_directions_of_the_largest_divergence() {
    let data = apart();
    let pairs = Pairs::nearest(data.rows(), data.labels(), 3).unwrap();
    let mean = |similar: bool| {
        let of_kind: Vec<_> = pairs.as_slice().iter().filter(|pair| pair.similar == similar).collect();
        let mut sum = Mat::<f64>::zeros(4, 4);
        for pair in &of_kind {
            let x: Vec<f64> =
                (0..4).map(|a| data.rows().row(pair.first)[a] - data.rows().row(pair.second)[a]).collect();
            (0..4).for_each(|a| (0..4).for_each(|b| sum[(a, b)] += x[a] * x[b] / of_kind.len() as f64));
        }
        sum
    };
    let [s, d] = [mean(true), mean(false)];
    let full = matrix(&Dmlmj::default(), &Training::Labelled(&data));
    assert!(relative_difference(full.as_ref(), inverse(&s).as_ref()) < 1e-10);
    let metric = Dmlmj::default().learn(&Training::Labelled(&data), &mut silent).unwrap().metric;
    let map = metric.map();
    let mut divergences = Vec::new();
    for k in 0..4 {
        let times = |m: &Mat<f64>| -> Vec<f64> {
            (0..4).map(|i| (0..4).map(|j| m[(i, j)] * map[(k, j)]).sum()).collect()
        };
        let (sv, dv) = (times(&s), times(&d));
        let quadratic = |mv: &[f64]| (0..4).map(|j| map[(k, j)] * mv[j]).sum::<f64>();
        let lambda = quadratic(&dv) / quadratic(&sv);
        assert!((quadratic(&sv) - 1.0).abs() < 1e-10);
        assert!((0..4).all(|j| (dv[j] - lambda * sv[j]).abs() < 1e-9 * lambda), "an eigenvector");
        divergences.push(lambda + 1.0 / lambda);
    }
    assert!(divergences.is_sorted_by(|a, b| a >= b), "{divergences:?}");
    let leading = Dmlmj { rank: Some(2), ..Dmlmj::default() };
    let leading = leading.learn(&Training::Labelled(&data), &mut silent).unwrap().metric.map();
    assert_eq!(leading, map.subrows(0, 2).to_owned());
}

#[test]
fn lfda_follows_the_paper() {
    let data = apart();
    let (rows, codes, n) = (data.rows(), data.labels().codes(), data.len());
    let size = sizes(data.labels());
    let squared = |i: usize, j: usize| (0..4).map(|a| (rows.row(i)[a] - rows.row(j)[a]).powi(2)).sum::<f64>();
    let sigma: Vec<f64> = (0..n)
        .map(|i| {
            let mut of_class: Vec<f64> =
                (0..n).filter(|&j| codes[i] == codes[j]).map(|j| squared(i, j).sqrt()).collect();
            of_class.sort_by(f64::total_cmp);
            of_class[7] // itself first
        })
        .collect();
    let affinity = |i: usize, j: usize| (-squared(i, j) / (sigma[i] * sigma[j])).exp();
    // The weights of pairs in the paper's eqs. 12 and 13.
    let w = pair_sum(rows, |i, j| if codes[i] == codes[j] { 0.5 * affinity(i, j) / size(i) } else { 0.0 });
    let b = pair_sum(rows, |i, j| {
        if codes[i] == codes[j] {
            0.5 * affinity(i, j) * (1.0 / n as f64 - 1.0 / size(i))
        } else {
            0.5 / n as f64
        }
    });
    // With V of VᵀS_wV = I and VᵀS_bV = Λ: VΛVᵀ = S_w⁻¹S_bS_w⁻¹, where no λ is below 0.
    let inverse = inverse(&w);
    let expected = &inverse * &b * &inverse;
    let learned = Lfda::default().learn(&Training::Labelled(&data), &mut silent).unwrap();
    assert_eq!(learned.metric.rank(), 4, "no direction is clipped");
    assert!(relative_difference(learned.metric.matrix().unwrap().as_ref(), expected.as_ref()) < 1e-10);
    let plain = matrix(&Lfda { embedding: Embedding::Plain, ..Lfda::default() }, &Training::Labelled(&data));
    assert!(relative_difference(plain.as_ref(), inverse.as_ref()) < 1e-10);
    let orthonormal = Lfda { embedding: Embedding::Orthonormal, rank: Some(2), ..Lfda::default() };
    let map = orthonormal.learn(&Training::Labelled(&data), &mut silent).unwrap().metric.map();
    let gram = &map * map.transpose();
    assert!((&gram - Mat::<f64>::identity(2, 2)).norm_max() < 1e-12);
}

#[test]
fn a_change_of_units_changes_no_distance_of_an_affine_invariant_method() {
    let data = apart();
    let scaled = rescaled(&data, &[1e-3, 20.0, 1.0, 1e6]);
    let methods: [&dyn Learner; 5] = [
        &Rca::default(),
        &Rca { rank: Some(2), ..Rca::default() },
        &Lda { shrinkage: Some(0.2), ..Lda::default() },
        &Kissme::default(),
        &Xqda::default(),
    ];
    for method in methods {
        let distance = |data: &Dataset| {
            let metric = method.learn(&Training::Labelled(data), &mut silent).unwrap().metric;
            metric.squared_distance(data.rows().row(0), data.rows().row(7)).unwrap()
        };
        let (a, b) = (distance(&data), distance(&scaled));
        assert!((a / b - 1.0).abs() < 1e-9, "{}: {a} {b}", method.name());
    }
}

#[test]
fn a_singular_sum_is_shrunk_and_the_report_says_so() {
    let data = blobs(10, 30, 2, 1);
    for method in [
        &Rca::default() as &dyn Learner,
        &Lda::default(),
        &Kissme::default(),
        &Dmlmj::default(),
        &Lfda::default(),
    ] {
        let report = method.learn(&Training::Labelled(&data), &mut silent).unwrap().report;
        assert_eq!(report.choice.unwrap()["shrinkage"], 0.1, "{}", method.name());
    }
}

/// Values of NumPy (`reference/make_closed_form_references.py`).
#[test]
fn rca_and_lfda_are_what_numpy_computes_from_their_formulas() {
    for case in reference("closed_forms.json")["cases"].as_array().unwrap() {
        let name = case["data"].as_str().unwrap();
        let data = bundled(&format!("{name}.csv"));
        let d = data.columns();
        let expected = |key: &str| {
            let cells = numbers(&case[key]);
            Mat::from_fn(d, d, |i, j| cells[i * d + j])
        };
        let a = matrix(&Rca::default(), &Training::Labelled(&data));
        assert!(relative_difference(a.as_ref(), expected("rca_of_classes").as_ref()) < 1e-10, "{name}");
        let ids: Vec<Option<u64>> = (0..data.len()).map(|i| (i < 60).then_some(i as u64 % 7)).collect();
        let chunklets = Chunklets::new(&ids).unwrap();
        let a = matrix(&Rca::default(), &Training::Chunklets(data.rows(), &chunklets));
        assert!(relative_difference(a.as_ref(), expected("rca_of_chunks").as_ref()) < 1e-10, "{name}");
        let a = matrix(&Lfda::default(), &Training::Labelled(&data));
        assert!(relative_difference(a.as_ref(), expected("lfda").as_ref()) < 1e-10, "{name}");
    }
}
