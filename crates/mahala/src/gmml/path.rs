//! Algorithm 1 without its last step: the solution for every t, from labelled rows.

use crate::data::Dataset;
use crate::data::centered::Cells;
use crate::data::random::Stream;
use crate::error::{Error, MemoryRemedy, Result};
use crate::gmml::low_rank::Reduced;
use crate::gmml::{Gmml, Solution};

impl Gmml {
    /// Solves for every t at once, as [`Gmml::fit`] does before it takes one. The weight that λ gives to what lies outside the
    /// span of fewer rows than columns is left out: it is part of no distance between these rows.
    ///
    /// # Errors
    /// Rows or parameters that [`Gmml::fit`] refuses; a rank, which leaves out coordinates at one t.
    pub fn path(&self, data: &Dataset) -> Result<Solution> {
        if self.rank.is_some() {
            let (value, allowed) = ("given".to_owned(), "left out where every t is followed");
            return Err(Error::Parameter { name: "rank", value, allowed });
        }
        if let Some(reduced) = Reduced::of(self, Cells::Dense(data.rows()), data.labels())? {
            return reduced.path();
        }
        self.check(data.columns(), data.labels().class_count())?;
        let (solution, mean) = self.solve_labelled(data, Stream::Pairs)?;
        Ok(solution.with_mean(mean))
    }
}

impl Reduced<'_> {
    fn path(self) -> Result<Solution> {
        let (solution, _) = self.gmml.solve_labelled(&self.data, Stream::Pairs)?;
        let columns = self.columns();
        // The directions in all columns, and their transposition.
        let numbers = 2.0 * solution.directions().ncols() as f64 * columns as f64;
        self.gmml.check_memory("the directions of all columns", numbers, columns, MemoryRemedy::Principal)?;
        let directions = self.composed(solution.directions().transpose()).transpose().to_owned();
        let (mean, scale) = self.mean_and_scale();
        Ok(solution.with_directions(directions, mean, scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Labels, Rows};
    use crate::gmml::{Components, Regularization, TChoice};

    fn data(n: usize, d: usize) -> Dataset {
        let noise = |i: usize| ((i * i * 7919 + 31 * i) % 1009) as f64 / 300.0;
        let cell = |i: usize| noise(i) + 0.3 * ((i / d % 3) * (i % d + 1)) as f64;
        let rows = Rows::new((0..n * d).map(cell).collect(), d).unwrap();
        Dataset::new(rows, Labels::new((0..n).map(|i| (i % 3).to_string()))).unwrap()
    }

    /// Weighted coordinates are the rows of the fit at the same t, up to a rotation: squared distances agree to 1e-9, a million
    /// times the rounding of double precision, since wide tables are solved with a ridge.
    fn distances_are_those_of_the_fit(gmml: &Gmml, data: &Dataset) {
        let path = gmml.path(data).unwrap();
        let z = path.coordinates(data.rows()).unwrap();
        for t in [0.0, 0.3, 1.0] {
            let fit = Gmml { t: TChoice::Fixed(t), ..gmml.clone() }.fit(data).unwrap();
            let moved = fit.metric.transform(data.rows()).unwrap();
            let square = |a: &[f64], b: &[f64], weight: &dyn Fn(usize) -> f64| -> f64 {
                a.iter().zip(b).enumerate().map(|(k, (x, y))| weight(k) * (x - y).powi(2)).sum()
            };
            for i in 1..data.len() {
                let weight = |k: usize| (t * path.log_eigenvalues()[k]).exp();
                let ours = square(z.row(0), z.row(i), &weight);
                let theirs = square(moved.row(0), moved.row(i), &|_| 1.0);
                assert!((ours - theirs).abs() < 1e-9 * theirs, "t = {t}, row {i}: {ours} and {theirs}");
            }
        }
    }

    #[test]
    fn weighted_coordinates_have_the_distances_of_the_fit() {
        for gmml in [Gmml::default(), Gmml { standardize: true, ..Gmml::default() }] {
            distances_are_those_of_the_fit(&gmml, &data(30, 4));
        }
        let ridge = Gmml { regularization: Regularization::Lambda(0.5), ..Gmml::default() };
        distances_are_those_of_the_fit(&ridge, &data(12, 20));
    }

    #[test]
    fn a_rank_is_refused() {
        let gmml = Gmml { rank: Some(Components::Count(1)), ..Gmml::default() };
        let error = gmml.path(&data(30, 4)).unwrap_err();
        assert!(error.to_string().contains("rank is given"), "{error}");
    }
}
