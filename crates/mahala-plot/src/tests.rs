//! What holds for every figure, whatever its data.

use crate::{BarPlot, LinePlot, LineSeries, Mark, Panel, ScatterPanels};

const NAN: f64 = f64::NAN;
const AWKWARD: &str = "<b>&\"'\u{1} a name much longer than any place there is for it in a figure, \
                       even after it has been wrapped twice over the whole width of the page";

fn line(points: Vec<(f64, f64)>) -> LinePlot {
    let band = points.iter().map(|p| (p.1 - 1.0, p.1 + 1.0)).collect();
    LinePlot {
        title: AWKWARD.to_owned(),
        subtitle: Some(AWKWARD.to_owned()),
        x_label: AWKWARD.to_owned(),
        y_label: AWKWARD.to_owned(),
        marks: points.iter().take(3).map(|&(x, y)| Mark { x, y, label: AWKWARD.to_owned() }).collect(),
        series: vec![LineSeries { name: AWKWARD.to_owned(), points, band: Some(band), dashed: true }],
        ..LinePlot::default()
    }
}

fn scatter(points: Vec<(f64, f64, usize)>, classes: usize) -> ScatterPanels {
    let panel = Panel { title: AWKWARD.to_owned(), subtitle: AWKWARD.to_owned(), points };
    ScatterPanels {
        title: AWKWARD.to_owned(),
        panels: vec![panel.clone(), panel],
        classes: (0..classes).map(|i| format!("{i} {AWKWARD}")).collect(),
    }
}

fn bars(values: Vec<Option<(f64, f64)>>, series: usize) -> BarPlot {
    BarPlot {
        title: AWKWARD.to_owned(),
        y_label: AWKWARD.to_owned(),
        groups: vec![(AWKWARD.to_owned(), AWKWARD.to_owned()); values.len()],
        series: vec![(AWKWARD.to_owned(), values); series],
    }
}

/// Figures of empty, single, equal, extreme, missing and many data.
fn figures() -> Vec<String> {
    let lists: [&[(f64, f64)]; 7] = [
        &[],
        &[(0.5, 0.25)],
        &[(1.0, 3.0), (1.0, 3.0)],
        &[(NAN, 1.0), (1.0, NAN), (f64::INFINITY, 1.0), (2.0, f64::NEG_INFINITY)],
        &[(0.0, 1.0), (0.5, NAN), (1.0, 2.0)],
        &[(-1e300, 1e300), (1e300, -1e300), (f64::MAX, 0.0)],
        &[(1e-310, 1e-300), (0.0, -1e-12), (1e-5, 1e9)],
    ];
    let mut figures = Vec::new();
    for points in lists {
        let plot = line(points.to_vec());
        let log = LinePlot { x_log: true, y_log: true, y_from_zero: true, ..plot.clone() };
        let points: Vec<_> = points.iter().map(|&(x, y)| (x, y, 99)).collect();
        let values = points.iter().map(|&(x, y, _)| Some((y, x)));
        figures.extend([plot.to_svg(), log.to_svg()]);
        figures.push(bars(values.chain([None]).collect(), 30).to_svg());
        figures.push(scatter(points, 30).to_svg());
    }
    figures.push(scatter(Vec::new(), 300).to_svg());
    figures.extend([LinePlot::default().to_svg(), BarPlot::default().to_svg()]);
    figures.push(ScatterPanels::default().to_svg());
    figures
}

/// Panics unless every element that is opened is closed in its place.
fn check_nesting(svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    for tag in svg.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a closed tag");
        let name = tag.split([' ', '/']).find(|part| !part.is_empty()).expect("a name");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

#[test]
fn every_figure_is_well_formed_and_stands_alone() {
    for svg in figures() {
        check_nesting(&svg);
        assert!(svg.starts_with("<svg xmlns=") && svg.contains("viewBox=\"0 0 "));
        assert!(svg.contains("<title>") && svg.contains("<desc>"));
        assert!(svg.contains("@media screen and (prefers-color-scheme:dark)"));
        assert!(!svg.contains("<script") && !svg.contains("href") && !svg.contains("url("));
    }
}

#[test]
fn no_number_of_a_figure_is_infinite_or_outside_it() {
    for svg in figures() {
        let body = svg.split_once("</style>").expect("a style").1;
        assert!(!body.contains("NaN") && !body.contains("inf\""), "{body}");
        let points = body.split("points=\"").skip(1).filter_map(|part| part.split('"').next());
        for pair in points.flat_map(str::split_whitespace) {
            let (x, y) = pair.split_once(',').expect("a pair");
            let (x, y): (f64, f64) = (x.parse().expect("x"), y.parse().expect("y"));
            assert!((0.0..5000.0).contains(&x) && (0.0..5000.0).contains(&y), "{pair}");
        }
    }
}

#[test]
fn the_same_data_give_the_same_bytes() {
    assert_eq!(figures(), figures());
}

#[test]
fn data_that_cannot_be_drawn_are_said_to_be_missing() {
    let empty = [LinePlot::default().to_svg(), BarPlot::default().to_svg()];
    let unseen = [line(vec![(NAN, 1.0)]).to_svg(), scatter(vec![(1.0, NAN, 0)], 1).to_svg()];
    for svg in empty.iter().chain(&unseen) {
        assert!(svg.contains("No data to show"));
    }
}

#[test]
fn a_missing_point_leaves_a_gap_in_its_line() {
    let plot = line(vec![(0.0, 1.0), (0.2, 1.0), (0.4, NAN), (0.6, 1.0), (0.8, 1.0)]);
    assert_eq!(plot.to_svg().matches("<polyline class=\"m-line").count(), 2);
}

#[test]
fn more_classes_than_colours_are_noted() {
    let note = "Colours repeat after 8 classes";
    assert!(!scatter(vec![(0.0, 0.0, 0)], 8).to_svg().contains(note));
    assert!(scatter(vec![(0.0, 0.0, 0)], 9).to_svg().contains(note));
}

#[test]
fn a_description_tells_the_values() {
    let plot = BarPlot {
        y_label: "error".to_owned(),
        groups: vec![("wine".to_owned(), String::new())],
        series: vec![("GMML".to_owned(), vec![Some((0.04, 0.01))])],
        ..BarPlot::default()
    };
    let wanted = "<desc>Bar plot of error. wine: GMML 0.04 ± 0.01.</desc>";
    assert!(plot.to_svg().contains(wanted));
}
