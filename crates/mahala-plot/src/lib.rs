//! Figures as small, self-contained SVG files.
//!
//! Every figure carries a title and a description for screen readers, and a
//! style block that follows the reader's light or dark setting. There is no
//! script and no outside reference, and the same data give the same bytes.
//! [`LinePlot`], [`BarPlot`] and [`ScatterPanels`] lay themselves out; a
//! figure with a layout of its own is drawn on a [`Canvas`].
//!
//! ```
//! use mahala_plot::{LinePlot, LineSeries};
//!
//! let line = LineSeries { name: "GMML".into(), points: vec![(0.0, 9.0), (1.0, 4.0)], ..LineSeries::default() };
//! let plot = LinePlot { title: "Error over t".into(), series: vec![line], ..LinePlot::default() };
//! assert!(plot.to_svg().starts_with("<svg"));
//! ```
#![forbid(unsafe_code)]

mod axes;
mod bars;
mod legend;
mod line;
mod names;
mod palette;
mod scale;
mod scatter;
mod svg;
mod text;

pub use bars::{BarPlot, BarSeries};
pub use line::{LinePlot, LineSeries, Mark};
pub use scatter::{Panel, ScatterPanels};
pub use svg::{Anchor, Canvas, Style};
pub use text::escape;

/// Space between the figure's edge and anything drawn, in pixels.
const MARGIN: f64 = 24.0;

/// Whether a value can be drawn: finite, and small enough that a difference
/// of two such values is finite too.
fn drawable(value: f64) -> bool {
    value.is_finite() && value.abs() <= 1e300
}

/// A rectangle of the figure, in pixels from its upper left corner.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    /// The left edge.
    pub left: f64,
    /// The upper edge.
    pub top: f64,
    /// From the left edge to the right.
    pub width: f64,
    /// From the upper edge to the lower.
    pub height: f64,
}

impl Area {
    /// The right edge.
    pub fn right(self) -> f64 {
        self.left + self.width
    }

    /// The lower edge.
    pub fn bottom(self) -> f64 {
        self.top + self.height
    }

    /// The pixel of a point given as fractions from the lower left corner.
    pub fn at(self, x: f64, y: f64) -> (f64, f64) {
        (self.left + x * self.width, self.bottom() - y * self.height)
    }
}

/// Draws the title and the wrapped subtitle; returns where the rest may begin.
fn heading(canvas: &mut svg::Canvas, title: &str, subtitle: Option<&str>, width: f64) -> f64 {
    let inner = width - 2.0 * MARGIN;
    let mut y = MARGIN - 4.0;
    for row in text::wrap(title, 18.0 * text::BOLD, inner, 2) {
        y += 22.0;
        canvas.text("m-title", svg::Anchor::Start, (MARGIN, y - 2.0), &row);
    }
    for row in text::wrap(subtitle.unwrap_or(""), 13.0, inner, 3) {
        y += 19.0;
        canvas.text("m-sub", svg::Anchor::Start, (MARGIN, y), &row);
    }
    y + 14.0
}

/// Says in the middle of an empty plot that nothing could be drawn.
fn draw_empty(canvas: &mut svg::Canvas, plot: Area) {
    canvas.frame(plot);
    let (x, y) = plot.at(0.5, 0.5);
    canvas.text("m-sub", svg::Anchor::Middle, (x, y), "No data to show");
}

#[cfg(test)]
mod tests;
