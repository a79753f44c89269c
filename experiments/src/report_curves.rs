//! The report's section on t: where the error is least, ours and the paper's, and every value of the curves.

use crate::document::{Block, Table};
use crate::figures;
use crate::paper;
use crate::protocol::{CURVES, SETS, Set};
use crate::results::{Results, least};

/// Our least error over t and the paper's.
pub(crate) struct Minimum {
    pub(crate) ours: (f64, f64),
    pub(crate) paper: (f64, f64),
    /// The paper's error at our t: how flat its curve is there.
    pub(crate) paper_at_ours: f64,
}

impl Minimum {
    pub(crate) fn is_near(&self) -> bool {
        // The slack is for binary fractions: .06 apart is within .06.
        (self.ours.0 - self.paper.0).abs() <= 0.06 + 1e-9 && (self.ours.1 - self.paper.1).abs() <= 1.0
    }
}

/// Where both curves of a set are least, if the paper has one.
pub(crate) fn minimum(results: &Results, set: &Set) -> Option<Minimum> {
    let (curve, paper) = (results.curve(set)?, paper::curve(set.name));
    let ours = curve.minimum();
    let paper_at_ours = paper.iter().find(|(t, _)| (t - ours.0).abs() < 1e-9)?.1;
    Some(Minimum { ours, paper: least(paper.into_iter()), paper_at_ours })
}

/// The section on the effect of t.
pub(crate) fn blocks(results: &Results) -> Vec<Block> {
    let sets: Vec<&Set> =
        SETS.iter().filter(|set| CURVES.contains(&set.name) && results.curve(set).is_some()).collect();
    if sets.is_empty() {
        return Vec::new();
    }
    let least_row = |set: &&Set| {
        let (t, error) = results.curve(set)?.minimum();
        let mut row = vec![set.title.to_owned(), format!("{t:.2}"), format!("{error:.2}")];
        match minimum(results, set) {
            Some(at) => {
                row.extend([format!("{:.2}", at.paper.0), format!("{:.2}", at.paper.1)]);
                row.extend([
                    format!("{:.2}", at.paper_at_ours),
                    if at.is_near() { "yes" } else { "no" }.into(),
                ]);
            }
            None => row.extend(["–", "–", "–", "–"].map(str::to_owned)),
        }
        Some(row)
    };
    let header = ["data", "t, ours", "error, ours", "t, paper", "error, paper", "paper at our t", "near"];
    vec![
        Block::Heading("Effect of t".into()),
        Block::Figure {
            file: "figure-effect-of-t.svg",
            svg: figures::curves(results),
            caption: "Effect of t on GMML's error, the paper's curve dashed beside ours".into(),
        },
        Block::Table(Table {
            caption: "Where the error is least; near: within .06 in t and within one point of error".into(),
            header: header.map(str::to_owned).to_vec(),
            rows: sets.iter().filter_map(least_row).collect(),
            file: None,
        }),
        Block::List(sets.iter().filter_map(|set| flatness(results, set)).collect()),
        Block::Table(all_values(results, &sets)),
    ]
}

/// For a minimum far from the paper's: how much that means.
fn flatness(results: &Results, set: &Set) -> Option<String> {
    let at = minimum(results, set).filter(|at| !at.is_near())?;
    let above = at.paper_at_ours - at.paper.1;
    // The standard error of a mean of 40 runs is larger than that on every set.
    let flat = if above < 0.05 { ": less than chance, the curve is flat there" } else { "" };
    Some(format!(
        "**{}**: our error is least at t = {:.2}, the paper's at {:.2}. At our t the paper's own curve is {above:.3} points \
         above its least{flat}.",
        set.title, at.ours.0, at.paper.0,
    ))
}

/// Every point of every curve.
fn all_values(results: &Results, sets: &[&Set]) -> Table {
    let curves: Vec<_> =
        sets.iter().filter_map(|set| Some((results.curve(set)?, paper::curve(set.name)))).collect();
    let mut header = vec!["t".to_owned()];
    for set in sets {
        header.push(set.title.to_owned());
        header.extend((!paper::curve(set.name).is_empty()).then(|| "paper".to_owned()));
    }
    let row = |(i, t): (usize, f64)| {
        let mut row = vec![format!("{t:.2}")];
        for (ours, theirs) in &curves {
            row.push(format!("{:.2} ± {:.2}", ours.points[i].1, ours.points[i].2));
            row.extend(theirs.get(i).map(|(_, error)| format!("{error:.2}")));
        }
        row
    };
    let rows = crate::cell::grid().into_iter().enumerate().map(row).collect();
    Table { caption: "Every value of the curves".into(), header, rows, file: Some("effect-of-t.csv") }
}
