//! Reading tables as the options say: whole, for a model, with groups, or in a stream where they are large.

use crate::options::input::{InputArgs, LabelsIn};
use crate::terminal::format;
use crate::terminal::message::print_notes;
use crate::terminal::progress::Bar;
use anyhow::{Result, bail};
use mahala::Labels;
use mahala_io::{ColumnRef, Missing, ReadError, ReadOptions, ReadProgress, RowsHeld, Table, read_table};
use mahala_io::{Stream, are_numbered, estimated_bytes};
use std::path::Path;
use std::sync::Arc;

/// The one column that a stream reads beside the features: names or labels.
pub(crate) fn in_stream<'a>(id: Option<&'a ColumnRef>, labels: LabelsIn<'a>) -> Result<LabelsIn<'a>> {
    match id {
        Some(_) if labels.are_given() => bail!(
            "--id and --label cannot be combined in a stream, which reads one column beside the features\n\
             hint: leave one of them out, or --stream"
        ),
        Some(id) => Ok(LabelsIn::Column(id)),
        None => Ok(labels),
    }
}

/// Numbers of more than so many bytes are read in a stream.
const LARGE: u64 = 256 << 20;

impl InputArgs {
    /// Opens a stream of the rows that a model wants.
    pub(crate) fn stream_for<'a>(
        &self,
        model: &mahala::Model,
        path: &Path,
        labels: impl Into<LabelsIn<'a>>,
    ) -> Result<Stream> {
        let features = Some(model.feature_names.clone()).filter(|names| !names.is_empty());
        self.check_position(model)?;
        let means = self.means_of(model)?;
        let stream = Stream::open(path, &ReadOptions { features, means, ..self.options(labels) })?;
        if stream.names.len() != model.columns() {
            let (seen, wanted) = (stream.names.len(), model.columns());
            bail!("{} has {seen} feature columns; the model wants {wanted}", stream.source);
        }
        Ok(stream)
    }

    /// Columns with names of their own are picked by these.
    fn check_position(&self, model: &mahala::Model) -> Result<()> {
        let names = &model.feature_names;
        if self.by_position && !mahala_io::are_numbered(names) {
            bail!(
                "--by-position: the model was learned on columns with names ({}), which are picked by them\n\
                 hint: leave --by-position out, or give the columns of the file these names",
                format::first_names(&names.iter().map(String::as_str).collect::<Vec<_>>())
            );
        }
        Ok(())
    }

    /// What missing cells are replaced by in rows for a model: the means of those it was learned on.
    fn means_of(&self, model: &mahala::Model) -> Result<Option<Vec<f64>>> {
        match (self.missing, model.training_means()) {
            (Missing::Mean, Some(means)) => Ok(Some(means.to_vec())),
            (Missing::Mean, None) => bail!(
                "--missing mean fills in the means of the training rows, and this model does not hold them\n\
                 hint: --missing drop or --missing zero, or fit the model again"
            ),
            _ => Ok(None),
        }
    }

    /// Reads rows with `in_memory`, which gets the most bytes of numbers to hold; where they are more, `in_stream` reads
    /// them, from the beginning. What decides is what was read, not the size of the file.
    pub(crate) fn in_memory_or_stream<T>(
        &self,
        path: &Path,
        in_memory: impl FnOnce(&Self) -> Result<T>,
        in_stream: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        // Means of columns are known only when all rows have been read.
        let known =
            estimated_bytes(path, &self.options(LabelsIn::Nowhere)).filter(|_| self.missing != Missing::Mean);
        match known {
            None => in_memory(self),
            Some(bytes) if bytes > LARGE => in_stream(),
            Some(_) => match in_memory(&Self { most_bytes: Some(LARGE), ..self.clone() }) {
                Err(error) if error.downcast_ref::<ReadError>().is_some_and(ReadError::is_too_large) => {
                    in_stream()
                }
                outcome => outcome,
            },
        }
    }

    /// Reads a table and passes its notes on.
    pub(crate) fn read<'a>(&self, path: &Path, labels: impl Into<LabelsIn<'a>>) -> Result<Table> {
        read(path, &self.options(labels))
    }

    /// Reads rows and, from a column that is no feature, the group of each.
    pub(crate) fn read_grouped<'a>(
        &self,
        path: &Path,
        labels: impl Into<LabelsIn<'a>>,
        groups: Option<&ColumnRef>,
    ) -> Result<(Table, Option<Labels>)> {
        let labels = labels.into();
        let Some(groups) = groups else { return Ok((self.read(path, labels)?, None)) };
        if path.as_os_str() == "-" {
            bail!(
                "--groups and --chunks read the input twice, and standard input can be read once\nhint: give a file"
            );
        }
        let mut options = self.options(labels);
        options.ignore.push(groups.clone());
        let table = read(path, &options)?;
        let mut options = self.options(LabelsIn::Column(groups));
        options.ignore.extend(labels.column().cloned());
        let grouped = read(path, &options)?;
        if grouped.row_numbers != table.row_numbers {
            bail!(
                "{} has rows without a label, or without a group or chunk\nhint: fill them in, or drop those rows",
                table.source
            );
        }
        Ok((table, grouped.labels.map(Labels::new)))
    }

    /// Reads the group of each row as the label of a table for a model; it may be a feature of the model, too.
    pub(crate) fn read_groups_for(
        &self,
        model: &mahala::Model,
        path: &Path,
        column: &ColumnRef,
    ) -> Result<Table> {
        let is_other = |name: &&String| name.parse::<ColumnRef>().as_ref() != Ok(column);
        let others: Vec<String> = model.feature_names.iter().filter(is_other).cloned().collect();
        // Columns without names are all there is.
        let features =
            Some(others).filter(|others| !others.is_empty() && !are_numbered(&model.feature_names));
        // What is filled in does not matter here.
        let missing = if self.missing == Missing::Mean { Missing::Zero } else { self.missing };
        read(path, &ReadOptions { features, missing, ..self.options(LabelsIn::Column(column)) })
    }

    /// Reads a table whose rows may stay sparse.
    pub(crate) fn read_sparse<'a>(&self, path: &Path, labels: impl Into<LabelsIn<'a>>) -> Result<Table> {
        read(path, &ReadOptions { rows_held: RowsHeld::OrSparse, ..self.options(labels) })
    }

    /// Reads rows for a model and, from a column that is no feature, the name of each.
    pub(crate) fn read_named<'a>(
        &self,
        model: &mahala::Model,
        path: &Path,
        labels: impl Into<LabelsIn<'a>>,
        id: Option<&ColumnRef>,
    ) -> Result<(Table, Option<Vec<String>>)> {
        let labels = labels.into();
        let Some(id) = id else { return Ok((self.read_for(model, path, labels)?, None)) };
        if labels.column() == Some(id) {
            bail!("--id and --label name the same column\nhint: give one of them, or another column");
        }
        let without = |column: Option<&ColumnRef>| {
            let mut input = self.clone();
            input.ignore.extend(column.cloned());
            input
        };
        if labels.are_given() && path.as_os_str() == "-" {
            bail!(
                "--id beside labels reads the input twice, and standard input can be read once\nhint: give a file"
            );
        }
        let mut named = without(labels.column()).read_for(model, path, LabelsIn::Column(id))?;
        let ids = named.labels.take();
        if !labels.are_given() {
            return Ok((named, ids));
        }
        let table = without(Some(id)).read_for(model, path, labels)?;
        if table.row_numbers != named.row_numbers {
            bail!(
                "{} has rows without a label, or without a name\nhint: fill them in, or drop those rows",
                table.source
            );
        }
        Ok((table, ids))
    }

    /// Reads the columns a model wants; rows may stay sparse.
    pub(crate) fn read_for<'a>(
        &self,
        model: &mahala::Model,
        path: &Path,
        labels: impl Into<LabelsIn<'a>>,
    ) -> Result<Table> {
        self.check_position(model)?;
        let means = self.means_of(model)?;
        let mut options = ReadOptions { means, ..self.options(labels) };
        if options.rows_held == RowsHeld::Double && model.kernel.is_none() {
            options.rows_held = RowsHeld::OrSparse;
        }
        if model.feature_names.is_empty() {
            let table = read(path, &options)?;
            if table.names.len() != model.columns() {
                let (seen, wanted) = (table.names.len(), model.columns());
                bail!("{} has {seen} feature columns; the model wants {wanted}", table.source);
            }
            return Ok(table);
        }
        options.features = Some(model.feature_names.clone());
        read(path, &options)
    }
}

fn read(path: &Path, options: &ReadOptions) -> Result<Table> {
    let source = if path.as_os_str() == "-" { "standard input".into() } else { path.display().to_string() };
    let reading = Arc::new(ReadProgress::default());
    let progress = Bar::reading(&format!("reading {source}"), Arc::clone(&reading));
    let table = read_table(path, &ReadOptions { progress: Some(reading), ..options.clone() })?;
    progress.finish();
    print_notes(&table.notes);
    // What the table takes is not there for learning.
    crate::system::tell_memory()?;
    Ok(table)
}
