//! The messages of an Arrow file or stream, one after the other: schema, dictionaries, batches of rows.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{BufRead, Read, Seek, SeekFrom};

use rayon::prelude::*;

use crate::arrow::flatbuffer::{Damaged, Found, Table};
use crate::arrow::footer::{self, Block};
use crate::arrow::schema::{Field, fields};
use crate::error::ReadError;
use crate::progress::Counted;
use crate::source::Source;

/// Messages that are read in their order.
pub(crate) struct Messages {
    pub(crate) name: String,
    input: Input,
    most_bytes: Option<u64>,
}

/// Where messages come from.
enum Input {
    /// One behind the other.
    Stream(Box<dyn BufRead>),
    /// At places that the index at the end of a file names. Not every program writes files that are streams, too.
    File { file: Counted<File>, schema: Option<Vec<Field>>, blocks: VecDeque<Block> },
}

/// What a message holds.
pub(crate) enum Message {
    Schema(Vec<Field>),
    /// The values behind places, and whether they follow those that are known.
    Dictionary(i64, Batch, bool),
    Batch(Batch),
}

/// The arrays of some rows, as they stand in the file.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) length: usize,
    /// Length and number of nulls of each array.
    pub(crate) nodes: Vec<i64>,
    /// Place and length of each buffer in the body.
    buffers: Vec<i64>,
    /// How many buffers stand behind the views of each array that has some.
    pub(crate) views: Vec<i64>,
    codec: Option<u8>,
    body: Vec<u8>,
    /// Buffers whose compression is undone.
    unpacked: HashMap<usize, Vec<u8>>,
}

impl Messages {
    pub(crate) fn open(mut source: Source, most_bytes: Option<u64>) -> Result<Self, ReadError> {
        let name = source.name.clone();
        let head = source.reader.fill_buf().map_err(|error| ReadError::read(&name, error))?;
        if head.first() != Some(&b'A') {
            return Ok(Self { name, input: Input::Stream(source.reader), most_bytes });
        }
        let progress = source.progress.clone();
        let mut file = Counted { inner: source.into_file()?, progress };
        let index = footer::index(&mut file.inner).map_err(|error| ReadError::read(&name, error))?;
        let Some(index) = index else { return Err(too_short(&name)) };
        let (schema, blocks) = footer::read(&index).map_err(|damage| damaged(&name, damage))?;
        Ok(Self {
            name,
            input: Input::File { file, schema: Some(schema), blocks: blocks.into() },
            most_bytes,
        })
    }

    /// The next message that matters for rows; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, ReadError> {
        if let Input::File { schema, .. } = &mut self.input
            && let Some(schema) = schema.take()
        {
            return Ok(Some(Message::Schema(schema)));
        }
        loop {
            let Some(header) = self.header()? else { return Ok(None) };
            let (body, read) = read_header(&header).map_err(|damage| self.damaged(damage))?;
            let body = self.body(body)?;
            let message = match read {
                Header::Other => continue,
                Header::Schema(fields) => Message::Schema(fields),
                Header::Dictionary(id, batch, follows) => {
                    Message::Dictionary(id, self.with_body(batch, body)?, follows)
                }
                Header::Batch(batch) => Message::Batch(self.with_body(batch, body)?),
            };
            return Ok(Some(message));
        }
    }

    /// The header of the next message; `None` at the end.
    fn header(&mut self) -> Result<Option<Vec<u8>>, ReadError> {
        match &mut self.input {
            Input::Stream(reader) => {
                let rest = reader.fill_buf().map_err(|error| ReadError::read(&self.name, error))?;
                if rest.is_empty() {
                    return Ok(None);
                }
            }
            Input::File { file, blocks, .. } => {
                let Some(block) = blocks.pop_front() else { return Ok(None) };
                let moved = file.inner.seek(SeekFrom::Start(block.start));
                moved.map_err(|error| ReadError::read(&self.name, error))?;
            }
        }
        let mut length = self.word()?;
        if length == u32::MAX {
            length = self.word()?;
        }
        if length == 0 {
            return Ok(None);
        }
        self.bytes(u64::from(length)).map(Some)
    }

    fn word(&mut self) -> Result<u32, ReadError> {
        let bytes = self.bytes(4)?;
        Ok(bytes.try_into().map_or(0, u32::from_le_bytes))
    }

    fn body(&mut self, length: i64) -> Result<Vec<u8>, ReadError> {
        let length =
            u64::try_from(length).map_err(|_| self.damaged(Damaged("a body has a negative length")))?;
        self.check_size(length)?;
        self.bytes(length)
    }

    /// So many bytes; memory is taken as they come, whatever the file claims.
    fn bytes(&mut self, length: u64) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        let read = match &mut self.input {
            Input::Stream(reader) => reader.by_ref().take(length).read_to_end(&mut bytes),
            Input::File { file, .. } => file.by_ref().take(length).read_to_end(&mut bytes),
        };
        read.map_err(|error| ReadError::read(&self.name, error))?;
        if (bytes.len() as u64) < length {
            return Err(too_short(&self.name));
        }
        Ok(bytes)
    }

    fn with_body(&self, batch: Batch, body: Vec<u8>) -> Result<Batch, ReadError> {
        let batch = Batch { body, ..batch };
        self.check_size(batch.claimed_bytes())?;
        Ok(batch)
    }

    /// Refuses a batch that takes more memory than all numbers may.
    fn check_size(&self, bytes: u64) -> Result<(), ReadError> {
        match self.most_bytes {
            Some(most) if bytes > most => Err(ReadError::too_large(&self.name, most)),
            _ => Ok(()),
        }
    }

    /// What is wrong with the file.
    pub(crate) fn damaged(&self, damage: Damaged) -> ReadError {
        damaged(&self.name, damage)
    }
}

fn too_short(name: &str) -> ReadError {
    ReadError::new(name, "the Arrow data end too early")
        .hint("the file is truncated; copy or download it again")
}

/// What is wrong with a file.
pub(crate) fn damaged(name: &str, damage: Damaged) -> ReadError {
    ReadError::new(name, format!("the Arrow data cannot be read: {}", damage.0))
        .hint("the file is damaged, or of a kind that is not read; write it again, or as Parquet")
}

/// A message without its body.
enum Header {
    Schema(Vec<Field>),
    Dictionary(i64, Batch, bool),
    Batch(Batch),
    Other,
}

/// The header of a message, with the length of its body.
fn read_header(bytes: &[u8]) -> Found<(i64, Header)> {
    let message = Table::root(bytes)?;
    let header = message.table(2)?.ok_or(Damaged("a message has no header"))?;
    let read = match message.byte(1)? {
        1 => Header::Schema(fields(&header)?),
        2 => {
            let data = header.table(1)?.ok_or(Damaged("a dictionary has no values"))?;
            Header::Dictionary(header.long(0)?, Batch::read(&data)?, header.byte(2)? != 0)
        }
        3 => Header::Batch(Batch::read(&header)?),
        _ => Header::Other,
    };
    Ok((message.long(3)?, read))
}

impl Batch {
    fn read(table: &Table<'_>) -> Found<Self> {
        Ok(Self {
            length: usize::try_from(table.long(0)?).map_err(|_| Damaged("a batch has a negative length"))?,
            nodes: table.longs(1, 2)?,
            buffers: table.longs(2, 2)?,
            codec: table.table(3)?.map(|compression| compression.byte(0)).transpose()?,
            views: table.longs(4, 1)?,
            body: Vec::new(),
            unpacked: HashMap::new(),
        })
    }

    /// The bytes of all buffers, as far as they say themselves.
    fn claimed_bytes(&self) -> u64 {
        let all = (0..self.buffer_count()).map(|i| match (self.part(i), self.codec) {
            (Ok(part), Some(_)) => unpacked_length(part).unwrap_or(0).max(0).unsigned_abs(),
            _ => 0,
        });
        all.fold(self.body.len() as u64, u64::saturating_add)
    }

    fn part(&self, buffer: usize) -> Found<&[u8]> {
        let place = self.buffers.get(2 * buffer..2 * buffer + 2).ok_or(Damaged("a buffer is not there"))?;
        let (start, length) = (usize::try_from(place[0]), usize::try_from(place[1]));
        let (Ok(start), Ok(length)) = (start, length) else {
            return Err(Damaged("a buffer has a negative place or length"));
        };
        let end = start.checked_add(length);
        end.and_then(|end| self.body.get(start..end)).ok_or(Damaged("a buffer is not in its body"))
    }

    pub(crate) fn buffer_count(&self) -> usize {
        self.buffers.len() / 2
    }

    /// Undoes the compression of these buffers once, for all blocks of the batch.
    pub(crate) fn unpack(&mut self, buffers: &[usize]) -> Found<()> {
        if self.codec.is_some() {
            let unpack = |&buffer: &usize| Ok((buffer, self.bytes(buffer)?.into_owned()));
            self.unpacked = buffers.par_iter().map(unpack).collect::<Found<_>>()?;
        }
        Ok(())
    }

    /// The bytes of a buffer, with their compression undone.
    pub(crate) fn bytes(&self, buffer: usize) -> Found<Cow<'_, [u8]>> {
        if let Some(unpacked) = self.unpacked.get(&buffer) {
            return Ok(Cow::Borrowed(unpacked));
        }
        let part = self.part(buffer)?;
        let Some(codec) = self.codec.filter(|_| !part.is_empty()) else { return Ok(Cow::Borrowed(part)) };
        match unpacked_length(part) {
            Some(-1) => Ok(Cow::Borrowed(&part[8..])),
            Some(length @ 0..) => unpack(codec, &part[8..], length.unsigned_abs()).map(Cow::Owned),
            _ => Err(Damaged("a compressed buffer has no length")),
        }
    }
}

fn unpacked_length(part: &[u8]) -> Option<i64> {
    part.first_chunk::<8>().map(|length| i64::from_le_bytes(*length))
}

fn unpack(codec: u8, packed: &[u8], length: u64) -> Found<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = match codec {
        0 => lz4(packed).take(length).read_to_end(&mut bytes),
        #[cfg(feature = "zstd")]
        1 => zstd::stream::read::Decoder::with_buffer(packed)
            .and_then(|decoder| decoder.take(length).read_to_end(&mut bytes)),
        _ => return Err(Damaged("its buffers are compressed in a way that is not known")),
    };
    match read {
        Ok(read) if read as u64 == length => Ok(bytes),
        _ => Err(Damaged("a compressed buffer cannot be undone")),
    }
}

fn lz4(packed: &[u8]) -> impl Read {
    lz4_flex::frame::FrameDecoder::new(packed)
}
