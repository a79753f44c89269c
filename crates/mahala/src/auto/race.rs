//! Candidates that are tried on the same held-out rows, fold after fold, until they are clearly behind.

use crate::auto::criterion::Losses;
use crate::auto::folds::difference;

/// Rows after which a candidate may be dropped.
const LEAST_QUERIES: usize = 100;
/// How many standard errors it must then be behind the best so far.
const BEHIND: f64 = 2.0;

/// The losses of some candidates on a common sequence of held-out rows; those dropped have a prefix of it.
pub(crate) struct Race {
    pub(crate) losses: Vec<Losses>,
    dropped: Vec<bool>,
}

impl Race {
    pub(crate) fn new(candidates: usize) -> Self {
        Self { losses: vec![Losses::default(); candidates], dropped: vec![false; candidates] }
    }

    /// The candidates that were not dropped.
    pub(crate) fn running(&self) -> Vec<usize> {
        (0..self.losses.len()).filter(|&at| !self.dropped[at]).collect()
    }

    /// The losses of the running candidates on the next fold.
    pub(crate) fn extend(&mut self, running: &[usize], losses: Vec<Losses>) {
        for (&at, losses) in running.iter().zip(losses) {
            self.losses[at].extend(&losses);
        }
    }

    /// Drops the candidates that are clearly behind the leader, who is one of them or given; whether none is left but
    /// the leader given.
    pub(crate) fn drop_behind(&mut self, leader: Option<&[f32]>, rows: usize) -> bool {
        let running = self.running();
        let compared = |at: usize| &self.losses[at].compared[..];
        let sum = |at: usize| compared(at).iter().map(|&x| f64::from(x)).sum::<f64>();
        let Some(own) = running.iter().copied().min_by(|&a, &b| sum(a).total_cmp(&sum(b))) else {
            return true;
        };
        // On the rows that both have seen.
        let best = match leader {
            Some(leader) if difference(leader, compared(own), rows).0 <= 0.0 => leader,
            _ => compared(own),
        };
        if compared(own).len().min(best.len()) >= LEAST_QUERIES {
            let behind = |&at: &usize| is_behind(compared(at), best, rows);
            let dropped: Vec<bool> = running.iter().map(behind).collect();
            running.iter().zip(dropped).for_each(|(&at, dropped)| self.dropped[at] = dropped);
        }
        self.dropped.iter().all(|&dropped| dropped)
    }
}

/// Whether the one is behind by more than chance explains.
pub(crate) fn is_behind(losses: &[f32], best: &[f32], rows: usize) -> bool {
    let (gap, standard_error) = difference(losses, best, rows);
    gap > BEHIND * standard_error && losses.len().min(best.len()) >= LEAST_QUERIES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(wrong: usize, rows: usize) -> Losses {
        let values: Vec<f32> = (0..rows).map(|i| if i < wrong { 1.0 } else { 0.0 }).collect();
        Losses { compared: values.clone(), reported: values }
    }

    #[test]
    fn candidates_clearly_behind_are_dropped_and_keep_what_they_have() {
        let mut race = Race::new(3);
        race.extend(&[0, 1, 2], vec![losses(10, 120), losses(12, 120), losses(60, 120)]);
        assert!(!race.drop_behind(None, 1000));
        assert_eq!(race.running(), [0, 1]);
        race.extend(&[0, 1], vec![losses(0, 80), losses(1, 80)]);
        assert_eq!(race.losses.iter().map(Losses::len).collect::<Vec<_>>(), [200, 200, 120]);
        // A leader of an earlier race, who has seen more rows.
        assert!(race.drop_behind(Some(&losses(0, 500).compared), 1000));
    }

    #[test]
    fn few_rows_decide_nothing() {
        let mut race = Race::new(2);
        race.extend(&[0, 1], vec![losses(0, 40), losses(40, 40)]);
        assert!(!race.drop_behind(None, 1000));
        assert_eq!(race.running(), [0, 1]);
    }
}
