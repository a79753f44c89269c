//! `S` and `D` over all pairs of labelled rows, without listing one.
//!
//! # Formula
//! ```text
//! S = Σ_c w_c M_c,     D = Σ_c (w − w_c) M_c + w Σ_c w_c (m_c − m)(m_c − m)ᵀ
//! ```
//! with `w_c`, `m_c`, `M_c` the weight, mean and centred scatter of class c, and `w`, `m` those of all rows.

use crate::dataset::{Dataset, Labels};
use crate::error::{Error, Result};
use crate::gram::{BLOCK, Block, Units, add_gram, column_peaks};
use crate::linalg::{parallelism, times_power_of_two};
use crate::moments::{ClassMoments, Moments, members_by_class};
use crate::scatter::{PairCount, Scatter};
use faer::{Mat, MatMut};

/// The two sums, class after class.
struct Sums {
    s: Mat<f64>,
    d: Mat<f64>,
    w: f64,
    /// Rows, weight and mean of each class added.
    classes: Vec<(u64, f64, Vec<f64>)>,
}

impl Scatter {
    /// All pairs at once, in `O(c·d²)` from the moments.
    ///
    /// # Errors
    /// One class only, or no class with two rows.
    pub fn all_pairs(moments: &Moments) -> Result<Self> {
        let classes: Vec<&ClassMoments> = moments.classes().iter().filter(|class| class.rows() > 0).collect();
        check(classes.iter().map(|class| (class.name(), class.rows())))?;
        let w = classes.iter().map(|class| class.weight()).sum();
        let mut sums = Sums::new(moments.columns(), w);
        classes.chunks(4).for_each(|classes| sums.add(classes));
        Ok(sums.finish(moments.units())?.0)
    }

    /// All pairs of labelled rows, and the rows' mean: one pass, two matrices whatever the number of
    /// classes.
    ///
    /// # Formula
    /// With the classes in descending order of size, and `P_c` the scatter within the first c of them,
    /// ```text
    /// S = Σ_c (w_c − w_{c+1}) P_c,     D = w P − S + w Σ_c w_c (m_c − m)(m_c − m)ᵀ
    /// ```
    /// so that only where sizes differ is there anything to add.
    ///
    /// # Errors
    /// One class only, or no class with two rows.
    pub fn all_pairs_of(data: &Dataset) -> Result<(Self, Vec<f64>)> {
        let members = members_by_class(data.labels());
        let mut present: Vec<(&str, &[usize])> =
            data.labels().names().iter().zip(&members).map(|(name, rows)| (&**name, &**rows)).collect();
        present.retain(|(_, rows)| !rows.is_empty());
        check(present.iter().map(|(name, rows)| (*name, rows.len() as u64)))?;
        present.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.len()));
        if 1000 * present[0].1.len() > 999 * data.len() {
            // Nearly all rows are of one class: w P − S would cancel.
            let moments = Moments::of(data)?;
            let mean = (0..data.columns()).map(|j| moments.mean_of_column(j)).collect();
            return Ok((Self::all_pairs(&moments)?, mean));
        }
        let (rows, columns) = (data.rows().as_mat(), data.columns());
        let units = Units::from_peaks(column_peaks(rows));
        let mut sums = Sums::new(columns, data.len() as f64);
        let (mut pooled, mut block) = (ClassMoments::new("", columns), Block::new(columns));
        for (c, (_, members)) in present.iter().enumerate() {
            pooled.begin_class();
            for indices in members.chunks(BLOCK) {
                pooled.absorb(&mut block, rows, indices, &units, None, parallelism(columns));
            }
            let next = present.get(c + 1).map_or(0, |(_, rows)| rows.len());
            sums.add_pooled(&pooled, (members.len() - next) as f64);
        }
        sums.subtract_from_pooled(&pooled);
        sums.finish(units.exponents())
    }
}

impl Sums {
    fn new(columns: usize, w: f64) -> Self {
        Self { s: Mat::zeros(columns, columns), d: Mat::zeros(columns, columns), w, classes: Vec::new() }
    }

    /// Adds classes, in order; the bits are those of one after the other.
    fn add(&mut self, classes: &[&ClassMoments]) {
        let n = self.s.nrows();
        for j in 0..n {
            let s = contiguous(self.s.as_mut(), j);
            let d = contiguous(self.d.as_mut(), j);
            let columns: Vec<(f64, f64, &[f64])> = classes
                .iter()
                .map(|class| (class.weight(), self.w - class.weight(), class.scatter_column(j)))
                .collect();
            for i in j..n {
                for (w_c, rest, m) in &columns {
                    s[i] += w_c * m[i];
                    d[i] += rest * m[i];
                }
            }
        }
        let kept = classes.iter().map(|class| (class.rows(), class.weight(), class.mean().to_vec()));
        self.classes.extend(kept);
    }

    /// `S ← S + factor·P`, and keeps what is known of the class that came last.
    fn add_pooled(&mut self, pooled: &ClassMoments, factor: f64) {
        self.classes.push((pooled.rows(), pooled.weight(), pooled.mean().to_vec()));
        if factor == 0.0 {
            return;
        }
        for j in 0..self.s.ncols() {
            let s = &mut contiguous(self.s.as_mut(), j)[j..];
            s.iter_mut().zip(&pooled.scatter_column(j)[j..]).for_each(|(s, p)| *s += factor * p);
        }
    }

    /// `D ← w P − S`
    fn subtract_from_pooled(&mut self, pooled: &ClassMoments) {
        for j in 0..self.s.ncols() {
            let d = &mut contiguous(self.d.as_mut(), j)[j..];
            let s = &contiguous(self.s.as_mut(), j)[j..];
            let terms = pooled.scatter_column(j)[j..].iter().zip(s);
            d.iter_mut().zip(terms).for_each(|(d, (p, s))| *d = self.w * p - s);
        }
    }

    /// Adds what lies between the classes: one row of a symmetric product for each.
    fn finish(mut self, units: &[i32]) -> Result<(Scatter, Vec<f64>)> {
        let m = self.mean();
        let mut block = Block::new(m.len());
        for classes in self.classes.chunks(BLOCK) {
            block.clear();
            for (_, w_c, m_c) in classes {
                let root = (self.w * w_c).sqrt();
                block.push(m_c.iter().zip(&m).map(|(m_c, m)| root * (m_c - m)));
            }
            add_gram(self.d.as_mut(), block.rows(), parallelism(m.len()));
        }
        let counts: Vec<(u64, f64)> = self.classes.iter().map(|(rows, weight, _)| (*rows, *weight)).collect();
        let (similar, dissimilar) = count_pairs(&counts);
        let mean = m.iter().zip(units).map(|(m, &unit)| times_power_of_two(*m, unit)).collect();
        Ok((Scatter::assemble(self.s, self.d, units.to_vec(), similar, dissimilar)?, mean))
    }

    /// The mean of all rows, around that of one class: exact for constant columns.
    fn mean(&self) -> Vec<f64> {
        let counted = self.classes.iter().position(|class| class.1 > 0.0).unwrap_or(0);
        let pivot = &self.classes[counted].2;
        let offset =
            |j: usize| self.classes.iter().map(|(_, w_c, m_c)| w_c * (m_c[j] - pivot[j])).sum::<f64>();
        (0..pivot.len()).map(|j| pivot[j] + offset(j) / self.w).collect()
    }
}

fn contiguous(matrix: MatMut<'_, f64>, j: usize) -> &mut [f64] {
    let column = matrix.col_mut(j).try_as_col_major_mut();
    column.expect("an owned matrix has contiguous columns").as_slice_mut()
}

/// Labelled rows must hold a similar and a dissimilar pair.
pub(crate) fn check_labels(labels: &Labels) -> Result<()> {
    let sizes = labels.class_sizes();
    let named = labels.names().iter().zip(sizes).filter(|(_, size)| *size > 0);
    check(named.map(|(name, size)| (name.as_str(), size as u64)))
}

/// There must be two classes, and one of two rows.
pub(crate) fn check<'a>(classes: impl Iterator<Item = (&'a str, u64)>) -> Result<()> {
    let classes: Vec<(&str, u64)> = classes.collect();
    if classes.len() < 2 {
        let class = classes.first().map_or("", |class| class.0).to_owned();
        return Err(Error::OneClass { class, rows: classes.iter().map(|class| class.1 as usize).sum() });
    }
    if classes.iter().all(|class| class.1 < 2) {
        return Err(Error::NoSimilarPair {
            reason: format!("each of the {} classes has one row", classes.len()),
        });
    }
    Ok(())
}

/// The numbers of similar and dissimilar pairs among all; no overflow up to 6·10⁹ rows.
pub(crate) fn count_pairs(classes: &[(u64, f64)]) -> (PairCount, PairCount) {
    let pairs_of = |n: u64| u128::from(n) * u128::from(n.saturating_sub(1)) / 2;
    let within: u128 = classes.iter().map(|class| pairs_of(class.0)).sum();
    let total = pairs_of(classes.iter().map(|class| class.0).sum());
    // Within a class the squares of single weights are not known: the plain count stands for Σ w_i w_j
    // when all weights are 1, and its bound w_c²/2 otherwise.
    let plain = classes.iter().all(|class| class.1 == class.0 as f64);
    let w: f64 = classes.iter().map(|class| class.1).sum();
    let squares: f64 = classes.iter().map(|class| class.1.powi(2)).sum();
    let within_weight = if plain { within as f64 } else { 0.5 * squares };
    let across = total - within;
    let across_weight = if plain { across as f64 } else { 0.5 * (w * w - squares) };
    (
        PairCount { pairs: u64::try_from(within).unwrap_or(u64::MAX), weight: within_weight },
        PairCount { pairs: u64::try_from(across).unwrap_or(u64::MAX), weight: across_weight },
    )
}
