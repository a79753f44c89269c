//! JSON Lines: one object a line, whose keys name the columns.
//!
//! The keys of the first lines, in the order in which they first appear, are the columns. A key that a line does not
//! have is a missing cell there, as `null` is. Lists of numbers of one length become as many columns.

pub(crate) mod blocks;
mod cursor;

use std::collections::HashMap;

use crate::columns::{Columns, Plan, plan};
use crate::error::{ReadError, at};
use crate::fields::{FieldShape, LONGEST_LIST, in_terms_of_columns};
use crate::jsonl::cursor::{Cursor, Token, Wrong};
use crate::options::ReadOptions;

/// Lines whose keys name the columns.
const SAMPLE: usize = 1000;

/// The keys of a file, and the part each plays.
pub(crate) struct Layout {
    /// The place of each key.
    places: HashMap<Vec<u8>, usize>,
    keys: Vec<Vec<u8>>,
    roles: Vec<Role>,
    pub(crate) plan: Plan,
    /// The lines that were looked at.
    sampled: usize,
    /// Whether a key that is none of these is refused.
    refuses_others: bool,
}

/// What to do with the value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Role {
    Feature(usize),
    Label,
    /// Lists: the feature at each place.
    List(Vec<Option<usize>>),
    Nothing,
}

/// The fields seen in the first lines.
#[derive(Default)]
struct Sample {
    fields: Vec<FieldShape>,
    /// Whether a value was seen that is not null.
    known: Vec<bool>,
    places: HashMap<Vec<u8>, usize>,
    lines: usize,
    /// What is wrong with the first line that cannot be read.
    wrong: Option<ReadError>,
}

impl Layout {
    /// Finds the columns in the first lines of a block.
    pub(crate) fn of(name: &str, first: &[u8], options: &ReadOptions) -> Result<Self, ReadError> {
        let sample = Sample::of(name, first);
        if sample.fields.is_empty() {
            return Err(sample.wrong.unwrap_or_else(|| ReadError::new(name, "the file is empty")));
        }
        let shapes: Vec<&FieldShape> = sample.fields.iter().collect();
        let of_columns = in_terms_of_columns(name, &shapes, options)?;
        let columns: Vec<String> = sample.fields.iter().flat_map(FieldShape::columns).collect();
        let plan = plan(name, &Columns::named(columns), &of_columns)?;
        let roles = roles(&sample.fields, &plan);
        let mut keys = vec![Vec::new(); sample.fields.len()];
        sample.places.iter().for_each(|(key, &place)| keys[place].clone_from(key));
        let refuses_others = options.features.is_none() || options.by_position;
        Ok(Self { places: sample.places, keys, roles, plan, sampled: sample.lines, refuses_others })
    }

    /// The place of a key among those of the file; `expected` is where it is if the line is like the others.
    fn place(&self, key: &[u8], expected: usize) -> Option<usize> {
        let at_hand = self.keys.get(expected).is_some_and(|known| known == key);
        if at_hand { Some(expected) } else { self.places.get(key).copied() }
    }
}

fn roles(fields: &[FieldShape], plan: &Plan) -> Vec<Role> {
    let slots: HashMap<usize, usize> = plan.features.iter().enumerate().map(|(slot, &j)| (j, slot)).collect();
    let mut column = 0;
    let mut role = |field: &FieldShape| {
        let first = column;
        column += field.width.unwrap_or(1);
        match field.width {
            Some(width) => {
                let list: Vec<Option<usize>> =
                    (first..first + width).map(|j| slots.get(&j).copied()).collect();
                if list.iter().all(Option::is_none) { Role::Nothing } else { Role::List(list) }
            }
            None if plan.label == Some(first) => Role::Label,
            None => slots.get(&first).map_or(Role::Nothing, |&slot| Role::Feature(slot)),
        }
    };
    fields.iter().map(&mut role).collect()
}

impl Sample {
    fn of(name: &str, block: &[u8]) -> Self {
        let mut sample = Self::default();
        for (number, line) in (1..).zip(block.split(|&byte| byte == b'\n')) {
            if sample.lines == SAMPLE {
                break;
            }
            if is_blank(line) {
                continue;
            }
            sample.lines += 1;
            if let Err(wrong) = sample.add(line) {
                // The parser says it again, unless that line is one of those that may be left out.
                sample.wrong.get_or_insert_with(|| refusal(name, number, wrong));
            }
        }
        sample
    }

    fn add(&mut self, line: &[u8]) -> Result<(), Wrong> {
        check_utf8(line)?;
        Cursor::new(line).only_object(|cursor, key| {
            let place = self.place(&key);
            let width = if cursor.peek() == Some(b'[') {
                list_width(cursor)?
            } else {
                let is_null = cursor.peek() == Some(b'n');
                cursor.skip()?;
                if is_null {
                    return Ok(());
                }
                None
            };
            if !self.known[place] && width != Some(0) {
                self.known[place] = true;
                self.fields[place].width = width;
            }
            Ok(())
        })
    }

    fn place(&mut self, key: &[u8]) -> usize {
        if let Some(&place) = self.places.get(key) {
            return place;
        }
        let place = self.fields.len();
        self.places.insert(key.to_vec(), place);
        let name = String::from_utf8_lossy(key).into_owned();
        self.fields.push(FieldShape { name, width: None });
        self.known.push(false);
        place
    }
}

/// The length of a list of numbers; `None` if other values are in it.
fn list_width(cursor: &mut Cursor<'_>) -> Result<Option<usize>, Wrong> {
    let mut numeric = true;
    let width = cursor.list(|cursor, _| {
        if matches!(cursor.peek(), Some(b'[' | b'{')) {
            numeric = false;
            return cursor.skip();
        }
        numeric &= !matches!(cursor.token()?, Token::Text(_));
        Ok(())
    })?;
    if numeric && width > LONGEST_LIST as usize {
        let message = format!("a list of {width} values: those of more than {LONGEST_LIST} are no rows");
        return Err(Wrong::line(message));
    }
    Ok(numeric.then_some(width))
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

fn check_utf8(line: &[u8]) -> Result<(), Wrong> {
    let Err(error) = std::str::from_utf8(line) else { return Ok(()) };
    let place = error.valid_up_to();
    let message = format!("byte {} of the line ({:#04X}) is not UTF-8", place + 1, line[place]);
    Err(Wrong::line(message).hint("convert the file, e.g. with iconv -f latin1 -t utf-8"))
}

/// What is wrong with a line, and where it is.
fn refusal(name: &str, line: u64, wrong: Wrong) -> ReadError {
    let error = ReadError::new(at(name, "line", line), wrong.message);
    match wrong.hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}
