//! Rows of single precision: held, learned from and mapped as they are.

mod common;

use common::{Place, binary, npy_1d};
use mahala::data::Embeddings;
use mahala::embeddings::{Adaptation, Adapter};
use std::process::Command;

/// Rows of classes that differ in half of the columns; the others are loud noise.
fn rows(n: usize, d: usize, classes: usize) -> (Vec<f32>, Vec<u32>) {
    let mut state = 7u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    let centres: Vec<f32> = (0..classes * d).map(|_| 2.0 * uniform()).collect();
    let codes: Vec<u32> = (0..n).map(|i| (i % classes) as u32).collect();
    let mut cells = Vec::with_capacity(n * d);
    for &code in &codes {
        let centre = &centres[code as usize * d..][..d];
        cells.extend((0..d).map(|j| if j < d / 2 { centre[j] + uniform() } else { 6.0 * uniform() }));
    }
    (cells, codes)
}

fn npy(cells: &[f32], columns: usize) -> Vec<u8> {
    let mut bytes = mahala_io::npy::npy_header_of("<f4", &[cells.len() / columns, columns]);
    bytes.extend(cells.iter().flat_map(|x| x.to_le_bytes()));
    bytes
}

fn singles(bytes: &[u8]) -> Vec<f32> {
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let number = |chunk: &[u8]| f32::from_le_bytes(chunk.try_into().expect("four bytes"));
    bytes[start..].chunks(4).map(number).collect()
}

/// Rows, and their labels in a file of their own.
fn place(n: usize, d: usize, classes: usize) -> (Place, Vec<f32>, Vec<u32>) {
    let place = Place::new();
    let (cells, codes) = rows(n, d, classes);
    place.write("rows.npy", npy(&cells, d));
    let bytes: Vec<u8> = codes.iter().flat_map(|code| i64::from(*code).to_le_bytes()).collect();
    place.write("labels.npy", npy_1d("<i8", n, &bytes));
    (place, cells, codes)
}

#[test]
fn an_array_is_adapted_and_mapped_as_the_library_does_bit_by_bit() {
    let (place, cells, codes) = place(3000, 24, 12);
    place.ok("adapt rows.npy --labels labels.npy -o m.st");
    let table = Embeddings::single(cells, 24).expect("rows");
    let fit = Adapter::default().fit_labels(&table, &codes).expect("a fit");
    assert_eq!(place.model("m.st").metric.components(), fit.components());
    let wanted = Adaptation::from_model(&place.model("m.st")).expect("an adapter").transform(&table);
    let wanted: Vec<f32> = {
        let z = wanted.expect("mapped rows");
        (0..z.len()).flat_map(|i| z.row(i)).map(|x| x as f32).collect()
    };
    let columns = wanted.len() / 3000;
    for options in ["", "--stream"] {
        place.ok(&format!("transform m.st rows.npy -o z.npy {options}"));
        assert!(place.read("z.npy")[..128] == npy(&wanted, columns)[..128], "{options}");
        assert!(singles(&place.read("z.npy")) == wanted, "{options}");
        place.ok(&format!("transform m.st rows.npy -o z.parquet {options}"));
        place.ok("transform m.st rows.npy -o z.csv");
        let text = place.text("z.csv");
        let first: Vec<f32> =
            text.lines().nth(1).expect("a row").split(',').map(|z| z.parse().expect("z")).collect();
        assert_eq!(first, wanted[..columns]);
    }
    let measured = place.json("retrieval rows.npy --labels labels.npy --model m.st --json");
    let map = &measured["measures"]["map@r"];
    assert!(map["difference"]["low"].as_f64() > Some(0.1), "{measured}");
}

#[test]
fn labels_of_queries_are_in_a_file_of_their_own() {
    let (place, ..) = place(400, 8, 8);
    place.ok("retrieval rows.npy --labels labels.npy --queries rows.npy --query-labels labels.npy");
    let ran = place.run("retrieval rows.npy --labels labels.npy --queries rows.npy");
    assert!(ran.code == 1 && ran.stderr.contains("hint: give those of the queries with --query-labels FILE"));
    place.write("short.csv", "a\nb\n");
    let ran = place.run("adapt rows.npy --labels short.csv");
    assert!(ran.stderr.contains("short.csv: 2 labels for the 400 rows of rows.npy"), "{}", ran.stderr);
}

/// The largest resident size of a run that succeeds, in megabytes: mapped files are in it.
#[cfg(target_os = "linux")]
fn peak(place: &Place, line: &str) -> f64 {
    let mut child = Command::new(binary())
        .args(line.split_whitespace())
        .current_dir(place.path(""))
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the command starts");
    let status_file = format!("/proc/{}/status", child.id());
    let mut kilobytes = 0.0f64;
    loop {
        let status = std::fs::read_to_string(&status_file).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let seen = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        kilobytes = kilobytes.max(seen.unwrap_or(0.0));
        if let Some(status) = child.try_wait().expect("a status") {
            assert!(status.success(), "{line:?}");
            return kilobytes / 1e3;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// 154 MB of rows in single precision; a copy of them in double precision would be 307 MB.
#[cfg(target_os = "linux")]
#[test]
fn no_copy_of_all_rows_in_double_precision_is_made() {
    let (place, ..) = place(300_000, 128, 50);
    let adapt = peak(&place, "adapt rows.npy --labels labels.npy -o m.st --threads 1");
    assert!(adapt > 154.0 && adapt < 154.0 + 120.0, "{adapt} MB");
    let transform = peak(&place, "transform m.st rows.npy -o z.npy --stream --threads 1");
    assert!(transform > 10.0 && transform < 120.0, "{transform} MB");
}
