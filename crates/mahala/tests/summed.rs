//! Sums in place of rows: streams, windows, forgetting, two passes.

use mahala::data::Random;
use mahala::gmml::TChoice;
use mahala::progress::silent;
use mahala::scatter::{Balance, ClassMeans, Moments, Scatter, Summed, Window};
use mahala::{Dataset, Error, Gmml, Labels, Mat, Rows};

/// Rows of classes that differ in place and in shape; the last column is constant.
fn data(n: usize, d: usize, classes: usize, seed: u64) -> Dataset {
    let mut random = Random::new(seed, 0);
    let labels: Vec<usize> = (0..n).map(|_| random.below(classes)).collect();
    let mut cells = Vec::new();
    for &label in &labels {
        for j in 0..d {
            let x = random.uniform() * (1.0 + j as f64) + (label * (j + 2) % 7) as f64;
            cells.push(if j + 1 == d { 4.25 } else { 1000.0 + x });
        }
    }
    Dataset::new(Rows::new(cells, d).expect("rows"), named(labels)).expect("a data set")
}

fn named(labels: impl IntoIterator<Item = usize>) -> Labels {
    Labels::new(labels.into_iter().map(|label| label.to_string()))
}

fn part(data: &Dataset, rows: std::ops::Range<usize>) -> Dataset {
    data.subset(&rows.collect::<Vec<_>>())
}

fn distance(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (a - b).norm_l2() / b.norm_l2()
}

#[test]
fn a_streamed_fit_is_the_fit_in_memory() {
    let all = data(3000, 6, 5, 1);
    let mut moments = Moments::new(6).unwrap();
    for first in (0..3000).step_by(700) {
        moments.merge(&Moments::of(&part(&all, first..(first + 700).min(3000))).unwrap()).unwrap();
    }
    for standardize in [false, true] {
        let gmml = Gmml { standardize, ..Gmml::default() };
        let summed = Summed::of(&moments, Balance::None).unwrap();
        // The sample being all rows, t is chosen alike.
        let streamed = gmml.fit_summed(summed, Some(&all), &mut silent).unwrap();
        let whole = gmml.fit(&all).unwrap();
        assert_eq!(streamed.t, whole.t);
        let (a, b) = (streamed.metric.matrix().unwrap(), whole.metric.matrix().unwrap());
        // Matrices of condition 1e4: 1e-12 is what the inputs' rounding makes of the metric.
        assert!(distance(&a, &b) < 1e-11, "{}", distance(&a, &b));
        let scale = |fit: &mahala::Fit| fit.metric.scale().map(<[f64]>::to_vec);
        for (x, y) in scale(&streamed).into_iter().flatten().zip(scale(&whole).into_iter().flatten()) {
            assert!((x / y - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn sampled_pairs_are_refused_where_there_are_only_sums() {
    let all = data(50, 3, 2, 2);
    let moments = Moments::of(&all).unwrap();
    let gmml = Gmml { t: TChoice::Fixed(0.5), ..Gmml::paper() };
    let summed = || Summed::of(&moments, Balance::None).unwrap();
    for refused in [gmml.fit_moments(&moments), gmml.fit_summed(summed(), Some(&all), &mut silent)] {
        assert!(matches!(refused, Err(Error::Parameter { name: "pairs", .. })), "{refused:?}");
    }
}

#[test]
fn without_a_sample_t_must_be_given() {
    let moments = Moments::of(&data(50, 3, 2, 2)).unwrap();
    let error = Gmml::default().fit_moments(&moments).unwrap_err().to_string();
    assert!(error.contains("a number when only moments are given"), "{error}");
    let gmml = Gmml { principal: Some(2), t: TChoice::Fixed(0.5), ..Gmml::default() };
    assert!(gmml.fit_moments(&moments).unwrap_err().to_string().contains("left out when only sums"));
}

#[test]
fn two_passes_are_one_with_moments() {
    let all = data(2500, 9, 300, 3);
    let mut means = ClassMeans::new(9).unwrap();
    let parts: Vec<Dataset> = (0..5).map(|k| part(&all, 500 * k..500 * (k + 1))).collect();
    for part in &parts {
        means.update(part.rows().as_mat(), part.labels()).unwrap();
    }
    let mut sums = means.pair_sums(parts[0].rows().as_mat(), parts[0].labels()).unwrap();
    for part in &parts[1..] {
        sums.merge(&means.pair_sums(part.rows().as_mat(), part.labels()).unwrap());
    }
    let two = means.finish(sums).unwrap();
    let one = Summed::of(&Moments::of(&all).unwrap(), Balance::None).unwrap();
    let pooled = Scatter::all_pairs_of(&all).unwrap().0;
    for (a, b) in [(two.scatter(), one.scatter()), (two.scatter(), &pooled)] {
        assert!(distance(&a.s().to_owned(), &b.s().to_owned()) < 1e-12);
        assert!(distance(&a.d().to_owned(), &b.d().to_owned()) < 1e-12);
        assert_eq!((a.similar(), a.dissimilar()), (b.similar(), b.dissimilar()));
    }
    for (a, b) in two.statistics().scale.iter().zip(&one.statistics().scale) {
        assert!((a / b - 1.0).abs() < 1e-12);
    }
}

#[test]
fn two_passes_must_see_the_same_rows() {
    let all = data(60, 3, 4, 4);
    let mut means = ClassMeans::new(3).unwrap();
    means.update(all.rows().as_mat(), all.labels()).unwrap();
    let some = part(&all, 0..59);
    let sums = means.pair_sums(some.rows().as_mat(), some.labels()).unwrap();
    let error = means.finish(sums).unwrap_err().to_string();
    assert!(error.contains("the second pass saw 59 rows, the first 60"), "{error}");
    let strange = Labels::new(vec!["nine"; 60]);
    let error = means.pair_sums(all.rows().as_mat(), &strange).unwrap_err().to_string();
    assert!(error.contains("class 'nine' comes in the second pass"), "{error}");
    let huge = Mat::from_fn(2, 3, |_, j| if j == 1 { 1e80 } else { 0.0 });
    let error = means.update(huge.as_ref(), &Labels::new(["a", "b"])).unwrap_err().to_string();
    assert!(error.contains("column 2 reaches 1e80"), "{error}");
}

#[test]
fn a_hundred_thousand_classes_of_256_columns_are_learned_from() {
    // Two rows a class: 10⁵ matrices of 256 columns would be 52 GB.
    let (d, classes) = (256, 100_000);
    let mut means = ClassMeans::new(d).unwrap();
    let block = |k: usize| {
        let mut random = Random::new(k as u64, 9);
        let labels: Vec<usize> = (0..1000).map(|i| 500 * k + i / 2).collect();
        let centre = |label: usize, j: usize| ((label * 31 + j * 17) % 11) as f64;
        let cells = labels.iter().flat_map(|&l| (0..d).map(move |j| centre(l, j)));
        let cells: Vec<f64> = cells.map(|x| x + random.uniform()).collect();
        Dataset::new(Rows::new(cells, d).unwrap(), named(labels)).unwrap()
    };
    let blocks: Vec<usize> = (0..classes / 500).collect();
    // A tenth of the blocks, so that the test takes seconds; all classes are counted all the same.
    for &k in &blocks {
        if k % 10 == 0 {
            let block = block(k);
            means.update(block.rows().as_mat(), block.labels()).unwrap();
        } else {
            let rows = Mat::<f64>::from_fn(500, d, |i, j| ((i * 7 + j * 3 + k) % 13) as f64);
            means.update(rows.as_ref(), &named((0..500).map(|i| 500 * k + i))).unwrap();
        }
    }
    assert_eq!(means.class_count(), classes);
    let mut sums = None::<mahala::scatter::PairSums>;
    for &k in &blocks {
        let part = if k % 10 == 0 {
            let block = block(k);
            means.pair_sums(block.rows().as_mat(), block.labels()).unwrap()
        } else {
            let rows = Mat::<f64>::from_fn(500, d, |i, j| ((i * 7 + j * 3 + k) % 13) as f64);
            means.pair_sums(rows.as_ref(), &named((0..500).map(|i| 500 * k + i))).unwrap()
        };
        match &mut sums {
            Some(sums) => sums.merge(&part),
            None => sums = Some(part),
        }
    }
    let summed = means.finish(sums.unwrap()).unwrap();
    let gmml = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() };
    let fit = gmml.fit_summed(summed, None, &mut silent).unwrap();
    assert_eq!(fit.diagnostics.similar.pairs, 10_000);
    assert!(fit.diagnostics.ridge == 0.0 && fit.metric.rank() == d);
}

#[test]
fn very_many_classes_in_memory_need_no_matrix_each() {
    // As moments these would be 30 000 · 300² numbers, 21 GB, above the limit of 16.
    let (n, d) = (60_000, 300);
    let cells = (0..n * d).map(|i| ((i * i) % 1009) as f64 / 7.0 + (i % 97) as f64).collect();
    let all = Dataset::new(Rows::new(cells, d).unwrap(), named((0..n).map(|i| i / 2))).unwrap();
    let fit = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() }.fit(&all).unwrap();
    assert_eq!(fit.diagnostics.similar.pairs, 30_000);
}

#[test]
fn what_is_forgotten_counts_for_less_as_weights_would_have_it() {
    let (old, new) = (data(80, 4, 3, 5), data(60, 4, 3, 6));
    let mut online = Moments::of(&old).unwrap();
    online.forget(0.25).unwrap();
    online.merge(&Moments::of(&new).unwrap()).unwrap();
    let mut weighted = Moments::new(4).unwrap();
    weighted.update(old.rows().as_mat(), old.labels(), Some(&[0.25; 80])).unwrap();
    weighted.update(new.rows().as_mat(), new.labels(), None).unwrap();
    for (a, b) in online.classes().iter().zip(weighted.classes()) {
        assert_eq!((a.name(), a.rows()), (b.name(), b.rows()));
        assert!((a.weight() - b.weight()).abs() < 1e-12);
        assert!(distance(&a.scatter().to_owned(), &b.scatter().to_owned()) < 1e-12);
    }
    for factor in [0.0, -1.0, 1.5, f64::NAN] {
        assert!(online.forget(factor).unwrap_err().to_string().contains("above 0 and at most 1"));
    }
}

#[test]
fn a_window_holds_its_blocks_and_no_others() {
    let blocks: Vec<Dataset> = (0..40).map(|k| data(50, 5, 4, 100 + k)).collect();
    let mut window = Window::new(5, 7).unwrap();
    for (k, block) in blocks.iter().enumerate() {
        window.push(Moments::of(block).unwrap()).unwrap();
        let mut wanted = Moments::new(5).unwrap();
        for block in &blocks[(k + 1).saturating_sub(7)..=k] {
            wanted.merge(&Moments::of(block).unwrap()).unwrap();
        }
        assert_eq!((window.len(), window.moments().rows()), ((k + 1).min(7), wanted.rows()));
        for (a, b) in window.moments().classes().iter().zip(wanted.classes()) {
            assert!(distance(&a.scatter().to_owned(), &b.scatter().to_owned()) < 1e-11);
            // The constant column stays so.
            assert_eq!(a.scatter()[(4, 4)], 0.0);
        }
    }
    assert!(Window::new(5, 0).unwrap_err().to_string().contains("at least 1"));
    let other = Moments::new(4).unwrap();
    assert!(window.push(other).is_err());
    assert_eq!(window.len(), 7);
}
