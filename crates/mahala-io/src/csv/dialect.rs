//! Opening a text table: encoding, delimiter, header.
//!
//! Unless told, the first record is taken for a header if
//!
//! - one of its cells is a column name the user gave, or
//! - some column has text in the first record and a number in the next record that has a value
//!   there, or
//! - it is the only record and has no number in it.
//!
//! So `5.1,3.5,setosa` is data when `4.9,3.0,setosa` follows: no column changes from text to number.

use std::io::{BufRead, Cursor, Read};

use crate::cell::{Cell, is_missing, is_numeric, parse_cell};
use crate::columns::{Columns, Plan, plan};
use crate::csv::record::RecordReader;
use crate::error::{ReadError, at, count, excerpt};
use crate::options::{Header, ReadOptions};
use crate::source::Source;

/// A text table whose next record is its first row of data.
pub(crate) struct TextTable {
    pub(crate) records: RecordReader<Box<dyn BufRead>>,
    pub(crate) names: Option<Vec<String>>,
    pub(crate) width: usize,
    pub(crate) delimiter: u8,
    pub(crate) notes: Vec<String>,
    first_line: u64,
}

/// What every record of a table must look like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) width: usize,
    pub(crate) delimiter: u8,
    /// The line the width was seen on.
    first_line: u64,
}

impl Shape {
    /// Refuses a record with another number of cells than the first.
    pub(crate) fn check<R: BufRead>(self, records: &RecordReader<R>) -> Result<(), ReadError> {
        if records.width() == self.width {
            return Ok(());
        }
        let message = format!(
            "{} where line {} has {}: {}",
            count(records.width() as u64, "cell"),
            self.first_line,
            self.width,
            records.excerpt()
        );
        let place = at(&records.source, "line", records.line());
        Err(ReadError::new(place, message).hint(format!(
            "cells are taken to be separated by {}; --delimiter names another separator",
            spoken(self.delimiter)
        )))
    }
}

type Sample = Vec<Vec<Vec<u8>>>;

/// Enough bytes to see the first lines of most tables.
const SNIFF: usize = 1 << 16;
/// The most that is held to see three lines of a very wide table.
const SNIFF_MOST: usize = 1 << 24;
const SAMPLE_RECORDS: usize = 50;

impl TextTable {
    /// What each column is for; takes the names.
    pub(crate) fn plan(&mut self, options: &ReadOptions) -> Result<Plan, ReadError> {
        let columns = match self.names.take() {
            Some(names) => Columns::named(names),
            None => Columns::numbered(self.width),
        };
        plan(&self.records.source, &columns, options)
    }

    /// Opens a text table; `delimiter` is found from the first lines if it is not given.
    pub(crate) fn open(
        source: Source,
        delimiter: Option<u8>,
        options: &ReadOptions,
    ) -> Result<Self, ReadError> {
        let name = source.name;
        let mut reader = source.reader;
        let (head, whole) = read_head(&name, &mut reader)?;
        let lines = complete_lines(&head, whole);
        let delimiter = delimiter.unwrap_or_else(|| find_delimiter(lines));
        let sample = first_sample(&name, lines, delimiter, whole)?;
        let header = is_header(&sample, options);
        let width = sample[0].len();
        let reader: Box<dyn BufRead> = Box::new(Cursor::new(head).chain(reader));
        let mut table = Self {
            records: RecordReader::new(&name, reader, delimiter),
            names: None,
            width,
            delimiter,
            notes: Vec::new(),
            first_line: 1,
        };
        if header {
            table.read_header(options)?;
        }
        Ok(table)
    }

    /// Moves to the next record, which must have as many cells as the first one.
    pub(crate) fn advance(&mut self) -> Result<bool, ReadError> {
        if !self.records.advance()? {
            return Ok(false);
        }
        self.shape().check(&self.records)?;
        Ok(true)
    }

    /// What every record must look like.
    pub(crate) fn shape(&self) -> Shape {
        Shape { width: self.width, first_line: self.first_line, delimiter: self.delimiter }
    }

    fn read_header(&mut self, options: &ReadOptions) -> Result<(), ReadError> {
        self.records.advance()?;
        self.first_line = self.records.line();
        if let (Header::Auto, Some(cell)) = (options.header, self.records.cells().find(|c| is_numeric(c))) {
            self.notes.push(format!(
                "line {} is taken for a header, although {} in it is a number; \
                 if it is data: --header no",
                self.first_line,
                excerpt(cell)
            ));
        }
        let names = (0..self.width).map(|index| self.records.text(index));
        self.names = Some(names.collect());
        Ok(())
    }
}

/// Any text, with its encoding checked and without a byte order mark.
pub(crate) fn plain_text(source: Source) -> Result<(String, Box<dyn BufRead>), ReadError> {
    let mut reader = source.reader;
    let (head, _) = read_head(&source.name, &mut reader)?;
    Ok((source.name, Box::new(Cursor::new(head).chain(reader))))
}

fn spoken(delimiter: u8) -> String {
    match delimiter {
        b'\t' => "tabs".to_owned(),
        b' ' => "spaces".to_owned(),
        other => format!("'{}'", char::from(other)),
    }
}

/// Reads the first lines; also says whether that is all there is. A byte order mark is dropped.
fn read_head(name: &str, reader: &mut dyn BufRead) -> Result<(Vec<u8>, bool), ReadError> {
    let mut head = Vec::new();
    let mut whole = false;
    let mut wanted = SNIFF;
    while !whole && wanted <= SNIFF_MOST {
        let more = (wanted - head.len()) as u64;
        let read = (&mut *reader).take(more).read_to_end(&mut head);
        read.map_err(|error| ReadError::read(name, error))?;
        whole = head.len() < wanted;
        if head.iter().filter(|&&byte| byte == b'\n').nth(2).is_some() {
            break;
        }
        check_encoding(name, &head)?;
        wanted *= 2;
    }
    check_encoding(name, &head)?;
    if head.starts_with(b"\xEF\xBB\xBF") {
        head.drain(..3);
    }
    Ok((head, whole))
}

pub(crate) fn check_encoding(name: &str, head: &[u8]) -> Result<(), ReadError> {
    // A byte order mark, or the first letter alone, with its three zeros.
    let wide = head.starts_with(b"\xFF\xFE\0\0")
        || head.starts_with(b"\0\0\xFE\xFF")
        || matches!(head, [0, 0, 0, a, ..] | [a, 0, 0, 0, ..] if *a > 0);
    if wide {
        return Err(ReadError::new(name, "the file is UTF-32, not UTF-8")
            .hint("convert it, e.g. with iconv -f utf-32 -t utf-8"));
    }
    if head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") {
        return Err(ReadError::new(name, "the file is UTF-16, not UTF-8")
            .hint("convert it, e.g. with iconv -f utf-16 -t utf-8"));
    }
    if let Some(byte) = head.iter().position(|&byte| byte == 0) {
        let message = format!("byte {} is zero: this is not a text table", byte + 1);
        return Err(ReadError::new(name, message).hint("if it is another format, name it with --format"));
    }
    if head.contains(&b'\r') && !head.contains(&b'\n') {
        let message = "the lines end with a carriage return alone, which is not read";
        return Err(ReadError::new(name, message).hint("convert it, e.g. with tr '\\r' '\\n'"));
    }
    Ok(())
}

fn complete_lines(head: &[u8], whole: bool) -> &[u8] {
    match head.iter().rposition(|&byte| byte == b'\n') {
        Some(end) if !whole => &head[..=end],
        _ => head,
    }
}

/// The first records as they are split by `delimiter`, up to the first that cannot be split.
fn sample(name: &str, lines: &[u8], delimiter: u8) -> (Sample, Option<ReadError>) {
    let mut records = RecordReader::new(name, lines, delimiter);
    let mut sample = Sample::new();
    while sample.len() < SAMPLE_RECORDS {
        match records.advance() {
            Ok(true) => sample.push(records.cells().map(<[u8]>::to_vec).collect()),
            Ok(false) => break,
            Err(error) => return (sample, Some(error)),
        }
    }
    (sample, None)
}

fn first_sample(name: &str, lines: &[u8], delimiter: u8, whole: bool) -> Result<Sample, ReadError> {
    if !whole && !lines.contains(&b'\n') {
        let message = format!("the first lines are longer than {} MiB", SNIFF_MOST >> 20);
        return Err(ReadError::new(name, message).hint("is this a text table?"));
    }
    let (sample, error) = sample(name, lines, delimiter);
    match error {
        _ if !sample.is_empty() => Ok(sample),
        Some(error) => Err(error),
        None if whole => Err(ReadError::new(name, "the file is empty")),
        None => Err(ReadError::new(name, "the file begins with blank lines only")),
    }
}

/// The separator that splits most of the first records into the same number of cells, two or more.
///
/// Of equally good ones the comma is the last choice, as it may be a decimal mark.
fn find_delimiter(lines: &[u8]) -> u8 {
    let mut best = (0, b',');
    for delimiter in [b'\t', b';', b'|', b','] {
        let agreeing = agreeing_records(lines, delimiter);
        if agreeing > best.0 {
            best = (agreeing, delimiter);
        }
    }
    best.1
}

fn agreeing_records(lines: &[u8], delimiter: u8) -> usize {
    let mut records = RecordReader::new("", lines, delimiter);
    let mut widths = Vec::new();
    // What cannot be split is reported later, when the table is read.
    while widths.len() < SAMPLE_RECORDS && matches!(records.advance(), Ok(true)) {
        widths.push(records.width());
    }
    widths.retain(|&width| width > 1);
    let same = |width: &usize| widths.iter().filter(|other| *other == width).count();
    widths.iter().map(same).max().unwrap_or(0)
}

fn is_header(sample: &Sample, options: &ReadOptions) -> bool {
    match options.header {
        Header::Yes => return true,
        Header::No => return false,
        Header::Auto => {}
    }
    let (first, rest) = (&sample[0], &sample[1..]);
    let is_text = |cell: &[u8]| parse_cell(cell) == Cell::Text;
    if first.iter().any(|cell| options.mentions(cell)) {
        return true;
    }
    if rest.is_empty() {
        return first.iter().any(|cell| is_text(cell)) && !first.iter().any(|c| is_numeric(c));
    }
    let next_value = |column: usize| {
        let mut below = rest.iter().filter_map(|record| record.get(column));
        below.find(|cell| !is_missing(cell))
    };
    let mut columns = first.iter().enumerate();
    columns.any(|(j, cell)| is_text(cell) && next_value(j).is_some_and(|below| is_numeric(below)))
}
