//! Whole files that damage begins with.

use std::path::{Path, PathBuf};

use mahala::data::{Dataset, Labels, Rows};
use mahala::scatter::Moments;
use mahala::{Gmml, Model};
use mahala_io::AtomicFile;
use mahala_io::npy::npy_bytes;
use mahala_io::table_writer::{Columns, Holds, TableForm, TableWriter};

/// What may go wrong in making a seed.
type Made<T> = Result<T, Box<dyn std::error::Error>>;

const CSV: &str =
    "a,b,\"name, long\",class\n1,2.5,-3e-7,u\n3,4,5,v\n6,1e300,.5,u\n\"7\",8,+9,\"v \"\"w\"\"\"\n";
const LIBSVM: &str = "1 1:0.5 3:-2 7:1e-3\n-1 2:1 3:4\n1 1:1 # said\n";
const PAIRS: &str = "first,second,similar\n1,2,1\n2,3,0\n4,1,-1\n";

/// The files of version 0.1.0 that are kept.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/mahala-cli/tests/fixtures/0.1.0")
}

fn data() -> Made<Dataset> {
    let cell = |i: usize| ((i * 7919 + 31) % 1009) as f64 / 100.0 + (i % 3) as f64;
    let rows = Rows::new((0..30 * 4).map(cell).collect(), 4)?;
    Ok(Dataset::new(rows, Labels::new((0..30).map(|i| (i % 3).to_string())))?)
}

/// Models of this version and of 0.1.0.
pub(crate) fn models() -> Made<Vec<Vec<u8>>> {
    let data = data()?;
    let fit = Gmml::default().fit(&data)?;
    let mut models = vec![Model::new(fit.metric).to_bytes()];
    for name in
        ["auto", "gmml", "gmml-rank-calibrated", "gmml-standardized", "itml", "kernel", "local", "wide"]
    {
        models.push(std::fs::read(kept().join(name).with_extension("safetensors"))?);
    }
    Ok(models)
}

/// Moments of this version and of 0.1.0.
pub(crate) fn moments() -> Made<Vec<Vec<u8>>> {
    Ok(vec![Moments::of(&data()?)?.to_bytes(), std::fs::read(kept().join("iris.moments"))?])
}

pub(crate) fn csv() -> Vec<Vec<u8>> {
    let semicolons = CSV.replace(',', ";").replace('.', ",");
    vec![CSV.into(), semicolons.into(), CSV.replace('\n', "\r\n").into(), b"1,2\n3,4\n".to_vec()]
}

pub(crate) fn jsonl() -> Vec<Vec<u8>> {
    let flat = "{\"a\":1,\"b\":2.5,\"class\":\"u\"}\n{\"b\":-3e-7,\"a\":true,\"class\":\"v\\u00e9\"}\n{\"a\":4,\"b\":5,\"class\":\"u\"}\n";
    let lists = "{\"id\":1,\"e\":[1,2,3],\"class\":1}\n{\"id\":2,\"e\":[4,5,6],\"class\":2}\n";
    vec![flat.into(), lists.into()]
}

/// Files that pyarrow wrote.
pub(crate) fn arrow() -> Made<Vec<Vec<u8>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/mahala-io/tests/reference/arrow");
    let names = ["numbers-lz4.arrow", "numbers-zstd.arrow", "deltas.arrows", "replaced.arrows"];
    names.iter().map(|name| Ok(std::fs::read(folder.join(name))?)).collect()
}

pub(crate) fn libsvm() -> Vec<Vec<u8>> {
    vec![LIBSVM.into()]
}

pub(crate) fn pairs() -> Vec<Vec<u8>> {
    vec![PAIRS.into(), PAIRS.replace("first,second,similar\n", "").into()]
}

pub(crate) fn npy() -> Made<Vec<Vec<u8>>> {
    let values: Vec<f64> = (0..24).map(f64::from).collect();
    let mut single = npy_bytes(&[6, 4], &values)?;
    // Half as many bytes a number: float32.
    let header = single.len() - 8 * values.len();
    single.truncate(header);
    let at = single.windows(3).position(|bytes| bytes == b"<f8").ok_or("no type in the header")?;
    single[at + 2] = b'4';
    values.iter().for_each(|&x| single.extend((x as f32).to_le_bytes()));
    Ok(vec![npy_bytes(&[6, 4], &values)?, npy_bytes(&[24], &values)?, single])
}

/// An archive of two arrays, stored.
pub(crate) fn npz() -> Made<Vec<Vec<u8>>> {
    let values: Vec<f64> = (0..12).map(f64::from).collect();
    let members = [("X.npy", npy_bytes(&[4, 3], &values)?), ("y.npy", npy_bytes(&[4], &values[..4])?)];
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in &members {
        let sizes = [crc32(bytes), bytes.len() as u32, bytes.len() as u32].map(u32::to_le_bytes).concat();
        let common =
            [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &sizes, &(name.len() as u16).to_le_bytes(), &[0, 0]];
        let common = common.concat();
        directory.extend([&b"PK\x01\x02\x14\0"[..], &common, &[0; 10]].concat());
        directory.extend((archive.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        archive.extend([&b"PK\x03\x04"[..], &common, name.as_bytes(), bytes].concat());
    }
    let (start, size) = (archive.len() as u32, directory.len() as u32);
    archive.extend(directory);
    archive.extend(
        [&b"PK\x05\x06\0\0\0\0\x02\0\x02\0"[..], &size.to_le_bytes(), &start.to_le_bytes(), &[0, 0]].concat(),
    );
    Ok(vec![archive])
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc: u32, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

/// A table in the form that the name asks for.
pub(crate) fn table(folder: &Path, name: &str) -> Made<Vec<u8>> {
    let path = folder.join(name);
    let columns: Vec<(String, Holds)> =
        vec![("a".into(), Holds::Numbers), ("n".into(), Holds::Integers), ("class".into(), Holds::Text)];
    let form = TableForm::of(&path)?;
    let mut writer = TableWriter::new(AtomicFile::create(&path)?, form, &columns)?;
    let text = (0..40).map(|i| format!("c{}", i % 3)).collect();
    let numbers = Columns::Numbers((0..40).map(|i| f64::from(i) / 7.0).collect(), 1);
    writer.write(form.encode(vec![numbers, Columns::Integers((0..40).collect()), Columns::Text(text)])?)?;
    writer.finish()?;
    Ok(std::fs::read(path)?)
}
