//! Class moments: weight, mean and centred scatter of each class, the sufficient statistics of the closed form.
//!
//! Moments are updated by blocks, merged and subtracted (Chan's pairwise update, never raw `XᵀX`), so that
//! streams, files larger than memory, clusters and cross-validation folds need one pass each.

use crate::data::label_spelling::canonical_label;
use crate::data::members_by_class;
use crate::data::{Dataset, Labels, sort_class_names};
use crate::error::{Error, Result};
use crate::scatter::class_moments::{ClassMoments, MAX_ROWS};
use crate::scatter::column_scaling::{Units, column_peaks};
use faer::{MatRef, Par};
use mahala_kernels::blas::syrk::{BLOCK, Block};
use mahala_kernels::parallel::parallelism;
use rayon::prelude::*;
use std::collections::HashMap;

/// The moments of labelled rows, class by class.
///
/// ```
/// use mahala::{Dataset, Labels, Rows};
/// use mahala::scatter::Moments;
/// let part = |x: Vec<f64>, y: [&str; 2]| Dataset::new(Rows::new(x, 1)?, Labels::new(y));
/// let (a, b) = (part(vec![1.0, 3.0], ["u", "v"])?, part(vec![5.0, 9.0], ["u", "v"])?);
/// let mut moments = Moments::of(&a)?;
/// moments.merge(&Moments::of(&b)?)?;
/// assert_eq!(moments.class(0).mean(), [3.0]);          // of 1 and 5
/// assert_eq!(moments.class(0).scatter()[(0, 0)], 8.0); // (1-3)² + (5-3)²
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Moments {
    columns: usize,
    /// The names of the columns; empty if they have none.
    names: Vec<String>,
    units: Units,
    /// The classes, in the order of their names.
    classes: Vec<ClassMoments>,
}

impl Moments {
    /// Empty moments.
    ///
    /// # Errors
    /// No column.
    pub fn new(columns: usize) -> Result<Self> {
        if columns == 0 {
            return Err(Error::Empty { what: "the list of columns" });
        }
        Ok(Self { columns, names: Vec::new(), units: Units::new(columns), classes: Vec::new() })
    }

    /// Names the columns; moments of other columns are then not merged by mistake.
    ///
    /// # Errors
    /// Another number of names than of columns.
    pub fn with_names(self, names: Vec<String>) -> Result<Self> {
        if names.len() != self.columns {
            let (seen, expected) = (names.len(), self.columns);
            return Err(Error::Length { what: "names of the columns", seen, expected });
        }
        Ok(Self { names, ..self })
    }

    /// The names of the columns; empty if they have none.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The moments of a data set.
    ///
    /// # Errors
    /// Memory: `c·d²` numbers are needed.
    pub fn of(data: &Dataset) -> Result<Self> {
        Self::weighted(data, None)
    }

    /// The moments of a data set whose rows have weights.
    pub(crate) fn weighted(data: &Dataset, weights: Option<&[f64]>) -> Result<Self> {
        let mut moments = Self::new(data.columns())?;
        moments.update(data.rows().as_mat(), data.labels(), weights)?;
        Ok(moments)
    }

    /// Adds rows, each with its label and, if given, its weight. The matrix may have any layout, and cells of
    /// any type that 64-bit numbers hold exactly (`f32`, integers): they are converted a block at a time,
    /// and all sums are of 64-bit numbers.
    ///
    /// # Errors
    /// Lengths that do not agree, cells that are not finite, weights that are negative or not finite.
    /// After an error nothing has been added.
    pub fn update<T: Copy + Into<f64> + Sync>(
        &mut self,
        rows: MatRef<'_, T>,
        labels: &Labels,
        weights: Option<&[f64]>,
    ) -> Result<()> {
        self.check(rows.shape(), labels, weights)?;
        let peaks = column_peaks(rows);
        if peaks.iter().any(|p| !p.is_finite()) {
            return Err(first_not_finite(rows));
        }
        self.set_units(&self.units.widened(&peaks));
        let all = members_by_class(labels);
        let members: HashMap<&str, &[usize]> = labels
            .names()
            .iter()
            .zip(&all)
            .filter(|(_, m)| !m.is_empty())
            .map(|(n, m)| (&**n, &**m))
            .collect();
        self.ensure_classes(members.keys().copied());
        let tasks: Vec<(&mut ClassMoments, &[usize])> = self
            .classes
            .iter_mut()
            .filter_map(|class| members.get(&*class.name).map(|indices| (class, *indices)))
            .collect();
        let units = &self.units;
        let run = |(class, indices): (&mut ClassMoments, &[usize]), par| {
            let mut block = Block::new(rows.ncols(), indices.len());
            for indices in indices.chunks(BLOCK) {
                class.absorb(&mut block, rows, indices, units, weights, par);
            }
        };
        // Each class is summed by one task in row order: the division into tasks changes no bit.
        if rows.nrows() * self.columns * self.columns > 4_000_000 {
            let par = parallelism(self.columns);
            tasks.into_par_iter().for_each(|task| run(task, par));
        } else {
            tasks.into_iter().for_each(|task| run(task, Par::Seq));
        }
        Ok(())
    }

    /// Merges the moments of other rows.
    ///
    /// # Errors
    /// Other columns, or more rows of a class than can be counted (2⁵³).
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.check_columns(other.columns)?;
        self.check_names(other)?;
        let mine = self.by_name();
        for theirs in &other.classes {
            let rows = mine.get(theirs.name()).map_or(0, |class| class.rows);
            if rows.saturating_add(theirs.rows) > MAX_ROWS {
                let reason = format!("class '{}' would have more than 2^53 rows", theirs.name);
                return Err(Error::Moments { reason });
            }
        }
        if self.names.is_empty() {
            self.names.clone_from(&other.names);
        }
        self.set_units(&self.units.widened(other.units.peaks()));
        self.ensure_classes(other.classes.iter().map(ClassMoments::name));
        let theirs = other.by_name();
        for mine in &mut self.classes {
            if let Some(theirs) = theirs.get(&*mine.name) {
                mine.merge(&theirs.in_units(&other.units, &self.units));
            }
        }
        Ok(())
    }

    /// Subtracts the moments of rows that were added before.
    ///
    /// The difference keeps the rounding error of what was subtracted: where a column varied in the removed rows
    /// alone, its scatter may end a few units of rounding above 0.
    ///
    /// # Errors
    /// Other columns, or more rows of a class than were ever added.
    pub fn subtract(&mut self, other: &Self) -> Result<()> {
        self.check_columns(other.columns)?;
        self.check_names(other)?;
        let mine = self.by_name();
        for theirs in &other.classes {
            let seen = mine.get(theirs.name()).map_or(0, |class| class.rows);
            if theirs.rows > seen {
                let reason =
                    format!("class '{}' has {seen} rows, {} cannot be taken away", theirs.name, theirs.rows);
                return Err(Error::Moments { reason });
            }
        }
        self.set_units(&self.units.widened(other.units.peaks()));
        let theirs = other.by_name();
        for mine in &mut self.classes {
            if let Some(theirs) = theirs.get(&*mine.name) {
                mine.subtract(&theirs.in_units(&other.units, &self.units));
            }
        }
        Ok(())
    }

    /// Exponential forgetting: multiplies all weights by a factor. Called before each block of a stream, a row of
    /// the block k blocks ago counts `factor^k`.
    ///
    /// ```
    /// use mahala::{Dataset, Labels, Rows};
    /// use mahala::scatter::Moments;
    /// let data = Dataset::new(Rows::new(vec![1.0, 3.0], 1)?, Labels::new(["u", "u"]))?;
    /// let mut moments = Moments::of(&data)?;
    /// moments.forget(0.5)?;
    /// let class = moments.class(0);
    /// assert_eq!((class.rows(), class.weight(), class.scatter()[(0, 0)]), (2, 1.0, 1.0));
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// A factor outside (0, 1].
    pub fn forget(&mut self, factor: f64) -> Result<()> {
        if !(factor > 0.0 && factor <= 1.0) {
            let (value, allowed) = (factor.to_string(), "above 0 and at most 1");
            return Err(Error::Parameter { name: "forgetting", value, allowed });
        }
        for class in &mut self.classes {
            class.weight *= factor;
            for j in 0..self.columns {
                class.scatter.as_mut().col_mut(j).iter_mut().for_each(|x| *x *= factor);
            }
        }
        Ok(())
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The classes seen, in order.
    pub fn classes(&self) -> &[ClassMoments] {
        &self.classes
    }

    /// One class.
    ///
    /// # Panics
    /// If there are not that many.
    pub fn class(&self, index: usize) -> &ClassMoments {
        &self.classes[index]
    }

    /// How many rows were seen.
    pub fn rows(&self) -> u64 {
        self.classes.iter().map(|class| class.rows).sum()
    }

    /// The unit of each column, as an exponent of two: means are in units, scatters in their products.
    /// All 0 unless a column's largest value is beyond 2^±200.
    pub fn units(&self) -> &[i32] {
        self.units.exponents()
    }

    pub(crate) fn peaks(&self) -> &[f64] {
        self.units.peaks()
    }

    pub(crate) fn from_parts(names: Vec<String>, peaks: Vec<f64>, classes: Vec<ClassMoments>) -> Self {
        Self { columns: peaks.len(), names, units: Units::from_peaks(peaks), classes }
    }

    /// Renames classes to their canonical names; those that coincide are merged.
    pub(crate) fn with_canonical_classes(mut self) -> Self {
        if self.classes.iter().all(|class| canonical_label(&class.name) == class.name) {
            return self;
        }
        for mut class in std::mem::take(&mut self.classes) {
            class.name = canonical_label(&class.name).into_owned();
            match self.classes.iter_mut().find(|mine| mine.name == class.name) {
                Some(mine) => mine.merge(&class),
                None => self.classes.push(class),
            }
        }
        sort_class_names(&mut self.classes, |class| &class.name);
        self
    }

    fn check(&self, (rows, columns): (usize, usize), labels: &Labels, weights: Option<&[f64]>) -> Result<()> {
        self.check_columns(columns)?;
        if labels.len() != rows {
            return Err(Error::Length { what: "labels", seen: labels.len(), expected: rows });
        }
        let Some(weights) = weights else { return Ok(()) };
        if weights.len() != rows {
            return Err(Error::Length { what: "weights", seen: weights.len(), expected: rows });
        }
        match weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
            Some(index) => Err(Error::Weight { index, value: weights[index] }),
            None => Ok(()),
        }
    }

    fn check_columns(&self, seen: usize) -> Result<()> {
        if seen == self.columns {
            return Ok(());
        }
        Err(Error::Length { what: "columns of the rows", seen, expected: self.columns })
    }

    fn check_names(&self, other: &Self) -> Result<()> {
        match self.names.iter().zip(&other.names).find(|(mine, theirs)| mine != theirs) {
            Some((mine, theirs)) => {
                Err(Error::Moments { reason: format!("column '{theirs}' where '{mine}' is expected") })
            }
            None => Ok(()),
        }
    }

    fn set_units(&mut self, units: &Units) {
        if let Some(shift) = self.units.shift_to(units) {
            self.classes.iter_mut().for_each(|class| class.shift(&shift));
        }
        self.units = units.clone();
    }

    fn by_name(&self) -> HashMap<&str, &ClassMoments> {
        self.classes.iter().map(|class| (class.name(), class)).collect()
    }

    fn ensure_classes<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        let known = self.by_name();
        let new: Vec<&str> = names.filter(|name| !known.contains_key(name)).collect();
        if new.is_empty() {
            return;
        }
        self.classes.extend(new.into_iter().map(|name| ClassMoments::new(name, self.columns)));
        sort_class_names(&mut self.classes, |class| &class.name);
    }
}

pub(crate) fn first_not_finite<T: Copy + Into<f64>>(rows: MatRef<'_, T>) -> Error {
    for row in 0..rows.nrows() {
        for column in 0..rows.ncols() {
            let value: f64 = rows[(row, column)].into();
            if !value.is_finite() {
                return Error::NotFinite { row, column, value };
            }
        }
    }
    Error::OutOfRange { what: "a cell" }
}
