//! The choice of a closed form by held-out retrieval, on training rows alone.

use crate::data::Embeddings;
use crate::embeddings::QUERIES;
use crate::embeddings::family::{Basis, Family};
use crate::embeddings::map::{LinearMap, weighed};
use crate::embeddings::member::{Member, blends, members};
use crate::embeddings::report::{Report, Trial};
use crate::embeddings::source::{FOLDS, Look, Passes, Probe, Source, Wanted};
use crate::error::{Error, Result};
use crate::progress::{Progress, Step};
use crate::retrieval::{PairedTest, Resampling, mean_known, paired_test};
use std::rc::Rc;

/// Members that are measured on every fold.
const FINALISTS: usize = 6;
/// What passes in the first look, where only sure losses count; and at the end, where one standard error keeps out most members
/// that lose a percent. Where whole classes are held out, a tenth of a percent passes: half of the classes show less of a loss
/// than all will, and a choice among many flatters what it takes.
const FIRST_LOOK_PASSES: Passes = Passes { loss: 0.0, errors: 2.0 };
pub(crate) const PASSES: Passes = Passes { loss: 0.0, errors: 1.0 };
pub(crate) const PASSES_OF_UNSEEN: Passes = Passes { loss: 0.001, errors: 0.0 };
/// A finalist that is this many standard errors behind the best so far is not measured on further folds.
const BEHIND: Passes = Passes { loss: 0.0, errors: 4.0 };
/// Every member on one fold, and those that are left on all folds (the gallery has the source's own limit).
const FIRST_LOOK: Look = Look { queries: 800, gallery: 3000 };
const FULL_LOOK: Look = Look { queries: QUERIES, gallery: usize::MAX };

/// A member's criterion and guard of each query of a fold.
type Measured = [Vec<f64>; 2];

/// The measures of one member on the folds so far.
struct Finalist {
    member: Member,
    folds: Vec<Measured>,
}

/// Looks at every member on one fold, then compares the best on all; plain rows are kept unless the gain is sure.
pub(crate) fn choose(
    source: &Source<'_>,
    wanted: Wanted,
    criterion: [String; 2],
    n_components: Option<usize>,
    sizes: &[usize],
    seed: u64,
    progress: &mut Progress<'_>,
) -> Result<Report> {
    let mut family = Family::new(source.sums(Some(0))?);
    let first = first_look(source, wanted, n_components, &mut family, progress)?;
    let mut finalists: Vec<Finalist> = entrants(shortlist(&first, &source.probe(0, FIRST_LOOK)?), wanted)
        .into_iter()
        .map(|member| Finalist { member, folds: Vec::new() })
        .collect();
    let mut groups: Vec<Option<Vec<u32>>> = Vec::new();
    let mut dropped: Vec<Finalist> = Vec::new();
    let mut curve_probe = None;
    for fold in 0..FOLDS {
        let probe = source.probe(fold, FULL_LOOK)?;
        if fold > 0 {
            family = Family::new(source.sums(Some(fold))?);
        }
        for finalist in &mut finalists {
            let map = family.map_of(finalist.member, n_components)?;
            finalist.folds.push(probe.measure(&probe.mapped(&map)?, wanted)?);
        }
        groups.push(probe.groups.clone());
        if fold == 0 {
            curve_probe = Some((probe, std::mem::replace(&mut family, Family::new(source.sums(Some(1))?))));
        }
        dropped.extend(drop_behind(&mut finalists, &groups, wanted.passes));
        step(progress, 1 + fold + 1, FOLDS + 1)?;
    }
    let all: Vec<usize> = (0..FOLDS).collect();
    let best_place = best(&finalists, &groups, &all, wanted.passes);
    let gain = honest_gain(&finalists, &groups, wanted.passes, seed)?;
    let best_member = finalists[best_place].member;
    let (before, after) = (mean_of(&finalists[0].folds, 0), mean_of(&finalists[best_place].folds, 0));
    let worth_it = best_place > 0 && gain.low > 0.0;
    let chosen = if worth_it { best_member } else { finalists[0].member };
    let [name, guard] = criterion;
    let reason = reason(worth_it, best_member, [before, after], &gain, &name, &guard);
    let mut curve = Vec::new();
    if let Some((probe, mut family)) = curve_probe {
        for &size in sizes {
            let map = family.map_of(chosen, Some(size))?;
            curve.push((size, mean_known(&probe.measure(&probe.mapped(&map)?, wanted)?[0])));
        }
    }
    let trials = trials(&first, &finalists, &dropped);
    Ok(Report { criterion: name, guard, chosen, before, after, gain, worth_it, reason, trials, sizes: curve })
}

fn reason(
    worth_it: bool,
    best: Member,
    [before, after]: [f64; 2],
    gain: &PairedTest,
    name: &str,
    guard: &str,
) -> String {
    if worth_it {
        format!("{best}: held-out {name} {before:.4} -> {after:.4}, gain {gain}")
    } else if best.form.is_plain() && best.form == crate::embeddings::member::Form::Plain {
        format!("not worth it: no member is above plain rows in held-out {name} without a loss in {guard}")
    } else {
        format!(
            "not worth it: the best member, {best}, changes held-out {name} by {gain}, which is within chance; rows are left as \
             they are"
        )
    }
}

/// Every member on the first fold, and blends of the best with plain rows.
fn first_look(
    source: &Source<'_>,
    wanted: Wanted,
    n_components: Option<usize>,
    family: &mut Family,
    progress: &mut Progress<'_>,
) -> Result<Vec<(Member, Measured)>> {
    let probe = source.probe(0, FIRST_LOOK)?;
    let mut coordinates: Option<(Rc<Basis>, Vec<Embeddings>)> = None;
    let mut first = Vec::new();
    let mut measure = |member: Member, family: &mut Family| -> Result<(Member, Measured)> {
        let weighted = if n_components.is_none() { family.weighted(member)? } else { None };
        let Some((basis, weights)) = weighted else {
            return Ok((
                member,
                probe.measure(&probe.mapped(&family.map_of(member, n_components)?)?, wanted)?,
            ));
        };
        // Members of one basis differ in the weights of the same coordinates.
        if coordinates.as_ref().is_none_or(|(known, _)| !Rc::ptr_eq(known, &basis)) {
            let map = LinearMap::new(basis.rows.clone(), family.sums().mean.clone());
            coordinates = Some((basis, probe.mapped(&map)?));
        }
        let tables = coordinates.iter().flat_map(|(_, tables)| tables).map(|table| weighed(table, &weights));
        Ok((member, probe.measure(&tables.collect::<Result<Vec<_>>>()?, wanted)?))
    };
    for member in members(source.has_labels()) {
        first.push(measure(member, family)?);
    }
    // Few rows say nothing of most directions: then the weight of plain rows is tried with more members.
    let tried = if family.sums().rank < family.sums().mean.len() { 3 } else { 1 };
    let shortlisted = shortlist(&first, &probe);
    for &member in shortlisted.iter().skip(1).take(tried) {
        for blend in blends(member) {
            first.push(measure(blend, family)?);
        }
    }
    step(progress, 1, FOLDS + 1)?;
    Ok(first)
}

/// Plain, and the best in the criterion among those that hold the guard; of one form at most half of them.
fn shortlist(first: &[(Member, Measured)], probe: &Probe) -> Vec<Member> {
    let plain = &first[0].1[1];
    let groups = probe.groups.as_deref();
    let mut able: Vec<&(Member, Measured)> = first[1..]
        .iter()
        .filter(|(_, measured)| holds(plain, &measured[1], groups, FIRST_LOOK_PASSES))
        .collect();
    able.sort_by(|a, b| mean_known(&b.1[0]).total_cmp(&mean_known(&a.1[0])));
    let mut kept = vec![first[0].0];
    for (member, _) in able {
        let alike = kept[1..].iter().filter(|other: &&Member| other.form == member.form).count();
        if kept.len() <= FINALISTS && alike < FINALISTS / 2 {
            kept.push(*member);
        }
    }
    kept
}

/// The shortlisted members and, where hardly a loss in the guard passes, mixtures of the best with plain rows, which lose less.
fn entrants(mut shortlisted: Vec<Member>, wanted: Wanted) -> Vec<Member> {
    if wanted.passes == PASSES_OF_UNSEEN
        && let Some(&best) = shortlisted.get(1)
    {
        let known = shortlisted.clone();
        shortlisted.extend(blends(best).into_iter().filter(|blend| !known.contains(blend)));
    }
    shortlisted
}

/// Takes out the finalists that are surely behind the best of those that hold the guard; never plain rows.
fn drop_behind(finalists: &mut Vec<Finalist>, groups: &[Option<Vec<u32>>], passes: Passes) -> Vec<Finalist> {
    let values = |finalist: &Finalist| -> Vec<f64> {
        finalist.folds.iter().flat_map(|fold| fold[0].clone()).collect()
    };
    let measured: Vec<usize> = (0..groups.len()).collect();
    let best = values(&finalists[best(finalists, groups, &measured, passes)]);
    let all = std::mem::take(finalists);
    let mut dropped = Vec::new();
    for (place, finalist) in all.into_iter().enumerate() {
        if place == 0 || holds(&best, &values(&finalist), None, BEHIND) {
            finalists.push(finalist);
        } else {
            dropped.push(finalist);
        }
    }
    dropped
}

/// The largest criterion on these folds among finalists that hold the guard; the earlier of equals.
fn best(finalists: &[Finalist], groups: &[Option<Vec<u32>>], folds: &[usize], passes: Passes) -> usize {
    let joined = |finalist: &Finalist, which: usize| -> Vec<f64> {
        folds.iter().flat_map(|&fold| finalist.folds[fold][which].clone()).collect()
    };
    let groups = joined_groups(groups, folds);
    let plain = joined(&finalists[0], 1);
    let mut found = (0, mean_known(&joined(&finalists[0], 0)));
    for (place, finalist) in finalists.iter().enumerate().skip(1) {
        let criterion = mean_known(&joined(finalist, 0));
        if criterion > found.1 && holds(&plain, &joined(finalist, 1), groups.as_deref(), passes) {
            found = (place, criterion);
        }
    }
    found.0
}

fn joined_groups(groups: &[Option<Vec<u32>>], folds: &[usize]) -> Option<Vec<u32>> {
    let mut joined = Vec::new();
    for &fold in folds {
        joined.extend(groups[fold].as_ref()?);
    }
    Some(joined)
}

/// After − before on each fold, with the member that the other folds choose.
fn honest_gain(
    finalists: &[Finalist],
    groups: &[Option<Vec<u32>>],
    passes: Passes,
    seed: u64,
) -> Result<PairedTest> {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let all: Vec<usize> = (0..FOLDS).collect();
    for &fold in &all {
        let others: Vec<usize> = all.iter().copied().filter(|&other| other != fold).collect();
        before.extend(&finalists[0].folds[fold][0]);
        after.extend(&finalists[best(finalists, groups, &others, passes)].folds[fold][0]);
    }
    let groups = joined_groups(groups, &all);
    paired_test(&before, &after, groups.as_deref(), Resampling { seed, ..Resampling::default() })
}

/// Is the mean of after − before below zero by no more than passes? Queries of a group vary together.
fn holds(before: &[f64], after: &[f64], groups: Option<&[u32]>, passes: Passes) -> bool {
    let known: Vec<usize> = (0..before.len()).filter(|&i| !(after[i] - before[i]).is_nan()).collect();
    let n = known.len() as f64;
    let mean = known.iter().map(|&i| after[i] - before[i]).sum::<f64>() / n;
    let mut spread: std::collections::BTreeMap<usize, f64> = std::collections::BTreeMap::new();
    for &i in &known {
        *spread.entry(groups.map_or(i, |groups| groups[i] as usize)).or_default() +=
            after[i] - before[i] - mean;
    }
    mean >= -passes.loss - passes.errors * spread.values().map(|s| s * s).sum::<f64>().sqrt() / n
}

fn trials(first: &[(Member, Measured)], finalists: &[Finalist], dropped: &[Finalist]) -> Vec<Trial> {
    let later = || finalists.iter().chain(dropped);
    let alone = first.iter().filter(|(member, _)| later().all(|finalist| finalist.member != *member));
    let of = |member: Member, folds: &[Measured]| Trial {
        member,
        criterion: mean_of(folds, 0),
        guard: mean_of(folds, 1),
        folds: folds.len(),
    };
    let first = alone.map(|(member, measured)| of(*member, std::slice::from_ref(measured)));
    first.chain(later().map(|finalist| of(finalist.member, &finalist.folds))).collect()
}

fn mean_of(folds: &[Measured], which: usize) -> f64 {
    mean_known(&folds.iter().flat_map(|fold| fold[which].clone()).collect::<Vec<f64>>())
}

fn step(progress: &mut Progress<'_>, done: usize, total: usize) -> Result<()> {
    if progress(Step::of(done, total)).is_break() { Err(Error::Cancelled) } else { Ok(()) }
}
