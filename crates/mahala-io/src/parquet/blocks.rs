//! Parquet files in blocks of rows: all columns are read on together, so that no row group must fit in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Type;
use parquet::column::reader::ColumnReader;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{FileReader, SerializedFileReader};
use rayon::prelude::*;

use crate::block::{Block, Cells, LabelCodes};
use crate::catch_panic::catch;
use crate::cell::is_infinity;
use crate::columns::Plan;
use crate::error::{ReadError, at_column, shell};
use crate::missing::{RowLabel, RowPolicy};
use crate::options::ReadOptions;
use crate::parquet::column::{Kind, read_numbers, read_values};
use crate::parquet::lists::{List, read_lists};
use crate::parquet::positioned_file::Positioned;
use crate::parquet::{Field, Layout, damaged, layout};
use crate::source::Source;

/// Cells of a block: four megabytes. Measured: with half as many, and a quarter, a fit of ten classes is slower.
const CELLS: usize = 1 << 19;

/// A Parquet file that is read in blocks.
pub(crate) struct ColumnFile {
    context: Arc<Context>,
    pub(crate) notes: Vec<String>,
    file: SerializedFileReader<Positioned>,
    fields: Vec<Field>,
    /// The next row group.
    group: usize,
    /// The columns of the one that is being read, and how many of its rows are left.
    open: Option<Open>,
    next_row: u64,
}

/// What the blocks of one file share.
struct Context {
    name: String,
    plan: Plan,
    policy: Arc<RowPolicy>,
}

/// The columns of a row group, features first, then the label.
struct Open {
    columns: Vec<Leaf>,
    label: Option<(ColumnReader, Kind)>,
    left: usize,
}

/// A leaf of the schema with the features that come from it.
struct Leaf {
    /// The field it belongs to.
    name: String,
    reader: ColumnReader,
    kind: Kind,
    /// The lists of the leaf, if it has some.
    list: Option<List>,
    /// Which features they are and, of lists, the places in them.
    features: Vec<(usize, usize)>,
}

/// What one leaf gives of a block: features with their numbers, and rows whose lists have another length.
#[derive(Default)]
struct Given {
    columns: Vec<(usize, Vec<f64>)>,
    wrong: Vec<(usize, ReadError)>,
}

/// Some rows of a file, column after column; NaN for missing cells.
pub(crate) struct ColumnBlock {
    context: Arc<Context>,
    columns: Vec<Vec<f64>>,
    /// Rows that cannot be read, whatever is done about missing cells.
    wrong: BTreeMap<usize, ReadError>,
    /// Whether all cells are finite numbers.
    sound: bool,
    labels: Option<(LabelCodes, Vec<Option<u32>>)>,
    length: usize,
    first_row: u64,
}

impl ColumnFile {
    pub(crate) fn open(source: Source, options: &ReadOptions, keeps_gaps: bool) -> Result<Self, ReadError> {
        let name = source.name.clone();
        let file = source.into_file()?;
        let file = Positioned::new(file).map_err(|error| ReadError::read(&name, error))?;
        let file = guarded(&name, || SerializedFileReader::new(file))?;
        let found = catch(|| layout(&name, &file, options));
        let found = found.unwrap_or_else(|| Err(damaged(&name, contradiction())));
        let Layout { fields, plan, note } = found?;
        let policy = Arc::new(RowPolicy::new(&name, "row", &plan, options, keeps_gaps));
        let context = Arc::new(Context { name, plan, policy });
        Ok(Self {
            context,
            notes: note.into_iter().collect(),
            file,
            fields,
            group: 0,
            open: None,
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
        let schema = self.file.metadata().file_metadata().schema_descr();
        let is_single = |&j: &usize| {
            self.fields[j].column.is_some_and(|(leaf, kind)| {
                kind == Kind::Half || schema.column(leaf).physical_type() == Type::FLOAT
            })
        };
        self.context.plan.features.iter().all(is_single)
    }

    /// The number of rows that the end of the file tells.
    pub(crate) fn rows(&self) -> Option<usize> {
        usize::try_from(self.file.metadata().file_metadata().num_rows()).ok()
    }

    /// What becomes of rows that are not complete.
    pub(crate) fn policy(&self) -> Arc<RowPolicy> {
        Arc::clone(&self.context.policy)
    }

    /// The next block; `None` at the end.
    pub(crate) fn next_block(&mut self) -> Result<Option<ColumnBlock>, ReadError> {
        let d = self.context.plan.features.len();
        let most = (CELLS / d).clamp(512, 1 << 16);
        while self.open.as_ref().is_none_or(|open| open.left == 0) {
            if self.group == self.file.num_row_groups() {
                return Ok(None);
            }
            self.open = Some(self.open_group()?);
            self.group += 1;
        }
        let Some(open) = &mut self.open else { return Ok(None) };
        let length = most.min(open.left);
        open.left -= length;
        let context = Arc::clone(&self.context);
        let first_row = self.next_row;
        let given: Result<Vec<(Given, bool)>, ReadError> = open
            .columns
            .par_iter_mut()
            .map(|leaf| {
                let given = leaf.read(&context, first_row, length)?;
                // Here, while they are in the cache; without a branch, several numbers at a time.
                let sound = |numbers: &Vec<f64>| numbers.iter().fold(true, |sound, x| sound & x.is_finite());
                let sound = given.columns.iter().all(|column| sound(&column.1));
                Ok((given, sound))
            })
            .collect();
        let labels = match &mut open.label {
            Some((reader, kind)) => Some(labels(&context, reader, *kind, length)?),
            None => None,
        };
        self.next_row += length as u64;
        let (mut columns, mut wrong, mut sound) = (vec![Vec::new(); d], BTreeMap::new(), true);
        for (given, whole) in given? {
            given.columns.into_iter().for_each(|(slot, numbers)| columns[slot] = numbers);
            wrong.extend(given.wrong);
            sound &= whole;
        }
        sound &= wrong.is_empty();
        Ok(Some(ColumnBlock { context, columns, wrong, sound, labels, length, first_row }))
    }

    fn open_group(&self) -> Result<Open, ReadError> {
        let name = &self.context.name;
        let group = guarded(name, || self.file.get_row_group(self.group))?;
        let rows = group.metadata().num_rows();
        let Ok(left) = usize::try_from(rows) else {
            let message = format!("the Parquet data are damaged: a row group of {rows} rows");
            return Err(ReadError::new(name, message));
        };
        let column = |j: usize| -> Result<(ColumnReader, Kind), ReadError> {
            let Some((leaf, kind)) = self.fields[j].column else {
                return Err(ReadError::new(name, format!("column '{}' is nested", self.fields[j].name)));
            };
            Ok((guarded(name, || group.get_column_reader(leaf))?, kind))
        };
        let plan = &self.context.plan;
        let mut columns: Vec<Leaf> = Vec::new();
        let mut places: BTreeMap<usize, usize> = BTreeMap::new();
        for (slot, &j) in plan.features.iter().enumerate() {
            let Field { column: leaf, list, .. } = &self.fields[j];
            let feature = (slot, list.map_or(0, |list| list.1));
            // All features of one column of lists are read together.
            if let Some(&at) = leaf.filter(|_| list.is_some()).and_then(|leaf| places.get(&leaf.0)) {
                columns[at].features.push(feature);
                continue;
            }
            if let Some((leaf, _)) = leaf {
                places.insert(*leaf, columns.len());
            }
            let (reader, kind) = column(j)?;
            let name = &self.fields[j].name;
            let name =
                name.rsplit_once('.').filter(|_| list.is_some()).map_or(name.as_str(), |parts| parts.0);
            let name = name.to_owned();
            columns.push(Leaf { name, reader, kind, list: list.map(|list| list.0), features: vec![feature] });
        }
        Ok(Open { columns, label: plan.label.map(column).transpose()?, left })
    }
}

impl Leaf {
    /// The features of some rows.
    fn read(&mut self, context: &Context, first_row: u64, length: usize) -> Result<Given, ReadError> {
        let names = &context.plan.names;
        if let Some(list) = self.list {
            return self.read_lists(context, list, first_row, length);
        }
        let slot = self.features[0].0;
        let mut numbers = Vec::with_capacity(length);
        guarded(&context.name, || read_numbers(&mut self.reader, self.kind, length, &mut numbers))?;
        check_length(context, &names[slot], numbers.len(), length)?;
        Ok(Given { columns: vec![(slot, numbers)], wrong: Vec::new() })
    }

    fn read_lists(
        &mut self,
        context: &Context,
        list: List,
        first_row: u64,
        length: usize,
    ) -> Result<Given, ReadError> {
        let mut columns = vec![vec![f64::NAN; length]; self.features.len()];
        let mut wanted = vec![None; list.width];
        self.features.iter().enumerate().for_each(|(at, feature)| wanted[feature.1] = Some(at));
        let take = &mut |row: usize, place: usize, value: f64| {
            if let Some(Some(at)) = wanted.get(place)
                && row < length
            {
                columns[*at][row] = value;
            }
        };
        let lists =
            guarded(&context.name, || read_lists(&mut self.reader, self.kind, list.levels, length, take))?;
        let name = &self.name;
        check_length(context, name, lists.len(), length)?;
        let mut wrong = Vec::new();
        for (row, seen) in lists.into_iter().enumerate() {
            if let Some(seen) = seen.filter(|&seen| seen != list.width) {
                let place = at_column(&context.name, "row", first_row + row as u64, name);
                let message = format!("a list of {seen} values, where the first list has {}", list.width);
                let hint = format!(
                    "all lists must have one length; else leave the column out with --ignore {}",
                    shell(name)
                );
                wrong.push((row, ReadError::new(place, message).hint(hint)));
            }
        }
        let columns = self.features.iter().map(|feature| feature.0).zip(columns).collect();
        Ok(Given { columns, wrong })
    }
}

impl ColumnBlock {
    /// Checks all cells; rows that are bad or to be dropped are taken out.
    pub(crate) fn parse(self, most_bad: Option<u64>) -> Result<Block, ReadError> {
        let Self { context, mut columns, mut wrong, sound, labels, length, first_row } = self;
        let mut block = Block::new(columns.len(), labels.is_some());
        block.tally.records = length as u64;
        let mut kept = vec![true; length];
        if !sound || labels.as_ref().is_some_and(has_bad_labels) {
            let mut row = vec![0.0; columns.len()];
            for (i, kept) in kept.iter_mut().enumerate() {
                row.iter_mut().zip(&columns).for_each(|(cell, column)| *cell = column[i]);
                let label = match &labels {
                    None => RowLabel::Unread,
                    Some((coded, codes)) => codes[i]
                        .map_or(RowLabel::Missing, |code| RowLabel::Present(&coded.names[code as usize])),
                };
                let outcome = match wrong.remove(&i) {
                    Some(error) => Err(error),
                    None => check_row(&context.policy, &mut row, first_row + i as u64, label, &mut block),
                };
                *kept = match outcome {
                    Ok(kept) => kept,
                    Err(error) => block.tally.skip(error, most_bad).map(|()| false)?,
                };
                row.iter().zip(&mut columns).for_each(|(cell, column)| column[i] = *cell);
            }
            for column in &mut columns {
                let mut keep = kept.iter();
                column.retain(|_| keep.next() == Some(&true));
            }
        }
        if let Some((mut coded, codes)) = labels {
            let codes = codes.into_iter().zip(&kept).filter(|(_, kept)| **kept);
            coded.codes = codes.filter_map(|(code, _)| code).collect();
            block.labels = Some(coded);
        }
        block.positions = (0..length as u32).filter(|&row| kept[row as usize]).collect();
        block.cells = Cells::Columns(columns.concat());
        Ok(block)
    }
}

/// Whether some label is missing or infinite.
fn has_bad_labels((coded, codes): &(LabelCodes, Vec<Option<u32>>)) -> bool {
    codes.contains(&None) || coded.names.iter().any(|name| is_infinity(name.as_bytes()))
}

/// Whether a row is kept; missing cells are filled in if so asked.
fn check_row(
    policy: &RowPolicy,
    row: &mut [f64],
    position: u64,
    label: RowLabel<'_>,
    block: &mut Block,
) -> Result<bool, ReadError> {
    if let Some(slot) = row.iter().position(|cell| cell.is_infinite()) {
        return Err(policy.infinite_cell(position, slot, row[slot]));
    }
    policy.check(row, position, label, &mut block.tally)
}

fn labels(
    context: &Context,
    reader: &mut ColumnReader,
    kind: Kind,
    length: usize,
) -> Result<(LabelCodes, Vec<Option<u32>>), ReadError> {
    let (mut coded, mut codes) = (LabelCodes::default(), Vec::with_capacity(length));
    guarded(&context.name, || {
        read_values(reader, kind, length, &mut |value| {
            codes.push(value.and_then(|value| coded.of_scalar(value)));
        })
    })?;
    let name = context.plan.label_name.as_deref().unwrap_or_default();
    check_length(context, name, codes.len(), length)?;
    Ok((coded, codes))
}

fn check_length(context: &Context, column: &str, seen: usize, length: usize) -> Result<(), ReadError> {
    if seen == length {
        return Ok(());
    }
    let message =
        format!("the Parquet data are damaged: column '{column}' has {seen} values for {length} rows");
    Err(ReadError::new(&context.name, message))
}

/// The Parquet library panics on some damaged files.
fn guarded<T>(name: &str, work: impl FnOnce() -> ParquetResult<T>) -> Result<T, ReadError> {
    let done = catch(work);
    done.unwrap_or_else(|| Err(contradiction())).map_err(|error| damaged(name, error))
}

fn contradiction() -> ParquetError {
    ParquetError::General("the pages contradict each other".to_owned())
}

/// The number of cells of a file, as its end tells.
pub(crate) fn cells(path: &Path) -> Option<u64> {
    let file = Positioned::new(std::fs::File::open(path).ok()?).ok()?;
    let file = catch(|| SerializedFileReader::new(file))?.ok()?;
    let columns =
        file.metadata().row_groups().iter().flat_map(parquet::file::metadata::RowGroupMetaData::columns);
    columns.map(|column| u64::try_from(column.num_values()).ok()).sum()
}
