//! Grouped bars with whiskers.

use crate::legend::{self, Sample};
use crate::palette::colour;
use crate::scale::{Fit, Scale, extent, short};
use crate::svg::{Anchor, Canvas};
use crate::{Area, MARGIN, axes, draw_empty, drawable, heading, text};

const WIDTH: f64 = 760.0;
const PLOT_HEIGHT: f64 = 300.0;
/// Narrower groups would leave no room for their names.
const GROUP_ROOM: f64 = 72.0;
const WIDEST_BAR: f64 = 34.0;
const THINNEST_BAR: f64 = 7.0;

/// A bar plot: groups along the horizontal axis, in each one bar per series.
#[derive(Debug, Clone, Default)]
pub struct BarPlot {
    /// The heading, and the name for screen readers.
    pub title: String,
    /// What the bars measure, with its unit.
    pub y_label: String,
    /// Name and subtitle of each group.
    pub groups: Vec<(String, String)>,
    /// Name of each series, and for each group its value and standard
    /// deviation where it has them.
    pub series: Vec<BarSeries>,
}

/// A series' name, and its (value, standard deviation) in each group.
pub type BarSeries = (String, Vec<Option<(f64, f64)>>);

/// The part of the plot that one group takes.
struct Slot {
    left: f64,
    room: f64,
    bar: f64,
}

impl BarPlot {
    /// The plot as an SVG document.
    pub fn to_svg(&self) -> String {
        let width = self.width();
        let mut canvas = Canvas::default();
        let mut top = heading(&mut canvas, &self.title, None, width);
        if self.series.len() > 1 {
            let entries = self.series.iter().map(|(name, _)| (name.as_str(), Sample::Block));
            let entries: Vec<_> = entries.collect();
            top = legend::draw(&mut canvas, &entries, (MARGIN, top), width - 2.0 * MARGIN) + 6.0;
        }
        self.draw_y_label(&mut canvas, top, width);
        top += 32.0;
        if let Some(y) = self.scale() {
            self.draw_plot(&mut canvas, top, width, &y);
        } else {
            let inner = width - 2.0 * MARGIN;
            let plot = Area { left: MARGIN, top, width: inner, height: PLOT_HEIGHT };
            draw_empty(&mut canvas, plot);
        }
        let height = top + PLOT_HEIGHT + 40.0 + MARGIN;
        canvas.finish((width, height), &self.title, &self.about())
    }

    fn draw_y_label(&self, canvas: &mut Canvas, top: f64, width: f64) {
        let mut label = self.y_label.clone();
        if self.values().any(|(_, std)| std > 0.0) {
            label.push_str(" (whiskers: ± one standard deviation)");
        }
        let label = text::fit(&label, 12.0, width - 2.0 * MARGIN);
        canvas.text("m-unit", Anchor::Start, (MARGIN, top + 12.0), &label);
    }

    fn draw_plot(&self, canvas: &mut Canvas, top: f64, width: f64, y: &Scale) {
        let left = MARGIN + axes::gutter(y);
        let plot = Area { left, top, width: width - left - MARGIN, height: PLOT_HEIGHT };
        axes::draw_y(canvas, plot, y);
        let zero = y.unit(0.0);
        for (g, group) in self.groups.iter().enumerate() {
            let slot = self.slot(plot, g);
            for (s, (name, values)) in self.series.iter().enumerate() {
                let x = slot.bar_left(s, self.series.len());
                let Some(value) = values.get(g).copied().flatten().and_then(checked) else {
                    let (_, y) = plot.at(0.0, zero);
                    let middle = x + slot.bar / 2.0;
                    canvas.text("m-unit", Anchor::Middle, (middle, y - 5.0), "–");
                    continue;
                };
                let hint = format!("{name}, {}: {}", group.0, spoken(value));
                draw_bar(canvas, (plot, y), (s, x, slot.bar), value, &hint);
            }
            slot.draw_name(canvas, plot.bottom(), group);
        }
        canvas.line("m-axis", plot.at(0.0, zero), plot.at(1.0, zero));
    }

    /// Every drawable value with its deviation; zero for one that is missing.
    fn values(&self) -> impl Iterator<Item = (f64, f64)> {
        let groups = self.groups.len();
        let cells = self.series.iter().flat_map(move |(_, v)| v.iter().take(groups));
        cells.copied().flatten().filter_map(checked)
    }

    /// A scale that holds zero, every bar and every whisker.
    fn scale(&self) -> Option<Scale> {
        let ends = self.values().flat_map(|(v, std)| [v - std, v + std]);
        let (low, high) = extent(ends)?;
        Some(Scale::linear((low.min(0.0), high.max(0.0)), Fit::Ticks, 5))
    }

    fn width(&self) -> f64 {
        let bars = self.series.len() as f64 * (THINNEST_BAR + 2.0) + 24.0;
        let needed = self.groups.len() as f64 * bars.max(GROUP_ROOM);
        WIDTH.max(needed + 2.0 * MARGIN + 60.0)
    }

    fn slot(&self, plot: Area, group: usize) -> Slot {
        let room = plot.width / self.groups.len() as f64;
        let bars = self.series.len().max(1) as f64;
        let bar = ((room - 24.0) / bars - 2.0).clamp(THINNEST_BAR, WIDEST_BAR);
        Slot { left: plot.left + group as f64 * room, room, bar }
    }

    /// What the figure shows, in words and numbers.
    fn about(&self) -> String {
        let mut about = vec![format!("Bar plot of {}.", self.y_label)];
        for (g, (group, _)) in self.groups.iter().enumerate() {
            let cell = |(name, values): &BarSeries| {
                let value = values.get(g).copied().flatten().and_then(checked)?;
                Some(format!("{name} {}", spoken(value)))
            };
            let cells: Vec<String> = self.series.iter().filter_map(cell).collect();
            about.push(format!("{group}: {}.", cells.join(", ")));
        }
        about.join(" ")
    }
}

impl Slot {
    /// The left end of a bar; the group's bars stand in the slot's middle.
    fn bar_left(&self, series: usize, count: usize) -> f64 {
        let pitch = self.bar + 2.0;
        self.left + (self.room - pitch * count as f64) / 2.0 + 1.0 + pitch * series as f64
    }

    fn draw_name(&self, canvas: &mut Canvas, bottom: f64, (name, subtitle): &(String, String)) {
        let x = self.left + self.room / 2.0;
        let name = text::fit(name, 12.0, self.room - 8.0);
        canvas.text("m-name", Anchor::Middle, (x, bottom + 20.0), &name);
        let subtitle = text::fit(subtitle, 11.0, self.room - 8.0);
        canvas.text("m-tick", Anchor::Middle, (x, bottom + 37.0), &subtitle);
    }
}

/// A value that can be drawn; a deviation that cannot is left out.
fn checked((value, std): (f64, f64)) -> Option<(f64, f64)> {
    let std = if drawable(std) { std.abs() } else { 0.0 };
    // A tenth of the limit, so that value and deviation add up within it.
    (value.abs() <= 1e299).then_some((value, std.min(1e299)))
}

fn spoken((value, std): (f64, f64)) -> String {
    if std > 0.0 { format!("{} ± {}", short(value), short(std)) } else { short(value) }
}

fn draw_bar(
    canvas: &mut Canvas,
    (plot, y): (Area, &Scale),
    (series, left, width): (usize, f64, f64),
    (value, std): (f64, f64),
    hint: &str,
) {
    let pixel = |v: f64| plot.at(0.0, y.unit(v)).1;
    let (from, to) = (pixel(0.0), pixel(value));
    let area = Area { left, top: from.min(to), width, height: (from - to).abs() };
    canvas.rect(&format!("m-f{}", colour(series)), area, hint);
    if std > 0.0 {
        let (x, cap) = (left + width / 2.0, (width / 4.0).min(5.0));
        let (low, high) = (pixel(value - std), pixel(value + std));
        canvas.line("m-whisker", (x, low), (x, high));
        canvas.line("m-whisker", (x - cap, low), (x + cap, low));
        canvas.line("m-whisker", (x - cap, high), (x + cap, high));
    }
}
