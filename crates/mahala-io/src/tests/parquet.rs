//! Apache Parquet.

use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType,
    Int32Type, Int64Type,
};
use parquet::file::metadata::{ColumnChunkMetaDataBuilder, ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::{
    Missing, ReadOptions, gzip, ignoring, labelled, labels, plain, read, refusal, try_read, wanting, with,
};

/// Writes one column of a row group: its present values and, for an optional column, its levels.
macro_rules! column {
    ($group:expr, $kind:ty, $values:expr, $levels:expr) => {{
        let mut column = $group.next_column().expect("a column").expect("a column");
        let levels: Option<&[i16]> = $levels;
        let written = column.typed::<$kind>().write_batch(&$values, levels, None);
        written.expect("memory can be written");
        column.close().expect("memory can be written");
    }};
}

type Group<'a> = SerializedRowGroupWriter<'a, Vec<u8>>;

fn file(schema: &str, compression: Compression, groups: &[&dyn Fn(&mut Group<'_>)]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let properties = WriterProperties::builder().set_compression(compression).build();
    let writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties));
    let mut writer = writer.expect("memory can be written");
    for write in groups {
        let mut group = writer.next_row_group().expect("a row group");
        write(&mut group);
        group.close().expect("memory can be written");
    }
    writer.into_inner().expect("memory can be written")
}

const MIXED: &str = "message table {
    REQUIRED DOUBLE x; OPTIONAL FLOAT y; REQUIRED INT32 i; REQUIRED INT64 u (UINT_64);
    REQUIRED BOOLEAN b; OPTIONAL BYTE_ARRAY kind (UTF8); }";

fn mixed(compression: Compression) -> Vec<u8> {
    let group = |group: &mut Group<'_>| {
        column!(group, DoubleType, [1.5, 2.5], None);
        column!(group, FloatType, [0.5, 0.25], Some(&[1, 1]));
        column!(group, Int32Type, [-1, 2], None);
        column!(group, Int64Type, [-1, 4], None);
        column!(group, BoolType, [true, false], None);
        column!(group, ByteArrayType, [ByteArray::from("p"), ByteArray::from(" q ")], Some(&[1, 1]));
    };
    file(MIXED, compression, &[&group, &group])
}

#[test]
fn flat_columns_of_all_kinds_are_read_over_row_groups() {
    let compressions = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::ZSTD(parquet::basic::ZstdLevel::default()),
        Compression::GZIP(parquet::basic::GzipLevel::default()),
    ];
    for compression in compressions {
        let table = read("a.parquet", mixed(compression), &labelled("kind"));
        assert_eq!(table.names, ["x", "y", "i", "u", "b"]);
        let rows = [1.5, 0.5, -1.0, 18_446_744_073_709_551_615.0, 1.0, 2.5, 0.25, 2.0, 4.0, 0.0];
        assert_eq!(table.rows, [rows, rows].concat());
        assert_eq!(labels(&table), ["p", "q", "p", "q"]);
        assert_eq!(table.row_numbers, [1, 2, 3, 4]);
    }
}

#[test]
fn labels_may_be_numbers() {
    let bytes = mixed(Compression::SNAPPY);
    let options = |label| ReadOptions { label: str::parse(label).ok(), ..ignoring("kind") };
    assert_eq!(labels(&read("a.parquet", &bytes, &options("i")))[..2], ["-1", "2"]);
    assert_eq!(labels(&read("a.parquet", &bytes, &options("u")))[0], "18446744073709551615");
    assert_eq!(labels(&read("a.parquet", &bytes, &options("x")))[0], "1.5");
    assert_eq!(labels(&read("a.parquet", &bytes, &options("b")))[..2], ["true", "false"]);
}

#[test]
fn first_bytes_and_compression_of_the_whole_are_recognised() {
    let bytes = mixed(Compression::SNAPPY);
    assert_eq!(read("a.csv", &bytes, &labelled("-1")).n, 4);
    assert_eq!(read("a.parquet.gz", gzip(&bytes), &labelled("-1")).n, 4);
}

#[test]
fn text_is_no_feature_but_may_be_there_beside_the_features_of_a_model() {
    let bytes = mixed(Compression::SNAPPY);
    assert_eq!(
        refusal("a.parquet", &bytes, &plain()),
        "a.parquet: column 'kind' has text, not numbers\n\
         hint: leave it out with --ignore kind, or, if it is the label, --label kind\n\
         hint: to learn from its categories, write a column of 0 and 1 for each, e.g. with pandas.get_dummies"
    );
    let table = read("a.parquet", &bytes, &wanting(&["i", "x"]));
    assert_eq!(table.rows[..4], [-1.0, 1.5, 2.0, 2.5]);
}

#[test]
fn nulls_are_missing() {
    let schema = "message table { OPTIONAL DOUBLE x; OPTIONAL BYTE_ARRAY kind (UTF8); }";
    let bytes = file(
        schema,
        Compression::SNAPPY,
        &[&|group: &mut Group<'_>| {
            column!(group, DoubleType, [1.0, f64::NAN, 3.0], Some(&[1, 0, 1, 1]));
            column!(group, ByteArrayType, ["a", "b", "c"].map(ByteArray::from), Some(&[1, 1, 1, 0]));
        }],
    );
    assert!(
        refusal("a.parquet", &bytes, &ignoring("kind"))
            .starts_with("a.parquet: 2 missing cells in 2 rows: row 2, column 'x'; row 3, column 'x'\n")
    );
    let options = ReadOptions { label: "kind".parse().ok(), ..with(Missing::Drop) };
    let table = read("a.parquet", &bytes, &options);
    assert_eq!(table.rows, [1.0]);
    assert_eq!(labels(&table), ["a"]);
    let options = ReadOptions { label: "kind".parse().ok(), ..with(Missing::Zero) };
    assert!(
        refusal("a.parquet", &bytes, &options)
            .starts_with("a.parquet, row 4, column 'kind': the label is missing")
    );
}

#[test]
fn decimals_and_half_precision_are_read() {
    let schema = "message table {
        REQUIRED INT32 price (DECIMAL(9, 2)); REQUIRED FIXED_LEN_BYTE_ARRAY(3) wide (DECIMAL(5, 1));
        REQUIRED FIXED_LEN_BYTE_ARRAY(2) half (FLOAT16); }";
    let fixed = |bytes: Vec<u8>| FixedLenByteArray::from(bytes);
    let bytes = file(
        schema,
        Compression::SNAPPY,
        &[&|group: &mut Group<'_>| {
            column!(group, Int32Type, [-1250], None);
            column!(group, FixedLenByteArrayType, [fixed(vec![0xFF, 0xFF, 0xFB])], None);
            column!(group, FixedLenByteArrayType, [fixed(vec![0x00, 0x3E])], None);
        }],
    );
    assert_eq!(read("a.parquet", bytes, &plain()).rows, [-12.5, -0.5, 1.5]);
}

#[test]
fn times_and_nested_columns_are_refused_unless_left_out() {
    let schema = "message table {
        REQUIRED DOUBLE x; REQUIRED INT64 t (TIMESTAMP_MILLIS);
        REQUIRED GROUP r { REQUIRED DOUBLE a; REQUIRED DOUBLE b; } }";
    let bytes = file(
        schema,
        Compression::SNAPPY,
        &[&|group: &mut Group<'_>| {
            column!(group, DoubleType, [1.0], None);
            column!(group, Int64Type, [7], None);
            column!(group, DoubleType, [2.0], None);
            column!(group, DoubleType, [3.0], None);
        }],
    );
    let message = refusal("a.parquet", &bytes, &ignoring("r"));
    assert!(message.starts_with("a.parquet: column 't' has dates or times, not numbers\n"), "{message}");
    let message = refusal("a.parquet", &bytes, &ignoring("t"));
    assert!(message.starts_with("a.parquet: column 'r' has nested values, not numbers\n"), "{message}");
    assert_eq!(read("a.parquet", &bytes, &wanting(&["x"])).rows, [1.0]);
}

#[test]
fn infinity_is_located_and_row_labels_of_pandas_are_left_out() {
    let schema = "message table { REQUIRED DOUBLE x; REQUIRED INT64 __index_level_0__; }";
    let write = |x: f64| {
        file(
            schema,
            Compression::SNAPPY,
            &[&|group: &mut Group<'_>| {
                column!(group, DoubleType, [1.0, x], None);
                column!(group, Int64Type, [7, 9], None);
            }],
        )
    };
    assert_eq!(
        refusal("a.parquet", write(f64::NEG_INFINITY), &plain()),
        "a.parquet, row 2, column 'x': -inf is not a finite number"
    );
    let table = read("a.parquet", write(2.0), &plain());
    assert_eq!(table.names, ["x"]);
    assert_eq!(table.notes, ["column '__index_level_0__', the row labels of pandas, is left out"]);
}

#[test]
fn a_file_without_rows_is_refused() {
    let bytes = file("message table { REQUIRED DOUBLE x; }", Compression::SNAPPY, &[]);
    assert_eq!(refusal("a.parquet", bytes, &plain()), "a.parquet: the file has no rows");
}

#[test]
fn damaged_files_are_refused_without_a_panic() {
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
        let bytes = mixed(compression);
        for length in 0..bytes.len() {
            refusal("a.parquet", &bytes[..length], &labelled("kind"));
        }
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                drop(try_read("a.parquet", &damaged, &labelled("kind")));
            }
        }
    }
}

/// The file with other entries for its columns in the footer.
fn with_footer(
    file: Vec<u8>,
    change: impl Fn(ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder,
) -> Vec<u8> {
    let footer: [u8; 4] = file[file.len() - 8..][..4].try_into().expect("four bytes");
    let pages = file.len() - 8 - u32::from_le_bytes(footer) as usize;
    let mut bytes = file[..pages].to_vec();
    let metadata =
        ParquetMetaDataReader::new().parse_and_finish(&bytes::Bytes::from(file)).expect("a footer");
    let groups = metadata.row_groups().iter().map(|group| {
        let columns = group.columns().iter();
        let columns = columns.map(|column| change(column.clone().into_builder()).build().expect("a column"));
        group.clone().into_builder().set_column_metadata(columns.collect()).build().expect("a group")
    });
    let groups = groups.collect();
    let metadata = metadata.into_builder().set_row_groups(groups).build();
    let mut footer = Vec::new();
    ParquetMetaDataWriter::new(&mut footer, &metadata).finish().expect("written");
    bytes.extend(footer);
    bytes
}

#[test]
fn a_compression_that_is_not_supported_is_named() {
    let brotli = Compression::BROTLI(parquet::basic::BrotliLevel::default());
    for (compression, name) in [(brotli, "Brotli"), (Compression::LZO, "LZO")] {
        let file =
            with_footer(mixed(Compression::UNCOMPRESSED), |column| column.set_compression(compression));
        let told = refusal("a.parquet", file, &labelled("kind"));
        assert!(
            told.contains(&format!("column 'x' is compressed by {name}, which is not supported")),
            "{told}"
        );
        assert!(told.contains("hint: write the file again with snappy"), "{told}");
    }
}

#[test]
fn the_checksum_of_a_page_is_verified_where_it_is_there() {
    let schema = "message table { REQUIRED DOUBLE x; }";
    let group = |group: &mut Group<'_>| column!(group, DoubleType, [1.5, 2.5], None);
    let plain_file = file(schema, Compression::UNCOMPRESSED, &[&group]);
    let values: Vec<u8> = [1.5_f64, 2.5].iter().flat_map(|x| x.to_le_bytes()).collect();
    let start = plain_file.windows(16).position(|bytes| bytes == values).expect("the dictionary");
    let mut crc = flate2::Crc::new();
    crc.update(&values);
    for (checksum, right) in [(crc.sum(), true), (crc.sum() ^ 1, false)] {
        // The header in Thrift's compact protocol: type and two sizes of one byte each (fields 1 to 3), then field 7, four
        // further on. The checksum is field 4, so that field 7 comes three after it.
        assert_eq!((plain_file[10], start > 10), (0x4C, true));
        let signed = checksum.cast_signed();
        let mut zigzag = ((signed << 1) ^ (signed >> 31)).cast_unsigned();
        let mut field = vec![0x15];
        while zigzag >= 0x80 {
            field.push((zigzag & 0x7F) as u8 | 0x80);
            zigzag >>= 7;
        }
        field.push(zigzag as u8);
        let more = i64::try_from(field.len()).expect("a few bytes");
        let mut bytes = [&plain_file[..10], &field, &[0x3C], &plain_file[11..]].concat();
        bytes = with_footer(bytes, |column| {
            let old = column.build().expect("a column");
            let (size, page) = (old.compressed_size(), old.data_page_offset());
            old.into_builder().set_total_compressed_size(size + more).set_data_page_offset(page + more)
        });
        if right {
            assert_eq!(read("a.parquet", bytes, &plain()).rows, [1.5, 2.5]);
        } else {
            let told = refusal("a.parquet", bytes, &plain());
            assert!(told.contains("checksum"), "{told}");
        }
    }
}
