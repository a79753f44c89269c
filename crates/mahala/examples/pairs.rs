//! No labels at all: six rows, and what somebody knows about some pairs of them.

use mahala::gmml::TChoice;
use mahala::pairs::{Pair, Pairs};
use mahala::{Gmml, Rows};

fn main() -> mahala::Result<()> {
    // The second column tells the two kinds apart; the first is noise.
    let rows = Rows::new(vec![0.0, 0.0, 9.0, 0.1, 4.0, 0.2, 8.0, 1.0, 1.0, 1.1, 5.0, 1.2], 2)?;
    let known = vec![
        Pair::similar(0, 1),
        Pair::similar(1, 2).weighing(2.0), // we are surer of this one
        Pair::similar(3, 4),
        Pair::similar(4, 5),
        Pair::dissimilar(0, 4),
        Pair::dissimilar(1, 3),
        Pair::dissimilar(2, 5),
    ];
    let pairs = Pairs::new(known, rows.len(), rows.len())?;

    let fit = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() }.fit_pairs(&rows, &pairs)?;

    let same = fit.metric.distance(rows.row(0), rows.row(2))?; // never marked: both of the first kind
    let different = fit.metric.distance(rows.row(2), rows.row(3))?;
    assert!(same < different, "{same} and {different}");
    Ok(())
}
