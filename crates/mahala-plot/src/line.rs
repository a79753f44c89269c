//! Lines over a numeric axis, with bands and marked points.

use crate::legend::{self, Sample};
use crate::palette::colour;
use crate::scale::{Fit, Scale, extent, short};
use crate::svg::{Anchor, Canvas};
use crate::{Area, MARGIN, axes, draw_empty, drawable, heading, names, text};

const WIDTH: f64 = 760.0;
const PLOT_HEIGHT: f64 = 320.0;
/// More names than this beside the lines would be a crowd; a legend is calmer.
const DIRECT: usize = 8;
/// Points are marked one by one while they are few enough to be told apart.
const MARKED: usize = 40;
/// Height of a row of mark labels.
const MARK_ROW: f64 = 17.0;
/// The least value a logarithmic axis shows.
const SMALLEST_LOG: f64 = 1e-300;

/// A line plot.
///
/// Points that cannot be drawn (not finite, or not positive on a logarithmic
/// axis) are skipped and leave a gap in their line.
#[derive(Debug, Clone, Default)]
pub struct LinePlot {
    /// The heading, and the name for screen readers.
    pub title: String,
    /// A sentence below the heading.
    pub subtitle: Option<String>,
    /// What the horizontal axis measures, with its unit.
    pub x_label: String,
    /// What the vertical axis measures, with its unit.
    pub y_label: String,
    /// The lines.
    pub series: Vec<LineSeries>,
    /// Points with a ring and a label.
    pub marks: Vec<Mark>,
    /// Whether the horizontal axis is logarithmic.
    pub x_log: bool,
    /// Whether the vertical axis is logarithmic.
    pub y_log: bool,
    /// Whether the vertical axis includes zero; without effect on a
    /// logarithmic one.
    pub y_from_zero: bool,
}

/// One line of a [`LinePlot`].
#[derive(Debug, Clone, Default)]
pub struct LineSeries {
    /// The name in the legend.
    pub name: String,
    /// The points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// Lower and upper end of the band at each point.
    pub band: Option<Vec<(f64, f64)>>,
    /// Whether the line is dashed.
    pub dashed: bool,
}

/// A point of a [`LinePlot`] to draw attention to.
#[derive(Debug, Clone)]
pub struct Mark {
    /// The horizontal coordinate.
    pub x: f64,
    /// The vertical coordinate.
    pub y: f64,
    /// The text above the plot.
    pub label: String,
}

/// A drawable point in pixels, with its band's lower and upper end.
struct Spot {
    at: (f64, f64),
    band: Option<(f64, f64)>,
}

/// Where data lie on the figure.
struct Frame {
    plot: Area,
    x: Scale,
    y: Scale,
}

impl Frame {
    fn pixel(&self, x: f64, y: f64) -> (f64, f64) {
        self.plot.at(self.x.unit(x), self.y.unit(y))
    }
}

impl LinePlot {
    /// The plot as an SVG document.
    pub fn to_svg(&self) -> String {
        let mut canvas = Canvas::default();
        let mut top = heading(&mut canvas, &self.title, self.subtitle.as_deref(), WIDTH);
        let direct = self.names_fit_beside_lines();
        if !direct {
            top = self.draw_legend(&mut canvas, top) + 6.0;
        }
        let label = text::fit(&self.y_label, 12.0, WIDTH - 2.0 * MARGIN);
        canvas.text("m-unit", Anchor::Start, (MARGIN, top + 12.0), &label);
        let marks = self.mark_rows();
        let rows = marks.iter().map(|(row, _)| row + 1).max().unwrap_or(0);
        top += 28.0 + rows as f64 * MARK_ROW;

        let side = if direct { names::room(&self.names()) } else { 0.0 };
        let frame = self.frame(top, side);
        if let Some(frame) = &frame {
            self.draw_data(&mut canvas, frame, &marks);
            if direct {
                names::draw(&mut canvas, &self.names(), &self.ends(frame), frame.plot);
            }
        } else {
            draw_empty(&mut canvas, empty_area(top));
        }
        let base = top + PLOT_HEIGHT;
        let middle = frame.map_or(WIDTH / 2.0, |f| f.plot.left + f.plot.width / 2.0);
        let label = text::fit(&self.x_label, 12.0, WIDTH - 2.0 * MARGIN);
        canvas.text("m-unit", Anchor::Middle, (middle, base + 43.0), &label);
        canvas.finish((WIDTH, base + 43.0 + MARGIN), &self.title, &self.about())
    }

    fn draw_data(&self, canvas: &mut Canvas, frame: &Frame, marks: &[(usize, &Mark)]) {
        axes::draw_y(canvas, frame.plot, &frame.y);
        axes::draw_x(canvas, frame.plot, &frame.x);
        let runs: Vec<_> = self.series.iter().map(|s| self.runs(s, frame)).collect();
        for (i, runs) in runs.iter().enumerate() {
            for run in runs {
                draw_band(canvas, i, run);
            }
        }
        let alone = marks.len() == 1;
        for mark in marks {
            draw_mark_rule(canvas, frame, *mark, alone);
        }
        for (i, (series, runs)) in self.series.iter().zip(&runs).enumerate() {
            let all = series.points.len() <= MARKED;
            for run in runs {
                draw_run(canvas, (i, series.dashed), run, all);
            }
        }
        for (_, mark) in marks {
            canvas.circle("m-ring", frame.pixel(mark.x, mark.y), 7.0);
        }
    }

    /// The scales and the plot's place, unless there is nothing to draw.
    fn frame(&self, top: f64, side: f64) -> Option<Frame> {
        let (x_range, y_range) = (self.x_range()?, self.y_range()?);
        let count = if self.y_log { 8 } else { 5 };
        let y = Scale::new(self.y_log, y_range, Fit::Ticks, count);
        let left = MARGIN + axes::gutter(&y);
        let width = WIDTH - left - side.max(MARGIN + 6.0);
        let plot = Area { left, top, width, height: PLOT_HEIGHT };
        let x = axes::x_scale(|n| Scale::new(self.x_log, x_range, Fit::Data, n), width);
        Some(Frame { plot, x, y })
    }

    fn x_range(&self) -> Option<(f64, f64)> {
        let points = self.series.iter().flat_map(|s| self.visible(s));
        let marks = self.marks.iter().filter(|m| self.can_draw(m.x, m.y));
        extent(points.map(|((x, _), _)| x).chain(marks.map(|m| m.x)))
    }

    /// The range of points, bands and marks, and zero where it is asked for.
    fn y_range(&self) -> Option<(f64, f64)> {
        let points = self.series.iter().flat_map(|s| self.visible(s));
        let points = points.flat_map(|((_, y), band)| {
            let (low, high) = band.unwrap_or((y, y));
            [low, y, high]
        });
        let marks = self.marks.iter().filter(|m| self.can_draw(m.x, m.y));
        let zero = (self.y_from_zero && !self.y_log).then_some(0.0);
        let values = points.chain(marks.map(|m| m.y)).chain(zero);
        extent(values.filter(|&v| !self.y_log || v >= SMALLEST_LOG))
    }

    fn can_draw(&self, x: f64, y: f64) -> bool {
        let on_axis = |v: f64, log: bool| drawable(v) && (!log || v >= SMALLEST_LOG);
        on_axis(x, self.x_log) && on_axis(y, self.y_log)
    }

    /// The drawable points of a series, each with its band where that is
    /// drawable too.
    fn visible<'a>(
        &'a self,
        series: &'a LineSeries,
    ) -> impl Iterator<Item = ((f64, f64), Option<(f64, f64)>)> + 'a {
        let points = series.points.iter().enumerate();
        points.filter(|(_, (x, y))| self.can_draw(*x, *y)).map(|(i, &point)| (point, series.band_at(i)))
    }

    /// The unbroken pieces of a series.
    fn runs(&self, series: &LineSeries, frame: &Frame) -> Vec<Vec<Spot>> {
        let mut runs = vec![Vec::new()];
        for (i, &(x, y)) in series.points.iter().enumerate() {
            if !self.can_draw(x, y) {
                runs.push(Vec::new());
            } else if let Some(run) = runs.last_mut() {
                let band = series.band_at(i);
                let band = band.map(|(low, high)| (frame.pixel(x, low).1, frame.pixel(x, high).1));
                run.push(Spot { at: frame.pixel(x, y), band });
            }
        }
        runs.retain(|run| !run.is_empty());
        runs
    }

    /// Whether every line ends at the right edge, next to which its name can
    /// stand, and the names are few.
    fn names_fit_beside_lines(&self) -> bool {
        let ends = self.series.iter().map(|s| self.visible(s).last().map(|((x, _), _)| x));
        let Some(ends) = ends.collect::<Option<Vec<f64>>>() else {
            return false;
        };
        let Some((low, high)) = self.x_range().filter(|(low, high)| low < high) else {
            return false;
        };
        let at_edge = |x: &f64| high - x <= 1e-9 * (high - low);
        (1..=DIRECT).contains(&ends.len()) && ends.iter().all(at_edge)
    }

    fn names(&self) -> Vec<&str> {
        self.series.iter().map(|s| s.name.as_str()).collect()
    }

    /// The last pixel of each line.
    fn ends(&self, frame: &Frame) -> Vec<(f64, f64)> {
        let ends = self.series.iter().filter_map(|s| self.visible(s).last());
        ends.map(|((x, y), _)| frame.pixel(x, y)).collect()
    }

    fn draw_legend(&self, canvas: &mut Canvas, top: f64) -> f64 {
        let entry = |s: &LineSeries| Sample::Line { dashed: s.dashed };
        let entries: Vec<_> = self.series.iter().map(|s| (s.name.as_str(), entry(s))).collect();
        legend::draw(canvas, &entries, (MARGIN, top), WIDTH - 2.0 * MARGIN)
    }

    /// Each drawable mark with a row above the plot for its label; marks are
    /// few, so every one has a row of its own and labels cannot meet.
    fn mark_rows(&self) -> Vec<(usize, &Mark)> {
        let marks = self.marks.iter().filter(|m| self.can_draw(m.x, m.y));
        let mut marks: Vec<&Mark> = marks.collect();
        marks.sort_by(|a, b| a.x.total_cmp(&b.x));
        marks.into_iter().rev().enumerate().collect()
    }

    /// What the figure shows, in words.
    fn about(&self) -> String {
        let points = self.series.iter().flat_map(|s| self.visible(s));
        let mut about = vec![format!("Line plot of {} over {}.", self.y_label, self.x_label)];
        if let Some((low, high)) = extent(points.map(|((_, y), _)| y)) {
            let (low, high) = (short(low), short(high));
            about.push(format!("Lines: {}. Values from {low} to {high}.", self.names().join(", ")));
        }
        let marks = self.mark_rows().into_iter().rev();
        about.extend(marks.map(|(_, m)| format!("Marked at {}: {}.", short(m.x), m.label)));
        about.join(" ")
    }
}

impl LineSeries {
    fn band_at(&self, i: usize) -> Option<(f64, f64)> {
        let ends = self.band.as_ref()?.get(i)?;
        (drawable(ends.0) && drawable(ends.1)).then_some(*ends)
    }
}

fn empty_area(top: f64) -> Area {
    Area { left: MARGIN, top, width: WIDTH - 2.0 * MARGIN, height: PLOT_HEIGHT }
}

/// The band of a run; of a single point, a bar from end to end.
fn draw_band(canvas: &mut Canvas, i: usize, run: &[Spot]) {
    let ends = run.iter().filter_map(|s| s.band.map(|b| (s.at.0, b)));
    let ends: Vec<(f64, (f64, f64))> = ends.collect();
    match ends[..] {
        [] => {}
        [(x, (low, high))] => canvas.line(&format!("m-lead m-s{}", colour(i)), (x, low), (x, high)),
        _ => {
            let lower = ends.iter().map(|&(x, (low, _))| (x, low));
            let upper = ends.iter().rev().map(|&(x, (_, high))| (x, high));
            canvas.polygon(&format!("m-band m-f{}", colour(i)), lower.chain(upper));
        }
    }
}

fn draw_run(canvas: &mut Canvas, (i, dashed): (usize, bool), run: &[Spot], all_marked: bool) {
    let points: Vec<(f64, f64)> = run.iter().map(|s| s.at).collect();
    let dash = if dashed { " m-dash" } else { "" };
    if points.len() > 1 {
        canvas.polyline(&format!("m-line m-s{}{dash}", colour(i)), &points);
    }
    if all_marked || points.len() == 1 {
        for &at in &points {
            canvas.marker(i, at, 3.2);
        }
    }
}

/// A dotted rule from a mark's label, above the plot, to the base line.
///
/// A label that is not alone begins at its rule: rules further left have
/// higher labels, so they pass it by.
fn draw_mark_rule(canvas: &mut Canvas, frame: &Frame, (row, mark): (usize, &Mark), alone: bool) {
    let plot = frame.plot;
    let (x, _) = frame.pixel(mark.x, mark.y);
    let y = plot.top - 10.0 - row as f64 * MARK_ROW;
    canvas.line("m-rule", (x, y + 5.0), (x, plot.bottom()));
    let label = text::fit(&mark.label, 12.0, WIDTH - 2.0 * MARGIN);
    let width = text::width(&label, 12.0);
    let start = if alone { x - width / 2.0 } else { x - 3.0 };
    let (anchor, x) = if start + width > WIDTH - MARGIN {
        (Anchor::End, WIDTH - MARGIN)
    } else if alone && start >= MARGIN {
        (Anchor::Middle, x)
    } else {
        (Anchor::Start, start.max(MARGIN))
    };
    canvas.text("m-name", anchor, (x, y), &label);
}
