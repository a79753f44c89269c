//! Parquet columns of lists, as programs that compute embeddings write them.

mod common;

use common::{Place, numbers};
use parquet::data_type::{
    DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType, Int32Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// Lists with null ones (`None`) and nulls in them.
type Lists = Vec<Option<Vec<Option<f64>>>>;

/// An integer `id`, lists `embedding`, and an integer `label`, in row groups of seven rows.
fn file<T: DataType>(element: &str, lists: &Lists, labels: &[i32], value: impl Fn(f64) -> T::T) -> Vec<u8> {
    let schema = format!(
        "message table {{ REQUIRED INT32 id; OPTIONAL GROUP embedding (LIST) {{ REPEATED GROUP list {{ OPTIONAL {element}; }} }} \
         REQUIRED INT32 label; }}"
    );
    let schema = Arc::new(parse_message_type(&schema).expect("a schema"));
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, properties).expect("memory");
    let ids: Vec<i32> = (0..).map(|i| 1000 - 3 * i).take(lists.len()).collect();
    for first in (0..lists.len()).step_by(7) {
        let rows = first..lists.len().min(first + 7);
        let mut group = file.next_row_group().expect("a group");
        let mut column = group.next_column().expect("a column").expect("a column");
        column.typed::<Int32Type>().write_batch(&ids[rows.clone()], None, None).expect("memory");
        column.close().expect("memory");
        let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
        for list in &lists[rows.clone()] {
            let cells = list.as_deref().unwrap_or_default();
            if cells.is_empty() {
                definitions.push(i16::from(list.is_some()));
                repetitions.push(0);
            }
            for (place, cell) in cells.iter().enumerate() {
                definitions.push(if cell.is_some() { 3 } else { 2 });
                repetitions.push(i16::from(place > 0));
                values.extend(cell.map(&value));
            }
        }
        let mut column = group.next_column().expect("a column").expect("a column");
        let levels = (Some(&definitions[..]), Some(&repetitions[..]));
        column.typed::<T>().write_batch(&values, levels.0, levels.1).expect("memory");
        column.close().expect("memory");
        let mut column = group.next_column().expect("a column").expect("a column");
        column.typed::<Int32Type>().write_batch(&labels[rows], None, None).expect("memory");
        column.close().expect("memory");
        group.close().expect("memory");
    }
    file.into_inner().expect("memory")
}

/// The wines as lists, and their classes.
fn wine(place: &Place) -> (Lists, Vec<i32>) {
    let rows = numbers(&place.text("wine.csv"), 14);
    // Numbers that half precision holds.
    let list =
        |row: &Vec<f64>| Some(row[..13].iter().map(|x| Some((x * 8.0).round() / 8.0 % 64.0)).collect());
    (rows.iter().map(list).collect(), rows.iter().map(|row| row[13] as i32).collect())
}

fn half(value: f64) -> FixedLenByteArray {
    // Exact for these numbers: at most ten bits behind the first.
    let bits = if value == 0.0 {
        0
    } else {
        let exponent = value.abs().log2().floor() as i32;
        let mantissa = (value.abs() / 2.0_f64.powi(exponent) - 1.0) * 1024.0;
        (u16::from(value < 0.0) << 15) | (((exponent + 15) as u16) << 10) | mantissa as u16
    };
    bits.to_le_bytes().to_vec().into()
}

fn flat(lists: &Lists, labels: &[i32]) -> String {
    let names: Vec<String> = (0..13).map(|j| format!("embedding.{j}")).collect();
    let row = |(list, label): (&Option<Vec<Option<f64>>>, &i32)| {
        let cells: Vec<String> =
            list.iter().flatten().map(|cell| cell.map_or(String::new(), |x| x.to_string())).collect();
        format!("{},{label}\n", cells.join(","))
    };
    format!("{},label\n{}", names.join(","), lists.iter().zip(labels).map(row).collect::<Vec<_>>().concat())
}

#[test]
fn lists_become_columns_in_memory_and_in_a_stream() {
    let place = Place::new();
    let (lists, labels) = wine(&place);
    place.write("flat.csv", flat(&lists, &labels));
    place.write("double.parquet", file::<DoubleType>("DOUBLE element", &lists, &labels, |x| x));
    place.write("single.parquet", file::<FloatType>("FLOAT element", &lists, &labels, |x| x as f32));
    let halves = "FIXED_LEN_BYTE_ARRAY(2) element (FLOAT16)";
    place.write("half.parquet", file::<FixedLenByteArrayType>(halves, &lists, &labels, half));
    place.ok("fit flat.csv --label label --method gmml --t 0.3 -o flat.st");
    assert_eq!(place.model("flat.st").feature_names[12], "embedding.12");
    let coordinates = place.ok("transform flat.st flat.csv").stdout;
    // Rows in single and half precision have coordinates in single precision.
    let single = |cell: &str| cell.parse::<f64>().map_or(cell.to_owned(), |z| (z as f32).to_string());
    let rounded = |line: &str| line.split(',').map(single).collect::<Vec<_>>().join(",") + "\n";
    let rounded: String = coordinates.lines().map(rounded).collect();
    for name in ["double", "single", "half"] {
        for label in ["label", "-1", "3"] {
            place
                .ok(&format!("fit {name}.parquet --label {label} --ignore id --method gmml --t 0.3 -o m.st"));
            assert!(place.read("m.st") == place.read("flat.st"), "{name} {label}");
        }
        for stream in ["", "--stream"] {
            let z = place.ok(&format!("transform flat.st {name}.parquet {stream}")).stdout;
            let wanted = if name == "double" { &coordinates } else { &rounded };
            assert_eq!(&z, wanted, "{name} {stream}");
        }
    }
    place.ok(
        "fit double.parquet --label label --ignore id --ignore embedding.3 --method gmml --t 0.3 -o m.st",
    );
    assert_eq!(place.model("m.st").feature_names.len(), 12);
    place.ok("fit double.parquet --label label --ignore embedding --method gmml --t 0.3 -o m.st");
    assert_eq!(place.model("m.st").feature_names, ["id"]);
    let told = place.run("fit double.parquet --label embedding -o m.st").stderr;
    assert!(told.contains("column 'embedding' has lists, and a label is one value"), "{told}");
}

#[test]
fn lists_of_another_length_are_refused_by_row_and_may_be_skipped() {
    let place = Place::new();
    let (mut lists, labels) = wine(&place);
    lists[9].as_mut().expect("a list").pop();
    lists[20] = Some(Vec::new());
    place.write("t.parquet", file::<DoubleType>("DOUBLE element", &lists, &labels, |x| x));
    for stream in ["", "--stream"] {
        let line = format!("fit t.parquet --label label --ignore id --method gmml --t 0.3 {stream} -o m.st");
        place.refuses(
            &line,
            "error: t.parquet, row 10, column 'embedding': a list of 12 values, where the first list has 13\n\
             hint: all lists must have one length; else leave the column out with --ignore embedding",
        );
        let told = place.ok(&format!("{line} --skip-bad-rows 2")).stderr;
        assert!(
            told.contains("2 bad rows skipped:\n  t.parquet, row 10, column 'embedding': a list of 12"),
            "{told}"
        );
        assert!(told.contains("row 21, column 'embedding': a list of 0 values"), "{told}");
    }
}

#[test]
fn null_lists_and_nulls_in_lists_are_missing_cells() {
    let place = Place::new();
    let (mut lists, labels) = wine(&place);
    lists[0] = None;
    lists[4].as_mut().expect("a list")[2] = None;
    place.write("t.parquet", file::<DoubleType>("DOUBLE element", &lists, &labels, |x| x));
    let kept = |i: &usize| ![0, 4].contains(i);
    let rows: Vec<usize> = (0..lists.len()).filter(kept).collect();
    let part: Lists = rows.iter().map(|&i| lists[i].clone()).collect();
    place.write("part.csv", flat(&part, &rows.iter().map(|&i| labels[i]).collect::<Vec<_>>()));
    let line = "--label label --method gmml --t 0.3 -o";
    place.ok(&format!("fit part.csv {line} part.st"));
    for stream in ["", "--stream"] {
        let told = place.run(&format!("fit t.parquet --ignore id {stream} {line} m.st")).stderr;
        assert!(told.contains("row 1, column 'embedding.0'"), "{told}");
        place.ok(&format!("fit t.parquet --ignore id --missing drop {stream} {line} m.st"));
        place.ok(&format!("fit part.csv {stream} {line} part.st"));
        // A stream sums row group by row group, in another order than lines of text.
        let [lists, text] =
            ["m.st", "part.st"].map(|name| place.model(name).metric.matrix().expect("a matrix"));
        assert!((&lists - &text).norm_max() < 1e-10 * text.norm_max(), "{stream}");
    }
}
