//! `mahala tune`: the cross-validated error for every t.

use crate::commands::dataset::dataset;
use crate::commands::explain::explain;
use crate::commands::{create_output, write_figure};
use crate::options::input::LabelsIn;
use crate::options::tune::Tune;
use crate::terminal::message::{print_json, print_result};
use crate::terminal::progress::Bar;
use anyhow::Result;
use mahala::gmml::{CrossValidation, VALUES_OF_T};
use mahala::{Dataset, Gmml};
use mahala_plot::{LinePlot, LineSeries, Mark};
use serde_json::json;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The error over t, and the choice of the two-step search.
pub(crate) struct Curve {
    pub points: Vec<(f64, f64)>,
    pub chosen: (f64, f64),
    pub folds: usize,
}

/// Computes the curve and shows it.
pub(crate) fn run(args: &Tune) -> Result<()> {
    let inputs: Vec<&Path> = args.labels.iter().chain([&args.data]).map(PathBuf::as_path).collect();
    let svg = args.svg.as_ref().map(|path| create_output(path, &inputs)).transpose()?;
    let mut table = args.input.read(&args.data, LabelsIn::of(args.label.as_ref(), args.labels.as_deref()))?;
    let data = dataset(&mut table)?;
    args.learn.check_folds(data.len())?;
    let gmml = args.learn.gmml(args.pairs.rule(), data.columns())?;
    let curve = curve(&gmml, &data, args.steps).map_err(|error| explain(error, &table.names))?;
    if let (Some(svg), Some(path)) = (svg, &args.svg) {
        write_figure(svg, path, &figure(&curve, &table.source).to_svg())?;
    }
    if args.json {
        let json = json!({
            "dataset": table.source, "t": curve.chosen.0, "error": curve.chosen.1, "folds": curve.folds,
            "curve": curve.points.iter().map(|&(t, e)| json!([t, e])).collect::<Vec<_>>(),
        });
        return print_json("tune", json);
    }
    print_result(&to_text(&curve))
}

/// The errors at `0, 1/steps, …, 1` and the two-step choice, on the same folds.
pub(crate) fn curve(gmml: &Gmml, data: &Dataset, steps: u32) -> mahala::Result<Curve> {
    let values: Vec<f64> = (0..=steps).map(|i| f64::from(i) / f64::from(steps)).collect();
    let search = CrossValidation::new(gmml, data)?;
    let progress = Bar::over("cross-validating", (values.len() + VALUES_OF_T) * gmml.folds);
    let total = |part: usize| part * (values.len() + VALUES_OF_T) / values.len().max(1);
    let errors = search.errors(&values, &mut |step| {
        progress.at(step.done, total(step.total.unwrap_or(0)));
        ControlFlow::Continue(())
    })?;
    let selection = search.select(&mut |step| {
        let before = values.len() * gmml.folds;
        progress.at(before + step.done, before + step.total.unwrap_or(0));
        ControlFlow::Continue(())
    })?;
    let error = selection.curve.iter().find(|point| point.0 == selection.t).map_or(f64::NAN, |point| point.1);
    let points = values.into_iter().zip(errors).collect();
    Ok(Curve { points, chosen: (selection.t, error), folds: selection.folds })
}

/// The curve as a figure, with the chosen t marked.
pub(crate) fn figure(curve: &Curve, name: &str) -> LinePlot {
    let percent = |(t, error): (f64, f64)| (t, 100.0 * error);
    let (x, y) = percent(curve.chosen);
    LinePlot {
        title: format!("Error over t: {name}"),
        subtitle: Some(format!("{}-fold cross-validation on the same folds for every t", curve.folds)),
        x_label: "t: from the inverse of S (0) to D (1)".into(),
        y_label: "error of nearest neighbours, %".into(),
        series: vec![LineSeries {
            name: "GMML".into(),
            points: curve.points.iter().copied().map(percent).collect(),
            ..LineSeries::default()
        }],
        marks: vec![Mark { x, y, label: format!("t = {x}: {y:.2} %") }],
        y_from_zero: true,
        ..LinePlot::default()
    }
}

fn to_text(curve: &Curve) -> String {
    let most = curve.points.iter().map(|point| point.1).fold(f64::MIN_POSITIVE, f64::max);
    let mut text = String::from("     t  error %\n");
    for &(t, error) in &curve.points {
        let bar = "▇".repeat((40.0 * error / most).round() as usize);
        let mark = if (t - curve.chosen.0).abs() < 1e-9 { " ◀ chosen" } else { "" };
        text.push_str(&format!("{t:6.3}  {:7.2}  {bar}{mark}\n", 100.0 * error));
    }
    text.push_str(&format!(
        "\nchosen in two steps: t = {} with {:.2} %\n",
        curve.chosen.0,
        100.0 * curve.chosen.1
    ));
    text
}
