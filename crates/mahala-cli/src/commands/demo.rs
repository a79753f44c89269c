//! `mahala demo`: what it does, on a bundled data set.

use crate::commands::dataset::dataset;
use crate::commands::{evaluate, fit, tune};
use crate::options::demo::Demo;
use crate::options::input::InputArgs;
use crate::options::{Cli, Command};
use crate::terminal::format;
use crate::terminal::message::{print_json, print_message, print_result};
use anyhow::{Context as _, Result};
use clap::Parser as _;
use mahala::gmml::TChoice;
use mahala::progress::silent;
use mahala::{Dataset, Gmml, Metric};
use mahala_io::write_atomic;
use mahala_io::{Header, Missing, RowsHeld};
use mahala_page::{Explorer, Settings, Source};
use mahala_plot::{Panel, ScatterPanels};
use serde_json::json;
use std::ffi::OsStr;
use std::path::Path;

const WINE: &str = include_str!("../../data/wine.csv");

const STEPS: u32 = 50;

/// Compares, fits, draws.
pub(crate) fn run(args: &Demo) -> Result<()> {
    let directory = &args.output;
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let csv = directory.join("wine.csv");
    write_atomic(&csv, WINE.as_bytes())?;
    let input = InputArgs {
        ignore: Vec::new(),
        missing: Missing::Refuse,
        header: Header::Yes,
        delimiter: None,
        format: None,
        array: None,
        zero_based: false,
        by_position: false,
        rows_held: RowsHeld::Double,
        skip_bad_rows: None,
        most_bytes: None,
    };
    let mut table = input.read(&csv, Some(&"label".parse()?))?;
    let data = dataset(&mut table)?;
    let gmml = Gmml::default();
    let (compared, mut json) = evaluate::compare_on_halves(&data, &gmml, args.runs.into())?;
    let text = format!(
        "Wine: {} rows, {} columns, {} cultivars.\nError of 5 nearest neighbours on held-out rows, over {}:\n\n{}\n",
        data.len(),
        data.columns(),
        data.labels().class_count(),
        format::count(args.runs.into(), "random halving"),
        compared
    );
    if !args.json {
        print_result(&text)?;
    }
    let model = directory.join("wine.safetensors");
    fit_as_typed(&csv, &model)?;
    let t = gmml.fit(&data)?.t;
    let curve = tune::curve(&gmml, &data, STEPS)?;
    let plane = Gmml { t: TChoice::Fixed(t), rank: Some(mahala::gmml::Components::Count(2)), ..gmml.clone() };
    let figure = before_and_after(&data, &plane.fit(&data)?.metric)?;
    let source = Source { columns: &table.names, ..Source::titled("Wine") };
    let page = Explorer::new(&data, &source, &Settings::default(), &mut silent)?;
    let files: [(&str, Vec<u8>); 3] = [
        ("error-over-t.svg", tune::figure(&curve, "Wine").to_svg().into_bytes()),
        ("before-after.svg", figure.to_svg().into_bytes()),
        ("wine.html", page.to_html().into_bytes()),
    ];
    for (name, bytes) in &files {
        write_atomic(&directory.join(name), bytes)?;
    }
    let shown = directory.display();
    if args.json {
        let names = ["wine.csv", "error-over-t.svg", "before-after.svg", "wine.safetensors"];
        json["dataset"] = json!(csv.display().to_string());
        json["runs"] = json!(args.runs);
        json["files"] = json!(names.map(|name| directory.join(name).display().to_string()));
        print_json("demo", json)?;
    }
    print_message(&format!(
        "wrote {shown}/: wine.csv, error-over-t.svg, before-after.svg, the model wine.safetensors,\n\
         and wine.html: open it in a browser, and move t\n\n\
         next:\n  mahala inspect {shown}/wine.safetensors\n  mahala predict {shown}/wine.safetensors {shown}/wine.csv \
         --label label\n  mahala evaluate YOUR.csv --label COLUMN"
    ));
    Ok(())
}

/// What `mahala fit wine.csv --label label` does, with all its defaults.
fn fit_as_typed(csv: &Path, model: &Path) -> Result<()> {
    let words = ["mahala", "fit", "--label", "label"].map(OsStr::new);
    let words = words.into_iter().chain([csv.as_os_str(), OsStr::new("--output"), model.as_os_str()]);
    match Cli::try_parse_from(words)?.command {
        Command::Fit(args) => fit::run(&args),
        _ => Ok(()),
    }
}

/// Two coordinates of the raw rows (principal axes) beside the two leading ones of the metric.
fn before_and_after(data: &Dataset, metric: &Metric) -> Result<ScatterPanels> {
    let plane = |metric: &Metric| -> Result<Vec<(f64, f64, usize)>> {
        let z = metric.transform(data.rows())?;
        let class = |i: usize| data.labels().codes()[i] as usize;
        Ok((0..z.len()).map(|i| (z.row(i)[0], z.row(i)[1], class(i))).collect())
    };
    let before = plane(&Metric::principal_axes(data.rows())?)?;
    let panel = |title: &str, subtitle: &str, points| Panel {
        title: title.into(),
        subtitle: subtitle.into(),
        points,
    };
    Ok(ScatterPanels {
        title: "Wine before and after".into(),
        panels: vec![
            panel("Euclidean", "raw rows, first two principal axes", before),
            panel("GMML", "the learned metric in two coordinates", plane(metric)?),
        ],
        classes: data.labels().names().iter().map(|name| format!("cultivar {name}")).collect(),
    })
}
