//! Arrays in blocks of rows, so that no array must fit in memory; those whose columns are contiguous are held as bytes.

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use mahala::data::{Cells as Numbers, Embeddings};

use crate::block::{Block, Cells};
use crate::columns::{Columns, Plan, plan};
use crate::error::ReadError;
use crate::mapped::MappedNumbers;
use crate::missing::{RowLabel, RowPolicy};
use crate::npy::header::read_header;
use crate::npy::{Kind, Layout};
use crate::options::ReadOptions;
use crate::source::Source;

/// Cells of a block: eight megabytes of numbers.
const CELLS: usize = 1 << 20;
/// Rows of a block, at most, and what their number is a multiple of where they are not wide.
const ROWS: (usize, usize) = (1 << 16, 1 << 10);

/// An array that is read in blocks.
pub(crate) struct ArrayFile {
    context: Arc<Context>,
    source: Source,
    /// The bytes before the first number.
    start: u64,
    /// The rows that are read, which begin at the row before.
    ahead: Option<Arc<Vec<u8>>>,
    next_row: usize,
    bytes_read: u64,
}

/// What the blocks of one array share.
struct Context {
    array: Layout,
    plan: Plan,
    policy: Arc<RowPolicy>,
    /// Whether the features are all columns, in their order.
    whole_rows: bool,
}

/// Some rows of an array as bytes.
pub(crate) struct ArrayBlock {
    context: Arc<Context>,
    bytes: Arc<Vec<u8>>,
    rows: Range<usize>,
}

impl ArrayFile {
    /// Reads the header and the first rows: only they show that there are as many columns as the header claims.
    pub(crate) fn open(
        mut source: Source,
        options: &ReadOptions,
        keeps_gaps: bool,
    ) -> Result<Self, ReadError> {
        let name = source.name.clone();
        let header = read_header(&name, &mut source.reader)?;
        let array = Layout::new(&name, &header)?;
        array.check_size(&name, source.size().map(|size| size.saturating_sub(header.length)))?;
        let mut bytes_read = 0;
        let first = if array.fortran_order {
            bytes_read = array.bytes;
            array.read(&mut source, &header, options)?
        } else {
            array.read_on(&mut source, 0..array.rows.min(block_rows(array.columns)), &mut bytes_read)?
        };
        let plan = plan(&name, &Columns::numbered(array.columns), options)?;
        let policy = Arc::new(RowPolicy::new(&name, "row", &plan, options, keeps_gaps));
        let whole_rows = plan.label.is_none() && plan.features.iter().copied().eq(0..array.columns);
        let context = Arc::new(Context { array, plan, policy, whole_rows });
        let ahead = Some(Arc::new(first));
        Ok(Self { context, source, start: header.length, ahead, next_row: 0, bytes_read })
    }

    /// The file, as the user named it.
    pub(crate) fn name(&self) -> &str {
        &self.source.name
    }

    /// The names of the features.
    pub(crate) fn names(&self) -> &[String] {
        &self.context.plan.names
    }

    /// Whether a column holds the label of each row.
    pub(crate) fn is_labelled(&self) -> bool {
        self.context.plan.label.is_some()
    }

    /// What becomes of rows that are not complete.
    pub(crate) fn policy(&self) -> Arc<RowPolicy> {
        Arc::clone(&self.context.policy)
    }

    /// How many rows the array has.
    pub(crate) fn rows(&self) -> usize {
        self.context.array.rows
    }

    /// Whether single precision holds every number.
    pub(crate) fn is_single(&self) -> bool {
        matches!((self.context.array.kind, self.context.array.width), (Kind::Float, 2 | 4))
    }

    /// The next block; `None` at the end.
    pub(crate) fn next_block(&mut self) -> Result<Option<ArrayBlock>, ReadError> {
        let array = &self.context.array;
        let rows = self.next_row..array.rows.min(self.next_row + block_rows(array.columns));
        if rows.is_empty() {
            return Ok(None);
        }
        let bytes = match self.ahead.take() {
            Some(ahead) => ahead,
            None => Arc::new(array.read_on(&mut self.source, rows.clone(), &mut self.bytes_read)?),
        };
        if array.fortran_order {
            self.ahead = Some(Arc::clone(&bytes));
        }
        self.next_row = rows.end;
        Ok(Some(ArrayBlock { context: Arc::clone(&self.context), bytes, rows }))
    }

    /// All rows where they lie in the file, if they are finite numbers of single or half precision and all columns are
    /// features.
    pub(crate) fn in_place(&self) -> Option<Embeddings> {
        let array = &self.context.array;
        let path = self.source.plain().filter(|_| self.context.whole_rows)?;
        if array.fortran_order || array.big_endian || !self.is_single() || cfg!(target_endian = "big") {
            return None;
        }
        let count = array.rows * array.columns;
        let cells = if array.width == 4 {
            Numbers::Single(Arc::new(MappedNumbers::<f32>::open(path, self.start, count)?))
        } else {
            Numbers::Half(Arc::new(MappedNumbers::<u16>::open(path, self.start, count)?))
        };
        // What is missing or infinite is found again, and told, row by row.
        Embeddings::new(cells, array.columns).ok()
    }
}

/// As many rows as have the cells of a block. Rows that are mapped in single precision are mapped by 1024: blocks of as many give
/// the bits of the whole.
fn block_rows(columns: usize) -> usize {
    let rows = (CELLS / columns.max(1)).clamp(1, ROWS.0);
    if rows < ROWS.1 { rows } else { rows / ROWS.1 * ROWS.1 }
}

impl Layout {
    /// The bytes of the next rows.
    fn read_on(
        &self,
        source: &mut Source,
        rows: Range<usize>,
        read_so_far: &mut u64,
    ) -> Result<Vec<u8>, ReadError> {
        let wanted = (rows.len() * self.columns * self.width) as u64;
        let mut bytes = Vec::new();
        let read = source.reader.by_ref().take(wanted).read_to_end(&mut bytes);
        read.map_err(|error| ReadError::read(&source.name, error))?;
        *read_so_far += bytes.len() as u64;
        if (bytes.len() as u64) < wanted {
            self.check_size(&source.name, Some(*read_so_far))?;
        }
        Ok(bytes)
    }
}

impl ArrayBlock {
    /// Checks all cells; rows that are bad or to be dropped are taken out.
    pub(crate) fn parse(self, most_bad: Option<u64>) -> Result<Block, ReadError> {
        let Context { array, plan, policy, .. } = &*self.context;
        let mut block = Block::new(plan.features.len(), plan.label.is_some());
        let mut cells = Vec::with_capacity(self.rows.len() * plan.features.len());
        for row in self.rows.clone() {
            let (base, position) = (cells.len(), row as u64 + 1);
            self.append(row, &mut cells);
            let label = plan.label.map(|j| array.scalar(&self.bytes, self.place(row, j)).label());
            let label_seen = RowLabel::of(label.as_ref());
            let outcome = match cells[base..].iter().position(|x| x.is_infinite()) {
                Some(slot) => Err(policy.infinite_cell(position, slot, cells[base + slot])),
                None => policy.check(&mut cells[base..], position, label_seen, &mut block.tally),
            };
            let kept = match outcome {
                Ok(kept) => kept,
                Err(error) => block.tally.skip(error, most_bad).map(|()| false)?,
            };
            if kept {
                block.push_row(label.flatten().as_deref());
            } else {
                cells.truncate(base);
                block.tally.records += 1;
            }
        }
        block.cells = Cells::Rows(cells);
        Ok(block)
    }

    /// Where a cell is among those at hand.
    fn place(&self, row: usize, column: usize) -> usize {
        let array = &self.context.array;
        if array.fortran_order {
            column * array.rows + row
        } else {
            (row - self.rows.start) * array.columns + column
        }
    }

    /// Appends the features of a row; NaN for missing cells.
    fn append(&self, row: usize, cells: &mut Vec<f64>) {
        let Context { array, plan, whole_rows, .. } = &*self.context;
        let floats = matches!(array.kind, Kind::Float) && !array.big_endian && !array.fortran_order;
        if *whole_rows && floats && array.width > 2 {
            let bytes = &self.bytes[self.place(row, 0) * array.width..][..array.columns * array.width];
            if array.width == 4 {
                let (words, _) = bytes.as_chunks();
                cells.extend(words.iter().map(|&word| f64::from(f32::from_le_bytes(word))));
            } else {
                let (words, _) = bytes.as_chunks();
                cells.extend(words.iter().map(|&word| f64::from_le_bytes(word)));
            }
            return;
        }
        cells.extend(
            plan.features.iter().map(|&column| {
                array.scalar(&self.bytes, self.place(row, column)).number().unwrap_or(f64::NAN)
            }),
        );
    }
}
