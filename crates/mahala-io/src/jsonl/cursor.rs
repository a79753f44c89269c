//! One line of JSON, value by value.

use std::borrow::Cow;

use crate::csv::parse_float;
use crate::error::excerpt;

/// A place in a line.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// A value that is neither a list nor an object.
pub(crate) enum Token<'a> {
    /// `null`, or `NaN` as Python writes it.
    Null,
    Bool(bool),
    /// A finite number, and how it is written.
    Number(f64, &'a [u8]),
    /// A number beyond the largest double, or `Infinity` as Python writes it.
    Infinite(&'a [u8]),
    Text(Cow<'a, [u8]>),
}

/// What is wrong in a line.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Whether the JSON itself is sound, and a value is not what its column wants.
    pub(crate) is_value: bool,
}

impl Wrong {
    pub(crate) fn value(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, is_value: true }
    }

    pub(crate) fn line(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, is_value: false }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

type Read<T> = Result<T, Wrong>;

/// Lists and objects in each other, at most.
const DEEPEST: usize = 128;

const NOT_ITS_LINE: &str =
    "each object must stand on one line, such as {\"a\": 1, \"class\": \"x\"}; jq -c . writes it so";

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Calls `member` behind each key of the object, which is all that may be on the line.
    pub(crate) fn only_object(
        &mut self,
        member: impl FnMut(&mut Self, Cow<'a, [u8]>) -> Read<()>,
    ) -> Read<()> {
        self.space();
        if self.peek() != Some(b'{') {
            let seen = excerpt(&self.bytes[self.at..]);
            let wrong = Wrong::line(format!("{seen} is not an object"));
            return Err(match self.peek() {
                Some(b'[') => wrong.hint("one object a line is wanted; jq -c '.[]' takes a list apart"),
                _ => wrong.hint(NOT_ITS_LINE),
            });
        }
        self.object(member)?;
        self.space();
        if self.at < self.bytes.len() {
            return Err(self.expected("the end of the line"));
        }
        Ok(())
    }

    fn object(&mut self, mut member: impl FnMut(&mut Self, Cow<'a, [u8]>) -> Read<()>) -> Read<()> {
        self.at += 1;
        self.space();
        if self.takes(b'}') {
            return Ok(());
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.expected("a key in quotation marks"));
            }
            let key = self.string()?;
            self.space();
            if !self.takes(b':') {
                return Err(self.expected("':'"));
            }
            self.space();
            member(self, key)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break self.at += 1,
                _ => return Err(self.expected("',' or '}'")),
            }
        }
        Ok(())
    }

    /// Calls `element` at each value of a list, with its place; returns how many there are.
    pub(crate) fn list(&mut self, mut element: impl FnMut(&mut Self, usize) -> Read<()>) -> Read<usize> {
        self.at += 1;
        self.space();
        if self.takes(b']') {
            return Ok(0);
        }
        for place in 0.. {
            self.space();
            element(self, place)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(place + 1);
                }
                _ => break,
            }
        }
        Err(self.expected("',' or ']'"))
    }

    /// The first byte of what comes next.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// A value that is neither a list nor an object.
    pub(crate) fn token(&mut self) -> Read<Token<'a>> {
        let words: [(&'static [u8], Token<'a>); 6] = [
            (b"null", Token::Null),
            (b"NaN", Token::Null),
            (b"true", Token::Bool(true)),
            (b"false", Token::Bool(false)),
            (b"Infinity", Token::Infinite(b"Infinity")),
            (b"-Infinity", Token::Infinite(b"-Infinity")),
        ];
        let rest = &self.bytes[self.at..];
        match self.peek() {
            Some(b'"') => return Ok(Token::Text(self.string()?)),
            Some(b'0'..=b'9' | b'-') => {
                if let Some(length) = number_length(rest) {
                    self.at += length;
                    let text = &rest[..length];
                    let number = parse_float::number(text);
                    return Ok(
                        number.map_or(Token::Infinite(text), |(number, _)| Token::Number(number, text))
                    );
                }
            }
            Some(b'{') => return Err(Wrong::value("an object where one value is expected")),
            Some(b'[') => return Err(Wrong::value("a list where one value is expected")),
            _ => {}
        }
        for (word, token) in words {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(token);
            }
        }
        Err(self.expected("a value"))
    }

    /// Passes over any value.
    pub(crate) fn skip(&mut self) -> Read<()> {
        self.skip_at(0)
    }

    fn skip_at(&mut self, depth: usize) -> Read<()> {
        if depth > DEEPEST {
            return Err(Wrong::line(format!("lists and objects are nested more than {DEEPEST} deep")));
        }
        match self.peek() {
            Some(b'{') => self.object(|cursor, _| cursor.skip_at(depth + 1)),
            Some(b'[') => self.list(|cursor, _| cursor.skip_at(depth + 1)).map(drop),
            _ => self.token().map(drop),
        }
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    fn takes(&mut self, byte: u8) -> bool {
        let taken = self.peek() == Some(byte);
        self.at += usize::from(taken);
        taken
    }

    fn expected(&self, what: &str) -> Wrong {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return Wrong::line(format!("the line ends where {what} is expected")).hint(NOT_ITS_LINE);
        }
        Wrong::line(format!("byte {} of the line: {what} is expected, not {}", self.at + 1, excerpt(rest)))
    }

    /// A text in quotation marks, of which the first is here.
    fn string(&mut self) -> Read<Cow<'a, [u8]>> {
        let start = self.at + 1;
        let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1F);
        let length = self.bytes[start..].iter().position(special);
        self.at = length.map_or(self.bytes.len(), |length| start + length);
        if self.takes(b'"') {
            return Ok(Cow::Borrowed(&self.bytes[start..self.at - 1]));
        }
        let mut text = self.bytes[start..self.at].to_vec();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(text));
                }
                Some(b'\\') => self.escaped(&mut text)?,
                Some(0x20..) => {
                    text.push(self.bytes[self.at]);
                    self.at += 1;
                }
                _ => return Err(self.expected("the end of a text")),
            }
        }
    }

    /// One escaped character.
    fn escaped(&mut self, text: &mut Vec<u8>) -> Read<()> {
        let plain = match self.bytes.get(self.at + 1) {
            Some(&byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0C,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => return self.unicode(text),
            _ => return Err(self.expected("an escaped character of JSON")),
        };
        text.push(plain);
        self.at += 2;
        Ok(())
    }

    /// `\uXXXX`, or two of them for a character beyond the first 65,536.
    fn unicode(&mut self, text: &mut Vec<u8>) -> Read<()> {
        let unit = |at: usize| {
            let digits = self.bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
            let digits =
                std::str::from_utf8(digits).ok().filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
            u16::from_str_radix(digits, 16).ok()
        };
        let units = [unit(self.at), unit(self.at + 6)];
        let decoded = char::decode_utf16(units.into_iter().map_while(|unit| unit)).next();
        let Some(Ok(character)) = decoded else { return Err(self.expected("an escaped character of JSON")) };
        text.extend(character.encode_utf8(&mut [0; 4]).bytes());
        self.at += 6 * character.len_utf16();
        Ok(())
    }
}

/// The length of the number at the beginning, as the grammar of JSON has it.
fn number_length(text: &[u8]) -> Option<usize> {
    let digits = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is = |at: usize, bytes: &[u8]| text.get(at).is_some_and(|byte| bytes.contains(byte));
    let mut at = usize::from(is(0, b"-"));
    let whole = digits(at);
    if whole == 0 || (whole > 1 && text[at] == b'0') {
        return None;
    }
    at += whole;
    if is(at, b".") {
        let fraction = digits(at + 1);
        at += 1 + fraction;
        if fraction == 0 {
            return None;
        }
    }
    if is(at, b"eE") {
        at += 1 + usize::from(is(at + 1, b"+-"));
        let exponent = digits(at);
        at += exponent;
        if exponent == 0 {
            return None;
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::{Cursor, Token, number_length};

    #[test]
    fn numbers_are_those_of_json() {
        for number in ["0", "-0", "12", "1.5", "-0.25", "1e5", "1E-7", "2.5e+10"] {
            assert_eq!(number_length(format!("{number},").as_bytes()), Some(number.len()), "{number}");
        }
        for other in ["", "-", "+1", "01", ".5", "1.", "1e", "1e+", "x", "-a"] {
            assert_eq!(number_length(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn escaped_texts_are_decoded() {
        let text = |json: &str| match Cursor::new(json.as_bytes()).token() {
            Ok(Token::Text(text)) => Some(String::from_utf8(text.into_owned()).expect("UTF-8")),
            _ => None,
        };
        assert_eq!(text(r#""plain""#).as_deref(), Some("plain"));
        assert_eq!(text(r#""a\"\\\/\n\t\u00e9\ud83d\ude00z""#).as_deref(), Some("a\"\\/\n\té😀z"));
        for broken in [r#""open"#, r#""\x""#, r#""\ud800""#, r#""\u12""#, "\"\u{1}\"", r#""\"#] {
            assert_eq!(text(broken), None, "{broken}");
        }
    }
}
