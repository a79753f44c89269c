//! A model from its making to its uses, on the bundled tables.

mod common;

use common::{Place, cells, npy_numbers, numbers, without_conditions};

#[test]
fn a_fit_says_what_it_learned() {
    let place = Place::new();
    let ran = place.ok("fit wine.csv --label label --method gmml -o wine.st");
    assert_eq!(ran.stdout, "");
    insta::assert_snapshot!("fit_wine", without_conditions(&ran.stderr));
    let ran = place.json("fit wine.csv --label label --method gmml -o again.st --json");
    assert_eq!((&ran["n"], &ran["d"], &ran["rank"]), (&178.into(), &13.into(), &13.into()));
    assert!(ran["t"].is_f64() && ran["threshold"].is_f64() && ran["diagnostics"]["condition_s"].is_f64());
    assert!(place.read("wine.st") == place.read("again.st"), "the same fit, other bytes");
}

#[test]
fn a_model_on_stdout_is_the_model_in_a_file() {
    let place = Place::with_wine_model();
    let ran = place.ok("fit wine.csv --label label --method gmml -o -");
    assert!(ran.bytes == place.read("wine.st"));
    assert!(!ran.stderr.contains("wrote"), "{}", ran.stderr);
}

#[test]
fn inspect_shows_the_model_to_people_and_to_machines() {
    let place = Place::with_wine_model();
    insta::assert_snapshot!("inspect_wine", without_conditions(&place.ok("inspect wine.st").stdout));
    place.ok("fit iris.csv --label label --method gmml --lambda 0.1 --standardize --keep-rows never --rank 2 -o iris.st");
    insta::assert_snapshot!("inspect_iris", without_conditions(&place.ok("inspect iris.st").stdout));
    let json = place.json("inspect iris.st --json");
    assert_eq!((&json["d"], &json["rank"], &json["standardized"]), (&4.into(), &2.into(), &true.into()));
    assert_eq!(json["kept_rows"], serde_json::Value::Null);
    assert_eq!(json["feature_names"][3], "petal_width_(cm)");
    let json = place.json("inspect wine.st --json");
    assert_eq!(json["classes"], serde_json::json!(["0", "1", "2"]));
    assert_eq!(json["kept_rows"], 178);
}

#[test]
fn transformed_rows_are_the_same_in_every_form() {
    let place = Place::with_wine_model();
    place.ok("transform wine.st wine.csv -o z.csv");
    place.ok("transform wine.st wine.csv -o z.npy");
    let csv = place.text("z.csv");
    let z = numbers(&csv, 13);
    assert!(csv.starts_with("z1,z2,") && z.len() == 178);
    assert_eq!(npy_numbers(&place.read("z.npy")), z.concat());
    assert_eq!(place.ok("transform wine.st wine.csv").stdout, csv);
    assert_eq!(place.run_on("transform wine.st -", &place.read("wine.csv")).stdout, csv);
    let labelled = place.ok("transform wine.st wine.csv --label label").stdout;
    let (labelled, wine) = (cells(&labelled), place.text("wine.csv"));
    assert_eq!(labelled[0][13], "label");
    for (row, original) in labelled.iter().zip(cells(&wine)) {
        assert_eq!(row.last(), original.last());
    }
}

#[test]
fn transformed_distances_are_those_of_the_metric() {
    let place = Place::with_wine_model();
    let z = numbers(&place.ok("transform wine.st wine.csv").stdout, 13);
    let x = numbers(&place.text("wine.csv"), 13);
    let metric = place.model("wine.st").metric;
    for (i, j) in [(0, 1), (5, 120), (177, 60)] {
        let squared: f64 = z[i].iter().zip(&z[j]).map(|(a, b)| (a - b) * (a - b)).sum();
        let distance = metric.distance(&x[i], &x[j]).expect("a distance");
        // Coordinates are shortest decimals, so that only sums are rounded.
        assert!((squared.sqrt() - distance).abs() <= 1e-12 * distance);
    }
}

#[test]
fn predictions_come_from_kept_rows_or_from_a_file() {
    let place = Place::with_wine_model();
    let kept = place.ok("predict wine.st wine.csv --label label");
    let table = cells(&kept.stdout);
    assert_eq!((table[0].join(","), table.len()), ("row,prediction,votes".to_owned(), 179));
    place.ok("fit wine.csv --label label --method gmml --keep-rows never -o bare.st");
    let train = "--train wine.csv --train-label label";
    let given = place.ok(&format!("predict bare.st wine.csv {train} --label -1 -o p.csv"));
    let told =
        given.stderr.strip_prefix("wrote p.csv: 178 rows x 3 columns, 1.3 kB\n").expect("what was written");
    assert_eq!((place.text("p.csv"), told), (kept.stdout.clone(), &*kept.stderr));
    let note = "note: 178 rows also among those that vote: the error comes out too small\n";
    assert!(told.starts_with(note), "{told}");
    let wrong = cells(&kept.stdout)[1..]
        .iter()
        .zip(&cells(&place.text("wine.csv"))[1..])
        .filter(|(predicted, row)| predicted[1] != row[13])
        .count();
    let said = format!("{wrong} of 178 wrong ({:.2} %), balanced error ", wrong as f64 / 1.78);
    assert!(given.stderr.contains(&said) && wrong < 9, "{}", given.stderr);
}

#[test]
fn columns_are_found_by_name_whatever_their_order() {
    let place = Place::with_wine_model();
    let wine = place.text("wine.csv");
    let reversed: Vec<String> = wine
        .lines()
        .map(|line| line.split(',').rev().collect::<Vec<_>>().join(",") + ",note,5")
        .map(|line| line.replace("alcohol,note,5", "alcohol,note,extra"))
        .collect();
    place.write("reversed.csv", reversed.join("\n"));
    let predict = |file: &str| place.ok(&format!("predict wine.st {file}")).stdout;
    assert_eq!(predict("reversed.csv"), predict("wine.csv"));
}

#[test]
fn a_row_is_not_its_own_neighbour() {
    let place = Place::with_wine_model();
    let ran = place.ok("neighbors wine.st wine.csv -k 3 --label label");
    let table = cells(&ran.stdout);
    assert_eq!(table[0], ["row", "rank", "neighbor", "distance", "label"]);
    assert_eq!(table.len(), 1 + 3 * 178);
    assert!(table[1..].iter().all(|row| row[0] != row[2]));
    for three in table[1..].chunks(3) {
        let distances: Vec<f64> = three.iter().map(|row| row[3].parse().expect("a distance")).collect();
        assert!(distances.is_sorted() && three[0][1] == "1" && three[2][1] == "3");
    }
}

#[test]
fn neighbours_among_other_rows_may_be_the_row_itself() {
    let place = Place::with_wine_model();
    let wine = place.text("wine.csv");
    let few: Vec<&str> = wine.lines().take(4).collect();
    place.write("few.csv", few.join("\n"));
    let ran = place.ok("neighbors wine.st few.csv --among wine.csv -k 2 --label label");
    let table = cells(&ran.stdout);
    assert_eq!(table.len(), 1 + 2 * 3);
    for (row, two) in (1..).zip(table[1..].chunks(2)) {
        let itself = [row.to_string(), "1".into(), row.to_string(), "0".into()];
        assert_eq!(two[0][..4], itself);
    }
}

#[test]
fn an_exported_matrix_is_the_square_of_the_exported_components() {
    let place = Place::with_wine_model();
    place.ok("fit wine.csv --label label --method gmml --standardize --rank 5 -o ranked.st");
    for (model, rank) in [("wine", 13), ("ranked", 5)] {
        for (what, name) in [("components", "l"), ("matrix", "a")] {
            for form in ["csv", "npy"] {
                let line = format!("export {model}.st --what {what} -o {name}.{form}");
                let (told, rows) = (place.ok(&line).stderr, if what == "matrix" { 13 } else { rank });
                assert!(
                    told.starts_with(&format!("wrote {name}.{form}: {rows} rows x 13 columns, ")),
                    "{told}"
                );
            }
        }
        let (l, a) = (numbers(&place.text("l.csv"), 13), numbers(&place.text("a.csv"), 13));
        assert_eq!((l.len(), a.len()), (rank, 13));
        assert_eq!(npy_numbers(&place.read("l.npy")), l.concat());
        assert_eq!(npy_numbers(&place.read("a.npy")), a.concat());
        let largest = a.concat().iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        for i in 0..13 {
            for j in 0..13 {
                let product: f64 = l.iter().map(|row| row[i] * row[j]).sum();
                // Thirteen products and sums, each rounded once.
                assert!((product - a[i][j]).abs() <= 1e-14 * largest);
            }
        }
    }
}

#[test]
fn json_and_onnx_hold_the_whole_model() {
    let place = Place::with_wine_model();
    place.ok("export wine.st -o wine.json");
    place.ok("export wine.st -o wine.onnx");
    place.ok("export wine.st -o single.onnx --f32");
    let json: serde_json::Value = serde_json::from_slice(&place.read("wine.json")).expect("JSON");
    assert_eq!((&json["n_features"], &json["rank"]), (&13.into(), &13.into()));
    assert_eq!(json["matrix"].as_array().map(Vec::len), Some(13));
    let model = place.model("wine.st");
    let mean: Vec<f64> = serde_json::from_value(json["mean"].clone()).expect("numbers");
    assert_eq!(mean, model.metric.mean());
    let onnx = place.read("wine.onnx");
    let has = |part: &[u8]| onnx.windows(part.len()).any(|window| window == part);
    assert!(has(b"Sub") && has(b"MatMul") && has(b"components"));
    assert!(place.read("single.onnx").len() < onnx.len());
    assert_eq!(place.ok("export wine.st -o - --format json").stdout, place.text("wine.json"));
}
