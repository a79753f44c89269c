//! Scatter plots side by side, with one legend for all.

use crate::legend::{self, Sample};
use crate::palette::{COLOURS, DISTINCT};
use crate::scale::{Fit, Scale, extent};
use crate::svg::{Anchor, Canvas};
use crate::{Area, MARGIN, axes, draw_empty, drawable, heading, text};

const PANEL_HEIGHT: f64 = 320.0;
const GAP: f64 = 28.0;

/// Scatter plots that share their classes, such as data before and after a
/// projection.
#[derive(Debug, Clone, Default)]
pub struct ScatterPanels {
    /// The heading, and the name for screen readers.
    pub title: String,
    /// The plots, in reading order.
    pub panels: Vec<Panel>,
    /// The classes' names; a point's class is a position in this list.
    pub classes: Vec<String>,
}

/// One plot of [`ScatterPanels`], with axes of its own.
#[derive(Debug, Clone, Default)]
pub struct Panel {
    /// The heading of the panel.
    pub title: String,
    /// A sentence below it.
    pub subtitle: String,
    /// Two coordinates and the class; points that are not finite are skipped.
    pub points: Vec<(f64, f64, usize)>,
}

impl ScatterPanels {
    /// The panels as an SVG document.
    pub fn to_svg(&self) -> String {
        let columns = columns(self.panels.len());
        let panel_width = if columns == 1 { 520.0 } else { 380.0 };
        let width = 2.0 * MARGIN + columns as f64 * (panel_width + GAP) - GAP;
        let mut canvas = Canvas::default();
        let top = heading(&mut canvas, &self.title, None, width);
        let top = self.draw_legend(&mut canvas, top, width) + 12.0;
        let row_height = 46.0 + PANEL_HEIGHT + 44.0;
        for (i, panel) in self.panels.iter().enumerate() {
            let left = MARGIN + (i % columns) as f64 * (panel_width + GAP);
            let top = top + (i / columns) as f64 * row_height;
            panel.draw(&mut canvas, (left, top), panel_width);
        }
        let rows = self.panels.len().max(1).div_ceil(columns);
        let bottom = top + rows as f64 * row_height;
        if self.panels.is_empty() {
            let height = row_height - MARGIN;
            let area = Area { left: MARGIN, top, width: width - 2.0 * MARGIN, height };
            draw_empty(&mut canvas, area);
        }
        canvas.finish((width, bottom), &self.title, &self.about())
    }

    fn draw_legend(&self, canvas: &mut Canvas, top: f64, width: f64) -> f64 {
        let names = self.classes.iter();
        let entries: Vec<_> = names.map(|n| (n.as_str(), Sample::Marker)).collect();
        let bottom = legend::draw(canvas, &entries, (MARGIN, top), width - 2.0 * MARGIN);
        let colours = COLOURS.len();
        let words = match entries.len() {
            n if n > DISTINCT => format!("Colours and shapes repeat after {DISTINCT} classes."),
            n if n > colours => format!("Colours repeat after {colours} classes; shapes differ."),
            _ => return bottom,
        };
        legend::note(canvas, &words, (MARGIN, bottom))
    }

    /// What the figure shows, in words.
    fn about(&self) -> String {
        let panels = self.panels.iter().map(|p| {
            let n = p.drawable().count();
            format!("{} ({}), {n} points", p.title, p.subtitle)
        });
        let panels: Vec<String> = panels.collect();
        let classes = self.classes.len();
        format!("Scatter plots of {classes} classes: {}.", panels.join("; "))
    }
}

impl Panel {
    fn drawable(&self) -> impl Iterator<Item = &(f64, f64, usize)> {
        self.points.iter().filter(|(x, y, _)| drawable(*x) && drawable(*y))
    }

    fn draw(&self, canvas: &mut Canvas, (left, top): (f64, f64), width: f64) {
        let title = text::fit(&self.title, 13.0 * text::BOLD, width);
        canvas.text("m-head", Anchor::Start, (left, top + 14.0), &title);
        let subtitle = text::fit(&self.subtitle, 12.0, width);
        canvas.text("m-unit", Anchor::Start, (left, top + 32.0), &subtitle);
        let top = top + 46.0;
        let xs = extent(self.drawable().map(|p| p.0));
        let ys = extent(self.drawable().map(|p| p.1));
        let (Some(xs), Some(ys)) = (xs, ys) else {
            return draw_empty(canvas, Area { left, top, width, height: PANEL_HEIGHT });
        };
        let y = Scale::linear(ys, Fit::Padded, 5);
        let gutter = axes::gutter(&y);
        let plot = Area { left: left + gutter, top, width: width - gutter, height: PANEL_HEIGHT };
        let x = axes::x_scale(|n| Scale::linear(xs, Fit::Padded, n.min(5)), plot.width);
        canvas.frame(plot);
        axes::draw_y(canvas, plot, &y);
        axes::draw_x(canvas, plot, &x);
        self.draw_points(canvas, plot, &x, &y);
    }

    fn draw_points(&self, canvas: &mut Canvas, plot: Area, x: &Scale, y: &Scale) {
        let (radius, opacity) = weight(self.drawable().count());
        // A halo keeps neighbours apart, but would swallow the smallest markers.
        canvas.open(if radius > 2.0 { "m-halo" } else { "m-plain" }, opacity);
        for &(px, py, class) in self.drawable() {
            canvas.marker(class, plot.at(x.unit(px), y.unit(py)), radius);
        }
        canvas.close();
    }
}

/// Up to three panels in a row; four make a square.
fn columns(panels: usize) -> usize {
    match panels {
        0 | 1 => 1,
        2 | 4 => 2,
        _ => 3,
    }
}

/// Radius and opacity of a marker: many points are small and faint.
fn weight(points: usize) -> (f64, f64) {
    match points {
        0..=200 => (4.0, 0.9),
        201..=800 => (3.3, 0.75),
        801..=2500 => (2.6, 0.6),
        _ => (2.0, 0.6),
    }
}
