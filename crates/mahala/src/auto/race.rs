//! Candidates that are tried on the same held-out rows, fold after fold, until they are clearly behind.

use crate::auto::folds::difference;

/// Rows after which a candidate may be dropped.
const LEAST_QUERIES: usize = 100;
/// How many standard errors it must then be behind the best so far.
const BEHIND: f64 = 2.5;

/// The votes of some candidates on a common sequence of held-out rows; those dropped have a prefix of it.
pub(crate) struct Race {
    /// For each candidate the quarters of a wrong vote of every row, as [`crate::auto::folds::Fold::wrong`] gives them.
    pub(crate) votes: Vec<Vec<u8>>,
    dropped: Vec<bool>,
}

impl Race {
    pub(crate) fn new(candidates: usize) -> Self {
        Self { votes: vec![Vec::new(); candidates], dropped: vec![false; candidates] }
    }

    /// Those not dropped.
    pub(crate) fn running(&self) -> Vec<usize> {
        (0..self.votes.len()).filter(|&at| !self.dropped[at]).collect()
    }

    /// The votes of the running candidates on the next fold.
    pub(crate) fn extend(&mut self, running: &[usize], votes: Vec<Vec<u8>>) {
        for (&at, votes) in running.iter().zip(votes) {
            self.votes[at].extend(votes);
        }
    }

    /// Drops the candidates that are clearly behind the leader, who is one of them or given; whether none is left but
    /// the leader given.
    pub(crate) fn drop_behind(&mut self, leader: Option<&[u8]>, rows: usize) -> bool {
        let running = self.running();
        let smooth: Vec<Vec<u8>> = running.iter().map(|&at| smoothed(&self.votes[at])).collect();
        let sum = |votes: &[u8]| votes.iter().map(|&vote| u64::from(vote)).sum::<u64>();
        let Some(own) = smooth.iter().min_by_key(|votes| sum(votes)) else { return true };
        // On the rows that both have seen.
        let best = match leader {
            Some(leader) if difference(leader, own, rows).0 <= 0.0 => leader,
            _ => own,
        };
        if own.len().min(best.len()) >= LEAST_QUERIES {
            for (&at, votes) in running.iter().zip(&smooth) {
                let (gap, doubt) = difference(votes, best, rows);
                self.dropped[at] = gap > BEHIND * doubt;
            }
        }
        self.dropped.iter().all(|&dropped| dropped)
    }
}

/// The quarters of a wrong vote alone.
pub(crate) fn smoothed(votes: &[u8]) -> Vec<u8> {
    votes.iter().map(|vote| vote & 7).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn votes(wrong: usize, rows: usize) -> Vec<u8> {
        (0..rows).map(|i| if i < wrong { 4 } else { 0 }).collect()
    }

    #[test]
    fn candidates_clearly_behind_are_dropped_and_keep_what_they_have() {
        let mut race = Race::new(3);
        race.extend(&[0, 1, 2], vec![votes(10, 120), votes(12, 120), votes(60, 120)]);
        assert!(!race.drop_behind(None, 1000));
        assert_eq!(race.running(), [0, 1]);
        race.extend(&[0, 1], vec![votes(0, 80), votes(1, 80)]);
        assert_eq!(race.votes.iter().map(Vec::len).collect::<Vec<_>>(), [200, 200, 120]);
        // A leader of an earlier race, who has seen more rows.
        assert!(race.drop_behind(Some(&votes(0, 500)), 1000));
    }

    #[test]
    fn few_rows_decide_nothing() {
        let mut race = Race::new(2);
        race.extend(&[0, 1], vec![votes(0, 40), votes(40, 40)]);
        assert!(!race.drop_behind(None, 1000));
        assert_eq!(race.running(), [0, 1]);
    }
}
