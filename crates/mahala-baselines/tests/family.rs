//! LDA, KISSME and RCA are points of the family of recipes, and a recipe has the name of a method only where it is that method.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use mahala::auto::Recipe;
use mahala::data::Random;
use mahala::gmml::Curve;
use mahala::learner::Training;
use mahala::progress::silent;
use mahala::{Dataset, Labels, Metric, Rows};
use mahala_baselines::named;
use serde_json::{Value, json};

/// Classes of these sizes, apart in every column, in units from 1 to 1000, with correlated columns.
fn table(sizes: &[usize], columns: usize) -> Dataset {
    let mut random = Random::new(5, 0);
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for (class, &size) in sizes.iter().enumerate() {
        let centre: Vec<f64> = (0..columns).map(|_| random.uniform()).collect();
        for _ in 0..size {
            let common = random.uniform();
            for (j, centre) in centre.iter().enumerate() {
                let spread =
                    random.uniform() + common * (j % 2) as f64 + random.uniform() * class as f64 / 3.0;
                values.push((centre + spread) * 10f64.powf(3.0 * j as f64 / columns as f64));
            }
            labels.push(class.to_string());
        }
    }
    Dataset::new(Rows::new(values, columns).unwrap(), Labels::new(labels)).unwrap()
}

/// How far two matrices are apart up to a factor: entries over the roots of their diagonals.
fn apart(one: &Metric, other: &Metric) -> f64 {
    let (a, b) = (one.matrix().unwrap(), other.matrix().unwrap());
    let d = a.nrows();
    let factor = (0..d).map(|j| a[(j, j)] / b[(j, j)]).sum::<f64>() / d as f64;
    let entries = (0..d).flat_map(|i| (0..d).map(move |j| (i, j)));
    entries
        .map(|(i, j)| (a[(i, j)] - factor * b[(i, j)]).abs() / (a[(i, i)] * a[(j, j)]).sqrt())
        .fold(0.0, f64::max)
}

fn baseline(name: &str, parameters: Value, data: &Dataset) -> Metric {
    named(name, parameters).unwrap().learn(&Training::Labelled(data), &mut silent).unwrap().metric
}

fn lda(directions: usize) -> Recipe {
    let directions = Some(directions);
    Recipe { pooled: true, beta: 0.0, directions, ..Recipe::all_pairs(0.0) }
}

#[test]
fn a_recipe_that_is_named_equals_the_method_of_that_name() {
    for sizes in [vec![40, 15, 25, 20], vec![20, 20, 20, 20]] {
        let data = table(&sizes, 6);
        let kissme = Recipe { curve: Curve::Kissme, ..Recipe::all_pairs(1.0) };
        let rca = Recipe { pooled: true, ..Recipe::all_pairs(0.0) };
        for (recipe, name, method, parameters) in [
            (lda(3), "LDA with 3 directions", "lda", json!({})),
            (lda(1), "LDA with 1 direction", "lda", json!({"rank": 1})),
            (kissme.clone(), "KISSME", "kissme", json!({})),
            (
                Recipe { directions: Some(2), ..kissme },
                "KISSME with 2 directions",
                "kissme",
                json!({"rank": 2}),
            ),
            (rca, "RCA, a chunklet a class", "rca", json!({})),
        ] {
            assert_eq!(recipe.known_as(6, &sizes).as_deref(), Some(name));
            let off = apart(&recipe.fit(&data).unwrap(), &baseline(method, parameters, &data));
            // Two routes to the eigenvectors of one pencil, whose ratios are some 1 apart.
            assert!(off < 1e-10, "{name}, {sizes:?}: {off:e}");
        }
    }
}

#[test]
fn what_is_near_a_method_but_not_it_has_no_name() {
    let sizes = [40, 15, 25, 20];
    let data = table(&sizes, 6);
    // Classes of unequal size: GMML's S is not LDA's.
    for (recipe, method) in [
        (Recipe { pooled: false, ..lda(3) }, "lda"),
        (Recipe { beta: 1.0, ..lda(2) }, "lda"),
        (Recipe { shrinkage: 0.1, ..lda(3) }, "lda"),
        (Recipe { curve: Curve::Kissme, ..Recipe::all_pairs(0.9) }, "kissme"),
        (Recipe { curve: Curve::Kissme, pooled: true, ..Recipe::all_pairs(1.0) }, "kissme"),
        (Recipe::all_pairs(1e-3), "rca"),
    ] {
        assert!(recipe.known_as(6, &sizes).is_none_or(|name| name.starts_with("GMML")), "{recipe}");
        let rank = recipe.directions.map_or(json!({}), |r| json!({"rank": r}));
        let off = apart(&recipe.fit(&data).unwrap(), &baseline(method, rank, &data));
        assert!(off > 1e-6, "{recipe}: {off:e}");
    }
    // Of equal size it is, whatever the weights are called.
    let equal = [20; 4];
    let same = Recipe { pooled: false, beta: 1.0, ..lda(3) };
    assert_eq!(same.known_as(6, &equal).as_deref(), Some("LDA with 3 directions"));
    let data = table(&equal, 6);
    assert!(apart(&same.fit(&data).unwrap(), &baseline("lda", json!({}), &data)) < 1e-10);
}
