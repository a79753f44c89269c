//! Tables as the library's rows and labels.

use crate::terminal::message::print_message;
use anyhow::{Result, bail};
use mahala::{Dataset, Labels, Rows};
use mahala_io::Table;

/// A table as the library's data set; the cells are taken out of it.
pub(crate) fn dataset(table: &mut Table) -> Result<Dataset> {
    let labels = labels(table)?;
    Ok(Dataset::new(rows(table)?, labels)?)
}

/// A table's labels.
pub(crate) fn labels(table: &Table) -> Result<Labels> {
    let Some(labels) = &table.labels else {
        bail!("{} was read without labels\nhint: name the label column with --label COLUMN", table.source);
    };
    let labels = Labels::new(labels);
    if table.n >= 10 && 2 * labels.class_count() > table.n {
        let classes = labels.class_count();
        print_message(&format!(
            "note: {} rows have {classes} classes; is the label a measured number?",
            table.n
        ));
    }
    Ok(labels)
}

/// A table's rows alone; the cells are taken out of it.
pub(crate) fn rows(table: &mut Table) -> Result<Rows> {
    match table.sparse.take() {
        Some(sparse) => Ok(sparse.to_rows()?),
        None => Ok(Rows::new(std::mem::take(&mut table.rows), table.names.len())?),
    }
}

/// A table's rows in the coordinates of a model; the cells are taken out of it.
pub(crate) fn transformed(model: &mahala::Model, table: &mut Table) -> Result<Rows> {
    match table.sparse.take() {
        Some(sparse) => Ok(model.transform_sparse(&sparse)?),
        None => Ok(model.transform(&rows(table)?)?),
    }
}
