//! `experiments fetch`: the data sets from their public homes, converted to one form and checked by their sums.
//!
//! The sums are those of the converted files that the committed results were made from: one header, the shortest
//! decimals that read back as the same number, the label last.

use crate::cell::write_whole;
use crate::data::{hex, read};
use crate::protocol::{SETS, Set};
use crate::say;
use anyhow::{Context as _, Result, bail};
use clap::Args;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options of `experiments fetch`.
#[derive(Args)]
pub(crate) struct Fetch {
    /// The folder the sets go to
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Only these sets
    #[arg(long, value_delimiter = ',', value_parser = crate::set_named)]
    sets: Vec<&'static Set>,
    /// Take the files by their names from this address instead of their homes
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
    /// Keep a set of the right shape even if its sum is another
    #[arg(long)]
    accept: bool,
}

/// Where a set comes from.
struct Source {
    set: &'static str,
    urls: &'static [&'static str],
    form: Form,
    /// Of the converted CSV, before compression.
    sha256: &'static str,
}

/// How a source is written.
enum Form {
    /// Fields between commas or blanks; lines of `@` and `%` are an ARFF file's.
    Fields { first: usize, label: usize, name: fn(&str) -> String },
    /// Images and labels of MNIST, in this order, train then test; the first rows of each.
    Idx { rows: usize },
}

/// A file of the UCI repository.
macro_rules! uci {
    ($path:literal) => {
        concat!("https://archive.ics.uci.edu/ml/machine-learning-databases/", $path)
    };
}

const SOURCES: [Source; 13] = [
    Source {
        set: "wine",
        urls: &[uci!("wine/wine.data")],
        form: Form::Fields { first: 1, label: 0, name: |label| shifted(label, -1) },
        sha256: "0b3a1c53c244b2ea5a9fb879ff59d248291519eb0753fea712b02c136933d15b",
    },
    Source {
        set: "iris",
        urls: &[uci!("iris/iris.data")],
        form: Form::Fields { first: 0, label: 4, name: str::to_owned },
        // Of the same numbers as in the file the results were made from, which has 5.0 where this has 5.
        sha256: "fb117027d8a4367e63b095c5f5486eda25b538028d4c0df03eefcdfc08eafa4d",
    },
    Source {
        set: "vehicle",
        urls: &[
            uci!("statlog/vehicle/xaa.dat"),
            uci!("statlog/vehicle/xab.dat"),
            uci!("statlog/vehicle/xac.dat"),
            uci!("statlog/vehicle/xad.dat"),
            uci!("statlog/vehicle/xae.dat"),
            uci!("statlog/vehicle/xaf.dat"),
            uci!("statlog/vehicle/xag.dat"),
            uci!("statlog/vehicle/xah.dat"),
            uci!("statlog/vehicle/xai.dat"),
        ],
        form: Form::Fields { first: 0, label: 18, name: str::to_owned },
        sha256: "f0049f83ceb869eb4993667f2bf060793321acf0107b4bac95389c8a2664c397",
    },
    Source {
        set: "vowel",
        urls: &[uci!("undocumented/connectionist-bench/vowel/vowel-context.data")],
        form: Form::Fields { first: 3, label: 13, name: |label| shifted(label, 1) },
        sha256: "a7a718576791dcbcbb96b6d9cb7f25d7b28a8a3265b1e91f7decaa2b5b188401",
    },
    Source {
        set: "german",
        urls: &[uci!("statlog/german/german.data-numeric")],
        form: Form::Fields { first: 0, label: 24, name: str::to_owned },
        sha256: "b17fd8038ba3280e00a9d3aa8ef9a6f4879e435dcf1c69ad9bbec8bfaf52332f",
    },
    Source {
        set: "australian",
        urls: &[uci!("statlog/australian/australian.dat")],
        form: Form::Fields { first: 0, label: 14, name: str::to_owned },
        sha256: "11152296cf7351ca2228831fa70dd2e326a244f8865d88c1bd94c2e2b64182d8",
    },
    Source {
        set: "pima",
        urls: &[
            "https://raw.githubusercontent.com/renatopp/arff-datasets/master/classification/diabetes.arff",
        ],
        form: Form::Fields {
            first: 0,
            label: 8,
            name: |label| label.trim_start_matches("tested_")[..3].to_owned(),
        },
        sha256: "988bf001621409c72e01953e6fb881e2a5376a5a53e1dea411220383ceac10fb",
    },
    Source {
        set: "breast-cancer",
        urls: &[uci!("breast-cancer-wisconsin/breast-cancer-wisconsin.data")],
        form: Form::Fields { first: 1, label: 10, name: |label| two(label, ("2", "benign"), "malignant") },
        sha256: "1601cabb5089624cd34c2158e7a017777aa29c20eb33a960155ade111752abbb",
    },
    Source {
        set: "breast-cancer-wdbc",
        urls: &[uci!("breast-cancer-wisconsin/wdbc.data")],
        form: Form::Fields { first: 2, label: 1, name: |label| two(label, ("M", "malignant"), "benign") },
        sha256: "28deb323cf496035fca2f0066c9ef439eacc3196587d63f462c7fb443d4204b6",
    },
    Source {
        set: "letters",
        urls: &[uci!("letter-recognition/letter-recognition.data")],
        form: Form::Fields { first: 1, label: 0, name: str::to_owned },
        sha256: "1a885cb69f9b075f698e96fa978b05fa2ed81d4eaddcb9d5dbdd5441e6a50f94",
    },
    Source {
        set: "isolet",
        urls: &[uci!("isolet/isolet1+2+3+4.data.Z"), uci!("isolet/isolet5.data.Z")],
        form: Form::Fields { first: 0, label: 617, name: |label| shifted(label, 0) },
        sha256: "1473542c228daa88f7f8e83d4ee10163227ae410bab9e2839810cbda5d39b423",
    },
    Source {
        set: "usps",
        urls: &[
            "https://hastie.su.domains/ElemStatLearn/datasets/zip.train.gz",
            "https://hastie.su.domains/ElemStatLearn/datasets/zip.test.gz",
        ],
        form: Form::Fields { first: 1, label: 0, name: |label| shifted(label, 0) },
        sha256: "59fc9eaea24837899b2ccdb0c7733f4a66ccb512bf473b85656fc4f7d36d3ed5",
    },
    Source {
        set: "mnist",
        urls: &[
            "https://storage.googleapis.com/cvdf-datasets/mnist/train-images-idx3-ubyte.gz",
            "https://storage.googleapis.com/cvdf-datasets/mnist/train-labels-idx1-ubyte.gz",
            "https://storage.googleapis.com/cvdf-datasets/mnist/t10k-images-idx3-ubyte.gz",
            "https://storage.googleapis.com/cvdf-datasets/mnist/t10k-labels-idx1-ubyte.gz",
        ],
        form: Form::Idx { rows: 2000 },
        sha256: "7e6a741d3bd655da1f765cf896ac6f2d80eaf128d3aa8f2e7df4a49d5703a60a",
    },
];

/// Gets every set that is not there yet. What cannot be had is said, and fails at the end.
pub(crate) fn run(options: &Fetch) -> Result<()> {
    let mut lacking = 0;
    for set in
        SETS.iter().filter(|set| options.sets.is_empty() || options.sets.iter().any(|s| s.name == set.name))
    {
        let target = options.data.join(set.file);
        let result = match SOURCES.iter().find(|source| source.set == set.name) {
            _ if target.exists() => Ok("is there".to_owned()),
            Some(source) => source.fetch(set, &target, options),
            None => Err(anyhow::anyhow!("has no public home in a form read here; {}", by_hand(set.name))),
        };
        match result {
            Ok(what) => say(&format!("{}: {what}", set.title)),
            Err(error) => {
                lacking += 1;
                say(&format!("{}: {error:#}", set.title));
            }
        }
    }
    if lacking > 0 {
        bail!("{lacking} of the sets could not be had; their cells will say so");
    }
    Ok(())
}

/// Where a set that is not fetched can be found.
fn by_hand(set: &str) -> &'static str {
    match set {
        "segment" => "it is the demo file segment.mat of the LMNN toolbox (rows xTr, xVa, xTe; labels last)",
        _ => "it is distributed as a MATLAB file with code of Xing et al. (2002)",
    }
}

impl Source {
    fn fetch(&self, set: &Set, target: &Path, options: &Fetch) -> Result<String> {
        let files = self.urls.iter().map(|url| download(url, options.mirror.as_deref()));
        let csv = self.form.convert(&files.collect::<Result<Vec<_>>>()?)?;
        let sum = hex(&Sha256::digest(csv.as_bytes()));
        let same = sum == self.sha256;
        if !same && !options.accept {
            bail!(
                "the converted file has the SHA-256 {sum}, not {}; --accept keeps it if its shape is right",
                self.sha256
            );
        }
        store(set, target, &csv)?;
        let note = if same { "sum right" } else { "sum WRONG, kept as asked: results may differ" };
        Ok(format!("{} ({note})", target.display()))
    }
}

/// Writes the file, compressed if it is to be, once its shape has been seen to be right.
fn store(set: &Set, target: &Path, csv: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let trial = folder.path().join("trial.csv");
    write_whole(&trial, csv)?;
    read(set, &trial)?;
    if target.extension().is_none_or(|end| end != "gz") {
        return write_whole(target, csv);
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(csv.as_bytes())?;
    crate::cell::write_bytes(target, &encoder.finish()?)
}

/// A file's bytes, uncompressed. `curl` does the talking.
fn download(url: &str, mirror: Option<&str>) -> Result<Vec<u8>> {
    let name = url.rsplit('/').next().unwrap_or(url);
    let address =
        mirror.map_or_else(|| url.to_owned(), |base| format!("{}/{name}", base.trim_end_matches('/')));
    let output = Command::new("curl")
        .args(["--fail", "--silent", "--show-error", "--location", "--retry", "2", "--max-time", "600", &address])
        .output()
        .context("curl could not be started: install it, or get the files by hand and name their folder with --mirror file://...")?;
    if !output.status.success() {
        bail!("{address}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let bytes = output.stdout;
    match bytes[..] {
        [0x1f, 0x8b, ..] => {
            let mut plain = Vec::new();
            GzDecoder::new(&bytes[..]).read_to_end(&mut plain).with_context(|| address)?;
            Ok(plain)
        }
        // The old compress(1), which gzip still reads.
        [0x1f, 0x9d, ..] => uncompressed(&bytes).with_context(|| address),
        _ => Ok(bytes),
    }
}

fn uncompressed(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(bytes)?;
    let plain = std::fs::File::open(file.path())?;
    let output =
        Command::new("gzip").args(["-dc"]).stdin(plain).output().context("gzip could not be started")?;
    if !output.status.success() {
        bail!("gzip: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}

impl Form {
    fn convert(&self, files: &[Vec<u8>]) -> Result<String> {
        match self {
            Self::Fields { first, label, name } => {
                let text =
                    files.iter().map(|file| String::from_utf8_lossy(file)).collect::<Vec<_>>().join("\n");
                from_fields(&text, *first, *label, *name)
            }
            Self::Idx { rows } => from_idx(files, *rows),
        }
    }
}

fn from_fields(text: &str, first: usize, label: usize, name: fn(&str) -> String) -> Result<String> {
    let mut rows = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['@', '%'])) {
        let fields: Vec<&str> =
            line.split([',', ' ', '\t']).map(str::trim).filter(|field| !field.is_empty()).collect();
        let last = if label > first { label } else { fields.len() };
        if fields.len() <= label || last <= first {
            bail!("a line has {} fields: {}", fields.len(), line.chars().take(60).collect::<String>());
        }
        let cells = fields[first..last].iter().map(|field| number(field)).collect::<Result<Vec<_>>>()?;
        rows.push(format!("{},{}\n", cells.join(","), name(fields[label])));
    }
    let columns = rows.first().context("the file holds no row")?.split(',').count() - 1;
    Ok(header(columns) + &rows.concat())
}

/// Magic number and sizes, 32 bits each, then a byte a pixel or label.
fn from_idx(files: &[Vec<u8>], rows: usize) -> Result<String> {
    const PIXELS: usize = 784;
    let mut csv = header(PIXELS);
    for pair in files.chunks(2) {
        let [images, labels] = pair else { bail!("images and labels must come in pairs") };
        if images.len() < 16 + rows * PIXELS || labels.len() < 8 + rows {
            bail!("fewer than {rows} images or labels");
        }
        for (image, label) in images[16..].chunks(PIXELS).zip(&labels[8..]).take(rows) {
            let cells: Vec<String> = image.iter().map(u8::to_string).collect();
            csv.push_str(&format!("{},{label}\n", cells.join(",")));
        }
    }
    Ok(csv)
}

fn header(columns: usize) -> String {
    let names: Vec<String> = (1..=columns).map(|column| format!("f{column}")).collect();
    names.join(",") + ",label\n"
}

/// The shortest decimals that read back the same; nothing for a missing value.
fn number(field: &str) -> Result<String> {
    if field == "?" {
        return Ok(String::new());
    }
    let value: f64 = field.parse().with_context(|| format!("'{field}' is not a number"))?;
    Ok(value.to_string())
}

/// A label that is a whole number, moved.
fn shifted(label: &str, by: i64) -> String {
    label.parse::<f64>().map_or_else(|_| label.to_owned(), |number| (number as i64 + by).to_string())
}

fn two(label: &str, (one, name): (&str, &str), other: &str) -> String {
    if label == one { name } else { other }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_become_one_form() {
        // Lines as the homes print them: the label first and not last, blanks, a missing cell, an ARFF head.
        let of = |set: &str, text: &str| {
            let source = SOURCES.iter().find(|source| source.set == set).unwrap();
            let csv = source.form.convert(&[text.as_bytes().to_vec()]).unwrap();
            csv.lines().nth(1).unwrap().to_owned()
        };
        assert_eq!(of("wine", "1,14.23,1.71,.28,1065\n"), "14.23,1.71,0.28,1065,0");
        assert_eq!(of("iris", "5.1,3.5,1.4,0.2,Iris-setosa\n\n"), "5.1,3.5,1.4,0.2,Iris-setosa");
        assert_eq!(of("breast-cancer", "1057013,8,4,5,1,2,?,7,3,1,4\n"), "8,4,5,1,2,,7,3,1,malignant");
        assert_eq!(
            of("pima", "% comment\n@data\n6,148,72,35,0,33.6,0.627,50,tested_positive\n"),
            "6,148,72,35,0,33.6,0.627,50,pos"
        );
        assert_eq!(of("letters", "T,2,8,3,5\n"), "2,8,3,5,T");
        let vowel = "0 0 0 -3.639 0.418 -0.670 1.779 -0.168 1.627 -0.388 0.529 -0.874 -0.814 0\n";
        assert_eq!(of("vowel", vowel), "-3.639,0.418,-0.67,1.779,-0.168,1.627,-0.388,0.529,-0.874,-0.814,1");
    }

    #[test]
    fn images_are_read_behind_their_heads() {
        let images = [vec![0; 16], vec![7; 784], vec![9; 784]].concat();
        let labels = [vec![0; 8], vec![3, 4]].concat();
        let csv = from_idx(&[images.clone(), labels.clone()], 2).unwrap();
        assert!(csv.lines().nth(2).unwrap().starts_with("9,9,") && csv.trim_end().ends_with(",4"));
        assert!(from_idx(&[images, labels], 3).is_err());
    }

    #[test]
    fn a_line_with_too_few_fields_is_shown() {
        let error = from_fields("1 2\n", 0, 4, str::to_owned).unwrap_err().to_string();
        assert_eq!(error, "a line has 2 fields: 1 2");
    }
}
