//! The header of an NPY file: a Python dictionary that says how the numbers are stored.

use std::io::{BufRead, Read};

use crate::error::{ReadError, excerpt};

/// What an NPY header says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NpyHeader {
    /// The type of the numbers, e.g. `<f8`.
    pub(crate) descr: String,
    /// Whether columns, rather than rows, are contiguous.
    pub(crate) fortran_order: bool,
    pub(crate) shape: Vec<u64>,
    /// The bytes before the first number.
    pub(crate) length: u64,
}

/// No array of plain numbers has a longer header.
const LONGEST: u32 = 1 << 16;

/// Reads the magic bytes, the version and the dictionary.
pub(crate) fn read_header(source: &str, reader: &mut dyn BufRead) -> Result<NpyHeader, ReadError> {
    let start = read_exactly(source, reader, 8)?;
    if !start.starts_with(b"\x93NUMPY") {
        let message = format!("not an NPY file: it begins with {}", excerpt(&start));
        return Err(ReadError::new(source, message).hint("write it with numpy.save"));
    }
    let (width, length) = match start[6] {
        1 => {
            let bytes = read_exactly(source, reader, 2)?;
            (2, u32::from(u16::from_le_bytes([bytes[0], bytes[1]])))
        }
        2 | 3 => {
            let bytes = read_exactly(source, reader, 4)?;
            (4, u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        }
        other => {
            let message = format!("NPY version {other} is not known; versions 1 to 3 are read");
            return Err(ReadError::new(source, message));
        }
    };
    if length > LONGEST {
        let message = format!("the NPY header has {length} bytes, more than {LONGEST}");
        return Err(ReadError::new(source, message));
    }
    let text = read_exactly(source, reader, length)?;
    let mut header = parse(&text)
        .map_err(|wrong| ReadError::new(source, format!("the NPY header {}: {wrong}", excerpt(&text))))?;
    header.length = 8 + width + u64::from(length);
    Ok(header)
}

fn read_exactly(source: &str, reader: &mut dyn BufRead, length: u32) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    let read = reader.take(u64::from(length)).read_to_end(&mut bytes);
    read.map_err(|error| ReadError::read(source, error))?;
    if bytes.len() < length as usize {
        return Err(ReadError::new(source, "the file ends within the NPY header")
            .hint("the file is truncated; write or copy it again"));
    }
    Ok(bytes)
}

fn parse(text: &[u8]) -> Result<NpyHeader, String> {
    let mut cursor = Cursor { rest: text.trim_ascii() };
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    cursor.expect(b'{')?;
    while !cursor.take(b'}') {
        let key = cursor.string()?;
        cursor.expect(b':')?;
        match key.as_str() {
            "descr" => descr = Some(cursor.descr()?),
            "fortran_order" => fortran_order = Some(cursor.boolean()?),
            "shape" => shape = Some(cursor.tuple()?),
            other => return Err(format!("the key '{other}' is not known")),
        }
        cursor.take(b',');
    }
    Ok(NpyHeader {
        descr: descr.ok_or("'descr' is missing")?,
        fortran_order: fortran_order.ok_or("'fortran_order' is missing")?,
        shape: shape.ok_or("'shape' is missing")?,
        length: 0,
    })
}

struct Cursor<'a> {
    rest: &'a [u8],
}

impl Cursor<'_> {
    fn take(&mut self, byte: u8) -> bool {
        self.rest = self.rest.trim_ascii_start();
        let found = self.rest.first() == Some(&byte);
        self.rest = &self.rest[usize::from(found)..];
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        if self.take(byte) {
            Ok(())
        } else {
            Err(format!("'{}' expected before {}", char::from(byte), excerpt(self.rest)))
        }
    }

    /// The bytes up to the first that does not belong.
    fn word(&mut self, belongs: impl Fn(u8) -> bool) -> String {
        self.rest = self.rest.trim_ascii_start();
        let end = self.rest.iter().position(|&byte| !belongs(byte));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        String::from_utf8_lossy(word).into_owned()
    }

    fn string(&mut self) -> Result<String, String> {
        let quote = if self.take(b'"') {
            b'"'
        } else {
            self.expect(b'\'')?;
            b'\''
        };
        let word = self.word(|byte| byte != quote);
        self.expect(quote)?;
        Ok(word)
    }

    fn descr(&mut self) -> Result<String, String> {
        if self.take(b'[') {
            return Err("the array has records of several fields, not plain numbers".to_owned());
        }
        self.string()
    }

    fn boolean(&mut self) -> Result<bool, String> {
        match self.word(|byte| byte.is_ascii_alphabetic()).as_str() {
            "True" => Ok(true),
            "False" => Ok(false),
            other => Err(format!("True or False expected, not '{other}'")),
        }
    }

    fn tuple(&mut self) -> Result<Vec<u64>, String> {
        self.expect(b'(')?;
        let mut numbers = Vec::new();
        while !self.take(b')') {
            let word = self.word(|byte| byte.is_ascii_digit());
            // Python 2 wrote `10L`.
            self.take(b'L');
            let number = word.parse().map_err(|_| format!("'{word}' is not a length"))?;
            numbers.push(number);
            if !self.take(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(numbers)
    }
}
