//! Sparse text: `label index:value index:value …`, indices from 1 (or, if so told, from 0), ascending; absent values are 0.
//!
//! Rows that are sparse and wide stay sparse where the command can use them so; others become dense.

use crate::block::{Block, Cells};
use crate::cell::{Cell, is_infinity, is_missing, parse_cell};
use crate::columns::{Columns, Plan, plan};
use crate::csv::dialect::plain_text;
use crate::csv::record::RecordReader;
use crate::error::{ReadError, at, excerpt};
use crate::missing::{RowLabel, RowPolicy, Tally};
use crate::options::{ReadOptions, RowsHeld};
use crate::scalar::number_label;
use crate::source::Source;
use crate::table::Table;
use crate::table_builder::{TableBuilder, check_rows};
use mahala::data::SparseRows;
use std::mem;

/// Reads a sparse file; the label is what stands before the first pair.
pub(crate) fn read(source: Source, options: &ReadOptions) -> Result<Table, ReadError> {
    let (name, reader) = plain_text(source)?;
    // No line holds its own end, so that every record is one cell: the line.
    let mut lines = RecordReader::new(&name, reader, b'\n');
    let mut sparse = Sparse { zero_based: options.zero_based, ..Sparse::default() };
    while lines.advance()? {
        let place = || at(&name, "line", lines.line());
        let text = lines.cell(0);
        let end = text.iter().position(|&byte| byte == b'#').unwrap_or(text.len());
        sparse.add_line(&text[..end], lines.line()).map_err(|wrong| {
            let error = ReadError::new(place(), wrong.message);
            match wrong.hint {
                Some(hint) => error.hint(hint),
                None => error,
            }
        })?;
    }
    if sparse.rows.is_empty() {
        return Err(ReadError::new(name, "the file is empty"));
    }
    let given = options.features.as_ref().map_or(0, Vec::len);
    let width = given.max(sparse.largest as usize);
    let options = ReadOptions { label: None, ..options.clone() };
    let mut plan = plan(&name, &Columns::numbered(width), &options)?;
    plan.label_name = sparse.labelled.then(|| "label".to_owned());
    if options.rows_held == RowsHeld::OrSparse && sparse.is_worth_keeping(width) {
        return sparse.keep(&name, width, plan);
    }
    check_memory(&name, sparse.rows.len(), width)?;
    sparse.densify(&name, width, &plan, &options)
}

/// The largest index that is read: the names alone of more columns would fill the memory.
const LARGEST_INDEX: u32 = 1 << 24;
/// The largest dense table that is made of a sparse file, in bytes.
const LARGEST_TABLE: u128 = 8 << 30;

/// Below this many bytes a table with more rows than columns is simply made dense.
const LARGEST_SURELY_DENSE: u128 = 1 << 30;

#[derive(Default)]
struct Sparse {
    pairs: Vec<(u32, f64)>,
    rows: Vec<Row>,
    largest: u32,
    labelled: bool,
    /// Whether the first feature has index 0 in the file; here it has index 1.
    zero_based: bool,
}

struct Row {
    line: u64,
    label: Option<String>,
    /// Where the pairs of the row end.
    end: usize,
}

struct Wrong {
    message: String,
    hint: Option<&'static str>,
}

impl Wrong {
    fn new(message: String) -> Self {
        Self { message, hint: None }
    }

    fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }
}

impl Sparse {
    fn add_line(&mut self, text: &[u8], line: u64) -> Result<(), Wrong> {
        let tokens = text.split(u8::is_ascii_whitespace);
        let mut tokens = tokens.filter(|token| !token.is_empty()).peekable();
        let Some(&first) = tokens.peek() else {
            return Ok(());
        };
        let labelled = !first.contains(&b':');
        if self.rows.is_empty() {
            self.labelled = labelled;
        } else if labelled != self.labelled {
            let has = if labelled { "a label" } else { "no label" };
            let message = format!("this line has {has}, unlike the lines before it");
            return Err(Wrong::new(message));
        }
        let token = if labelled { tokens.next() } else { None };
        let label = token.map(label).transpose()?.flatten();
        let mut last = 0;
        for token in tokens {
            let (index, value) = pair(token)?;
            let index = index + u32::from(self.zero_based);
            check_order(token, index, last, self.zero_based)?;
            self.pairs.push((index, value));
            last = index;
        }
        self.largest = self.largest.max(last);
        let end = self.pairs.len();
        self.rows.push(Row { line, label, end });
        Ok(())
    }

    /// Whether the rows should stay sparse: few cells, many columns, and none missing.
    fn is_worth_keeping(&self, width: usize) -> bool {
        let n = self.rows.len();
        let wide = width > n || n as u128 * width as u128 * 8 > LARGEST_SURELY_DENSE;
        let few = 4 * self.pairs.len() as u128 <= n as u128 * width as u128;
        let whole = self.pairs.iter().all(|pair| !pair.1.is_nan());
        let labels = !self.labelled || self.rows.iter().all(|row| row.label.is_some());
        wide && few && whole && labels
    }

    fn keep(self, source: &str, width: usize, plan: Plan) -> Result<Table, ReadError> {
        // Where each column of the file goes; most often where it is.
        let mut place = vec![None; width];
        plan.features.iter().enumerate().for_each(|(to, &from)| place[from] = Some(to as u32));
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        let mut start = 0;
        for row in &self.rows {
            let pairs = self.pairs[start..row.end].iter().filter(|pair| pair.1 != 0.0);
            let mut cells: Vec<(u32, f64)> =
                pairs.filter_map(|&(index, value)| Some((place[index as usize - 1]?, value))).collect();
            cells.sort_unstable_by_key(|cell| cell.0);
            cells.into_iter().for_each(|(index, value)| {
                indices.push(index);
                values.push(value);
            });
            starts.push(values.len());
            start = row.end;
        }
        let rows = SparseRows::new(starts, indices, values, plan.names.len())
            .map_err(|error| ReadError::new(source, error.to_string()).caused_by(error))?;
        Ok(Table {
            source: source.to_owned(),
            n: self.rows.len(),
            records: self.rows.len() as u64,
            names: plan.names,
            rows: Vec::new(),
            sparse: Some(rows),
            embeddings: None,
            single: false,
            row_numbers: (1..=self.rows.len() as u64).collect(),
            labels: self.labelled.then(|| self.rows.into_iter().filter_map(|row| row.label).collect()),
            gaps: Vec::new(),
            notes: Vec::new(),
        })
    }

    fn densify(
        self,
        source: &str,
        width: usize,
        plan: &Plan,
        options: &ReadOptions,
    ) -> Result<Table, ReadError> {
        let policy = RowPolicy::new(source, "line", plan, options, true);
        let mut table = TableBuilder::new(source, plan.names.clone(), self.labelled, options);
        table.expect(self.rows.len());
        let mut tally = Tally::default();
        let (mut dense, mut start) = (vec![0.0; width], 0);
        for rows in self.rows.chunks(BLOCK_ROWS) {
            let mut block = Block::new(plan.features.len(), self.labelled);
            let mut cells = Vec::with_capacity(rows.len() * plan.features.len());
            for row in rows {
                let (base, pairs) = (cells.len(), &self.pairs[start..row.end]);
                pairs.iter().for_each(|&(index, value)| dense[index as usize - 1] = value);
                cells.extend(plan.features.iter().map(|&column| dense[column]));
                pairs.iter().for_each(|&(index, _)| dense[index as usize - 1] = 0.0);
                let label = RowLabel::of(self.labelled.then_some(&row.label));
                if policy.check(&mut cells[base..], row.line, label, &mut block.tally)? {
                    block.push_row(row.label.as_deref());
                } else {
                    cells.truncate(base);
                    block.tally.records += 1;
                }
                start = row.end;
            }
            block.cells = Cells::Rows(cells);
            block.before = tally.records;
            tally.merge(mem::take(&mut block.tally));
            table.add(block)?;
        }
        check_rows(source, &tally)?;
        table.finish(&policy, &tally, options.missing, tally.notes(options.missing))
    }
}

/// Rows between two looks at the limit of memory.
const BLOCK_ROWS: usize = 4096;

/// `+1`, `01` and `1.0` are the label `1`; what is not a number is kept as it is.
fn label(token: &[u8]) -> Result<Option<String>, Wrong> {
    let text = String::from_utf8_lossy(token);
    match parse_cell(token) {
        _ if is_missing(token) => Ok(None),
        _ if is_infinity(token) => {
            Err(Wrong::new(format!("the label {} is not a finite number", excerpt(token))))
        }
        Cell::Number(_) => Ok(Some(number_label(&text))),
        _ => Ok(Some(text.into_owned())),
    }
}

fn pair(token: &[u8]) -> Result<(u32, f64), Wrong> {
    let shown = excerpt(token);
    let no_pair = || Wrong::new(format!("{shown} is not of the form index:value"));
    let colon = token.iter().position(|&byte| byte == b':').ok_or_else(no_pair)?;
    let (index, value) = (&token[..colon], &token[colon + 1..]);
    let index = std::str::from_utf8(index).ok().and_then(|text| text.parse::<u64>().ok());
    let index = index.ok_or_else(no_pair)?;
    let index = u32::try_from(index).ok().filter(|&index| index <= LARGEST_INDEX);
    let too_large = || {
        let message = format!("{shown}: the index is larger than {LARGEST_INDEX}");
        Wrong::new(message)
            .hint("is it an index? Number the features from 1; hashed ones can be taken modulo 2^20, say")
    };
    let index = index.ok_or_else(too_large)?;
    match parse_cell(value) {
        Cell::Number(number) => Ok((index, number)),
        Cell::Missing => Ok((index, f64::NAN)),
        Cell::Infinite => Err(Wrong::new(format!("{shown}: the value is not finite"))),
        _ => Err(Wrong::new(format!("{shown}: the value is not a number"))),
    }
}

fn check_order(token: &[u8], index: u32, last: u32, zero_based: bool) -> Result<(), Wrong> {
    let shown = excerpt(token);
    if index == 0 {
        let message = format!("{shown}: indices begin at 1, not at 0");
        return Err(Wrong::new(message).hint("if the first feature has index 0: --zero-based"));
    }
    if index <= last {
        let last = last.saturating_sub(u32::from(zero_based));
        let message = format!("{shown} follows index {last}: indices must ascend");
        return Err(Wrong::new(message).hint("sort the pairs of each line by index"));
    }
    Ok(())
}

fn check_memory(source: &str, rows: usize, columns: usize) -> Result<(), ReadError> {
    let bytes = rows as u128 * columns as u128 * 8;
    if bytes <= LARGEST_TABLE {
        return Ok(());
    }
    let gib = (bytes >> 30) + 1;
    let message =
        format!("{rows} rows and {columns} columns need about {gib} GiB as a dense table; 8 GiB is the most");
    Err(ReadError::new(source, message)
        .hint("reduce the number of features, e.g. by feature selection or a random projection"))
}
