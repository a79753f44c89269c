//! Archives of arrays, compressed tables, sparse text from 0, truth values, and columns by position.

#![allow(clippy::format_collect, reason = "small texts read best where they are made")]

mod common;

use common::{Place, npy, npy_1d, numbers};
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use std::io::Write as _;

/// What an archive says of one member, which a test may falsify.
struct Member {
    name: &'static str,
    bytes: Vec<u8>,
    deflated: bool,
    claimed: Option<u32>,
    checksum: Option<u32>,
}

fn member(name: &'static str, bytes: Vec<u8>, deflated: bool) -> Member {
    Member { name, bytes, deflated, claimed: None, checksum: None }
}

/// A ZIP archive as numpy.savez and `numpy.savez_compressed` write one.
fn zip(members: &[Member]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        let packed = if member.deflated {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&member.bytes).expect("memory");
            encoder.finish().expect("memory")
        } else {
            member.bytes.clone()
        };
        let mut crc = Crc::new();
        crc.update(&member.bytes);
        let method: u16 = if member.deflated { 8 } else { 0 };
        let mut fields = vec![0, 0];
        fields.extend(method.to_le_bytes());
        fields.extend([0; 4]);
        fields.extend(member.checksum.unwrap_or(crc.sum()).to_le_bytes());
        fields.extend((packed.len() as u32).to_le_bytes());
        fields.extend(member.claimed.unwrap_or(member.bytes.len() as u32).to_le_bytes());
        fields.extend((member.name.len() as u16).to_le_bytes());
        fields.extend([0, 0]);
        let start = archive.len() as u32;
        archive.extend(b"PK\x03\x04\x14\x00");
        archive.extend(&fields);
        archive.extend(member.name.as_bytes());
        archive.extend(packed);
        directory.extend(b"PK\x01\x02\x14\x00\x14\x00");
        directory.extend(&fields);
        directory.extend([0; 10]);
        directory.extend(start.to_le_bytes());
        directory.extend(member.name.as_bytes());
    }
    let (start, count) = (archive.len() as u32, members.len() as u16);
    let size = directory.len() as u32;
    archive.extend(directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    archive.extend([size.to_le_bytes(), start.to_le_bytes()].concat());
    archive.extend([0, 0]);
    archive
}

/// The wines: all their numbers, the features, and the classes.
fn wine(place: &Place) -> (Vec<Vec<f64>>, Vec<u8>, Vec<u8>) {
    let rows = numbers(&place.text("wine.csv"), 14);
    let features: Vec<Vec<f64>> = rows.iter().map(|row| row[..13].to_vec()).collect();
    let classes: Vec<u8> = rows.iter().flat_map(|row| (row[13] as i64).to_le_bytes()).collect();
    (rows.clone(), npy(&features), npy_1d("<i8", rows.len(), &classes))
}

#[test]
fn an_archive_of_rows_and_labels_gives_the_model_of_the_table() {
    let place = Place::new();
    let (rows, x, y) = wine(&place);
    place.write("table.npy", npy(&rows));
    place.ok("fit table.npy --label -1 --method gmml --t 0.3 -o table.st");
    for deflated in [false, true] {
        place.write(
            "wine.npz",
            zip(&[member("X.npy", x.clone(), deflated), member("y.npy", y.clone(), deflated)]),
        );
        place.ok("fit wine.npz --label y --method gmml --t 0.3 -o m.st");
        assert!(place.read("m.st") == place.read("table.st"), "deflated: {deflated}");
    }
    assert!(place.ok("predict m.st wine.npz --label y").stderr.contains(" of 178 wrong"));
    let several =
        [member("a.npy", x.clone(), true), member("b.npy", npy(&rows), true), member("y.npy", y, true)];
    place.write("several.npz", zip(&several));
    place.refuses(
        "fit several.npz --label y -o m.st",
        "error: several.npz: 2 arrays have two dimensions: a (178 × 13), b (178 × 14), y (178)\n\
         hint: say which one holds the rows, such as --array a",
    );
    for line in ["--array a --label y", "--array b --label -1"] {
        place.ok(&format!("fit several.npz {line} --method gmml --t 0.3 -o m.st"));
        assert!(place.read("m.st") == place.read("table.st"), "{line}");
    }
    let ran = place.run("fit several.npz --array a --label z -o m.st");
    assert!(
        ran.stderr.starts_with("error: several.npz: there is no array 'z'; the arrays are a, b, y"),
        "{}",
        ran.stderr
    );
    place.refuses(
        "fit table.npy --array a --label -1 -o m.st",
        "error: table.npy: --array has no effect on this file; it is for archives of arrays (NPZ)\n\
         hint: leave --array out",
    );
}

#[test]
fn archives_that_lie_are_refused_in_words() {
    let place = Place::new();
    let (_, x, y) = wine(&place);
    let plain = || member("X.npy", x.clone(), true);
    let said = |bytes: Vec<u8>| {
        place.write("t.npz", bytes);
        let ran = place.run("transform m.st t.npz");
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        ran.stderr
    };
    place.write("X.npy", &x);
    place.write("y.npy", y);
    place.ok("fit X.npy --labels y.npy --method gmml --t 0.3 -o m.st");
    let bomb = Member { claimed: Some(4_000_000_000), ..plain() };
    let told = said(zip(&[bomb]));
    assert!(told.contains("claims 4000000000 bytes, and "), "{told}");
    let wrong = said(zip(&[Member { checksum: Some(7), ..plain() }]));
    assert!(
        wrong.contains("the compressed data are damaged (the checksum of the member is another)"),
        "{wrong}"
    );
    // A header that promises more numbers than any memory holds, and one that promises more than are there.
    let huge = |shape: &str| {
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes
    };
    for shape in ["(4000000000, 4000000000)", "(1000000, 1000000)"] {
        let told = said(zip(&[member("X.npy", huge(shape), true)]));
        assert!(told.contains("does not fit into memory") || told.contains("numbers need"), "{told}");
    }
    let whole = zip(&[plain()]);
    for length in (0..whole.len()).step_by(97) {
        said(whole[..length].to_vec());
    }
    for at in (0..whole.len()).step_by(41) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xFF;
        place.write("t.npz", damaged);
        assert!([0, 1].contains(&place.run("transform m.st t.npz").code), "{at}");
    }
    let told = said(zip(&[member("xl/sheet.xml", b"<x/>".to_vec(), false)]));
    assert!(told.contains("this is a ZIP archive without NumPy arrays"), "{told}");
}

#[test]
fn zstandard_is_read_whatever_the_name_and_from_a_pipe() {
    let place = Place::new();
    let wine = place.text("wine.csv");
    let packed = zstd::encode_all(wine.as_bytes(), 3).expect("memory");
    place.write("wine.csv.zst", &packed);
    place.write("wine.csv.packed", &packed);
    place.ok("fit wine.csv --label label --method gmml --t 0.3 -o plain.st");
    for (line, stdin) in [("wine.csv.zst", &b""[..]), ("wine.csv.packed", b""), ("-", &packed)] {
        let ran = place.run_on(&format!("fit {line} --label label --method gmml --t 0.3 -o m.st"), stdin);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(place.read("m.st") == place.read("plain.st"), "{line}");
    }
    place.write("cut.csv.zst", &packed[..packed.len() / 2]);
    let told = place.run("fit cut.csv.zst --label label -o m.st").stderr;
    assert!(told.contains("cut.csv.zst: the compressed data"), "{told}");
    let mut damaged = packed;
    let middle = damaged.len() / 2;
    damaged[middle..middle + 40].iter_mut().for_each(|byte| *byte ^= 0x5A);
    place.write("damaged.csv.zst", damaged);
    assert_eq!(place.run("fit damaged.csv.zst --label label -o m.st").code, 1);
}

#[test]
fn sparse_text_may_count_its_features_from_0() {
    let place = Place::new();
    let rows = numbers(
        &place.text("iris.csv").replace("setosa", "0").replace("versicolor", "1").replace("virginica", "2"),
        5,
    );
    let sparse = |first: usize| -> String {
        let line = |row: &Vec<f64>| {
            let pairs: String = (first..).zip(&row[..4]).map(|(j, x)| format!(" {j}:{x}")).collect();
            format!("{}{pairs}\n", row[4])
        };
        rows.iter().map(line).collect()
    };
    place.write("one.svm", sparse(1));
    place.write("zero.svm", sparse(0));
    place.ok("fit one.svm --method gmml --t 0.3 -o one.st");
    place.ok("fit zero.svm --zero-based --method gmml --t 0.3 -o zero.st");
    assert!(place.read("one.st") == place.read("zero.st"));
    place.refuses(
        "fit zero.svm --method gmml -o m.st",
        "error: zero.svm, line 1: \"0:5.1\": indices begin at 1, not at 0\n\
         hint: if the first feature has index 0: --zero-based",
    );
    place.write("order.svm", "1 3:1 2:1\n");
    let told = place.run("fit order.svm --zero-based --method gmml -o m.st").stderr;
    assert!(told.contains("\"2:1\" follows index 3"), "{told}");
    place.refuses(
        "fit iris.csv --label label --zero-based -o m.st",
        "error: iris.csv: --zero-based has no effect on this file; it is for sparse text (LIBSVM)\n\
         hint: leave --zero-based out",
    );
}

#[test]
fn truth_values_in_text_are_1_and_0() {
    let place = Place::new();
    let table = |yes: &[&str], no: &[&str]| {
        let row = |i: usize| {
            let flag = if i.is_multiple_of(3) { yes[i % yes.len()] } else { no[i % no.len()] };
            format!("{},{flag},{}\n", (i * 7) % 11, ["p", "q"][i % 2])
        };
        "a,flag,y\n".to_owned() + &(0..24).map(row).collect::<String>()
    };
    place.write("numbers.csv", table(&["1"], &["0"]));
    place.write("words.csv", table(&["true", "True", "TRUE"], &["false", "False", "FALSE"]));
    place.ok("fit numbers.csv --label y --method gmml --t 0.5 -o numbers.st");
    for stream in ["", "--stream"] {
        place.ok(&format!("fit numbers.csv --label y --method gmml --t 0.5 {stream} -o numbers.st"));
        place.ok(&format!("fit words.csv --label y --method gmml --t 0.5 {stream} -o words.st"));
        assert!(place.read("numbers.st") == place.read("words.st"), "{stream}");
    }
    // A table of nothing else: the first line names the columns only if it is text.
    place.write("only.csv", "u,v\ntrue,false\nfalse,true\ntrue,true\n");
    place.write("labels.txt", "p\nq\np\n");
    place.ok("fit only.csv --labels labels.txt --method gmml --t 0.5 -o m.st");
    assert_eq!(place.model("m.st").feature_names, ["u", "v"]);
    place.write("text.csv", table(&["yes"], &["no"]));
    place.refuses(
        "fit text.csv --label y -o m.st",
        "error: text.csv, line 2, column 'flag': \"yes\" is not a number\n\
         hint: leave the column out with --ignore flag\n\
         hint: to learn from its categories, write a column of 0 and 1 for each, e.g. with pandas.get_dummies",
    );
}

#[test]
fn a_model_of_columns_without_names_takes_named_ones_by_position_when_asked() {
    let place = Place::new();
    let rows = numbers(&place.text("wine.csv"), 14);
    place.write("wine.npy", npy(&rows));
    place.ok("fit wine.npy --label -1 --method gmml --t 0.3 -o m.st");
    let told = place.run("predict m.st wine.csv --label label").stderr;
    assert!(told.contains("the model needs columns that the file does not have: f1, f2"), "{told}");
    assert!(
        told.contains("hint: the model was learned on columns without names; --by-position takes"),
        "{told}"
    );
    let expected = place.ok("predict m.st wine.npy --label -1").stdout;
    for stream in ["", "--stream"] {
        let line = format!("predict m.st wine.csv --label label --by-position {stream}");
        assert_eq!(place.ok(&line).stdout, expected, "{line}");
    }
    let array = |command: &str| place.ok(&format!("{command} m.st wine.npy --ignore -1")).stdout;
    for command in ["transform", "neighbors"] {
        let named = place.ok(&format!("{command} m.st wine.csv --ignore label --by-position")).stdout;
        assert_eq!(named, array(command), "{command}");
    }
    place.write("pairs.csv", "first,second\n1,2\n3,170\n");
    let pairs = |file: &str| place.ok(&format!("pairs m.st {file} --pairs pairs.csv")).stdout;
    assert_eq!(pairs("wine.csv --ignore label --by-position"), pairs("wine.npy --ignore -1"));
    let judged = |line: &str| place.json(&format!("evaluate m.st {line} --json"))["results"].clone();
    assert_eq!(judged("wine.csv --label label --by-position"), judged("wine.npy --label -1"));
    let told = place.run("transform m.st wine.csv --by-position").stderr;
    assert!(
        told.contains("the model has 13 features, but the file has 14 columns beside the label"),
        "{told}"
    );
    place.ok("fit wine.csv --label label --method gmml --t 0.3 -o named.st");
    let told = place.run("transform named.st wine.csv --by-position").stderr;
    assert!(
        told.starts_with("error: --by-position: the model was learned on columns with names ("),
        "{told}"
    );
}
