//! Tables that are written: one content in every form, names of rows, and what became of dropped ones.

#![allow(clippy::format_collect, reason = "small texts read best where they are made")]

mod common;

use common::{Place, cells, npy_numbers, numbers};
use mahala_io::{ReadOptions, read_table};

/// The wines with a name for each row, and their model.
fn place() -> Place {
    let place = Place::with_wine_model();
    let wine = place.text("wine.csv");
    let line = |(i, line): (usize, &str)| match i {
        0 => format!("bottle,{line}\n"),
        _ => format!("no. {},{line}\n", 1000 - i),
    };
    place.write("named.csv", wine.lines().enumerate().map(line).collect::<String>());
    place
}

fn gunzip(bytes: &[u8]) -> String {
    std::io::read_to_string(flate2::read::GzDecoder::new(bytes)).expect("gzip")
}

/// Names, numbers and labels, as the reader of tables finds them.
fn table(place: &Place, name: &str, label: Option<&str>) -> (Vec<String>, Vec<f64>, Option<Vec<String>>) {
    let options = ReadOptions { label: label.and_then(|label| label.parse().ok()), ..ReadOptions::default() };
    let table = read_table(&place.path(name), &options).expect("a table");
    (table.names, table.rows, table.labels)
}

#[test]
fn the_same_table_is_written_in_every_form_in_memory_and_in_a_stream() {
    let place = place();
    for command in ["transform", "predict", "neighbors"] {
        let options: &[&str] = match command {
            "transform" => &["", "--stream"],
            "predict" => &["", "--stream", "--probabilities=distance"],
            _ => &[""],
        };
        for option in options {
            let line = format!("{command} wine.st wine.csv {option}");
            let csv = place.ok(&line).stdout;
            assert_eq!(csv.lines().count(), if command == "neighbors" { 5 * 178 + 1 } else { 179 });
            for name in ["o.csv", "o.tsv", "o.csv.gz", "o.csv.zst", "o.tsv.gz"] {
                place.ok(&format!("{line} -o {name}"));
                let bytes = place.read(name);
                let text = match name {
                    "o.csv.zst" => {
                        String::from_utf8(zstd::decode_all(&bytes[..]).expect("zstd")).expect("text")
                    }
                    _ if name.ends_with("gz") => gunzip(&bytes),
                    _ => place.text(name),
                };
                assert!(text.replace('\t', ",") == csv, "{line} {name}");
            }
            place.ok(&format!("{line} -o o.parquet"));
            place.write("o.csv", &csv);
            let label = (command == "predict").then_some("prediction");
            assert!(table(&place, "o.parquet", label) == table(&place, "o.csv", label), "{line}");
        }
    }
    for command in ["transform", "neighbors"] {
        place.ok(&format!("{command} wine.st wine.csv -o o.npy"));
        let csv = place.ok(&format!("{command} wine.st wine.csv")).stdout;
        let all: Vec<f64> = numbers(&csv, cells(&csv)[0].len()).concat();
        assert!(npy_numbers(&place.read("o.npy")) == all, "{command}");
    }
    let told = place.run("predict wine.st wine.csv -o p.npy").stderr;
    assert!(told.contains("an array (.npy) holds numbers alone, and column 'prediction' is text"), "{told}");
    assert!(!place.names().contains(&"p.npy".to_owned()));
}

#[test]
fn rows_keep_their_names() {
    let place = place();
    let column = |text: &str, name: &str| -> Vec<String> {
        let table = cells(text);
        let at = table[0].iter().position(|cell| *cell == name).expect("a column");
        table[1..].iter().map(|row| row[at].to_owned()).collect()
    };
    let names: Vec<String> = (1..=178).map(|i| format!("no. {}", 1000 - i)).collect();
    for line in ["transform wine.st named.csv --id bottle", "predict wine.st named.csv --id bottle"] {
        let plain = place.ok(&line.replace(" --id bottle", "")).stdout;
        for more in ["", "--stream", "--label label"] {
            let text = place.ok(&format!("{line} {more}")).stdout;
            assert_eq!(column(&text, "id"), names, "{line} {more}");
            let last = cells(&plain)[0].len() - 1;
            let last = cells(&plain)[0][last].to_owned();
            assert_eq!(column(&text, &last), column(&plain, &last), "{line} {more}");
        }
    }
    let told = place.run("predict wine.st named.csv --id bottle --label label --stream").stderr;
    assert!(told.starts_with("error: --id and --label cannot be combined in a stream"), "{told}");
    place.refuses(
        "predict wine.st named.csv --id label --label label",
        "error: --id and --label name the same column\nhint: give one of them, or another column",
    );
    let near = place.ok("neighbors wine.st named.csv --id bottle -k 2 --label label").stdout;
    assert!(near.starts_with("row,id,rank,neighbor,neighbor_id,distance,label\n"), "{near}");
    let named = |numbers: Vec<String>| -> Vec<String> {
        numbers.iter().map(|number| names[number.parse::<usize>().expect("a number") - 1].clone()).collect()
    };
    assert_eq!(column(&near, "id"), named(column(&near, "row")));
    assert_eq!(column(&near, "neighbor_id"), named(column(&near, "neighbor")));
    let head: String = place.text("named.csv").lines().take(4).map(|line| format!("{line}\n")).collect();
    place.write("queries.csv", head);
    let near = place.ok("neighbors wine.st queries.csv --among named.csv --id bottle -k 1").stdout;
    assert_eq!(column(&near, "id"), column(&near, "neighbor_id"));
    assert_eq!(column(&near, "id"), names[..3]);
}

#[test]
fn dropped_rows_leave_a_gap_in_the_numbers() {
    let place = place();
    let named = place.text("named.csv");
    let mut lines: Vec<String> = named.lines().map(str::to_owned).collect();
    let second = lines[2].splitn(3, ',').map(str::to_owned).collect::<Vec<_>>();
    lines[2] = format!("{},,{}", second[0], second[2]);
    place.write("gap.csv", lines.join("\n"));
    for stream in ["", "--stream"] {
        let text = place.ok(&format!("transform wine.st gap.csv --missing drop {stream}")).stdout;
        let table = cells(&text);
        assert_eq!([table[0][0], table[0][1]], ["row", "z1"]);
        assert_eq!([table[1][0], table[2][0], table[177][0]], ["1", "3", "178"]);
        assert_eq!(table.len(), 178);
        let text = place.ok(&format!("transform wine.st gap.csv --missing drop --id bottle {stream}")).stdout;
        let table = cells(&text);
        assert_eq!([table[0][0], table[0][1], table[2][0]], ["id", "z1", "no. 997"]);
    }
    let told = place.ok("transform wine.st gap.csv --missing drop -o z.npy").stderr;
    assert!(told.contains("note: an array does not tell which rows were dropped"), "{told}");
}

#[test]
fn an_array_leaves_labels_out_and_says_so() {
    let place = place();
    for stream in ["", "--stream"] {
        let line = format!("transform wine.st wine.csv {stream}");
        let told = place.ok(&format!("{line} --label label -o z.npy")).stderr;
        assert!(told.contains("note: an array holds numbers alone: the labels are left out"), "{told}");
        let labelled = place.read("z.npy");
        let told = place.ok(&format!("{line} -o z.npy")).stderr;
        assert!(!told.contains("note:"), "{told}");
        assert!(place.read("z.npy") == labelled);
    }
    let refusal = |column: &str| {
        format!(
            "error: an array (.npy) holds numbers alone, and column '{column}' is text\n\
             hint: write .csv, .tsv or .parquet"
        )
    };
    place.refuses("transform wine.st named.csv --id bottle -o n.npy", &refusal("id"));
    place.refuses("neighbors wine.st wine.csv --label label -o n.npy", &refusal("label"));
    assert!(!place.names().contains(&"n.npy".to_owned()));
}

#[test]
fn a_feature_of_the_model_names_and_labels_no_rows() {
    let place = place();
    let feature = cells(&place.text("wine.csv"))[0][1].to_owned();
    let refusal = format!(
        "error: wine.csv: column '{feature}' is a feature of the model, and cannot name or label the rows\n\
         hint: give another column with --label or --id"
    );
    for command in ["transform", "predict", "neighbors"] {
        for option in ["--label", "--id"] {
            place.refuses(&format!("{command} wine.st wine.csv {option} {feature}"), &refusal);
        }
    }
}

#[test]
fn summaries_tell_of_tables_in_every_form() {
    let place = place();
    let told = place.json("transform wine.st named.csv --id bottle --label label -o z.parquet --json");
    assert_eq!(
        (&told["rows"], &told["coordinates"], &told["labelled"]),
        (&178.into(), &13.into(), &true.into())
    );
    let told = place.ok("transform wine.st named.csv --id bottle -o z.tsv.gz").stderr;
    assert!(told.contains("wrote z.tsv.gz: 178 rows x 14 columns"), "{told}");
    let told = place.ok("predict wine.st named.csv --id bottle --probabilities -o p.tsv").stderr;
    assert!(told.contains("wrote p.tsv: 178 rows x 7 columns"), "{told}");
    let before = place.names();
    assert_eq!(place.json("predict wine.st named.csv --id bottle --json")["rows"], 178);
    assert_eq!(place.names(), before);
}
