//! Splitting text into records and cells, with exact line numbers.
//!
//! Cells may be quoted with `"`; a quoted cell may hold delimiters, line ends and, doubled, quotes.
//! Spaces around a cell, and around its quotes, do not belong to it. Blank lines are no records.

use std::io::{BufRead, Read};
use std::ops::Range;

use crate::cutter::LONGEST;
use crate::error::{ReadError, at, excerpt};

/// Reads one record after the other into the same memory.
pub(crate) struct RecordReader<R> {
    pub(crate) source: String,
    reader: R,
    splitter: Splitter,
    bytes: Vec<u8>,
    line: u64,
    next_line: u64,
}

impl<R: BufRead> RecordReader<R> {
    pub(crate) fn new(source: &str, reader: R, delimiter: u8) -> Self {
        Self::from_line(source, reader, delimiter, 1)
    }

    /// A reader whose next line is not the first of the file.
    pub(crate) fn from_line(source: &str, reader: R, delimiter: u8, next_line: u64) -> Self {
        Self {
            source: source.to_owned(),
            reader,
            splitter: Splitter::new(delimiter),
            bytes: Vec::new(),
            line: 0,
            next_line,
        }
    }

    /// Moves to the next record; `false` at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, ReadError> {
        self.bytes.clear();
        loop {
            self.line = self.next_line;
            if !self.append_line()? {
                return Ok(false);
            }
            if self.bytes.iter().any(|&byte| byte != b' ') {
                break;
            }
            self.bytes.clear();
        }
        self.splitter.restart();
        while !self.splitter.split(&mut self.bytes) {
            self.bytes.push(b'\n');
            if !self.append_line()? {
                return Err(self.unclosed());
            }
        }
        Ok(true)
    }

    pub(crate) fn width(&self) -> usize {
        self.splitter.cells.len()
    }

    pub(crate) fn cell(&self, index: usize) -> &[u8] {
        &self.bytes[self.splitter.cells[index].clone()]
    }

    pub(crate) fn cells(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.width()).map(|index| self.cell(index))
    }

    /// The cell as text; every line was checked to be UTF-8 when it was read.
    pub(crate) fn text(&self, index: usize) -> String {
        String::from_utf8_lossy(self.cell(index)).into_owned()
    }

    /// The number of the line on which the record begins.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// What has not been read, and the number of its first line.
    pub(crate) fn into_rest(self) -> (R, u64) {
        (self.reader, self.next_line)
    }

    /// The whole record, shortened, for a message.
    pub(crate) fn excerpt(&self) -> String {
        let delimiter = [self.splitter.delimiter];
        let cells: Vec<&[u8]> = self.cells().collect();
        excerpt(&cells.join(&delimiter[..]))
    }

    /// Appends the next line without its end; `false` if there is none.
    fn append_line(&mut self) -> Result<bool, ReadError> {
        let start = self.bytes.len();
        let room = (LONGEST - start.min(LONGEST)) as u64;
        let read = self.reader.by_ref().take(room).read_until(b'\n', &mut self.bytes);
        let read = read.map_err(|error| ReadError::read(&self.source, error))?;
        if self.bytes.len() >= LONGEST {
            return Err(self.too_long());
        }
        if self.bytes.last() == Some(&b'\n') && read > 0 {
            self.bytes.pop();
            if self.bytes.len() > start && self.bytes.last() == Some(&b'\r') {
                self.bytes.pop();
            }
        }
        let checked = self.check_utf8(start);
        self.next_line += 1;
        checked.map(|()| read > 0)
    }

    fn check_utf8(&self, start: usize) -> Result<(), ReadError> {
        let line = &self.bytes[start..];
        let Err(error) = std::str::from_utf8(line) else {
            return Ok(());
        };
        let byte = error.valid_up_to();
        let message = format!("byte {} of the line (0x{:02X}) is not UTF-8", byte + 1, line[byte]);
        Err(ReadError::new(at(&self.source, "line", self.next_line), message)
            .hint("convert the file, e.g. with iconv -f latin1 -t utf-8"))
    }

    fn too_long(&self) -> ReadError {
        let message = format!("the record is longer than {} MiB", LONGEST >> 20);
        ReadError::new(at(&self.source, "line", self.line), message)
            .hint("is a quotation mark left open, or is this not a text table?")
    }

    fn unclosed(&self) -> ReadError {
        let place = at(&self.source, "line", self.line);
        let start = excerpt(&self.bytes[self.splitter.start..]);
        ReadError::new(place, format!("the quoted cell {start} never ends"))
            .hint("close the quotation mark, or remove it")
    }
}

/// Finds the cells of a record. Doubled quotes are undone in place, so that every cell is a range.
struct Splitter {
    delimiter: u8,
    cells: Vec<Range<usize>>,
    at: usize,
    start: usize,
    end: usize,
    open: bool,
}

impl Splitter {
    fn new(delimiter: u8) -> Self {
        Self { delimiter, cells: Vec::new(), at: 0, start: 0, end: 0, open: false }
    }

    fn restart(&mut self) {
        *self = Self { cells: std::mem::take(&mut self.cells), ..Self::new(self.delimiter) };
        self.cells.clear();
    }

    /// Splits up to the end of `bytes`; `false` if a quoted cell is still open there, and the call
    /// is to be repeated when more bytes have been appended.
    fn split(&mut self, bytes: &mut [u8]) -> bool {
        loop {
            if !self.open {
                self.begin_cell(bytes);
            }
            if self.open && !self.read_quoted(bytes) {
                return false;
            }
            self.end_cell(bytes);
            if self.at >= bytes.len() {
                return true;
            }
            self.at += 1;
        }
    }

    fn begin_cell(&mut self, bytes: &[u8]) {
        while self.at < bytes.len() && self.is_space(bytes[self.at]) {
            self.at += 1;
        }
        self.open = bytes.get(self.at) == Some(&b'"');
        self.at += usize::from(self.open);
        self.start = self.at;
        self.end = self.at;
    }

    /// Reads up to the closing quote; `false` if there is none yet.
    fn read_quoted(&mut self, bytes: &mut [u8]) -> bool {
        while self.at < bytes.len() {
            let byte = bytes[self.at];
            self.at += 1;
            if byte == b'"' {
                if bytes.get(self.at) != Some(&b'"') {
                    self.open = false;
                    return true;
                }
                self.at += 1;
            }
            bytes[self.end] = byte;
            self.end += 1;
        }
        false
    }

    /// Takes what is left up to the delimiter: all of a bare cell, usually nothing of a quoted one.
    fn end_cell(&mut self, bytes: &mut [u8]) {
        let rest = &bytes[self.at..];
        let length = rest.iter().position(|&byte| byte == self.delimiter);
        let stop = self.at + length.unwrap_or(rest.len());
        if self.end < self.at {
            bytes.copy_within(self.at..stop, self.end);
        }
        self.end += stop - self.at;
        while self.end > self.start && self.is_space(bytes[self.end - 1]) {
            self.end -= 1;
        }
        while self.start < self.end && self.is_space(bytes[self.start]) {
            self.start += 1;
        }
        self.cells.push(self.start..self.end);
        self.at = stop;
    }

    fn is_space(&self, byte: u8) -> bool {
        byte != self.delimiter && matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
    }
}
