//! Text in blocks that end where records end, and the parsing of one.
//!
//! A block without quotation marks is parsed number by number, without finding the cells first. A line in which
//! anything else comes (spaces, missing cells, decimal commas, text) is read again by the careful reader of records,
//! which has the last word and all the messages. Blocks with quotation marks are its work altogether.

use std::mem;
use std::sync::Arc;

use crate::block::{Block, Cells};
use crate::cell::{is_infinity, is_missing};
use crate::columns::Plan;
use crate::csv::dialect::{Shape, TextTable};
use crate::csv::parse_float::number;
use crate::csv::record::RecordReader;
use crate::csv::{header_only, read_row};
use crate::cutter::Cutter;
use crate::decimal_mark::DecimalMarks;
use crate::error::ReadError;
use crate::missing::{RowLabel, RowPolicy};
use crate::options::ReadOptions;
use crate::source::Source;

/// A text file that is cut into blocks.
pub(crate) struct TextFile {
    context: Arc<Context>,
    pub(crate) notes: Vec<String>,
    cutter: Cutter,
    next_line: u64,
    blocks: u64,
}

/// What the blocks of one file share.
struct Context {
    name: String,
    plan: Plan,
    policy: Arc<RowPolicy>,
    shape: Shape,
    options: ReadOptions,
    /// What to do with the cells of each column.
    roles: Vec<Role>,
}

#[derive(Clone, Copy)]
enum Role {
    Feature(usize),
    Label,
    Nothing,
}

/// Some lines of a file.
pub(crate) struct TextBlock {
    context: Arc<Context>,
    bytes: Vec<u8>,
    first_line: u64,
    /// Whether there is a quotation mark.
    quoted: bool,
    /// Whether no row came before.
    first: bool,
}

impl TextFile {
    pub(crate) fn open(
        source: Source,
        delimiter: Option<u8>,
        options: &ReadOptions,
        keeps_gaps: bool,
    ) -> Result<Self, ReadError> {
        let mut text = TextTable::open(source, delimiter, options)?;
        let name = text.records.source.clone();
        let plan = text.plan(options)?;
        let mut roles = vec![Role::Nothing; text.width];
        plan.features.iter().enumerate().for_each(|(slot, &j)| roles[j] = Role::Feature(slot));
        if let Some(j) = plan.label {
            roles[j] = Role::Label;
        }
        let (shape, notes) = (text.shape(), mem::take(&mut text.notes));
        let policy = Arc::new(RowPolicy::new(&name, "line", &plan, options, keeps_gaps));
        let context = Arc::new(Context { name, plan, policy, shape, options: options.clone(), roles });
        let (reader, next_line) = text.records.into_rest();
        let cutter = Cutter::new(&context.name, reader);
        Ok(Self { context, notes, cutter, next_line, blocks: 0 })
    }

    /// The file, as the user named it.
    pub(crate) fn name(&self) -> &str {
        &self.context.name
    }

    /// The names of the features.
    pub(crate) fn names(&self) -> &[String] {
        &self.context.plan.names
    }

    /// What becomes of rows that are not complete.
    pub(crate) fn policy(&self) -> Arc<RowPolicy> {
        Arc::clone(&self.context.policy)
    }

    /// The next block; `None` at the end.
    pub(crate) fn next_block(&mut self) -> Result<Option<TextBlock>, ReadError> {
        let delimiter = self.context.shape.delimiter;
        let Some(bytes) = self.cutter.next(|bytes| end_of_records(bytes, delimiter))? else {
            return if self.blocks == 0 { Err(header_only(&self.context.name)) } else { Ok(None) };
        };
        let (first_line, (lines, quoted)) = (self.next_line, survey(&bytes));
        self.next_line += lines;
        self.blocks += 1;
        let (context, first) = (Arc::clone(&self.context), self.blocks == 1);
        Ok(Some(TextBlock { context, bytes, first_line, quoted, first }))
    }
}

/// How many lines end, and whether there is a quotation mark. Sums of bytes are what compilers make wide.
pub(crate) fn survey(bytes: &[u8]) -> (u64, bool) {
    let (mut lines, mut quotes) = (0, 0);
    for chunk in bytes.chunks(128) {
        let count = |wanted: u8| chunk.iter().map(|&byte| u8::from(byte == wanted)).sum::<u8>();
        lines += u64::from(count(b'\n'));
        quotes |= count(b'"');
    }
    (lines, quotes > 0)
}

/// A place in a cell.
enum At {
    Begin,
    Bare,
    Quoted,
    Closed,
}

/// Where the last whole record ends; 0 if none does.
fn end_of_records(bytes: &[u8], delimiter: u8) -> usize {
    if !survey(bytes).1 {
        return bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    }
    // A quotation mark opens a cell only where one begins, and a line may end inside.
    let (mut state, mut end) = (At::Begin, 0);
    for (i, &byte) in bytes.iter().enumerate() {
        state = match (state, byte) {
            (At::Quoted, b'"') => At::Closed,
            (At::Quoted, _) | (At::Closed | At::Begin, b'"') => At::Quoted,
            (_, b'\n') => {
                end = i + 1;
                At::Begin
            }
            (_, byte) if byte == delimiter => At::Begin,
            (At::Begin, b' ' | b'\t' | b'\r') => At::Begin,
            _ => At::Bare,
        };
    }
    end
}

impl TextBlock {
    /// Parses all records.
    pub(crate) fn parse(self, most_bad: Option<u64>) -> Result<Block, ReadError> {
        let context = &*self.context;
        let d = context.plan.features.len();
        let mut parser = Parser {
            context,
            most_bad,
            first: self.first,
            rows: Vec::with_capacity(self.bytes.len() / 8),
            marks: DecimalMarks::new(d, context.shape.delimiter),
            block: Block::new(d, context.plan.label.is_some()),
        };
        // These may be part of a number.
        let odd = b"0123456789+-.eE".contains(&context.shape.delimiter);
        if odd || self.quoted || std::str::from_utf8(&self.bytes).is_err() {
            parser.records(&self.bytes, self.first_line)?;
        } else {
            parser.lines(&self.bytes, self.first_line)?;
        }
        let Parser { rows, marks, mut block, .. } = parser;
        block.cells = Cells::Rows(rows);
        block.marks = Some(marks);
        Ok(block)
    }
}

/// A block on its way to rows.
struct Parser<'a> {
    context: &'a Context,
    most_bad: Option<u64>,
    first: bool,
    rows: Vec<f64>,
    marks: DecimalMarks,
    block: Block,
}

impl Parser<'_> {
    /// Line by line; those that are not plain numbers, the careful way.
    fn lines(&mut self, bytes: &[u8], first_line: u64) -> Result<(), ReadError> {
        let (mut at, mut line) = (0, first_line);
        while at < bytes.len() {
            at = if let Some(next) = self.plain_line(bytes, at, line) {
                next
            } else {
                let rest = &bytes[at..];
                let end = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |end| end + 1);
                self.records(&rest[..end], line)?;
                at + end
            };
            line += 1;
        }
        Ok(())
    }

    /// A line of numbers and perhaps a label, with nothing between them but delimiters: where the next one begins.
    fn plain_line(&mut self, bytes: &[u8], start: usize, line: u64) -> Option<usize> {
        let delimiter = self.context.shape.delimiter;
        let (roles, base) = (&self.context.roles, self.rows.len());
        self.rows.resize(base + self.context.plan.features.len(), 0.0);
        let (mut at, mut code) = (start, None);
        for (j, role) in roles.iter().enumerate() {
            let end = match role {
                Role::Feature(slot) => {
                    let value = number(&bytes[at..]);
                    let Some((value, length)) = value else {
                        self.rows.truncate(base);
                        return None;
                    };
                    self.rows[base + slot] = value;
                    if self.marks.lacks_point(*slot) {
                        self.marks.plain(*slot, line, &bytes[at..at + length]);
                    }
                    at + length
                }
                Role::Label | Role::Nothing => {
                    let rest = &bytes[at..];
                    let length = rest.iter().position(|&byte| byte == delimiter || byte == b'\n');
                    let end = at + length.unwrap_or(rest.len());
                    if let (Role::Label, Some(labels)) = (role, &mut self.block.labels) {
                        let cell = trim(&bytes[at..end]);
                        code = (!is_missing(cell) && !is_infinity(cell)).then(|| labels.of_text(cell));
                    }
                    end
                }
            };
            at = match (bytes.get(end), j + 1 == roles.len()) {
                (Some(&byte), false) if byte == delimiter => end + 1,
                (Some(b'\n'), true) => end + 1,
                (Some(b'\r'), true) if bytes.get(end + 1) == Some(&b'\n') => end + 2,
                (None, true) => end,
                _ => {
                    self.rows.truncate(base);
                    return None;
                }
            };
        }
        if let Some(labels) = &mut self.block.labels {
            let Some(code) = code else {
                self.rows.truncate(base);
                return None;
            };
            labels.codes.push(code);
        }
        self.keep();
        Some(at)
    }

    /// The record is complete: it becomes a row.
    fn keep(&mut self) {
        self.block.positions.push(self.block.tally.records as u32);
        self.block.tally.records += 1;
    }

    /// Record by record, the careful way.
    fn records(&mut self, bytes: &[u8], first_line: u64) -> Result<(), ReadError> {
        let shape = self.context.shape;
        let mut records = RecordReader::from_line(&self.context.name, bytes, shape.delimiter, first_line);
        loop {
            let base = self.rows.len();
            let outcome = match records.advance() {
                Ok(false) => return Ok(()),
                Ok(true) => shape.check(&records).and_then(|()| self.record(&records)),
                Err(error) => Err(error),
            };
            if let Err(error) = outcome {
                self.rows.truncate(base);
                self.block.tally.records += 1;
                self.block.tally.skip(error, self.most_bad)?;
            }
        }
    }

    fn record(&mut self, records: &RecordReader<&[u8]>) -> Result<(), ReadError> {
        let (context, base) = (self.context, self.rows.len());
        let first = self.first && self.block.positions.is_empty();
        let rows = &mut self.rows;
        read_row(records, &context.plan, &mut self.marks, first, &context.options, |cell| rows.push(cell))?;
        let text = context.plan.label.map(|j| records.text(j));
        let label = match &text {
            None => RowLabel::Unread,
            Some(text) if is_missing(text.as_bytes()) => RowLabel::Missing,
            Some(text) => RowLabel::Present(text),
        };
        let row = &mut self.rows[base..];
        if !context.policy.check(row, records.line(), label, &mut self.block.tally)? {
            self.rows.truncate(base);
            self.block.tally.records += 1;
            return Ok(());
        }
        if let (Some(labels), RowLabel::Present(text)) = (&mut self.block.labels, label) {
            let code = labels.of_text(text.as_bytes());
            labels.codes.push(code);
        }
        self.keep();
        Ok(())
    }
}

/// Without the spaces around it, as [`RecordReader`] leaves a cell.
fn trim(cell: &[u8]) -> &[u8] {
    let space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let start = cell.iter().position(|byte| !space(byte)).unwrap_or(cell.len());
    let end = cell.iter().rposition(|byte| !space(byte)).map_or(start, |end| end + 1);
    &cell[start..end]
}
