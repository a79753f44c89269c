//! Fits on a matrix of any layout and cell type, such as single precision, without a copy of it in double precision.

use crate::data::column_stats::ColumnStatistics;
use crate::data::{Dataset, Labels, Rows};
use crate::error::Result;
use crate::gmml::select_t::{CrossValidation, Selection, choose_rows};
use crate::gmml::weighted::chosen;
use crate::gmml::{Diagnostics, Fit, FitOptions, Gmml, PairRule, TChoice, on_paper_scale};
use crate::progress::Progress;
use crate::scatter::Scatter;
use crate::scatter::all_pairs::check_labels;
use crate::scatter::balanced::Balance;
use crate::scatter::moments::Moments;
use faer::MatRef;

/// Rows converted at a time for their column statistics.
const BLOCK: usize = 4_096;

impl Gmml {
    /// Learns from rows and labels as [`Gmml::fit_with`] does, from a matrix of any layout whose cells 64-bit floats
    /// represent exactly (`f32`, integers). They are converted a block at a time; t is chosen on a copy of at most
    /// `selection_rows` of them.
    ///
    /// The result has the same bits as that of the rows in double precision, but for the last ones where columns are standardised or
    /// classes balanced. Where the whole table is needed (more columns than rows, sampled pairs, principal directions, weights
    /// of 0) it is converted first.
    ///
    /// ```
    /// use mahala::gmml::{FitOptions, TChoice};
    /// use mahala::progress::silent;
    /// use mahala::{Gmml, Labels, Mat};
    /// let rows = Mat::from_fn(6, 1, |i, _| [0.0f32, 0.1, 0.2, 1.0, 1.1, 1.2][i]);
    /// let labels = Labels::new(["a", "a", "a", "b", "b", "b"]);
    /// let gmml = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() };
    /// let fit = gmml.fit_cells(rows.as_ref(), &labels, &FitOptions::default(), &mut silent)?;
    /// assert_eq!(fit.metric.rank(), 1);
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// Rows, weights, groups or parameters that [`Gmml::fit_with`] refuses, or a cell that is not finite.
    pub fn fit_cells<T: Copy + Into<f64> + Sync>(
        &self,
        rows: MatRef<'_, T>,
        labels: &Labels,
        options: &FitOptions<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Fit> {
        if !self.can_sum(rows.nrows(), rows.ncols(), options.weights) {
            let data = Dataset::new(converted(rows, None)?, labels.clone())?;
            return self.fit_with(&data, options, progress);
        }
        if let Some(groups) = options.groups {
            groups.check_length("groups", rows.nrows())?;
        }
        if options.weights.is_none() && self.balance == Balance::None {
            return self.fit_all_pairs(rows, labels, options, progress);
        }
        self.check(rows.ncols(), labels.class_count())?;
        let mut moments = Moments::new(rows.ncols())?;
        moments.update(rows, labels, options.weights)?;
        let selection = self.selection_on(rows, labels, options, progress)?;
        let t = selection.as_ref().map_or(self.t, |selection| TChoice::Fixed(selection.t));
        let fit = Self { t, ..self.clone() }.fit_moments(&moments)?;
        Ok(Fit { diagnostics: Diagnostics { selection, ..fit.diagnostics }, ..fit })
    }

    /// Whether sums over the rows suffice, apart from the choice of t.
    fn can_sum(&self, rows: usize, columns: usize, weights: Option<&[f64]>) -> bool {
        let weighable = |w: &[f64]| w.len() == rows && !self.standardize && w.iter().all(|&w| w > 0.0);
        self.pairs == PairRule::All
            && self.learns_in_all_columns(rows, columns)
            && rows > 0
            && weights.is_none_or(weighable)
    }

    fn fit_all_pairs<T: Copy + Into<f64> + Sync>(
        &self,
        rows: MatRef<'_, T>,
        labels: &Labels,
        options: &FitOptions<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Fit> {
        self.check(rows.ncols(), 0)?;
        let (scatter, mean) = Scatter::all_pairs_of_rows(rows, labels)?;
        let classes = labels.class_sizes().iter().filter(|&&size| size > 0).count();
        let scatter = on_paper_scale(scatter, classes, rows.nrows() as f64);
        let scale = if self.standardize { Some(statistics(rows)?.scale) } else { None };
        let solution = self.solve_scaled(scatter, scale)?;
        let selection = self.selection_on(rows, labels, options, progress)?;
        self.finish(solution, selection, mean)
    }

    /// The choice of t, if it is to be chosen, on a copy of the rows that it is chosen on.
    fn selection_on<T: Copy + Into<f64>>(
        &self,
        rows: MatRef<'_, T>,
        labels: &Labels,
        options: &FitOptions<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Option<Selection>> {
        if let TChoice::Fixed(_) = self.t {
            return Ok(None);
        }
        check_labels(labels)?;
        let some = choose_rows(rows.nrows(), self.selection_rows, self.seed);
        let folds = self.divide(rows.nrows(), some.as_deref(), options.groups)?;
        let weights =
            options.weights.map(|w| some.as_ref().map_or_else(|| w.to_vec(), |rows| chosen(w, rows)));
        let kept = some.as_ref().map_or_else(|| labels.clone(), |rows| labels.subset(rows));
        let data = Dataset::new(converted(rows, some.as_deref())?, kept)?;
        CrossValidation::on(self, data, weights.as_deref(), &folds)?.select(progress).map(Some)
    }

    /// The training and held-out rows of each split that t is chosen on, of `n` rows.
    ///
    /// # Errors
    /// Splits that do not fit the rows, fewer than two groups.
    pub fn selection_splits(
        &self,
        n: usize,
        groups: Option<&Labels>,
    ) -> Result<Vec<(Vec<usize>, Vec<usize>)>> {
        let some = choose_rows(n, self.selection_rows, self.seed);
        let folds = self.divide(n, some.as_deref(), groups)?;
        let given = |rows: Vec<usize>| match &some {
            Some(some) => rows.into_iter().map(|i| some[i]).collect(),
            None => rows,
        };
        Ok((0..folds.len()).map(|fold| folds.split(fold)).map(|(a, b)| (given(a), given(b))).collect())
    }
}

/// Rows in double precision: all, or those chosen.
fn converted<T: Copy + Into<f64>>(rows: MatRef<'_, T>, some: Option<&[usize]>) -> Result<Rows> {
    let d = rows.ncols();
    let mut cells = Vec::with_capacity(some.map_or(rows.nrows(), <[usize]>::len) * d);
    let mut add = |i: usize| cells.extend((0..d).map(|j| -> f64 { rows[(i, j)].into() }));
    match some {
        Some(some) => some.iter().for_each(|&i| add(i)),
        None => (0..rows.nrows()).for_each(add),
    }
    Rows::new(cells, d)
}

/// Column statistics, merged from blocks of rows.
fn statistics<T: Copy + Into<f64>>(rows: MatRef<'_, T>) -> Result<ColumnStatistics> {
    let block = |first: usize| -> Result<ColumnStatistics> {
        let count = BLOCK.min(rows.nrows() - first);
        Ok(ColumnStatistics::of(&converted(rows.subrows(first, count), None)?))
    };
    let rest = (BLOCK..rows.nrows()).step_by(BLOCK);
    rest.map(block).try_fold(block(0)?, |sum, part| Ok(sum.merged(&part?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::silent;
    use faer::Mat;

    fn table() -> (Mat<f32>, Labels) {
        let cell = |i: usize, j: usize| ((7 * i + 13 * j) as f32).sin() + 0.5 * ((i % 3) * (j + 1)) as f32;
        (Mat::from_fn(300, 4, cell), Labels::new((0..300).map(|i| (i % 3).to_string())))
    }

    fn both(gmml: &Gmml, weights: Option<&[f64]>) -> (Fit, Fit) {
        let (rows, labels) = table();
        let options = FitOptions { weights, groups: None };
        let data = Dataset::new(converted(rows.as_ref(), None).unwrap(), labels.clone()).unwrap();
        let single = gmml.fit_cells(rows.as_ref(), &labels, &options, &mut silent).unwrap();
        (single, gmml.fit_with(&data, &options, &mut silent).unwrap())
    }

    #[test]
    fn single_precision_gives_the_bits_of_double_precision() {
        for gmml in [
            Gmml { t: TChoice::Fixed(0.3), ..Gmml::default() },
            Gmml::default(),
            Gmml { selection_rows: 100, ..Gmml::default() },
            Gmml { pairs: PairRule::Sampled, ..Gmml::default() },
        ] {
            let (single, double) = both(&gmml, None);
            assert_eq!((single.metric, single.t), (double.metric, double.t));
            assert_eq!(single.diagnostics.selection, double.diagnostics.selection);
        }
        for weights in [vec![2.0; 300], (0..300).map(|i| f64::from(i % 5)).collect()] {
            let (single, double) = both(&Gmml { selection_rows: 100, ..Gmml::default() }, Some(&weights));
            assert_eq!((single.metric, single.t), (double.metric, double.t));
        }
    }

    #[test]
    fn standardised_or_balanced_sums_agree_to_rounding() {
        let standardized = Gmml { standardize: true, ..Gmml::default() };
        let balanced = Gmml { balance: Balance::ClassPairs, ..Gmml::default() };
        for gmml in [standardized, balanced] {
            let (single, double) = both(&gmml, None);
            let (a, b) = (single.metric.matrix().unwrap(), double.metric.matrix().unwrap());
            // Rounding of the scale or of the mean, some 1e-15, times the condition of S, below 100 here.
            assert!((a - &b).norm_l2() < 1e-12 * b.norm_l2());
        }
    }
}
