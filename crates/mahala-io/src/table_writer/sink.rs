//! Where encoded rows go: text straight on or packed, arrays by way of a file that counts them, columns into row groups.

use std::fs::File;
use std::io::{Seek as _, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::atomic_file::AtomicFile;
use crate::npy::npy_header_of;
#[cfg(feature = "parquet")]
use crate::table_writer::parquet::Groups;
use crate::table_writer::{Content, Encoded, Holds, Packing, TableForm, text};
use crate::write_error::WriteError;

/// The level that zstd takes if not told otherwise.
#[cfg(feature = "zstd")]
const LEVEL: i32 = 3;

pub(super) enum Sink {
    Plain(AtomicFile),
    Gzip(GzEncoder<AtomicFile>),
    #[cfg(feature = "zstd")]
    Zstandard(zstd::stream::write::Encoder<'static, AtomicFile>),
    /// The header of an array tells how many rows follow, so these wait for it in a file of their own.
    Array {
        output: AtomicFile,
        spool: File,
        rows: usize,
        columns: usize,
        single: bool,
    },
    #[cfg(feature = "parquet")]
    Parquet(Box<Groups>),
}

impl Sink {
    pub(super) fn new(
        output: AtomicFile,
        form: TableForm,
        columns: &[(String, Holds)],
    ) -> Result<Self, WriteError> {
        let TableForm::Text(delimiter, packing) = form else { return Self::binary(output, form, columns) };
        let header = text::header(delimiter, columns)?;
        let mut sink = match packing {
            Packing::Plain => Self::Plain(output),
            Packing::Gzip => Self::Gzip(GzEncoder::new(output, Compression::default())),
            #[cfg(feature = "zstd")]
            Packing::Zstandard => Self::Zstandard(zstd::stream::write::Encoder::new(output, LEVEL)?),
            #[cfg(not(feature = "zstd"))]
            Packing::Zstandard => return Err(without("Zstandard")),
        };
        sink.bytes(&header)?;
        Ok(sink)
    }

    fn binary(output: AtomicFile, form: TableForm, columns: &[(String, Holds)]) -> Result<Self, WriteError> {
        #[cfg(feature = "parquet")]
        if form == TableForm::Parquet {
            return Ok(Self::Parquet(Box::new(Groups::new(output, columns)?)));
        }
        #[cfg(not(feature = "parquet"))]
        if form == TableForm::Parquet {
            return Err(without("Parquet"));
        }
        let single = columns.iter().all(|column| column.1 == Holds::Singles);
        Ok(Self::Array { output, spool: tempfile::tempfile()?, rows: 0, columns: columns.len(), single })
    }

    pub(super) fn write(&mut self, encoded: Encoded) -> Result<(), WriteError> {
        match encoded.content {
            Content::Bytes(bytes) => {
                if let Self::Array { rows, .. } = self {
                    *rows += encoded.rows;
                }
                self.bytes(&bytes)
            }
            #[cfg(feature = "parquet")]
            Content::Columns(columns) => match self {
                Self::Parquet(groups) => groups.add(columns, encoded.rows),
                _ => Ok(()),
            },
            #[cfg(not(feature = "parquet"))]
            Content::Columns(_) => Ok(()),
        }
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        match self {
            Self::Plain(output) => output.write_all(bytes)?,
            Self::Gzip(output) => output.write_all(bytes)?,
            #[cfg(feature = "zstd")]
            Self::Zstandard(output) => output.write_all(bytes)?,
            Self::Array { spool, .. } => spool.write_all(bytes)?,
            #[cfg(feature = "parquet")]
            Self::Parquet(_) => {}
        }
        Ok(())
    }

    /// All bytes, in the file that is then to be completed.
    pub(super) fn finish(self) -> Result<AtomicFile, WriteError> {
        match self {
            Self::Plain(output) => Ok(output),
            Self::Gzip(output) => Ok(output.finish()?),
            #[cfg(feature = "zstd")]
            Self::Zstandard(output) => Ok(output.finish()?),
            Self::Array { mut output, mut spool, rows, columns, single } => {
                let shape = [rows, columns];
                output.write_all(&npy_header_of(if single { "<f4" } else { "<f8" }, &shape))?;
                spool.rewind()?;
                std::io::copy(&mut spool, &mut output)?;
                Ok(output)
            }
            #[cfg(feature = "parquet")]
            Self::Parquet(groups) => groups.finish(),
        }
    }
}

#[cfg(not(all(feature = "parquet", feature = "zstd")))]
fn without(what: &str) -> WriteError {
    WriteError::new(format!("this program was built without the writer of {what}"))
}
