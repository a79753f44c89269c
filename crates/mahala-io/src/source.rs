//! Opening a file or standard input, and looking at its first bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::bufread::MultiGzDecoder;

use crate::error::ReadError;
use crate::progress::{Counted, ReadProgress};

/// Bytes that can be read once, with what is known about them beforehand.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) reader: Box<dyn BufRead>,
    pub(crate) magic: Option<Magic>,
    /// Whether a JSON object seems to begin here.
    pub(crate) begins_with_object: bool,
    /// The file itself, if it is a regular file that is not compressed.
    plain: Option<PathBuf>,
    /// The number of bytes of a member of an archive.
    length: Option<u64>,
    /// Who is told how far reading is.
    pub(crate) progress: Option<Arc<ReadProgress>>,
}

/// A binary format that its first bytes give away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Magic {
    Npy,
    Parquet,
    /// A file, or a stream of messages.
    Arrow,
    /// An archive, as numpy.savez writes one.
    Zip,
    /// One that is not read: its name, and what to do.
    Other(&'static str, &'static str),
}

/// The first bytes of files that are no tables, or none that are read.
const OTHERS: [(&[u8], &str, &str); 8] = [
    (b"FEA1", "a Feather file of version 1", "write it again, e.g. with pandas: read_feather and to_feather"),
    (b"\x89HDF", "an HDF5 file", "write it as Parquet or NPY"),
    (b"\x80\x04\x95", "a pickle", "save the array with numpy.save"),
    (b"\x80\x05\x95", "a pickle", "save the array with numpy.save"),
    (ZSTANDARD, "Zstandard data", "decompress it with zstd -d; .gz is read as it is"),
    (b"BZh", "bzip2 data", "decompress it with bunzip2; .gz is read as it is"),
    (b"\xFD7zXZ", "XZ data", "decompress it with unxz; .gz is read as it is"),
    (b"SQLite f", "an SQLite database", "write its table as CSV"),
];

const ZSTANDARD: &[u8] = b"\x28\xB5\x2F\xFD";

const BUFFER: usize = 1 << 18;
const HEAD: usize = 8;

impl Source {
    /// Opens a file, or standard input for `-`; gzip and Zstandard are undone whatever the name says.
    pub(crate) fn open(path: &Path, progress: Option<&Arc<ReadProgress>>) -> Result<Self, ReadError> {
        if path.as_os_str() == "-" {
            static TAKEN: AtomicBool = AtomicBool::new(false);
            if TAKEN.swap(true, Ordering::Relaxed) {
                return Err(ReadError::new("standard input", "it can be read only once")
                    .hint("give - for one table, and names of files for the others"));
            }
            return Self::start("standard input".to_owned(), Box::new(io::stdin().lock()), None);
        }
        let name = path.display().to_string();
        let cannot = |error: io::Error| ReadError::open(&name, error);
        let metadata = std::fs::metadata(path).map_err(cannot)?;
        if metadata.is_dir() {
            return Err(
                ReadError::new(name, "this is a directory, not a file").hint("name one of the files in it")
            );
        }
        let file = File::open(path).map_err(cannot)?;
        let plain = metadata.is_file().then(|| path.to_owned());
        let file = Counted { inner: file, progress: progress.cloned() };
        let source = Self::start(name, Box::new(BufReader::with_capacity(BUFFER, file)), plain)?;
        Ok(Self { progress: progress.cloned(), ..source })
    }

    fn start(name: String, reader: Box<dyn BufRead>, plain: Option<PathBuf>) -> Result<Self, ReadError> {
        let (mut head, mut reader) = peek(&name, reader)?;
        let zipped = head.starts_with(b"\x1f\x8b");
        if zipped {
            let unzipped = BufReader::with_capacity(BUFFER, MultiGzDecoder::new(reader));
            (head, reader) = peek(&name, Box::new(unzipped))?;
        }
        let packed = head.starts_with(ZSTANDARD);
        if packed && let Some(unpacked) = zstandard(&name, &mut reader)? {
            (head, reader) = peek(&name, unpacked)?;
        }
        let plain = plain.filter(|_| !zipped && !packed);
        let begins_with_object = begins_with_object(&head);
        Ok(Self {
            magic: magic(&head),
            begins_with_object,
            plain,
            length: None,
            progress: None,
            name,
            reader,
        })
    }

    /// A member of an archive, with the number of bytes that the archive says it has.
    pub(crate) fn of_member(name: String, reader: Box<dyn BufRead>, length: u64) -> Self {
        Self {
            name,
            reader,
            magic: None,
            begins_with_object: false,
            plain: None,
            length: Some(length),
            progress: None,
        }
    }

    /// The file itself, if it is a regular file that is not compressed.
    pub(crate) fn plain(&self) -> Option<&Path> {
        self.plain.as_deref()
    }

    /// The number of bytes, where it is known before reading.
    pub(crate) fn size(&self) -> Option<u64> {
        if self.length.is_some() {
            return self.length;
        }
        let metadata = std::fs::metadata(self.plain.as_ref()?);
        metadata.ok().map(|metadata| metadata.len())
    }

    /// The bytes as a file in which one can seek: the file itself, or a temporary copy.
    pub(crate) fn into_file(mut self) -> Result<File, ReadError> {
        let cannot = |error: io::Error| ReadError::read(&self.name, error);
        if let Some(path) = &self.plain {
            return File::open(path).map_err(cannot);
        }
        let mut copy = tempfile::tempfile().map_err(cannot)?;
        io::copy(&mut self.reader, &mut copy).map_err(cannot)?;
        copy.rewind().map_err(cannot)?;
        Ok(copy)
    }
}

/// The bytes behind Zstandard compression, all frames of them; the reader is taken if there is a decompressor.
#[cfg(feature = "zstd")]
fn zstandard(name: &str, reader: &mut Box<dyn BufRead>) -> Result<Option<Box<dyn BufRead>>, ReadError> {
    let reader = std::mem::replace(reader, Box::new(io::empty()));
    let decoder =
        zstd::stream::read::Decoder::with_buffer(reader).map_err(|error| ReadError::read(name, error))?;
    Ok(Some(Box::new(BufReader::with_capacity(BUFFER, Damaged(decoder)))))
}

#[cfg(not(feature = "zstd"))]
fn zstandard(_: &str, _: &mut Box<dyn BufRead>) -> Result<Option<Box<dyn BufRead>>, ReadError> {
    Ok(None)
}

/// A decompressor whose complaints, which have no kind of their own, are those of damaged data.
#[cfg(feature = "zstd")]
struct Damaged<R>(R);

#[cfg(feature = "zstd")]
impl<R: Read> Read for Damaged<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Other => io::Error::new(io::ErrorKind::InvalidData, error),
            _ => error,
        })
    }
}

fn magic(head: &[u8]) -> Option<Magic> {
    if head.starts_with(b"\x93NUMPY") {
        return Some(Magic::Npy);
    }
    if head.starts_with(b"PK\x03\x04") {
        return Some(Magic::Zip);
    }
    // A message of a stream begins with a mark that no UTF-8 text has.
    if head.starts_with(b"ARROW1\0") || head.starts_with(b"\xFF\xFF\xFF\xFF") {
        return Some(Magic::Arrow);
    }
    // Text may begin with these four letters; in a Parquet file a control character follows them.
    let control = |byte: &u8| *byte < b' ' && !b"\t\r\n".contains(byte);
    if head.starts_with(b"PAR1") && head.get(4).is_some_and(control) {
        return Some(Magic::Parquet);
    }
    // Text may begin with the letters of some; then what follows is text, too.
    let binary =
        |magic: &[u8]| !magic.is_ascii() || head[magic.len()..].iter().any(|b| !b.is_ascii() || control(b));
    let known =
        OTHERS.iter().find(|other| head.starts_with(other.0) && (other.0.len() > 6 || binary(other.0)));
    known.map(|&(_, name, remedy)| Magic::Other(name, remedy))
}

/// A brace and a key in quotation marks, which no table of text begins with.
fn begins_with_object(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    text.strip_prefix(b"{").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"\""))
}

fn peek(name: &str, mut reader: Box<dyn BufRead>) -> Result<(Vec<u8>, Box<dyn BufRead>), ReadError> {
    let mut head = Vec::with_capacity(HEAD);
    let taken = reader.by_ref().take(HEAD as u64).read_to_end(&mut head);
    taken.map_err(|error| ReadError::read(name, error))?;
    let whole = Cursor::new(head.clone()).chain(reader);
    Ok((head, Box::new(whole)))
}
