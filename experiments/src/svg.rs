//! A small SVG writer. The style follows the reader's light or dark setting, and is light in print.

use std::fmt::Write as _;

/// An SVG document under way.
#[derive(Default)]
pub(crate) struct Canvas {
    body: String,
}

/// The colours of Okabe and Ito and a violet, as (light page, dark page), in the order of the methods.
pub(crate) const COLOURS: [(&str, &str); 8] = [
    ("#6b7280", "#b4bcc6"),
    ("#0072b2", "#3f96dc"),
    ("#d55e00", "#ec7a3c"),
    ("#009e73", "#2cb58b"),
    ("#cc79a7", "#dd93bd"),
    ("#b3a300", "#f0e442"),
    ("#56b4e9", "#93d0f5"),
    ("#7a3e9d", "#b98be0"),
];

impl Canvas {
    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(number);
        self.push(&format!(r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#));
    }

    pub(crate) fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<String> =
            points.iter().map(|&(x, y)| format!("{},{}", number(x), number(y))).collect();
        self.push(&format!(r#"<polyline class="{class}" points="{}"/>"#, points.join(" ")));
    }

    pub(crate) fn circle(&mut self, class: &str, at: (f64, f64), radius: f64) {
        let [x, y, r] = [at.0, at.1, radius].map(number);
        self.push(&format!(r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}"/>"#));
    }

    /// A rectangle from its upper left corner; `hint` appears under the pointer.
    pub(crate) fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64), hint: &str) {
        let [x, y, w, h] = [at.0, at.1, size.0, size.1].map(number);
        let hint = if hint.is_empty() { String::new() } else { format!("<title>{}</title>", escape(hint)) };
        self.push(&format!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{w}" height="{h}">{hint}</rect>"#
        ));
    }

    /// One line of text; `class` may hold `mid` or `end`.
    pub(crate) fn text(&mut self, class: &str, at: (f64, f64), text: &str) {
        let [x, y] = [at.0, at.1].map(number);
        self.push(&format!(r#"<text class="{class}" x="{x}" y="{y}">{}</text>"#, escape(text)));
    }

    /// The finished document.
    pub(crate) fn finish(self, (width, height): (f64, f64), title: &str, about: &str) -> String {
        let [w, h] = [width, height].map(number);
        let (title, about) = (escape(title), escape(about));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" \
             role=\"img\" aria-label=\"{title}\" class=\"x-figure\">\n<title>{title}</title>\n\
             <desc>{about}</desc>\n<style>\n{}</style>\n<rect class=\"x-page\" width=\"{w}\" height=\"{h}\"/>\n{}</svg>\n",
            style(),
            self.body,
        )
    }

    fn push(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }
}

/// Text for elements and attributes.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn number(value: f64) -> String {
    let digits = format!("{value:.2}");
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Every colour once for light pages and print, once for dark pages. Plain rules: many viewers know no variables.
fn style() -> String {
    let mut css = String::from(
        ".x-figure text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;font-size:12px}\n\
         .x-figure .title{font-size:17px;font-weight:600}\n.x-figure .small{font-size:10.5px}\n\
         .x-figure .head{font-size:13px;font-weight:600}\n.mid{text-anchor:middle}\n.end{text-anchor:end}\n\
         .x-line{fill:none;stroke-width:2;stroke-linejoin:round}\n.x-dash{stroke-dasharray:6 4;stroke-width:1.6}\n\
         .x-ring{fill:none;stroke-width:1.8}\n.x-pale{fill-opacity:.22;stroke-width:1.1}\n",
    );
    css.push_str(&colours(["#ffffff", "#1b1f24", "#515a64", "#e6e9ec", "#8f98a2"], |pair| pair.0));
    css.push_str("@media screen and (prefers-color-scheme:dark){\n");
    css.push_str(&colours(["#12161b", "#e6e9ec", "#a6b0ba", "#272d35", "#5f6974"], |pair| pair.1));
    css.push_str("}\n");
    css
}

fn colours(tones: [&str; 5], pick: fn(&(&'static str, &'static str)) -> &'static str) -> String {
    let [page, ink, muted, grid, axis] = tones;
    let mut css = format!(
        ".x-page{{fill:{page}}}.title,.head,.name{{fill:{ink}}}.unit,.tick,.small{{fill:{muted}}}\n\
         .x-grid{{stroke:{grid}}}.x-axis{{stroke:{axis}}}.x-whisker{{stroke:{ink};stroke-width:1}}\n"
    );
    for (i, pair) in COLOURS.iter().enumerate() {
        let value = pick(pair);
        // Writing to a string cannot fail.
        let _ = writeln!(css, ".f{i}{{fill:{value}}}.s{i}{{stroke:{value}}}");
    }
    css
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_text_is_escaped() {
        assert_eq!(
            (number(1.0).as_str(), number(12.346).as_str(), number(100.0).as_str()),
            ("1", "12.35", "100")
        );
        assert_eq!(escape("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
    }

    #[test]
    fn every_colour_has_a_rule_for_a_light_and_for_a_dark_page() {
        let css = style();
        let (light, dark) = css.split_once("@media").unwrap();
        for (i, (on_light, on_dark)) in COLOURS.iter().enumerate() {
            assert!(light.contains(&format!(".f{i}{{fill:{on_light}}}")));
            assert!(dark.contains(&format!(".s{i}{{stroke:{on_dark}}}")));
        }
    }
}
