//! The fields of an Arrow file, and where the arrays of each are among those of a batch.

use crate::arrow::flatbuffer::{Damaged, Found, Table};

/// What the values of a field are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Type {
    Bool,
    /// Bytes of an integer, and whether it has a sign.
    Int(usize, bool),
    /// Bytes of a floating-point number.
    Float(usize),
    /// Bytes of an integer with a sign, to be divided by this power of ten.
    Decimal(usize, i32),
    /// Text, with offsets of so many bytes.
    Text(usize),
    /// Text in views of 16 bytes.
    TextViews,
    /// Lists, with offsets of so many bytes.
    List(usize),
    /// Lists of so many values.
    FixedList(usize),
    /// None that is read: what it has.
    Other(&'static str),
}

/// A field with its children.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: Type,
    /// How many buffers the field has, without those of its children and those behind views.
    buffers: usize,
    has_views: bool,
    /// The dictionary of the values, whose places the field has as integers.
    pub(crate) dictionary: Option<Dictionary>,
    pub(crate) children: Vec<Field>,
    /// The first of its nodes, buffers, and counts of buffers behind views in each batch.
    pub(crate) node: usize,
    pub(crate) buffer: usize,
    pub(crate) view: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Dictionary {
    pub(crate) id: i64,
    /// The integers of the places.
    pub(crate) index: Type,
}

/// Fields in each other, at most.
const DEEPEST: usize = 32;
/// All fields, at most: several may be one table of the file.
const MOST: usize = 1 << 20;

/// The fields of a schema.
pub(crate) fn fields(schema: &Table<'_>) -> Found<Vec<Field>> {
    if schema.short(0)? != 0 {
        return Err(Damaged("its numbers are big-endian, which is not read"));
    }
    let mut left = MOST;
    let tables = schema.tables(1)?;
    let mut fields: Vec<Field> =
        tables.iter().map(|field| Field::read(field, 0, &mut left)).collect::<Found<_>>()?;
    place(&mut fields);
    Ok(fields)
}

/// Counts nodes, buffers and views in the order in which batches have them.
pub(crate) fn place(fields: &mut [Field]) {
    fields.iter_mut().fold((0, 0, 0), |next, field| field.place(next));
}

impl Field {
    fn read(field: &Table<'_>, depth: usize, left: &mut usize) -> Found<Self> {
        if depth > DEEPEST || *left == 0 {
            return Err(Damaged("its fields are too many, or nested too deep"));
        }
        *left -= 1;
        let (kind, buffers) = kind(field)?;
        let child = |child: &Table<'_>| Self::read(child, depth + 1, left);
        let children = field.tables(5)?.iter().map(child).collect::<Found<Vec<_>>>()?;
        let dictionary = match field.table(4)? {
            None => None,
            Some(dictionary) => {
                let index = dictionary.table(1)?.map_or(Ok(Type::Int(4, true)), |index| integer(&index))?;
                Some(Dictionary { id: dictionary.long(0)?, index })
            }
        };
        let has_views = matches!(field.byte(2)?, 23 | 24);
        let name = field.text(0)?;
        Ok(Self { name, kind, buffers, has_views, dictionary, children, node: 0, buffer: 0, view: 0 })
    }

    /// The field of the values of its dictionary.
    pub(crate) fn of_values(&self) -> Self {
        let mut values = Self { dictionary: None, ..self.clone() };
        place(std::slice::from_mut(&mut values));
        values
    }

    fn place(&mut self, next: (usize, usize, usize)) -> (usize, usize, usize) {
        (self.node, self.buffer, self.view) = next;
        let (node, buffer, view) = next;
        if self.dictionary.is_some() {
            // The integers alone: what the values are made of is in the dictionary.
            return (node + 1, buffer + 2, view);
        }
        let next = (node + 1, buffer + self.buffers, view + usize::from(self.has_views));
        self.children.iter_mut().fold(next, |next, child| child.place(next))
    }

    /// How many buffers behind views come before those of this field: places count those that every batch has.
    pub(crate) fn views_before(&self, counts: &[i64]) -> Found<usize> {
        let before = counts.get(..self.view).ok_or(Damaged("a count of buffers is not there"))?;
        let sum = before.iter().fold(0u64, |sum, &count| sum.saturating_add(count.unsigned_abs()));
        // More than a body can have lead to buffers that are not there.
        Ok(u32::try_from(sum).unwrap_or(u32::MAX) as usize)
    }

    /// Why the field cannot be used as a label or, if it is none, as a feature.
    pub(crate) fn unfit(&self, is_label: bool) -> Option<&'static str> {
        match self.kind {
            Type::Text(_) | Type::TextViews if !is_label => Some("has text"),
            Type::List(_) | Type::FixedList(_) => Some("has lists"),
            Type::Other(what) => Some(what),
            _ => None,
        }
    }
}

fn integer(table: &Table<'_>) -> Found<Type> {
    match table.int(0, 0)? {
        bits @ (8 | 16 | 32 | 64) => Ok(Type::Int(bits as usize / 8, table.byte(1)? != 0)),
        _ => Err(Damaged("it has integers of an unknown width")),
    }
}

/// The type of a field, and how many buffers its arrays have.
fn kind(field: &Table<'_>) -> Found<(Type, usize)> {
    let Some(of) = field.table(3)? else { return Err(Damaged("a field has no type")) };
    let size = |value: i32| usize::try_from(value).map_err(|_| Damaged("a size is negative"));
    Ok(match field.byte(2)? {
        1 => (Type::Other("has no values"), 0),
        2 => (integer(&of)?, 2),
        3 => (Type::Float([2, 4, 8][of.short(0)?.clamp(0, 2) as usize]), 2),
        4 | 19 => (Type::Other("has bytes"), 3),
        5 => (Type::Text(4), 3),
        6 => (Type::Bool, 2),
        7 => match of.int(2, 128)? {
            bits @ (32 | 64 | 128) => (Type::Decimal(bits as usize / 8, of.int(1, 0)?), 2),
            _ => (Type::Other("has decimals of 256 bits"), 2),
        },
        8..=11 | 18 => (Type::Other("has dates or times"), 2),
        12 => (Type::List(4), 2),
        13 => (Type::Other("has nested values"), 1),
        // Types of a dense union stand beside their offsets.
        14 => (Type::Other("has nested values"), if of.short(0)? == 0 { 1 } else { 2 }),
        16 => (Type::FixedList(size(of.int(0, 0)?)?), 1),
        17 => (Type::Other("has nested values"), 2),
        20 => (Type::Text(8), 3),
        21 => (Type::List(8), 2),
        22 => (Type::Other("has runs of values"), 0),
        15 | 23 => (Type::Other("has bytes"), 2),
        24 => (Type::TextViews, 2),
        25 | 26 => (Type::Other("has views of lists"), 3),
        _ => return Err(Damaged("a field has a type that is not known")),
    })
}
