//! The training data of a method: labels, pairs, tuples or targets.

use crate::data::random::{Random, Stream};
use crate::data::{Dataset, Labels, Rows};
use crate::error::{Error, Result};
use crate::footprint::Shape;
use crate::pairs::{Chunklets, Pairs, Quadruplets, Triplets};
use std::borrow::Cow;

/// The training data of a method.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Training<'a> {
    /// Rows with a class each.
    Labelled(&'a Dataset),
    /// Rows with a class and a group each: groups are kept whole when something is chosen.
    Grouped(&'a Dataset, &'a Labels),
    /// Rows, and pairs of them marked similar or dissimilar.
    Paired(&'a Rows, &'a Pairs),
    /// Rows, and triplets of them: the first nearer to the second than to the third.
    Triplets(&'a Rows, &'a Triplets),
    /// Rows, and quadruplets of them: the first two nearer to each other than the last two.
    Quadruplets(&'a Rows, &'a Quadruplets),
    /// Rows, some of them in chunklets: sets known to be of one class, whichever it is.
    Chunklets(&'a Rows, &'a Chunklets),
    /// Rows with a number each, for regression.
    Targets(&'a Rows, &'a [f64]),
}

impl<'a> Training<'a> {
    /// The rows.
    pub fn rows(&self) -> &'a Rows {
        match self {
            Self::Labelled(data) | Self::Grouped(data, _) => data.rows(),
            Self::Paired(rows, _)
            | Self::Triplets(rows, _)
            | Self::Quadruplets(rows, _)
            | Self::Chunklets(rows, _)
            | Self::Targets(rows, _) => rows,
        }
    }

    /// The labelled rows a method needs.
    ///
    /// # Errors
    /// Something else than labels was given.
    pub fn labelled(&self, method: &'static str) -> Result<&'a Dataset> {
        match self {
            Self::Labelled(data) | Self::Grouped(data, _) => Ok(data),
            Self::Paired(..) => Err(self.refused(
                method,
                "one that learns from pairs (gmml, itml, flatgeo, mmc, kissme, xqda, sdml, ldml); this one needs a label for every row",
            )),
            _ => Err(self.refused(method, "given a label for every row")),
        }
    }

    /// The group of each row, if it is known.
    pub fn groups(&self) -> Option<&'a Labels> {
        match self {
            Self::Grouped(_, groups) => Some(groups),
            _ => None,
        }
    }

    /// The pairs given, or the paper's random `40c(c−1)` of labelled rows. A triplet or quadruplet is two pairs:
    /// what should be near is similar, what should be far is dissimilar.
    ///
    /// # Errors
    /// Chunklets or targets were given, or a tuple names no row.
    pub fn pairs(&self, method: &'static str, seed: u64) -> Result<Cow<'a, Pairs>> {
        match self {
            Self::Labelled(data) | Self::Grouped(data, _) => {
                Ok(Cow::Owned(Pairs::sampled(data.labels(), &mut Random::of(seed, Stream::Pairs))))
            }
            Self::Paired(_, pairs) => Ok(Cow::Borrowed(pairs)),
            Self::Triplets(rows, triplets) => {
                triplets.check(rows.len())?;
                Ok(Cow::Owned(triplets.to_pairs()))
            }
            Self::Quadruplets(rows, quadruplets) => {
                quadruplets.check(rows.len())?;
                Ok(Cow::Owned(quadruplets.to_pairs()))
            }
            Self::Chunklets(..) | Self::Targets(..) => {
                Err(self.refused(method, "given labels, pairs, triplets or quadruplets"))
            }
        }
    }

    /// The rows and the number of each, for regression.
    ///
    /// # Errors
    /// Something else was given, another number of targets than of rows, or a target that is not finite.
    pub fn targets(&self, method: &'static str) -> Result<(&'a Rows, &'a [f64])> {
        let Self::Targets(rows, targets) = self else {
            return Err(
                self.refused(method, "given a number for every row (targets): this one is a regression")
            );
        };
        if targets.len() != rows.len() {
            return Err(Error::Length { what: "targets", seen: targets.len(), expected: rows.len() });
        }
        if let Some(at) = targets.iter().position(|y| !y.is_finite()) {
            let value = format!("{} (row index {at})", targets[at]);
            return Err(Error::Parameter { name: "target", value, allowed: "a finite number" });
        }
        Ok((rows, targets))
    }

    /// The refusal of a method that does not learn from these data.
    pub fn refused(&self, method: &'static str, allowed: &'static str) -> Error {
        let given = match self {
            Self::Labelled(_) | Self::Grouped(..) => "labels",
            Self::Paired(..) => "pairs",
            Self::Triplets(..) => "triplets",
            Self::Quadruplets(..) => "quadruplets",
            Self::Chunklets(..) => "chunklets",
            Self::Targets(..) => "targets",
        };
        Error::Parameter { name: "method", value: format!("{method}, with {given}"), allowed }
    }

    /// Calls a function with the same labels, pairs, tuples or targets on other rows.
    ///
    /// # Errors
    /// Another number of rows than of labels; otherwise those of the function.
    pub fn on_rows<T>(&self, rows: Rows, work: impl FnOnce(&Training<'_>) -> Result<T>) -> Result<T> {
        match self {
            Self::Labelled(data) => work(&Training::Labelled(&Dataset::new(rows, data.labels().clone())?)),
            Self::Grouped(data, groups) => {
                work(&Training::Grouped(&Dataset::new(rows, data.labels().clone())?, groups))
            }
            Self::Paired(_, pairs) => work(&Training::Paired(&rows, pairs)),
            Self::Triplets(_, triplets) => work(&Training::Triplets(&rows, triplets)),
            Self::Quadruplets(_, quadruplets) => work(&Training::Quadruplets(&rows, quadruplets)),
            Self::Chunklets(_, chunklets) => work(&Training::Chunklets(&rows, chunklets)),
            Self::Targets(_, targets) => work(&Training::Targets(&rows, targets)),
        }
    }
}

impl Shape {
    /// The shape of a training set.
    pub fn of(training: &Training<'_>) -> Self {
        let rows = training.rows();
        let unlabelled = |pairs| Self { rows: rows.len(), columns: rows.columns(), classes: 0, pairs };
        match training {
            Training::Labelled(data) | Training::Grouped(data, _) => {
                Self::labelled(rows, data.labels().class_count())
            }
            Training::Paired(_, pairs) => unlabelled(pairs.len()),
            Training::Triplets(_, triplets) => unlabelled(2 * triplets.len()),
            Training::Quadruplets(_, quadruplets) => unlabelled(2 * quadruplets.len()),
            Training::Chunklets(..) | Training::Targets(..) => unlabelled(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gmml;
    use crate::learner::Learner;
    use crate::pairs::{Quadruplet, Triplet};
    use crate::progress::silent;

    fn rows() -> Rows {
        let mut random = Random::new(2, 0);
        Rows::new((0..60).map(|i| random.uniform() * [1.0, 4.0, 0.3][i % 3]).collect(), 3).unwrap()
    }

    fn matrix(training: &Training<'_>) -> faer::Mat<f64> {
        let gmml = Gmml { t: crate::gmml::TChoice::Fixed(0.4), ..Gmml::default() };
        gmml.learn(training, &mut silent).unwrap().metric.matrix().unwrap()
    }

    #[test]
    fn gmml_learns_from_tuples_what_it_learns_from_their_pairs() {
        let rows = rows();
        let list = (0..18).map(|i| Triplet { anchor: i, near: i + 1, far: i + 2 }).collect();
        let triplets = Triplets::new(list, 20).unwrap();
        let from_pairs = matrix(&Training::Paired(&rows, &triplets.to_pairs()));
        assert_eq!(matrix(&Training::Triplets(&rows, &triplets)), from_pairs);
        let list =
            (0..17).map(|i| Quadruplet { near: [i, i + 1], far: [i + 2, i + 3], weight: 2.0 }).collect();
        let quadruplets = Quadruplets::new(list, 20).unwrap();
        let from_pairs = matrix(&Training::Paired(&rows, &quadruplets.to_pairs()));
        assert_eq!(matrix(&Training::Quadruplets(&rows, &quadruplets)), from_pairs);
    }

    #[test]
    fn gmml_takes_chunklets_for_classes() {
        let rows = rows();
        let ids: Vec<Option<u64>> = (0..20).map(|i| (i < 18).then_some(i / 6)).collect();
        let chunklets = Chunklets::new(&ids).unwrap();
        let first: Vec<usize> = (0..18).collect();
        let labels = Labels::new((0..18).map(|i| (i / 6).to_string()));
        let data = Dataset::new(rows.subset(&first), labels).unwrap();
        assert_eq!(matrix(&Training::Chunklets(&rows, &chunklets)), matrix(&Training::Labelled(&data)));
    }

    #[test]
    fn what_a_method_cannot_learn_from_is_refused_in_words() {
        let (rows, targets) = (rows(), vec![0.0; 20]);
        let error = Gmml::default().learn(&Training::Targets(&rows, &targets), &mut silent).unwrap_err();
        let told = error.to_string();
        assert!(told.contains("gmml, with targets") && told.contains("labels, pairs, triplets"), "{told}");
        let training = Training::Targets(&rows, &targets[1..]);
        assert!(matches!(training.targets("mlkr"), Err(Error::Length { what: "targets", .. })));
        let training = Training::Targets(&rows, &[f64::NAN; 20]);
        assert!(matches!(training.targets("mlkr"), Err(Error::Parameter { name: "target", .. })));
    }
}
