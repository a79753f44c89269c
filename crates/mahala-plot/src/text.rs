//! Text for SVG: escaping, estimated widths, shortening and wrapping.

/// How much wider bold text is.
pub(crate) const BOLD: f64 = 1.18;

/// Escapes text for element content and attribute values.
///
/// Line breaks become spaces, and characters XML forbids become U+FFFD, so
/// that a strange class name cannot make the file unreadable.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\r' | '\t' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// The width of `text` at a font size, in pixels.
///
/// An estimate on the wide side: the reader's font is not known here.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// The text, cut with an ellipsis where it is wider than `room` pixels.
pub(crate) fn fit(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let room = room - size;
    let mut used = 0.0;
    let kept: String = text
        .chars()
        .take_while(|&c| {
            used += em(c) * size;
            used <= room
        })
        .collect();
    format!("{}…", kept.trim_end())
}

/// The text in at most `rows` lines of `room` pixels; the last one is cut.
pub(crate) fn wrap(text: &str, size: f64, room: f64, rows: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + em(' ') * size <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    if lines.len() > rows {
        let rest = lines.split_off(rows - 1).join(" ");
        lines.push(rest);
    }
    lines.iter().map(|line| fit(line, size, room)).collect()
}

/// A character's width in units of the font size, for a common sans serif.
fn em(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '\'' | '|' | '.' | ',' | ':' | ';' | '!' => 0.28,
        ' ' | 'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' => 0.37,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.9,
        'A'..='Z' => 0.69,
        '\u{20}'..='\u{7e}' => 0.57,
        '\u{300}'..='\u{36f}' => 0.0,
        // Ideographs, kana, hangul and emoji fill a square.
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{ffef}' | '\u{1f000}'.. => 1.05,
        _ => 0.64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_forbidden_characters_cannot_leave_the_text() {
        assert_eq!(escape("a<b> & \"c\"'"), "a&lt;b&gt; &amp; &quot;c&quot;&#39;");
        assert_eq!(escape("a\nb\u{0}c"), "a b\u{fffd}c");
    }

    #[test]
    fn a_long_name_ends_in_an_ellipsis_and_fits() {
        let long = "Lorem ipsum dolor sit amet ".repeat(9);
        let cut = fit(&long, 12.0, 100.0);
        assert!(cut.ends_with('…') && width(&cut, 12.0) <= 100.0, "{cut}");
        assert_eq!(fit("short", 12.0, 100.0), "short");
    }

    #[test]
    fn wrapping_keeps_every_word_until_the_last_row() {
        assert_eq!(wrap("one two three", 10.0, 45.0, 3), ["one two", "three"]);
        assert!(wrap("one two three four", 10.0, 45.0, 2)[1].ends_with('…'));
        assert!(wrap("  ", 10.0, 45.0, 2).is_empty());
    }
}
