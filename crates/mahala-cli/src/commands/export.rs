//! `mahala export`: a model for other programs.

use crate::commands::{create_apart, load_model, shown};
use crate::options::export::{Export, Form, What, form_of};
use crate::terminal::format;
use crate::terminal::message::{print_json, print_message, tell_written};
use anyhow::{Result, bail};
use mahala::model::{Precision, onnx_model_for};
use mahala::retrieval::Similarity;
use mahala::{Mat, Metric, Model};
use mahala_io::npy::npy_bytes;
use serde_json::{Value, json};
use std::io::Write as _;

/// Exports.
pub(crate) fn run(args: &Export) -> Result<()> {
    let model = load_model(&args.model)?;
    let form = form_of(args)?;
    check_exportable(args, form, &model)?;
    let map = whole_map(args, form, &model)?;
    let bytes = match form {
        Form::Onnx => {
            let precision = if args.f32 { Precision::F32 } else { Precision::F64 };
            onnx_model_for(&map, model.similarity(), precision)?
        }
        Form::Npy => {
            let matrix = matrix(&map, args.what)?;
            npy_bytes(&[matrix.nrows(), matrix.ncols()], &row_major(&matrix))?
        }
        Form::Csv => csv_bytes(&model, &matrix(&map, args.what)?)?,
        Form::Json => format!("{:#}\n", to_json(&model, &map)?).into_bytes(),
    };
    let mut output = create_apart(&args.output, &[&args.model], args.json)?;
    output.write_all(&bytes)?;
    output.commit()?;
    if model.similarity() == Similarity::Cosine && form != Form::Onnx {
        print_message(
            "note: the model is for the cosine: rank what the linear map makes of rows by it, not by distance",
        );
    }
    let (rows, columns) = match (form, args.what) {
        (Form::Npy | Form::Csv, What::Matrix) => (map.columns(), map.columns()),
        _ => (map.rank(), map.columns()),
    };
    tell_written(&args.output, &format::table(rows, columns));
    if args.json {
        return print_json(
            "export",
            json!({
                "model": args.model.display().to_string(), "output": shown(&args.output), "format": form.name(),
                "rows": rows, "columns": columns,
            }),
        );
    }
    Ok(())
}

/// Refuses what is no matrix, and matrices beyond the memory.
fn check_exportable(args: &Export, form: Form, model: &Model) -> Result<()> {
    if model.kernel.is_some() {
        bail!("{}: a metric with a kernel is not a matrix to export", args.model.display());
    }
    let d = model.metric.columns();
    let gigabytes = 8e-9 * (d as f64).powi(2);
    if gigabytes > 8.0 && (form == Form::Json || args.what == What::Matrix) {
        bail!("the matrix of {d} columns has {gigabytes:.0} GB\nhint: --what components --format npy");
    }
    Ok(())
}

fn matrix(metric: &Metric, what: What) -> Result<Mat<f64>> {
    Ok(match what {
        What::Matrix => metric.matrix()?,
        What::Components => metric.map(),
    })
}

/// The metric as a linear map and nothing else; a matrix to export holds any weight outside the components anyway.
fn whole_map(args: &Export, form: Form, model: &Model) -> Result<Metric> {
    let is_matrix = args.what == What::Matrix && matches!(form, Form::Npy | Form::Csv);
    let Some(weight) = model.metric.weight_outside().filter(|_| !is_matrix) else {
        return Ok(model.metric.clone());
    };
    let (d, weight) = (model.columns(), format::rounded(weight));
    let Ok(map) = model.metric.with_outside_as_components() else {
        bail!(
            "{}: the metric weighs what lies outside the span of the training rows by {weight}, and a map that does so of \
             {d} columns to as many coordinates is too large\nhint: fit again without --lambda, or with --rank R: both \
             give that part the weight 0",
            args.model.display()
        );
    };
    print_message(&format!(
        "note: {d} coordinates: {} inside the span of the training rows, the others for what lies outside (weight {weight})",
        model.metric.rank()
    ));
    Ok(map)
}

fn csv_bytes(model: &Model, matrix: &Mat<f64>) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let name = |j: usize| model.feature_names.get(j).cloned().unwrap_or_else(|| format!("f{}", j + 1));
    writer.write_record((0..matrix.ncols()).map(name))?;
    for i in 0..matrix.nrows() {
        writer.write_record((0..matrix.ncols()).map(|j| format::exact(matrix[(i, j)])))?;
    }
    Ok(writer.into_inner().map_err(csv::IntoInnerError::into_error)?)
}

/// Everything; `map` maps rows as they are given: z = components·(x − mean), as all other forms do.
fn to_json(model: &Model, map: &Metric) -> Result<Value> {
    let nested = |matrix: &Mat<f64>| -> Vec<Vec<f64>> {
        (0..matrix.nrows()).map(|i| (0..matrix.ncols()).map(|j| matrix[(i, j)]).collect()).collect()
    };
    let metric = &model.metric;
    Ok(json!({
        "n_features": metric.columns(), "rank": map.rank(), "feature_names": model.feature_names,
        "components": nested(&map.map()), "mean": metric.mean(), "matrix": nested(&metric.matrix()?), "log_eigenvalues": model.log_eigenvalues,
        "threshold": model.threshold, "params": model.params, "diagnostics": model.diagnostics,
    }))
}

fn row_major(matrix: &Mat<f64>) -> Vec<f64> {
    (0..matrix.nrows()).flat_map(|i| (0..matrix.ncols()).map(move |j| matrix[(i, j)])).collect()
}
