//! Arrow files in blocks of rows, some of each batch.

use std::collections::VecDeque;
use std::sync::Arc;

use rayon::prelude::*;

use crate::arrow::array::{Array, Dictionaries, Values};
use crate::arrow::flatbuffer::{Damaged, Found};
use crate::arrow::message::{Batch, Message, Messages, damaged};
use crate::arrow::schema::{Field, Type};
use crate::block::LabelCodes;
use crate::column_block::{CodedLabels, ColumnBlock, Context, Given, most_rows, other_length};
use crate::columns::{Columns, plan};
use crate::error::ReadError;
use crate::fields::{FieldShape, LONGEST_LIST, in_terms_of_columns, leave_out_index, unfit};
use crate::missing::RowPolicy;
use crate::options::ReadOptions;
use crate::source::Source;

/// An Arrow file that is read in blocks.
pub(crate) struct ArrowFile {
    context: Arc<Context>,
    pub(crate) notes: Vec<String>,
    messages: Messages,
    fields: Vec<Field>,
    wanted: Vec<Wanted>,
    /// The field of the labels.
    label: Option<usize>,
    dictionaries: Dictionaries,
    /// Batches that are read already, as the first lists were looked for.
    waiting: VecDeque<Rows>,
    /// The batch that is taken apart, and how many of its rows are done.
    open: Option<Rows>,
    done: usize,
    next_row: u64,
}

/// A batch with the dictionaries that held when it came.
struct Rows {
    batch: Batch,
    dictionaries: Dictionaries,
}

/// A field with the features that come from it.
struct Wanted {
    field: usize,
    width: Option<usize>,
    /// Which features they are and, of lists, the places in them.
    features: Vec<(usize, usize)>,
}

impl ArrowFile {
    pub(crate) fn open(source: Source, options: &ReadOptions, keeps_gaps: bool) -> Result<Self, ReadError> {
        let mut messages = Messages::open(source, options.most_bytes)?;
        let name = messages.name.clone();
        let Some(Message::Schema(fields)) = messages.next()? else {
            return Err(messages.damaged(Damaged("it does not begin with a schema")));
        };
        let (mut dictionaries, mut waiting) = (Dictionaries::new(), VecDeque::new());
        let mut widths: Vec<Option<usize>> = fields.iter().map(fixed_width).collect();
        while fields.iter().zip(&widths).any(|(field, width)| is_list(field) && width.is_none()) {
            let Some(rows) = next_rows(&mut messages, &fields, &mut dictionaries)? else { break };
            for (field, width) in fields.iter().zip(&mut widths).filter(|(field, _)| is_list(field)) {
                let found = first_width(&rows, field).map_err(|damage| messages.damaged(damage))?;
                *width = width.or(found);
            }
            waiting.push_back(rows);
        }
        let shape =
            |(field, width): (&Field, &Option<usize>)| FieldShape { name: field.name.clone(), width: *width };
        let shapes: Vec<FieldShape> = fields.iter().zip(&widths).map(shape).collect();
        let mut of_columns = in_terms_of_columns(&name, &shapes.iter().collect::<Vec<_>>(), options)?;
        let columns: Vec<String> = shapes.iter().flat_map(FieldShape::columns).collect();
        let note = leave_out_index(&columns, &mut of_columns);
        let plan = plan(&name, &Columns::named(columns), &of_columns)?;
        let (wanted, label) = wanted(&name, &fields, &shapes, &plan.features, plan.label)?;
        let policy = Arc::new(RowPolicy::new(&name, "row", &plan, options, keeps_gaps));
        let context = Arc::new(Context { name, plan, policy });
        Ok(Self {
            context,
            notes: note.into_iter().collect(),
            messages,
            fields,
            wanted,
            label,
            dictionaries,
            waiting,
            open: None,
            done: 0,
            next_row: 1,
        })
    }

    /// The file, as the user named it.
    pub(crate) fn name(&self) -> &str {
        &self.context.name
    }

    /// The names of the features.
    pub(crate) fn names(&self) -> &[String] {
        &self.context.plan.names
    }

    /// Whether all features have single or half precision.
    pub(crate) fn is_single(&self) -> bool {
        self.wanted.iter().all(|wanted| {
            let field = &self.fields[wanted.field];
            let values = if wanted.width.is_some() { field.children.first() } else { Some(field) };
            values.is_some_and(|values| {
                matches!(values.kind, Type::Float(2 | 4)) && values.dictionary.is_none()
            })
        })
    }

    /// What becomes of rows that are not complete.
    pub(crate) fn policy(&self) -> Arc<RowPolicy> {
        Arc::clone(&self.context.policy)
    }

    /// The next block; `None` at the end.
    pub(crate) fn next_block(&mut self) -> Result<Option<ColumnBlock>, ReadError> {
        while self.open.as_ref().is_none_or(|rows| rows.batch.length <= self.done) {
            if !self.open_batch()? {
                return Ok(None);
            }
        }
        let Some(rows) = &self.open else { return Ok(None) };
        let length = most_rows(self.context.plan.features.len()).min(rows.batch.length - self.done);
        let part = Part { context: &self.context, rows, start: self.done, length, first_row: self.next_row };
        let given: Found<Vec<(Given, bool)>> = self
            .wanted
            .par_iter()
            .map(|wanted| part.given(wanted, &self.fields[wanted.field]).map(Given::checked))
            .collect();
        let given = given.map_err(|damage| damaged(&self.context.name, damage))?;
        let labels = self.label.map(|field| part.labels(&self.fields[field])).transpose();
        let labels = labels.map_err(|damage| damaged(&self.context.name, damage))?;
        let block = ColumnBlock::of(Arc::clone(&self.context), given, labels, length, self.next_row);
        self.done += length;
        self.next_row += length as u64;
        Ok(Some(block))
    }
}

impl ArrowFile {
    /// Goes to the next batch, with the compression of the arrays that are wanted undone; `false` at the end.
    fn open_batch(&mut self) -> Result<bool, ReadError> {
        let next = match self.waiting.pop_front() {
            Some(rows) => Some(rows),
            None => next_rows(&mut self.messages, &self.fields, &mut self.dictionaries)?,
        };
        let Some(mut rows) = next else { return Ok(false) };
        let wanted = self.wanted.iter().map(|wanted| wanted.field).chain(self.label);
        let mut buffers = Vec::new();
        for field in wanted {
            let first = |field: Option<&Field>| match field {
                Some(field) => Ok(field.buffer + field.views_before(&rows.batch.views)?),
                None => Ok(rows.batch.buffer_count()),
            };
            let (start, end) = (first(self.fields.get(field)), first(self.fields.get(field + 1)));
            let damaged = |damage| damaged(&self.context.name, damage);
            buffers.extend(start.map_err(damaged)?..end.map_err(damaged)?.min(rows.batch.buffer_count()));
        }
        rows.batch.unpack(&buffers).map_err(|damage| damaged(&self.context.name, damage))?;
        (self.open, self.done) = (Some(rows), 0);
        Ok(true)
    }
}

fn is_list(field: &Field) -> bool {
    let items = field.children.first().filter(|items| items.unfit(false).is_none());
    matches!(field.kind, Type::List(_) | Type::FixedList(1..))
        && field.dictionary.is_none()
        && items.is_some_and(|items| items.dictionary.is_none())
}

fn fixed_width(field: &Field) -> Option<usize> {
    match field.kind {
        Type::FixedList(width) if is_list(field) => Some(width),
        _ => None,
    }
}

/// The length of the first list that has values; `None` if there is none in these rows.
fn first_width(rows: &Rows, field: &Field) -> Found<Option<usize>> {
    let lists = Array::of(&rows.batch, field, &rows.dictionaries)?;
    for i in 0..lists.length {
        if let Some(places) = lists.list(i)?.filter(|places| !places.is_empty()) {
            return Ok(Some(places.len()));
        }
    }
    Ok(None)
}

/// The next batch of rows; the dictionaries before it are taken in.
fn next_rows(
    messages: &mut Messages,
    fields: &[Field],
    dictionaries: &mut Dictionaries,
) -> Result<Option<Rows>, ReadError> {
    while let Some(message) = messages.next()? {
        match message {
            Message::Batch(batch) => return Ok(Some(Rows { batch, dictionaries: dictionaries.clone() })),
            Message::Dictionary(id, batch, follows) => {
                let of = |field: &&Field| field.dictionary.is_some_and(|dictionary| dictionary.id == id);
                let Some(field) = fields.iter().find(of) else { continue };
                let values = Values::of(&batch, field).map_err(|damage| messages.damaged(damage))?;
                let Some(values) = values else { continue };
                let known = dictionaries.get(&id).filter(|_| follows);
                let mut all = known.map(|known| Values::clone(known)).unwrap_or_default();
                all.extend(values);
                dictionaries.insert(id, Arc::new(all));
            }
            Message::Schema(_) => return Err(messages.damaged(Damaged("a second schema comes"))),
        }
    }
    Ok(None)
}

/// The fields that features come from, and that of the labels.
fn wanted(
    source: &str,
    fields: &[Field],
    shapes: &[FieldShape],
    features: &[usize],
    label: Option<usize>,
) -> Result<(Vec<Wanted>, Option<usize>), ReadError> {
    let places = shapes
        .iter()
        .enumerate()
        .flat_map(|(field, shape)| (0..shape.width.unwrap_or(1)).map(move |place| (field, place)));
    let places: Vec<(usize, usize)> = places.collect();
    let mut wanted: Vec<Wanted> = Vec::new();
    for (slot, &column) in features.iter().enumerate() {
        let (field, place) = places[column];
        let width = shapes[field].width;
        if width.is_some_and(|width| width > LONGEST_LIST as usize) {
            let what = format!("has lists of more than {LONGEST_LIST} values");
            return Err(unfit(source, &fields[field].name, &what, false));
        }
        if let (None, Some(what)) = (width, fields[field].unfit(false)) {
            return Err(unfit(source, &fields[field].name, what, false));
        }
        match wanted.iter_mut().find(|wanted| wanted.field == field) {
            Some(wanted) => wanted.features.push((slot, place)),
            None => wanted.push(Wanted { field, width, features: vec![(slot, place)] }),
        }
    }
    let label = label.map(|column| places[column].0);
    match label.and_then(|field| Some((field, fields[field].unfit(true)?))) {
        Some((field, what)) => Err(unfit(source, &fields[field].name, what, true)),
        None => Ok((wanted, label)),
    }
}

/// Some rows of a batch.
struct Part<'a> {
    context: &'a Context,
    rows: &'a Rows,
    start: usize,
    length: usize,
    first_row: u64,
}

impl Part<'_> {
    fn array(&self, field: &Field) -> Found<Array<'_>> {
        let array = Array::of(&self.rows.batch, field, &self.rows.dictionaries)?;
        if array.length == self.rows.batch.length {
            Ok(array)
        } else {
            Err(Damaged("an array has another length than its batch"))
        }
    }

    /// The features of a field.
    fn given(&self, wanted: &Wanted, field: &Field) -> Found<Given> {
        let array = self.array(field)?;
        let Some(width) = wanted.width else {
            let mut numbers = Vec::new();
            array.numbers(self.start..self.start + self.length, &mut numbers)?;
            return Ok(Given { columns: vec![(wanted.features[0].0, numbers)], wrong: Vec::new() });
        };
        let Some(items) = &array.items else { return Err(Damaged("lists have no values")) };
        let mut columns = vec![vec![f64::NAN; self.length]; wanted.features.len()];
        let (mut wrong, mut list) = (Vec::new(), Vec::with_capacity(width));
        for row in 0..self.length {
            let Some(places) = array.list(self.start + row)? else { continue };
            if places.len() != width {
                let number = self.first_row + row as u64;
                wrong.push((row, other_length(self.context, number, &field.name, places.len(), width)));
                continue;
            }
            list.clear();
            items.numbers(places, &mut list)?;
            for (column, &(_, place)) in columns.iter_mut().zip(&wanted.features) {
                column[row] = list[place];
            }
        }
        let slots = wanted.features.iter().map(|feature| feature.0);
        Ok(Given { columns: slots.zip(columns).collect(), wrong })
    }

    fn labels(&self, field: &Field) -> Found<CodedLabels> {
        let array = self.array(field)?;
        let mut coded = LabelCodes::default();
        let places = self.start..self.start + self.length;
        let codes = places.map(|i| array.label(i, &mut coded)).collect::<Found<_>>()?;
        Ok((coded, codes))
    }
}
