//! Pairs of rows with several labels each.

use crate::options::target::TargetArgs;
use crate::terminal::format;
use anyhow::{Context as _, Result, bail};
use mahala::Labels;
use mahala::data::{Random, Stream};
use mahala::pairs::{Pairs, pair_budget};
use mahala_io::Table;
use std::collections::BTreeSet;

impl TargetArgs {
    /// Pairs of rows with several labels, as similar as those overlap.
    pub(crate) fn pairs_of_sets(&self, table: &Table, separator: &str, seed: u64) -> Result<Pairs> {
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
        let sets: Vec<Vec<u32>> = sets.iter().map(|set| codes.by_ref().take(set.len()).collect()).collect();
        if all.class_count() < 2 {
            let seen = format::count(all.class_count() as u64, "label");
            bail!("{}: there is only {seen} when cells are split at '{separator}'", table.source);
        }
        let budget = self.pair_budget.unwrap_or_else(|| pair_budget(all.class_count()).max(20_000));
        Ok(Pairs::from_label_sets(&sets, budget, &mut Random::of(seed, Stream::Pairs))?)
    }
}
