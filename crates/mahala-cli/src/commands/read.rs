//! Options for reading files, and the reading.

use crate::say;
use crate::terminal::progress::Progress;
use anyhow::{Result, bail};
use clap::Args;
use mahala::Labels;
use mahala_io::{ColumnRef, Format, Header, Missing, ReadError, ReadOptions, Table, read_table};
use mahala_io::{Stream, estimated_bytes};
use std::path::Path;

/// Numbers of more than so many bytes are read in a stream.
const LARGE: u64 = 256 << 20;

/// How files are read.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Reading")]
pub(crate) struct InputArgs {
    /// Leave out this column (may be given several times)
    #[arg(long, value_name = "COLUMN")]
    pub ignore: Vec<ColumnRef>,
    /// What to do about missing cells
    #[arg(long, value_enum, default_value_t)]
    pub missing: Missing,
    /// Whether the first record names the columns
    #[arg(long, value_enum, default_value_t)]
    pub header: Header,
    /// The character between cells [default: found from the first lines]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    pub delimiter: Option<u8>,
    /// The format of the input [default: found from name and content]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Leave out up to so many rows that cannot be read, and say where the first are
    #[arg(long, value_name = "N")]
    pub skip_bad_rows: Option<u64>,
    /// The most bytes of numbers to hold; what memory allows, if there is none.
    #[arg(skip)]
    pub most_bytes: Option<u64>,
}

impl InputArgs {
    /// The options for a file with (or without) a label column.
    pub(crate) fn options(&self, label: Option<&ColumnRef>) -> ReadOptions {
        ReadOptions {
            label: label.cloned(),
            ignore: self.ignore.clone(),
            features: None,
            header: self.header,
            delimiter: self.delimiter,
            missing: self.missing,
            means: None,
            format: self.format,
            sparse: false,
            skip_bad_rows: self.skip_bad_rows,
            // A table grows by doubling, and what is learned from it needs room, too.
            most_bytes: Some(self.most_bytes.unwrap_or((1e9 * mahala::memory_limit_gb() / 3.0) as u64)),
        }
    }

    /// Opens a stream of the rows that a model wants.
    pub(crate) fn stream_for(
        &self,
        model: &mahala::Model,
        path: &Path,
        label: Option<&ColumnRef>,
    ) -> Result<Stream> {
        let features = Some(model.feature_names.clone()).filter(|names| !names.is_empty());
        let means = self.means_of(model)?;
        let stream = Stream::open(path, &ReadOptions { features, means, ..self.options(label) })?;
        if stream.names.len() != model.columns() {
            let (seen, wanted) = (stream.names.len(), model.columns());
            bail!("{} has {seen} feature columns; the model wants {wanted}", stream.source);
        }
        Ok(stream)
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
        let known = estimated_bytes(path, &self.options(None)).filter(|_| self.missing != Missing::Mean);
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
    pub(crate) fn read(&self, path: &Path, label: Option<&ColumnRef>) -> Result<Table> {
        read(path, &self.options(label))
    }

    /// Reads rows and, from a column that is no feature, the family of each.
    pub(crate) fn read_grouped(
        &self,
        path: &Path,
        label: Option<&ColumnRef>,
        groups: Option<&ColumnRef>,
    ) -> Result<(Table, Option<Labels>)> {
        let Some(groups) = groups else { return Ok((self.read(path, label)?, None)) };
        if path.as_os_str() == "-" {
            bail!("--groups reads the input twice, and standard input can be read once\nhint: give a file");
        }
        let mut options = self.options(label);
        options.ignore.push(groups.clone());
        let table = read(path, &options)?;
        let mut options = self.options(Some(groups));
        options.ignore.extend(label.cloned());
        let families = read(path, &options)?;
        if families.row_numbers != table.row_numbers {
            bail!(
                "{} has rows without a label or without a group\nhint: fill them in, or drop those rows",
                table.source
            );
        }
        Ok((table, families.labels.map(Labels::new)))
    }

    /// Reads a table whose rows may stay sparse.
    pub(crate) fn read_sparse(&self, path: &Path, label: Option<&ColumnRef>) -> Result<Table> {
        read(path, &ReadOptions { sparse: true, ..self.options(label) })
    }

    /// Reads the columns a model wants; rows may stay sparse.
    pub(crate) fn read_for(
        &self,
        model: &mahala::Model,
        path: &Path,
        label: Option<&ColumnRef>,
    ) -> Result<Table> {
        let means = self.means_of(model)?;
        let mut options = ReadOptions { sparse: model.kernel.is_none(), means, ..self.options(label) };
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
    let progress = Progress::spinner(&format!("reading {source}"));
    let table = read_table(path, options)?;
    progress.finish();
    table.notes.iter().for_each(|note| say(&format!("note: {note}")));
    // What the table takes is not there for learning.
    crate::system::tell_memory();
    Ok(table)
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "\\t" | "tab" => Ok(b'\t'),
        _ if text.len() == 1 => Ok(text.as_bytes()[0]),
        _ => Err("the delimiter must be one ASCII character, or 'tab'".into()),
    }
}
