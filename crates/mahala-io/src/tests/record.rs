//! Records and cells of text.

use super::{plain, try_read};
use crate::csv::record::RecordReader;

/// Short texts made of the given characters, the same ones every time (xorshift, G. Marsaglia 2003).
fn texts(alphabet: &[u8], number: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    (0..number).map(move |_| {
        let length = random(40);
        (0..length).map(|_| alphabet[random(alphabet.len())]).collect()
    })
}

fn split(text: &[u8]) -> Option<Vec<Vec<Vec<u8>>>> {
    let mut reader = RecordReader::new("text", text, b',');
    let mut records = Vec::new();
    while reader.advance().ok()? {
        records.push(reader.cells().map(<[u8]>::to_vec).collect());
    }
    Some(records)
}

#[test]
fn records_are_split_as_the_csv_crate_splits_them() {
    let mut compared = 0;
    for text in texts(b"ab,,\"\"\n", 20_000) {
        // A quote that never closes is an error here, and is closed silently there.
        let Some(records) = split(&text) else {
            continue;
        };
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(&text[..]);
        let expected: Vec<Vec<Vec<u8>>> = reader
            .byte_records()
            .map(|record| record.expect("memory can be read"))
            .map(|record| record.iter().map(<[u8]>::to_vec).collect())
            .collect();
        assert_eq!(records, expected, "{:?}", String::from_utf8_lossy(&text));
        compared += 1;
    }
    assert!(compared > 5_000, "{compared}");
}

#[test]
fn the_line_of_a_record_is_the_one_on_which_it_begins() {
    let text = b"a\r\n\r\n\n\"b\n\nc\",d\r\n  \ne";
    let mut reader = RecordReader::new("text", &text[..], b',');
    let mut lines = Vec::new();
    while reader.advance().expect("the text can be split") {
        lines.push((reader.line(), reader.text(0)));
    }
    let expected = [(1, "a"), (4, "b\n\nc"), (8, "e")];
    assert_eq!(lines, expected.map(|(line, cell)| (line, cell.to_owned())));
}

#[test]
fn every_text_is_read_or_refused() {
    for (index, text) in texts(b"10.,;\t| \"\n\n\rNAx:#-e\xC3", 4_000).enumerate() {
        let name = ["a.csv", "a.tsv", "a.svm"][index % 3];
        let Ok(table) = try_read(name, &text, &plain()) else {
            continue;
        };
        assert_eq!(table.rows.len(), table.n * table.names.len());
        assert!(table.rows.iter().all(|cell| cell.is_finite()));
    }
}
