//! Rows and labels: learn a metric on one half of Wine, test it on the other, against the plain distance.

use mahala::data::{Folds, Random};
use mahala::neighbors::wrong_votes;
use mahala::{Dataset, Gmml, Labels, Metric, Rows};

fn main() -> mahala::Result<()> {
    let data = wine()?;
    let (train, test) = Folds::new(data.len(), 2, &mut Random::new(1, 0))?.split(0);
    let (train, test) = (data.subset(&train), data.subset(&test));

    let fit = Gmml::default().fit(&train)?;
    let wrong = |metric: &Metric| -> mahala::Result<usize> {
        let transformed =
            |part: &Dataset| Dataset::new(metric.transform(part.rows())?, part.labels().clone());
        wrong_votes(&transformed(&train)?, &transformed(&test)?, 5)
    };
    let (plain, learned) = (wrong(&Metric::euclidean(data.columns()))?, wrong(&fit.metric)?);

    assert!(learned < plain, "{learned} of {} wrong, {plain} under the plain distance", test.len());
    Ok(())
}

fn wine() -> mahala::Result<Dataset> {
    let lines = include_str!("../../../data/wine.csv").lines().skip(1);
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for line in lines {
        let (row, label) = line.rsplit_once(',').unwrap_or((line, ""));
        values.extend(row.split(',').filter_map(|cell| cell.parse::<f64>().ok()));
        labels.push(label);
    }
    Dataset::new(Rows::new(values, 13)?, Labels::new(labels))
}
