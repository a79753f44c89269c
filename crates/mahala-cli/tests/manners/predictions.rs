//! What `predict` says of its predictions.

use crate::common::{Place, cells};

/// Ten rows of two classes on a line, and a model that leaves them where they are.
fn line() -> Place {
    let place = Place::new();
    let rows = "x,y,c\n0,0,a\n1,0,a\n2,0,a\n10,0,b\n11,0,b\n12,0,b\n";
    place.write("train.csv", rows);
    place.ok("fit train.csv --label c --method euclidean -o m.st");
    place
}

#[test]
fn probabilities_are_shares_of_votes_or_of_inverse_distances() {
    let place = line();
    // From 4: rows at 2, 3 and 4 of a, at 6 and 7 of b.
    place.write("new.csv", "x,y\n4,0\n10,0\n");
    let votes = place.ok("predict m.st new.csv --probabilities").stdout;
    assert_eq!(votes, "row,prediction,votes,p_a,p_b\n1,a,3,0.6,0.4\n2,b,3,0.4,0.6\n");
    assert_eq!(votes, place.ok("predict m.st new.csv --probabilities=votes").stdout);
    let weighted = place.ok("predict m.st new.csv --probabilities=distance").stdout;
    let rows = cells(&weighted);
    let share: f64 = rows[1][3].parse().expect("a number");
    let (a, b) = (1.0 / 2.0 + 1.0 / 3.0 + 1.0 / 4.0, 1.0 / 6.0 + 1.0 / 7.0);
    // The sum of five quotients: rounding alone.
    assert!((share - a / (a + b)).abs() < 1e-12, "{share}");
    assert_eq!(rows[2], ["2", "b", "3", "0", "1"], "a row at distance 0 counts alone");
    let streamed = place.ok("predict m.st new.csv --probabilities=distance --stream").stdout;
    assert_eq!(streamed, weighted);
}

#[test]
fn errors_are_told_by_class_and_as_a_matrix() {
    let place = line();
    // One of three rows of a is taken for b; the row of b is right.
    place.write("new.csv", "x,y,c\n0,1,a\n1,1,a\n11,1,a\n12,1,b\n");
    let told = place.ok("predict m.st new.csv --label c -k 3").stderr;
    let expected = "1 of 4 wrong (25.00 %), balanced error 16.67 %

  class   rows   wrong   error %   precision %   recall %
  ───────────────────────────────────────────────────────
  a          3       1     33.33        100.00      66.67
  b          1       0      0.00         50.00     100.00

  class \\ predicted   a   b
  ─────────────────────────
  a                   2   1
  b                   0   1
";
    assert_eq!(told.trim_end(), expected.trim_end());
    let json = place.json("predict m.st new.csv --label c -k 3 --json");
    let score = &json["score"];
    assert_eq!((&score["wrong"], &score["error"]), (&1.into(), &0.25.into()));
    let balanced = score["balanced_error"].as_f64().expect("a number");
    assert!((balanced - 1.0 / 6.0).abs() < 1e-15, "{balanced}");
    assert_eq!(
        (&score["classes"][1]["precision"], &score["classes"][1]["recall"]),
        (&0.5.into(), &1.0.into())
    );
    let confused = serde_json::json!([
        {"class": "a", "prediction": "a", "rows": 2}, {"class": "a", "prediction": "b", "rows": 1},
        {"class": "b", "prediction": "b", "rows": 1},
    ]);
    assert_eq!(score["confusion"], confused);
    let streamed = place.json("predict m.st new.csv --label c -k 3 --json --stream");
    assert_eq!(streamed["score"], json["score"]);
    assert!(place.json("predict m.st new.csv --json")["score"].is_null());
}

#[test]
fn many_classes_are_told_in_a_table_that_fits() {
    let place = Place::new();
    let row = |i: usize| format!("{},{},c{:02}\n", 10 * (i / 2), i % 2, i / 2);
    place.write("train.csv", format!("x,y,c\n{}", (0..60).map(row).collect::<String>()));
    place.ok("fit train.csv --label c --method euclidean -o m.st -k 1");
    // Rows of c29 lie among those of c00.
    place.write("new.csv", "x,y,c\n0,2,c29\n1,2,c29\n10,2,c01\n");
    let train = "--train train.csv --train-label c";
    let told = place.ok(&format!("predict m.st new.csv --label c -k 1 {train}")).stderr;
    assert!(told.contains("2 of 3 wrong (66.67 %), balanced error 50.00 %"), "{told}");
    assert!(!told.contains("class \\ predicted"), "{told}");
    place.write("all.csv", format!("x,y,c\n0,2,c29\n{}", (0..60).map(row).collect::<String>()));
    let told = place.ok(&format!("predict m.st all.csv --label c -k 1 {train}")).stderr;
    let first = told.lines().skip_while(|line| !line.contains("──")).nth(1).expect("a row");
    assert!(
        first.trim_start().starts_with("c29") && told.contains("and 10 classes with fewer errors"),
        "{told}"
    );
}
