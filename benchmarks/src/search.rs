//! What the two-step search over t costs, against the neighbour searches it contains.

use crate::time::{Times, generated, with_threads};
use anyhow::Result;
use mahala::data::{Folds, Random};
use mahala::gmml::{CrossValidation, VALUES_OF_T};
use mahala::progress::silent;
use mahala::{Gmml, Knn};
use serde_json::{Value, json};

/// The whole search, and the same number of neighbour searches of the same sizes alone.
pub(crate) fn run(n: usize, d: usize, c: usize, threads: usize) -> Result<Value> {
    let data = generated(n, d, c)?;
    let gmml = Gmml::default();
    let folds = Folds::new(n, gmml.folds, &mut Random::new(0, 0))?;
    let parts: Vec<_> = (0..folds.len())
        .map(|fold| {
            let (train, test) = folds.split(fold);
            (data.rows().subset(&train), data.rows().subset(&test))
        })
        .collect();
    let (mut whole, mut searches) = (Times::default(), Times::default());
    with_threads(threads, || -> Result<()> {
        for _ in 0..3 {
            whole.add(|| CrossValidation::new(&gmml, &data)?.select(&mut silent))?;
            searches.add(|| -> mahala::Result<()> {
                for (train, test) in &parts {
                    for _ in 0..VALUES_OF_T {
                        Knn::new(train.clone())?.search(test, gmml.k)?;
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    })??;
    Ok(json!({
        "what": "search", "n": n, "d": d, "c": c, "threads": threads, "values_of_t": VALUES_OF_T,
        "folds": gmml.folds, "whole": whole.to_json(), "searches_alone": searches.to_json(),
        "cpu_ratio": whole.cpu_min() / searches.cpu_min(),
    }))
}
