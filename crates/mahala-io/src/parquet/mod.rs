//! Apache Parquet files with flat columns.

pub(crate) mod blocks;
mod column;
mod positioned_file;

use std::fs::File;

use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;

use crate::catch_panic::catch;
use crate::collect::Collector;
use crate::columns::{Columns, Plan, plan};
use crate::error::{ReadError, at_column, shell};
use crate::options::ReadOptions;
use crate::parquet::column::{Kind, read_values};
use crate::source::Source;
use crate::table::Table;

/// The name under which pandas stores row labels that are not simply counted.
const PANDAS_INDEX: &str = "__index_level_0__";

/// Reads the columns that are wanted, row group by row group; nulls are missing cells.
pub(crate) fn read(source: Source, options: &ReadOptions) -> Result<Table, ReadError> {
    let name = source.name.clone();
    let file = source.into_file()?;
    // The Parquet library panics on some damaged files, e.g. on a page without its dictionary.
    let table = catch(|| read_file(&name, file, options));
    table.unwrap_or_else(|| {
        let error = ParquetError::General("the pages contradict each other".to_owned());
        Err(damaged(&name, error))
    })
}

fn read_file(name: &str, file: File, options: &ReadOptions) -> Result<Table, ReadError> {
    let file = SerializedFileReader::new(file).map_err(|error| damaged(name, error))?;
    let Layout { fields, plan, note } = layout(name, file.metadata(), options)?;
    let mut rows = Collector::new(name, "row", &plan, options);
    rows.notes.extend(note);
    let mut group = Group { source: name, fields: &fields, plan: &plan, first_row: 1 };
    for index in 0..file.num_row_groups() {
        let reader = file.get_row_group(index).map_err(|error| damaged(name, error))?;
        group.read(reader.as_ref(), &mut rows)?;
    }
    rows.finish()
}

/// The columns of a file, and the part each plays.
pub(crate) struct Layout {
    pub(crate) fields: Vec<Field>,
    pub(crate) plan: Plan,
    /// What the user should hear.
    pub(crate) note: Option<String>,
}

/// Finds the columns that are wanted, and checks that they can be read as numbers.
pub(crate) fn layout(
    name: &str,
    metadata: &ParquetMetaData,
    options: &ReadOptions,
) -> Result<Layout, ReadError> {
    let fields = fields(metadata.file_metadata().schema_descr());
    let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
    let mut options = options.clone();
    let skips_index = leave_out_index(&names, &mut options);
    let plan = plan(name, &Columns::named(names), &options)?;
    check_kinds(name, &fields, &plan)?;
    check_compression(name, metadata, &fields, &plan)?;
    let note = skips_index.then(|| format!("column '{PANDAS_INDEX}', the row labels of pandas, is left out"));
    Ok(Layout { fields, plan, note })
}

/// A top-level field of the schema: a column, unless it is nested.
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) column: Option<(usize, Kind)>,
}

fn fields(schema: &SchemaDescriptor) -> Vec<Field> {
    let roots = schema.root_schema().get_fields();
    let mut fields: Vec<Field> =
        roots.iter().map(|root| Field { name: root.name().to_owned(), column: None }).collect();
    for leaf in 0..schema.num_columns() {
        let root = schema.get_column_root_idx(leaf);
        let column = schema.column(leaf);
        if roots[root].is_primitive() && column.max_rep_level() == 0 {
            fields[root].column = Some((leaf, Kind::of(&column)));
        }
    }
    fields
}

/// Row labels are not features; they are kept only if the user or the model names them.
fn leave_out_index(names: &[String], options: &mut ReadOptions) -> bool {
    let present = names.iter().any(|name| name == PANDAS_INDEX);
    let leave_out = present
        && names.len() > 1
        && options.features.is_none()
        && !options.mentions(PANDAS_INDEX.as_bytes());
    if leave_out {
        options.ignore.extend(PANDAS_INDEX.parse());
    }
    leave_out
}

fn check_kinds(source: &str, fields: &[Field], plan: &Plan) -> Result<(), ReadError> {
    let label = plan.label.map(|j| (j, true));
    for (j, is_label) in plan.features.iter().map(|&j| (j, false)).chain(label) {
        let field = &fields[j];
        let what = match field.column {
            None => "has nested values",
            Some((_, kind)) => match kind.unfit(is_label) {
                Some(what) => what,
                None => continue,
            },
        };
        let message = format!("column '{}' {what}, not numbers", field.name);
        let name = shell(&field.name);
        return Err(ReadError::new(source, message).hint(if is_label {
            "labels may be text, integers, numbers or booleans".to_owned()
        } else {
            format!("leave it out with --ignore {name}, or, if it is the label, --label {name}")
        }));
    }
    Ok(())
}

/// Refuses compressions that cannot be undone, by name.
fn check_compression(
    source: &str,
    metadata: &ParquetMetaData,
    fields: &[Field],
    plan: &Plan,
) -> Result<(), ReadError> {
    for &j in plan.features.iter().chain(&plan.label) {
        let Some((leaf, _)) = fields[j].column else { continue };
        for group in metadata.row_groups().iter().filter(|group| leaf < group.num_columns()) {
            let name = match group.column(leaf).compression() {
                Compression::BROTLI(_) => "Brotli",
                Compression::LZO => "LZO",
                _ => continue,
            };
            let message =
                format!("column '{}' is compressed by {name}, which is not supported", fields[j].name);
            return Err(ReadError::new(source, message)
                .hint("write the file again with snappy, zstd, gzip or lz4, or without compression"));
        }
    }
    Ok(())
}

/// Row groups of one file, one after the other.
struct Group<'a> {
    source: &'a str,
    fields: &'a [Field],
    plan: &'a Plan,
    first_row: u64,
}

impl Group<'_> {
    fn read(&mut self, reader: &dyn RowGroupReader, rows: &mut Collector) -> Result<(), ReadError> {
        let claimed = reader.metadata().num_rows();
        let Ok(length) = usize::try_from(claimed) else {
            let message = format!("the Parquet data are damaged: a row group of {claimed} rows");
            return Err(ReadError::new(self.source, message));
        };
        let mut features = Vec::with_capacity(self.plan.features.len());
        for (&j, name) in self.plan.features.iter().zip(&self.plan.names) {
            features.push(self.feature(reader, j, name, length)?);
        }
        let mut labels = match self.plan.label {
            Some(j) => self.labels(reader, j, length)?.into_iter(),
            None => Vec::new().into_iter(),
        };
        for row in 0..length {
            for column in &features {
                rows.push(column[row]);
            }
            let number = self.first_row + row as u64;
            rows.end_row(number, number, labels.next().flatten())?;
        }
        self.first_row += length as u64;
        Ok(())
    }

    fn feature(
        &self,
        reader: &dyn RowGroupReader,
        field: usize,
        name: &str,
        length: usize,
    ) -> Result<Vec<f64>, ReadError> {
        let mut values = Vec::new();
        self.each(reader, field, length, |value| {
            values.push(value.and_then(|value| value.number()).unwrap_or(f64::NAN));
        })?;
        self.check_length(field, values.len(), length)?;
        match values.iter().position(|value| value.is_infinite()) {
            None => Ok(values),
            Some(row) => {
                let place = at_column(self.source, "row", self.first_row + row as u64, name);
                let message = format!("{} is not a finite number", values[row]);
                Err(ReadError::new(place, message))
            }
        }
    }

    fn labels(
        &self,
        reader: &dyn RowGroupReader,
        field: usize,
        length: usize,
    ) -> Result<Vec<Option<String>>, ReadError> {
        let mut labels = Vec::new();
        self.each(reader, field, length, |value| {
            labels.push(value.and_then(|value| value.label()));
        })?;
        self.check_length(field, labels.len(), length)?;
        Ok(labels)
    }

    fn each(
        &self,
        reader: &dyn RowGroupReader,
        field: usize,
        length: usize,
        mut take: impl FnMut(Option<crate::scalar::Scalar<'_>>),
    ) -> Result<(), ReadError> {
        let Some((leaf, kind)) = self.fields[field].column else {
            return Ok(());
        };
        let column = reader.get_column_reader(leaf);
        let read = column.and_then(|mut column| read_values(&mut column, kind, length, &mut take));
        read.map_err(|error| damaged(self.source, error))
    }

    fn check_length(&self, field: usize, seen: usize, length: usize) -> Result<(), ReadError> {
        if seen == length {
            return Ok(());
        }
        let message = format!(
            "the Parquet data are damaged: column '{}' has {seen} values for {length} rows",
            self.fields[field].name
        );
        Err(ReadError::new(self.source, message))
    }
}

pub(crate) fn damaged(source: &str, error: ParquetError) -> ReadError {
    ReadError::new(source, format!("the Parquet data cannot be read: {error}"))
        .hint("the file is damaged or truncated; write or copy it again")
        .caused_by(error)
}
