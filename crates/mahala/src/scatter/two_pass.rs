//! Two-pass scatter of all pairs, for very many classes: two passes over the rows, and two matrices.
//!
//! [`Moments`](crate::scatter::Moments) keep a matrix for each class, which is too much for 10⁵ classes. With the size and
//! mean of each class known from a first pass, a second one adds each row to `S` and `D`.
//!
//! # Formula
//! ```text
//! S = Σ_i n_{c(i)} (x_i − m_{c(i)})(x_i − m_{c(i)})ᵀ
//! D = Σ_i (n − n_{c(i)}) (x_i − m_{c(i)})(x_i − m_{c(i)})ᵀ + n Σ_c n_c (m_c − m)(m_c − m)ᵀ
//! ```
//! with `c(i)` the class of row i, `n_c` and `m_c` the size and mean of class c, and `n`, `m` those of all rows.

use crate::data::Labels;
use crate::data::column_stats::ColumnStatistics;
use crate::error::{Error, Result};
use crate::scatter::all_pairs::{check, pairs_between};
use crate::scatter::column_scaling::{Units, column_peaks};
use crate::scatter::moments::first_not_finite;
use crate::scatter::summed::Summed;
use crate::scatter::totals::Totals;
use faer::MatRef;
use std::collections::HashMap;

/// The first pass: the size and mean of each class.
///
/// ```
/// use mahala::{Labels, Mat};
/// use mahala::scatter::ClassMeans;
/// let rows = Mat::from_fn(4, 1, |i, _| [0.0, 1.0, 5.0, 6.0][i]);
/// let labels = Labels::new(["a", "a", "b", "b"]);
/// let mut means = ClassMeans::new(1)?;
/// means.update(rows.as_ref(), &labels)?;
/// let sums = means.pair_sums(rows.as_ref(), &labels)?; // the second pass
/// assert!((means.finish(sums)?.scatter().s()[(0, 0)] - 2.0).abs() < 1e-12);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ClassMeans {
    columns: usize,
    units: Units,
    places: HashMap<String, usize>,
    names: Vec<String>,
    sizes: Vec<u64>,
    /// The means, class after class.
    means: Vec<f64>,
}

/// The second pass over some of the rows: their part of `S` and `D`.
#[derive(Debug, Clone)]
pub struct PairSums {
    totals: Totals,
    rows: u64,
}

impl PairSums {
    /// Adds the part of other rows.
    pub fn merge(&mut self, other: &Self) {
        self.totals.merge(&other.totals);
        self.rows += other.rows;
    }
}

impl ClassMeans {
    /// Empty statistics.
    ///
    /// # Errors
    /// No column.
    pub fn new(columns: usize) -> Result<Self> {
        if columns == 0 {
            return Err(Error::Empty { what: "the list of columns" });
        }
        let (places, units) = (HashMap::new(), Units::new(columns));
        Ok(Self { columns, units, places, names: Vec::new(), sizes: Vec::new(), means: Vec::new() })
    }

    /// Adds rows, each with its label.
    ///
    /// # Errors
    /// Lengths that do not agree, cells that are not finite, or a column with numbers beyond 2^±200.
    pub fn update<T: Copy + Into<f64>>(&mut self, rows: MatRef<'_, T>, labels: &Labels) -> Result<()> {
        self.check(rows, labels)?;
        let peaks = column_peaks(rows);
        if peaks.iter().any(|peak| !peak.is_finite()) {
            return Err(first_not_finite(rows));
        }
        let units = self.units.widened(&peaks);
        if let Some(j) = units.exponents().iter().position(|&unit| unit != 0) {
            let reason = format!(
                "with so many classes numbers must be between 2^-200 and 2^200 in size; column {} reaches {:e}",
                j + 1,
                units.peaks()[j]
            );
            return Err(Error::Moments { reason });
        }
        self.units = units;
        let places = self.places_of(labels);
        for (i, &code) in labels.codes().iter().enumerate() {
            let place = places[code as usize];
            self.sizes[place] += 1;
            let share = 1.0 / self.sizes[place] as f64;
            let mean = &mut self.means[place * self.columns..][..self.columns];
            let row = rows.row(i);
            mean.iter_mut().enumerate().for_each(|(j, m)| *m += share * (row[j].into() - *m));
        }
        Ok(())
    }

    /// The rows' part of `S` and `D`, after [`ClassMeans::update`] has seen all rows.
    ///
    /// # Errors
    /// Lengths that do not agree, cells that are not finite, or a class that was not seen.
    pub fn pair_sums<T: Copy + Into<f64>>(&self, rows: MatRef<'_, T>, labels: &Labels) -> Result<PairSums> {
        self.check(rows, labels)?;
        let d = self.columns;
        let mut totals = Totals::new(d);
        let mut of_s = totals.s.outer_products(rows.nrows());
        let mut of_d = totals.d.outer_products(rows.nrows());
        let n = self.rows() as f64;
        let mut places = Vec::with_capacity(labels.names().len());
        for name in labels.names() {
            places.push(self.places.get(name).copied());
        }
        let mut centred = vec![0.0; d];
        for (i, &code) in labels.codes().iter().enumerate() {
            let place = places[code as usize].ok_or_else(|| unknown_class(&labels.names()[code as usize]))?;
            let (size, mean) = (self.sizes[place] as f64, &self.means[place * d..][..d]);
            let row = rows.row(i);
            centred.iter_mut().enumerate().for_each(|(j, x)| *x = row[j].into() - mean[j]);
            let (within, across) = (size.sqrt(), (n - size).sqrt());
            of_s.push(centred.iter().map(|x| within * x));
            of_d.push(centred.iter().map(|x| across * x));
        }
        drop((of_s, of_d));
        if (0..d).any(|j| !totals.s.matrix[(j, j)].is_finite()) {
            return Err(first_not_finite(rows));
        }
        Ok(PairSums { totals, rows: rows.nrows() as u64 })
    }

    /// The scatter of all pairs, from the parts of all rows.
    ///
    /// # Errors
    /// One class only, no class with two rows, or another number of rows than in the first pass.
    pub fn finish(&self, sums: PairSums) -> Result<Summed> {
        if sums.rows != self.rows() {
            let reason = format!("the second pass saw {} rows, the first {}", sums.rows, self.rows());
            return Err(Error::Moments { reason });
        }
        check(self.names.iter().map(String::as_str).zip(self.sizes.iter().copied()))?;
        let (n, d) = (self.rows() as f64, self.columns);
        let classes = self.sizes.iter().zip(self.means.chunks_exact(d));
        let classes: Vec<(u64, f64, &[f64])> = classes.map(|(&rows, m)| (rows, rows as f64, m)).collect();
        // n Σ_c M_c is the sum of both matrices.
        let Totals { s, d: across } = &sums.totals;
        let within: Vec<f64> = (0..d).map(|j| (s.matrix[(j, j)] + across.matrix[(j, j)]) / n).collect();
        let (scatter, mean) = pairs_between(sums.totals, n, &classes, self.units.exponents())?;
        let deviation = (0..d).map(|j| {
            let between: f64 = classes.iter().map(|(_, w, m)| w * (m[j] - mean[j]).powi(2)).sum();
            ((within[j] + between) / n).sqrt()
        });
        let statistics =
            ColumnStatistics::from_parts(self.rows() as usize, mean.clone(), deviation.collect());
        Ok(Summed { scatter, classes: classes.len(), weight: n, statistics })
    }

    /// How many rows were seen.
    pub fn rows(&self) -> u64 {
        self.sizes.iter().sum()
    }

    /// How many classes were seen.
    pub fn class_count(&self) -> usize {
        self.sizes.len()
    }

    fn check<T>(&self, rows: MatRef<'_, T>, labels: &Labels) -> Result<()> {
        let (n, columns) = rows.shape();
        if columns != self.columns {
            let (seen, expected) = (columns, self.columns);
            return Err(Error::Length { what: "columns of the rows", seen, expected });
        }
        if labels.len() != n {
            return Err(Error::Length { what: "labels", seen: labels.len(), expected: n });
        }
        Ok(())
    }

    /// The position of each class that has a row; new classes come last.
    fn places_of(&mut self, labels: &Labels) -> Vec<usize> {
        let sizes = labels.class_sizes();
        let mut places = Vec::with_capacity(sizes.len());
        for (name, size) in labels.names().iter().zip(sizes) {
            let place = self.places.get(name).copied().unwrap_or_else(|| {
                if size == 0 {
                    return 0;
                }
                self.places.insert(name.clone(), self.names.len());
                self.names.push(name.clone());
                self.sizes.push(0);
                self.means.resize(self.means.len() + self.columns, 0.0);
                self.names.len() - 1
            });
            places.push(place);
        }
        places
    }
}

fn unknown_class(name: &str) -> Error {
    let reason = format!("class '{name}' comes in the second pass and did not in the first");
    Error::Moments { reason }
}
