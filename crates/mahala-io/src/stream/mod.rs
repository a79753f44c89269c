//! Tables too large for memory, block by block.
//!
//! ```text
//! files ─▶ blocks of bytes or of columns ─▶ parsed by any thread ─▶ taken in the order of the file
//! ```
//!
//! Text is cut at the ends of records, Parquet and arrays at fixed numbers of rows, so that the blocks, and all that is summed
//! over them, depend on the files alone. Only so many blocks are under way at a time: memory is bounded.

mod ordered;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::arrow::blocks::ArrowFile;
use crate::block::Block;
use crate::column_block::ColumnBlock;
use crate::csv::blocks::{TextBlock, TextFile};
use crate::csv::header_only;
use crate::decimal_mark::DecimalMarks;
use crate::error::{ReadError, count, list};
use crate::format::find_format;
use crate::glob::expand;
use crate::jsonl::blocks::{LineBlock, LineFile};
use crate::missing::{RowPolicy, Tally};
use crate::npy::blocks::{ArrayBlock, ArrayFile};
use crate::options::{Format, Missing, ReadOptions};
use crate::parquet::blocks::ColumnFile;
use crate::progress::ReadProgress;
use crate::source::Source;
use crate::table::Table;
use crate::table_builder::{TableBuilder, check_rows};

/// Files that are read one block after the other.
pub struct Stream {
    /// What was asked for, as the user named it.
    pub source: String,
    /// The names of the features.
    pub names: Vec<String>,
    options: ReadOptions,
    path: PathBuf,
    current: Option<File>,
    first: String,
    rest: VecDeque<PathBuf>,
    /// All rows become a table: what is missing is dealt with at the end.
    table: bool,
    /// That of the first file.
    policy: Arc<RowPolicy>,
    single: bool,
    notes: Vec<String>,
    tally: Tally,
    marks: Option<DecimalMarks>,
}

enum File {
    Text(TextFile),
    Lines(LineFile),
    Columns(Box<ColumnFile>),
    Array(Box<ArrayFile>),
    Arrow(Box<ArrowFile>),
}

/// A block as it is cut from a file, to be parsed by any thread.
enum Raw {
    Text(TextBlock),
    Lines(LineBlock),
    Columns(Box<ColumnBlock>),
    Array(ArrayBlock),
}

impl Stream {
    /// Opens a file, a folder, a pattern or standard input, up to the first row.
    ///
    /// # Errors
    /// A file that cannot be opened, columns that cannot be found, or options that do not go with a stream.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, ReadError> {
        let source =
            if path.as_os_str() == "-" { "standard input".into() } else { path.display().to_string() };
        if options.missing == Missing::Mean && options.means.is_none() {
            return Err(ReadError::new(source, "the means of columns are known only at the end of a stream")
                .hint("--missing drop or --missing zero"));
        }
        let files = expand(path)?;
        let mut options = options.clone();
        options.progress.get_or_insert_default().begin(&files);
        let mut rest: VecDeque<PathBuf> = files.into();
        let Some(first) = rest.pop_front() else {
            return Err(ReadError::new(source, "there is no file"));
        };
        let opened = Source::open(&first, options.progress.as_ref())?;
        let format = find_format(&first, &opened, &options)?;
        let current = File::open(opened, format, &options, false)?;
        Self::start(source, (path, &first), current, rest, &options, false)
    }

    /// The stream of one file of which all rows become a table.
    pub(crate) fn of_table(
        path: &Path,
        source: Source,
        format: Format,
        options: &ReadOptions,
    ) -> Result<Self, ReadError> {
        let name = source.name.clone();
        let current = File::open(source, format, options, true)?;
        Self::start(name, (path, path), current, VecDeque::new(), options, true)
    }

    fn start(
        source: String,
        (path, first): (&Path, &Path),
        current: File,
        rest: VecDeque<PathBuf>,
        options: &ReadOptions,
        table: bool,
    ) -> Result<Self, ReadError> {
        let mut stream = Self {
            source,
            names: current.names().to_vec(),
            options: options.clone(),
            path: path.to_owned(),
            first: first.display().to_string(),
            current: None,
            rest,
            table,
            policy: current.policy(),
            single: current.is_single(),
            notes: Vec::new(),
            tally: Tally::default(),
            marks: None,
        };
        stream.enter(current)?;
        Ok(stream)
    }

    /// Opens the files again, if they can be read twice.
    ///
    /// # Errors
    /// A file that cannot be opened any more.
    pub fn again(&self) -> Result<Option<Self>, ReadError> {
        if !self.can_be_read_twice() {
            return Ok(None);
        }
        // Each tells its own progress.
        Self::open(&self.path, &ReadOptions { progress: None, ..self.options.clone() }).map(Some)
    }

    /// Whether the rows are in files, rather than in a pipe.
    pub fn can_be_read_twice(&self) -> bool {
        self.path.as_os_str() != "-" && (self.path.is_dir() || self.path.is_file() || !self.path.exists())
    }

    /// Parses all blocks: `work` is done by any thread, `take` in the order of the file.
    ///
    /// # Errors
    /// The first, in the order of the file, of what `take` returns and of what cannot be read.
    pub fn each<R: Send, E: From<ReadError>>(
        &mut self,
        work: impl Fn(&Block) -> R + Sync,
        mut take: impl FnMut(Block, R) -> Result<(), E>,
    ) -> Result<(), E> {
        let most_bad = self.options.skip_bad_rows;
        // Reading and counting take turns on this thread.
        let stream = std::cell::RefCell::new(self);
        ordered::run(
            || stream.borrow_mut().next_raw().map_err(E::from),
            |raw: Raw| {
                let parsed = raw.parse(most_bad);
                parsed.map(|parsed| {
                    let done = work(&parsed);
                    (parsed, done)
                })
            },
            |outcome| {
                let (mut parsed, done) = outcome?;
                stream.borrow_mut().count(&mut parsed)?;
                take(parsed, done)
            },
        )?;
        Ok(stream.into_inner().finish()?)
    }

    /// Whether all features, in the files opened so far, have single or half precision.
    pub fn is_single(&self) -> bool {
        self.single
    }

    /// How far reading is, for whoever shows it.
    pub fn progress(&self) -> Arc<ReadProgress> {
        self.options.progress.clone().unwrap_or_default()
    }

    /// What the user should hear, once all has been read.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        notes.extend(self.tally.notes(self.options.missing));
        notes
    }

    /// All rows, in memory.
    ///
    /// # Errors
    /// A file that cannot be read, rows that cannot be used, or more of them than may be held.
    pub fn into_table(mut self) -> Result<Table, ReadError> {
        let labelled = self.options.label.is_some();
        let mut table = TableBuilder::new(&self.source, self.names.clone(), labelled, &self.options);
        let rows = self.current.as_ref().and_then(File::rows).filter(|_| self.rest.is_empty());
        table.expect(rows.unwrap_or(0));
        self.each(|_| (), |block: Block, ()| table.add(block))?;
        table.has_single(self.single);
        table.finish(&self.policy, &self.tally, self.options.missing, self.notes())
    }

    fn enter(&mut self, file: File) -> Result<(), ReadError> {
        if file.names() != self.names {
            return Err(self.other_columns(&file));
        }
        self.notes.extend(file.notes());
        self.single &= file.is_single();
        self.current = Some(file);
        Ok(())
    }

    fn other_columns(&self, file: &File) -> ReadError {
        let (seen, wanted) = (file.names(), &self.names);
        let message = match seen.iter().zip(wanted).position(|(a, b)| a != b) {
            Some(j) => format!("column '{}' where {} has '{}'", seen[j], self.first, wanted[j]),
            None => format!(
                "{} where {} has {}: {}",
                count(seen.len() as u64, "feature column"),
                self.first,
                wanted.len(),
                list(seen)
            ),
        };
        ReadError::new(file.name(), message).hint("all files must have the same columns in the same order")
    }

    fn next_raw(&mut self) -> Result<Option<Raw>, ReadError> {
        loop {
            let raw = match &mut self.current {
                None => return Ok(None),
                Some(File::Text(file)) => file.next_block()?.map(Raw::Text),
                Some(File::Lines(file)) => file.next_block()?.map(Raw::Lines),
                Some(File::Columns(file)) => file.next_block()?.map(|block| Raw::Columns(Box::new(block))),
                Some(File::Array(file)) => file.next_block()?.map(Raw::Array),
                Some(File::Arrow(file)) => file.next_block()?.map(|block| Raw::Columns(Box::new(block))),
            };
            if raw.is_some() {
                return Ok(raw);
            }
            self.current = None;
            if let Some(path) = self.rest.pop_front() {
                let source = Source::open(&path, self.options.progress.as_ref())?;
                let format = find_format(&path, &source, &self.options)?;
                self.enter(File::open(source, format, &self.options, self.table)?)?;
            }
        }
    }

    fn count(&mut self, block: &mut Block) -> Result<(), ReadError> {
        block.before = self.tally.records;
        self.tally.merge(mem::take(&mut block.tally));
        match (&mut self.marks, block.marks.take()) {
            (Some(marks), Some(later)) => marks.merge(later),
            (marks @ None, later) => *marks = later,
            (_, None) => {}
        }
        match self.options.skip_bad_rows {
            Some(most) if self.tally.bad > most => Err(self.too_many(most)),
            _ => Ok(()),
        }
    }

    fn too_many(&self, most: u64) -> ReadError {
        let message = format!(
            "{} up to row {}, and --skip-bad-rows allows {most}:\n  {}",
            count(self.tally.bad, "bad row"),
            self.tally.records,
            self.tally.bad_places()
        );
        ReadError::new(&self.source, message).hint("correct them, or allow more")
    }

    fn finish(&mut self) -> Result<(), ReadError> {
        if let Some(marks) = &self.marks {
            // A text without records: blank lines below the header.
            if self.table && self.tally.records == 0 {
                return Err(header_only(&self.source));
            }
            let notes = marks.check(&self.source, &self.names)?;
            self.notes.extend(notes);
        }
        if self.table {
            return check_rows(&self.source, &self.tally);
        }
        let lost = self.tally.lost();
        if self.tally.records == lost {
            let message = match lost {
                0 => "there are no rows".to_owned(),
                _ => format!("no rows are left: all {lost} are bad or have missing cells"),
            };
            return Err(ReadError::new(&self.source, message));
        }
        Ok(())
    }
}

impl File {
    fn open(source: Source, format: Format, options: &ReadOptions, table: bool) -> Result<Self, ReadError> {
        let text = |delimiter, source| TextFile::open(source, delimiter, options, table).map(Self::Text);
        match format {
            Format::Csv => text(options.delimiter, source),
            Format::Tsv => text(options.delimiter.or(Some(b'\t')), source),
            Format::Arrow => ArrowFile::open(source, options, table).map(|file| Self::Arrow(Box::new(file))),
            Format::Jsonl => LineFile::open(source, options, table).map(Self::Lines),
            Format::Parquet => {
                ColumnFile::open(source, options, table).map(|file| Self::Columns(Box::new(file)))
            }
            Format::Npy => ArrayFile::open(source, options, table).map(|file| Self::Array(Box::new(file))),
            Format::Npz | Format::Libsvm => {
                let message =
                    "a table can be read in a stream from CSV, TSV, JSON Lines, NPY, Parquet and Arrow files";
                Err(ReadError::new(source.name, message).hint("leave --stream out, or convert the file"))
            }
        }
    }

    fn policy(&self) -> Arc<RowPolicy> {
        match self {
            Self::Text(file) => file.policy(),
            Self::Lines(file) => file.policy(),
            Self::Columns(file) => file.policy(),
            Self::Array(file) => file.policy(),
            Self::Arrow(file) => file.policy(),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Text(file) => file.name(),
            Self::Lines(file) => file.name(),
            Self::Columns(file) => file.name(),
            Self::Array(file) => file.name(),
            Self::Arrow(file) => file.name(),
        }
    }

    fn names(&self) -> &[String] {
        match self {
            Self::Text(file) => file.names(),
            Self::Lines(file) => file.names(),
            Self::Columns(file) => file.names(),
            Self::Array(file) => file.names(),
            Self::Arrow(file) => file.names(),
        }
    }

    fn notes(&self) -> Vec<String> {
        match self {
            Self::Text(file) => file.notes.clone(),
            Self::Columns(file) => file.notes.clone(),
            Self::Arrow(file) => file.notes.clone(),
            Self::Lines(_) | Self::Array(_) => Vec::new(),
        }
    }

    /// Whether all features have single or half precision.
    fn is_single(&self) -> bool {
        match self {
            Self::Text(_) | Self::Lines(_) => false,
            Self::Columns(file) => file.is_single(),
            Self::Array(file) => file.is_single(),
            Self::Arrow(file) => file.is_single(),
        }
    }

    /// The number of rows that the file says it has.
    fn rows(&self) -> Option<usize> {
        match self {
            Self::Text(_) | Self::Lines(_) | Self::Arrow(_) => None,
            Self::Columns(file) => file.rows(),
            Self::Array(file) => Some(file.rows()),
        }
    }
}

impl Raw {
    fn parse(self, most_bad: Option<u64>) -> Result<Block, ReadError> {
        match self {
            Self::Text(block) => block.parse(most_bad),
            Self::Lines(block) => block.parse(most_bad),
            Self::Columns(block) => block.parse(most_bad),
            Self::Array(block) => block.parse(most_bad),
        }
    }
}

/// The memory that the rows of a file take as numbers at least, as far as that is known before they are read; `None` if
/// the format cannot be read in a stream, or not twice.
pub fn estimated_bytes(path: &Path, options: &ReadOptions) -> Option<u64> {
    let mut bytes = 0u64;
    for path in expand(path).ok()? {
        let size = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?.len();
        bytes += match options.format.unwrap_or_else(|| crate::format::format_of_name(&path)) {
            Format::Npz | Format::Libsvm => return None,
            Format::Npy => crate::npy::cells(&path)?.saturating_mul(8),
            // Cells of text have up to 32 characters, with what separates them; compressed ones fewer.
            Format::Csv | Format::Tsv => size / 4,
            // Numbers as they are, or packed.
            Format::Arrow => size,
            // Keys stand before the cells.
            Format::Jsonl => size / 8,
            Format::Parquet => crate::parquet::blocks::cells(&path)?.saturating_mul(8),
        };
    }
    Some(bytes)
}
