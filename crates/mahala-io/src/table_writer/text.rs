//! Rows as text, cells quoted where they must be.

use crate::table_writer::{Columns, Holds};
use crate::write_error::WriteError;

/// The shortest digits that read back as the same number, with an exponent where there would be more zeros than digits.
pub fn exact(value: f64) -> String {
    match value.abs() {
        0.0 | 1e-5..1e17 => value.to_string(),
        _ => format!("{value:e}"),
    }
}

/// The shortest digits that read back as the same number in single precision.
fn exact_single(value: f32) -> String {
    match value.abs() {
        0.0 | 1e-5..1e17 => value.to_string(),
        _ => format!("{value:e}"),
    }
}

/// The line with the names.
pub(super) fn header(delimiter: u8, columns: &[(String, Holds)]) -> Result<Vec<u8>, WriteError> {
    let mut writer = writer(delimiter);
    writer.write_record(columns.iter().map(|column| &column.0)).map_err(|error| failed(&error))?;
    writer.into_inner().map_err(|error| error.into_error().into())
}

/// Lines of cells.
pub(super) fn rows(delimiter: u8, columns: &[Columns], rows: usize) -> Result<Vec<u8>, WriteError> {
    let mut writer = writer(delimiter);
    let mut record: Vec<String> = Vec::new();
    for i in 0..rows {
        record.clear();
        for column in columns {
            match column {
                Columns::Numbers(values, width) => {
                    record.extend(values[i * width..][..*width].iter().map(|&value| exact(value)));
                }
                Columns::Singles(values, width) => {
                    record.extend(values[i * width..][..*width].iter().map(|&value| exact_single(value)));
                }
                Columns::Integers(values) => record.push(values[i].to_string()),
                Columns::Text(values) => record.push(values[i].clone()),
            }
        }
        writer.write_record(&record).map_err(|error| failed(&error))?;
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}

fn writer(delimiter: u8) -> csv::Writer<Vec<u8>> {
    csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new())
}

fn failed(error: &csv::Error) -> WriteError {
    WriteError::new(error.to_string())
}
