//! The paper's figures: grouped bars with whiskers, and error over t; the paper's values beside ours.

use crate::paper;
use crate::protocol::{CURVES, Figure, METHODS, Method, SETS, Set};
use crate::results::{Results, least};
use mahala_plot::{Anchor, Area, Canvas, Style};

/// The colours of Okabe and Ito, a grey and a violet, as (light page, dark page), in the order of the methods; bars of the
/// paper are pale.
const STYLE: Style = Style {
    colours: &[
        ("#6b7280", "#b4bcc6"),
        ("#0072b2", "#3f96dc"),
        ("#d55e00", "#ec7a3c"),
        ("#009e73", "#2cb58b"),
        ("#cc79a7", "#dd93bd"),
        ("#b3a300", "#f0e442"),
        ("#56b4e9", "#93d0f5"),
        ("#7a3e9d", "#b98be0"),
    ],
    rules: ".m-pale{fill-opacity:.22;stroke-width:1.1}\n",
};

const WIDTH: f64 = 780.0;
const MARGIN: f64 = 20.0;
/// Left of a plot, for the numbers of its axis.
const GUTTER: f64 = 34.0;
const BAR: f64 = 7.5;
/// Between two methods of a group.
const GAP: f64 = 1.5;

/// A plot's place on the canvas, and the values at its ends.
struct Plot {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    low: f64,
    high: f64,
}

impl Plot {
    fn y(&self, value: f64) -> f64 {
        self.top + self.height * (1.0 - (value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Lines at round values, labelled on the left.
    fn draw_axis(&self, canvas: &mut Canvas) {
        let step = nice_step((self.high - self.low) / 5.0);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        for i in first..=last {
            let y = self.y(i as f64 * step);
            canvas.line("m-grid", (self.left, y), (self.left + self.width, y));
            canvas.text("m-tick", Anchor::End, (self.left - 6.0, y + 4.0), &format!("{}", i as f64 * step));
        }
    }
}

/// 1, 2 or 5 times a power of ten, at least `raw`.
fn nice_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|f| f * power).into_iter().find(|&step| step >= raw).unwrap_or(raw)
}

/// Grouped bars: ours filled, the paper's pale beside it, whiskers one standard deviation.
pub(crate) fn bars(results: &Results, figure: Figure) -> String {
    let title = match figure {
        Figure::Small => "Small data sets: error of 5 nearest neighbours",
        Figure::Large => "Large data sets: error of 5 nearest neighbours",
    };
    let sets: Vec<&Set> = SETS.iter().filter(|set| set.figure == figure && any(results, set)).collect();
    let mut canvas = Canvas::new(STYLE);
    canvas.text("m-title", Anchor::Start, (MARGIN, 34.0), title);
    let unit =
        "percent; filled: this project, pale: the paper; whiskers: ± one standard deviation; – : no result";
    canvas.text("m-unit", Anchor::Start, (MARGIN, 54.0), unit);
    legend(&mut canvas, 74.0);
    let mut top = 100.0;
    let rows = sets.len().div_ceil(6).max(1);
    for row in sets.chunks(sets.len().div_ceil(rows).max(1)) {
        let highest = row.iter().map(|set| tallest(results, set)).fold(1.0, f64::max);
        let (left, height) = (MARGIN + GUTTER, 230.0);
        let plot = Plot { left, top, width: WIDTH - left - MARGIN, height, low: 0.0, high: 1.03 * highest };
        plot.draw_axis(&mut canvas);
        for (i, set) in row.iter().enumerate() {
            let room = plot.width / row.len() as f64;
            group(&mut canvas, &plot, results, set, plot.left + (i as f64 + 0.5) * room);
        }
        canvas.line("m-axis", (left, top + height), (WIDTH - MARGIN, top + height));
        top += height + 76.0;
    }
    canvas.finish((WIDTH, top), title, &about_bars(results, &sets))
}

fn any(results: &Results, set: &Set) -> bool {
    METHODS.iter().any(|&method| results.cell(set, "error", method).is_some())
}

/// The top of the highest bar or whisker of a set.
fn tallest(results: &Results, set: &Set) -> f64 {
    let ours = METHODS.iter().filter_map(|&method| results.error(set, method)).map(|s| s.mean + s.std);
    let theirs = METHODS.iter().filter_map(|&method| paper::bar(set.paper, method)).map(|(m, s)| m + s);
    ours.chain(theirs).fold(0.0, f64::max)
}

fn group(canvas: &mut Canvas, plot: &Plot, results: &Results, set: &Set, middle: f64) {
    let bars: usize =
        METHODS.iter().map(|&method| 1 + usize::from(paper::bar(set.paper, method).is_some())).sum();
    let gaps = (METHODS.len() - 1) as f64 * GAP;
    let mut x = middle - 0.5 * (bars as f64 * BAR + gaps);
    for (i, &method) in METHODS.iter().enumerate() {
        if let Some(ours) = results.error(set, method) {
            let hint = format!("{}, {}: {:.2} ± {:.2}", set.title, method.title(), ours.mean, ours.std);
            bar(canvas, plot, &format!("m-f{i}"), x, (ours.mean, ours.std), &hint);
        } else {
            canvas.text("m-unit", Anchor::Middle, (x + BAR / 2.0, plot.y(0.0) - 4.0), "–");
        }
        x += BAR;
        if let Some(theirs) = paper::bar(set.paper, method) {
            let hint = format!("{}, {}, paper: {:.2} ± {:.2}", set.title, method.title(), theirs.0, theirs.1);
            bar(canvas, plot, &format!("m-f{i} m-s{i} m-pale"), x, theirs, &hint);
            x += BAR;
        }
        x += GAP;
    }
    let (n, d, c) = set.shape;
    let (title, rest) = set.title.split_once(" (").unwrap_or((set.title, ""));
    let rest = rest.trim_end_matches(')');
    canvas.text("m-name", Anchor::Middle, (middle, plot.top + plot.height + 17.0), title);
    let lines = [format!("d = {d}, c = {c}"), format!("n = {n}"), rest.to_owned()];
    for (line, y) in lines.iter().zip([31.0, 44.0, 57.0]) {
        canvas.text("m-tick", Anchor::Middle, (middle, plot.top + plot.height + y), line);
    }
}

fn bar(canvas: &mut Canvas, plot: &Plot, class: &str, x: f64, (mean, std): (f64, f64), hint: &str) {
    let top = plot.y(mean);
    canvas.rect(class, Area { left: x + 0.5, top, width: BAR - 1.0, height: plot.y(0.0) - top }, hint);
    if std > 0.0 {
        let (middle, low, high) = (x + BAR / 2.0, plot.y(mean - std), plot.y(mean + std));
        canvas.line("m-whisker", (middle, low), (middle, high));
        canvas.line("m-whisker", (middle - 2.0, low), (middle + 2.0, low));
        canvas.line("m-whisker", (middle - 2.0, high), (middle + 2.0, high));
    }
}

fn legend(canvas: &mut Canvas, y: f64) {
    let mut x = MARGIN;
    for (i, method) in METHODS.iter().enumerate() {
        canvas.rect(&format!("m-f{i}"), Area { left: x, top: y - 9.0, width: 11.0, height: 11.0 }, "");
        canvas.text("m-name", Anchor::Start, (x + 16.0, y + 1.0), method.title());
        x += 40.0 + 7.2 * method.title().len() as f64;
    }
}

fn about_bars(results: &Results, sets: &[&Set]) -> String {
    let value = |set: &Set, method: Method| {
        results.error(set, method).map(|ours| format!("{} {:.2}", method.title(), ours.mean))
    };
    let about = |set: &&Set| {
        let values: Vec<String> = METHODS.iter().filter_map(|&method| value(set, method)).collect();
        format!("{}: {}.", set.title, values.join(", "))
    };
    sets.iter().map(about).collect::<Vec<_>>().join(" ")
}

/// Error over t, a panel a set: ours solid, the paper's dashed, the least of each ringed.
pub(crate) fn curves(results: &Results) -> String {
    let title = "Effect of t: GMML's error on the way from S⁻¹ (t = 0) to D (t = 1)";
    let sets: Vec<&Set> =
        SETS.iter().filter(|set| CURVES.contains(&set.name) && results.curve(set).is_some()).collect();
    let mut canvas = Canvas::new(STYLE);
    canvas.text("m-title", Anchor::Start, (MARGIN, 34.0), title);
    canvas.line("m-line m-s1", (MARGIN, 54.0), (MARGIN + 28.0, 54.0));
    canvas.text("m-name", Anchor::Start, (MARGIN + 34.0, 58.0), "this project");
    canvas.line("m-line m-dash m-s2", (MARGIN + 130.0, 54.0), (MARGIN + 158.0, 54.0));
    canvas.text("m-name", Anchor::Start, (MARGIN + 164.0, 58.0), "the paper");
    canvas.text("m-unit", Anchor::Start, (MARGIN + 250.0, 58.0), "error in percent over t; rings: the least");
    let (room, height) = ((WIDTH - 2.0 * MARGIN) / 2.0, 190.0);
    for (i, set) in sets.iter().enumerate() {
        let (column, row) = ((i % 2) as f64, (i / 2) as f64);
        let (left, top) = (MARGIN + GUTTER + column * room, 104.0 + row * (height + 66.0));
        panel(&mut canvas, results, set, (left, top), (room - GUTTER - 14.0, height));
    }
    let rows = sets.len().div_ceil(2) as f64;
    canvas.finish((WIDTH, 104.0 + rows * (height + 66.0)), title, &about_curves(results, &sets))
}

fn panel(
    canvas: &mut Canvas,
    results: &Results,
    set: &Set,
    (left, top): (f64, f64),
    (width, height): (f64, f64),
) {
    let ours: Vec<(f64, f64)> = results
        .curve(set)
        .map(|c| c.points.iter().map(|&(t, mean, _)| (t, mean)).collect())
        .unwrap_or_default();
    let theirs = paper::curve(set.name);
    let highest = ours.iter().chain(&theirs).map(|point| point.1).fold(1.0, f64::max);
    let plot = Plot { left, top, width, height, low: 0.0, high: 1.05 * highest };
    canvas.text("m-head", Anchor::Start, (left - GUTTER + 6.0, top - 12.0), set.title);
    plot.draw_axis(canvas);
    canvas.line("m-axis", (left, top + height), (left + width, top + height));
    for tenth in [0.0, 0.2, 0.4, 0.6, 0.8, 1.0] {
        let x = left + tenth * width;
        canvas.line("m-axis", (x, top + height), (x, top + height + 4.0));
        canvas.text("m-tick", Anchor::Middle, (x, top + height + 17.0), &format!("{tenth}"));
    }
    canvas.text("m-tick", Anchor::Middle, (left + width / 2.0, top + height + 31.0), "t");
    let at = |(t, error): (f64, f64)| (left + t * width, plot.y(error));
    for (points, dash, colour) in [(&theirs, " m-dash", 2), (&ours, "", 1)] {
        if points.is_empty() {
            continue;
        }
        let line: Vec<(f64, f64)> = points.iter().map(|&point| at(point)).collect();
        canvas.polyline(&format!("m-line m-s{colour}{dash}"), &line);
        canvas.circle(&format!("m-ring m-s{colour}"), at(least(points.iter().copied())), 5.0);
    }
}

fn about_curves(results: &Results, sets: &[&Set]) -> String {
    let about = |set: &&Set| {
        let (t, error) = results.curve(set)?.minimum();
        Some(format!("{}: least error {error:.2} percent at t = {t}.", set.title))
    };
    sets.iter().filter_map(about).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_not_below_what_is_asked() {
        assert_eq!([0.3, 1.0, 1.1, 4.9, 7.0, 30.0].map(nice_step), [0.5, 1.0, 2.0, 5.0, 10.0, 50.0]);
    }

    #[test]
    fn figures_without_results_are_whole_documents() {
        let none = Results::load(std::path::Path::new("no such folder")).unwrap();
        for svg in [bars(&none, Figure::Small), curves(&none)] {
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
        }
    }
}
