//! Pairs and chunks as the options name them.

use crate::commands::dataset::rows;
use crate::options::input::InputArgs;
use crate::options::target::{PairsArg, TargetArgs};
use anyhow::{Result, bail};
use mahala::pairs::{Pair, Pairs};
use mahala::{Labels, Model, Rows};
use mahala_io::Table;
use mahala_io::pairs::{read_pairs, select_aligned};

/// Pairs, and the tables of their first and second rows, if those are two.
pub(crate) struct Given {
    pub first: Rows,
    pub second: Option<Rows>,
    pub pairs: Pairs,
}

/// Reads the pairs of a file.
pub(crate) fn given_pairs(target: &TargetArgs, input: &InputArgs, table: &mut Table) -> Result<Given> {
    let second = match &target.second {
        Some(second) => {
            let second = input.read(second, target.label.as_ref())?;
            Some(select_aligned(&table.names, second)?)
        }
        None => None,
    };
    read(target, table, second)
}

/// Reads the pairs of a file, of rows for a model.
pub(crate) fn given_pairs_for(
    target: &TargetArgs,
    input: &InputArgs,
    model: &Model,
    table: &mut Table,
) -> Result<Given> {
    let second = target.second.as_ref();
    let second = second.map(|second| input.read_for(model, second, target.label.as_ref())).transpose()?;
    read(target, table, second)
}

fn read(target: &TargetArgs, table: &mut Table, mut second: Option<Table>) -> Result<Given> {
    let PairsArg::File(path) = &target.pairs else {
        bail!("there are no pairs to learn from\nhint: --pairs FILE");
    };
    if !path.exists() && path.as_os_str() != "-" {
        bail!(
            "--pairs {}: there is no such file\nhint: all, sampled, or a file that marks pairs",
            path.display()
        );
    }
    let pairs = read_pairs(path, table, second.as_ref().unwrap_or(table), true)?.pairs;
    Ok(Given { first: rows(table)?, second: second.as_mut().map(rows).transpose()?, pairs })
}

/// Two tables as one, the second below the first.
pub(crate) fn one_table(first: Rows, second: Option<Rows>, pairs: Pairs) -> Result<(Rows, Pairs)> {
    let Some(second) = second else { return Ok((first, pairs)) };
    let (n, columns) = (first.len(), first.columns());
    let moved = |pair: &Pair| Pair { second: n + pair.second, ..*pair };
    let rows = Rows::new([first.values(), second.values()].concat(), columns)?;
    let all = rows.len();
    Ok((rows, Pairs::new(pairs.as_slice().iter().map(moved).collect(), all, all)?))
}

/// The chunk of each row; -1 is none.
pub(crate) fn chunks(names: &Labels) -> Vec<Option<u64>> {
    let chunk = |&code: &u32| (names.names()[code as usize] != "-1").then_some(u64::from(code));
    names.codes().iter().map(chunk).collect()
}
