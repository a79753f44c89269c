//! Fields of files whose cells may be lists: each list is a row of numbers, such as an embedding, and becomes as many
//! columns.

use crate::column_ref::ColumnRef;
use crate::csv::CATEGORIES;
use crate::error::{ReadError, shell};
use crate::options::ReadOptions;

/// The name under which pandas stores row labels that are not simply counted.
const PANDAS_INDEX: &str = "__index_level_0__";

/// Longer lists are taken for something other than rows of numbers.
pub(crate) const LONGEST_LIST: u32 = 1 << 20;

/// A field as the file has it.
pub(crate) struct FieldShape {
    pub(crate) name: String,
    /// The length of its lists, if it has lists.
    pub(crate) width: Option<usize>,
}

impl FieldShape {
    /// The names of its columns: its own, or `name.0`, `name.1`, … for lists.
    pub(crate) fn columns(&self) -> Vec<String> {
        match self.width {
            None => vec![self.name.clone()],
            Some(width) => (0..width).map(|j| format!("{}.{j}", self.name)).collect(),
        }
    }
}

/// The options, with columns named as the fields of the file put into terms of the columns that lists become.
///
/// Positions count the fields of the file; leaving out a field of lists leaves out all its columns.
pub(crate) fn in_terms_of_columns(
    source: &str,
    fields: &[&FieldShape],
    options: &ReadOptions,
) -> Result<ReadOptions, ReadError> {
    let mut options = options.clone();
    if fields.iter().all(|field| field.width.is_none()) {
        return Ok(options);
    }
    let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
    let columns: Vec<String> = fields.iter().flat_map(|field| field.columns()).collect();
    let is_column = |column: &ColumnRef| columns.contains(&column.0);
    let mut ignore = Vec::new();
    for column in &options.ignore {
        if is_column(column) && !names.contains(&column.0) {
            ignore.push(column.clone());
            continue;
        }
        let found = column.resolve(source, &names)?;
        ignore.extend(found.into_iter().flat_map(|j| fields[j].columns()).map(ColumnRef));
    }
    options.ignore = ignore;
    if let Some(label) = options.label.take_if(|label| !is_column(label)) {
        let field = fields[label.resolve_one(source, &names)?];
        if field.width.is_some() {
            let message = format!("column '{}' has lists, and a label is one value", field.name);
            return Err(ReadError::new(source, message).hint("name the column of labels with --label"));
        }
        options.label = Some(ColumnRef(field.name.clone()));
    }
    Ok(options)
}

/// Leaves out row labels, which are no features, unless the user or the model names them; says so.
pub(crate) fn leave_out_index(names: &[String], options: &mut ReadOptions) -> Option<String> {
    let present = names.iter().any(|name| name == PANDAS_INDEX);
    let leave_out = present
        && names.len() > 1
        && options.features.is_none()
        && !options.mentions(PANDAS_INDEX.as_bytes());
    if leave_out {
        options.ignore.extend(PANDAS_INDEX.parse());
    }
    leave_out.then(|| format!("column '{PANDAS_INDEX}', the row labels of pandas, is left out"))
}

/// Refuses a column for what it has.
pub(crate) fn unfit(source: &str, name: &str, what: &str, is_label: bool) -> ReadError {
    let message = format!("column '{name}' {what}, not numbers");
    let shown = shell(name);
    ReadError::new(source, message).hint(if is_label {
        "labels may be text, integers, numbers or booleans".to_owned()
    } else {
        let categories = if what == "has text" { format!("\n{CATEGORIES}") } else { String::new() };
        format!("leave it out with --ignore {shown}, or, if it is the label, --label {shown}{categories}")
    })
}
