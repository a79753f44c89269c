//! Labels in an array of their own: numbers, booleans or text.

use crate::error::{ReadError, excerpt};
use crate::npy::Layout;
use crate::npy::header::{NpyHeader, read_header};
use crate::options::ReadOptions;
use crate::scalar::Scalar;
use crate::source::Source;

/// One label a row; `None` where it is missing (NaN, or an empty text).
pub(crate) fn read_labels(
    mut source: Source,
    options: &ReadOptions,
) -> Result<Vec<Option<String>>, ReadError> {
    let name = source.name.clone();
    let header = read_header(&name, &mut source.reader)?;
    check_shape(&name, &header.shape)?;
    let Some(text) = Text::of(&header.descr) else {
        let array = Layout::new(&name, &header)?;
        let bytes = array.read(&mut source, &header, options)?;
        return Ok((0..array.rows).map(|row| array.scalar(&bytes, row).label()).collect());
    };
    let array = text.layout(&name, &header)?;
    let bytes = array.read(&mut source, &header, options)?;
    if array.width == 0 {
        return Ok(vec![None; array.rows]);
    }
    bytes.chunks_exact(array.width).map(|cell| text.label(&name, cell)).collect()
}

/// One dimension, or a second of length 1.
fn check_shape(source: &str, shape: &[u64]) -> Result<(), ReadError> {
    if matches!(shape, [_] | [_, 1]) {
        return Ok(());
    }
    let lengths: Vec<String> = shape.iter().map(u64::to_string).collect();
    let message =
        format!("the array has shape ({}), and labels are one number or text a row", lengths.join(", "));
    Err(ReadError::new(source, message).hint("save one dimension: numpy.save(path, labels.ravel())"))
}

/// Text of a fixed length: `U`, of four bytes a character, or `S`, of bytes.
struct Text {
    wide: bool,
    big_endian: bool,
    width: u64,
}

impl Text {
    fn of(descr: &str) -> Option<Self> {
        let name = descr.strip_prefix(['<', '>', '|', '=']).unwrap_or(descr);
        let wide = name.starts_with('U');
        let length: u64 = name.strip_prefix(['U', 'S'])?.parse().ok()?;
        let width = length.checked_mul(if wide { 4 } else { 1 })?;
        Some(Self { wide, big_endian: descr.starts_with('>'), width })
    }

    fn layout(&self, source: &str, header: &NpyHeader) -> Result<Layout, ReadError> {
        let rows = header.shape[0];
        let bytes = rows.checked_mul(self.width).filter(|&bytes| isize::try_from(bytes).is_ok());
        let Some(bytes) = bytes else {
            let message = format!("{rows} labels of {} bytes do not fit into memory", self.width);
            return Err(ReadError::new(source, message));
        };
        // Texts without characters may claim any number of rows.
        let rows = if self.width == 0 { rows.min(MOST_EMPTY) } else { rows };
        Ok(Layout::of_text(rows as usize, bytes, self.width as usize))
    }

    fn label(&self, source: &str, cell: &[u8]) -> Result<Option<String>, ReadError> {
        if !self.wide {
            let end = cell.iter().rposition(|&byte| byte != 0).map_or(0, |end| end + 1);
            return Ok(Scalar::Text(&cell[..end]).label());
        }
        let code = |bytes: &[u8]| {
            let word: [u8; 4] = bytes.try_into().unwrap_or_default();
            if self.big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
        };
        let mut codes: Vec<u32> = cell.chunks_exact(4).map(code).collect();
        while codes.last() == Some(&0) {
            codes.pop();
        }
        let text: Option<String> = codes.iter().map(|&code| char::from_u32(code)).collect();
        let Some(text) = text else {
            let message = format!("the label {} is not text: a character is no Unicode", excerpt(cell));
            return Err(ReadError::new(source, message).hint("the file is damaged; write or copy it again"));
        };
        Ok(Scalar::Text(text.as_bytes()).label())
    }
}

/// Rows of empty labels that are believed; all of them are missing.
const MOST_EMPTY: u64 = 1 << 24;
