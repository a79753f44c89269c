//! Arrays of NumPy.

use super::{Missing, ReadOptions, gzip, labelled, labels, plain, read, refusal, wanting, with};
use crate::RowsHeld;
use mahala::data::Cells;

fn npy(version: u8, descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let dictionary =
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}          \n");
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    let length = dictionary.len() as u32;
    let width = if version == 1 { 2 } else { 4 };
    bytes.extend(&length.to_le_bytes()[..width]);
    bytes.extend(dictionary.as_bytes());
    bytes.extend(data);
    bytes
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn versions_orders_and_dimensions_are_read() {
    let data = doubles(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    for version in 1..=3 {
        let table = read("a.npy", npy(version, "<f8", "False", "(2, 3)", &data), &plain());
        assert_eq!(table.names, ["f1", "f2", "f3"]);
        assert_eq!(table.rows, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }
    let table = read("a.npy", npy(1, "<f8", "True", "(2, 3)", &data), &plain());
    assert_eq!(table.rows, [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
    let table = read("a.npy", npy(1, "<f8", "False", "(6,)", &data), &plain());
    assert_eq!((table.n, table.names.len()), (6, 1));
}

#[test]
fn every_number_type_is_read_in_both_byte_orders() {
    let cases: [(&str, &[u8], [f64; 2]); 16] = [
        ("|b1", &[0, 1], [0.0, 1.0]),
        ("|i1", &[0xFE, 5], [-2.0, 5.0]),
        ("|u1", &[0xFE, 5], [254.0, 5.0]),
        ("<i2", &[0xFE, 0xFF, 5, 0], [-2.0, 5.0]),
        (">i2", &[0xFF, 0xFE, 0, 5], [-2.0, 5.0]),
        ("<u2", &[0xFE, 0xFF, 5, 0], [65534.0, 5.0]),
        ("<i4", &[0xFE, 0xFF, 0xFF, 0xFF, 5, 0, 0, 0], [-2.0, 5.0]),
        (">u4", &[0, 0, 1, 0, 0, 0, 0, 5], [256.0, 5.0]),
        ("<i8", &[0xFE, 255, 255, 255, 255, 255, 255, 255, 5, 0, 0, 0, 0, 0, 0, 0], [-2.0, 5.0]),
        (">i8", &[255, 255, 255, 255, 255, 255, 255, 0xFE, 0, 0, 0, 0, 0, 0, 0, 5], [-2.0, 5.0]),
        (
            "<u8",
            &[255, 255, 255, 255, 255, 255, 255, 255, 5, 0, 0, 0, 0, 0, 0, 0],
            [18_446_744_073_709_551_615.0, 5.0],
        ),
        ("<f2", &[0x00, 0x3E, 0x01, 0x00], [1.5, 5.960_464_477_539_063e-8]),
        (">f2", &[0xC0, 0x00, 0x7B, 0xFF], [-2.0, 65504.0]),
        ("<f4", &[0, 0, 0xC0, 0x3F, 0, 0, 0, 0xC0], [1.5, -2.0]),
        (">f4", &[0x3F, 0xC0, 0, 0, 0xC0, 0, 0, 0], [1.5, -2.0]),
        (">f8", &[0x3F, 0xF8, 0, 0, 0, 0, 0, 0, 0xC0, 0, 0, 0, 0, 0, 0, 0], [1.5, -2.0]),
    ];
    for (descr, data, values) in cases {
        let table = read("a.npy", npy(1, descr, "False", "(1, 2)", data), &plain());
        assert_eq!(table.rows, values, "{descr}");
    }
}

#[test]
fn labels_are_integers_where_they_can_be() {
    let data = doubles(&[1.0, 3.0, 2.0, 2.5, 4.0, -0.0]);
    let table = read("a.npy", npy(1, "<f8", "False", "(3, 2)", &data), &labelled("-1"));
    assert_eq!(table.names, ["f1"]);
    assert_eq!(labels(&table), ["3", "2.5", "0"]);
    let long: Vec<u8> = [7_i64, 9_007_199_254_740_993].iter().flat_map(|v| v.to_le_bytes()).collect();
    let table = read("a.npy", npy(1, "<i8", "False", "(1, 2)", &long), &labelled("2"));
    assert_eq!(labels(&table), ["9007199254740993"]);
    let single: Vec<u8> = [7_f32, 0.1].iter().flat_map(|v| v.to_le_bytes()).collect();
    let table = read("a.npy", npy(1, "<f4", "False", "(1, 2)", &single), &labelled("2"));
    assert_eq!(labels(&table), ["0.1"]);
}

#[test]
fn nan_is_missing_and_infinity_is_refused() {
    let file = |x| npy(1, "<f8", "False", "(2, 1)", &doubles(&[1.0, x]));
    assert!(
        refusal("a.npy", file(f64::NAN), &plain())
            .starts_with("a.npy: 1 missing cell in 1 row: row 2, column 'f1'")
    );
    assert_eq!(read("a.npy", file(f64::NAN), &with(Missing::Mean)).rows, [1.0, 1.0]);
    assert_eq!(
        refusal("a.npy", file(f64::INFINITY), &plain()),
        "a.npy, row 2, column 'f1': inf is not a finite number"
    );
}

#[test]
fn first_bytes_and_compression_are_recognised() {
    let file = npy(1, "<f8", "False", "(1, 2)", &doubles(&[1.0, 2.0]));
    assert_eq!(read("a.csv", &file, &plain()).rows, [1.0, 2.0]);
    assert_eq!(read("a.npy.gz", gzip(&file), &plain()).rows, [1.0, 2.0]);
}

#[test]
fn columns_serve_a_model_by_position() {
    let file = npy(1, "<f8", "False", "(1, 2)", &doubles(&[1.0, 2.0]));
    assert_eq!(read("a.npy", &file, &wanting(&["a", "b"])).names, ["a", "b"]);
    assert!(
        refusal("a.npy", &file, &wanting(&["a"]))
            .starts_with("a.npy: the model has 1 features, but the file has 2 columns")
    );
}

#[test]
fn shapes_that_the_data_do_not_fill_are_refused() {
    let truncated = "a.npy: 2 × 2 numbers need 32 bytes after the header, but there are 8\n\
                     hint: the file is truncated; write or copy it again";
    let file = npy(1, "<f8", "False", "(2, 2)", &doubles(&[1.0]));
    assert_eq!(refusal("a.npy", &file, &plain()), truncated);
    assert_eq!(refusal("a.npy", gzip(&file), &plain()), truncated);
    for shape in
        ["(9223372036854775807, 9223372036854775807)", "(4611686018427387904, 1)", "(1, 4000000000000)"]
    {
        refusal("a.npy", npy(1, "<f8", "False", shape, &[0; 8]), &plain());
        refusal("a.npy", gzip(&npy(1, "<f8", "False", shape, &[0; 8])), &plain());
    }
    for shape in ["(0, 4000000000000)", "(4000000000000, 0)", "(0,)"] {
        refusal("a.npy", npy(1, "<f8", "False", shape, &[]), &plain());
    }
}

#[test]
fn arrays_that_are_no_tables_are_refused_in_words() {
    assert_eq!(
        refusal("a.npy", npy(1, "<f8", "False", "(2, 1, 1)", &[0; 16]), &plain()),
        "a.npy: the array has 3 dimensions, with lengths (2, 1, 1); one or two are read\n\
         hint: give each row one vector: numpy.save(path, array.reshape(len(array), -1))"
    );
    assert_eq!(
        refusal("a.npy", npy(1, "|O", "False", "(2,)", &[0; 16]), &plain()),
        "a.npy: the array holds Python objects (dtype '|O'); float16 to float64, integers and bool are read\n\
         hint: convert it in Python: numpy.save(path, array.astype('float64'))"
    );
    assert!(refusal("a.npy", npy(1, "<f8", "False", "()", &[0; 8]), &plain()).contains("0 dimensions"));
    assert!(
        refusal("a.npy", "1,2\n3,4\n", &plain()).starts_with("a.npy: not an NPY file: it begins with \"1,2")
    );
}

#[test]
fn damaged_headers_are_refused_without_a_panic() {
    let file = npy(1, "<f8", "False", "(1, 2)", &doubles(&[1.0, 2.0]));
    for length in 0..file.len() {
        refusal("a.npy", &file[..length], &plain());
    }
    for at in 0..file.len() - 16 {
        for flip in [0x01, 0x10, 0x80, 0xFF] {
            let mut file = file.clone();
            file[at] ^= flip;
            drop(super::try_read("a.npy", &file, &plain()));
        }
    }
    let mut huge = b"\x93NUMPY\x02\0".to_vec();
    huge.extend(u32::MAX.to_le_bytes());
    assert_eq!(
        refusal("a.npy", huge, &plain()),
        "a.npy: the NPY header has 4294967295 bytes, more than 65536"
    );
}

/// An array whose numbers begin at a multiple of 64, as NumPy writes it.
fn aligned(descr: &str, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let mut bytes = crate::npy::npy_header_of(descr, shape);
    bytes.extend(data);
    bytes
}

fn singles(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn narrow() -> ReadOptions {
    ReadOptions { rows_held: RowsHeld::OrSingle, ..plain() }
}

#[test]
fn single_and_half_precision_are_read_where_they_lie() {
    let file = aligned("<f4", &[2, 2], &singles(&[1.5, 2.0, -3.0, 0.1]));
    let table = read("a.npy", &file, &narrow());
    let rows = table.embeddings.as_ref().expect("narrow rows");
    assert_eq!((table.n, table.records, table.single, table.rows.len()), (2, 2, true, 0));
    assert!(matches!(rows.cells(), Cells::Single(_)), "{rows:?}");
    assert_eq!([rows.row(0), rows.row(1)], [[1.5, 2.0], [-3.0, f64::from(0.1f32)]]);
    let table = read("a.npy", aligned("<f2", &[2, 1], &[0x00, 0x3E, 0x00, 0xC0]), &narrow());
    let rows = table.embeddings.expect("narrow rows");
    assert!(matches!(rows.cells(), Cells::Half(_)), "{rows:?}");
    assert_eq!((rows.cell(0, 0), rows.cell(1, 0)), (1.5, -2.0));
    // Read through a pipe they cannot be mapped, and are held in as few bits.
    let packed = read("a.npy.gz", gzip(&file), &narrow());
    assert_eq!(packed.embeddings, read("a.npy", &file, &narrow()).embeddings);
    assert_eq!(read("a.npy", &file, &plain()).rows, [1.5, 2.0, -3.0, f64::from(0.1f32)]);
}

#[test]
fn rows_that_need_double_precision_keep_it() {
    let held =
        |values: &[f64]| read("a.npy", aligned("<f8", &[values.len(), 1], &doubles(values)), &narrow());
    assert!(held(&[0.5, 2.0]).embeddings.is_some_and(|rows| !rows.is_double()));
    let mut values = vec![0.5; 70_000];
    values[69_999] = 0.1;
    // The second block is the first that needs them.
    let table = held(&values);
    assert_eq!((table.embeddings, table.rows, table.single), (None, values, false));
}

#[test]
fn missing_cells_and_labels_of_narrow_rows_are_dealt_with() {
    let file = aligned("<f4", &[3, 2], &singles(&[1.0, 7.0, f32::NAN, 8.0, 3.0, 9.0]));
    assert_eq!(refusal("a.npy", &file, &narrow()), refusal("a.npy", &file, &plain()));
    let dropped = read("a.npy", &file, &ReadOptions { missing: Missing::Drop, ..narrow() });
    assert_eq!(dropped.row_numbers, [1, 3]);
    assert_eq!(dropped.embeddings.expect("narrow rows").row(1), [3.0, 9.0]);
    let filled = read("a.npy", &file, &ReadOptions { missing: Missing::Mean, ..narrow() });
    assert_eq!((filled.rows, filled.embeddings), (vec![1.0, 7.0, 2.0, 8.0, 3.0, 9.0], None));
    let file = aligned("<f4", &[2, 2], &singles(&[1.0, 7.0, 3.0, 8.0]));
    let table = read("a.npy", &file, &ReadOptions { rows_held: RowsHeld::OrSingle, ..labelled("-1") });
    assert_eq!(labels(&table), ["7", "8"]);
    assert_eq!(table.embeddings.expect("narrow rows").row(1), [3.0]);
    let infinite = aligned("<f4", &[2, 1], &singles(&[1.0, f32::INFINITY]));
    assert!(refusal("a.npy", infinite, &narrow()).starts_with("a.npy, row 2, column 'f1': inf is not"));
}
