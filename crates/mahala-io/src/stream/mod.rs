//! Tables too large for memory, block by block.
//!
//! ```text
//! files ─▶ blocks of bytes or of columns ─▶ parsed by any thread ─▶ taken in the order of the file
//! ```
//!
//! Text is cut at the ends of records, Parquet at fixed numbers of rows, so that the blocks, and all that is summed
//! over them, depend on the files alone. Only so many blocks are under way at a time: memory is bounded.

mod ordered;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use crate::block::{Block, PLACES};
use crate::csv::blocks::{TextBlock, TextFile};
use crate::decimal_mark::DecimalMarks;
use crate::error::{ReadError, count, list};
use crate::format::find_format;
use crate::glob::expand;
use crate::options::{Format, Missing, ReadOptions};
use crate::parquet::blocks::{ColumnBlock, ColumnFile};
use crate::source::Source;
use crate::table::{Table, check_bytes};

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
    told: Told,
}

/// What is counted on the way.
#[derive(Default)]
struct Told {
    notes: Vec<String>,
    records: u64,
    bad: u64,
    places: Vec<String>,
    dropped: u64,
    unlabelled: u64,
    /// Missing cells that were filled in.
    filled: u64,
    marks: Option<DecimalMarks>,
}

enum File {
    Text(TextFile),
    Columns(Box<ColumnFile>),
}

/// A block as it is cut from a file, to be parsed by any thread.
enum Raw {
    Text(TextBlock),
    Columns(ColumnBlock),
}

impl Stream {
    /// Opens a file, a folder, a pattern or standard input, up to the first row.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, ReadError> {
        let source =
            if path.as_os_str() == "-" { "standard input".into() } else { path.display().to_string() };
        if options.missing == Missing::Mean && options.means.is_none() {
            return Err(ReadError::new(source, "the means of columns are known only at the end of a stream")
                .hint("--missing drop or --missing zero"));
        }
        let mut rest: VecDeque<PathBuf> = expand(path)?.into();
        let Some(first) = rest.pop_front() else {
            return Err(ReadError::new(source, "there is no file"));
        };
        let current = File::open(&first, options)?;
        let mut stream = Self {
            source,
            names: current.names().to_vec(),
            options: options.clone(),
            path: path.to_owned(),
            first: first.display().to_string(),
            current: None,
            rest,
            told: Told::default(),
        };
        stream.enter(current)?;
        Ok(stream)
    }

    /// The same files from the beginning, if they can be read twice.
    pub fn again(&self) -> Result<Option<Self>, ReadError> {
        if !self.can_be_read_twice() {
            return Ok(None);
        }
        Self::open(&self.path, &self.options).map(Some)
    }

    /// Whether the rows are in files, rather than in a pipe.
    pub fn can_be_read_twice(&self) -> bool {
        self.path.as_os_str() != "-" && (self.path.is_dir() || self.path.is_file() || !self.path.exists())
    }

    /// Parses all blocks: `work` is done by any thread, `take` in the order of the file.
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

    /// What the user should hear, once all has been read.
    pub fn notes(&self) -> Vec<String> {
        let told = &self.told;
        let mut notes = told.notes.clone();
        if told.bad > 0 {
            let more = if told.bad > PLACES as u64 { "\n  …" } else { "" };
            notes.push(format!(
                "{} skipped:\n  {}{more}",
                count(told.bad, "bad row"),
                told.places.join("\n  ")
            ));
        }
        if told.unlabelled > 0 {
            notes.push(format!("{} dropped: missing label", count(told.unlabelled, "row")));
        }
        if told.dropped > 0 {
            notes.push(format!("{} dropped: missing cells", count(told.dropped, "row")));
        }
        if told.filled > 0 {
            let mean = self.options.missing == Missing::Mean;
            let by = if mean { "the means of the training rows" } else { "0" };
            notes.push(format!("{} replaced by {by}", count(told.filled, "missing cell")));
        }
        notes
    }

    /// All rows, in memory.
    pub fn into_table(mut self) -> Result<Table, ReadError> {
        let mut table = Table {
            source: self.source.clone(),
            names: self.names.clone(),
            rows: Vec::new(),
            sparse: None,
            n: 0,
            labels: self.options.label.as_ref().map(|_| Vec::new()),
            row_numbers: Vec::new(),
            gaps: Vec::new(),
            notes: Vec::new(),
        };
        let (source, most_bytes) = (self.source.clone(), self.options.most_bytes);
        self.each(
            |_| (),
            |block: Block, ()| -> Result<(), ReadError> {
                table.n += block.len();
                table.row_numbers.extend(block.numbers());
                if let Some(labels) = &mut table.labels {
                    labels.extend((0..block.len()).map(|i| block.label(i).to_owned()));
                }
                table.rows.extend(block.into_row_major());
                check_bytes(&source, table.rows.len(), most_bytes)
            },
        )?;
        table.notes = self.notes();
        Ok(table)
    }

    fn enter(&mut self, file: File) -> Result<(), ReadError> {
        if file.names() != self.names {
            return Err(self.other_columns(&file));
        }
        self.told.notes.extend(file.notes());
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
                Some(File::Columns(file)) => file.next_block()?.map(Raw::Columns),
            };
            if raw.is_some() {
                return Ok(raw);
            }
            self.current = None;
            if let Some(path) = self.rest.pop_front() {
                let file = File::open(&path, &self.options)?;
                self.enter(file)?;
            }
        }
    }

    fn count(&mut self, parsed: &mut Block) -> Result<(), ReadError> {
        let told = &mut self.told;
        parsed.before = told.records;
        told.records += parsed.records;
        told.bad += parsed.bad;
        told.dropped += parsed.dropped;
        told.unlabelled += parsed.unlabelled;
        told.filled += parsed.filled;
        let room = PLACES.saturating_sub(told.places.len());
        told.places.extend(parsed.places.drain(..).take(room));
        match (&mut told.marks, parsed.marks.take()) {
            (Some(marks), Some(later)) => marks.merge(later),
            (marks @ None, later) => *marks = later,
            (_, None) => {}
        }
        match self.options.skip_bad_rows {
            Some(most) if self.told.bad > most => Err(self.too_many(most)),
            _ => Ok(()),
        }
    }

    fn too_many(&self, most: u64) -> ReadError {
        let message = format!(
            "{} up to row {}, and --skip-bad-rows allows {most}:\n  {}",
            count(self.told.bad, "bad row"),
            self.told.records,
            self.told.places.join("\n  ")
        );
        ReadError::new(&self.source, message).hint("correct them, or allow more")
    }

    fn finish(&mut self) -> Result<(), ReadError> {
        if let Some(marks) = &self.told.marks {
            let notes = marks.check(&self.source, &self.names)?;
            self.told.notes.extend(notes);
        }
        let lost = self.told.bad + self.told.dropped + self.told.unlabelled;
        if self.told.records == lost {
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
    fn open(path: &Path, options: &ReadOptions) -> Result<Self, ReadError> {
        let source = Source::open(path)?;
        match find_format(path, &source, options)? {
            Format::Csv => TextFile::open(source, options.delimiter, options).map(Self::Text),
            Format::Tsv => TextFile::open(source, options.delimiter.or(Some(b'\t')), options).map(Self::Text),
            Format::Parquet => ColumnFile::open(source, options).map(|file| Self::Columns(Box::new(file))),
            Format::Npy | Format::Libsvm => {
                let message = "a table can be read in a stream from CSV, TSV and Parquet files";
                Err(ReadError::new(source.name, message).hint("leave --stream out, or convert the file"))
            }
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Text(file) => &file.context.name,
            Self::Columns(file) => &file.context.name,
        }
    }

    fn names(&self) -> &[String] {
        match self {
            Self::Text(file) => &file.context.plan.names,
            Self::Columns(file) => &file.context.plan.names,
        }
    }

    fn notes(&self) -> Vec<String> {
        match self {
            Self::Text(file) => file.notes.clone(),
            Self::Columns(file) => file.note.iter().cloned().collect(),
        }
    }
}

impl Raw {
    fn parse(self, most_bad: Option<u64>) -> Result<Block, ReadError> {
        match self {
            Self::Text(block) => block.parse(most_bad),
            Self::Columns(block) => block.parse(most_bad),
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
            Format::Npy | Format::Libsvm => return None,
            // Cells of text have up to 32 characters, with what separates them; compressed ones fewer.
            Format::Csv | Format::Tsv => size / 4,
            Format::Parquet => crate::parquet::blocks::cells(&path)?.saturating_mul(8),
        };
    }
    Some(bytes)
}
