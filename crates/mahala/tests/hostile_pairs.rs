//! Pairs that have something wrong with them: every outcome is a stated error or a defined result.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{EPS, bundled, relative_difference, table};
use mahala::gmml::TChoice;
use mahala::metric::{area_under_curve, squared_pair_distances};
use mahala::pairs::{Pair, Pairs};
use mahala::scatter::Scatter;
use mahala::{Error, Fit, Gmml, Metric, Result, Rows};

fn fixed(t: f64) -> Gmml {
    Gmml { t: TChoice::Fixed(t), ..Gmml::default() }
}

fn refusal(result: Result<Fit>) -> String {
    result.map(|_| ()).expect_err("this must be refused").to_string()
}

fn rows() -> Rows {
    table(&[[0.0, 0.0], [1.0, 3.0], [2.0, -1.0], [7.0, 1.0], [9.0, 4.0]])
}

fn pairs(list: &[Pair]) -> Pairs {
    Pairs::new(list.to_vec(), 5, 5).unwrap()
}

fn some_pairs() -> Vec<Pair> {
    vec![
        Pair::similar(0, 1),
        Pair::similar(0, 2),
        Pair::similar(3, 4),
        Pair::dissimilar(0, 3),
        Pair::dissimilar(1, 4),
        Pair::dissimilar(2, 4),
    ]
}

fn matrix_of(list: &[Pair]) -> mahala::Mat<f64> {
    fixed(0.5).fit_pairs(&rows(), &pairs(list)).unwrap().metric.matrix().unwrap()
}

#[test]
fn pairs_need_no_labels() {
    let fit = fixed(0.5).fit_pairs(&rows(), &pairs(&some_pairs())).unwrap();
    assert_eq!((fit.diagnostics.similar.pairs, fit.diagnostics.dissimilar.pairs), (3, 3));
    // S = Σ (1,3)(1,3)ᵀ + (2,−1)(2,−1)ᵀ + (2,3)(2,3)ᵀ by hand; ASA = D.
    let scatter = Scatter::from_pairs(&rows(), &pairs(&some_pairs())).unwrap();
    assert_eq!((scatter.s()[(0, 0)], scatter.s()[(0, 1)], scatter.s()[(1, 1)]), (9.0, 7.0, 19.0));
    let a = fit.metric.matrix().unwrap();
    assert!(relative_difference((&a * scatter.s() * &a).as_ref(), scatter.d()) < 50.0 * EPS);
}

#[test]
fn one_kind_of_pair_alone_is_refused() {
    let of_kind = |similar: bool| -> Vec<Pair> {
        some_pairs().into_iter().filter(|pair| pair.similar == similar).collect()
    };
    for t in [TChoice::Fixed(0.5), TChoice::CrossValidated] {
        let gmml = Gmml { t, ..Gmml::default() };
        assert_eq!(
            refusal(gmml.fit_pairs(&rows(), &pairs(&of_kind(true)))),
            "no dissimilar pair: 0 pairs are marked dissimilar, with weight 0 together; the dissimilarity matrix \
             D would be empty (mark at least one pair as dissimilar)"
        );
        assert_eq!(
            refusal(gmml.fit_pairs(&rows(), &pairs(&of_kind(false)))),
            "no similar pair: 0 pairs are marked similar, with weight 0 together; the similarity matrix S would \
             be empty (give a class at least two rows, or mark a pair as similar)"
        );
    }
}

#[test]
fn a_pair_of_a_row_with_itself_adds_nothing() {
    let mut list = some_pairs();
    let without = matrix_of(&list);
    list.extend([Pair::similar(2, 2), Pair::dissimilar(4, 4)]);
    assert_eq!(matrix_of(&list), without);
    let only_self = [Pair::similar(1, 1), Pair::dissimilar(2, 2)];
    assert!(matches!(
        fixed(0.5).fit_pairs(&rows(), &pairs(&only_self)),
        Err(Error::AllConstant { columns: 2 })
    ));
}

#[test]
fn a_pair_given_twice_counts_twice() {
    let mut list = some_pairs();
    list.push(list[0]);
    let mut weighted = some_pairs();
    weighted[0] = weighted[0].weighing(2.0);
    // (√2·x)² for 2x²: a rounding or two, with κ(S) of 5.
    assert!(relative_difference(matrix_of(&list).as_ref(), matrix_of(&weighted).as_ref()) < 50.0 * EPS);
}

#[test]
fn weight_zero_is_absence() {
    let mut list = some_pairs();
    list.push(Pair::similar(0, 4).weighing(0.0));
    assert_eq!(matrix_of(&list), matrix_of(&some_pairs()));
    let weightless: Vec<Pair> =
        some_pairs().into_iter().map(|p| if p.similar { p.weighing(0.0) } else { p }).collect();
    let error = refusal(fixed(0.5).fit_pairs(&rows(), &pairs(&weightless)));
    assert!(
        error.starts_with("no similar pair: 3 pairs are marked similar, with weight 0 together"),
        "{error}"
    );
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let refused = Pairs::new(vec![Pair::similar(0, 1).weighing(bad)], 2, 2).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("weight 0 is {bad}; weights must be finite and not negative")
        );
    }
}

#[test]
fn a_pair_that_names_no_row_is_refused_by_the_fit_too() {
    let beyond = Pairs::new(vec![Pair::similar(0, 9), Pair::dissimilar(0, 1)], 10, 10).unwrap();
    assert_eq!(
        refusal(fixed(0.5).fit_pairs(&rows(), &beyond)),
        "pair 0 names row index 9, but there are only 5 rows (0 to 4)"
    );
    let distances = squared_pair_distances(&Metric::euclidean(2), &rows(), &rows(), &beyond);
    assert_eq!(distances, Err(Error::PairOutOfRange { pair: 0, row: 9, rows: 5 }));
}

#[test]
fn two_tables_and_differences_give_the_metric_of_one_table() {
    let (list, all) = (some_pairs(), rows());
    let first = all.subset(&list.iter().map(|p| p.first).collect::<Vec<_>>());
    let second = all.subset(&list.iter().map(|p| p.second).collect::<Vec<_>>());
    let aligned: Vec<Pair> =
        list.iter().enumerate().map(|(i, p)| Pair { first: i, second: i, ..*p }).collect();
    let tables = fixed(0.5).fit_two_tables(&first, &second, &pairs_of(&aligned, 6)).unwrap();
    let similar: Vec<bool> = list.iter().map(|p| p.similar).collect();
    let differences = fixed(0.5).fit_differences(&first.minus(&second).unwrap(), &similar, None).unwrap();
    let one = matrix_of(&list);
    // Differences of these small integers are exact, so all three sum the same numbers.
    assert_eq!(tables.metric.matrix().unwrap(), one);
    assert_eq!(differences.metric.matrix().unwrap(), one);
    assert_eq!(differences.metric.mean(), [0.0, 0.0]);
}

fn pairs_of(list: &[Pair], rows: usize) -> Pairs {
    Pairs::new(list.to_vec(), rows, rows).unwrap()
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    let narrow = table(&[[1.0], [2.0]]);
    let both = pairs_of(&[Pair::similar(0, 1), Pair::dissimilar(0, 0)], 2);
    let error = refusal(fixed(0.5).fit_two_tables(&rows(), &narrow, &both));
    assert_eq!(error, "columns of the second table: 1 given, 2 expected");
    let error = refusal(fixed(0.5).fit_two_tables(&narrow, &rows(), &both));
    assert_eq!(error, "columns of the second table: 2 given, 1 expected");
    assert_eq!(
        refusal(fixed(0.5).fit_differences(&rows(), &[true, false], None)),
        "marks of pairs: 2 given, 5 expected"
    );
    let marks = [true, true, false, false, false];
    assert_eq!(
        refusal(fixed(0.5).fit_differences(&rows(), &marks, Some(&[1.0]))),
        "weights: 1 given, 5 expected"
    );
    let opposite = (table(&[[1e308]]), table(&[[-1e308]]));
    assert_eq!(
        opposite.0.minus(&opposite.1).unwrap_err().to_string(),
        "the difference of two rows is outside the range of 64-bit numbers; rescale the columns or standardise"
    );
}

#[test]
fn standardised_differences_do_not_depend_on_their_unit() {
    let iris = bundled("iris.csv");
    let list = Pairs::sampled(iris.labels(), &mut mahala::data::Random::new(3, 0));
    let ends = |second: bool| -> Vec<usize> {
        list.as_slice().iter().map(|p| if second { p.second } else { p.first }).collect()
    };
    let difference = iris.rows().subset(&ends(false)).minus(&iris.rows().subset(&ends(true))).unwrap();
    let similar: Vec<bool> = list.as_slice().iter().map(|p| p.similar).collect();
    let gmml = Gmml { standardize: true, ..fixed(0.5) };
    let distance = |unit: f64| {
        let scaled = Rows::new(difference.values().iter().map(|x| x * unit).collect(), 4).unwrap();
        let fit = gmml.fit_differences(&scaled, &similar, None).unwrap();
        fit.metric.distance(scaled.row(0), scaled.row(1)).unwrap()
    };
    for unit in [2f64.powi(-40), 2f64.powi(40)] {
        // Powers of two: every step is the same but for the unit.
        assert!((distance(unit) / distance(1.0) - 1.0).abs() < 100.0 * EPS, "{unit}");
    }
}

#[test]
fn choosing_t_on_pairs_needs_a_few_of_each_kind() {
    let two = pairs(&[Pair::similar(0, 1), Pair::dissimilar(0, 3)]);
    for (pairs, count) in [(two, 1), (pairs(&some_pairs()), 3)] {
        assert_eq!(
            refusal(Gmml::default().fit_pairs(&rows(), &pairs)),
            format!(
                "t is to be chosen on {count} similar and {count} dissimilar pairs; it must be given when there \
                 are so few"
            )
        );
    }
    // Each pair three times: some fold has both kinds on both sides.
    let list: Vec<Pair> = some_pairs().into_iter().cycle().take(18).collect();
    let fit = Gmml::default().fit_pairs(&rows(), &pairs(&list)).unwrap();
    assert!((0.0..=1.0).contains(&fit.t));
}

#[test]
fn distances_of_pairs_beyond_the_range_are_refused() {
    let far = table(&[[1e200], [-1e200]]);
    let one = pairs_of(&[Pair::similar(0, 1)], 2);
    let refused = squared_pair_distances(&Metric::euclidean(1), &far, &far, &one);
    assert_eq!(refused, Err(Error::OutOfRange { what: "the distance" }));
    assert_eq!(area_under_curve(&[], &pairs_of(&[], 0)), 0.5);
}
