//! `NumPy` arrays of one or two dimensions.

pub(crate) mod blocks;
mod header;
mod labels;
mod write;

use std::io::Read;
use std::mem;
use std::path::Path;

use crate::error::ReadError;
use crate::missing::Tally;
use crate::npy::blocks::ArrayFile;
pub(crate) use crate::npy::header::{NpyHeader, read_header};
use crate::options::{ReadOptions, RowsHeld};
use crate::scalar::{Scalar, half};
use crate::source::Source;
use crate::table::Table;
use crate::table_builder::{TableBuilder, check_rows};
pub(crate) use labels::read_labels;
pub use write::{npy_bytes, npy_header, npy_header_of};

/// Reads an array; its columns are named `f1`, `f2`, … and NaN is a missing cell.
pub(crate) fn read(source: Source, options: &ReadOptions) -> Result<Table, ReadError> {
    let name = source.name.clone();
    let mut file = ArrayFile::open(source, options, true)?;
    let policy = file.policy();
    let mut table = TableBuilder::new(&name, file.names().to_vec(), file.is_labelled(), options);
    if options.rows_held == RowsHeld::OrSingle
        && let Some(rows) = file.in_place()
    {
        return Ok(table.in_place(rows));
    }
    table.has_single(file.is_single());
    table.expect(file.rows());
    let mut tally = Tally::default();
    while let Some(raw) = file.next_block()? {
        let mut block = raw.parse(None)?;
        block.before = tally.records;
        tally.merge(mem::take(&mut block.tally));
        table.add(block)?;
    }
    check_rows(&name, &tally)?;
    table.finish(&policy, &tally, options.missing, tally.notes(options.missing))
}

/// The number of cells of an array, as its header tells; `None` if it cannot be read in a stream.
pub(crate) fn cells(path: &Path) -> Option<u64> {
    let mut source = Source::open(path, None).ok()?;
    let header = read_header(&source.name.clone(), &mut source.reader).ok()?;
    if header.fortran_order {
        return None;
    }
    header.shape.iter().try_fold(1u64, |cells, &side| cells.checked_mul(side))
}

/// Where each number is, and how it is stored.
struct Layout {
    rows: usize,
    columns: usize,
    bytes: u64,
    fortran_order: bool,
    kind: Kind,
    big_endian: bool,
    width: usize,
}

#[derive(Clone, Copy)]
enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
}

impl Layout {
    fn new(source: &str, header: &NpyHeader) -> Result<Self, ReadError> {
        let (rows, columns) = match header.shape[..] {
            [rows] => (rows, 1),
            [rows, columns] => (rows, columns),
            _ => return Err(wrong_shape(source, &header.shape)),
        };
        let (kind, width) = number_type(source, &header.descr)?;
        let cells = rows.checked_mul(columns);
        let bytes = cells.and_then(|cells| cells.checked_mul(width as u64));
        let bytes = bytes.filter(|&bytes| isize::try_from(bytes).is_ok());
        let Some(bytes) = bytes else {
            let message = format!("an array of {rows} × {columns} numbers does not fit into memory");
            return Err(ReadError::new(source, message));
        };
        Ok(Self {
            // An array without cells may claim any number of rows.
            rows: if bytes == 0 { 0 } else { rows as usize },
            columns: if rows == 0 { columns.min(1) } else { columns } as usize,
            bytes,
            fortran_order: header.fortran_order,
            kind,
            big_endian: header.descr.starts_with('>'),
            width,
        })
    }

    /// Texts of one length, which are not numbers.
    fn of_text(rows: usize, bytes: u64, width: usize) -> Self {
        Self { rows, columns: 1, bytes, fortran_order: false, kind: Kind::Unsigned, big_endian: false, width }
    }

    /// The bytes of all numbers; no more than may be held, whatever the header claims.
    fn read(
        &self,
        source: &mut Source,
        header: &NpyHeader,
        options: &ReadOptions,
    ) -> Result<Vec<u8>, ReadError> {
        let name = &source.name;
        self.check_size(name, source.size().map(|size| size.saturating_sub(header.length)))?;
        if let Some(most) = options.most_bytes.filter(|&most| self.bytes > most) {
            return Err(ReadError::too_large(name, most));
        }
        let mut bytes = Vec::new();
        let read = source.reader.by_ref().take(self.bytes).read_to_end(&mut bytes);
        read.map_err(|error| ReadError::read(&source.name, error))?;
        self.check_size(&source.name, Some(bytes.len() as u64))?;
        Ok(bytes)
    }

    fn check_size(&self, source: &str, available: Option<u64>) -> Result<(), ReadError> {
        match available {
            Some(available) if available < self.bytes => {
                let message = format!(
                    "{} × {} numbers need {} bytes after the header, but there are {available}",
                    self.rows, self.columns, self.bytes
                );
                Err(ReadError::new(source, message).hint("the file is truncated; write or copy it again"))
            }
            _ => Ok(()),
        }
    }

    /// The number at a place among those in `bytes`.
    fn scalar(&self, bytes: &[u8], cell: usize) -> Scalar<'static> {
        let stored = &bytes[cell * self.width..][..self.width];
        let mut word = [0; 8];
        word[..self.width].copy_from_slice(stored);
        if self.big_endian {
            word[..self.width].reverse();
        }
        self.decode(u64::from_le_bytes(word))
    }

    fn decode(&self, bits: u64) -> Scalar<'static> {
        match (self.kind, self.width) {
            (Kind::Bool, _) => Scalar::Bool(bits != 0),
            (Kind::Unsigned, _) => Scalar::Int(i128::from(bits)),
            (Kind::Signed, width) => {
                // Shifting up and down again copies the sign bit into the unused ones.
                let unused = 64 - 8 * width as u32;
                Scalar::Int(i128::from((bits << unused).cast_signed() >> unused))
            }
            (Kind::Float, 2) => Scalar::Single(half(bits as u16)),
            (Kind::Float, 4) => Scalar::Single(f32::from_bits(bits as u32)),
            (Kind::Float, _) => Scalar::Double(f64::from_bits(bits)),
        }
    }
}

fn number_type(source: &str, descr: &str) -> Result<(Kind, usize), ReadError> {
    let name = descr.strip_prefix(['<', '>', '|', '=']).unwrap_or(descr);
    let found = match name {
        "b1" => (Kind::Bool, 1),
        "i1" => (Kind::Signed, 1),
        "i2" => (Kind::Signed, 2),
        "i4" => (Kind::Signed, 4),
        "i8" => (Kind::Signed, 8),
        "u1" => (Kind::Unsigned, 1),
        "u2" => (Kind::Unsigned, 2),
        "u4" => (Kind::Unsigned, 4),
        "u8" => (Kind::Unsigned, 8),
        "f2" => (Kind::Float, 2),
        "f4" => (Kind::Float, 4),
        "f8" => (Kind::Float, 8),
        _ => {
            let what = match name.chars().next() {
                Some('O') => "Python objects",
                Some('U' | 'S') => "text",
                Some('c') => "complex numbers",
                Some('M' | 'm') => "times",
                _ => "something else",
            };
            let message = format!(
                "the array holds {what} (dtype '{descr}'); float16 to float64, integers and bool are read"
            );
            return Err(ReadError::new(source, message)
                .hint("convert it in Python: numpy.save(path, array.astype('float64'))"));
        }
    };
    Ok(found)
}

fn wrong_shape(source: &str, shape: &[u64]) -> ReadError {
    let lengths: Vec<String> = shape.iter().map(u64::to_string).collect();
    let message = format!(
        "the array has {} dimensions, with lengths ({}); one or two are read",
        shape.len(),
        lengths.join(", ")
    );
    ReadError::new(source, message)
        .hint("give each row one vector: numpy.save(path, array.reshape(len(array), -1))")
}
