//! Tables of `FlatBuffers`, in which Arrow files describe themselves: every offset is checked before it is followed.

/// What is not where the bytes say it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damaged(pub(crate) &'static str);

pub(crate) type Found<T> = Result<T, Damaged>;

const OUTSIDE: Damaged = Damaged("an offset leads out of the message");

/// A table somewhere in the bytes.
#[derive(Clone, Copy)]
pub(crate) struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where its list of fields is, and how many bytes of it.
    fields: usize,
    length: usize,
}

/// Some elements of equal size.
#[derive(Clone, Copy)]
pub(crate) struct Vector<'a> {
    bytes: &'a [u8],
    first: usize,
    pub(crate) length: usize,
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Found<[u8; N]> {
    let end = at.checked_add(N).ok_or(OUTSIDE)?;
    bytes.get(at..end).and_then(|number| number.try_into().ok()).ok_or(OUTSIDE)
}

/// The place that an offset at this place leads to.
fn follow(bytes: &[u8], at: usize) -> Found<usize> {
    at.checked_add(u32::from_le_bytes(number(bytes, at)?) as usize).ok_or(OUTSIDE)
}

impl<'a> Table<'a> {
    /// The table that the first offset leads to.
    pub(crate) fn root(bytes: &'a [u8]) -> Found<Self> {
        Self::at(bytes, follow(bytes, 0)?)
    }

    fn at(bytes: &'a [u8], at: usize) -> Found<Self> {
        let back = i32::from_le_bytes(number(bytes, at)?);
        let away = back.unsigned_abs() as usize;
        let fields = if back < 0 { at.checked_add(away) } else { at.checked_sub(away) }.ok_or(OUTSIDE)?;
        let length = usize::from(u16::from_le_bytes(number(bytes, fields)?));
        Ok(Self { bytes, at, fields, length })
    }

    /// The place of a field; `None` if it is left out.
    fn place(&self, field: usize) -> Found<Option<usize>> {
        let slot = 4 + 2 * field;
        if slot + 2 > self.length {
            return Ok(None);
        }
        let offset = u16::from_le_bytes(number(self.bytes, self.fields + slot)?);
        Ok((offset > 0).then(|| self.at + usize::from(offset)))
    }

    pub(crate) fn byte(&self, field: usize) -> Found<u8> {
        self.place(field)?.map_or(Ok(0), |at| number::<1>(self.bytes, at).map(|[byte]| byte))
    }

    pub(crate) fn short(&self, field: usize) -> Found<i16> {
        self.place(field)?.map_or(Ok(0), |at| number(self.bytes, at).map(i16::from_le_bytes))
    }

    pub(crate) fn int(&self, field: usize, default: i32) -> Found<i32> {
        self.place(field)?.map_or(Ok(default), |at| number(self.bytes, at).map(i32::from_le_bytes))
    }

    pub(crate) fn long(&self, field: usize) -> Found<i64> {
        self.place(field)?.map_or(Ok(0), |at| number(self.bytes, at).map(i64::from_le_bytes))
    }

    pub(crate) fn table(&self, field: usize) -> Found<Option<Self>> {
        self.place(field)?.map(|at| Self::at(self.bytes, follow(self.bytes, at)?)).transpose()
    }

    pub(crate) fn text(&self, field: usize) -> Found<String> {
        let Some(text) = self.vector(field, 1)? else { return Ok(String::new()) };
        let text = &self.bytes[text.first..text.first + text.length];
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// A vector of elements of so many bytes, all of which are there.
    pub(crate) fn vector(&self, field: usize, size: usize) -> Found<Option<Vector<'a>>> {
        let Some(at) = self.place(field)? else { return Ok(None) };
        let start = follow(self.bytes, at)?;
        let length = u32::from_le_bytes(number(self.bytes, start)?) as usize;
        let first = start + 4;
        let end = length.checked_mul(size).and_then(|bytes| first.checked_add(bytes)).ok_or(OUTSIDE)?;
        self.bytes.get(first..end).ok_or(OUTSIDE)?;
        Ok(Some(Vector { bytes: self.bytes, first, length }))
    }

    /// A vector of tables.
    pub(crate) fn tables(&self, field: usize) -> Found<Vec<Self>> {
        let Some(offsets) = self.vector(field, 4)? else { return Ok(Vec::new()) };
        let table = |i: usize| Self::at(self.bytes, follow(self.bytes, offsets.first + 4 * i)?);
        (0..offsets.length).map(table).collect()
    }

    /// A vector of 64-bit integers, or of pairs of them, as one row.
    pub(crate) fn longs(&self, field: usize, in_each: usize) -> Found<Vec<i64>> {
        let Some(vector) = self.vector(field, 8 * in_each)? else { return Ok(Vec::new()) };
        let long = |i: usize| number(vector.bytes, vector.first + 8 * i).map(i64::from_le_bytes);
        (0..vector.length * in_each).map(long).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    /// A table with one 32-bit field, its list of fields before it.
    const TABLE: [u8; 18] = [10, 0, 0, 0, 6, 0, 8, 0, 4, 0, 6, 0, 0, 0, 7, 0, 0, 0];

    #[test]
    fn fields_are_found_and_those_left_out_have_their_default() {
        let table = Table::root(&TABLE).expect("a table");
        assert_eq!(table.int(0, 3), Ok(7));
        assert_eq!(table.int(1, 3), Ok(3));
    }

    #[test]
    fn every_cut_and_every_offset_out_of_bounds_is_refused() {
        for end in 0..TABLE.len() {
            let cut = Table::root(&TABLE[..end]).and_then(|table| table.int(0, 3));
            assert!(cut.is_err(), "{end}");
        }
        let mut far = TABLE;
        far[0] = 200;
        assert!(Table::root(&far).is_err());
    }
}
