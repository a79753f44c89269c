//! Canonical spelling of labels, so that one class read from different sources is one class.

use std::borrow::Cow;

/// Integers of more digits than the largest double has are left as they are written.
const MOST_DIGITS: usize = 400;

/// The spelling under which a label is known: numbers as numbers, booleans as booleans, all else as it is.
///
/// - A decimal number is written without a plus sign, trailing zeros or exponent: `1`, `1.0`, `+1`, `1.000e+00` are
///   `1`; `-0.0` is `0`; `2.50` is `2.5`. Integers keep every digit. A fraction is the shortest text of the nearest
///   64-bit number, as NPY and Parquet files give it.
/// - `true`, `True` and `TRUE` are `true`; the same holds for `false`. They are not the numbers 1 and 0.
/// - Numbers with leading zeros (`01`, `007`) are codes rather than quantities, and stay text. So do digits with an `e`
///   between them (`1e5`), as hexadecimal identifiers have it: an exponent is one behind a point, or with a sign.
///
/// The rule looks at one label at a time, so that parts of a table agree. It is idempotent.
///
/// ```
/// use mahala::data::canonical_label;
/// assert_eq!(canonical_label("+1.0"), "1");
/// assert_eq!(canonical_label("True"), "true");
/// assert_eq!(canonical_label("007"), "007");
/// assert_eq!(canonical_label("9007199254740993.0"), "9007199254740993");
/// ```
pub fn canonical_label(label: &str) -> Cow<'_, str> {
    match label {
        "true" | "True" | "TRUE" => Cow::Borrowed("true"),
        "false" | "False" | "FALSE" => Cow::Borrowed("false"),
        _ => Decimal::parse(label)
            .and_then(|decimal| decimal.shortest(label))
            .map_or(Cow::Borrowed(label), Cow::Owned),
    }
}

/// Whether two labels are the same class.
///
/// ```
/// assert!(mahala::data::same_label("2", "2.0"));
/// assert!(!mahala::data::same_label("2", "02"));
/// ```
pub fn same_label(a: &str, b: &str) -> bool {
    a == b || canonical_label(a) == canonical_label(b)
}

/// A decimal number: `±digits·10^power`.
struct Decimal {
    negative: bool,
    /// Without zeros at either end; empty for 0.
    digits: String,
    power: i64,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return None;
        }
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (unsigned, None),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let pointed = whole.len() < mantissa.len();
        let is_code = whole.len() > 1 && whole.starts_with('0');
        if is_code || whole.len() + fraction.len() == 0 || !(is_digits(whole) && is_digits(fraction)) {
            return None;
        }
        let exponent = exponent.map_or(Some(0), |exponent| parse_exponent(exponent, pointed))?;
        let all = format!("{whole}{fraction}");
        let digits = all.trim_end_matches('0');
        let (behind, zeros) = (fraction.len(), all.len() - digits.len());
        let power = exponent - i64::try_from(behind).ok()? + i64::try_from(zeros).ok()?;
        let digits = digits.trim_start_matches('0').to_owned();
        Some(Self { negative: text.starts_with('-'), digits, power })
    }

    /// The shortest spelling; `None` if that would be very long. `text` is what was parsed.
    fn shortest(&self, text: &str) -> Option<String> {
        let sign = if self.negative { "-" } else { "" };
        if self.digits.is_empty() {
            return Some("0".to_owned());
        }
        if self.power >= 0 {
            let zeros =
                usize::try_from(self.power).ok().filter(|zeros| self.digits.len() + zeros <= MOST_DIGITS)?;
            return Some(format!("{sign}{}{}", self.digits, "0".repeat(zeros)));
        }
        match text.parse::<f64>() {
            Ok(value) if value.fract() != 0.0 => Some(format!("{value:?}")),
            // More digits than a double has, or below the smallest one.
            _ => None,
        }
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// An exponent behind a number with a point may lack its sign.
fn parse_exponent(text: &str, pointed: bool) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']);
    if !is_digits(digits.unwrap_or(text)) || (digits.is_none() && !pointed) {
        return None;
    }
    text.parse::<i64>().ok().filter(|exponent| exponent.abs() < 10_000)
}

#[cfg(test)]
mod tests {
    use super::{canonical_label, same_label};

    #[test]
    fn spellings_of_one_number_are_one_label() {
        let same = [
            ("1", &["1", "1.0", "+1", "1.", "1.000e+00", "10e-1", "0.1e1", "1e+0"][..]),
            ("0", &["0", "-0", "0.0", "-0.0", "+0", "0e+5", ".0"]),
            ("-3", &["-3", "-3.0", "-3.00"]),
            ("0.5", &["0.5", ".5", "0.50", "+.5", "5e-1", "5.000000000000000000e-01"]),
            ("0.1", &["0.1", "1.000000000000000056e-01"]),
            ("1e-7", &["1e-7", "1e-07", "0.0000001"]),
            ("100000000000000000000000", &["1e+23", "1.0e23", "100000000000000000000000"]),
            ("9007199254740993", &["9007199254740993", "9007199254740993.0"]),
            ("true", &["true", "True", "TRUE"]),
            ("false", &["false", "False", "FALSE"]),
        ];
        for (canonical, spellings) in same {
            for spelling in spellings {
                assert_eq!(canonical_label(spelling), canonical, "{spelling}");
            }
        }
    }

    #[test]
    fn what_is_no_plain_number_stays_as_it_is() {
        let kept = [
            "",
            "01",
            "007",
            "-01",
            "00",
            "1e5",
            "12E3",
            "1,5",
            "1.2.3",
            "1e",
            "e1",
            "+",
            "-",
            ".",
            "+.",
            "1 ",
            " 1",
            "tRue",
            "t",
            "inf",
            "nan",
            "0x10",
            "1_000",
            "1e+99999",
            "1e-400",
            "²",
            "١",
            "9007199254740993.5",
        ];
        for label in kept {
            assert_eq!(canonical_label(label), label);
        }
        let long = "7".repeat(500);
        assert_eq!(canonical_label(&long), *long);
    }

    #[test]
    fn the_rule_is_idempotent() {
        for label in
            ["1e-7", "1.5e-9", "-2.50", "1e+300", "123456.789e3", "0.30000000000000004", "TRUE", "1e5"]
        {
            let once = canonical_label(label).into_owned();
            assert_eq!(canonical_label(&once), once, "{label}");
        }
    }

    #[test]
    fn booleans_are_not_numbers() {
        assert!(!same_label("true", "1"));
        assert!(!same_label("False", "0"));
        assert!(same_label("1.0", "1"));
    }
}
