//! Numbers, counts and times as people read them.

pub(crate) use mahala_io::table_writer::exact;

/// Seconds with a unit that suits them.
pub(crate) fn seconds(value: f64) -> String {
    if value < 1e-3 {
        format!("{:.0} µs", 1e6 * value)
    } else if value < 1.0 {
        format!("{:.1} ms", 1e3 * value)
    } else {
        format!("{value:.1} s")
    }
}

/// A whole number with thin groups of three: 12 345 678.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// The first ten of some names, and how many more there are.
pub(crate) fn first_names(names: &[&str]) -> String {
    let shown = names[..names.len().min(10)].join(", ");
    match names.len().saturating_sub(10) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// `1 row`, `12 345 rows`
pub(crate) fn count(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// `1 class`, `3 classes`
pub(crate) fn classes(number: usize) -> String {
    format!("{} class{}", grouped(number as u64), if number == 1 { "" } else { "es" })
}

/// `512 B`, `18.3 kB`, `1.2 GB`: in powers of 1000.
pub(crate) fn bytes(number: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let (mut value, mut unit) = (number as f64, 0);
    // What would be shown as 1000 is 1 of the next unit.
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{number} B") } else { format!("{value:.1} {}", units[unit]) }
}

/// `178 rows x 13 columns`
pub(crate) fn table(rows: usize, columns: usize) -> String {
    format!("{} x {}", count(rows as u64, "row"), count(columns as u64, "column"))
}

/// A few digits, for people.
pub(crate) fn rounded(value: f64) -> String {
    match value.abs() {
        0.0 | 1e-2..1e6 => format!("{value:.4}"),
        _ => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_times_have_units() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(
            (seconds(2e-5), seconds(0.25), seconds(3.04)),
            ("20 µs".into(), "250.0 ms".into(), "3.0 s".into())
        );
    }

    #[test]
    fn sizes_are_in_powers_of_a_thousand() {
        let shown = [0, 999, 1000, 18_349, 999_949, 999_950, 1_200_000_000].map(bytes);
        assert_eq!(shown, ["0 B", "999 B", "1.0 kB", "18.3 kB", "999.9 kB", "1.0 MB", "1.2 GB"]);
        assert_eq!(table(1, 13), "1 row x 13 columns");
    }

    #[test]
    fn zeros_do_not_fill_the_line() {
        assert_eq!([exact(0.0), exact(-1.5), exact(1e16)], ["0", "-1.5", "10000000000000000"]);
        assert_eq!([exact(1.25e150), exact(-2e-150)], ["1.25e150", "-2e-150"]);
        assert_eq!([rounded(0.0), rounded(0.48131), rounded(1.6079e132)], ["0.0000", "0.4813", "1.608e132"]);
        assert_eq!([count(1, "row"), count(2000, "row")], ["1 row", "2 000 rows"]);
    }
}
