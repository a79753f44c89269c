//! The legend: rows of samples and names above the plot, never on it.

use crate::palette::colour;
use crate::svg::{Anchor, Canvas};
use crate::{Area, text};

/// Names beyond this many are counted, not listed.
const LISTED: usize = 40;
const ROW: f64 = 20.0;
const NAME: f64 = 12.0;
const LONGEST: f64 = 150.0;

/// What stands before a name.
#[derive(Clone, Copy)]
pub(crate) enum Sample {
    Marker,
    Line { dashed: bool },
    Block,
}

/// Draws one entry for each name; returns the y below the last row.
pub(crate) fn draw(
    canvas: &mut Canvas,
    entries: &[(&str, Sample)],
    (left, top): (f64, f64),
    width: f64,
) -> f64 {
    let names: Vec<String> =
        entries.iter().take(LISTED).map(|(name, _)| text::fit(name, NAME, LONGEST)).collect();
    let indent = match entries.first() {
        Some((_, Sample::Line { .. })) => 32.0,
        _ => 18.0,
    };
    let widths: Vec<f64> = names.iter().map(|name| text::width(name, NAME) + indent + 18.0).collect();
    let (places, rows) = arrange(&widths, width);
    for (i, (name, (x, row))) in names.iter().zip(places).enumerate() {
        let (x, y) = (left + x, top + (row as f64 + 0.5) * ROW);
        draw_sample(canvas, entries[i].1, i, (x, y));
        canvas.text("m-name", Anchor::Start, (x + indent, y + 4.0), name);
    }
    let bottom = top + rows as f64 * ROW;
    match entries.len() - names.len() {
        0 => bottom,
        more => note(canvas, &format!("and {more} more"), (left, bottom)),
    }
}

/// Offset and row of each entry, and the number of rows: one after the other
/// where they fit into one row, otherwise in columns.
fn arrange(widths: &[f64], room: f64) -> (Vec<(f64, usize)>, usize) {
    if widths.iter().sum::<f64>() <= room {
        let offsets = widths.iter().scan(0.0, |x, width| {
            *x += width;
            Some((*x - width, 0))
        });
        return (offsets.collect(), widths.len().min(1));
    }
    let column = widths.iter().copied().fold(0.0, f64::max);
    let columns = ((room / column) as usize).max(1);
    let place = |i: usize| ((i % columns) as f64 * column, i / columns);
    let places = (0..widths.len()).map(place).collect();
    (places, widths.len().div_ceil(columns))
}

/// A muted line of text below the legend; returns the y below it.
pub(crate) fn note(canvas: &mut Canvas, words: &str, (left, top): (f64, f64)) -> f64 {
    canvas.text("m-tick", Anchor::Start, (left, top + 0.5 * ROW + 4.0), words);
    top + ROW
}

/// The sample of a name, with its left end in the middle of the row.
fn draw_sample(canvas: &mut Canvas, sample: Sample, i: usize, (x, y): (f64, f64)) {
    match sample {
        Sample::Marker => canvas.marker(i, (x + 6.0, y), 4.5),
        Sample::Line { dashed } => {
            let dash = if dashed { " m-dash" } else { "" };
            let class = format!("m-line m-s{}{dash}", colour(i));
            canvas.line(&class, (x, y), (x + 24.0, y));
            canvas.marker(i, (x + 12.0, y), 3.5);
        }
        Sample::Block => {
            let area = Area { left: x, top: y - 5.5, width: 11.0, height: 11.0 };
            canvas.rect(&format!("m-f{}", colour(i)), area, "");
        }
    }
}
