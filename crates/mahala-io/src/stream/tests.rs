//! Streams against tables in memory: same numbers, same labels, same complaints.

use super::Stream;
use crate::block::Block;
use crate::options::{Header, Missing, ReadOptions};
use crate::read_table;
use crate::table::Table;
use std::io::Write as _;
use std::path::Path;

fn labelled(label: &str) -> ReadOptions {
    ReadOptions { label: label.parse().ok(), ..ReadOptions::default() }
}

fn streamed(path: &Path, options: &ReadOptions) -> Result<Table, String> {
    let stream = Stream::open(path, options).and_then(Stream::into_table);
    stream.map_err(|error| error.to_string())
}

/// The file with this content, read in both ways.
fn both(name: &str, content: &[u8], options: &ReadOptions) -> [Result<Table, String>; 2] {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(name);
    std::fs::write(&path, content).expect("a file");
    let whole = read_table(&path, options).map_err(|error| error.to_string());
    let folder = format!("{}/", directory.path().display());
    let bare = |text: String| text.replace(&folder, "");
    [whole, streamed(&path, options)].map(|read| {
        let mut table = read.map_err(bare)?;
        table.notes = table.notes.into_iter().map(bare).collect();
        table.source = bare(table.source);
        Ok(table)
    })
}

/// A table of numbers in every way they are written.
fn table(rows: usize) -> String {
    let mut text = String::from("a,b,c,y\n");
    for i in 0..rows {
        let x = (i as f64 + 0.1).sin() * 10f64.powi(i32::try_from(i % 40).expect("small") - 20);
        let b = ["7", "-0", "+3.25", " 4 ", "1e-3", "123456789012345678901234567890", ".5", "5."][i % 8];
        text.push_str(&format!("{x},{b},{:.3},class {}\n", x, i % 3));
    }
    text
}

#[test]
fn a_stream_reads_what_the_whole_reader_reads() {
    let plain = table(500);
    let windows = plain.replace('\n', "\r\n");
    let quoted: String = plain.replace("class 1", "\"class, \"\"1\"\"\"");
    let lines: String = plain.replace("class 2", "\"class\n2\"");
    let blank = plain.replace("class 0\n", "class 0\n  \n\n");
    let open_end = plain.trim_end().to_owned();
    let semicolons = plain.replace(',', ";").replace('.', ",");
    let tabs = plain.replace(',', "\t");
    for (name, text) in [
        ("plain.csv", plain.clone()),
        ("windows.csv", windows),
        ("quoted.csv", quoted),
        ("lines.csv", lines),
        ("blank.csv", blank),
        ("open.csv", open_end),
        ("semi.csv", semicolons),
        ("tabs.tsv", tabs),
    ] {
        let [whole, stream] = both(name, text.as_bytes(), &labelled("y"));
        let (whole, stream) = (whole.expect("read whole"), stream.expect("streamed"));
        assert_eq!(whole.n, 500, "{name}");
        // The two must agree to the bit; notes may differ in what they count.
        let bits = |table: &Table| table.rows.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&whole), bits(&stream), "{name}");
        assert_eq!(whole.labels, stream.labels, "{name}");
        assert_eq!(whole.row_numbers, stream.row_numbers, "{name}");
    }
}

#[test]
fn a_stream_complains_as_the_whole_reader_does() {
    let good = "a,b,y\n".to_owned() + &"1,2,u\n".repeat(300);
    for bad in ["1,x,u", "1,2", "1,2,3,4", "1,inf,u", "1,\"1,234,567\",u", "1,2,NA", "1,\"2,u"] {
        let text = format!("{good}{bad}\n1,2,u\n");
        let [whole, stream] = both("t.csv", text.as_bytes(), &labelled("y"));
        assert_eq!(whole.expect_err(bad), stream.expect_err(bad), "{bad}");
    }
    let latin = [good.as_bytes(), b"1,2,caf\xe9\n"].concat();
    let [whole, stream] = both("t.csv", &latin, &labelled("y"));
    let stream = stream.expect_err("not UTF-8");
    assert_eq!(whole.expect_err("not UTF-8"), stream);
    assert!(stream.contains("line 302"), "{stream}");
    // Missing cells are counted in whole tables; a stream stops at the first.
    let [_, stream] = both("t.csv", format!("{good}1,,u\n").as_bytes(), &labelled("y"));
    let message = stream.expect_err("missing");
    assert!(message.starts_with("t.csv, line 302, column 'b': the cell is missing\nhint: "), "{message}");
    let [whole, stream] = both("t.csv", b"a,b,y\n", &ReadOptions { header: Header::Yes, ..labelled("y") });
    assert_eq!(whole.expect_err("no rows"), stream.expect_err("no rows"));
}

#[test]
fn a_bad_row_deep_in_the_file_names_its_line_whatever_the_block() {
    // More than two blocks of text.
    let line = "0.123456789012345,1.5,u\n";
    let many = 10_000_000 / line.len();
    let mut text = String::from("a,b,y\n") + &line.repeat(many);
    text.push_str("0.5,oops,u\n");
    let place = many + 2;
    let [_, stream] = both("deep.csv", text.as_bytes(), &labelled("y"));
    let message = stream.expect_err("a bad row");
    let wanted = format!("deep.csv, line {place}, column 'b': \"oops\" is not a number");
    assert!(message.starts_with(&wanted), "{message}");
    // The same when it may be skipped; and quoted lines before it do not shift the count.
    let quoted = text.replacen("1.5,u", "1.5,\"u\nv\"", 1);
    let options = ReadOptions { skip_bad_rows: Some(1), ..labelled("y") };
    let [_, stream] = both("deep.csv", quoted.as_bytes(), &options);
    let table = stream.expect("one bad row is allowed");
    assert_eq!(table.n, many);
    assert!(table.notes[0].contains(&format!("line {}, column 'b'", place + 1)), "{:?}", table.notes);
    assert_eq!(*table.row_numbers.last().expect("rows"), many as u64);
}

#[test]
fn so_many_bad_rows_are_skipped_and_no_more() {
    let text = "a,b,y\n1,2,u\nx,2,u\n3,4\n5,6,v\n7,,v\n8,9,NA\n1,1,u\n";
    let options = |most| ReadOptions { skip_bad_rows: Some(most), ..labelled("y") };
    let [whole, stream] = both("t.csv", text.as_bytes(), &options(4));
    let table = stream.expect("four are allowed");
    assert_eq!(whole.expect("and in memory"), table);
    assert_eq!((table.n, &table.row_numbers[..]), (3, &[1, 4, 7][..]));
    let notes = table.notes.join("\n");
    assert!(
        notes.contains("4 bad rows skipped:\n  t.csv, line 3, column 'a': \"x\" is not a number"),
        "{notes}"
    );
    assert!(notes.contains("t.csv, line 4: 2 cells where line 1 has 3") && notes.ends_with('…'), "{notes}");
    let [_, stream] = both("t.csv", text.as_bytes(), &options(3));
    let message = stream.expect_err("three are allowed");
    assert!(message.starts_with("t.csv: 4 bad rows up to row 7, and --skip-bad-rows allows 3:"), "{message}");
    let dropping = ReadOptions { missing: Missing::Drop, ..options(2) };
    let table = both("t.csv", text.as_bytes(), &dropping)[1].clone().expect("missing ones are dropped");
    assert_eq!(table.n, 3);
    let notes = table.notes.join("\n");
    assert!(notes.contains("1 row dropped: missing label\n1 row dropped: missing cells"), "{notes}");
    let filling = ReadOptions { missing: Missing::Zero, ..options(3) };
    let table = both("t.csv", text.as_bytes(), &filling)[1].clone().expect("missing cells are filled");
    assert_eq!((table.n, &table.rows[4..6]), (4, &[7.0, 0.0][..]));
}

#[test]
fn means_cannot_be_known_in_a_stream() {
    let options = ReadOptions { missing: Missing::Mean, ..labelled("y") };
    let [whole, stream] = both("t.csv", b"a,y\n1,u\n,v\n3,u\n", &options);
    assert_eq!(whole.expect("in memory they are").rows, [1.0, 2.0, 3.0]);
    assert!(stream.expect_err("refused").contains("hint: --missing drop or --missing zero"));
}

#[test]
fn a_folder_is_one_table_and_its_files_must_agree() {
    let directory = tempfile::tempdir().expect("a directory");
    let write =
        |name: &str, bytes: &[u8]| std::fs::write(directory.path().join(name), bytes).expect("a file");
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    };
    write("1.csv", b"a,b,y\n1,2,u\n");
    write("2.csv.gz", &gzip(b"a,b,y\n3,4,v\n5,6,u\n"));
    let table = read_table(directory.path(), &labelled("y")).expect("a table");
    assert_eq!((table.n, &table.rows[..]), (3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..]));
    assert_eq!(table.row_numbers, [1, 2, 3]);
    write("3.csv", b"a,c,y\n3,4,v\n");
    let message = streamed(directory.path(), &labelled("y")).expect_err("other columns");
    assert!(message.contains("3.csv: column 'c' where ") && message.contains("1.csv has 'b'"), "{message}");
    write("3.csv", b"a,b,e,y\n3,4,5,v\n");
    let message = streamed(&directory.path().join("*.csv"), &labelled("y")).expect_err("more columns");
    assert!(message.contains("3.csv: 3 feature columns where "), "{message}");
}

#[test]
fn other_formats_cannot_be_streamed_and_say_so() {
    let [_, stream] = both("t.svm", b"1 1:2\n", &ReadOptions::default());
    assert!(stream.expect_err("refused").contains("hint: leave --stream out, or convert the file"));
}

#[test]
fn a_block_is_the_same_by_rows_and_by_columns() {
    use crate::block::Cells;
    let block = |cells: Cells| {
        let mut parsed = Block::new(9, false);
        (parsed.cells, parsed.positions) = (cells, vec![0, 1, 2, 5]);
        parsed
    };
    let by_rows: Vec<f64> = (0..36).map(f64::from).collect();
    let by_columns: Vec<f64> = (0..36).map(|at| f64::from(at % 4 * 9 + at / 4)).collect();
    let (rows, columns) = (block(Cells::Rows(by_rows.clone())), block(Cells::Columns(by_columns)));
    assert!(rows.matrix() == columns.matrix());
    let row = |parsed: &Block| {
        let mut row = Vec::new();
        parsed.append_row(2, &mut row);
        row
    };
    assert_eq!(row(&rows), row(&columns));
    assert_eq!(columns.numbers().collect::<Vec<_>>(), [1, 2, 3, 6]);
    assert_eq!(columns.into_row_major(), by_rows);
}

#[cfg(feature = "parquet")]
/// Row groups of columns `a` (null where it is NaN), `b` and the label `y` (null where it is empty).
fn parquet(groups: &[(Vec<f64>, Vec<f32>, Vec<&str>)]) -> Vec<u8> {
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, FloatType};
    let schema =
        "message t { OPTIONAL DOUBLE a; REQUIRED FLOAT b; OPTIONAL BYTE_ARRAY y (UTF8); REQUIRED INT32 n; }";
    let schema = parquet::schema::parser::parse_message_type(schema).expect("a schema");
    let mut writer = parquet::file::writer::SerializedFileWriter::new(
        Vec::new(),
        schema.into(),
        std::sync::Arc::default(),
    )
    .expect("a writer");
    for (a, b, y) in groups {
        let mut group = writer.next_row_group().expect("a row group");
        let mut column = group.next_column().expect("a column").expect("a column");
        let levels: Vec<i16> = a.iter().map(|x| i16::from(!x.is_nan())).collect();
        let present: Vec<f64> = a.iter().copied().filter(|x| !x.is_nan()).collect();
        column.typed::<DoubleType>().write_batch(&present, Some(&levels), None).expect("written");
        column.close().expect("closed");
        let mut column = group.next_column().expect("a column").expect("a column");
        column.typed::<FloatType>().write_batch(b, None, None).expect("written");
        column.close().expect("closed");
        let mut column = group.next_column().expect("a column").expect("a column");
        let levels: Vec<i16> = y.iter().map(|label| i16::from(!label.is_empty())).collect();
        let present: Vec<ByteArray> =
            y.iter().filter(|label| !label.is_empty()).map(|&label| label.into()).collect();
        column.typed::<ByteArrayType>().write_batch(&present, Some(&levels), None).expect("written");
        column.close().expect("closed");
        let mut column = group.next_column().expect("a column").expect("a column");
        let numbers: Vec<i32> = (0..).zip(a).map(|(i, _)| i % 5).collect();
        column.typed::<parquet::data_type::Int32Type>().write_batch(&numbers, None, None).expect("written");
        column.close().expect("closed");
        group.close().expect("closed");
    }
    writer.into_inner().expect("bytes")
}

#[cfg(feature = "parquet")]
/// A group of so many rows.
fn group(n: usize) -> (Vec<f64>, Vec<f32>, Vec<&'static str>) {
    let a = (0..n).map(|i| (i as f64).sin()).collect();
    (a, (0..n).map(|i| i as f32 * 0.5).collect(), (0..n).map(|i| ["u", "v", " w "][i % 3]).collect())
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_is_read_in_blocks_within_its_row_groups() {
    // A block of three columns has 65536 rows: one row group is cut, the others are not.
    let bytes = parquet(&[group(70_000), group(10), group(300)]);
    let without_text = ReadOptions { ignore: "y".parse().into_iter().collect(), ..ReadOptions::default() };
    let integers = ReadOptions { label: "n".parse().ok(), ..without_text.clone() };
    for options in [labelled("y"), integers, without_text] {
        let [whole, stream] = both("t.parquet", &bytes, &options);
        assert_eq!(whole.expect("read whole"), stream.expect("streamed"));
    }
}

#[cfg(feature = "parquet")]
#[test]
fn rows_of_parquet_that_cannot_be_used_are_named_and_skipped() {
    let (mut a, mut b, mut y) = group(70_000);
    (a[66_000], b[66_001], y[66_002]) = (f64::NAN, f32::INFINITY, "");
    let bytes = parquet(&[group(5), (a, b, y)]);
    let [_, stream] = both("t.parquet", &bytes, &labelled("y"));
    let message = stream.expect_err("a missing cell");
    assert!(message.starts_with("t.parquet, row 66006, column 'a': the cell is missing"), "{message}");
    let skipping = ReadOptions { skip_bad_rows: Some(3), ..labelled("y") };
    let table = both("t.parquet", &bytes, &skipping)[1].clone().expect("three are allowed");
    assert_eq!((table.n, table.rows.len()), (70_002, 3 * 70_002));
    assert_eq!(table.row_numbers[66_004..66_006], [66_005, 66_009]);
    assert_eq!(table.labels.expect("labels")[66_005], "u");
    let notes = table.notes.join("\n");
    assert!(notes.contains("t.parquet, row 66007, column 'b': inf is not a finite number"), "{notes}");
    assert!(notes.contains("t.parquet, row 66008, column 'y': the label is missing"), "{notes}");
    let dropping = ReadOptions { missing: Missing::Drop, skip_bad_rows: Some(1), ..labelled("y") };
    let table = both("t.parquet", &bytes, &dropping)[1].clone().expect("dropped");
    assert!(table.n == 70_002 && table.notes.join("\n").contains("1 row dropped: missing label"));
    let damaged = &bytes[..bytes.len() / 2];
    assert!(both("t.parquet", damaged, &labelled("y"))[1].as_ref().is_err_and(|e| e.contains("damaged")));
}

/// An array of NumPy, as the writer of arrays writes it.
fn array(rows: usize, columns: usize, fortran: bool) -> Vec<u8> {
    let number = |i: usize| ((i * 37) % 1013) as f64 / 8.0;
    let mut bytes =
        crate::npy::npy_bytes(&[rows, columns], &(0..rows * columns).map(number).collect::<Vec<_>>())
            .expect("an array");
    if fortran {
        let at = bytes.windows(5).position(|part| part == b"False").expect("the order");
        bytes[at..at + 5].copy_from_slice(b"True ");
    }
    bytes
}

#[test]
fn arrays_are_read_in_blocks_as_they_are_read_whole() {
    let zipped = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    };
    // 1,047,552 cells are a block.
    let long = array(70_000, 33, false);
    for (name, bytes) in [
        ("long.npy", long.clone()),
        ("zipped.npy.gz", zipped(&long)),
        ("fortran.npy", array(40_000, 33, true)),
    ] {
        for label in [None, Some("-1")] {
            let options = label.map_or_else(ReadOptions::default, labelled);
            let [whole, streamed] = both(name, &bytes, &options);
            assert_eq!(whole.as_ref().map(|table| table.n).ok(), streamed.as_ref().map(|table| table.n).ok());
            assert!(whole == streamed, "{name} {label:?}");
        }
    }
    let cut = &long[..long.len() - 3];
    for [whole, streamed] in
        [both("a.npy", cut, &labelled("1")), both("a.npy.gz", &zipped(cut), &labelled("1"))]
    {
        assert!(whole.as_ref().is_err_and(|told| told.contains("70000 × 33 numbers need 18480000 bytes")));
        assert_eq!(whole, streamed);
    }
}

#[test]
fn bad_rows_of_arrays_are_skipped_and_told() {
    let mut bytes = array(6, 2, false);
    let at = bytes.len() - 8;
    bytes[at..].copy_from_slice(&f64::INFINITY.to_le_bytes());
    let skipping = ReadOptions { skip_bad_rows: Some(1), ..ReadOptions::default() };
    let [whole, _] = both("a.npy", &bytes, &skipping);
    let table = whole.expect("a table");
    assert_eq!(table.row_numbers, [1, 2, 3, 4, 5]);
    assert!(table.notes[0].contains("row 6, column 'f2': inf is not a finite number"), "{:?}", table.notes);
}
