//! Data inside a page: numbers as base64, text that cannot leave its place.

use serde_json::Value;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// 64-bit floats, least byte first.
pub(crate) fn doubles(numbers: impl Iterator<Item = f64>) -> String {
    base64(&numbers.flat_map(f64::to_le_bytes).collect::<Vec<u8>>())
}

/// 32-bit floats; what they cannot hold becomes the largest they can.
pub(crate) fn singles(numbers: impl Iterator<Item = f64>) -> String {
    let single = |x: f64| (x.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32).to_le_bytes();
    base64(&numbers.flat_map(single).collect::<Vec<u8>>())
}

/// 32-bit whole numbers.
pub(crate) fn indices(numbers: impl Iterator<Item = u32>) -> String {
    base64(&numbers.flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place > chunk.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

/// A name without what has no glyph of its own: control characters and those that turn the direction of writing.
pub(crate) fn visible(name: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    name.chars().map(|c| if hidden(c) { '\u{fffd}' } else { c }).collect()
}

/// JSON that ends no element and begins no comment: these characters stand in strings alone, where an escape means the same.
pub(crate) fn embedded(value: &Value) -> String {
    let mut text = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '&' => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => text.push(c),
        }
    }
    text
}

/// Text of an element.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        // The test vectors of its section 10.
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        assert_eq!(doubles([1.0].into_iter()), "AAAAAAAA8D8=");
        assert_eq!(singles([1.0, 1e300].into_iter()), "AACAP///f38=");
    }

    #[test]
    fn no_name_leaves_its_string() {
        let hostile = "</script><!--<b>&\u{7}\u{202e}\n\"'";
        let text = embedded(&json!([hostile]));
        assert!(!text.contains(['<', '>', '&', '\n', '\u{7}']));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!([hostile]));
        assert_eq!(visible(hostile), "</script><!--<b>&\u{fffd}\u{fffd}\u{fffd}\"'");
        assert_eq!(escaped("<a b='c\"&'>"), "&lt;a b=&#39;c&quot;&amp;&#39;&gt;");
    }
}
