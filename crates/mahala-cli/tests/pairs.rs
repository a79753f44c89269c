//! Learning from marked pairs, without labels, and deciding about pairs.

mod common;

use common::{Place, cells, without_conditions};
use std::fmt::Write as _;

/// The irises without labels as `rows.csv`, and marked pairs of them as `pairs.csv`.
fn unlabelled() -> Place {
    let place = Place::new();
    let iris = place.text("iris.csv");
    let rows: Vec<&str> = iris.lines().map(|line| line.rsplit_once(',').expect("a label").0).collect();
    place.write("rows.csv", rows.join("\n"));
    place.write("pairs.csv", marked(|similar| if similar { "1" } else { "0" }));
    place
}

/// Pairs all over the irises, a third of them similar.
fn pairs() -> impl Iterator<Item = (usize, usize, bool)> {
    (0..120).map(|i| {
        let (first, second) = (1 + (i * 37) % 150, 1 + (i * 59 + 11) % 150);
        (first, second, (first - 1) / 50 == (second - 1) / 50)
    })
}

fn marked(mark: impl Fn(bool) -> &'static str) -> String {
    let mut text = String::from("first,second,similar\n");
    for (first, second, similar) in pairs() {
        writeln!(text, "{first},{second},{}", mark(similar)).expect("memory");
    }
    text
}

#[test]
fn pairs_alone_teach_a_metric() {
    let place = unlabelled();
    let ran = place.ok("fit rows.csv --pairs pairs.csv -o m.st");
    insta::assert_snapshot!("fit_pairs", without_conditions(&ran.stderr));
    let json = place.json("inspect m.st --json");
    assert_eq!((&json["params"]["pairs"], &json["kept_rows"]), (&"given".into(), &serde_json::Value::Null));
    assert!(json["threshold"].is_f64());
}

#[test]
fn marks_may_be_spelled_in_many_ways() {
    let place = unlabelled();
    place.ok("fit rows.csv --pairs pairs.csv -o m.st");
    for (similar, dissimilar) in [
        ("1", "-1"),
        ("+1", "-1.0"),
        ("1.0", "0.0"),
        ("true", "false"),
        ("True", "FALSE"),
        ("yes", "no"),
        ("same", "different"),
        ("similar", "dissimilar"),
    ] {
        let text = marked(|mark| if mark { similar } else { dissimilar });
        for text in [text.clone(), text.replace("first,second,similar\n", ""), text.replace(',', ";")] {
            place.write("spelled.csv", text);
            place.ok("fit rows.csv --pairs spelled.csv -o spelled.st");
            assert!(place.read("m.st") == place.read("spelled.st"), "{similar} and {dissimilar}");
        }
    }
}

#[test]
fn a_weight_counts_as_that_many_pairs() {
    let place = unlabelled();
    let (mut weighted, mut repeated) = (String::from("i,j,same,weight\n"), String::from("i,j,same\n"));
    for (first, second, similar) in pairs() {
        let times = 1 + first % 3;
        writeln!(weighted, "{first},{second},{similar},{times}").expect("memory");
        repeated.push_str(&format!("{first},{second},{similar}\n").repeat(times));
    }
    place.write("weighted.csv", weighted);
    place.write("repeated.csv", repeated);
    place.ok("fit rows.csv --pairs weighted.csv --t 0.5 -o weighted.st");
    place.ok("fit rows.csv --pairs repeated.csv --t 0.5 -o repeated.st");
    let matrix = |name: &str| place.model(name).metric.matrix().expect("a matrix");
    let (one, other) = (matrix("weighted.st"), matrix("repeated.st"));
    for i in 0..4 {
        for j in 0..4 {
            // The same sums in another order.
            assert!((one[(i, j)] - other[(i, j)]).abs() <= 1e-10 * one[(i, i)].max(one[(j, j)]));
        }
    }
}

#[test]
fn the_rows_of_a_pair_may_be_in_two_tables() {
    let place = unlabelled();
    place.ok("fit rows.csv --pairs pairs.csv -o one.st");
    let rows = place.text("rows.csv");
    let columns = |line: &str| line.split(',').rev().collect::<Vec<_>>().join(",");
    let second: Vec<String> = rows.lines().map(columns).collect();
    place.write("second.csv", second.join("\n"));
    place.ok("fit rows.csv --second second.csv --pairs pairs.csv -o two.st");
    assert!(place.model("one.st").metric == place.model("two.st").metric);
    let one = place.ok("pairs one.st rows.csv --pairs pairs.csv");
    let two = place.ok("pairs two.st rows.csv --second second.csv --pairs pairs.csv");
    assert_eq!(one.stdout, two.stdout);
}

#[test]
fn aligned_tables_need_only_the_marks() {
    let place = unlabelled();
    let rows = place.text("rows.csv");
    let lines: Vec<&str> = rows.lines().collect();
    let (mut left, mut right) = (vec![lines[0]], vec![lines[0]]);
    let (mut digits, mut words) = (String::from("similar\n"), String::from("Similar\n"));
    for (first, second, similar) in pairs() {
        left.push(lines[first]);
        right.push(lines[second]);
        digits.push_str(if similar { "1\n" } else { "0\n" });
        words.push_str(if similar { "same\n" } else { "different\n" });
    }
    place.write("left.csv", left.join("\n"));
    place.write("right.csv", right.join("\n"));
    place.write("digits.csv", digits);
    place.write("words.csv", words);
    place.ok("fit left.csv --second right.csv --pairs digits.csv -o digits.st");
    place.ok("fit left.csv --second right.csv --pairs words.csv -o words.st");
    assert!(place.read("digits.st") == place.read("words.st"));
    place.write("lost.csv", "same\n".repeat(120));
    place.refuses(
        "pairs digits.st left.csv --second right.csv --pairs lost.csv",
        "error: lost.csv: 119 marks for rows 1 to 120 of left.csv; without row numbers each row needs one",
    );
    let ran = place.ok("pairs digits.st left.csv --second right.csv --pairs words.csv");
    assert_eq!(ran.stdout.lines().count(), 121);
    assert!(ran.stderr.contains(" % decided right, area under the ROC curve "), "{}", ran.stderr);
}

#[test]
fn distances_decide_about_pairs() {
    let place = unlabelled();
    place.ok("fit rows.csv --pairs pairs.csv -o m.st");
    let threshold = place.model("m.st").threshold.expect("a threshold");
    let ran = place.ok("pairs m.st rows.csv --pairs pairs.csv");
    let table = cells(&ran.stdout);
    assert_eq!(table[0], ["first", "second", "distance", "decision"]);
    let mut right = 0;
    for (row, (first, second, similar)) in table[1..].iter().zip(pairs()) {
        assert_eq!((row[0], row[1]), (&*first.to_string(), &*second.to_string()));
        let distance: f64 = row[2].parse().expect("a distance");
        assert_eq!(row[3], if distance <= threshold { "same" } else { "different" });
        right += usize::from((row[3] == "same") == similar);
    }
    assert!(ran.stderr.starts_with(&format!("{:.2} % decided right", right as f64 / 1.2)), "{}", ran.stderr);
    let json = place.json("pairs m.st rows.csv --pairs pairs.csv --json --each");
    assert_eq!(json["accuracy"].as_f64(), Some(right as f64 / 120.0));
    assert_eq!((&json["pairs"], json["distances"].as_array().map(Vec::len)), (&120.into(), Some(120)));
    assert!(json["auc"].as_f64().is_some_and(|auc| auc > 0.9));
    let rows = place.ok("pairs m.st rows.csv --pairs pairs.csv").stdout;
    let mut beside = place.json("pairs m.st rows.csv --pairs pairs.csv --json -o out.csv");
    assert_eq!((place.text("out.csv"), &beside["output"]), (rows, &"out.csv".into()));
    // Not every distance, unless asked for.
    assert!(beside.get("distances").is_none());
    beside["output"] = serde_json::Value::Null;
    (beside["distances"], beside["probabilities"]) = (json["distances"].clone(), serde_json::Value::Null);
    assert_eq!(beside, json);
    assert_eq!(place.json("pairs m.st rows.csv --pairs pairs.csv --threshold 0 --json")["same"], 0);
}

#[test]
fn unmarked_pairs_are_only_measured() {
    let place = unlabelled();
    place.ok("fit rows.csv --pairs pairs.csv -o m.st");
    place.write("candidates.csv", "1,2\n1,51\n");
    let ran = place.ok("pairs m.st rows.csv --pairs candidates.csv");
    assert_eq!((ran.stdout.lines().count(), &*ran.stderr), (3, ""));
    let json = place.json("pairs m.st rows.csv --pairs candidates.csv --json");
    assert_eq!(json["accuracy"], serde_json::Value::Null);
}

#[test]
fn a_wrong_file_of_pairs_is_refused_with_its_line() {
    let place = unlabelled();
    let refuses = |content: &str, message: &str| {
        place.write("p.csv", content);
        place.refuses("fit rows.csv --pairs p.csv -o m.st", message);
    };
    let similar = "(1 or 0, true or false, same or different)";
    refuses(
        "first,second,similar\n1,2,1\n1,3,maybe\n",
        &format!("error: p.csv, line 3: 'maybe' does not say whether the pair is similar {similar}"),
    );
    refuses(
        "first,second,similar\n1,2,1\n\n1,3,\n",
        &format!("error: p.csv, line 4: '' does not say whether the pair is similar {similar}"),
    );
    let rows = "rows.csv has rows 1 to 150 (the header does not count)";
    refuses("1,2,1\n151,3,0\n", &format!("error: p.csv, line 2: row 151 does not exist; {rows}"));
    refuses("1,2,1\n0,3,0\n", &format!("error: p.csv, line 2: row 0 does not exist; {rows}"));
    refuses("i,j,y\n1,2,1\n1,-3,0\n", "error: p.csv, line 3: '-3' is not a row number (1, 2, …)");
    refuses(
        "i,j,y,w\n1,2,1,1\n1,3,0,-2\n",
        "error: p.csv, line 3: '-2' is not a weight; weights are finite and not negative",
    );
    refuses("p,q\n1,2\n", "error: p.csv: its columns are p, q; first,second,similar[,weight] are expected");
    refuses(
        "first,second\n1,2\n",
        "error: p.csv: no column says which pairs are similar\nhint: add a column 'similar' with 1 and 0, or 'similarity' from 0 to 1",
    );
    refuses("1\n0\n", "error: p.csv: 1 column without names; first,second,similar[,weight] are expected");
    refuses("", "error: p.csv: the file is empty");
    refuses(
        "i,j,y\n1,2,1\n1,3,1\n",
        "error: no dissimilar pair: 0 pairs are marked dissimilar, with weight 0 together; the dissimilarity \
         matrix D would be empty (mark at least one pair as dissimilar)",
    );
}

#[test]
fn too_few_pairs_to_choose_t_on_say_so() {
    let place = unlabelled();
    place.write("p.csv", "i,j,y\n1,2,1\n1,80,0\n");
    place.refuses(
        "fit rows.csv --pairs p.csv -o m.st",
        "error: t is to be chosen on 1 similar and 1 dissimilar pairs; it must be given when there are so few\n\
         hint: --t 0.5",
    );
    place.ok("fit rows.csv --pairs p.csv --t 0.5 -o m.st");
}

#[test]
fn files_that_do_not_belong_to_each_other_are_refused() {
    let place = unlabelled();
    place.refuses(
        "fit rows.csv --pairs sample -o m.st",
        "error: --pairs sample: there is no such file\nhint: all, sampled, or a file that marks pairs",
    );
    place.refuses(
        "fit rows.csv --second nowhere.csv --pairs pairs.csv -o m.st",
        "error: nowhere.csv: there is no such file",
    );
    place.refuses(
        "fit rows.csv --second pairs.csv --pairs pairs.csv -o m.st",
        "error: pairs.csv has the columns first, second, similar; the first table has sepal_length_(cm), \
         sepal_width_(cm), petal_length_(cm), petal_width_(cm)",
    );
    place.refuses(
        "fit rows.csv -o m.st",
        "error: there is nothing to learn from: no labels and no pairs\nhint: --label COLUMN, or --pairs FILE",
    );
    place.refuses(
        "fit iris.csv --label label --second rows.csv -o m.st",
        "error: --second goes with --pairs FILE",
    );
    let ran = place.run_on("fit - --pairs - -o m.st", &place.read("rows.csv"));
    assert_eq!(
        (ran.code, &*ran.stderr),
        (
            1,
            "error: standard input: it can be read only once\n\
             hint: give - for one table, and names of files for the others\n"
        )
    );
}
