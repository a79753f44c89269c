//! Grid lines, tick labels and axis names.

use crate::scale::Scale;
use crate::svg::{Anchor, Canvas};
use crate::{Area, text};

/// Font size of the tick labels, as in the style block.
const TICK: f64 = 11.0;

/// From a label to the vertical axis: a ring around a point on the axis must
/// not touch the label.
const LABEL_GAP: f64 = 12.0;

/// Room the vertical axis needs for its labels.
pub(crate) fn gutter(scale: &Scale) -> f64 {
    widest(scale) + LABEL_GAP
}

/// Horizontal grid lines, with labels to their left.
pub(crate) fn draw_y(canvas: &mut Canvas, plot: Area, scale: &Scale) {
    for tick in &scale.ticks {
        let (x, y) = plot.at(0.0, scale.unit(tick.value));
        canvas.line("m-grid", (x, y), (plot.right(), y));
        canvas.text("m-tick", Anchor::End, (x - LABEL_GAP, y + 4.0), &tick.label);
    }
}

/// Short strokes below the plot's base line, with labels under them.
pub(crate) fn draw_x(canvas: &mut Canvas, plot: Area, scale: &Scale) {
    canvas.line("m-axis", plot.at(0.0, 0.0), plot.at(1.0, 0.0));
    for tick in &scale.ticks {
        let (x, y) = plot.at(scale.unit(tick.value), 0.0);
        canvas.line("m-axis", (x, y), (x, y + 5.0));
        canvas.text("m-tick", Anchor::Middle, (x, y + 19.0), &tick.label);
    }
}

/// A horizontal scale with as many ticks as fit without touching.
pub(crate) fn x_scale(make: impl Fn(usize) -> Scale, room: f64) -> Scale {
    let fits = |scale: &Scale| {
        let gap = (1.0 / scale.ticks.len().max(2) as f64) * room;
        widest(scale) + 12.0 <= gap
    };
    let most = (room / 70.0).clamp(2.0, 10.0) as usize;
    let scales = (1..=most).rev().map(&make);
    scales.into_iter().find(fits).unwrap_or_else(|| make(1))
}

fn widest(scale: &Scale) -> f64 {
    let widths = scale.ticks.iter().map(|t| text::width(&t.label, TICK));
    widths.fold(0.0, f64::max)
}
