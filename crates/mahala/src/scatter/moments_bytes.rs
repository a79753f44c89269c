//! Serialisation of moments, for files and networks: a header, the numbers, a checksum.
//!
//! ```text
//! magic "MAHALAM1" · columns u64 · classes u64 · peaks f64×d ·
//! per class: name length u64, name, rows u64, weight f64, mean f64×d, lower triangle f64×d(d+1)/2 ·
//! sha256 of all before
//! ```
//! Where columns have names the magic is "MAHALAM2", and length u64 and name of each follow the peaks.
//! All numbers little-endian. The triangle is stored column by column.

use crate::data::sort_class_names;
use crate::error::{Error, Result};
use crate::scatter::class_moments::{ClassMoments, MAX_ROWS};
use crate::scatter::moments::Moments;
use faer::Mat;
use sha2::{Digest, Sha256};

const MAGIC: &[u8; 8] = b"MAHALAM1";
/// The magic of moments with names for the columns.
const NAMED: &[u8; 8] = b"MAHALAM2";
const CHECKSUM: usize = 32;

impl Moments {
    /// The moments as bytes; the same moments give the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = if self.names().is_empty() { MAGIC } else { NAMED }.to_vec();
        let d = self.columns();
        put_u64(&mut bytes, d as u64);
        put_u64(&mut bytes, self.classes().len() as u64);
        put_f64(&mut bytes, self.peaks().iter().copied());
        self.names().iter().for_each(|name| put_text(&mut bytes, name));
        for class in self.classes() {
            put_text(&mut bytes, &class.name);
            put_u64(&mut bytes, class.rows);
            put_f64(&mut bytes, std::iter::once(class.weight));
            put_f64(&mut bytes, class.mean.iter().copied());
            put_f64(&mut bytes, (0..d).flat_map(|j| (j..d).map(move |i| class.scatter[(i, j)])));
        }
        let checksum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&checksum);
        bytes
    }

    /// Reads what [`Moments::to_bytes`] wrote; classes get their canonical names, which files of version 0.1.0 may lack.
    ///
    /// # Errors
    /// Anything else: foreign, truncated, altered or impossible content. Nothing is allocated that the
    /// length of the bytes does not justify.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let named = bytes.starts_with(NAMED);
        if bytes.len() < MAGIC.len() + CHECKSUM || !(named || bytes.starts_with(MAGIC)) {
            return Err(invalid("they do not begin with MAHALAM1 or MAHALAM2"));
        }
        let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        if Sha256::digest(content)[..] != *checksum {
            return Err(invalid("the checksum does not match: the bytes are truncated or altered"));
        }
        let mut reader = Reader { rest: &content[MAGIC.len()..] };
        let columns = reader.length(8)?;
        let class_count = reader.length(1)?;
        let peaks = reader.floats(columns)?;
        if columns == 0 || peaks.iter().any(|&p| p < 0.0) {
            return Err(invalid("no columns, or a negative peak"));
        }
        let named = if named { columns } else { 0 };
        let names: Vec<String> = (0..named).map(|_| reader.text()).collect::<Result<_>>()?;
        let classes: Vec<ClassMoments> =
            (0..class_count).map(|_| reader.class(columns)).collect::<Result<_>>()?;
        if !reader.rest.is_empty() {
            return Err(invalid("bytes are left over behind the last class"));
        }
        let mut sorted: Vec<&str> = classes.iter().map(ClassMoments::name).collect();
        sort_class_names(&mut sorted, |name| name);
        if sorted.windows(2).any(|two| two[0] == two[1]) {
            return Err(invalid("a class is there twice"));
        }
        if classes.iter().zip(sorted).any(|(class, name)| class.name != name) {
            return Err(invalid("its classes are not in order"));
        }
        Ok(Self::from_parts(names, peaks, classes).with_canonical_classes())
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(n).ok_or_else(|| invalid("they end too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn u64(&mut self) -> Result<u64> {
        let bytes = self.take(8)?;
        Ok(u64::from_le_bytes(bytes.try_into().map_err(|_| invalid("they end too early"))?))
    }

    /// A count of things of at least `size` bytes each, which must be there.
    fn length(&mut self, size: usize) -> Result<usize> {
        let count = self.u64()?;
        usize::try_from(count)
            .ok()
            .filter(|n| n.checked_mul(size).is_some_and(|bytes| bytes <= self.rest.len()))
            .ok_or_else(|| invalid("a length is larger than the content"))
    }

    fn floats(&mut self, n: usize) -> Result<Vec<f64>> {
        let bytes =
            self.take(n.checked_mul(8).ok_or_else(|| invalid("a length is larger than the content"))?)?;
        let values: Vec<f64> =
            bytes.as_chunks::<8>().0.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect();
        if values.iter().all(|v| v.is_finite()) { Ok(values) } else { Err(invalid("a number is not finite")) }
    }

    fn text(&mut self) -> Result<String> {
        let length = self.length(1)?;
        let text = std::str::from_utf8(self.take(length)?);
        text.map(str::to_owned).map_err(|_| invalid("a name is not UTF-8"))
    }

    fn class(&mut self, d: usize) -> Result<ClassMoments> {
        let name = self.text()?;
        let rows = self.u64()?;
        let weight = self.floats(1)?[0];
        let mean = self.floats(d)?;
        let triangle = self.floats(d * (d + 1) / 2)?;
        if weight < 0.0 {
            return Err(invalid("a weight is negative"));
        }
        if rows > MAX_ROWS {
            return Err(invalid("a class has more rows than can be counted"));
        }
        let mut scatter = Mat::zeros(d, d);
        let cells = (0..d).flat_map(|j| (j..d).map(move |i| (i, j)));
        cells.zip(triangle).for_each(|(cell, value)| scatter[cell] = value);
        if (0..d).any(|j| scatter[(j, j)] < 0.0) {
            return Err(invalid("a variance is negative"));
        }
        Ok(ClassMoments { name, rows, weight, mean, scatter })
    }
}

fn put_u64(bytes: &mut Vec<u8>, value: u64) {
    bytes.extend_from_slice(&value.to_le_bytes());
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_u64(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

fn put_f64(bytes: &mut Vec<u8>, values: impl Iterator<Item = f64>) {
    values.for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
}

fn invalid(reason: &str) -> Error {
    Error::Bytes { what: "moments file", reason: reason.to_owned() }
}
