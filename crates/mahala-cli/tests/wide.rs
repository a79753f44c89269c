//! More columns than rows, sparse rows that stay sparse, and kernels, through the command.

#![allow(clippy::format_collect, reason = "small texts read best where they are made")]

mod common;

use common::Place;
use mahala::data::Random;

/// 24 rows of 400 columns, one cell in eight not 0, as CSV and as LIBSVM; two classes.
fn write_wide(place: &Place) {
    let mut random = Random::new(7, 0);
    let rows: Vec<Vec<f64>> = (0..24)
        .map(|i| {
            let mut cell = |j: usize| {
                let own = j < 40 && j % 2 == i % 2;
                let there = random.uniform() < if own { 0.6 } else { 0.1 };
                if there { (8.0 * random.uniform()).round() / 8.0 + 1.0 } else { 0.0 }
            };
            (0..400).map(|j| if j == 399 { 1.0 } else { cell(j) }).collect()
        })
        .collect();
    let header: String = (1..=400).map(|j| format!("f{j},")).collect();
    let dense = |row: &Vec<f64>| row.iter().map(|x| format!("{x},")).collect::<String>();
    let lines: String =
        rows.iter().enumerate().map(|(i, row)| format!("{}{}\n", dense(row), i % 2)).collect();
    place.write("wide.csv", format!("{header}y\n{lines}"));
    let sparse = |row: &Vec<f64>| -> String {
        let cells = row.iter().enumerate().filter(|(_, x)| **x != 0.0);
        cells.map(|(j, x)| format!(" {}:{x}", j + 1)).collect()
    };
    let lines: String =
        rows.iter().enumerate().map(|(i, row)| format!("{}{}\n", i % 2, sparse(row))).collect();
    place.write("wide.svm", lines);
}

fn distances(text: &str) -> Vec<f64> {
    text.lines().skip(1).map(|line| line.split(',').nth(3).unwrap_or("").parse().unwrap_or(-1.0)).collect()
}

#[test]
fn sparse_rows_give_what_the_same_rows_give_as_csv() {
    let place = Place::new();
    write_wide(&place);
    let csv = place.ok("fit wide.csv --label y --method gmml --lambda 0.5 --t 0.3 -o csv.st");
    let svm = place.ok("fit wide.svm --method gmml --lambda 0.5 --t 0.3 -o svm.st");
    assert!(
        csv.stderr.contains("note: learned inside the 23 directions that the rows span"),
        "{}",
        csv.stderr
    );
    assert!(
        svm.stderr.contains("note: learned inside the 23 directions that the rows span"),
        "{}",
        svm.stderr
    );
    let near =
        |model: &str, rows: &str| distances(&place.ok(&format!("neighbors {model} {rows} -k 23")).stdout);
    let (from_csv, from_svm) = (near("csv.st", "wide.csv --ignore y"), near("svm.st", "wide.svm"));
    assert_eq!(from_csv.len(), 24 * 23);
    for (a, b) in from_csv.iter().zip(&from_svm) {
        assert!((a - b).abs() < 1e-9 * (1.0 + a), "{a} {b}");
    }
    let crossed = near("csv.st", "wide.svm");
    assert!(from_csv.iter().zip(&crossed).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + a)));
    let predicted = place.ok("predict svm.st wide.svm -k 1");
    assert!(predicted.stderr.contains("0 of 24 wrong"), "{}", predicted.stderr);
    let z = place.ok("transform svm.st wide.svm").stdout;
    assert_eq!(z.lines().count(), 25);
    assert!(place.ok("inspect svm.st").stdout.contains("23 directions"));
}

#[test]
fn wide_tables_just_work_and_t_is_chosen() {
    let place = Place::new();
    write_wide(&place);
    let ran = place.ok("fit wide.csv --label y --method gmml -o m.st");
    assert!(ran.stderr.contains("chosen on 24 rows by cross-validation"), "{}", ran.stderr);
    assert!(ran.stderr.contains("constant columns have weight 0: "), "{}", ran.stderr);
    assert_eq!(place.model("m.st").metric.rank(), 23);
    place.ok("tune wide.csv --label y --steps 4");
}

#[test]
fn leading_directions_say_what_they_leave_out() {
    let place = Place::new();
    write_wide(&place);
    let ran = place.ok("fit wide.svm --method gmml --principal 5 --shrinkage 0.1 -o m.st");
    assert!(ran.stderr.contains("note: learned inside 5 directions; "), "{}", ran.stderr);
    assert!(ran.stderr.contains(" % of the rows' squared lengths lie outside"), "{}", ran.stderr);
    assert_eq!(place.model("m.st").metric.rank(), 5);
}

#[test]
fn what_needs_all_columns_by_all_columns_is_refused_with_a_way_out() {
    let place = Place::new();
    let lines: String = (0..6).map(|i| format!("{} {}:1 90000:{i}\n", i % 2, i + 1)).collect();
    place.write("huge.svm", lines);
    let ran = place.run("fit huge.svm --method gmml --shrinkage 0.1 -o m.st");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("the fit needs 648.0 GB for 90000 columns"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: --principal"), "{}", ran.stderr);
    place.ok("fit huge.svm --method gmml --t 0.5 -o m.st");
    assert!(place.ok("inspect m.st").stdout.contains("90 000 columns to 5 coordinates"));
    let ran = place.run("export m.st --what matrix -o a.npy");
    assert!(ran.code == 1 && ran.stderr.contains("the matrix of 90000 columns has 65 GB"), "{}", ran.stderr);
}

fn write_rings(place: &Place, name: &str, n: usize, seed: u64) {
    let mut random = Random::new(seed, 0);
    let mut point = |radius: f64| {
        let angle = std::f64::consts::TAU * random.uniform();
        let radius = radius + 0.4 * random.uniform();
        (radius * angle.cos(), radius * angle.sin())
    };
    let mut line = |i: usize| {
        let (x, y) = point([1.0, 2.0][i % 2]);
        format!("{x},{y},{}\n", ["inner", "outer"][i % 2])
    };
    place.write(name, format!("x,y,ring\n{}", (0..n).map(&mut line).collect::<String>()));
}

#[test]
fn a_kernel_tells_rings_apart_in_every_command() {
    let place = Place::new();
    write_rings(&place, "rings.csv", 120, 1);
    write_rings(&place, "more.csv", 60, 2);
    for options in
        ["--kernel rbf", "--kernel rbf --landmarks 40 --standardize", "--kernel polynomial --degree 2"]
    {
        place.ok(&format!("fit rings.csv --label ring --method gmml {options} --rank 1 -o m.st"));
        let ran = place.ok("predict m.st more.csv --label ring -o p.csv");
        assert!(ran.stderr.contains("0 of 60 wrong"), "{options}: {}", ran.stderr);
        assert_eq!(place.ok("transform m.st more.csv --label ring").stdout.lines().next(), Some("z1,label"));
        place.ok("neighbors m.st more.csv --ignore ring --among rings.csv");
        place.write("pairs.csv", "first,second\n1,2\n1,3\n");
        let decided = place.ok("pairs m.st more.csv --ignore ring --pairs pairs.csv").stdout;
        let decisions: Vec<&str> =
            decided.lines().skip(1).filter_map(|line| line.rsplit(',').next()).collect();
        assert_eq!(decisions, ["different", "same"], "{options}");
    }
    let shown = place.ok("inspect m.st").stdout;
    assert!(shown.contains("polynomial, degree 2") && shown.contains("with 120 rows"), "{shown}");
    let refused = place.run("export m.st -o m.onnx");
    assert!(refused.code == 1 && refused.stderr.contains("a metric with a kernel"), "{}", refused.stderr);
}

#[test]
fn kernel_options_are_checked() {
    let place = Place::new();
    write_rings(&place, "rings.csv", 20, 1);
    let refused = |options: &str, reason: &str| {
        let ran = place.run(&format!("fit rings.csv --label ring --method gmml -o m.st {options}"));
        assert!(ran.code != 0 && ran.stderr.contains(reason), "{options}: {}", ran.stderr);
    };
    refused("--kernel rbf --gamma -1", "--gamma is -1; it must be finite and above 0");
    refused("--kernel polynomial --degree 0", "--degree is 0; it must be at least 1");
    refused("--kernel linear --gamma 1", "--gamma goes with --kernel rbf or polynomial");
    refused("--gamma 1", "--kernel");
    refused("--kernel precomputed", "the kernel is 20 x 2; it must be square");
    refused("--kernel rbf --principal 2", "--principal and --kernel cannot be combined\nhint: --landmarks");
    place.write("pairs.csv", "first,second,similar\n1,3,yes\n1,2,no\n");
    refused("--kernel rbf --pairs pairs.csv", "--kernel goes with --label, not with --pairs FILE");
}
