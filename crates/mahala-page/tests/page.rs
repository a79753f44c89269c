//! The page as a file: what it holds, and what it never holds.

use mahala::gmml::TChoice;
use mahala::neighbors::Neighbors;
use mahala::progress::silent;
use mahala::{Dataset, Error, Gmml, Knn, Labels, Rows};
use mahala_page::{Explorer, Settings, Source};
use serde_json::Value;

fn rows(n: usize, d: usize) -> Rows {
    let noise = |i: usize| ((i * i * 7919 + 31 * i) % 1009) as f64 / 300.0;
    let cell = |i: usize| noise(i) + 0.8 * ((i / d % 3) * (i % d + 1)) as f64;
    Rows::new((0..n * d).map(cell).collect(), d).expect("finite rows")
}

fn data(n: usize, d: usize) -> Dataset {
    Dataset::new(rows(n, d), Labels::new((0..n).map(|i| (i % 3).to_string()))).expect("labels of the rows")
}

fn page_of(data: &Dataset, source: &Source<'_>, settings: &Settings) -> String {
    Explorer::new(data, source, settings, &mut silent).expect("a page").to_html()
}

fn page(data: &Dataset, settings: &Settings) -> String {
    page_of(data, &Source::titled("rows.csv"), settings)
}

/// The data block of a page.
fn block(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").expect("a data block");
    let (block, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(block).expect("JSON")
}

fn bytes(value: &Value) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let place = |c: u8| digits.iter().position(|&digit| digit == c).map_or(0, |place| place as u32);
    let text = value.as_str().expect("base64");
    let decoded = text.as_bytes().chunks(4).flat_map(|four| {
        let bits = four.iter().fold(0, |bits, &c| bits << 6 | place(c));
        bits.to_be_bytes()[1..].to_vec()
    });
    let padding = text.chars().rev().take_while(|&c| c == '=').count();
    let mut bytes: Vec<u8> = decoded.collect();
    bytes.truncate(bytes.len() - padding);
    bytes
}

fn doubles(value: &Value) -> Vec<f64> {
    bytes(value).chunks(8).map(|x| f64::from_le_bytes(x.try_into().expect("eight bytes"))).collect()
}

fn singles(value: &Value) -> Vec<f64> {
    bytes(value).chunks(4).map(|x| f64::from(f32::from_le_bytes(x.try_into().expect("four bytes")))).collect()
}

#[test]
fn the_page_fetches_nothing() {
    let page = page(&data(60, 4), &Settings::default());
    // The name of the SVG namespace is an address that nothing is fetched from.
    let without_namespace = page.replace("\"http://www.w3.org/2000/svg\"", "");
    for word in ["http:", "https:", "src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest", "import("]
    {
        assert!(!without_namespace.contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_another_sample() {
    let data = data(90, 4);
    let settings =
        |seed: u64| Settings { gmml: Gmml { seed, ..Gmml::default() }, max_rows: 30, ..Settings::default() };
    assert_eq!(page(&data, &settings(1)), page(&data, &settings(1)));
    let (one, other) = (block(&page(&data, &settings(1))), block(&page(&data, &settings(2))));
    assert_ne!(one["rows"]["numbers"], other["rows"]["numbers"]);
    assert_eq!((&one["rows"]["count"], &one["total"]), (&Value::from(30), &Value::from(90)));
}

#[test]
fn hostile_names_stay_text() {
    let hostile =
        ["</script><script>alert(1)</script>", "<!--", "a\u{0}b\u{202e}c\n", "{{DATA}}", "\"'&amp;\u{2028}"];
    let labels = Labels::new((0..60).map(|i| hostile[i % 5]));
    let data = Dataset::new(rows(60, 5), labels).expect("labels of the rows");
    let columns: Vec<String> = hostile.iter().map(|&name| name.to_owned()).collect();
    let source = Source { columns: &columns, ..Source::titled(hostile[0]) };
    let page = page_of(&data, &source, &Settings::default());
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains(['\u{0}', '\u{202e}', '\u{2028}']) && !page.contains("<!--"));
    let block = block(&page);
    let names: Vec<&str> =
        block["classes"].as_array().expect("names").iter().filter_map(Value::as_str).collect();
    assert!(
        names.contains(&hostile[0])
            && names.contains(&hostile[3])
            && names.contains(&"a\u{fffd}b\u{fffd}c\u{fffd}"),
        "{names:?}"
    );
    assert!(page.contains("<title>&lt;/script&gt;&lt;script&gt;alert(1)"));
}

#[test]
fn weighted_coordinates_of_the_page_have_the_distances_of_the_fit() {
    for standardize in [false, true] {
        let (data, t) = (data(50, 4), 0.3);
        let gmml = Gmml { standardize, t: TChoice::Fixed(t), ..Gmml::default() };
        let fit = gmml.fit(&data).expect("a fit").metric.transform(data.rows()).expect("coordinates");
        let block = block(&page(&data, &Settings { gmml, ..Settings::default() }));
        let (z, lambda, variance) =
            (singles(&block["rows"]["z"]), doubles(&block["logLambda"]), doubles(&block["rows"]["variance"]));
        for i in 1..50 {
            let part = |k: usize| (t * lambda[k]).exp() * variance[k] * (z[k] - z[4 * i + k]).powi(2);
            let ours: f64 = (0..4).map(part).sum();
            let theirs: f64 = (0..4).map(|k| (fit.row(0)[k] - fit.row(i)[k]).powi(2)).sum();
            // Single precision: 6e-8 of a coordinate, a few coordinates, twice for the square.
            assert!((ours - theirs).abs() < 1e-5 * theirs, "row {i}: {ours} and {theirs}");
        }
    }
}

#[test]
fn the_weights_of_columns_are_the_diagonal_of_the_metric() {
    for standardize in [false, true] {
        let (data, t) = (data(50, 4), 0.6);
        let gmml = Gmml { standardize, t: TChoice::Fixed(t), ..Gmml::default() };
        let a = gmml.fit(&data).expect("a fit").metric.matrix().expect("a matrix");
        let block = block(&page(&data, &Settings { gmml, ..Settings::default() }));
        let (lambda, squares, sums) = (
            doubles(&block["logLambda"]),
            doubles(&block["columns"]["squares"]),
            doubles(&block["columns"]["sums"]),
        );
        let at = |list: &[f64]| -> f64 { (0..4).map(|k| (t * lambda[k]).exp() * list[k]).sum() };
        for j in 0..4 {
            assert!((at(&squares[4 * j..]) - a[(j, j)]).abs() < 1e-9 * a[(j, j)], "column {j}");
        }
        let trace: f64 = (0..4).map(|j| a[(j, j)]).sum();
        assert!((at(&sums) - trace).abs() < 1e-9 * trace);
    }
}

#[test]
fn neighbours_before_are_those_of_the_plain_distance() {
    let data = data(40, 3);
    let block = block(&page(&data, &Settings::default()));
    let found: Neighbors = Knn::new(data.rows().clone()).expect("rows").search_others(10).expect("others");
    let near: Vec<usize> = bytes(&block["rows"]["near"])
        .chunks(4)
        .map(|x| u32::from_le_bytes(x.try_into().expect("four bytes")) as usize)
        .collect();
    assert_eq!(near, (0..40).flat_map(|i| found.indices(i).to_vec()).collect::<Vec<_>>());
}

#[test]
fn the_t_and_its_error_are_those_of_the_fit() {
    let data = data(60, 4);
    let fit = Gmml::default().fit(&data).expect("a fit");
    let held_out = block(&page(&data, &Settings::default()))["heldOut"].clone();
    assert_eq!((held_out["t"].as_f64(), held_out["given"].as_bool()), (Some(fit.t), Some(false)));
    let curve = held_out["measured"]["curve"].as_array().expect("a curve");
    for (t, error) in fit.diagnostics.selection.expect("a choice").curve {
        let point = curve.iter().find(|point| point[0].as_f64() == Some(t)).expect("a value tried");
        assert_eq!(point[1].as_f64(), Some(error));
    }
    let wrong: u64 = held_out["measured"]["votes"]
        .as_array()
        .expect("votes")
        .iter()
        .filter(|vote| vote[0] != vote[1])
        .filter_map(|vote| vote[2].as_u64())
        .sum();
    let error = curve.iter().find(|point| point[0].as_f64() == Some(fit.t)).expect("the t")[1].as_f64();
    assert!((error.expect("an error") - wrong as f64 / 60.0).abs() < 1e-12);
}

#[test]
fn coordinates_that_are_left_out_are_the_least() {
    let settings = Settings { coordinates: 2, ..Settings::default() };
    let block = block(&page(&data(60, 5), &settings));
    assert_eq!(block["rows"]["kept"].as_array().map(Vec::len), Some(2));
    assert_eq!(doubles(&block["rows"]["variance"]).len(), 5);
    // Whatever t, the first direction has the largest weight for its spread.
    assert_eq!(block["rows"]["kept"][0], 0);
}

#[test]
fn more_columns_than_rows_and_too_few_rows_to_hold_out() {
    let wide = block(&page(&data(12, 40), &Settings::default()));
    assert!(doubles(&wide["logLambda"]).len() < 12);
    let gmml = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() };
    let few = Dataset::new(rows(3, 2), Labels::new(["a", "a", "b"])).expect("three rows");
    let few = block(&page(&few, &Settings { gmml, ..Settings::default() }));
    assert!(few["heldOut"]["measured"].is_null() && few["rows"]["listed"] == 2);
}

#[test]
fn what_cannot_be_shown_is_refused_in_words() {
    let (data, source) = (data(60, 4), Source::titled("rows"));
    let refused = |settings: &Settings| {
        Explorer::new(&data, &source, settings, &mut silent).expect_err("refused").to_string()
    };
    let text = refused(&Settings { max_rows: 1, ..Settings::default() });
    assert_eq!(text, "max_rows is 1; it must be at least 2");
    assert!(refused(&Settings { coordinates: 0, ..Settings::default() }).starts_with("coordinates is 0"));
    assert!(refused(&Settings { steps: 0, ..Settings::default() }).starts_with("steps is 0"));
    let limited = Settings { gmml: Gmml { memory_limit_gb: 1e-9, ..Gmml::default() }, ..Settings::default() };
    let error = Explorer::new(&data, &source, &limited, &mut silent).expect_err("refused");
    assert!(matches!(error, Error::Memory { .. }), "{error}");
    let names = vec!["a".to_owned()];
    let short = Source { columns: &names, ..Source::default() };
    let error = Explorer::new(&data, &short, &Settings::default(), &mut silent).expect_err("refused");
    assert_eq!(error.to_string(), "names of columns: 1 given, 4 expected");
}

#[test]
fn a_page_that_no_browser_would_open_is_refused_before_anything_is_learned() {
    let (n, d) = (500_000, 64);
    let data = Dataset::new(
        Rows::new(vec![0.0; n * d], d).expect("zeros"),
        Labels::new((0..n).map(|i| ["a", "b"][i % 2])),
    )
    .expect("labels of the rows");
    let settings = Settings { max_rows: n, ..Settings::default() };
    let error = Explorer::new(&data, &Source::titled("rows"), &settings, &mut silent).expect_err("refused");
    assert!(error.to_string().starts_with("max_rows is 500000 with 64 coordinates, a page of "), "{error}");
}
