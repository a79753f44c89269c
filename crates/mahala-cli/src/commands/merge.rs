//! `mahala merge`: sums of parts added together.

use crate::commands::moments::summary;
use crate::commands::{create_apart, load_moments};
use crate::options::merge::Merge;
use crate::terminal::format;
use crate::terminal::message::{print_json, print_message, tell_written};
use anyhow::{Context as _, Result};
use mahala::scatter::{ClassMoments, Moments};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Adds and writes.
pub(crate) fn run(args: &Merge) -> Result<()> {
    let inputs: Vec<&Path> = args.parts.iter().map(PathBuf::as_path).collect();
    let mut output = create_apart(&args.output, &inputs, args.json)?;
    let mut sum = load_moments(&args.parts[0])?;
    for path in &args.parts[1..] {
        let part = load_moments(path)?;
        let note = strange_classes(&sum, &part, path);
        sum.merge(&part).with_context(|| path.display().to_string())?;
        note.iter().for_each(|note| print_message(note));
    }
    output.write_all(&sum.to_bytes())?;
    output.commit()?;
    let parts = format::count(args.parts.len() as u64, "part");
    print_message(&format!("added {parts}: {}", format::count(sum.rows(), "row")));
    tell_written(&args.output, "sums of each class");
    if args.json {
        let mut json = summary(&sum, &args.output);
        json["parts"] = json!(args.parts.len());
        return print_json("merge", json);
    }
    Ok(())
}

/// Parts of one table share classes; where two share none, one may have been read with other labels.
fn strange_classes(sum: &Moments, part: &Moments, path: &Path) -> Option<String> {
    let known: BTreeSet<&str> = sum.classes().iter().map(ClassMoments::name).collect();
    let theirs: Vec<&str> = part.classes().iter().map(ClassMoments::name).collect();
    if theirs.is_empty() || known.is_empty() || theirs.iter().any(|name| known.contains(name)) {
        return None;
    }
    let shown = |names: Vec<&str>| {
        let more = if names.len() > 5 { ", …" } else { "" };
        names.into_iter().take(5).collect::<Vec<_>>().join(", ") + more
    };
    Some(format!(
        "note: {}: none of its classes ({}) is among those of the parts before it ({})",
        path.display(),
        shown(theirs),
        shown(known.into_iter().collect())
    ))
}
