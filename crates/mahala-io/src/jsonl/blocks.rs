//! JSON Lines in blocks that end where lines end, and the parsing of one.

use std::borrow::Cow;
use std::sync::Arc;

use crate::block::{Block, Cells};
use crate::cell::{Cell, is_missing, parse_cell};
use crate::csv::blocks::survey;
use crate::csv::dialect::check_encoding;
use crate::csv::remedy;
use crate::cutter::{Cutter, LONGEST};
use crate::error::{ReadError, at_column, excerpt, shell};
use crate::jsonl::cursor::{Cursor, Token, Wrong};
use crate::jsonl::{Layout, Role, check_utf8, is_blank, refusal};
use crate::missing::{RowLabel, RowPolicy};
use crate::options::ReadOptions;
use crate::scalar::number_label;
use crate::source::Source;

/// A file of JSON Lines that is cut into blocks.
pub(crate) struct LineFile {
    context: Arc<Context>,
    cutter: Cutter,
    /// The first block, whose lines name the columns.
    first: Option<Vec<u8>>,
    next_line: u64,
}

/// What the blocks of one file share.
struct Context {
    name: String,
    layout: Layout,
    policy: Arc<RowPolicy>,
    options: ReadOptions,
}

/// Some lines of a file.
pub(crate) struct LineBlock {
    context: Arc<Context>,
    bytes: Vec<u8>,
    first_line: u64,
}

impl LineFile {
    pub(crate) fn open(source: Source, options: &ReadOptions, keeps_gaps: bool) -> Result<Self, ReadError> {
        let Source { name, reader, .. } = source;
        let mut cutter = Cutter::new(&name, reader);
        let mut first =
            cutter.next(end_of_lines)?.ok_or_else(|| ReadError::new(&name, "the file is empty"))?;
        check_encoding(&name, &first[..first.len().min(1 << 16)])?;
        if first.starts_with(b"\xEF\xBB\xBF") {
            first.drain(..3);
        }
        let layout = Layout::of(&name, &first, options)?;
        let policy = Arc::new(RowPolicy::new(&name, "line", &layout.plan, options, keeps_gaps));
        let context = Arc::new(Context { name, layout, policy, options: options.clone() });
        Ok(Self { context, cutter, first: Some(first), next_line: 1 })
    }

    /// The file, as the user named it.
    pub(crate) fn name(&self) -> &str {
        &self.context.name
    }

    /// The names of the features.
    pub(crate) fn names(&self) -> &[String] {
        &self.context.layout.plan.names
    }

    /// What becomes of rows that are not complete.
    pub(crate) fn policy(&self) -> Arc<RowPolicy> {
        Arc::clone(&self.context.policy)
    }

    /// The next block; `None` at the end.
    pub(crate) fn next_block(&mut self) -> Result<Option<LineBlock>, ReadError> {
        let bytes = match self.first.take() {
            Some(first) => Some(first),
            None => self.cutter.next(end_of_lines)?,
        };
        Ok(bytes.map(|bytes| {
            let first_line = self.next_line;
            self.next_line += survey(&bytes).0;
            LineBlock { context: Arc::clone(&self.context), bytes, first_line }
        }))
    }
}

/// Where the last whole line ends: a text in JSON has no line end in it.
fn end_of_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1)
}

impl LineBlock {
    /// Parses all lines.
    pub(crate) fn parse(self, most_bad: Option<u64>) -> Result<Block, ReadError> {
        let layout = &self.context.layout;
        let d = layout.plan.features.len();
        let mut parser = Parser {
            context: &self.context,
            rows: Vec::with_capacity(self.bytes.len() / 16),
            block: Block::new(d, layout.plan.label.is_some()),
            met: vec![0; layout.keys.len()],
        };
        let sound = std::str::from_utf8(&self.bytes).is_ok();
        for (number, line) in (self.first_line..).zip(self.bytes.split(|&byte| byte == b'\n')) {
            if is_blank(line) {
                continue;
            }
            let base = parser.rows.len();
            parser.rows.resize(base + d, f64::NAN);
            let kept = match parser.line(line, number, sound) {
                Ok(kept) => kept,
                Err(error) => parser.block.tally.skip(error, most_bad).map(|()| false)?,
            };
            if !kept {
                parser.rows.truncate(base);
                parser.block.tally.records += 1;
            }
        }
        let Parser { rows, mut block, .. } = parser;
        block.cells = Cells::Rows(rows);
        Ok(block)
    }
}

/// A block on its way to rows.
struct Parser<'a> {
    context: &'a Context,
    rows: Vec<f64>,
    block: Block,
    /// For each key, the last line that had it.
    met: Vec<u64>,
}

impl Parser<'_> {
    /// Fills the last row in from a line, and keeps it if it is complete.
    fn line(&mut self, line: &[u8], number: u64, sound: bool) -> Result<bool, ReadError> {
        let Context { layout, policy, .. } = self.context;
        let base = self.rows.len() - layout.plan.features.len();
        let row = &mut self.rows[base..];
        let mut record =
            Record { layout, row, met: &mut self.met, number, place: 0, expected: 0, label: None };
        let checked = match line.len() {
            ..LONGEST if sound => Ok(()),
            ..LONGEST => check_utf8(line),
            _ => Err(Wrong::line(format!("the line is longer than {} MiB", LONGEST >> 20))),
        };
        let read =
            checked.and_then(|()| Cursor::new(line).only_object(|cursor, key| record.member(cursor, &key)));
        let Record { row, place, label, .. } = record;
        if let Err(wrong) = read {
            return Err(self.refuse(number, place, wrong));
        }
        let seen = match &label {
            _ if layout.plan.label.is_none() => RowLabel::Unread,
            None => RowLabel::Missing,
            Some(label) => RowLabel::Present(label),
        };
        if !policy.check(row, number, seen, &mut self.block.tally)? {
            return Ok(false);
        }
        self.block.push_row(label.as_deref());
        Ok(true)
    }

    /// What is wrong with a line or with the value at a place of it, and what to do.
    fn refuse(&self, number: u64, place: usize, wrong: Wrong) -> ReadError {
        let Context { name, layout, options, .. } = self.context;
        if !wrong.is_value {
            return refusal(name, number, wrong);
        }
        let key = String::from_utf8_lossy(&layout.keys[place]);
        let hint = wrong.hint.unwrap_or_else(|| match layout.roles[place] {
            Role::Label => "labels may be text, integers, numbers or booleans".to_owned(),
            _ => remedy(&key, number == 1, options),
        });
        ReadError::new(at_column(name, "line", number, &key), wrong.message).hint(hint)
    }
}

/// What is read of one line.
struct Record<'r, 'l> {
    layout: &'r Layout,
    row: &'r mut [f64],
    met: &'r mut [u64],
    number: u64,
    /// The place of the key that was read last.
    place: usize,
    /// Where the next key is, if this line is like the others.
    expected: usize,
    label: Option<Cow<'l, str>>,
}

impl<'l> Record<'_, 'l> {
    fn member(&mut self, cursor: &mut Cursor<'l>, key: &[u8]) -> Result<(), Wrong> {
        let layout = self.layout;
        let Some(place) = layout.place(key, self.expected) else {
            return if layout.refuses_others { Err(unknown(key, layout.sampled)) } else { cursor.skip() };
        };
        (self.place, self.expected) = (place, place + 1);
        if self.met[place] == self.number {
            let message = format!("the key {} comes twice", excerpt(key));
            return Err(Wrong::line(message).hint("keep one of them"));
        }
        self.met[place] = self.number;
        match &layout.roles[place] {
            Role::Nothing => cursor.skip(),
            Role::Label => read_label(cursor).map(|label| self.label = label),
            Role::Feature(slot) => read_number(cursor).map(|number| self.row[*slot] = number),
            Role::List(slots) => read_list(cursor, slots, self.row, key),
        }
    }
}

fn unknown(key: &[u8], sampled: usize) -> Wrong {
    let lines = if sampled == 1 { "line".to_owned() } else { format!("{sampled} lines") };
    let message =
        format!("the key {} is new here: those of the first {lines} name the columns", excerpt(key));
    Wrong::line(message).hint("give the first line this key, too, with null for the value; or take it out")
}

/// A feature; NaN if it is missing.
fn read_number(cursor: &mut Cursor<'_>) -> Result<f64, Wrong> {
    match cursor.token()? {
        Token::Null => Ok(f64::NAN),
        Token::Bool(value) => Ok(f64::from(u8::from(value))),
        Token::Number(value, _) => Ok(value),
        Token::Infinite(text) => Err(infinite(text)),
        Token::Text(text) => {
            let text = text.trim_ascii();
            match parse_cell(text) {
                Cell::Missing => Ok(f64::NAN),
                Cell::Number(_) => Err(Wrong::value(format!("{} is text, not a number", excerpt(text)))
                    .hint("numbers stand without quotation marks in JSON")),
                _ => Err(Wrong::value(format!("{} is not a number", excerpt(text)))),
            }
        }
    }
}

fn infinite(text: &[u8]) -> Wrong {
    Wrong::value(format!("{} is not a finite number", excerpt(text)))
        .hint("correct it, or write null and choose --missing mean, drop or zero")
}

/// A label as text; `None` if it is missing.
fn read_label<'l>(cursor: &mut Cursor<'l>) -> Result<Option<Cow<'l, str>>, Wrong> {
    Ok(match cursor.token()? {
        Token::Null => None,
        Token::Bool(value) => Some(if value { "true" } else { "false" }.into()),
        Token::Number(_, text) => Some(number_label(&String::from_utf8_lossy(text)).into()),
        Token::Infinite(text) => return Err(infinite(text)),
        Token::Text(Cow::Borrowed(text)) => kept(text).map(String::from_utf8_lossy),
        Token::Text(Cow::Owned(text)) => {
            kept(&text).map(|text| String::from_utf8_lossy(text).into_owned().into())
        }
    })
}

/// A text without the spaces around it, unless it is a word for a missing value.
fn kept(text: &[u8]) -> Option<&[u8]> {
    let text = text.trim_ascii();
    (!is_missing(text)).then_some(text)
}

/// The numbers of a list that are wanted; they stay NaN if there is no list.
fn read_list(
    cursor: &mut Cursor<'_>,
    slots: &[Option<usize>],
    row: &mut [f64],
    key: &[u8],
) -> Result<(), Wrong> {
    if cursor.peek() != Some(b'[') {
        return match cursor.token()? {
            Token::Null => Ok(()),
            _ => Err(Wrong::value(format!("one value where the first list has {}", slots.len()))),
        };
    }
    let length = cursor.list(|cursor, place| {
        let value = read_number(cursor)?;
        if let Some(&Some(slot)) = slots.get(place) {
            row[slot] = value;
        }
        Ok(())
    })?;
    if length == slots.len() {
        return Ok(());
    }
    let message = format!("a list of {length} values, where the first list has {}", slots.len());
    let name = shell(&String::from_utf8_lossy(key));
    let hint = format!("all lists must have one length; else leave the column out with --ignore {name}");
    Err(Wrong::value(message).hint(hint))
}
