//! The part of the report about running times: Table 1.

use crate::cell::Status;
use crate::document::Block;
use crate::paper;
use crate::protocol::{METHODS, Method, Set, TIMED};
use crate::report::by_method;
use crate::results::{Results, Timing};

/// Seconds, ratios, and why they differ from the paper's.
pub(crate) fn blocks(results: &Results) -> Vec<Block> {
    let timed = |set: &&Set| results.time(set, Method::Gmml).is_some();
    let sets: Vec<&Set> = TIMED.iter().filter_map(|name| Set::named(name)).filter(timed).collect();
    if sets.is_empty() {
        return Vec::new();
    }
    let in_seconds = "Table 1: seconds of one fit, the paper's in brackets";
    let in_gmml = "The same in GMML's times, the paper's ratio in brackets";
    vec![
        Block::Heading("Running times".into()),
        Block::Text(
            "One fit with every choice made, on the training rows, one thread, one cell after the other: CPU seconds, the \
             least of up to a hundred fits within two seconds of it. In brackets the paper's seconds (MATLAB, a laptop of its \
             time). GMML with t = ½, ITML with γ = 1, FlatGeo with at least 10,000 iterations, as in the paper; GMML auto \
             chooses everything itself, so its time is that of its search. ✂: cut by the limit, FlatGeo taken on in \
             proportion to 10,000 iterations."
                .into(),
        ),
        by_method(in_seconds, &sets, &METHODS[1..], |set, method| seconds_entry(results, set, method)),
        by_method(in_gmml, &sets, &METHODS[1..], |set, method| ratio_entry(results, set, method)),
        Block::Text(speed_ups(results)),
    ]
}

/// The ratios in a sentence.
pub(crate) fn in_short(results: &Results) -> Option<String> {
    let part = |method: Method| {
        let (low, high) = range(|set| ratio(results, set, method))?;
        Some(format!("{} {} times", method.title(), span(low, high)))
    };
    let parts: Vec<String> =
        [Method::Lmnn, Method::Itml, Method::FlatGeo].into_iter().filter_map(part).collect();
    let text = format!("**Time of one fit**, in GMML's on the same rows: {}.", parts.join(", "));
    (!parts.is_empty()).then_some(text)
}

fn seconds_entry(results: &Results, set: &Set, method: Method) -> String {
    let theirs = paper::seconds(set.name, method).map(|s| format!("\n({s})")).unwrap_or_default();
    match results.time(set, method) {
        None => format!("{}{theirs}", no_time(results, set, method)),
        Some(timing) if timing.cut_after.is_some() => {
            let sign = if method == Method::FlatGeo { "≈" } else { ">" };
            format!("{sign} {} ✂{theirs}", seconds(full_seconds(method, &timing)))
        }
        Some(timing) => format!("{}{theirs}", seconds(timing.seconds)),
    }
}

fn ratio_entry(results: &Results, set: &Set, method: Method) -> String {
    let theirs = paper_ratio(set, method).map(|p| format!("\n({})", times(p))).unwrap_or_default();
    match ratio(results, set, method) {
        None => format!("{}{theirs}", no_time(results, set, method)),
        Some(ours) => format!("{}{theirs}", times(ours)),
    }
}

/// Why there is no time.
fn no_time(results: &Results, set: &Set, method: Method) -> String {
    match results.cell(set, "time", method) {
        None => "not run".into(),
        Some(cell) if cell.status == Status::Limit => format!("over {:.0}", cell.limit),
        Some(_) => "failed".into(),
    }
}

/// Why our ratios are not the paper's: how much faster than in the paper each method is here.
fn speed_ups(results: &Results) -> String {
    let faster = |set: &Set, method| {
        Some(paper::seconds(set.name, method)? / full_seconds(method, &results.time(set, method)?))
    };
    let part = |method: Method| {
        let (low, high) = range(|set| faster(set, method))?;
        Some(format!("{} by {}", method.title(), span(low, high)))
    };
    let parts: Vec<String> = METHODS.into_iter().filter_map(part).collect();
    format!(
        "Faster here than in the paper: {}. Our ratio is below the paper's where a method gained more than GMML did: all \
         are compiled here, and those that iterate had more to gain from it.",
        parts.join(", ")
    )
}

/// A method's time in GMML's.
fn ratio(results: &Results, set: &Set, method: Method) -> Option<f64> {
    Some(full_seconds(method, &results.time(set, method)?) / results.time(set, Method::Gmml)?.seconds)
}

fn paper_ratio(set: &Set, method: Method) -> Option<f64> {
    Some(paper::seconds(set.name, method)? / paper::seconds(set.name, Method::Gmml)?)
}

/// The least and the largest of a number that some of the timed sets have.
fn range(of: impl Fn(&Set) -> Option<f64>) -> Option<(f64, f64)> {
    let all = TIMED.iter().filter_map(|name| of(Set::named(name)?));
    all.fold(None, |range, x| Some(range.map_or((x, x), |(low, high): (f64, f64)| (low.min(x), high.max(x)))))
}

/// The time of the whole fit: FlatGeo cut short is taken on to the 10,000 iterations it owes; of another method the
/// time so far is the least it takes.
fn full_seconds(method: Method, timing: &Timing) -> f64 {
    match timing.cut_after {
        Some(iterations) if method == Method::FlatGeo && iterations > 0 => {
            timing.seconds * (10_000.0 / iterations as f64).max(1.0)
        }
        _ => timing.seconds,
    }
}

fn seconds(s: f64) -> String {
    match s {
        s if s < 0.01 => format!("{s:.5}"),
        s if s < 1.0 => format!("{s:.4}"),
        s if s < 100.0 => format!("{s:.2}"),
        s => format!("{s:.0}"),
    }
}

/// A ratio with two or three digits.
fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.1}") } else { format!("{ratio:.0}") }
}

fn span(low: f64, high: f64) -> String {
    if low == high { times(low) } else { format!("{} to {}", times(low), times(high)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_fit_is_taken_on_to_its_iterations_only_where_their_number_is_known() {
        let cut = Timing { seconds: 30.0, cut_after: Some(500) };
        assert_eq!(full_seconds(Method::FlatGeo, &cut), 600.0);
        assert_eq!(full_seconds(Method::Lmnn, &cut), 30.0);
        assert_eq!(full_seconds(Method::FlatGeo, &Timing { seconds: 30.0, cut_after: None }), 30.0);
    }

    #[test]
    fn the_ratios_of_the_paper_are_those_of_its_table() {
        // 3331.9 / 1.4021, printed in Table 1 for LMNN on Isolet.
        let ratio = paper_ratio(Set::named("isolet").unwrap(), Method::Lmnn).unwrap();
        assert_eq!(times(ratio), "2376");
        assert_eq!(range(|set| paper_ratio(set, Method::Gmml)), Some((1.0, 1.0)));
    }
}
