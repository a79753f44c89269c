//! A learned metric as one HTML page: every t at once, with nothing fetched.
//!
//! The metrics of a fit are `A(t) = W Λᵗ Wᵀ`, so rows in the coordinates `Z = XW` move with t by weights alone. A page holds
//! `Z`, `log Λ`, labels, the neighbours by the plain distance, the weights of columns, and the cross-validated error over t; the
//! rest is computed where it is looked at. The same data and seed give the same bytes, for any number of threads.
//!
//! ```
//! use mahala::progress::silent;
//! use mahala::{Dataset, Gmml, Labels, Rows};
//! use mahala_page::{Explorer, Settings, Source};
//! let rows = Rows::new((0..40).map(|i| f64::from((7 * i) % 40)).collect(), 2)?;
//! let data = Dataset::new(rows, Labels::new((0..20).map(|i| ["a", "b", "c"][i % 3])))?;
//! let page = Explorer::new(&data, &Source::titled("rows.csv"), &Settings::default(), &mut silent)?;
//! assert!(page.to_html().starts_with("<!DOCTYPE html>"));
//! # Ok::<(), mahala::Error>(())
//! ```
#![forbid(unsafe_code)]

mod block;
mod columns;
mod held_out;
mod html;
mod shown;

use columns::ColumnWeights;
use held_out::HeldOut;
use mahala::gmml::Solution;
use mahala::progress::Progress;
use mahala::{Dataset, Error, Gmml, Labels, Result};
use serde_json::{Value, json};
use shown::Shown;

/// The largest page that is written, in megabytes of 10⁶ bytes: browsers open larger ones slowly or not at all.
pub const MOST_MEGABYTES: f64 = 256.0;

/// What a page shows, and how its metric is learned.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How the metric is learned; a given t is where the slider starts.
    pub gmml: Gmml,
    /// Rows in the page; of more, so many are drawn at random. The metric is learned on all.
    pub max_rows: usize,
    /// Coordinates in the page: those with the largest share of the squared distances, over all t.
    pub coordinates: usize,
    /// The error is computed at `0, 1/steps, …, 1`, and at the values that the choice of t tries.
    pub steps: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { gmml: Gmml::default(), max_rows: 10_000, coordinates: 64, steps: 50 }
    }
}

/// Where the rows come from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Source<'a> {
    /// The name of the data, for the title.
    pub title: &'a str,
    /// The names of the columns; numbers from 1 if there are none.
    pub columns: &'a [String],
    /// The number of each row; counted from 1 if there are none.
    pub row_numbers: Option<&'a [u64]>,
    /// The group of each row: groups are not split between folds.
    pub groups: Option<&'a Labels>,
}

impl<'a> Source<'a> {
    /// Data of which only the name is known.
    pub fn titled(title: &'a str) -> Self {
        Self { title, ..Self::default() }
    }

    fn column(&self, j: usize) -> String {
        self.columns.get(j).cloned().unwrap_or_else(|| format!("column {}", j + 1))
    }

    fn check(&self, data: &Dataset) -> Result<()> {
        let lengths = [
            ("names of columns", self.columns.len(), data.columns()),
            ("row numbers", self.row_numbers.map_or(0, <[u64]>::len), data.len()),
        ];
        match lengths.into_iter().find(|&(_, seen, expected)| seen != 0 && seen != expected) {
            Some((what, seen, expected)) => Err(Error::Length { what, seen, expected }),
            None => Ok(()),
        }
    }
}

/// A page, computed.
#[derive(Debug, Clone)]
pub struct Explorer {
    title: String,
    data: Value,
}

impl Explorer {
    /// Learns the metric, chooses t unless it is given, and computes what the page shows; `progress` is told of the
    /// cross-validation.
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns too far apart
    /// in scale, or too much memory needed; a rank; fewer than two rows, one coordinate or one step to show; a page
    /// above [`MOST_MEGABYTES`].
    pub fn new(
        data: &Dataset,
        source: &Source<'_>,
        settings: &Settings,
        progress: &mut Progress<'_>,
    ) -> Result<Self> {
        source.check(data)?;
        check(data, settings)?;
        let path = settings.gmml.path(data)?;
        let held_out = HeldOut::of(data, source.groups, settings, progress)?;
        let shown = Shown::of(data, &path, settings, held_out.t)?;
        let columns = ColumnWeights::of(data, &path);
        Ok(Self {
            title: block::visible(source.title),
            data: described(data, source, settings, &path, &held_out, &shown, &columns),
        })
    }

    /// The page: one file, with style, program and data in it.
    pub fn to_html(&self) -> String {
        html::assembled(&self.title, &self.data)
    }
}

fn described(
    data: &Dataset,
    source: &Source<'_>,
    settings: &Settings,
    path: &Solution,
    held_out: &HeldOut,
    shown: &Shown,
    columns: &ColumnWeights,
) -> Value {
    let names: Vec<String> = data.labels().names().iter().map(|name| block::visible(name)).collect();
    json!({
        "title": block::visible(source.title),
        "total": data.len(),
        "allColumns": data.columns(),
        "standardized": settings.gmml.standardize,
        "seed": settings.gmml.seed.to_string(),
        "k": settings.gmml.k,
        "classes": names,
        "logLambda": block::doubles(path.log_eigenvalues().iter().copied()),
        "rows": shown.to_json(data, source),
        "columns": columns.to_json(data, source, &shown.rows),
        "heldOut": held_out.to_json(),
    })
}

fn check(data: &Dataset, settings: &Settings) -> Result<()> {
    for (name, value, least, allowed) in [
        ("max_rows", settings.max_rows, 2, "at least 2"),
        ("coordinates", settings.coordinates, 1, "at least 1"),
        ("steps", settings.steps, 1, "at least 1"),
    ] {
        if value < least {
            return Err(Error::Parameter { name, value: value.to_string(), allowed });
        }
    }
    let rows = settings.max_rows.min(data.len());
    let coordinates = settings.coordinates.min(data.columns());
    let columns = data.columns().min(columns::MOST);
    // Base64 writes three bytes as four.
    let bytes = rows as f64
        * (4 * coordinates + 4 * columns + 8 * shown::neighbors(settings, rows) + 24) as f64
        * 4.0
        / 3.0;
    if bytes > 1e6 * MOST_MEGABYTES {
        let value = format!("{rows} with {coordinates} coordinates, a page of {:.0} MB", 1e-6 * bytes);
        let allowed =
            "so small that the page stays below 256 MB, which browsers open (fewer rows or coordinates)";
        return Err(Error::Parameter { name: "max_rows", value, allowed });
    }
    Ok(())
}
