//! How right predictions are: the error, by class, and which classes are taken for which.

use crate::terminal::format;
use crate::terminal::message::print_message;
use crate::terminal::table;
use anyhow::{Result, bail};
use mahala::Labels;
use mahala::data::canonical_label;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How many rows were predicted, how many of them wrongly, and how many are among those that vote.
#[derive(Default)]
pub(super) struct Score {
    pub rows: usize,
    pub learned: usize,
    wrong: usize,
    /// Rows whose label is no class of those that vote, and some of these labels.
    unknown: usize,
    strange: BTreeSet<String>,
    /// How often a class was predicted for rows of a class.
    taken: BTreeMap<(u32, u32), u64>,
}

/// How many labels a message shows.
const SHOWN: usize = 5;
/// Classes whose matrix fits a terminal.
const MATRIX: usize = 10;
/// Classes in the table of errors.
const CLASSES: usize = 20;

/// One class: rows of it, rows predicted as it, and rows that are both.
#[derive(Clone, Copy, Default)]
struct OfClass {
    rows: u64,
    predicted: u64,
    right: u64,
}

impl OfClass {
    /// The share of the rows of the class that were found; none if it has no rows.
    fn recall(self) -> Option<f64> {
        (self.rows > 0).then(|| self.right as f64 / self.rows as f64)
    }

    /// The share of what was predicted as the class that is of it; none if nothing was.
    fn precision(self) -> Option<f64> {
        (self.predicted > 0).then(|| self.right as f64 / self.predicted as f64)
    }
}

impl Score {
    /// Of so many rows, before any is judged.
    pub(super) fn of(rows: usize) -> Self {
        Self { rows, ..Self::default() }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.wrong += other.wrong;
        self.learned += other.learned;
        self.unknown += other.unknown;
        other.strange.into_iter().for_each(|label| self.meet_strange(label));
        other.taken.into_iter().for_each(|(cell, count)| *self.taken.entry(cell).or_default() += count);
    }

    fn meet_strange(&mut self, label: String) {
        if self.strange.len() < SHOWN {
            self.strange.insert(label);
        }
    }

    /// Counts a label that may be right, wrong, or none that could be predicted.
    pub(super) fn judge(&mut self, truth: &str, predicted: u32, classes: &[String]) {
        let truth = canonical_label(truth);
        let class = if classes[predicted as usize] == truth {
            Some(predicted)
        } else {
            self.wrong += 1;
            classes.iter().position(|class| *class == truth).and_then(|class| u32::try_from(class).ok())
        };
        if let Some(class) = class {
            *self.taken.entry((class, predicted)).or_default() += 1;
        } else {
            self.unknown += 1;
            self.meet_strange(truth.into_owned());
        }
    }

    /// Errors cannot be counted where no label is a class.
    pub(super) fn check(&self, labels: &Labels) -> Result<()> {
        if self.rows == 0 || self.unknown < self.rows {
            return Ok(());
        }
        let more = if self.strange.len() < SHOWN { "" } else { ", …" };
        let seen: Vec<&str> = self.strange.iter().map(String::as_str).collect();
        bail!(
            "none of the labels is a class of the rows that vote: the labels are {}{more}; the classes are {}\n\
             hint: is --label the right column? Without --label, rows are predicted and no errors are counted",
            seen.join(", "),
            listed(labels.names())
        );
    }

    /// Whether some label can be right. The labels of a LIBSVM file are there unasked, and in a file of new rows often no
    /// classes.
    pub(super) fn is_known(&self) -> bool {
        self.unknown < self.rows
    }

    pub(super) fn tell(&self, classes: &[String]) {
        self.warnings().iter().for_each(|note| print_message(&format!("note: {note}")));
        let percent = 100.0 * self.wrong as f64 / self.rows as f64;
        let balanced = self.balanced_error(classes.len());
        print_message(&format!(
            "{} of {} wrong ({percent:.2} %), balanced error {:.2} %",
            self.wrong,
            self.rows,
            100.0 * balanced
        ));
        print_message(&format!("\n{}", self.by_class(classes)));
        if classes.len() <= MATRIX {
            print_message(&self.matrix(classes));
        }
    }

    fn warnings(&self) -> Vec<String> {
        let mut notes = Vec::new();
        // A row at distance 0 is most likely the row itself.
        if 2 * self.learned > self.rows {
            let learned = format::count(self.learned as u64, "row");
            notes.push(format!("{learned} also among those that vote: the error comes out too small"));
        }
        if self.unknown > 0 {
            let seen: Vec<&str> = self.strange.iter().map(String::as_str).collect();
            notes.push(format!(
                "{} with a label that is no class of the rows that vote ({}): counted as wrong",
                format::count(self.unknown as u64, "row"),
                seen.join(", ")
            ));
        }
        notes
    }

    fn classes(&self, count: usize) -> Vec<OfClass> {
        let mut all = vec![OfClass::default(); count];
        for (&(truth, predicted), &rows) in &self.taken {
            all[truth as usize].rows += rows;
            all[predicted as usize].predicted += rows;
            all[truth as usize].right += if truth == predicted { rows } else { 0 };
        }
        all
    }

    /// The mean over the classes that have rows of the share predicted wrongly.
    fn balanced_error(&self, count: usize) -> f64 {
        let error = |of: OfClass| (of.rows > 0).then(|| (of.rows - of.right) as f64 / of.rows as f64);
        let errors: Vec<f64> = self.classes(count).into_iter().filter_map(error).collect();
        errors.iter().sum::<f64>() / errors.len().max(1) as f64
    }

    /// Error, precision and recall of each class, those with most errors first.
    fn by_class(&self, names: &[String]) -> String {
        let of = self.classes(names.len());
        let mut order: Vec<usize> = (0..names.len()).filter(|&i| of[i].rows + of[i].predicted > 0).collect();
        if order.len() > CLASSES {
            order.sort_by_key(|&i| std::cmp::Reverse(of[i].rows - of[i].right));
        }
        let percent =
            |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{:.2}", 100.0 * share));
        let row = |&i: &usize| {
            let wrong = of[i].rows - of[i].right;
            let shares = [of[i].recall().map(|share| 1.0 - share), of[i].precision(), of[i].recall()];
            let mut row = vec![names[i].clone(), of[i].rows.to_string(), wrong.to_string()];
            row.extend(shares.map(percent));
            row
        };
        let rows: Vec<Vec<String>> = order.iter().take(CLASSES).map(row).collect();
        let mut text =
            table::render(&["class", "rows", "wrong", "error %", "precision %", "recall %"], &rows);
        if order.len() > CLASSES {
            text += &format!("  and {} with fewer errors\n", format::classes(order.len() - CLASSES));
        }
        text
    }

    /// Rows by their class, columns by what was predicted.
    fn matrix(&self, names: &[String]) -> String {
        let cell = |truth: usize, predicted: usize| {
            let found = self.taken.iter().find(|(at, _)| **at == (truth as u32, predicted as u32));
            found.map_or(0, |(_, rows)| *rows).to_string()
        };
        let row = |truth: usize| {
            std::iter::once(names[truth].clone()).chain((0..names.len()).map(|p| cell(truth, p))).collect()
        };
        let rows: Vec<Vec<String>> = (0..names.len()).map(row).collect();
        let heads: Vec<&str> =
            std::iter::once("class \\ predicted").chain(names.iter().map(String::as_str)).collect();
        table::render(&heads, &rows)
    }

    pub(super) fn to_json(&self, names: &[String]) -> Value {
        let of = self.classes(names.len());
        let class = |(name, of): (&String, OfClass)| {
            json!({
                "class": name, "rows": of.rows, "predicted": of.predicted, "right": of.right,
                "precision": of.precision(), "recall": of.recall(),
            })
        };
        let taken = |(&(truth, predicted), rows): (&(u32, u32), &u64)| json!({"class": names[truth as usize], "prediction": names[predicted as usize], "rows": rows});
        json!({
            "wrong": self.wrong, "error": self.wrong as f64 / self.rows as f64,
            "balanced_error": self.balanced_error(names.len()), "unknown": self.unknown,
            "also_voting": self.learned,
            "classes": names.iter().zip(of).map(class).collect::<Vec<Value>>(),
            "confusion": self.taken.iter().map(taken).collect::<Vec<Value>>(),
        })
    }
}

fn listed(names: &[String]) -> String {
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    names[..names.len().min(SHOWN)].join(", ") + &more
}
