//! The file: template, style, program and data put together.

use crate::block::{embedded, escaped};
use serde_json::Value;

const TEMPLATE: &str = include_str!("page/template.html");
const STYLE: &str = include_str!("page/page.css");
/// In the order in which they need each other.
const PROGRAM: [&str; 5] = [
    include_str!("page/data.js"),
    include_str!("page/geometry.js"),
    include_str!("page/plot.js"),
    include_str!("page/panels.js"),
    include_str!("page/main.js"),
];

/// The page. The data come last, so that nothing in them is taken for a place to fill.
pub(crate) fn assembled(title: &str, data: &Value) -> String {
    let program = format!("(() => {{\n\"use strict\";\n{}}})();", PROGRAM.concat());
    let places =
        [("STYLE", STYLE), ("PROGRAM", &program), ("TITLE", &escaped(title)), ("DATA", &embedded(data))];
    let mut page = String::new();
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("{{") {
        page.push_str(before);
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        page.push_str(places.iter().find(|place| place.0 == name).map_or("", |place| place.1));
        rest = after;
    }
    page + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_place_of_the_template_is_filled_once() {
        for name in ["STYLE", "PROGRAM", "DATA"] {
            assert_eq!(TEMPLATE.matches(&format!("{{{{{name}}}}}")).count(), 1, "{name}");
        }
        let page = assembled("{{DATA}} <i>", &json!("{{STYLE}}"));
        assert!(page.contains("{{DATA}} &lt;i&gt;") && page.contains("\"{{STYLE}}\""));
    }

    #[test]
    fn style_and_program_end_no_element() {
        for text in PROGRAM.into_iter().chain([STYLE]) {
            assert!(!text.contains("</") && !text.contains("<!--"));
        }
    }
}
