//! Rows with several labels each, and pairs of them.

use crate::terminal::format;
use anyhow::{Context as _, Result, bail};
use mahala::Labels;
use mahala::data::{Random, Stream};
use mahala::pairs::{Pairs, pair_budget};
use mahala_io::Table;
use std::collections::BTreeSet;

/// The labels of each row, by code.
pub(crate) struct LabelSets {
    sets: Vec<Vec<u32>>,
    /// How many pairs to draw.
    budget: usize,
}

impl LabelSets {
    /// The cells of the label column, split.
    pub(crate) fn of(table: &Table, separator: &str, budget: Option<usize>) -> Result<Self> {
        if separator.is_empty() {
            bail!("--multilabel is empty\nhint: what stands between two labels, such as --multilabel ';'");
        }
        let cells = table.labels.as_ref().context("there is no label column\nhint: --label COLUMN")?;
        let sets: Vec<BTreeSet<&str>> = cells
            .iter()
            .map(|cell| cell.split(separator).map(str::trim).filter(|label| !label.is_empty()).collect())
            .collect();
        // All labels in the library's order, as codes.
        let all = Labels::new(sets.iter().flatten());
        let mut codes = all.codes().iter().copied();
        let sets = sets.iter().map(|set| codes.by_ref().take(set.len()).collect()).collect();
        if all.class_count() < 2 {
            let seen = format::count(all.class_count() as u64, "label");
            bail!("{}: there is only {seen} when cells are split at '{separator}'", table.source);
        }
        let budget = budget.unwrap_or_else(|| pair_budget(all.class_count()).max(20_000));
        Ok(Self { sets, budget })
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.sets.len()
    }

    /// Pairs among these rows, numbered by their place in the list, as similar as their labels overlap.
    pub(crate) fn pairs(&self, rows: &[usize], seed: u64) -> Result<Pairs> {
        let sets: Vec<Vec<u32>> = rows.iter().map(|&i| self.sets[i].clone()).collect();
        Ok(Pairs::from_label_sets(&sets, self.budget, &mut Random::of(seed, Stream::Pairs))?)
    }
}
