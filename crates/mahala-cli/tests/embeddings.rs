//! `mahala adapt` and `mahala retrieval`: embeddings adapted and a search measured.

mod common;

use common::Place;
use mahala::data::Embeddings;
use mahala::embeddings::Adapter;
use serde_json::Value;
use std::fmt::Write as _;

/// Eight classes that differ in the first four columns; the other four are loud noise. Cells are eighths: exact in text.
fn rows(n: usize, seed: u64) -> (Vec<[f64; 8]>, Vec<usize>) {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let classes: Vec<usize> = (0..n).map(|i| i % 8).collect();
    let eighth = |x: f64| (8.0 * x).round() / 8.0;
    let row = |&c: &usize| {
        std::array::from_fn(|j| {
            if j < 4 {
                eighth(f64::from((c >> (j % 3)) as u8 & 1) * 3.0 + 2.0 * uniform())
            } else {
                eighth(16.0 * uniform())
            }
        })
    };
    (classes.iter().map(row).collect(), classes)
}

fn csv(rows: &[[f64; 8]], classes: &[usize]) -> String {
    let mut text = String::from("a,b,c,d,e,f,g,h,class\n");
    for (row, class) in rows.iter().zip(classes) {
        row.iter().for_each(|x| write!(text, "{x},").expect("memory"));
        writeln!(text, "c{class}").expect("memory");
    }
    text
}

fn place() -> Place {
    let place = Place::new();
    for (name, seed) in [("gallery.csv", 1), ("queries.csv", 2)] {
        let (rows, classes) = rows(240, seed);
        place.write(name, csv(&rows, &classes));
    }
    place
}

#[test]
fn the_command_learns_what_the_library_learns_bit_by_bit() {
    let place = place();
    let ran = place.ok("adapt gallery.csv --label class --seed 5 -o m.st --json");
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(report["worth_it"], true, "{report}");
    let (rows, classes) = rows(240, 1);
    let single = rows.iter().flatten().map(|&x| x as f32).collect();
    let codes: Vec<u32> = classes.iter().map(|&c| c as u32).collect();
    let adapter = Adapter { seed: 5, ..Adapter::default() };
    let fit = adapter.fit_labels(&Embeddings::single(single, 8).expect("rows"), &codes).expect("a fit");
    let model = place.model("m.st");
    assert_eq!(model.metric.components(), fit.components());
    assert_eq!(model.metric.mean(), fit.mean());
    assert_eq!(model.params, fit.to_model().params);
    assert_eq!(report["reason"].as_str(), Some(fit.reason()));
}

#[test]
fn a_search_is_measured_before_and_after_with_a_paired_test() {
    let place = place();
    place.ok("adapt gallery.csv --label class -o m.st");
    let line = "retrieval gallery.csv --queries queries.csv --label class --model m.st --criterion map@r,r@1";
    let ran = place.ok(&format!("{line} --json"));
    let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let map = &json["measures"]["map@r"];
    let difference =
        map["after"]["mean"].as_f64().expect("a number") - map["before"]["mean"].as_f64().expect("a number");
    assert!((map["difference"]["mean"].as_f64().expect("a number") - difference).abs() < 1e-12, "{json}");
    assert!(map["difference"]["low"].as_f64().expect("a number") > 0.1, "{json}");
    assert_eq!((json["metric"].as_str(), map["before"]["queries"].as_u64()), (Some("cosine"), Some(240)));
    let text = place.ok(line).stdout;
    assert!(text.contains("before") && text.contains("p = 0.0005") && text.contains("240 queries"), "{text}");
}

#[test]
fn the_similarity_is_said_once_and_checked_ever_after() {
    let place = place();
    place.ok("adapt gallery.csv --label class -o m.st");
    let ran = place.run("retrieval gallery.csv --label class --model m.st --metric l2");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("--metric l2: the model is for cosine"), "{}", ran.stderr);
    // Rows for the cosine are written with norm 1.
    let z = place.ok("transform m.st gallery.csv").stdout;
    for line in z.lines().skip(1).take(5) {
        let norm: f64 = line.split(',').map(|cell| cell.parse::<f64>().expect("a number").powi(2)).sum();
        assert!((norm - 1.0).abs() < 1e-12, "{line}");
    }
}

#[test]
fn clicks_pairs_and_triplets_are_learned_from() {
    let place = place();
    let (_, classes) = rows(240, 1);
    let of_class = |c: usize| classes.iter().enumerate().filter(move |(_, k)| **k == c).map(|(i, _)| i + 1);
    let (mut clicks, mut pairs, mut triplets) = (
        String::from("query,document\n"),
        String::from("first,second,similar\n"),
        String::from("anchor,near,far\n"),
    );
    for i in 0..200 {
        let near = of_class(i % 8).nth((i * 7) % 30).expect("30 rows a class");
        let far = of_class((i + 3) % 8).nth((i * 11) % 30).expect("30 rows a class");
        writeln!(clicks, "{},{near}", i + 1).expect("memory");
        triplets.push_str(&if near == i + 1 { String::new() } else { format!("{},{near},{far}\n", i + 1) });
        pairs.push_str(&if near == i + 1 {
            String::new()
        } else {
            format!("{},{near},1\n{},{far},0\n", i + 1, i + 1)
        });
    }
    place.write("clicks.csv", &clicks);
    place.write("pairs.csv", &pairs);
    place.write("triplets.csv", &triplets);
    for (line, criterion) in [
        ("adapt gallery.csv --ignore class --clicks clicks.csv --queries queries.csv", "ndcg@10"),
        ("adapt gallery.csv --ignore class --pairs pairs.csv", "roc_auc"),
        ("adapt gallery.csv --ignore class --triplets triplets.csv", "mrr"),
    ] {
        let json: Value = serde_json::from_str(&place.ok(&format!("{line} --json")).stdout).expect("JSON");
        assert_eq!(json["criterion"], criterion, "{line}");
        assert!(json["after"].as_f64() > json["before"].as_f64(), "{line}: {json}");
    }
    let ran =
        place.run("adapt gallery.csv --label class --clicks clicks.csv --queries queries.csv --classes seen");
    assert_eq!(ran.code, 2, "one source at a time: {}", ran.stderr);
    place.write("wrong.csv", "query,document\n1,500\n");
    let ran = place.run("adapt gallery.csv --ignore class --clicks wrong.csv --queries queries.csv");
    assert!(ran.code == 1 && ran.stderr.contains("wrong.csv, line 2"), "{}", ran.stderr);
}
