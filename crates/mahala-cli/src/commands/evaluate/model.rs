//! `mahala evaluate MODEL DATA`: a model judged on rows that it was not learned on.

use crate::commands::constraints;
use crate::commands::dataset::{labels, rows, targets};
use crate::commands::evaluate::material::{Measure, judge_pairs, wrong_order};
use crate::commands::evaluate::report::Outcome;
use crate::commands::evaluate::targets::Losses;
use crate::commands::evaluate::verdict::{Over, Verdict};
use crate::commands::{load_model, with_outside};
use crate::options::evaluate::Evaluate;
use crate::options::method::Method;
use crate::options::target::PairsArg;
use crate::terminal::message::{print_json, print_message, print_result};
use crate::terminal::progress::Bar;
use crate::terminal::{format, table};
use anyhow::{Result, bail};
use mahala::data::canonical_label;
use mahala::evaluation::SquaredErrors;
use mahala::metric::best_threshold;
use mahala::neighbors::Neighbors;
use mahala::pairs::Pairs;
use mahala::{Knn, Labels, Metric, Model, Rows};
use mahala_io::tuples::{read_quadruplets, read_triplets};
use mahala_io::{ColumnRef, Table};
use serde_json::{Value, json};
use std::path::Path;

/// One measure under the model and under the plain distance.
struct Compared {
    title: String,
    /// As a share from 0 to 1, or a number in the units of the targets.
    model: f64,
    plain: f64,
}

/// What was found of a model.
#[derive(Default)]
struct Judgement {
    compared: Vec<Compared>,
    verdict: Option<Verdict>,
    /// Wrong and tested rows, by the rows kept in the model.
    votes: Option<(usize, usize)>,
    /// The errors of the means of the rows kept in the model.
    means: Option<SquaredErrors>,
}

/// Judges and reports.
pub(super) fn run(args: &Evaluate, path: &Path) -> Result<()> {
    let kept = load_model(path)?;
    let model = with_outside(kept.clone());
    let input = args.input.for_model(args.by_position);
    let mut data = input.read_for(&model, args.data(), args.target.labels_in())?;
    let source = data.source.clone();
    let progress = Bar::spinner(&format!("judging {} on {source}", path.display()));
    let judged = if args.target.has_pairs() {
        Judgement { compared: of_constraints(args, &model, &mut data)?, ..Judgement::default() }
    } else if kept.is_regression() {
        let targets = targets(&data)?;
        let rows = rows(&mut data)?;
        let k = k_of(args, &model, rows.len())?;
        let means = means_of_the_model(&kept, &rows, &targets, k)?;
        let (compared, verdict) = means_among_themselves(args, &model, &rows, &targets, k)?;
        Judgement { compared, verdict, means, ..Judgement::default() }
    } else {
        let labels = labels(&data)?;
        let rows = rows(&mut data)?;
        let k = k_of(args, &model, rows.len())?;
        let votes = votes_of_the_model(&kept, &rows, &labels, k)?;
        let (compared, verdict) = among_themselves(args, &model, &rows, &labels, k)?;
        Judgement { compared: vec![compared], verdict, votes, ..Judgement::default() }
    };
    progress.finish();
    let Judgement { compared, verdict, votes, means } = judged;
    let n = data.n;
    if args.json {
        let result =
            |one: &Compared| json!({"measure": one.title, "model": one.model, "euclidean": one.plain});
        return print_json(
            "evaluate-model",
            json!({
                "model": path.display().to_string(), "dataset": source, "n": n,
                "results": compared.iter().map(result).collect::<Vec<Value>>(),
                "votes_of_the_model": votes.map(|(wrong, tested)| json!({"wrong": wrong, "tested": tested})),
                "means_of_the_model": means.map(|errors| json!({"r2": errors.r_squared(), "rmse": errors.rmse()})),
                "verdict": verdict.as_ref().map(Verdict::to_json),
            }),
        );
    }
    let shown: Vec<Vec<String>> = compared
        .iter()
        .map(|one| vec![one.title.clone(), format!("{:.4}", one.model), format!("{:.4}", one.plain)])
        .collect();
    let mut text = format!("{} on {source}: {}\n\n", path.display(), format::count(n as u64, "row"));
    text += &table::render(&["measure", "model", "plain distance"], &shown);
    if let Some((wrong, tested)) = votes {
        let percent = 100.0 * wrong as f64 / tested as f64;
        text += &format!("\nby the rows kept in the model: {wrong} of {tested} wrong ({percent:.2} %)\n");
    }
    if let Some(errors) = means {
        let (r2, rmse) = (errors.r_squared().unwrap_or(f64::NAN), format::rounded(errors.rmse()));
        text += &format!("\nby the rows kept in the model: R² {r2:.4}, RMSE {rmse}\n");
    }
    text += &verdict.map(|verdict| format!("\n{verdict}\n")).unwrap_or_default();
    print_result(&text)
}

/// How many neighbours vote: as typed, or as the model was fitted.
fn k_of(args: &Evaluate, model: &Model, rows: usize) -> Result<usize> {
    let fitted = model.params["k"].as_u64().and_then(|k| usize::try_from(k).ok());
    let k = args.learn.k.or(fitted).unwrap_or(5);
    if k >= rows {
        bail!(
            "-k is {k}, but each of the {rows} rows has only {} others\nhint: -k N",
            rows.saturating_sub(1)
        );
    }
    Ok(k)
}

/// The errors of `predict`, if the model keeps rows that vote and no local metrics are in the way of comparing.
fn votes_of_the_model(
    model: &Model,
    rows: &Rows,
    labels: &Labels,
    k: usize,
) -> Result<Option<(usize, usize)>> {
    let Some((voters, classes)) = &model.references else { return Ok(None) };
    if k > voters.len() {
        return Ok(None);
    }
    let found = model.search(&model.transform(rows)?, k)?;
    let predicted = found.vote(classes);
    let wrong = (0..rows.len())
        .filter(|&i| {
            let truth = &labels.names()[labels.codes()[i] as usize];
            canonical_label(&classes.names()[predicted[i] as usize]) != canonical_label(truth)
        })
        .count();
    note_rows_met_again(&found);
    Ok(Some((wrong, rows.len())))
}

/// Rows at distance 0 of one that is kept are most likely these themselves.
fn note_rows_met_again(found: &Neighbors) {
    let same = (0..found.len()).filter(|&i| found.distances(i)[0] == 0.0).count();
    if 2 * same > found.len() {
        let rows = format::count(same as u64, "row");
        print_message(&format!(
            "note: {rows} also among those kept in the model: the error comes out too small"
        ));
    }
}

/// The errors of `predict`, if the model keeps rows with their targets.
fn means_of_the_model(
    model: &Model,
    rows: &Rows,
    targets: &[f64],
    k: usize,
) -> Result<Option<SquaredErrors>> {
    let Some((kept, of_kept)) = &model.targets else { return Ok(None) };
    if k > kept.len() {
        return Ok(None);
    }
    let found = Knn::new(kept.clone())?.search(&model.transform(rows)?, k)?;
    note_rows_met_again(&found);
    Ok(Some(SquaredErrors::of(targets, &found.mean_targets(of_kept)?)))
}

/// Each row by the mean of its nearest others, under the model and under the plain distance.
fn means_among_themselves(
    args: &Evaluate,
    model: &Model,
    rows: &Rows,
    targets: &[f64],
    k: usize,
) -> Result<(Vec<Compared>, Option<Verdict>)> {
    let of = |z: Rows| Losses::of(targets, &Knn::new(z)?.search_others(k)?.mean_targets(targets)?);
    let plain = of(Metric::euclidean(rows.columns()).transform(rows)?)?;
    let learned = of(model.transform(rows)?)?;
    let r2 = |losses: &Losses| losses.errors.r_squared().unwrap_or(f64::NAN);
    let compared = |what: &str, model: f64, plain: f64| Compared {
        title: format!("{what} of the mean of {k} nearest others"),
        model,
        plain,
    };
    let both = vec![
        compared("R²", r2(&learned), r2(&plain)),
        compared("RMSE", learned.errors.rmse(), plain.errors.rmse()),
    ];
    let verdict = verdict_over_rows(args, model, plain.of_rows, learned.of_rows)?;
    Ok((both, verdict.map(|verdict| verdict.of_measure(Measure::Squares))))
}

/// Each row by its nearest neighbours among the others, under the model and under the plain distance.
fn among_themselves(
    args: &Evaluate,
    model: &Model,
    rows: &Rows,
    labels: &Labels,
    k: usize,
) -> Result<(Compared, Option<Verdict>)> {
    let plain = wrong_among_others(&Metric::euclidean(rows.columns()).transform(rows)?, labels, k)?;
    let learned = wrong_among_others(&model.transform(rows)?, labels, k)?;
    let share = |wrong: &[f64]| wrong.iter().sum::<f64>() / wrong.len() as f64;
    let compared = Compared {
        title: format!("error of {k} nearest neighbours among the other rows"),
        model: share(&learned),
        plain: share(&plain),
    };
    Ok((compared, verdict_over_rows(args, model, plain, learned)?))
}

/// The verdict over rows with a loss each, under the plain distance and under the model.
fn verdict_over_rows(
    args: &Evaluate,
    model: &Model,
    plain: Vec<f64>,
    learned: Vec<f64>,
) -> Result<Option<Verdict>> {
    let tested: Vec<usize> = (0..plain.len()).collect();
    let outcome = |method: Method, name: &str, wrong: Vec<f64>| Outcome {
        wrong: Some(wrong),
        ..Outcome::empty(method, name.to_owned())
    };
    let outcomes =
        [outcome(Method::Euclidean, "euclidean", plain), outcome(Method::Gmml, "the model", learned)];
    let groups = match &args.target.groups {
        Some(column) => groups(args, model, column, tested.len())?,
        None => None,
    };
    Ok(Verdict::of(&outcomes, &Over::Units(groups.as_ref(), &tested)))
}

/// The group of each row, from a column beside those that the model wants.
fn groups(args: &Evaluate, model: &Model, column: &ColumnRef, rows: usize) -> Result<Option<Labels>> {
    if args.data().as_os_str() == "-" {
        bail!("--groups reads the input twice, and standard input can be read once\nhint: give a file");
    }
    let table = args.input.for_model(args.by_position).read_groups_for(model, args.data(), column)?;
    if table.n != rows {
        bail!(
            "{} has rows without a label, or without a group\nhint: fill them in, or drop those rows",
            table.source
        );
    }
    Ok(table.labels.map(Labels::new))
}

/// 1 for each row that the vote of its nearest others puts into a wrong class.
fn wrong_among_others(z: &Rows, labels: &Labels, k: usize) -> Result<Vec<f64>> {
    let classes = Knn::new(z.clone())?.search_others(k)?.vote(labels);
    Ok(classes.iter().zip(labels.codes()).map(|(a, b)| f64::from(u8::from(a != b))).collect())
}

fn of_constraints(args: &Evaluate, model: &Model, data: &mut Table) -> Result<Vec<Compared>> {
    let target = &args.target;
    if let Some(path) = &target.triplets {
        let triplets = read_triplets(path, data)?;
        let tuples =
            || triplets.as_slice().iter().map(|one| ([one.anchor, one.near], [one.anchor, one.far], 1.0));
        return order(model, &rows(data)?, tuples, "triplets in wrong order");
    }
    if let Some(path) = &target.quadruplets {
        let quadruplets = read_quadruplets(path, data)?;
        let tuples = || quadruplets.as_slice().iter().map(|one| (one.near, one.far, one.weight));
        return order(model, &rows(data)?, tuples, "quadruplets in wrong order");
    }
    let PairsArg::File(_) = &target.pairs else {
        bail!("--chunks does not judge a model\nhint: --label COLUMN, or --pairs FILE");
    };
    let given = constraints::given_pairs_for(target, &args.input.for_model(args.by_position), model, data)?;
    let (rows, pairs) = constraints::one_table(given.first, given.second, given.pairs)?;
    let euclidean = distances(&Model::new(Metric::euclidean(rows.columns())), &rows, &pairs)?;
    let learned = distances(model, &rows, &pairs)?;
    // The plain distance has no threshold of its own: it gets the best there is, which flatters it.
    let plain = judge_pairs(&euclidean, &pairs, best_threshold(&euclidean, &pairs));
    let threshold = model.threshold.unwrap_or_else(|| best_threshold(&learned, &pairs));
    let of_model = judge_pairs(&learned, &pairs, threshold);
    Ok(vec![
        Compared { title: "area under the ROC curve".into(), model: 1.0 - of_model.0, plain: 1.0 - plain.0 },
        Compared {
            title: "error at the threshold".into(),
            model: of_model.1 / 100.0,
            plain: plain.1 / 100.0,
        },
    ])
}

fn order<I: Iterator<Item = ([usize; 2], [usize; 2], f64)>>(
    model: &Model,
    rows: &Rows,
    tuples: impl Fn() -> I,
    title: &str,
) -> Result<Vec<Compared>> {
    let share = |z: &Rows| {
        let (wrong, weights) = wrong_order(z, tuples());
        let sum: f64 =
            wrong.iter().zip(&weights).filter(|(wrong, _)| **wrong).map(|(_, weight)| weight).sum();
        sum / weights.iter().sum::<f64>()
    };
    Ok(vec![Compared { title: title.into(), model: share(&model.transform(rows)?), plain: share(rows) }])
}

fn distances(model: &Model, rows: &Rows, pairs: &Pairs) -> Result<Vec<f64>> {
    let squared = model.squared_pair_distances(rows, rows, pairs)?;
    Ok(squared.into_iter().map(f64::sqrt).collect())
}
