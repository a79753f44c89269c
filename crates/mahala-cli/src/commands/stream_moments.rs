//! One pass over a stream: sums for each class, and a sample of the rows.

use crate::terminal::format;
use crate::terminal::message::print_message;
use crate::terminal::progress::Bar;
use anyhow::{Result, bail};
use mahala::data::Random;
use mahala::scatter::{ClassMeans, Moments, PairSums, Summed};
use mahala::{Dataset, Labels, Rows};
use mahala_io::{Block, Stream};

/// The most bytes that matrices of each class may take: where two passes are possible, and where they are not.
struct Limits {
    of_a_file: usize,
    of_a_pipe: usize,
}

const LIMITS: Limits = Limits { of_a_file: 256 << 20, of_a_pipe: 4 << 30 };
/// More columns than this make matrices of more than half a gigabyte.
const MOST_COLUMNS: usize = 8192;

/// A uniform sample of the rows of a stream, the same whatever its blocks are.
pub(crate) struct Reservoir {
    rows: Vec<f64>,
    labels: Vec<String>,
    columns: usize,
    most: usize,
    seen: usize,
    random: Random,
}

impl Reservoir {
    /// At most so many rows.
    pub(crate) fn new(columns: usize, most: usize, seed: u64) -> Self {
        let random = Random::of(seed, mahala::data::Stream::Reservoir);
        Self { rows: Vec::new(), labels: Vec::new(), columns, most, seen: 0, random }
    }

    /// The i-th row takes the place of one that is there with probability most/i.
    pub(crate) fn see(&mut self, block: &Block) {
        for i in 0..block.len() {
            self.seen += 1;
            if self.labels.len() < self.most {
                block.append_row(i, &mut self.rows);
                self.labels.push(block.label(i).to_owned());
                continue;
            }
            let place = self.random.below(self.seen);
            if place < self.most {
                let mut row = Vec::with_capacity(self.columns);
                block.append_row(i, &mut row);
                self.rows[place * self.columns..][..self.columns].copy_from_slice(&row);
                block.label(i).clone_into(&mut self.labels[place]);
            }
        }
    }

    /// Whether the sample is all there is.
    pub(crate) fn is_whole(&self) -> bool {
        self.seen == self.labels.len()
    }

    /// How many rows were seen.
    pub(crate) fn seen(&self) -> usize {
        self.seen
    }

    /// The sample.
    pub(crate) fn into_data(self) -> Result<Dataset> {
        Ok(Dataset::new(Rows::new(self.rows, self.columns)?, Labels::new(self.labels))?)
    }
}

/// What a pass was stopped by.
struct TooMany {
    classes: usize,
    gigabytes: f64,
}

/// The moments of all rows, in the order of the file.
pub(crate) fn moments(stream: &mut Stream) -> Result<Moments> {
    match pass(stream, None, LIMITS.of_a_pipe)? {
        Ok(moments) => Ok(moments.with_names(stream.names.clone())?),
        Err(TooMany { classes, gigabytes }) => bail!(
            "{}: the sums of {classes} classes and more take over {gigabytes:.1} GB\nhint: mahala fit --stream reads \
             files with so many classes twice, and needs no sums for each",
            stream.source
        ),
    }
}

/// All pairs, in one pass, or two where there are too many classes for a matrix each; and a sample of the rows.
pub(crate) fn all_pairs(stream: &mut Stream, gmml: &mahala::Gmml) -> Result<(Summed, Reservoir)> {
    all_pairs_within(&LIMITS, stream, gmml)
}

fn all_pairs_within(
    limits: &Limits,
    stream: &mut Stream,
    gmml: &mahala::Gmml,
) -> Result<(Summed, Reservoir)> {
    let d = stream.names.len();
    let sample = || Reservoir::new(d, gmml.selection_rows, gmml.seed);
    let two_passes = stream.can_be_read_twice() && gmml.balance == mahala::scatter::Balance::None;
    let limit = if two_passes { limits.of_a_file } else { limits.of_a_pipe };
    let mut seen = sample();
    let too_many = match pass(stream, Some(&mut seen), limit)? {
        Ok(moments) => return Ok((Summed::of(&moments, gmml.balance)?, seen)),
        Err(too_many) => too_many,
    };
    let TooMany { classes, gigabytes } = too_many;
    let again = if two_passes { stream.again()?.zip(stream.again()?) } else { None };
    let Some((mut first, mut second)) = again else {
        bail!(
            "{}: the sums of {classes} classes and more take over {gigabytes:.1} GB, and with so many all rows must be \
             read twice\nhint: give a file rather than standard input, and leave --balance out",
            stream.source
        );
    };
    print_message(&format!(
        "note: {} and more are too many for sums of each; all is read twice",
        format::grouped(classes as u64) + " classes"
    ));
    let mut seen = sample();
    let summed = two_pass(&mut first, &mut second, &mut seen)?;
    *stream = second;
    Ok((summed, seen))
}

/// Blocks are summed by all threads and merged in order; the cut depends on the file alone, and so do the bits.
fn pass(
    stream: &mut Stream,
    mut sample: Option<&mut Reservoir>,
    limit: usize,
) -> Result<Result<Moments, TooMany>> {
    let d = stream.names.len();
    check_columns(stream)?;
    let progress = Bar::reading(&format!("reading {}", stream.source), stream.progress());
    let mut total = Moments::new(d)?;
    let mut too_many = None;
    // A block of many classes is added to the sums at once, rather than by way of sums of its own.
    let of_block = |block: &Block| -> Option<mahala::Result<Moments>> {
        let numbers = block.class_count() * d * d;
        if 16 * block.class_count() > block.len() || numbers > 1 << 20 {
            return None;
        }
        let mut moments = Moments::new(d).ok()?;
        let labels = block.labels()?;
        Some(labels.and_then(|labels| moments.update(block.matrix(), &labels, None)).map(|()| moments))
    };
    let outcome = stream.each(of_block, |block, moments| {
        match moments {
            Some(moments) => total.merge(&moments?)?,
            None => {
                if let Some(labels) = block.labels() {
                    total.update(block.matrix(), &labels?, None)?;
                }
            }
        }
        if let Some(sample) = &mut sample {
            sample.see(&block);
        }
        let (classes, bytes) = (total.classes().len(), 8 * total.classes().len() * d * d);
        if bytes > limit {
            too_many = Some(TooMany { classes, gigabytes: bytes as f64 / 1e9 });
            bail!("too many classes");
        }
        progress.tell(&format!("reading {}: {}", "rows", format::grouped(total.rows())));
        Ok(())
    });
    progress.finish();
    match (too_many, outcome) {
        (Some(too_many), _) => Ok(Err(too_many)),
        (None, outcome) => outcome.map(|()| Ok(total)),
    }
}

fn two_pass(first: &mut Stream, second: &mut Stream, sample: &mut Reservoir) -> Result<Summed> {
    let mut means = ClassMeans::new(first.names.len())?;
    let progress = Bar::reading(&format!("reading {}, first time", first.source), first.progress());
    first.each(
        |_| (),
        |block, ()| -> Result<()> {
            if let Some(labels) = block.labels() {
                means.update(block.matrix(), &labels?)?;
            }
            sample.see(&block);
            Ok(())
        },
    )?;
    progress.finish();
    let progress = Bar::reading(&format!("reading {}, second time", first.source), second.progress());
    let mut sums: Option<PairSums> = None;
    let of_block = |block: &Block| Some(block.labels()?.and_then(|l| means.pair_sums(block.matrix(), &l)));
    second.each(of_block, |_, part| -> Result<()> {
        match (&mut sums, part.transpose()?) {
            (Some(sums), Some(part)) => sums.merge(&part),
            (sums @ None, part) => *sums = part,
            (Some(_), None) => {}
        }
        Ok(())
    })?;
    progress.finish();
    match sums {
        Some(sums) => Ok(means.finish(sums)?),
        None => bail!("{}: there are no rows", second.source),
    }
}

fn check_columns(stream: &Stream) -> Result<()> {
    let d = stream.names.len();
    if d > MOST_COLUMNS {
        bail!(
            "{}: in a stream, sums of {d} columns would take {:.1} GB a class; at most {MOST_COLUMNS} columns are \
             summed\nhint: leave --stream out, or reduce the columns first",
            stream.source,
            8e-9 * (d * d) as f64
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Limits, all_pairs_within};
    use faer::Mat;
    use mahala::Gmml;
    use mahala::gmml::TChoice;
    use mahala::progress::silent;
    use mahala::scatter::Balance;
    use mahala_io::ReadOptions;
    use mahala_io::Stream;
    use std::io::Write as _;

    /// The metric of 60 classes of 5 rows each, d = 4: 128 bytes a class.
    fn learned(of_a_file: usize, of_a_pipe: usize, balance: Balance) -> Result<Mat<f64>, String> {
        let mut file = tempfile::Builder::new().suffix(".csv").tempfile().expect("a file");
        writeln!(file, "a,b,c,d,y").expect("written");
        for i in 0..300_u32 {
            let cell = |j: u32| f64::from((i * 7 + j * j * 13 + i * i * (j + 1)) % 101);
            writeln!(file, "{},{},{},{},{}", cell(1), cell(2), cell(3), cell(4), i % 60).expect("written");
        }
        let options = ReadOptions { label: "y".parse().ok(), ..ReadOptions::default() };
        let mut stream = Stream::open(file.path(), &options).map_err(|error| error.to_string())?;
        let gmml = Gmml { balance, t: TChoice::Fixed(0.5), ..Gmml::default() };
        let limits = Limits { of_a_file, of_a_pipe };
        let sums = all_pairs_within(&limits, &mut stream, &gmml).map_err(|error| error.to_string())?.0;
        let fit = gmml.fit_summed(sums, None, &mut silent).map_err(|error| error.to_string())?;
        fit.metric.matrix().map_err(|error| error.to_string())
    }

    #[test]
    fn too_many_classes_for_a_matrix_each_are_summed_in_two_passes() {
        let (once, twice) = (learned(usize::MAX, 0, Balance::None), learned(1000, 0, Balance::None));
        let (once, twice) = (once.unwrap(), twice.unwrap());
        assert!((&once - &twice).norm_max() < 1e-12 * once.norm_max());
    }

    #[test]
    fn where_there_is_but_one_pass_too_many_classes_are_refused_with_a_way_out() {
        let told =
            learned(usize::MAX, 1000, Balance::Classes).expect_err("60 matrices of 128 bytes are too many");
        assert!(told.contains("60 classes and more take over"), "{told}");
        assert!(told.contains("hint: give a file rather than standard input"), "{told}");
        assert!(learned(usize::MAX, 60 * 128, Balance::Classes).is_ok());
    }
}
