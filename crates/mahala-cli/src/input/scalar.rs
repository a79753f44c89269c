//! One typed value of a binary file.

/// A value as the file has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar<'a> {
    Bool(bool),
    Int(i128),
    Single(f32),
    Double(f64),
    Text(&'a [u8]),
}

impl Scalar<'_> {
    /// The value as a feature; text is none.
    pub(super) fn number(&self) -> Option<f64> {
        match *self {
            Scalar::Bool(value) => Some(f64::from(u8::from(value))),
            Scalar::Int(value) => Some(value as f64),
            Scalar::Single(value) => Some(f64::from(value)),
            Scalar::Double(value) => Some(value),
            Scalar::Text(_) => None,
        }
    }

    /// The value as a label: `3` rather than `3.0`, otherwise the shortest text that reads back as
    /// the same number. NaN is a missing label; text that is not UTF-8 is lossy.
    pub(super) fn label(&self) -> Option<String> {
        match *self {
            Scalar::Bool(value) => Some(value.to_string()),
            Scalar::Int(value) => Some(value.to_string()),
            Scalar::Single(value) if value.is_nan() => None,
            Scalar::Double(value) if value.is_nan() => None,
            Scalar::Single(value) => Some(integral(f64::from(value)).unwrap_or_else(|| format!("{value:?}"))),
            Scalar::Double(value) => Some(integral(value).unwrap_or_else(|| format!("{value:?}"))),
            Scalar::Text(text) => {
                let text = String::from_utf8_lossy(text.trim_ascii()).into_owned();
                (!super::cell::is_missing(text.as_bytes())).then_some(text)
            }
        }
    }
}

/// The text of a number that is an integer, and small enough for every integer near it to be exact.
fn integral(value: f64) -> Option<String> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (value.fract() == 0.0 && value.abs() <= EXACT).then(|| (value as i64).to_string())
}

/// The value of a half-precision number, from its bits.
///
/// # Formula
///
/// sign · 2^(exponent − 15) · (1 + mantissa / 1024), or sign · 2^−14 · mantissa / 1024 where the
/// exponent is 0 (IEEE 754, binary16)
pub(super) fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from((bits >> 10) & 0x1F);
    let mantissa = f32::from(bits & 0x3FF) / 1024.0;
    sign * match exponent {
        0 => mantissa * 2.0_f32.powi(-14),
        31 if mantissa == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + mantissa) * 2.0_f32.powi(exponent - 15),
    }
}
