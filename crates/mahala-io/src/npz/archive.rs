//! The members of a ZIP archive: stored or deflated, with every claim of the directory checked before it is believed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use crate::error::{ReadError, excerpt};
use crate::progress::{Counted, ReadProgress};

/// One member, as the directory at the end of the archive describes it.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    method: u16,
    encrypted: bool,
    checksum: u32,
    packed: u64,
    /// The number of bytes when unpacked.
    pub(crate) length: u64,
    /// Where its own header begins.
    start: u64,
}

/// An archive, open for reading.
pub(crate) struct Archive {
    source: String,
    file: File,
    length: u64,
    pub(crate) members: Vec<Member>,
    progress: Option<Arc<ReadProgress>>,
}

const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// The size of the record at the end without its comment, which has at most 65,535 bytes.
const END: usize = 22;
/// The largest directory that is read: of some hundred thousand members.
const LARGEST_DIRECTORY: u64 = 1 << 24;
/// The most bytes that one byte of deflated data can stand for.
const DEFLATE_RATIO: u64 = 1032;

impl Archive {
    pub(crate) fn open(
        source: &str,
        mut file: File,
        progress: Option<Arc<ReadProgress>>,
    ) -> Result<Self, ReadError> {
        let length = file.seek(SeekFrom::End(0)).map_err(|error| ReadError::read(source, error))?;
        let mut archive = Self { source: source.to_owned(), file, length, members: Vec::new(), progress };
        let (start, size) = archive.directory()?;
        let bytes = archive.bytes(start, size)?;
        let mut rest = &bytes[..];
        while rest.starts_with(b"PK\x01\x02") {
            let Some((member, length)) = member(rest) else { return Err(archive.damaged()) };
            archive.members.push(member);
            rest = &rest[length..];
        }
        Ok(archive)
    }

    /// A reader of the unpacked bytes of a member; its checksum is compared where they end.
    pub(crate) fn reader(&self, member: &Member) -> Result<Box<dyn BufRead>, ReadError> {
        self.check(member)?;
        let header = self.bytes(member.start, 30)?;
        if !header.starts_with(b"PK\x03\x04") {
            return Err(self.damaged());
        }
        let names = u64::from(u16_at(&header, 26)) + u64::from(u16_at(&header, 28));
        let start = member.start + 30 + names;
        if start.checked_add(member.packed).is_none_or(|end| end > self.length) {
            return Err(self.damaged());
        }
        let cannot = |error: io::Error| ReadError::read(&self.source, error);
        let mut file = self.file.try_clone().map_err(cannot)?;
        file.seek(SeekFrom::Start(start)).map_err(cannot)?;
        let packed =
            BufReader::new(Counted { inner: file.take(member.packed), progress: self.progress.clone() });
        let (left, checksum) = (member.length, member.checksum);
        Ok(if member.method == STORED {
            Box::new(BufReader::new(Checked { inner: packed, crc: Crc::new(), left, checksum }))
        } else {
            let inner = DeflateDecoder::new(packed);
            Box::new(BufReader::new(Checked { inner, crc: Crc::new(), left, checksum }))
        })
    }

    /// Refuses members that cannot be unpacked, or that claim what cannot be.
    fn check(&self, member: &Member) -> Result<(), ReadError> {
        let refuse = |what: String, hint: &str| {
            let name = excerpt(member.name.as_bytes());
            Err(ReadError::new(&self.source, format!("the member {name} {what}")).hint(hint))
        };
        let again = "write it again with numpy.savez or numpy.savez_compressed";
        if member.encrypted {
            return refuse("is encrypted".to_owned(), again);
        }
        let most = match member.method {
            STORED => member.packed,
            DEFLATED => member.packed.saturating_mul(DEFLATE_RATIO),
            other => {
                return refuse(
                    format!("is compressed by method {other}; 0 (stored) and 8 (deflated) are read"),
                    again,
                );
            }
        };
        if member.length > most {
            let what = format!(
                "claims {} bytes, and {} bytes cannot hold more than {most}",
                member.length, member.packed
            );
            return refuse(what, "the archive is damaged, or made to fill memory; write it again");
        }
        Ok(())
    }

    /// Where the directory begins, and its size.
    fn directory(&self) -> Result<(u64, u64), ReadError> {
        let tail = self.length.min((END + usize::from(u16::MAX)) as u64);
        let bytes = self.bytes(self.length - tail, tail)?;
        let found =
            (0..bytes.len().saturating_sub(END - 1)).rev().find(|&at| bytes[at..].starts_with(b"PK\x05\x06"));
        let Some(at) = found else {
            return Err(ReadError::new(&self.source, "the ZIP archive has no directory at its end")
                .hint("the file is truncated; write or copy it again"));
        };
        let (mut size, mut start) = (u64::from(u32_at(&bytes, at + 12)), u64::from(u32_at(&bytes, at + 16)));
        if size == u64::from(u32::MAX) || start == u64::from(u32::MAX) {
            (start, size) = self.large_directory(self.length - tail + at as u64)?;
        }
        if size > LARGEST_DIRECTORY || start.checked_add(size).is_none_or(|end| end > self.length) {
            return Err(self.damaged());
        }
        Ok((start, size))
    }

    /// Where the directory of an archive begins, and its size, for archives of more than four gigabytes, whose sizes stand in a record of their own.
    fn large_directory(&self, end: u64) -> Result<(u64, u64), ReadError> {
        let locator = self.bytes(end.checked_sub(20).ok_or_else(|| self.damaged())?, 20)?;
        if !locator.starts_with(b"PK\x06\x07") {
            return Err(self.damaged());
        }
        let record = self.bytes(u64_at(&locator, 8), 56)?;
        if !record.starts_with(b"PK\x06\x06") {
            return Err(self.damaged());
        }
        Ok((u64_at(&record, 48), u64_at(&record, 40)))
    }

    /// Some bytes, all of which must be there.
    fn bytes(&self, start: u64, length: u64) -> Result<Vec<u8>, ReadError> {
        if start.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(self.damaged());
        }
        let cannot = |error: io::Error| ReadError::read(&self.source, error);
        let mut file = &self.file;
        file.seek(SeekFrom::Start(start)).map_err(cannot)?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes).map_err(cannot)?;
        if (bytes.len() as u64) < length { Err(self.damaged()) } else { Ok(bytes) }
    }

    fn damaged(&self) -> ReadError {
        ReadError::new(&self.source, "the directory of the ZIP archive is damaged")
            .hint("write or copy the file again")
    }
}

/// One entry of the directory, and its length; `None` if it does not fit.
fn member(entry: &[u8]) -> Option<(Member, usize)> {
    const FIXED: usize = 46;
    if entry.len() < FIXED {
        return None;
    }
    let [name, extra, comment] = [28, 30, 32].map(|at| usize::from(u16_at(entry, at)));
    let end = FIXED + name + extra + comment;
    let fields = entry.get(FIXED + name..FIXED + name + extra)?;
    let mut sizes = [u32_at(entry, 24), u32_at(entry, 20), u32_at(entry, 42)].map(u64::from);
    let mut large = large_fields(fields);
    for size in sizes.iter_mut().filter(|size| **size == u64::from(u32::MAX)) {
        let (first, rest) = large.split_first_chunk()?;
        (*size, large) = (u64::from_le_bytes(*first), rest);
    }
    let [length, packed, start] = sizes;
    let member = Member {
        name: String::from_utf8_lossy(&entry[FIXED..FIXED + name]).into_owned(),
        method: u16_at(entry, 10),
        encrypted: u16_at(entry, 8) & 1 == 1,
        checksum: u32_at(entry, 16),
        packed,
        length,
        start,
    };
    (end <= entry.len()).then_some((member, end))
}

/// The extra field with sizes of eight bytes; empty if there is none.
fn large_fields(mut fields: &[u8]) -> &[u8] {
    while fields.len() >= 4 {
        let (id, length) = (u16_at(fields, 0), usize::from(u16_at(fields, 2)));
        let Some(field) = fields.get(4..4 + length) else { return &[] };
        if id == 1 {
            return field;
        }
        fields = &fields[4 + length..];
    }
    &[]
}

/// The unpacked bytes of a member: as many as it should have, with its checksum.
struct Checked<R> {
    inner: R,
    crc: Crc,
    left: u64,
    checksum: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if room == 0 {
            return Ok(0);
        }
        let read = self.inner.read(&mut buffer[..room])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.crc.update(&buffer[..read]);
        self.left -= read as u64;
        if self.left == 0 && self.crc.sum() != self.checksum {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum of the member is another"));
        }
        Ok(read)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
