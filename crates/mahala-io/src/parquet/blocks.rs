//! Parquet files in blocks of rows: all columns are read on together, so that no row group must fit in memory.

use std::path::Path;
use std::sync::Arc;

use parquet::column::reader::ColumnReader;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{FileReader, SerializedFileReader};
use rayon::prelude::*;

use crate::block::{Block, Cells, Coded};
use crate::catch_panic::catch;
use crate::columns::Plan;
use crate::csv::blocks::{missing_cell, missing_label};
use crate::error::{ReadError, at_column, infinite_label};
use crate::options::{Missing, ReadOptions};
use crate::parquet::column::{Kind, read_numbers, read_values};
use crate::parquet::positioned_file::Positioned;
use crate::parquet::{Field, Layout, damaged, layout};
use crate::source::Source;

/// Cells of a block: four megabytes. Measured: with half as many, and a quarter, a fit of ten classes is slower.
const CELLS: usize = 1 << 19;

/// A Parquet file that is read in blocks.
pub(crate) struct ColumnFile {
    pub(crate) context: Arc<Context>,
    pub(crate) note: Option<String>,
    file: SerializedFileReader<Positioned>,
    fields: Vec<Field>,
    /// The next row group.
    group: usize,
    /// The columns of the one that is being read, and how many of its rows are left.
    open: Option<Open>,
    next_row: u64,
}

/// What the blocks of one file share.
pub(crate) struct Context {
    pub(crate) name: String,
    pub(crate) plan: Plan,
    missing: Missing,
    means: Option<Vec<f64>>,
}

/// The columns of a row group, features first, then the label.
struct Open {
    columns: Vec<(ColumnReader, Kind)>,
    label: Option<(ColumnReader, Kind)>,
    left: usize,
}

/// Some rows of a file, column after column; NaN for missing cells.
pub(crate) struct ColumnBlock {
    context: Arc<Context>,
    columns: Vec<Vec<f64>>,
    /// Whether all cells are finite numbers.
    sound: bool,
    labels: Option<(Coded, Vec<Option<u32>>)>,
    length: usize,
    first_row: u64,
}

impl ColumnFile {
    pub(crate) fn open(source: Source, options: &ReadOptions) -> Result<Self, ReadError> {
        let name = source.name.clone();
        let file = source.into_file()?;
        let file = Positioned::new(file).map_err(|error| ReadError::read(&name, error))?;
        let file = guarded(&name, || SerializedFileReader::new(file))?;
        let Layout { fields, plan, note } = layout(&name, file.metadata(), options)?;
        let (missing, means) = (options.missing, options.means.clone());
        let context = Arc::new(Context { name, plan, missing, means });
        Ok(Self { context, note, file, fields, group: 0, open: None, next_row: 1 })
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
        let columns: Result<Vec<(Vec<f64>, bool)>, ReadError> = open
            .columns
            .par_iter_mut()
            .enumerate()
            .map(|(slot, (reader, kind))| {
                let mut numbers = Vec::with_capacity(length);
                guarded(&context.name, || read_numbers(reader, *kind, length, &mut numbers))?;
                check_length(&context, &context.plan.names[slot], numbers.len(), length)?;
                // Here, while they are in the cache; without a branch, several numbers at a time.
                let sound = numbers.iter().fold(true, |sound, x| sound & x.is_finite());
                Ok((numbers, sound))
            })
            .collect();
        let labels = match &mut open.label {
            Some((reader, kind)) => Some(labels(&context, reader, *kind, (self.next_row, length))?),
            None => None,
        };
        let first_row = self.next_row;
        self.next_row += length as u64;
        let (columns, sound): (Vec<Vec<f64>>, Vec<bool>) = columns?.into_iter().unzip();
        let sound = sound.into_iter().all(|sound| sound);
        Ok(Some(ColumnBlock { context, columns, sound, labels, length, first_row }))
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
        let columns = plan.features.iter().map(|&j| column(j)).collect::<Result<_, _>>()?;
        Ok(Open { columns, label: plan.label.map(column).transpose()?, left })
    }
}

impl ColumnBlock {
    /// Checks all cells; rows that are bad or to be dropped are taken out.
    pub(crate) fn parse(self, most_bad: Option<u64>) -> Result<Block, ReadError> {
        let Self { context, mut columns, sound, labels, length, first_row } = self;
        let mut parsed = Block::new(columns.len(), labels.is_some());
        parsed.records = length as u64;
        let mut kept = vec![true; length];
        if !sound || labels.iter().any(|(_, codes)| codes.contains(&None)) {
            let codes = labels.as_ref().map(|(_, codes)| &codes[..]);
            for (row, kept) in kept.iter_mut().enumerate() {
                let place = first_row + row as u64;
                *kept = check_row(&context, &mut columns, codes, (row, place), &mut parsed, most_bad)?;
            }
            for column in &mut columns {
                let mut keep = kept.iter();
                column.retain(|_| keep.next() == Some(&true));
            }
        }
        if let Some((mut coded, codes)) = labels {
            let codes = codes.into_iter().zip(&kept).filter(|(_, kept)| **kept);
            coded.codes = codes.filter_map(|(code, _)| code).collect();
            parsed.labels = Some(coded);
        }
        parsed.places_of_rows = (0..length as u32).filter(|&row| kept[row as usize]).collect();
        parsed.cells = Cells::Columns(columns.concat());
        Ok(parsed)
    }
}

/// Whether a row is kept; missing cells are filled in if so asked.
fn check_row(
    context: &Context,
    columns: &mut [Vec<f64>],
    labels: Option<&[Option<u32>]>,
    (row, place): (usize, u64),
    parsed: &mut Block,
    most_bad: Option<u64>,
) -> Result<bool, ReadError> {
    let place_of = |column: &str| at_column(&context.name, "row", place, column);
    if let Some(slot) = columns.iter().position(|column| column[row].is_infinite()) {
        let message = format!("{} is not a finite number", columns[slot][row]);
        let error = ReadError::new(place_of(&context.plan.names[slot]), message);
        parsed.skip(error, most_bad)?;
        return Ok(false);
    }
    let unlabelled = labels.is_some_and(|labels| labels[row].is_none());
    match (columns.iter().position(|column| column[row].is_nan()), context.missing) {
        (None, _) => {}
        (Some(_), Missing::Drop) => {
            parsed.dropped += 1;
            return Ok(false);
        }
        (Some(_), Missing::Zero) => {
            for column in columns.iter_mut().filter(|column| column[row].is_nan()) {
                column[row] = 0.0;
                parsed.filled += u64::from(!unlabelled);
            }
        }
        (Some(_), Missing::Mean) if context.means.is_some() => {
            let means = context.means.iter().flatten();
            for (column, mean) in columns.iter_mut().zip(means).filter(|(column, _)| column[row].is_nan()) {
                column[row] = *mean;
                parsed.filled += u64::from(!unlabelled);
            }
        }
        (Some(slot), Missing::Refuse | Missing::Mean) => {
            parsed.skip(missing_cell(place_of(&context.plan.names[slot])), most_bad)?;
            return Ok(false);
        }
    }
    if !unlabelled {
        return Ok(true);
    }
    if context.missing == Missing::Drop {
        parsed.unlabelled += 1;
    } else {
        let name = context.plan.label_name.as_deref().unwrap_or_default();
        parsed.skip(missing_label(place_of(name)), most_bad)?;
    }
    Ok(false)
}

fn labels(
    context: &Context,
    reader: &mut ColumnReader,
    kind: Kind,
    (first_row, length): (u64, usize),
) -> Result<(Coded, Vec<Option<u32>>), ReadError> {
    let (mut coded, mut codes) = (Coded::default(), Vec::with_capacity(length));
    let mut infinite = None;
    guarded(&context.name, || {
        read_values(reader, kind, length, &mut |value| {
            if infinite.is_none() && value.is_some_and(|value| value.is_infinite()) {
                infinite = Some((codes.len() as u64, value.and_then(|value| value.label())));
            }
            codes.push(value.and_then(|value| coded.of_scalar(value)));
        })
    })?;
    let name = context.plan.label_name.as_deref().unwrap_or_default();
    check_length(context, name, codes.len(), length)?;
    if let Some((row, label)) = infinite {
        let place = at_column(&context.name, "row", first_row + row, name);
        return Err(infinite_label(place, &label.unwrap_or_default()));
    }
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
    done.unwrap_or_else(|| Err(ParquetError::General("the pages contradict each other".to_owned())))
        .map_err(|error| damaged(name, error))
}

/// The number of cells of a file, as its end tells.
pub(crate) fn cells(path: &Path) -> Option<u64> {
    let file = Positioned::new(std::fs::File::open(path).ok()?).ok()?;
    let file = catch(|| SerializedFileReader::new(file))?.ok()?;
    let metadata = file.metadata().file_metadata();
    let rows = u64::try_from(metadata.num_rows()).ok()?;
    Some(rows.saturating_mul(metadata.schema_descr().num_columns() as u64))
}
