//! Moments: merged, subtracted, weighted, in any order, at any scale, through bytes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{EPS, blobs, labelled, relative_difference, table};
use mahala::data::Random;
use mahala::gmml::TChoice;
use mahala::pairs::Pairs;
use mahala::scatter::{ClassMoments, Moments, Scatter};
use mahala::{Dataset, Error, Gmml, Labels, Mat, MatRef, Rows};
use proptest::prelude::*;

/// The full matrix behind the lower triangle that moments keep.
fn full(moments: &Moments, class: usize) -> Mat<f64> {
    let (m, d) = (moments.class(class).scatter(), moments.columns());
    Mat::from_fn(d, d, |i, j| m[(i.max(j), i.min(j))])
}

/// Counts equal; means and scatters equal within `allowed` of the column's spread and of the matrix.
fn assert_alike(a: &Moments, b: &Moments, allowed: f64) {
    assert_eq!((a.rows(), a.classes().len(), a.units()), (b.rows(), b.classes().len(), b.units()));
    for (k, (x, y)) in a.classes().iter().zip(b.classes()).enumerate() {
        assert_eq!((x.name(), x.rows()), (y.name(), y.rows()));
        assert!((x.weight() - y.weight()).abs() <= allowed * y.weight());
        for (j, (p, q)) in x.mean().iter().zip(y.mean()).enumerate() {
            let spread = y.scatter()[(j, j)].sqrt().max(q.abs());
            assert!((p - q).abs() <= allowed * spread, "mean of {}: {p} {q}", x.name());
        }
        if full(b, k).norm_max() > 0.0 {
            let error = relative_difference(full(a, k).as_ref(), full(b, k).as_ref());
            assert!(error <= allowed, "scatter of {}: {error:e}", x.name());
        }
    }
}

fn parts(data: &Dataset, cuts: &[usize]) -> Vec<Moments> {
    let ends = cuts.iter().copied().chain([data.len()]);
    let starts = [0].into_iter().chain(cuts.iter().copied());
    starts.zip(ends).map(|(a, b)| Moments::of(&data.subset(&(a..b).collect::<Vec<_>>())).unwrap()).collect()
}

fn merged<'a>(parts: impl Iterator<Item = &'a Moments>, columns: usize) -> Moments {
    let mut whole = Moments::new(columns).unwrap();
    parts.for_each(|part| whole.merge(part).unwrap());
    whole
}

#[test]
fn parts_merged_are_the_whole_in_any_order() {
    let data = blobs(1000, 7, 3, 1);
    let whole = Moments::of(&data).unwrap();
    let parts = parts(&data, &[1, 2, 300, 301, 777]);
    // Each of five merges rounds each entry a few times.
    assert_alike(&merged(parts.iter(), 7), &whole, 1e-13);
    assert_alike(&merged(parts.iter().rev(), 7), &whole, 1e-13);
    let mut blockwise = Moments::new(7).unwrap();
    for block in [400..1000, 0..400] {
        let part = data.subset(&block.collect::<Vec<_>>());
        blockwise.update(part.rows().as_mat(), part.labels(), None).unwrap();
    }
    assert_alike(&blockwise, &whole, 1e-13);
}

#[test]
fn subtraction_undoes_merge_and_update() {
    let data = blobs(600, 5, 3, 2);
    let parts = parts(&data, &[350]);
    let mut whole = Moments::of(&data).unwrap();
    whole.subtract(&parts[1]).unwrap();
    assert_alike(&whole, &parts[0], 1e-13);
    whole.merge(&parts[1]).unwrap();
    whole.subtract(&parts[0]).unwrap();
    assert_alike(&whole, &parts[1], 1e-13);
    whole.subtract(&parts[1]).unwrap();
    assert_eq!(whole.rows(), 0);
    assert!(whole.classes().iter().all(|class| class.weight() == 0.0 && class.mean() == [0.0; 5]));
    let error = whole.subtract(&parts[0]).unwrap_err();
    let expected = format!(
        "moments cannot be combined: class '0' has 0 rows, {} cannot be taken away",
        parts[0].class(0).rows()
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_weight_is_a_number_of_repetitions() {
    let data = blobs(40, 3, 2, 3);
    let counts: Vec<usize> = (0..40).map(|i| i % 4).collect();
    let weights: Vec<f64> = counts.iter().map(|&c| c as f64).collect();
    let mut weighted = Moments::new(3).unwrap();
    weighted.update(data.rows().as_mat(), data.labels(), Some(&weights)).unwrap();
    let repeated: Vec<usize> = (0..40).flat_map(|i| vec![i; counts[i]]).collect();
    let repeated = Moments::of(&data.subset(&repeated)).unwrap();
    for k in 0..2 {
        assert_eq!(weighted.class(k).weight(), repeated.class(k).weight());
        // 60 rows: a few roundings.
        assert!(relative_difference(full(&weighted, k).as_ref(), full(&repeated, k).as_ref()) < 1e-14);
    }
    let (a, b) = (Scatter::all_pairs(&weighted).unwrap(), Scatter::all_pairs(&repeated).unwrap());
    assert!(relative_difference(a.s(), b.s()) < 1e-14 && relative_difference(a.d(), b.d()) < 1e-14);
}

#[test]
fn the_layout_of_the_matrix_changes_no_bit() {
    for (n, d) in [(37, 3), (700, 20)] {
        let data = blobs(n, d, 3, 4);
        let row_major = Moments::of(&data).unwrap();
        let column_major = Mat::from_fn(n, d, |i, j| data.rows().row(i)[j]);
        let mut other = Moments::new(d).unwrap();
        other.update(column_major.as_ref(), data.labels(), None).unwrap();
        assert_eq!(row_major.to_bytes(), other.to_bytes());
    }
}

#[test]
fn cells_of_32_bits_are_summed_in_64() {
    // Narrow and wide rows, each layout: as if the cells had been converted first, bit for bit.
    for (n, d) in [(37, 3), (700, 20), (600, 50)] {
        let data = blobs(n, d, 3, 4);
        let narrow = |i: usize, j: usize| data.rows().row(i)[j] as f32;
        let rows = Mat::from_fn(n, d, |i, j| f64::from(narrow(i, j)));
        let mut expected = Moments::new(d).unwrap();
        expected.update(rows.as_ref(), data.labels(), None).unwrap();
        let (expected_scatter, expected_mean) =
            Scatter::all_pairs_of_rows(rows.as_ref(), data.labels()).unwrap();
        let column_major = Mat::from_fn(n, d, narrow);
        let cells: Vec<f32> = (0..n * d).map(|k| narrow(k / d, k % d)).collect();
        for rows in [column_major.as_ref(), MatRef::from_row_major_slice(&cells, n, d)] {
            let mut moments = Moments::new(d).unwrap();
            moments.update(rows, data.labels(), None).unwrap();
            assert_eq!(moments.to_bytes(), expected.to_bytes());
            let (scatter, mean) = Scatter::all_pairs_of_rows(rows, data.labels()).unwrap();
            assert_eq!((scatter.s(), scatter.d()), (expected_scatter.s(), expected_scatter.d()));
            assert_eq!(mean, expected_mean);
        }
    }
}

#[test]
fn a_cell_that_is_not_finite_is_named_wherever_rows_come_from() {
    let mut rows = Mat::from_fn(6, 2, |i, j| (i * i + j) as f32);
    rows[(4, 1)] = f32::NAN;
    let labels = Labels::new(["a", "b", "a", "b", "a", "b"]);
    let error = Scatter::all_pairs_of_rows(rows.as_ref(), &labels).unwrap_err();
    assert!(matches!(error, Error::NotFinite { row: 4, column: 1, .. }), "{error}");
    let error = Scatter::all_pairs_of_rows(rows.as_ref(), &Labels::new(["a"])).unwrap_err();
    assert!(matches!(error, Error::Length { seen: 1, expected: 6, .. }), "{error}");
}

#[test]
fn columns_of_any_scale_are_summed_without_loss() {
    let data = blobs(50, 3, 2, 5);
    let plain = Moments::of(&data).unwrap();
    // Powers of two, near 1e-150 and 1e150: scaling is exact, so the sums must be too.
    let factors = [2f64.powi(-498), 1.0, 2f64.powi(498)];
    let scaled = Moments::of(&common::rescaled(&data, &factors)).unwrap();
    assert!(scaled.units()[0] < -400 && scaled.units()[1] == 0 && scaled.units()[2] > 400);
    for k in 0..2 {
        for i in 0..3 {
            for j in 0..=i {
                let exponent = |j: usize| scaled.units()[j] - [-498, 0, 498][j];
                let expected = plain.class(k).scatter()[(i, j)] * 2f64.powi(-exponent(i) - exponent(j));
                assert_eq!(scaled.class(k).scatter()[(i, j)], expected);
            }
        }
    }
    // Units that change on the way, and a merge across units.
    let mut stepwise = Moments::of(&data.subset(&[0, 1, 2, 3])).unwrap();
    let rest = common::rescaled(&data, &[1.0, 1.0, 2f64.powi(498)]).subset(&[4, 5, 6, 7]);
    stepwise.merge(&Moments::of(&rest).unwrap()).unwrap();
    assert!(stepwise.units()[2] > 400);
    assert!(stepwise.class(0).scatter()[(2, 2)].is_finite());
}

#[test]
fn classes_may_arrive_late_and_sort_in() {
    let mut moments = Moments::of(&labelled(&[[1.0], [2.0]], &["10", "10"])).unwrap();
    moments.merge(&Moments::of(&labelled(&[[5.0], [7.0]], &["9", "9"])).unwrap()).unwrap();
    let rows = table(&[[0.0], [4.0]]);
    moments.update(rows.as_mat(), &Labels::new(["11", "9"]), None).unwrap();
    let names: Vec<&str> = moments.classes().iter().map(ClassMoments::name).collect();
    assert_eq!(names, ["9", "10", "11"]);
    assert_eq!(moments.class(0).rows(), 3);
    let error = moments.update(rows.as_mat(), &Labels::new(["a"]), None).unwrap_err();
    assert_eq!(error.to_string(), "labels: 1 given, 2 expected");
    let wide = Moments::new(2).unwrap();
    assert!(matches!(moments.merge(&wide), Err(Error::Length { .. })));
}

#[test]
fn what_is_refused_leaves_no_trace() {
    let mut moments = Moments::of(&labelled(&[[1.0], [2.0]], &["a", "b"])).unwrap();
    let before = moments.to_bytes();
    let with_nan = Mat::from_fn(2, 1, |i, _| if i == 1 { f64::NAN } else { 1e300 });
    let error = moments.update(with_nan.as_ref(), &Labels::new(["c", "a"]), None).unwrap_err();
    assert!(matches!(error, Error::NotFinite { row: 1, column: 0, .. }));
    let rows = table(&[[1.0], [2.0]]);
    let error = moments.update(rows.as_mat(), &Labels::new(["a", "a"]), Some(&[1.0, -1.0])).unwrap_err();
    assert_eq!(error, Error::Weight { index: 1, value: -1.0 });
    assert_eq!(moments.to_bytes(), before);
}

#[test]
fn very_many_rows_are_counted_without_overflow() {
    let mut moments = Moments::of(&blobs(10, 2, 2, 6)).unwrap();
    for _ in 0..30 {
        let same = moments.clone();
        moments.merge(&same).unwrap();
    }
    let n = 10u64 << 30; // some 10¹⁰ rows
    assert_eq!(moments.rows(), n);
    let scatter = Scatter::all_pairs(&moments).unwrap();
    // 10¹⁰ rows have 2.9·10¹⁹ similar pairs: beyond 64 bits, so the count stops at the largest number
    // while the weight goes on.
    assert_eq!(scatter.similar().pairs, u64::MAX);
    assert!((scatter.similar().weight / (0.25 * (n as f64).powi(2)) - 1.0).abs() < 1e-9);
    let fit = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() }.fit_moments(&moments).unwrap();
    let of_ten = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() }.fit(&blobs(10, 2, 2, 6)).unwrap();
    let (a, b) = (fit.metric.matrix().unwrap(), of_ten.metric.matrix().unwrap());
    // Thirty merges of equal halves, each exact but for the mean's rounding.
    assert!(relative_difference(a.as_ref(), b.as_ref()) < 1e-13);
    let refused = (0..80).find_map(|_| {
        let same = moments.clone();
        moments.merge(&same).err()
    });
    let message = refused.unwrap().to_string();
    assert_eq!(message, "moments cannot be combined: class '0' would have more than 2^53 rows");
    assert!(Scatter::all_pairs(&moments).is_ok());
}

#[test]
fn ten_million_rows_have_their_exact_number_of_pairs() {
    let mut moments =
        Moments::of(&labelled(&[[0.0], [1.0], [2.0], [4.0], [8.0]], &["a", "a", "a", "b", "b"])).unwrap();
    for _ in 0..21 {
        let same = moments.clone();
        moments.merge(&same).unwrap();
    }
    let (a, b) = (3u64 << 21, 2u64 << 21);
    let scatter = Scatter::all_pairs(&moments).unwrap();
    assert_eq!(scatter.similar().pairs, a * (a - 1) / 2 + b * (b - 1) / 2);
    assert_eq!(scatter.dissimilar().pairs, a * b);
}

#[test]
fn bytes_bring_back_the_same_moments() {
    let data = blobs(30, 3, 3, 7);
    for factors in [[1.0; 3], [1e-150, 1.0, 1e150]] {
        let moments = Moments::of(&common::rescaled(&data, &factors)).unwrap();
        let bytes = moments.to_bytes();
        let back = Moments::from_bytes(&bytes).unwrap();
        assert_eq!(back.to_bytes(), bytes);
        assert_eq!(back.units(), moments.units());
        assert_alike(&back, &moments, 0.0);
    }
    let none = Moments::new(4).unwrap();
    assert_eq!(Moments::from_bytes(&none.to_bytes()).unwrap().columns(), 4);
}

#[test]
fn damaged_bytes_are_refused_whatever_the_damage() {
    let bytes = Moments::of(&labelled(&[[1.0], [2.0], [5.0]], &["a", "b", "b"])).unwrap().to_bytes();
    for length in 0..bytes.len() {
        assert!(Moments::from_bytes(&bytes[..length]).is_err(), "cut at {length}");
    }
    for bit in 0..8 * bytes.len() {
        let mut altered = bytes.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        assert!(Moments::from_bytes(&altered).is_err(), "bit {bit}");
    }
    assert!(Moments::from_bytes(&[bytes.clone(), vec![0]].concat()).is_err());
}

/// The same content with a fresh checksum: what a forger, not a broken disk, would send.
fn signed(content: &[u8]) -> Vec<u8> {
    use sha2::{Digest, Sha256};
    [content, &Sha256::digest(content)[..]].concat()
}

#[test]
fn impossible_content_is_refused_even_with_a_right_checksum() {
    let bytes = Moments::of(&labelled(&[[1.0], [2.0], [5.0]], &["a", "b", "b"])).unwrap().to_bytes();
    let content = &bytes[..bytes.len() - 32];
    assert!(Moments::from_bytes(&signed(content)).is_ok());
    // Every 8-byte word replaced by numbers that are no lengths, no counts, no finite values.
    let words = [u64::MAX, 1 << 63, 1 << 32, f64::NAN.to_bits(), f64::INFINITY.to_bits(), 0];
    for at in 8..content.len() - 7 {
        for word in words {
            let mut altered = content.to_vec();
            altered[at..at + 8].copy_from_slice(&word.to_le_bytes());
            if let Ok(moments) = Moments::from_bytes(&signed(&altered)) {
                // What is possible may pass, but must not break what follows.
                let _ = Scatter::all_pairs(&moments);
                let _ = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() }.fit_moments(&moments);
            }
        }
    }
    let double = Moments::of(&labelled(&[[1.0], [2.0], [3.0]], &["a", "b", "c"])).unwrap().to_bytes();
    let mut double = double[..double.len() - 32].to_vec();
    let last = double.iter().rposition(|&byte| byte == b'c').unwrap();
    double[last] = b'a';
    let error = Moments::from_bytes(&signed(&double)).unwrap_err();
    assert_eq!(error.to_string(), "not a valid moments file: a class is there twice");
    double[last] = b'B';
    let error = Moments::from_bytes(&signed(&double)).unwrap_err();
    assert_eq!(error.to_string(), "not a valid moments file: its classes are not in order");
}

#[test]
fn random_bytes_are_refused() {
    let mut random = Random::new(8, 0);
    for length in 0..500 {
        let mut bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        assert!(Moments::from_bytes(&bytes).is_err());
        if length >= 8 {
            bytes[..8].copy_from_slice(b"MAHALAM1");
            assert!(Moments::from_bytes(&bytes).is_err());
            let _ = Moments::from_bytes(&signed(&bytes));
        }
    }
}

proptest! {
    #[test]
    fn the_sums_over_all_pairs_are_those_of_the_listed_pairs(
        n in 4usize..40, d in 1usize..5, c in 2usize..4, seed in any::<u64>(), offset in -1e6..1e6f64,
    ) {
        let data = blobs(n, d, c, seed);
        let moved = data.rows().values().iter().map(|x| x + offset).collect();
        let data = Dataset::new(Rows::new(moved, d).unwrap(), data.labels().clone()).unwrap();
        let summed = Scatter::all_pairs(&Moments::of(&data).unwrap()).unwrap();
        let listed = Scatter::from_pairs(data.rows(), &Pairs::all(data.labels())).unwrap();
        prop_assert_eq!(summed.similar(), listed.similar());
        prop_assert_eq!(summed.dissimilar(), listed.dissimilar());
        // Means are rounded relative to the offset, differences of rows are not.
        let allowed = 100.0 * EPS * (1.0 + offset.abs());
        prop_assert!(relative_difference(summed.s(), listed.s()) <= allowed);
        prop_assert!(relative_difference(summed.d(), listed.d()) <= allowed);
    }
}
