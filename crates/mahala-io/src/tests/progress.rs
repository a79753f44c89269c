//! How far a reader is.

use std::path::Path;
use std::sync::Arc;

use super::{gzip, plain};
use crate::{Block, ReadError, ReadOptions, ReadProgress, Stream, read_table};

fn progress_of(path: &Path, options: ReadOptions) -> Option<f64> {
    let progress = Arc::new(ReadProgress::default());
    assert_eq!(progress.share(), None);
    let options = ReadOptions { progress: Some(Arc::clone(&progress)), ..options };
    read_table(path, &options).expect("a table");
    progress.share()
}

#[test]
fn all_bytes_are_read_at_the_end_in_every_format() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let text: String =
        (0..40_000).fold(String::from("a,b\n"), |text, i| text + &format!("{i},{}\n", i * 7 % 101));
    let lines: String = (0..40_000).fold(String::new(), |text, i| text + &format!("{{\"a\":{i}}}\n"));
    let sparse: String = (0..40_000).fold(String::new(), |text, i| text + &format!("1 1:{i}\n"));
    let numbers: Vec<f64> = (0..80_000).map(f64::from).collect();
    for (name, bytes) in [
        ("a.csv", text.clone().into_bytes()),
        ("a.csv.gz", gzip(text.as_bytes())),
        ("a.jsonl", lines.into_bytes()),
        ("a.svm", sparse.into_bytes()),
        ("a.npy", crate::npy::npy_bytes(&[40_000, 2], &numbers).expect("an array")),
    ] {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        assert_eq!(progress_of(&path, plain()), Some(1.0), "{name}");
    }
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/arrow/numbers-lz4.arrow");
    assert!(
        progress_of(&reference, ReadOptions { label: "category".parse().ok(), ..plain() })
            .is_some_and(|share| share > 0.5)
    );
}

#[test]
fn a_stream_of_files_tells_the_share_of_all_of_them_and_begins_again() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let text: String =
        (0..500_000).fold(String::from("a,b\n"), |text, i| text + &format!("{i},{}\n", i * 7 % 101));
    for name in ["1.csv", "2.csv", "3.csv"] {
        std::fs::write(directory.path().join(name), &text).expect("a file");
    }
    let mut stream = Stream::open(directory.path(), &plain()).expect("a stream");
    for _ in 0..2 {
        let progress = stream.progress();
        let mut shares = vec![progress.share().expect("a share")];
        let read: Result<(), ReadError> = stream.each(
            |_| (),
            |_: Block, ()| {
                shares.push(progress.share().expect("a share"));
                Ok(())
            },
        );
        read.expect("all is read");
        assert!(shares[0] < 0.1 && shares.is_sorted() && shares.last() == Some(&1.0), "{shares:?}");
        stream = stream.again().expect("the files").expect("files");
    }
}
