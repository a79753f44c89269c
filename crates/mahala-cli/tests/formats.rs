//! The same table in every format, and tables as people really have them.

#![allow(clippy::format_collect, reason = "small texts read best where they are made")]

mod common;

use common::{Place, bundled, cells, npy, numbers};
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::data_type::{DoubleType, Int32Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::io::Write as _;
use std::sync::Arc;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// Features as doubles named `f1`, `f2`, …, and an integer `label`.
fn parquet(rows: &[Vec<f64>]) -> Vec<u8> {
    let d = rows[0].len() - 1;
    let features: String = (1..=d).map(|j| format!("REQUIRED DOUBLE f{j}; ")).collect();
    let schema = format!("message table {{ {features} REQUIRED INT32 label; }}");
    let schema = Arc::new(parse_message_type(&schema).expect("a schema"));
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).expect("memory");
    let mut group = file.next_row_group().expect("a group");
    for j in 0..=d {
        let column: Vec<f64> = rows.iter().map(|row| row[j]).collect();
        let mut writer = group.next_column().expect("a column").expect("a column");
        let written = if j < d {
            writer.typed::<DoubleType>().write_batch(&column, None, None)
        } else {
            let labels: Vec<i32> = column.iter().map(|&x| x as i32).collect();
            writer.typed::<Int32Type>().write_batch(&labels, None, None)
        };
        assert_eq!(written.expect("memory"), rows.len());
        writer.close().expect("memory");
    }
    group.close().expect("memory");
    file.into_inner().expect("memory")
}

fn libsvm(rows: &[Vec<f64>]) -> String {
    let line = |row: &Vec<f64>| {
        let (label, features) = row.split_last().expect("a label");
        let pairs: String = (1..).zip(features).map(|(j, x)| format!(" {j}:{x}")).collect();
        format!("{label}{pairs}\n")
    };
    rows.iter().map(line).collect()
}

/// One object a line, from a table without quotation marks.
fn jsonl(csv: &str) -> String {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().expect("a header");
    let line = |cells: Vec<&str>| {
        let members: Vec<String> =
            names.iter().zip(cells).map(|(name, cell)| format!("\"{name}\": {cell}")).collect();
        format!("{{{}}}\n", members.join(", "))
    };
    lines.map(line).collect()
}

#[test]
fn one_table_in_eight_formats_gives_one_model() {
    let place = Place::new();
    let wine = place.text("wine.csv");
    let rows = numbers(&wine, 14);
    place.write("wine.tsv", wine.replace(',', "\t"));
    place.write("wine.csv.gz", gzip(wine.as_bytes()));
    place.write("wine.npy", npy(&rows));
    place.write("wine.svm", libsvm(&rows));
    place.write("wine.parquet", parquet(&rows));
    place.write("wine.jsonl", jsonl(&wine));
    place.write("wine.ndjson.gz", gzip(jsonl(&wine).as_bytes()));
    let model = |name: &str, label: &str, stdin: &[u8]| {
        let ran = place.run_on(&format!("fit {name} {label} -o m.st"), stdin);
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        let mut model = place.model("m.st");
        model.feature_names.clear();
        model.to_bytes()
    };
    let csv = model("wine.csv", "--label label", b"");
    for (name, label) in [
        ("wine.tsv", "--label label"),
        ("wine.csv.gz", "--label label"),
        ("wine.npy", "--label -1"),
        ("wine.svm", ""),
        ("wine.parquet", "--label label"),
        ("wine.jsonl", "--label label"),
        ("wine.ndjson.gz", "--label label"),
    ] {
        assert!(model(name, label, b"") == csv, "{name} gives another model");
    }
    assert!(model("-", "--label label", wine.as_bytes()) == csv);
    assert!(model("-", "--label label", &gzip(wine.as_bytes())) == csv);
    assert!(model("-", "--label 14", &npy(&rows)) == csv);
    assert!(model("-", "--label label", &parquet(&rows)) == csv);
    assert!(model("-", "--label label", jsonl(&wine).as_bytes()) == csv);
    assert!(model("-", "--format libsvm", libsvm(&rows).as_bytes()) == csv);
}

#[test]
fn json_lines_go_the_whole_way_in_memory_and_in_a_stream() {
    let place = Place::new();
    let wine = place.text("wine.csv");
    // The order of the keys of a line means nothing, and embeddings come as lists.
    let plain = jsonl(&wine);
    let turned = plain.lines().enumerate().map(|(i, line)| {
        let mut members: Vec<&str> = line.trim_matches(['{', '}']).split(", ").collect();
        members.rotate_left(if i == 0 { 0 } else { i % 14 });
        format!("{{{}}}\n", members.join(", "))
    });
    place.write("wine.jsonl", turned.collect::<String>());
    for stream in ["", "--stream"] {
        for name in ["wine.csv", "wine.jsonl"] {
            place.ok(&format!("fit {name} --label label --method gmml --t 0.3 --keep-rows always {stream} -o {name}{stream}.st"));
        }
        assert!(
            place.read(&format!("wine.jsonl{stream}.st")) == place.read(&format!("wine.csv{stream}.st")),
            "{stream}"
        );
        let [csv, lines] = ["wine.csv", "wine.jsonl"].map(|name| {
            let predicted = place.ok(&format!("predict wine.csv.st {name} --label label {stream}")).stdout;
            (predicted, place.ok(&format!("transform wine.csv.st {name} --label label {stream}")).stdout)
        });
        assert!(csv == lines, "{stream}");
    }
    let rows = cells(&wine);
    let lists = rows[1..]
        .iter()
        .map(|row| format!("{{\"e\":[{}],\"class\":\"w{}\"}}\n", row[..13].join(","), row[13]));
    place.write("lists.jsonl", lists.collect::<String>());
    place.ok("fit lists.jsonl --label class --method gmml --t 0.3 -o lists.st");
    assert_eq!(place.model("lists.st").feature_names[12], "e.12");
    let matrix = |name: &str| place.model(name).metric.matrix().expect("a matrix");
    assert!(matrix("lists.st") == matrix("wine.csv.st"));
    place.refuses(
        "predict lists.st wine.jsonl",
        "error: wine.jsonl: the model needs columns that the file does not have: e.0, e.1, e.2, e.3, e.4, e.5, e.6, e.7, e.8, e.9, \
         e.10, e.11, e.12; the file has alcohol, malic_acid, ash, alcalinity_of_ash, magnesium, total_phenols, flavanoids, \
         nonflavanoid_phenols, proanthocyanins, color_intensity, hue, od280/od315_of_diluted_wines, proline, label",
    );
}

#[test]
fn arrow_files_go_the_whole_way_in_memory_and_in_a_stream() {
    let place = Place::new();
    let reference = |name: &str| {
        std::fs::read(bundled("../crates/mahala-io/tests/reference/arrow").join(name)).expect("a file")
    };
    place.write("table.csv", reference("table.csv"));
    for name in ["lz4", "zstd", "uncompressed"] {
        place.write(&format!("{name}.arrow"), reference(&format!("{name}.arrow")));
    }
    let csv = "--label text --missing zero";
    let arrow = "--label category --ignore when --ignore nested --ignore text --ignore large --ignore view --missing zero";
    place.ok(&format!("fit table.csv {csv} --method gmml --t 0.3 --keep-rows always -o csv.st"));
    let [predicted, mapped] =
        ["predict", "transform"].map(|command| place.ok(&format!("{command} csv.st table.csv {csv}")).stdout);
    for name in ["lz4", "zstd", "uncompressed"] {
        place.ok(&format!("fit {name}.arrow {arrow} --method gmml --t 0.3 --keep-rows always -o m.st"));
        assert!(place.read("m.st") == place.read("csv.st"), "{name}");
        for stream in ["", "--stream"] {
            let of = |command: &str| {
                place
                    .ok(&format!("{command} csv.st {name}.arrow --label category --missing zero {stream}"))
                    .stdout
            };
            assert!(of("predict") == predicted && of("transform").lines().count() == 41, "{name} {stream}");
            assert!(of("transform") == mapped, "{name} {stream}");
        }
    }
    let piped = place.run_on(
        &format!("fit - {arrow} --method gmml --t 0.3 --keep-rows always -o m.st"),
        &reference("lz4.arrow"),
    );
    assert_eq!(piped.code, 0, "{}", piped.stderr);
    assert!(place.read("m.st") == place.read("csv.st"));
}

#[test]
fn a_model_of_numbered_columns_takes_any_format() {
    let place = Place::new();
    let rows = numbers(&place.text("wine.csv"), 14);
    place.write("wine.npy", npy(&rows));
    place.ok("fit wine.npy --label -1 -o m.st");
    place.write("wine.svm", libsvm(&rows));
    place.write("wine.parquet", parquet(&rows));
    let from_npy = place.ok("predict m.st wine.npy --label -1");
    assert!(from_npy.stderr.contains(" of 178 wrong"));
    assert_eq!(place.ok("predict m.st wine.svm").stdout, from_npy.stdout);
    assert_eq!(place.ok("predict m.st wine.parquet").stdout, from_npy.stdout);
}

/// The irises, written with `edit` of each line.
fn irises(place: &Place, edit: impl Fn(usize, &[&str]) -> String) -> String {
    let iris = place.text("iris.csv");
    iris.lines().enumerate().map(|(i, line)| edit(i, &line.split(',').collect::<Vec<_>>())).collect()
}

#[test]
fn tables_as_people_have_them_give_the_same_components() {
    let place = Place::new();
    place.ok("fit iris.csv --label label -o iris.st");
    let semicolons = irises(&place, |_, c| {
        let numbers: Vec<String> = c[..4].iter().map(|x| x.replace('.', ",")).collect();
        format!("{};{}\n", numbers.join(";"), c[4])
    });
    let middle = irises(&place, |_, c| format!("{},{},{},{},{}\r\n", c[0], c[1], c[4], c[2], c[3]));
    let marked = format!("\u{feff}{}", irises(&place, |_, c| format!("{}\n", c.join(" ,  "))));
    let numbered = irises(&place, |i, c| match i {
        0 => format!("id,{}\n", c.join(",")),
        _ => format!("{i},{}\n", c.join(",")),
    });
    let quoted = irises(&place, |_, c| format!("\"{}\"\n\n", c.join("\",\"")));
    let untitled = irises(&place, |i, c| if i == 0 { String::new() } else { c.join(",") + "\n" });
    for (name, text, options) in [
        ("semicolons", &semicolons, "--label label"),
        ("middle", &middle, "--label label"),
        ("byte order mark", &marked, "--label label"),
        ("identifier", &numbered, "--label label --ignore id"),
        ("quotes and blank lines", &quoted, "--label label"),
        ("no header", &untitled, "--label -1"),
    ] {
        place.write("t.csv", text);
        place.ok(&format!("fit t.csv {options} -o t.st"));
        assert!(place.model("t.st").metric == place.model("iris.st").metric, "{name}");
    }
}

#[test]
fn a_column_that_counts_the_rows_is_pointed_out() {
    let place = Place::new();
    let numbered = irises(&place, |i, c| match i {
        0 => format!("id,{}\n", c.join(",")),
        _ => format!("{i},{}\n", c.join(",")),
    });
    place.write("t.csv", numbered);
    let ran = place.ok("fit t.csv --label label -o t.st");
    assert!(
        ran.stderr.starts_with("note: column 'id' counts the rows; if it is an identifier: --ignore id\n")
    );
}

#[test]
fn labels_and_names_may_have_spaces_quotes_and_any_script() {
    let place = Place::new();
    let names =
        [("setosa", "Schwert Lilie"), ("versicolor", "变色鸢尾"), ("virginica", "say \"\"iris\"\", twice")];
    let mut text = irises(&place, |i, c| match i {
        0 => "Länge,Breite,\"c, d\",e f,\"die Art\"\n".to_owned(),
        _ => format!("{},\"{}\"\n", c[..4].join(","), c[4]),
    });
    for (from, to) in names {
        text = text.replace(from, to);
    }
    place.write("t.csv", text);
    let ran = place.run_arguments(&["fit", "t.csv", "--label", "die Art", "-o", "t.st"], b"");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let json = place.json("inspect t.st --json");
    assert_eq!(json["classes"], serde_json::json!(["Schwert Lilie", "say \"iris\", twice", "变色鸢尾"]));
    assert_eq!(json["feature_names"], serde_json::json!(["Länge", "Breite", "c, d", "e f"]));
    let predicted = place.ok("predict t.st t.csv --label -1");
    assert!(predicted.stdout.contains("\"say \"\"iris\"\", twice\""), "{}", predicted.stdout);
    assert!(predicted.stderr.contains(" of 150 wrong"));
}

#[test]
fn missing_cells_are_dealt_with_as_asked() {
    let place = Place::new();
    place.write("t.csv", "a,b,y\n1,2,x\n2,,x\n3,1,z\nNA,4,z\n7,5,z\n4,2,x\n");
    for (policy, note) in [
        ("mean", "note: 2 missing cells replaced by column means\n"),
        ("zero", "note: 2 missing cells replaced by 0\n"),
        ("drop", "note: 2 rows dropped: missing cells\n"),
    ] {
        let ran = place.ok(&format!("fit t.csv --label y --missing {policy} --method gmml --t 0.5 -o t.st"));
        assert!(ran.stderr.starts_with(note), "{}", ran.stderr);
    }
    // Rows keep the numbers they have in the file.
    let ran = place.ok("predict t.st t.csv --missing drop -k 1");
    let rows: Vec<&str> = ran.stdout.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!(rows, ["1", "3", "5", "6"]);
}
