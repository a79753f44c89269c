//! Apache Parquet files: flat columns, and columns of lists that all have one length.

pub(crate) mod blocks;
mod column;
mod lists;
mod positioned_file;

use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::FileReader;

use crate::columns::{Columns, Plan, plan};
use crate::error::ReadError;
use crate::fields::{FieldShape, in_terms_of_columns, leave_out_index, unfit};
use crate::options::ReadOptions;
use crate::parquet::column::Kind;
use crate::parquet::lists::{List, levels, width};

/// The columns of a file, and the part each plays.
pub(crate) struct Layout {
    pub(crate) fields: Vec<Field>,
    pub(crate) plan: Plan,
    /// What the user should hear.
    pub(crate) note: Option<String>,
}

/// Finds the columns that are wanted, and checks that they can be read as numbers.
pub(crate) fn layout(name: &str, file: &dyn FileReader, options: &ReadOptions) -> Result<Layout, ReadError> {
    let roots = roots(file).map_err(|error| damaged(name, error))?;
    let fields: Vec<Field> = roots.iter().flat_map(Root::fields).collect();
    let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
    let shapes: Vec<&FieldShape> = roots.iter().map(|root| &root.shape).collect();
    let mut options = in_terms_of_columns(name, &shapes, options)?;
    let note = leave_out_index(&names, &mut options);
    let plan = plan(name, &Columns::named(names), &options)?;
    check_kinds(name, &fields, &plan)?;
    check_compression(name, file.metadata(), &fields, &plan)?;
    Ok(Layout { fields, plan, note })
}

/// A top-level field of the schema.
struct Root {
    shape: FieldShape,
    /// The leaf with its values, unless it is nested.
    leaf: Option<(usize, Kind)>,
    list: Option<List>,
}

/// A column: a top-level field, or the values at one place of its lists.
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) column: Option<(usize, Kind)>,
    /// The lists of which this is one place.
    pub(crate) list: Option<(List, usize)>,
}

impl Root {
    /// The columns that it becomes.
    fn fields(&self) -> Vec<Field> {
        let list = |j| self.list.map(|list| (list, j));
        let columns = self.shape.columns().into_iter().enumerate();
        columns.map(|(j, name)| Field { name, column: self.leaf, list: list(j) }).collect()
    }
}

fn roots(file: &dyn FileReader) -> Result<Vec<Root>, ParquetError> {
    let schema = file.metadata().file_metadata().schema_descr();
    let fields = schema.root_schema().get_fields();
    let shape = |name: &str| FieldShape { name: name.to_owned(), width: None };
    let mut roots: Vec<Root> =
        fields.iter().map(|field| Root { shape: shape(field.name()), leaf: None, list: None }).collect();
    for leaf in 0..schema.num_columns() {
        let root = schema.get_column_root_idx(leaf);
        let column = schema.column(leaf);
        let kind = Kind::of(&column);
        if column.max_rep_level() == 0 && fields[root].is_primitive() {
            roots[root].leaf = Some((leaf, kind));
        } else if let Some(levels) = levels(&fields[root])
            && kind.unfit(false).is_none()
            && let Some(width) = width(file, leaf, kind, levels)?
        {
            roots[root].leaf = Some((leaf, kind));
            roots[root].list = Some(List { levels, width });
            roots[root].shape.width = Some(width);
        }
    }
    Ok(roots)
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
        return Err(unfit(source, &field.name, what, is_label));
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
