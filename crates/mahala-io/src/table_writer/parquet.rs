//! Columns as row groups of an Apache Parquet file.

use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::atomic_file::AtomicFile;
use crate::table_writer::{Columns, Holds};
use crate::write_error::WriteError;

/// Cells of a row group: 32 megabytes of numbers, at most so many rows.
const CELLS: usize = 1 << 22;

/// A file whose rows are collected until they fill a row group.
pub(super) struct Groups {
    writer: SerializedFileWriter<AtomicFile>,
    waiting: Vec<Vec<Columns>>,
    rows: usize,
    most: usize,
}

impl Groups {
    pub(super) fn new(output: AtomicFile, columns: &[(String, Holds)]) -> Result<Self, WriteError> {
        let schema = schema(columns).map_err(failed)?;
        let properties =
            WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let writer =
            SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties)).map_err(failed)?;
        Ok(Self { writer, waiting: Vec::new(), rows: 0, most: (CELLS / columns.len().max(1)).max(1) })
    }

    pub(super) fn add(&mut self, columns: Vec<Columns>, rows: usize) -> Result<(), WriteError> {
        self.waiting.push(columns);
        self.rows += rows;
        if self.rows < self.most { Ok(()) } else { self.flush() }
    }

    pub(super) fn finish(mut self) -> Result<AtomicFile, WriteError> {
        self.flush()?;
        self.writer.into_inner().map_err(failed)
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        let waiting = std::mem::take(&mut self.waiting);
        if std::mem::take(&mut self.rows) == 0 {
            return Ok(());
        }
        write_group(&mut self.writer, &waiting).map_err(failed)
    }
}

fn schema(columns: &[(String, Holds)]) -> Result<Type, ParquetError> {
    let field = |(name, holds): &(String, Holds)| {
        let (physical, converted) = match holds {
            Holds::Numbers => (Physical::DOUBLE, ConvertedType::NONE),
            Holds::Singles => (Physical::FLOAT, ConvertedType::NONE),
            Holds::Integers => (Physical::INT64, ConvertedType::NONE),
            Holds::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        };
        let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
        field.with_converted_type(converted).build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<_, _>>()?;
    Type::group_type_builder("table").with_fields(fields).build()
}

/// Column after column, each from all the parts that wait.
fn write_group(
    writer: &mut SerializedFileWriter<AtomicFile>,
    parts: &[Vec<Columns>],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for at in 0..parts.first().map_or(0, Vec::len) {
        let of_parts = || parts.iter().map(|part| &part[at]);
        let width = match &parts[0][at] {
            Columns::Numbers(_, width) | Columns::Singles(_, width) => *width,
            Columns::Integers(_) | Columns::Text(_) => 1,
        };
        for j in 0..width {
            let (mut numbers, mut singles, mut integers, mut texts) =
                (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for part in of_parts() {
                match part {
                    Columns::Numbers(values, width) => numbers.extend(values.iter().skip(j).step_by(*width)),
                    Columns::Singles(values, width) => singles.extend(values.iter().skip(j).step_by(*width)),
                    Columns::Integers(values) => {
                        integers.extend(values.iter().map(|value| value.cast_signed()));
                    }
                    Columns::Text(values) => {
                        texts.extend(values.iter().map(|value| ByteArray::from(value.as_str())));
                    }
                }
            }
            match &parts[0][at] {
                Columns::Numbers(..) => write_column::<DoubleType>(&mut group, &numbers)?,
                Columns::Singles(..) => write_column::<FloatType>(&mut group, &singles)?,
                Columns::Integers(_) => write_column::<Int64Type>(&mut group, &integers)?,
                Columns::Text(_) => write_column::<ByteArrayType>(&mut group, &texts)?,
            }
        }
    }
    group.close()?;
    Ok(())
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, AtomicFile>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("there are more columns than names".to_owned()));
    };
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

fn failed(error: ParquetError) -> WriteError {
    match error {
        ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
            Ok(cause) => (*cause).into(),
            Err(cause) => WriteError::new(cause.to_string()),
        },
        other => WriteError::new(format!("the Parquet file cannot be written: {other}")),
    }
}
