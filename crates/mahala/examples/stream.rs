//! Rows that never fit together: each part is summed where it is, the sums travel as bytes.

use mahala::data::Random;
use mahala::gmml::TChoice;
use mahala::scatter::Moments;
use mahala::{Gmml, Labels, MatRef};

fn main() -> mahala::Result<()> {
    let mut total = Moments::new(3)?;
    for part in 0..10 {
        let bytes = sums_of_part(part)?.to_bytes(); // on another machine, say
        total.merge(&Moments::from_bytes(&bytes)?)?;
    }

    let fit = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() }.fit_moments(&total)?;

    let a = fit.metric.matrix()?;
    assert_eq!(total.rows(), 10_000);
    assert!(a[(2, 2)] > a[(0, 0)] && a[(2, 2)] > a[(1, 1)], "the third column tells the classes apart");
    Ok(())
}

/// A thousand rows of noise; the class shifts the third column.
fn sums_of_part(part: u64) -> mahala::Result<Moments> {
    let mut random = Random::new(3, part);
    let labels: Vec<i64> = (0..1000).map(|_| i64::from(random.below(2) == 1)).collect();
    let rows: Vec<f64> = labels
        .iter()
        .flat_map(|&y| [random.uniform(), random.uniform(), random.uniform() + y as f64])
        .collect();
    let mut moments = Moments::new(3)?;
    moments.update(MatRef::from_row_major_slice(&rows, 1000, 3), &Labels::from_integers(&labels), None)?;
    Ok(moments)
}
