//! Selection of t for pairs without labels: there are no classes to vote, so held-out pairs are ranked by their distances.

use crate::data::Rows;
use crate::error::{Error, Result};
use crate::gmml::Gmml;
use crate::gmml::select_t::{
    Criterion, Selection, VALUES_OF_T, choose_rows, is_lack_of_pairs, two_step_search,
};
use crate::gmml::solution::Solution;
use crate::metric::verification::{area_under_curve, squared_pair_distances};
use crate::pairs::Pairs;
use crate::progress::{Progress, Step};

/// A fold of pairs: the path learned without its pairs, and those.
struct PairFold {
    solution: Solution,
    held_out: Pairs,
}

/// Chooses t for pairs by how well the distances of held-out pairs rank.
pub(crate) fn t_for_pairs(
    gmml: &Gmml,
    first: &Rows,
    second: &Rows,
    pairs: &Pairs,
    solve: impl Fn(&Pairs) -> Result<Solution>,
    progress: &mut Progress<'_>,
) -> Result<Selection> {
    let units = pairs.units();
    let chosen = choose_rows(units.len(), gmml.selection_rows, gmml.seed);
    let folds = gmml.divide(units.len(), chosen.as_deref(), None)?;
    let pairs = &chosen.map_or_else(|| pairs.clone(), |chosen| pairs.of_units(&units, &chosen));
    let units = pairs.units();
    let splits = (0..folds.len()).map(|fold| folds.split(fold));
    let parts = splits.map(|(train, test)| [train, test].map(|part| pairs.of_units(&units, &part)));
    let folds = solved_folds(pairs, parts, solve)?;
    let (total, mut done) = (VALUES_OF_T * folds.len(), 0);
    let (t, curve) = two_step_search(|values| {
        let mut errors = vec![0.0; values.len()];
        for PairFold { solution, held_out } in &folds {
            for (error, &t) in errors.iter_mut().zip(values) {
                let distances = squared_pair_distances(&solution.metric(t)?, first, second, held_out)?;
                *error += (1.0 - area_under_curve(&distances, held_out)) / folds.len() as f64;
                done += 1;
                if progress(Step::of(done, total)).is_break() {
                    return Err(Error::Cancelled);
                }
            }
        }
        Ok(errors)
    })?;
    Ok(Selection { t, curve, criterion: Criterion::PairRanking, folds: folds.len(), rows: units.len() })
}

/// Solves the folds that leave pairs of both kinds to learn from and to rank.
fn solved_folds(
    pairs: &Pairs,
    parts: impl Iterator<Item = [Pairs; 2]>,
    solve: impl Fn(&Pairs) -> Result<Solution>,
) -> Result<Vec<PairFold>> {
    let mut solved = Vec::new();
    for [train, held_out] in parts {
        let has = |similar| held_out.as_slice().iter().any(|p| p.similar == similar && p.weight > 0.0);
        match solve(&train) {
            Ok(solution) if has(true) && has(false) => solved.push(PairFold { solution, held_out }),
            Ok(_) => {}
            Err(error) if is_lack_of_pairs(&error) => {}
            Err(error) => return Err(error),
        }
    }
    if solved.is_empty() {
        let similar = pairs.as_slice().iter().filter(|pair| pair.similar).count();
        let value =
            format!("to be chosen on {similar} similar and {} dissimilar pairs", pairs.len() - similar);
        return Err(Error::Parameter { name: "t", value, allowed: "given when there are so few" });
    }
    Ok(solved)
}
