//! Embeddings adapted to labels, pairs or clicks by closed forms, for any vector store, without indexing again.
//!
//! Plain rows, whitening, LDA, KISSME and GMML at several t and shrinkages are tried, and the best in held-out retrieval is
//! learned on all rows. Rows stay as they are unless the gain is beyond chance.
//!
//! ```
//! use mahala::data::{Embeddings, Random};
//! use mahala::embeddings::Adapter;
//! // Eight classes that differ in the first four columns; the others are loud noise.
//! let mut random = Random::new(0, 0);
//! let codes: Vec<u32> = (0..200).map(|i| i % 8).collect();
//! let mut cell = |scale: f64| (scale * (random.uniform() - 0.5)) as f32;
//! let centres: Vec<f32> = (0..32).map(|_| cell(4.0)).collect();
//! let cells = codes.iter().flat_map(|&c| {
//!     let centre = &centres[4 * c as usize..][..4];
//!     let signal: Vec<f32> = centre.iter().map(|x| x + cell(1.0)).collect();
//!     let noise: Vec<f32> = (0..4).map(|_| cell(12.0)).collect();
//!     [signal, noise].concat()
//! });
//! let rows = Embeddings::single(cells.collect(), 8)?;
//! let fit = Adapter::default().fit_labels(&rows, &codes)?;
//! assert!(fit.report().is_some_and(|report| report.worth_it));
//! assert_eq!(fit.transform(&rows)?.len(), 200);
//! # Ok::<(), mahala::Error>(())
//! ```

mod adaptation;
mod choose;
mod clicks;
mod family;
#[cfg(feature = "model")]
mod file;
mod map;
mod member;
mod report;
mod source;
mod sums;

pub use adaptation::Adaptation;
pub use member::{Form, Member};
pub use report::{Report, Trial};

use crate::data::Embeddings;
use crate::embeddings::choose::{PASSES, PASSES_OF_UNSEEN, choose};
use crate::embeddings::clicks::{Clicks, distinct, most_relevant};
use crate::embeddings::family::Family;
use crate::embeddings::source::{LabelledRows, MarkedPairs, Source, Wanted};
use crate::error::{Error, MemoryRemedy, Result};
use crate::footprint::check;
use crate::progress::{Progress, silent};
use crate::retrieval::{Judgement, Measure, Similarity};

/// Which classes future rows will have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Classes {
    /// Classes of the labels: rows are held out.
    #[default]
    Seen,
    /// Classes that have no label yet: whole classes are held out.
    Unseen,
}

impl std::str::FromStr for Classes {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "seen" => Ok(Self::Seen),
            "unseen" => Ok(Self::Unseen),
            _ => {
                let allowed = "'seen' or 'unseen'";
                Err(Error::Parameter { name: "classes", value: format!("'{text}'"), allowed })
            }
        }
    }
}

impl std::fmt::Display for Classes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if *self == Self::Seen { "seen" } else { "unseen" })
    }
}

/// The most queries of a fold.
const QUERIES: usize = 1500;

/// How embeddings are adapted.
#[derive(Debug, Clone, PartialEq)]
pub struct Adapter {
    /// By which the mapped rows will be searched: cosine or L2.
    pub similarity: Similarity,
    /// Which classes future rows will have; without labels it has no effect.
    pub classes: Classes,
    /// The most coordinates to keep; none for all.
    pub n_components: Option<usize>,
    /// What the choice is by. None: MAP@R from labels, nDCG@10 from clicks, MRR from triplets. Pairs have the ROC-AUC.
    pub criterion: Option<Measure>,
    /// A closed form to be used as it is: nothing is chosen then.
    pub member: Option<Member>,
    /// The most rows in the gallery of the held-out search, or held-out pairs; maps are learned from all. A gallery of
    /// documents is a sample that has all those relevant to the held-out queries.
    pub max_gallery: usize,
    /// Decides what is held out.
    pub seed: u64,
}

impl Default for Adapter {
    fn default() -> Self {
        Self {
            similarity: Similarity::Cosine,
            classes: Classes::Seen,
            n_components: None,
            criterion: None,
            member: None,
            max_gallery: 10_000,
            seed: 0,
        }
    }
}

impl Adapter {
    /// Learns from rows and the codes of their classes.
    ///
    /// # Errors
    /// One class, no class of two rows, fewer than four classes where whole classes are held out; parameters out of range.
    pub fn fit_labels(&self, rows: &Embeddings, codes: &[u32]) -> Result<Adaptation> {
        self.fit_labels_with(rows, codes, &mut silent)
    }

    /// Learns from rows and the codes of their classes, and reports progress.
    ///
    /// # Errors
    /// One class, no class of two rows, fewer than four classes where whole classes are held out; parameters out of
    /// range; or cancelled.
    pub fn fit_labels_with(
        &self,
        rows: &Embeddings,
        codes: &[u32],
        progress: &mut Progress<'_>,
    ) -> Result<Adaptation> {
        if codes.len() != rows.len() {
            return Err(Error::Length { what: "labels", seen: codes.len(), expected: rows.len() });
        }
        self.check(rows, rows.len().min(self.max_gallery.saturating_add(QUERIES)), 0)?;
        check_classes(rows, codes)?;
        let unseen = self.classes == Classes::Unseen;
        let source = LabelledRows::new(rows, codes, unseen, self.max_gallery, self.seed)?;
        self.learn(&Source::Labels(source), rows.columns(), Measure::MapAtR, Measure::RecallAt(1), progress)
    }

    /// Learns from pairs of rows, row i of the first table with row i of the second.
    ///
    /// # Errors
    /// Fewer than four pairs of a kind; tables of other shapes; parameters out of range.
    pub fn fit_pairs(
        &self,
        first: &Embeddings,
        second: &Embeddings,
        similar: &[bool],
        progress: &mut Progress<'_>,
    ) -> Result<Adaptation> {
        self.check(first, 2 * first.len().min(self.max_gallery), 0)?;
        let source = MarkedPairs::new(first, second, similar, self.max_gallery, self.seed)?;
        let without = Self { criterion: None, ..self.clone() };
        without.learn(&Source::Pairs(source), first.columns(), Measure::MapAtR, Measure::MapAtR, progress)
    }

    /// Learns from queries and the documents that were clicked, or judged; everything else counts as not relevant.
    ///
    /// # Errors
    /// Fewer than four queries with a relevant document; judgements as in [`crate::retrieval::by_judgements`].
    pub fn fit_clicks(
        &self,
        queries: &Embeddings,
        documents: &Embeddings,
        judgements: &[Judgement],
        progress: &mut Progress<'_>,
    ) -> Result<Adaptation> {
        let d = documents.columns();
        let searched = documents.len().min(self.max_gallery.max(most_relevant(judgements)));
        self.check(documents, searched.saturating_add(queries.len().min(QUERIES)), 0)?;
        let (queries, documents) = (queries.clone(), documents.clone());
        let source = Clicks::new(queries, documents, judgements, None, self.max_gallery, self.seed)?;
        self.learn(&Source::Clicks(source), d, Measure::NdcgAt(10), Measure::Mrr, progress)
    }

    /// Learns from triplets: row i of the queries should be near row i of the positives, and not of the negatives.
    ///
    /// # Errors
    /// Tables of other shapes, or fewer than four different queries.
    pub fn fit_triplets(
        &self,
        queries: &Embeddings,
        positives: &Embeddings,
        negatives: &Embeddings,
        progress: &mut Progress<'_>,
    ) -> Result<Adaptation> {
        for (what, table) in [("positives", positives), ("negatives", negatives)] {
            queries.check_columns(table, "columns of a triplet's rows")?;
            if table.len() != queries.len() {
                return Err(Error::Length { what, seen: table.len(), expected: queries.len() });
            }
        }
        // The different rows are copied.
        let (n, most) = (queries.len(), self.max_gallery);
        self.check(queries, (2 * n).min(most) + n.min(QUERIES), 3 * n)?;
        let (asked, query) = distinct(&[queries])?;
        let (documents, place) = distinct(&[positives, negatives])?;
        let (near, far) = place.split_at(queries.len());
        let mut pairs: Vec<(usize, usize)> = query.iter().copied().zip(near.iter().copied()).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let judged = |(query, document)| Judgement { query, document, gain: 1.0 };
        let judgements: Vec<Judgement> = pairs.into_iter().map(judged).collect();
        let searched = documents.len().min(most.max(most_relevant(&judgements)));
        self.check(queries, searched + n.min(QUERIES), 3 * n)?;
        let not_relevant = query.iter().copied().zip(far.iter().copied()).collect();
        let source = Clicks::new(asked, documents, &judgements, Some(not_relevant), most, self.seed)?;
        self.learn(&Source::Clicks(source), queries.columns(), Measure::Mrr, Measure::Mrr, progress)
    }

    /// Chooses a member and learns it from everything.
    fn learn(
        &self,
        source: &Source<'_>,
        d: usize,
        criterion: Measure,
        guard: Measure,
        progress: &mut Progress<'_>,
    ) -> Result<Adaptation> {
        let criterion = self.criterion.unwrap_or(criterion);
        let names = match source {
            Source::Pairs(_) => ["roc_auc".to_owned(), "roc_auc".to_owned()],
            _ => [criterion.to_string(), guard.to_string()],
        };
        let (member, report) = if let Some(member) = self.member {
            member.check()?;
            (member, None)
        } else {
            let most = self.n_components.unwrap_or(d);
            let sizes: Vec<usize> =
                [16, 8, 4, 2].map(|part| d / part).into_iter().filter(|&s| s > 1 && s < most).collect();
            let unseen = matches!(source, Source::Labels(_)) && self.classes == Classes::Unseen;
            let passes = if unseen { PASSES_OF_UNSEEN } else { PASSES };
            let wanted = Wanted { criterion, guard, passes, similarity: self.similarity };
            let report = choose(source, wanted, names, self.n_components, &sizes, self.seed, progress)?;
            (report.chosen, Some(report))
        };
        let map = Family::new(source.sums(None)?).map_of(member, self.n_components)?;
        Adaptation::new(map, self.similarity, self.classes, member, report)
    }

    /// Refuses parameters out of range, and more than fits into memory: the rows that are held out at a time, and others
    /// that are copied.
    fn check(&self, table: &Embeddings, held_out: usize, copied: usize) -> Result<()> {
        let d = table.columns();
        if self.similarity == Similarity::Dot {
            let (value, allowed) = ("'dot'".to_owned(), "'cosine' or 'l2'");
            return Err(Error::Parameter { name: "metric", value, allowed });
        }
        if let Some(kept) = self.n_components.filter(|&kept| kept == 0 || kept > d) {
            let allowed = "at least 1 and at most the number of columns";
            return Err(Error::Parameter { name: "n_components", value: kept.to_string(), allowed });
        }
        if self.max_gallery < 4 {
            let (value, allowed) = (self.max_gallery.to_string(), "at least 4");
            return Err(Error::Parameter { name: "selection_rows", value, allowed });
        }
        // Sums of four folds, bases of three kinds at four shrinkages; the rows of one fold, mapped, and weighed again.
        let size = if table.is_double() { 1.0 } else { 0.5 };
        let rows = size * (3.0 * held_out as f64 + copied as f64);
        check("the adapter", 60.0 * (d * d) as f64 + rows * d as f64, d, MemoryRemedy::Columns)
    }
}

/// Refuses more classes than memory has sums for: those of four folds, of the rest, and both scaled.
fn check_classes(rows: &Embeddings, codes: &[u32]) -> Result<()> {
    let classes = codes.iter().max().map_or(0.0, |&most| f64::from(most) + 1.0);
    let d = rows.columns();
    check("the adapter of so many classes", 7.0 * classes * d as f64, d, MemoryRemedy::Columns)
}
