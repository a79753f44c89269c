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
            "note: {} rows have {classes} classes; is the label a measured number? Then --regression predicts it",
            table.n
        ));
    }
    Ok(labels)
}

/// A table's labels as numbers.
pub(crate) fn targets(table: &Table) -> Result<Vec<f64>> {
    let Some(labels) = &table.labels else {
        bail!("{} was read without labels\nhint: name the label column with --label COLUMN", table.source);
    };
    let number = |(label, row): (&String, &u64)| target(label, *row, &table.source);
    labels.iter().zip(&table.row_numbers).map(number).collect()
}

/// The number that a label is.
pub(crate) fn target(label: &str, row: u64, source: &str) -> Result<f64> {
    match label.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => bail!(
            "row {row} of {source} has the label '{}', which is no finite number\nhint: is this the right --label (or \
             --labels)? Numbers have a decimal point and no unit; for classes, learn without --regression",
            label.chars().take(40).collect::<String>()
        ),
    }
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
