//! Parquet files in blocks of rows: all columns are read on together, so that no row group must fit in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Type;
use parquet::column::reader::ColumnReader;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{FileReader, SerializedFileReader};
use rayon::prelude::*;

use crate::block::LabelCodes;
use crate::catch_panic::catch;
use crate::column_block::{CodedLabels, ColumnBlock, Context, Given, most_rows, other_length};
use crate::error::ReadError;
use crate::missing::RowPolicy;
use crate::options::ReadOptions;
use crate::parquet::column::{Kind, read_numbers, read_values};
use crate::parquet::lists::{List, read_lists};
use crate::parquet::positioned_file::Positioned;
use crate::parquet::{Field, Layout, damaged, layout};
use crate::progress::ReadProgress;
use crate::source::Source;

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
    /// Bytes of the file for each row, and who is told how many are read: columns that are not wanted are passed over.
    shares: Shares,
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

/// The bytes of a file, as if each row had as many.
struct Shares {
    progress: Option<Arc<ReadProgress>>,
    bytes: u64,
    rows: u64,
}

impl Shares {
    /// Some rows are read, behind those before.
    fn tell(&self, before: u64, rows: u64) {
        let up_to = |row: u64| u128::from(self.bytes) * u128::from(row) / u128::from(self.rows.max(1));
        if let Some(progress) = &self.progress {
            progress.add((up_to(before + rows) - up_to(before)) as u64);
        }
    }
}

impl ColumnFile {
    pub(crate) fn open(source: Source, options: &ReadOptions, keeps_gaps: bool) -> Result<Self, ReadError> {
        let (name, progress) = (source.name.clone(), source.progress.clone());
        let bytes = source.size().unwrap_or(0);
        let file = source.into_file()?;
        let file = Positioned::new(file).map_err(|error| ReadError::read(&name, error))?;
        let file = guarded(&name, || SerializedFileReader::new(file))?;
        let found = catch(|| layout(&name, &file, options));
        let found = found.unwrap_or_else(|| Err(damaged(&name, contradiction())));
        let Layout { fields, plan, note } = found?;
        let policy = Arc::new(RowPolicy::new(&name, "row", &plan, options, keeps_gaps));
        let context = Arc::new(Context { name, plan, policy });
        let rows = u64::try_from(file.metadata().file_metadata().num_rows()).unwrap_or(0);
        Ok(Self {
            shares: Shares { progress, bytes, rows },
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
        let most = most_rows(self.context.plan.features.len());
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
            .map(|leaf| leaf.read(&context, first_row, length).map(Given::checked))
            .collect();
        let labels = match &mut open.label {
            Some((reader, kind)) => Some(labels(&context, reader, *kind, length)?),
            None => None,
        };
        self.shares.tell(self.next_row - 1, length as u64);
        self.next_row += length as u64;
        Ok(Some(ColumnBlock::of(context, given?, labels, length, first_row)))
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
                wrong.push((row, other_length(context, first_row + row as u64, name, seen, list.width)));
            }
        }
        let columns = self.features.iter().map(|feature| feature.0).zip(columns).collect();
        Ok(Given { columns, wrong })
    }
}

fn labels(
    context: &Context,
    reader: &mut ColumnReader,
    kind: Kind,
    length: usize,
) -> Result<CodedLabels, ReadError> {
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
