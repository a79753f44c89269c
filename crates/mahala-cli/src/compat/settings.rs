//! Parameters of methods that iterate: what is set twice, and what none of the methods has.

use crate::options::learn::{LearnArgs, RankArg};
use crate::options::method::{LIMITS, Method, MethodArgs, Setting};
use anyhow::{Result, bail};

/// Refuses what is set twice, and what none of the methods has.
pub(super) fn check_steering(methods: &[Method], args: &MethodArgs, learn: &LearnArgs) -> Result<()> {
    let keys = methods.iter().map(|method| method.keys()).collect::<Result<Vec<_>>>()?;
    let known = |key: &str| keys.iter().flatten().any(|known| known == key);
    if let Some(Setting { key, .. }) = args.set.iter().find(|setting| !known(&setting.key)) {
        bail!("--set {key}: there is no such parameter\nhint: {}", list(methods, &keys));
    }
    for (i, Setting { key, .. }) in args.set.iter().enumerate() {
        if args.set[..i].iter().any(|earlier| earlier.key == *key) {
            bail!("--set {key} is given twice\nhint: leave one of them out");
        }
        if let Some(option) = option_for(key, args, learn) {
            bail!("--set {key} and {option} say the same\nhint: leave one of them out");
        }
    }
    if args.max_iterations.is_some() && !LIMITS.iter().any(|key| known(key)) {
        bail!("--max-iterations has no effect: none of the methods iterates\nhint: leave it out; {CLOSED}");
    }
    if args.time_limit.is_some() && methods.iter().all(|method| method.is_closed_form()) {
        bail!("--time-limit has no effect: none of the methods iterates\nhint: leave it out; {CLOSED}");
    }
    if args.keep_best && methods.iter().all(|method| method.is_closed_form()) {
        bail!("--keep-best has no effect: none of the methods iterates\nhint: leave it out; {CLOSED}");
    }
    Ok(())
}

/// The option that sets a parameter, if it was typed.
fn option_for(key: &str, args: &MethodArgs, learn: &LearnArgs) -> Option<&'static str> {
    let options = [
        ("k", "-k", learn.k.is_some()),
        ("rank", "--rank", learn.rank.is_some()),
        ("reduce", "--rank auto", learn.rank == Some(RankArg::Chosen)),
        ("selection_rows", "--selection-rows", learn.selection_rows.is_some()),
        ("criterion", "--criterion", args.criterion.is_some()),
        ("similarity", "--similarity", args.similarity.is_some()),
        ("folds_over", "--folds-over", args.folds_over.is_some()),
        (LIMITS[0], "--max-iterations", args.max_iterations.is_some()),
        (LIMITS[1], "--max-iterations", args.max_iterations.is_some()),
        (LIMITS[2], "--max-iterations", args.max_iterations.is_some()),
    ];
    options.into_iter().find(|option| option.0 == key && option.2).map(|option| option.1)
}

/// Why there is nothing to stop.
const CLOSED: &str = "a closed form is one step, and so is each fit of a cross-validation";

fn list(methods: &[Method], keys: &[Vec<String>]) -> String {
    let one = |(method, keys): (&Method, &Vec<String>)| match method {
        Method::Gmml => "gmml has options of its own (--t, --lambda, --shrinkage)".to_owned(),
        _ if keys.is_empty() => format!("{} has no parameters", method.name()),
        _ => format!("{} has {}", method.name(), keys.join(", ")),
    };
    let lists = methods.iter().zip(keys).map(one).collect::<Vec<_>>().join("; ");
    let described: Vec<&str> =
        methods.iter().zip(keys).filter(|one| !one.1.is_empty()).map(|one| one.0.name()).collect();
    match described.first() {
        Some(name) => format!("{lists}\nhint: mahala methods {name} says what each is"),
        None => lists,
    }
}
