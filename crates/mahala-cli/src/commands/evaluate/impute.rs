//! Missing cells inside a split: filled in with the means of the rows learned on, and of no others.

use anyhow::{Result, bail};
use mahala::Rows;
use mahala_io::{Table, mean};

/// Cells of a table whose values are not known.
pub(super) struct Gaps {
    /// One for each cell; empty if all are known.
    missing: Vec<bool>,
    names: Vec<String>,
}

impl Gaps {
    /// The gaps of a table that was read with `--missing mean`.
    pub(super) fn of(table: &Table) -> Self {
        let mut missing = Vec::new();
        if !table.gaps.is_empty() {
            missing.resize(table.n * table.names.len(), false);
            table.gaps.iter().for_each(|&cell| missing[cell] = true);
        }
        Self { missing, names: table.names.clone() }
    }

    /// All cells are known.
    pub(super) fn none() -> Self {
        Self { missing: Vec::new(), names: Vec::new() }
    }

    /// The mean of each column over the cells of these rows that are known; `None` if all cells are.
    ///
    /// # Errors
    /// A column of which these rows know no cell, though others do.
    pub(super) fn means(&self, all: &Rows, rows: &[usize]) -> Result<Option<Vec<f64>>> {
        if self.missing.is_empty() {
            return Ok(None);
        }
        let d = all.columns();
        let of_column = |j: usize| {
            let known = rows.iter().filter(|&&i| !self.missing[i * d + j]);
            mean(known.map(|&i| all.row(i)[j]))
        };
        let means: Vec<Option<f64>> = (0..d).map(of_column).collect();
        if let Some(j) = means.iter().position(Option::is_none) {
            bail!(
                "column '{}' has no value in the {} rows that one split learns on, and so no mean to fill in\n\
                 hint: leave it out with --ignore, or choose --missing zero or drop",
                self.names[j],
                rows.len()
            );
        }
        Ok(Some(means.into_iter().flatten().collect()))
    }

    /// These rows, their missing cells filled in.
    ///
    /// # Errors
    /// None that rows can have that were read.
    pub(super) fn filled(&self, all: &Rows, rows: &[usize], means: Option<&[f64]>) -> Result<Rows> {
        let part = all.subset(rows);
        let Some(means) = means else { return Ok(part) };
        let d = all.columns();
        let mut cells = part.values().to_vec();
        for (row, &i) in cells.chunks_exact_mut(d).zip(rows) {
            for (j, cell) in row.iter_mut().enumerate().filter(|(j, _)| self.missing[i * d + j]) {
                *cell = means[j];
            }
        }
        Ok(Rows::new(cells, d)?)
    }
}
