//! The values of one field in one batch.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::arrow::flatbuffer::{Damaged, Found};
use crate::arrow::message::Batch;
use crate::arrow::schema::{Field, Type};
use crate::block::LabelCodes;
use crate::scalar::{Scalar, decimal, half};

/// The values behind places, as numbers and as labels.
#[derive(Clone, Default)]
pub(crate) struct Values {
    numbers: Vec<f64>,
    labels: Vec<Option<String>>,
}

/// The dictionaries that are known, by the number that fields call them by.
pub(crate) type Dictionaries = HashMap<i64, Arc<Values>>;

/// An array whose buffers hold as many values as it says.
pub(crate) struct Array<'a> {
    kind: Type,
    pub(crate) length: usize,
    /// One bit a value, 0 for null; empty if none is null.
    present: Cow<'a, [u8]>,
    /// Values, places, views, or the offsets of texts and lists.
    data: Cow<'a, [u8]>,
    text: Vec<Cow<'a, [u8]>>,
    dictionary: Option<Arc<Values>>,
    /// The values in lists.
    pub(crate) items: Option<Box<Array<'a>>>,
}

const SHORT: Damaged = Damaged("a buffer is shorter than its array");
const OUTSIDE: Damaged = Damaged("a value is outside its buffer");

/// An integer of a few bytes, from the lowest.
fn integer(bytes: &[u8], signed: bool) -> i128 {
    let negative = signed && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut word = [if negative { 0xFF } else { 0 }; 16];
    word[..bytes.len()].copy_from_slice(bytes);
    i128::from_le_bytes(word)
}

impl<'a> Array<'a> {
    /// The array of a field.
    pub(crate) fn of(batch: &'a Batch, field: &Field, dictionaries: &Dictionaries) -> Found<Self> {
        let node = batch.nodes.get(2 * field.node).ok_or(Damaged("an array is not there"))?;
        let length = usize::try_from(*node).map_err(|_| Damaged("an array has a negative length"))?;
        let first = field.buffer + field.views_before(&batch.views)?;
        let kind = field.dictionary.map_or(field.kind, |dictionary| dictionary.index);
        let present = batch.bytes(first)?;
        if !present.is_empty() && present.len() < length.div_ceil(8) {
            return Err(SHORT);
        }
        let dictionary = field.dictionary.map(|of| dictionaries.get(&of.id).cloned());
        let dictionary =
            dictionary.map(|known| known.ok_or(Damaged("a dictionary is not there"))).transpose()?;
        let (data, text) =
            (Self::data(batch, kind, first + 1, length)?, Self::text(batch, field, kind, first)?);
        let items = match kind {
            Type::List(_) | Type::FixedList(_) => {
                let child = field.children.first().ok_or(Damaged("lists have no values"))?;
                Some(Box::new(Self::of(batch, child, dictionaries)?))
            }
            _ => None,
        };
        Ok(Self { kind, length, present, data, text, dictionary, items })
    }

    /// The buffer behind that of the nulls.
    fn data(batch: &'a Batch, kind: Type, buffer: usize, length: usize) -> Found<Cow<'a, [u8]>> {
        let needed = match kind {
            Type::Bool => Some(length.div_ceil(8)),
            Type::Int(bytes, _) | Type::Float(bytes) | Type::Decimal(bytes, _) => length.checked_mul(bytes),
            Type::Text(_) | Type::List(_) if length == 0 => Some(0),
            Type::Text(bytes) | Type::List(bytes) => length.checked_add(1).and_then(|n| n.checked_mul(bytes)),
            Type::TextViews => length.checked_mul(16),
            Type::FixedList(_) => return Ok(Cow::Borrowed(&[])),
            Type::Other(_) => return Err(Damaged("a field is not read")),
        };
        let data = batch.bytes(buffer)?;
        if needed.is_none_or(|needed| data.len() < needed) { Err(SHORT) } else { Ok(data) }
    }

    /// The buffers of characters.
    fn text(batch: &'a Batch, field: &Field, kind: Type, first: usize) -> Found<Vec<Cow<'a, [u8]>>> {
        match kind {
            Type::Text(_) => Ok(vec![batch.bytes(first + 2)?]),
            Type::TextViews => {
                let count = batch.views.get(field.view).and_then(|&count| usize::try_from(count).ok());
                let count = count.ok_or(Damaged("a count of buffers is not there"))?;
                (0..count).map(|i| batch.bytes((first + 2).saturating_add(i))).collect()
            }
            _ => Ok(Vec::new()),
        }
    }

    fn is_present(&self, i: usize) -> bool {
        self.present.get(i / 8).is_none_or(|byte| byte >> (i % 8) & 1 == 1)
    }

    /// The value at a place, which is not null.
    fn scalar(&self, i: usize) -> Found<Scalar<'_>> {
        let bytes = |width: usize| self.data.get(i * width..(i + 1) * width).ok_or(OUTSIDE);
        Ok(match self.kind {
            Type::Bool => Scalar::Bool(self.data.get(i / 8).ok_or(OUTSIDE)? >> (i % 8) & 1 == 1),
            Type::Int(width, signed) => Scalar::Int(integer(bytes(width)?, signed)),
            Type::Float(2) => Scalar::Single(half(integer(bytes(2)?, false) as u16)),
            Type::Float(4) => Scalar::Single(f32::from_bits(integer(bytes(4)?, false) as u32)),
            Type::Float(_) => Scalar::Double(f64::from_bits(integer(bytes(8)?, false) as u64)),
            Type::Decimal(width, scale) => decimal(integer(bytes(width)?, true), scale),
            Type::Text(_) => {
                let text = self.text.first().and_then(|text| text.get(self.offsets(i).ok()?));
                Scalar::Text(text.ok_or(OUTSIDE)?)
            }
            Type::TextViews => Scalar::Text(self.view(bytes(16)?)?),
            Type::List(_) | Type::FixedList(_) | Type::Other(_) => return Err(Damaged("a value is nested")),
        })
    }

    /// What lies between two offsets.
    fn offsets(&self, i: usize) -> Found<Range<usize>> {
        let (Type::Text(width) | Type::List(width)) = self.kind else { return Err(OUTSIDE) };
        let offset = |i: usize| {
            let bytes = self.data.get(i * width..(i + 1) * width)?;
            usize::try_from(integer(bytes, true)).ok()
        };
        match (offset(i), offset(i + 1)) {
            (Some(start), Some(end)) if start <= end => Ok(start..end),
            _ => Err(Damaged("offsets descend")),
        }
    }

    /// The text of a view: up to 12 bytes in it, or more in one of the buffers.
    fn view<'v>(&'v self, view: &'v [u8]) -> Found<&'v [u8]> {
        let word = |at: usize| usize::try_from(integer(&view[at..at + 4], true)).map_err(|_| OUTSIDE);
        let length = word(0)?;
        if length <= 12 {
            return Ok(&view[4..4 + length]);
        }
        let (buffer, start) = (word(8)?, word(12)?);
        self.text.get(buffer).and_then(|text| text.get(start..start + length)).ok_or(OUTSIDE)
    }

    /// The place of a value in its dictionary.
    fn index(&self, i: usize) -> Found<usize> {
        match self.scalar(i)? {
            Scalar::Int(index) => usize::try_from(index).map_err(|_| OUTSIDE),
            _ => Err(OUTSIDE),
        }
    }

    /// Appends the values at some places as numbers; NaN for null.
    pub(crate) fn numbers(&self, places: Range<usize>, to: &mut Vec<f64>) -> Found<()> {
        if places.end > self.length {
            return Err(OUTSIDE);
        }
        if let (Type::Float(8), None, true) = (self.kind, &self.dictionary, self.present.is_empty()) {
            let bytes = &self.data[8 * places.start..8 * places.end];
            to.extend(bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)));
            return Ok(());
        }
        to.reserve(places.len());
        for i in places {
            to.push(match &self.dictionary {
                _ if !self.is_present(i) => f64::NAN,
                Some(values) => *values.numbers.get(self.index(i)?).ok_or(OUTSIDE)?,
                None => self.scalar(i)?.number().unwrap_or(f64::NAN),
            });
        }
        Ok(())
    }

    /// The code of a label; `None` if it is missing.
    pub(crate) fn label(&self, i: usize, coded: &mut LabelCodes) -> Found<Option<u32>> {
        if !self.is_present(i) {
            return Ok(None);
        }
        let Some(values) = &self.dictionary else { return Ok(coded.of_scalar(self.scalar(i)?)) };
        let label = values.labels.get(self.index(i)?).ok_or(OUTSIDE)?;
        Ok(label.as_ref().map(|label| coded.of_text(label.as_bytes())))
    }

    /// The places of the values of a list; `None` for a null list.
    pub(crate) fn list(&self, i: usize) -> Found<Option<Range<usize>>> {
        if !self.is_present(i) {
            return Ok(None);
        }
        let range = match self.kind {
            Type::FixedList(width) => {
                let start = i.checked_mul(width).ok_or(OUTSIDE)?;
                start..start.checked_add(width).ok_or(OUTSIDE)?
            }
            _ => self.offsets(i)?,
        };
        let there = self.items.as_ref().is_some_and(|items| range.end <= items.length);
        if there { Ok(Some(range)) } else { Err(OUTSIDE) }
    }
}

impl Values {
    /// The values of a dictionary; `None` if they are neither numbers nor text.
    pub(crate) fn of(batch: &Batch, field: &Field) -> Found<Option<Self>> {
        if field.unfit(true).is_some() {
            return Ok(None);
        }
        let array = Array::of(batch, &field.of_values(), &Dictionaries::new())?;
        let mut values = Self::default();
        array.numbers(0..array.length, &mut values.numbers)?;
        for i in 0..array.length {
            values.labels.push(if array.is_present(i) { array.scalar(i)?.label() } else { None });
        }
        Ok(Some(values))
    }

    /// Appends the values of a later part.
    pub(crate) fn extend(&mut self, later: Self) {
        self.numbers.extend(later.numbers);
        self.labels.extend(later.labels);
    }
}
