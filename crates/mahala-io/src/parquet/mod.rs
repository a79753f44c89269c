//! Apache Parquet files with flat columns.

pub(crate) mod blocks;
mod column;
mod positioned_file;

use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::SchemaDescriptor;

use crate::columns::{Columns, Plan, plan};
use crate::error::{ReadError, shell};
use crate::options::ReadOptions;
use crate::parquet::column::Kind;

/// The name under which pandas stores row labels that are not simply counted.
const PANDAS_INDEX: &str = "__index_level_0__";

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

/// What the Parquet library said of a file.
pub(crate) fn damaged(source: &str, error: ParquetError) -> ReadError {
    ReadError::new(source, format!("the Parquet data cannot be read: {error}"))
        .hint("the file is damaged or truncated; write or copy it again")
        .caused_by(error)
}
