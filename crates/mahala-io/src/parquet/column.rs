//! The values of one column of a Parquet row group.

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, DoubleType, FixedLenByteArray};
use parquet::errors::Result;
use parquet::schema::types::ColumnDescriptor;

use crate::scalar::{Scalar, decimal, half};

/// What the values of a column mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
    Half,
    /// An integer, to be divided by this power of ten.
    Decimal(i32),
    Text,
    Time,
    /// Bytes with a meaning that is neither a number nor text.
    Bytes,
}

impl Kind {
    pub(crate) fn of(column: &ColumnDescriptor) -> Self {
        let converted = column.converted_type();
        let logical = column.logical_type_ref();
        if converted == ConvertedType::DECIMAL || matches!(logical, Some(LogicalType::Decimal(_))) {
            return Self::Decimal(column.type_scale());
        }
        match column.physical_type() {
            Type::BOOLEAN => Self::Bool,
            Type::FLOAT | Type::DOUBLE => Self::Float,
            Type::INT96 => Self::Time,
            Type::INT32 | Type::INT64 => Self::of_integer(converted, logical),
            Type::BYTE_ARRAY => Self::Text,
            Type::FIXED_LEN_BYTE_ARRAY if logical == Some(&LogicalType::Float16) => Self::Half,
            Type::FIXED_LEN_BYTE_ARRAY => Self::Bytes,
        }
    }

    fn of_integer(converted: ConvertedType, logical: Option<&LogicalType>) -> Self {
        use ConvertedType as C;
        use LogicalType as L;
        if matches!(logical, Some(L::Date | L::Time(_) | L::Timestamp(_))) {
            return Self::Time;
        }
        match (converted, logical) {
            (C::DATE | C::TIME_MILLIS | C::TIME_MICROS | C::TIMESTAMP_MILLIS | C::TIMESTAMP_MICROS, _) => {
                Self::Time
            }
            (C::UINT_8 | C::UINT_16 | C::UINT_32 | C::UINT_64, _) => Self::Unsigned,
            (_, Some(L::Integer(integer))) if !integer.is_signed => Self::Unsigned,
            _ => Self::Signed,
        }
    }

    /// Why the column cannot be used as a label or, if it is none, as a feature.
    pub(crate) fn unfit(self, is_label: bool) -> Option<&'static str> {
        match self {
            Self::Text if !is_label => Some("has text"),
            Self::Time => Some("has dates or times"),
            Self::Bytes => Some("has bytes"),
            _ => None,
        }
    }

    fn integer(self, signed: i64, unsigned: u64) -> Scalar<'static> {
        match self {
            Self::Decimal(scale) => decimal(i128::from(signed), scale),
            Self::Unsigned => Scalar::Int(i128::from(unsigned)),
            _ => Scalar::Int(i128::from(signed)),
        }
    }

    fn bytes(self, bytes: &[u8]) -> Scalar<'_> {
        match (self, bytes) {
            (Self::Half, &[low, high]) => Scalar::Single(half(u16::from_le_bytes([low, high]))),
            (Self::Decimal(scale), _) => match big_endian(bytes) {
                Some(integer) => decimal(integer, scale),
                None => Scalar::Double(wide_big_endian(bytes) / 10.0_f64.powi(scale)),
            },
            _ => Scalar::Text(bytes),
        }
    }
}

/// Calls `take` with each of at most `length` values of a flat column, in order; `None` for null.
pub(crate) fn read_values(
    reader: &mut ColumnReader,
    kind: Kind,
    length: usize,
    take: &mut dyn FnMut(Option<Scalar<'_>>),
) -> Result<()> {
    read_levels(reader, kind, length, 1, &mut |_, _, value| take(value))
}

/// Calls `take` with repetition level, definition level and value of everything in at most `length` rows; a value is
/// there at the definition level `present`.
pub(crate) fn read_levels(
    reader: &mut ColumnReader,
    kind: Kind,
    length: usize,
    present: i16,
    take: &mut dyn FnMut(i16, i16, Option<Scalar<'_>>),
) -> Result<()> {
    macro_rules! drain {
        ($reader:expr, $scalar:expr) => {
            drain($reader, length, present, |rep, def, value| take(rep, def, value.map($scalar)))
        };
    }
    match reader {
        ColumnReader::BoolColumnReader(r) => drain!(r, |&v| Scalar::Bool(v)),
        ColumnReader::Int32ColumnReader(r) => {
            drain!(r, |&v: &i32| kind.integer(v.into(), v.cast_unsigned().into()))
        }
        ColumnReader::Int64ColumnReader(r) => drain!(r, |&v: &i64| kind.integer(v, v.cast_unsigned())),
        ColumnReader::FloatColumnReader(r) => drain!(r, |&v| Scalar::Single(v)),
        ColumnReader::DoubleColumnReader(r) => drain!(r, |&v| Scalar::Double(v)),
        ColumnReader::ByteArrayColumnReader(r) => drain!(r, |v: &ByteArray| kind.bytes(v.data())),
        ColumnReader::FixedLenByteArrayColumnReader(r) => {
            drain!(r, |v: &FixedLenByteArray| kind.bytes(v.data()))
        }
        // A column of 96-bit times is refused before it is read.
        ColumnReader::Int96ColumnReader(_) => Ok(()),
    }
}

/// Appends at most `length` values of a feature, in order; NaN for null.
pub(crate) fn read_numbers(
    reader: &mut ColumnReader,
    kind: Kind,
    length: usize,
    numbers: &mut Vec<f64>,
) -> Result<()> {
    if let ColumnReader::DoubleColumnReader(doubles) = reader {
        return read_doubles(doubles, length, numbers);
    }
    let take = &mut |value: Option<Scalar<'_>>| {
        numbers.push(value.and_then(|value| value.number()).unwrap_or(f64::NAN));
    };
    read_values(reader, kind, length, take)
}

/// Doubles go where they belong without a step between, unless some are null.
fn read_doubles(
    reader: &mut ColumnReaderImpl<DoubleType>,
    length: usize,
    numbers: &mut Vec<f64>,
) -> Result<()> {
    let (mut levels, end) = (Vec::new(), numbers.len() + length);
    while numbers.len() < end {
        levels.clear();
        let start = numbers.len();
        let (records, _, _) = reader.read_records(end - start, Some(&mut levels), None, numbers)?;
        if records == 0 {
            break;
        }
        if numbers.len() < start + records {
            let present = numbers.split_off(start);
            let mut present = present.into_iter();
            let value = |&level: &i16| if level > 0 { present.next().unwrap_or(f64::NAN) } else { f64::NAN };
            numbers.extend(levels.iter().map(value));
        }
    }
    Ok(())
}

/// Reads in batches, so that what the file claims about its length is not believed beforehand.
fn drain<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    length: usize,
    present: i16,
    mut take: impl FnMut(i16, i16, Option<&T::T>),
) -> Result<()> {
    const BATCH: usize = 8192;
    let (mut repetitions, mut definitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut left = length;
    while left > 0 {
        repetitions.clear();
        definitions.clear();
        values.clear();
        let (records, _, _) = reader.read_records(
            left.min(BATCH),
            Some(&mut definitions),
            Some(&mut repetitions),
            &mut values,
        )?;
        if records == 0 {
            break;
        }
        // A required column has no levels: all its values are present. A flat one does not repeat.
        let mut there = values.iter();
        if definitions.is_empty() {
            there.for_each(|value| take(0, present, Some(value)));
        } else {
            for (i, &definition) in definitions.iter().enumerate() {
                let repetition = repetitions.get(i).copied().unwrap_or(0);
                take(repetition, definition, if definition == present { there.next() } else { None });
            }
        }
        left = left.saturating_sub(records);
    }
    Ok(())
}

/// An integer of more than 128 bits, to the nearest few units in the last place.
fn wide_big_endian(bytes: &[u8]) -> f64 {
    let (high, low) = bytes.split_at(bytes.len() % 16);
    let words = low.chunks_exact(16).filter_map(|word| Some(u128::from_be_bytes(word.try_into().ok()?)));
    let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    // Two's complement: the bits of a negative number, less one.
    let flip = if negative { u128::MAX } else { 0 };
    let first =
        high.iter().fold(0u128, |word, byte| word << 8 | u128::from(if negative { !byte } else { *byte }));
    let magnitude = words.fold(first as f64, |sum, word| sum * 2.0_f64.powi(128) + (word ^ flip) as f64);
    if negative { -magnitude - 1.0 } else { magnitude }
}

fn big_endian(bytes: &[u8]) -> Option<i128> {
    let mut word = [if bytes.first()? & 0x80 == 0 { 0 } else { 0xFF }; 16];
    let start = 16_usize.checked_sub(bytes.len())?;
    word[start..].copy_from_slice(bytes);
    Some(i128::from_be_bytes(word))
}

#[cfg(test)]
mod tests {
    use super::wide_big_endian;

    #[test]
    fn integers_of_256_bits_are_read() {
        let bytes = |low: u8, fill: u8| [[fill; 31].as_slice(), &[low]].concat();
        assert_eq!(wide_big_endian(&bytes(7, 0)), 7.0);
        assert_eq!(wide_big_endian(&bytes(0xFF, 0xFF)), -1.0);
        assert_eq!(wide_big_endian(&bytes(0, 0xFF)), -256.0);
        let mut large = [0; 32];
        large[11] = 1;
        assert_eq!(wide_big_endian(&large), 2.0_f64.powi(160));
        assert_eq!(wide_big_endian(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), 2.0_f64.powi(128));
    }
}
