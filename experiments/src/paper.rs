//! The paper's own values, from `paper/*.csv`.

use crate::protocol::Method;

const SMALL: &str = include_str!("../paper/figure-small.csv");
const LARGE: &str = include_str!("../paper/figure-big.csv");
const CURVES: &str = include_str!("../paper/figure-effect-of-t.csv");
const TIMES: &str = include_str!("../paper/table-times.csv");

/// The bar of a method: error and standard deviation in percent.
pub(crate) fn bar(set: &str, method: Method) -> Option<(f64, f64)> {
    rows(SMALL).chain(rows(LARGE)).find_map(|row| match row[..] {
        [name, of, error, std] if name == set && of == method.name() => {
            Some((error.parse().ok()?, std.parse().ok()?))
        }
        _ => None,
    })
}

/// GMML's error in percent over t.
pub(crate) fn curve(set: &str) -> Vec<(f64, f64)> {
    let point = |row: Vec<&str>| match row[..] {
        [name, t, error] if name == set => Some((t.parse().ok()?, error.parse().ok()?)),
        _ => None,
    };
    rows(CURVES).filter_map(point).collect()
}

/// The seconds of Table 1.
pub(crate) fn seconds(set: &str, method: Method) -> Option<f64> {
    let column = match method {
        Method::Gmml => 1,
        Method::Lmnn => 2,
        Method::Itml => 3,
        Method::FlatGeo => 4,
        _ => return None,
    };
    rows(TIMES).find(|row| row[0] == set)?.get(column)?.parse().ok()
}

fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    table.lines().skip(1).map(|line| line.split(',').collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{CURVES, SETS, TIMED};

    #[test]
    fn every_bar_curve_and_time_of_the_paper_is_there() {
        let five = [Method::Euclidean, Method::Gmml, Method::Lmnn, Method::Itml, Method::FlatGeo];
        assert!(SETS.iter().all(|set| five.iter().all(|&method| bar(set.paper, method).is_some())));
        assert!(CURVES.iter().filter(|name| !name.ends_with("wdbc")).all(|name| curve(name).len() == 51));
        assert!(TIMED.iter().all(|name| five[1..].iter().all(|&method| seconds(name, method).is_some())));
        // Read off the paper's LaTeX.
        assert_eq!(bar("isolet", Method::Lmnn), Some((3.688, 0.3175)));
        assert_eq!(seconds("mnist", Method::FlatGeo), Some(26640.0));
        assert_eq!(bar("wine", Method::Nca), None);
    }
}
