//! Measurements of mahala beside its peers: one fit against NumPy and SciPy, and what choosing t costs
//! against the neighbour searches it contains. Run through `./bench`.

mod eigen;
mod fit;
mod heap;
mod iterative;
mod knn;
mod npy;
mod once;
mod peak;
mod search;
mod stages;
mod time;

use anyhow::{Result, bail};
use std::io::Write as _;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let report = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["fit", python, octave, pairs, n, d, c, threads, repeats] => {
            let (n, d, c) = (n.parse()?, d.parse()?, c.parse()?);
            let (threads, repeats) = (threads.parse()?, repeats.parse()?);
            let octave = (octave != "-").then_some(octave);
            fit::run(python, octave, fit::Shape { n, d, c, pairs, threads, repeats })?
        }
        ["eigen", d, repeats] => eigen::run(d.parse()?, repeats.parse()?)?,
        ["iterative", python, csv] => iterative::run(python, csv)?,
        ["knn", python, queries, rows, d, threads, repeats, peers] => {
            let (queries, rows, d) = (queries.parse()?, rows.parse()?, d.parse()?);
            let (threads, repeats) = (threads.parse()?, repeats.parse()?);
            knn::run(python, &knn::Search { queries, rows, d, threads, repeats, peers })?
        }
        ["once", kind, n, d, c, threads, repeats] => {
            let (n, d, c) = (n.parse()?, d.parse()?, c.parse()?);
            once::run(kind, n, d, c, threads.parse()?, repeats.parse()?)?
        }
        ["search", n, d, c, threads] => search::run(n.parse()?, d.parse()?, c.parse()?, threads.parse()?)?,
        ["stages", n, d, c, threads] => stages::run(n.parse()?, d.parse()?, c.parse()?, threads.parse()?)?,
        _ => bail!("benchmarks/run.py knows the arguments"),
    };
    Ok(writeln!(std::io::stdout(), "{report}")?)
}
