//! `mahala transform`: rows in the coordinates where the metric is Euclidean.

use crate::args::{InputArgs, transformed};
use crate::commands::{create_output, load_model};
use crate::input::ColumnRef;
use crate::npy_file::npy_header;
use crate::table;
use anyhow::{Result, bail};
use clap::Args;
use mahala::Rows;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of `mahala transform`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala transform wine.safetensors wines.csv -o z.csv
  mahala transform emb.safetensors vectors.npy -o adapted.npy
  mahala transform wine.safetensors wines.csv --label class | head")]
pub(crate) struct Transform {
    /// The model
    pub model: PathBuf,
    /// Rows with the columns the model was learned on; - for stdin
    pub data: PathBuf,
    /// Where to write: .csv or .npy [default: CSV to stdout]
    #[arg(short, long, default_value = "-", hide_default_value = true, value_name = "FILE")]
    pub output: PathBuf,
    /// Copy this column behind the coordinates
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub label: Option<ColumnRef>,
    #[command(flatten)]
    pub input: InputArgs,
}

/// Transforms and writes.
pub(crate) fn run(args: &Transform) -> Result<()> {
    let model = load_model(&args.model)?;
    check_form(&args.output)?;
    let mut output = create_output(&args.output, &[&args.model, &args.data])?;
    let mut table = args.input.read_for(&model, &args.data, args.label.as_ref())?;
    let z = transformed(&model, &mut table)?;
    if is_npy(&args.output) {
        write_npy(&mut output, &z)?;
    } else {
        write_csv(&mut output, &z, table.labels.as_deref())?;
    }
    output.commit()
}

/// Refuses names that promise another form than CSV or NPY.
fn check_form(path: &Path) -> Result<()> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if ["gz", "json", "libsvm", "npz", "parquet", "pq", "svm", "tsv"].contains(&&*extension) {
        bail!("{}: rows are written as .csv or .npy", path.display());
    }
    Ok(())
}

fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
}

fn write_npy(output: &mut impl Write, z: &Rows) -> Result<()> {
    output.write_all(&npy_header(&[z.len(), z.columns()]))?;
    for value in z.values() {
        output.write_all(&value.to_le_bytes())?;
    }
    Ok(())
}

fn write_csv(output: &mut impl Write, z: &Rows, labels: Option<&[String]>) -> Result<()> {
    let mut writer = csv::Writer::from_writer(output);
    let mut record: Vec<String> = (1..=z.columns()).map(|j| format!("z{j}")).collect();
    record.extend(labels.map(|_| "label".to_owned()));
    writer.write_record(&record)?;
    for i in 0..z.len() {
        record.clear();
        record.extend(z.row(i).iter().map(|&z| table::exact(z)));
        record.extend(labels.map(|labels| labels[i].clone()));
        writer.write_record(&record)?;
    }
    Ok(writer.flush()?)
}
