//! One cell of a text table, parsed.

/// What a cell says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell {
    /// A finite number, written with a point or as an integer.
    Number(f64),
    /// A finite number written with a decimal comma.
    Comma(f64),
    /// `true` or `false`, as programs write them.
    Boolean(bool),
    /// Nothing, or one of the usual words for nothing.
    Missing,
    /// A number beyond the largest double, or the word for infinity.
    Infinite,
    /// Both commas and points, or several commas: a thousands separator.
    Thousands,
    /// Anything else.
    Text,
}

/// Parses a trimmed cell.
pub(crate) fn parse_cell(cell: &[u8]) -> Cell {
    match fast_float2::parse::<f64, _>(cell) {
        Ok(value) if value.is_finite() => Cell::Number(value),
        Ok(value) if value.is_nan() => Cell::Missing,
        Ok(_) => Cell::Infinite,
        Err(_) if is_missing(cell) => Cell::Missing,
        Err(_) if boolean(cell).is_some() => boolean(cell).map_or(Cell::Text, Cell::Boolean),
        Err(_) if cell.contains(&b',') => parse_with_comma(cell),
        Err(_) => Cell::Text,
    }
}

/// The truth value that a cell says in one of the spellings that labels know, too.
fn boolean(cell: &[u8]) -> Option<bool> {
    match cell {
        b"true" | b"True" | b"TRUE" => Some(true),
        b"false" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

/// Whether the cell is empty or one of the usual words for a missing value.
pub(crate) fn is_missing(cell: &[u8]) -> bool {
    matches!(
        cell,
        b"" | b"." | b"?" | b"NA" | b"N/A" | b"n/a" | b"#N/A" | b"<NA>" | b"null" | b"NULL" | b"None"
    ) || (matches!(cell.len(), 3 | 4)
        && matches!(fast_float2::parse::<f64, _>(cell), Ok(value) if value.is_nan()))
}

/// Whether the cell is a word for infinity: no name of a class.
pub(crate) fn is_infinity(cell: &[u8]) -> bool {
    let word = cell.strip_prefix(b"+").or(cell.strip_prefix(b"-")).unwrap_or(cell);
    word.eq_ignore_ascii_case(b"inf") || word.eq_ignore_ascii_case(b"infinity")
}

fn parse_with_comma(cell: &[u8]) -> Cell {
    // No double needs more characters than this; a longer cell is text, and is not copied.
    const LONGEST: usize = 1100;
    if cell.len() > LONGEST {
        return Cell::Text;
    }
    let commas = cell.split(|&byte| byte == b',').count() - 1;
    let number = |kept: Vec<u8>| fast_float2::parse::<f64, _>(kept).ok();
    if commas == 1 && !cell.contains(&b'.') {
        let pointed = cell.iter().map(|&b| if b == b',' { b'.' } else { b });
        return match number(pointed.collect()) {
            Some(value) if value.is_finite() => Cell::Comma(value),
            Some(_) => Cell::Infinite,
            None => Cell::Text,
        };
    }
    let is_digit = |byte: &u8| byte.is_ascii_digit() || b",.+-".contains(byte);
    if cell.iter().all(is_digit) && cell.iter().any(u8::is_ascii_digit) {
        Cell::Thousands
    } else {
        Cell::Text
    }
}

/// Whether the cell is a number of some kind, finite or not, or a truth value.
pub(crate) fn is_numeric(cell: &[u8]) -> bool {
    !matches!(parse_cell(cell), Cell::Text | Cell::Missing)
}
