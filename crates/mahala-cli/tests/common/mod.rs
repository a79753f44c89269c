//! A directory of its own for each test, and the command run in it.

#![allow(dead_code, reason = "each file of tests uses some of these")]

use assert_cmd::Command;
use mahala::Model;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A directory with the bundled tables, which is gone when the test ends.
pub(crate) struct Place(TempDir);

/// What a run of the command left behind.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Stdout before it was made text.
    pub(crate) bytes: Vec<u8>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("a directory"));
        for name in ["iris.csv", "wine.csv"] {
            fs::copy(bundled(name), place.path(name)).expect("a copy");
        }
        place
    }

    /// With the model `wine.st` of the wines.
    pub(crate) fn with_wine_model() -> Self {
        let place = Self::new();
        place.ok("fit wine.csv --label label --method gmml -o wine.st");
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a file");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("a file")
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).expect("text")
    }

    pub(crate) fn model(&self, name: &str) -> Model {
        Model::load(self.path(name)).expect("a model")
    }

    /// The names in the directory, sorted, hidden ones too.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("a directory");
        let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> = entries.map(|e| name(e).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The temporary files of outputs that are not finished.
    pub(crate) fn unfinished(&self) -> Vec<String> {
        let is_part = |name: &String| Path::new(name).extension().is_some_and(|ending| ending == "part");
        self.names().into_iter().filter(is_part).collect()
    }

    /// Runs the command with arguments that are separated by spaces.
    pub(crate) fn run(&self, line: &str) -> Ran {
        self.run_on(line, b"")
    }

    /// Runs the command here with bytes on stdin.
    pub(crate) fn run_on(&self, line: &str, stdin: &[u8]) -> Ran {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        self.run_arguments(&arguments, stdin)
    }

    pub(crate) fn run_arguments(&self, arguments: &[&str], stdin: &[u8]) -> Ran {
        let mut command = Command::new(binary());
        command.current_dir(self.0.path()).args(arguments).write_stdin(stdin);
        // What the surroundings would change of help and colours.
        command.env_remove("COLUMNS").env_remove("CLICOLOR_FORCE");
        let output = command.output();
        let output = output.expect("the command runs");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!stderr.contains("panicked"), "{arguments:?}: {stderr}");
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr,
            bytes: output.stdout,
        }
    }

    /// Runs what must succeed.
    pub(crate) fn ok(&self, line: &str) -> Ran {
        let ran = self.run(line);
        assert_eq!(ran.code, 0, "mahala {line}\n{}", ran.stderr);
        ran
    }

    /// Runs what must succeed, and reads its stdout as JSON.
    pub(crate) fn json(&self, line: &str) -> serde_json::Value {
        let ran = self.ok(line);
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout))
    }

    /// Runs what must fail with exit code 1 and exactly this message.
    pub(crate) fn refuses(&self, line: &str, message: &str) {
        let ran = self.run(line);
        assert_eq!((ran.code, ran.stderr.trim_end()), (1, message), "mahala {line}");
        assert_eq!(ran.stdout, "", "mahala {line}");
    }

    /// Runs what must fail as misuse, with exit code 2 and a message that holds this part.
    pub(crate) fn misuse(&self, line: &str, part: &str) {
        let ran = self.run(line);
        assert_eq!(ran.code, 2, "mahala {line}\n{}", ran.stderr);
        assert!(ran.stderr.contains(part), "mahala {line}\n{}", ran.stderr);
    }
}

pub(crate) fn binary() -> &'static Path {
    assert_cmd::cargo::cargo_bin!("mahala")
}

/// A table of the repository.
pub(crate) fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name)
}

/// The text without estimates of condition numbers, which say more about the estimate than the model.
pub(crate) fn without_conditions(text: &str) -> String {
    let line =
        |line: &str| if line.contains("condition") { "[condition]\n".into() } else { format!("{line}\n") };
    text.lines().map(line).collect()
}

/// The cells of a comma-separated table without quotes, its header first.
pub(crate) fn cells(csv: &str) -> Vec<Vec<&str>> {
    csv.lines().map(|line| line.split(',').collect()).collect()
}

/// The numbers of such a table, in its first `columns` columns.
pub(crate) fn numbers(csv: &str, columns: usize) -> Vec<Vec<f64>> {
    let number = |cell: &&str| cell.parse().expect("a number");
    cells(csv)[1..].iter().map(|row| row[..columns].iter().map(number).collect()).collect()
}

/// The bytes of an NPY file of float64.
pub(crate) fn npy(rows: &[Vec<f64>]) -> Vec<u8> {
    let header =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, {}), }}", rows.len(), rows[0].len());
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(rows.iter().flatten().flat_map(|x| x.to_le_bytes()));
    bytes
}

/// The bytes of an NPY file of one dimension.
pub(crate) fn npy_1d(descr: &str, length: usize, cells: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({length},), }}");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(cells);
    bytes
}

/// The numbers of an NPY file of float64, row by row.
pub(crate) fn npy_numbers(bytes: &[u8]) -> Vec<f64> {
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let number = |chunk: &[u8]| f64::from_le_bytes(chunk.try_into().expect("eight bytes"));
    bytes[start..].chunks(8).map(number).collect()
}

/// Refuses XML whose elements do not close in order.
pub(crate) fn assert_well_formed(xml: &str) {
    let mut open = Vec::new();
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "a stray > in {}", &rest[..start]);
        let end = start + rest[start..].find('>').expect("a tag that ends");
        let tag = &rest[start + 1..end];
        let name = tag.trim_start_matches('/').split_whitespace().next().expect("a name");
        let name = name.trim_end_matches('/');
        match tag.as_bytes()[0] {
            b'?' | b'!' => {}
            b'/' => assert_eq!(open.pop(), Some(name)),
            _ if tag.ends_with('/') => {}
            _ => open.push(name),
        }
        assert!(tag.matches('"').count().is_multiple_of(2), "{tag}");
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "never closed: {open:?}");
    let entities = ["&amp;", "&lt;", "&gt;", "&quot;", "&apos;", "&#"];
    let known = |at: usize| entities.iter().any(|entity| xml[at..].starts_with(entity));
    assert!(xml.match_indices('&').all(|(at, _)| known(at)), "a bare &");
}
