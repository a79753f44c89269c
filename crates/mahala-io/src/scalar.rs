//! One typed value of a binary file.

/// A value as the file has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar<'a> {
    Bool(bool),
    Int(i128),
    Single(f32),
    Double(f64),
    Text(&'a [u8]),
}

impl Scalar<'_> {
    /// The value as a feature; text is none.
    pub(crate) fn number(&self) -> Option<f64> {
        match *self {
            Scalar::Bool(value) => Some(f64::from(u8::from(value))),
            Scalar::Int(value) => Some(value as f64),
            Scalar::Single(value) => Some(f64::from(value)),
            Scalar::Double(value) => Some(value),
            Scalar::Text(_) => None,
        }
    }

    /// The value as a label: the shortest text that reads back as the same number, see
    /// [`mahala::data::canonical_label`]. NaN is a missing label; text that is not UTF-8 is lossy.
    pub(crate) fn label(&self) -> Option<String> {
        match *self {
            Scalar::Bool(value) => Some(value.to_string()),
            Scalar::Int(value) => Some(value.to_string()),
            Scalar::Single(value) => (!value.is_nan()).then(|| canonical(&format!("{value:?}"))),
            Scalar::Double(value) => (!value.is_nan()).then(|| canonical(&format!("{value:?}"))),
            Scalar::Text(text) => {
                let text = String::from_utf8_lossy(text.trim_ascii()).into_owned();
                (!crate::cell::is_missing(text.as_bytes())).then_some(text)
            }
        }
    }
}

/// The label of a token that can only be a number: leading zeros and exponents without a sign mean nothing else.
pub(crate) fn number_label(token: &str) -> String {
    let (sign, digits) = match token.strip_prefix(['+', '-']) {
        Some(digits) => (&token[..1], digits),
        None => ("", token),
    };
    let zeros = digits.bytes().take_while(|&byte| byte == b'0').count();
    let digits = match digits.as_bytes().get(zeros) {
        Some(byte) if byte.is_ascii_digit() => &digits[zeros..],
        _ => &digits[zeros.saturating_sub(1)..],
    };
    canonical(&format!("{sign}{digits}"))
}

fn canonical(number: &str) -> String {
    let number = number.replace('E', "e");
    let signed = number.contains("e-") || number.contains("e+");
    let number = if signed { number } else { number.replace('e', "e+") };
    mahala::data::canonical_label(&number).into_owned()
}

/// The value of a half-precision number, from its bits.
///
/// # Formula
///
/// sign · 2^(exponent − 15) · (1 + mantissa / 1024), or sign · 2^−14 · mantissa / 1024 where the
/// exponent is 0 (IEEE 754, binary16)
pub(crate) fn half(bits: u16) -> f32 {
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

/// An integer divided by a power of ten.
pub(crate) fn decimal(integer: i128, scale: i32) -> Scalar<'static> {
    // Whole numbers keep all their digits.
    let unit = u32::try_from(scale).ok().and_then(|scale| 10_i128.checked_pow(scale));
    if let Some(unit) = unit
        && integer % unit == 0
    {
        return Scalar::Int(integer / unit);
    }
    Scalar::Double(integer as f64 / 10.0_f64.powi(scale))
}
