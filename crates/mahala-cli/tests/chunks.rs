//! GMML from chunks: rows known to be of one class, whichever it is.

mod common;

use common::Place;
use std::fmt::Write as _;

/// 36 rows of three columns in six chunks of six, but for the last four rows, which are in none.
fn place() -> Place {
    let place = Place::new();
    let mut state = 5u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut text = String::from("a,b,c,chunk,y\n");
    for i in 0..40 {
        let centre = (i / 6) as f64;
        let row = [centre + uniform(), 2.0 * uniform() - 0.3 * centre, uniform()];
        let chunk = if i < 36 { (i / 6).to_string() } else { "-1".to_owned() };
        writeln!(text, "{:.4},{:.4},{:.4},{chunk},{}", row[0], row[1], row[2], ["p", "q"][i / 6 % 2])
            .expect("memory");
    }
    place.write("rows.csv", text);
    let mut pairs = String::from("first,second,similar\n");
    for i in 0..36 {
        for j in 0..i {
            writeln!(pairs, "{},{},{}", i + 1, j + 1, u8::from(i / 6 == j / 6)).expect("memory");
        }
    }
    place.write("pairs.csv", pairs);
    place
}

#[test]
fn chunks_are_all_their_pairs() {
    let place = place();
    // Rows of classes, and so of chunks, are summed on the scale of the paper's 40c(c − 1) pairs, and λ is on it, too: 1,200
    // for six chunks in the place of 36²/2. Pairs of a file are summed as they are.
    let (scale, t) = (1200.0_f64 / 648.0, 0.3);
    for [of_chunks, of_pairs] in [
        ["", ""].map(String::from),
        [0.5, 0.5 / scale].map(|x| format!(" --lambda {x}")),
        [0.2, 0.2].map(|x| format!(" --shrinkage {x}")),
    ] {
        place.ok(&format!(
            "fit rows.csv --chunks chunk --ignore y --method gmml --t {t}{of_chunks} -o chunks.st"
        ));
        let line = "fit rows.csv --pairs pairs.csv --ignore y --ignore chunk --method gmml";
        place.ok(&format!("{line} --t {t}{of_pairs} -o pairs.st"));
        let [a, b] =
            ["chunks.st", "pairs.st"].map(|name| place.model(name).metric.matrix().expect("a matrix"));
        let b = &b * faer::Scale(scale.powf(2.0 * t - 1.0));
        // The same sums in another order.
        let off = (&a - &b).norm_max() / b.norm_max();
        assert!(off < 1e-11, "{of_chunks}: {off}");
    }
}

#[test]
fn t_is_chosen_and_the_rows_are_kept_with_their_labels() {
    let place = place();
    let ran = place.ok("fit rows.csv --chunks chunk --label y --method gmml -o m.st");
    assert!(ran.stderr.contains("chosen on 36 rows by cross-validation"), "{}", ran.stderr);
    let model = place.model("m.st");
    assert_eq!(
        model.references.as_ref().map(|(rows, labels)| (rows.len(), labels.class_count())),
        Some((40, 2))
    );
    assert!(model.threshold.is_some_and(|threshold| threshold > 0.0));
    let told =
        place.json("evaluate rows.csv --chunks chunk --label y --method euclidean,rca,gmml --runs 4 --json");
    let names: Vec<&str> =
        told["results"].as_array().expect("results").iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["euclidean", "rca", "gmml"]);
    assert!(told["results"][2]["t_mean"].as_f64().is_some());
    place.ok("fit rows.csv --chunks chunk --label y --method gmml --calibrate platt -o c.st");
    assert!(place.model("c.st").calibration.is_some());
    let ran = place.run("fit rows.csv --chunks chunk --label y --method lmnn -o m.st");
    assert!(ran.code == 1 && ran.stderr.contains("it goes with --method rca or gmml"), "{}", ran.stderr);
}
