//! The SVG document: elements, numbers, styles.
//!
//! Classes name what an element is, and the style block gives it colours: `m-title`, `m-sub`, `m-unit`, `m-head`, `m-tick`
//! and `m-name` are text; `m-grid`, `m-axis`, `m-whisker`, `m-line`, `m-dash` and `m-ring` are strokes; `m-f0` and `m-s0`
//! fill and stroke with the first colour of the palette.

use std::fmt::Write as _;

use crate::Area;
use crate::palette::{COLOURS, colour, shape};
use crate::scale::trim;
use crate::text::escape;

/// Which end of a text lies at its point.
#[derive(Clone, Copy, Debug)]
pub enum Anchor {
    /// The left end.
    Start,
    /// The middle.
    Middle,
    /// The right end.
    End,
}

/// The colours of the series, and rules beside those of every figure.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// A colour for each series, as (light page, dark page).
    pub colours: &'static [(&'static str, &'static str)],
    /// CSS that sets no colour.
    pub rules: &'static str,
}

impl Default for Style {
    fn default() -> Self {
        Self { colours: &COLOURS, rules: "" }
    }
}

/// An SVG document under way.
#[derive(Clone, Debug, Default)]
pub struct Canvas {
    body: String,
    style: Style,
}

impl Canvas {
    /// An empty canvas with colours of its own.
    pub fn new(style: Style) -> Self {
        Self { body: String::new(), style }
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (number(from.0), number(from.1), number(to.0), number(to.1));
        self.push(&format!(r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#));
    }

    /// A line through all points.
    pub fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        let points = list(points.iter().copied());
        self.push(&format!(r#"<polyline class="{class}" points="{points}"/>"#));
    }

    /// A filled outline through all points.
    pub fn polygon(&mut self, class: &str, points: impl Iterator<Item = (f64, f64)>) {
        let points = list(points);
        self.push(&format!(r#"<polygon class="{class}" points="{points}"/>"#));
    }

    /// A circle.
    pub fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        let (x, y, r) = (number(x), number(y), number(radius));
        self.push(&format!(r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}"/>"#));
    }

    /// A rectangle; `hint`, if any, appears under the pointer.
    pub fn rect(&mut self, class: &str, area: Area, hint: &str) {
        let (x, y) = (number(area.left), number(area.top));
        let (w, h) = (number(area.width), number(area.height));
        let rest = match hint {
            "" => "/>".to_owned(),
            _ => format!("><title>{}</title></rect>", escape(hint)),
        };
        self.push(&format!(r#"<rect class="{class}" x="{x}" y="{y}" width="{w}" height="{h}"{rest}"#));
    }

    /// The marker of the series or class `index`.
    pub fn marker(&mut self, index: usize, (x, y): (f64, f64), radius: f64) {
        let class = format!("m-f{}", colour(index));
        let corners = shape(index);
        if corners.is_empty() {
            return self.circle(&class, (x, y), radius);
        }
        let corners = corners.iter().map(|(dx, dy)| (x + dx * radius, y + dy * radius));
        self.polygon(&class, corners);
    }

    /// One line of text.
    pub fn text(&mut self, class: &str, anchor: Anchor, (x, y): (f64, f64), text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " m-mid",
            Anchor::End => " m-end",
        };
        let (x, y, text) = (number(x), number(y), escape(text));
        self.push(&format!(r#"<text class="{class}{anchor}" x="{x}" y="{y}">{text}</text>"#));
    }

    /// The four light lines around a plot.
    pub fn frame(&mut self, area: Area) {
        let corners = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.0, 0.0)];
        self.polyline("m-grid m-open", &corners.map(|(x, y)| area.at(x, y)));
    }

    /// Puts what is drawn next into a group, until [`Canvas::close`].
    pub fn open(&mut self, class: &str, opacity: f64) {
        let opacity = number(opacity);
        self.push(&format!(r#"<g class="{class}" fill-opacity="{opacity}">"#));
    }

    /// Ends the group.
    pub fn close(&mut self) {
        self.push("</g>");
    }

    /// The finished document.
    pub fn finish(self, (width, height): (f64, f64), title: &str, about: &str) -> String {
        let (w, h) = (number(width.ceil()), number(height.ceil()));
        let (title, about) = (escape(title), escape(about));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" \
             height=\"{h}\" role=\"img\" aria-label=\"{title}\" class=\"m-figure\">\n\
             <title>{title}</title>\n<desc>{about}</desc>\n<style>\n{style}</style>\n\
             <rect class=\"m-page\" width=\"{w}\" height=\"{h}\"/>\n{body}</svg>\n",
            style = style(self.style),
            body = self.body,
        )
    }

    fn push(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }
}

/// A coordinate with at most two decimals and without a negative zero.
pub(crate) fn number(value: f64) -> String {
    let digits = format!("{value:.2}");
    match trim(&digits) {
        "-0" | "NaN" | "inf" | "-inf" => "0".to_owned(),
        digits => digits.to_owned(),
    }
}

fn list(points: impl Iterator<Item = (f64, f64)>) -> String {
    let pairs = points.map(|(x, y)| format!("{},{}", number(x), number(y)));
    pairs.collect::<Vec<_>>().join(" ")
}

/// Rules that do not depend on the reader's setting.
const SHAPE_RULES: &str = "\
.m-figure text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;\
font-size:12px}
.m-figure .m-title{font-size:18px;font-weight:600}
.m-figure .m-sub{font-size:13px}
.m-figure .m-unit{font-size:12px}
.m-figure .m-head{font-size:13px;font-weight:600}
.m-figure .m-tick{font-size:11px;font-variant-numeric:tabular-nums}
.m-mid{text-anchor:middle}
.m-end{text-anchor:end}
.m-grid,.m-axis,.m-rule{stroke-width:1}
.m-open{fill:none}
.m-line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.m-dash{stroke-dasharray:7 5}
.m-rule{stroke-dasharray:3 3}
.m-lead{fill:none;stroke-width:1;stroke-opacity:.7}
.m-band{fill-opacity:.16}
.m-ring{fill:none;stroke-width:2}
.m-halo{stroke-width:.6}
";

/// The whole style block: every rule that sets a colour is repeated for a
/// dark page on a screen; print is light. Plain rules, because many viewers do not know CSS variables.
fn style(Style { colours, rules }: Style) -> String {
    let light = ["#ffffff", "#1b1f24", "#59636e", "#e8ebee", "#9aa3ad"];
    let dark = ["#12161b", "#e6e9ec", "#9ea8b3", "#272d35", "#5b6570"];
    let mut css = SHAPE_RULES.to_owned() + rules;
    css.push_str(&colour_rules(light, colours, |pair| pair.0));
    css.push_str("@media screen and (prefers-color-scheme:dark){\n");
    css.push_str(&colour_rules(dark, colours, |pair| pair.1));
    css.push_str("}\n");
    css
}

fn colour_rules(
    tones: [&str; 5],
    colours: &[(&'static str, &'static str)],
    pick: fn(&(&'static str, &'static str)) -> &'static str,
) -> String {
    let [page, ink, muted, grid, axis] = tones;
    let mut css = format!(
        ".m-page{{fill:{page}}}\n.m-title,.m-head,.m-name{{fill:{ink}}}\n.m-sub,.m-unit,.m-tick{{fill:{muted}}}\n\
         .m-grid{{stroke:{grid}}}\n.m-axis{{stroke:{axis}}}\n.m-rule{{stroke:{muted}}}\n\
         .m-ring,.m-whisker{{stroke:{ink}}}\n.m-halo{{stroke:{page}}}\n"
    );
    for (i, pair) in colours.iter().enumerate() {
        let value = pick(pair);
        // Writing to a string cannot fail.
        let _ = writeln!(css, ".m-f{i}{{fill:{value}}}.m-s{i}{{stroke:{value}}}");
    }
    css
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_have_two_decimals_and_no_negative_zero() {
        assert_eq!(number(1.0), "1");
        assert_eq!(number(-0.001), "0");
        assert_eq!(number(12.3456), "12.35");
        assert_eq!(number(f64::NAN), "0");
        assert_eq!(number(100.0), "100");
    }

    #[test]
    fn every_colour_has_a_rule_for_a_light_and_for_a_dark_page() {
        let css = style(Style::default());
        let (light, dark) = css.split_once("@media").expect("two parts");
        for (i, (on_light, on_dark)) in COLOURS.iter().enumerate() {
            assert!(light.contains(&format!(".m-f{i}{{fill:{on_light}}}")));
            assert!(dark.contains(&format!(".m-s{i}{{stroke:{on_dark}}}")));
        }
    }
}
