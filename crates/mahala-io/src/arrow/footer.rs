//! The index at the end of an Arrow file: the schema, and where dictionaries and batches are.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use crate::arrow::flatbuffer::{Damaged, Found, Table};
use crate::arrow::schema::{Field, fields};

/// How a file ends, behind the length of its index.
const MAGIC: &[u8] = b"ARROW1";

/// Where a message is.
pub(crate) struct Block {
    pub(crate) start: u64,
}

/// The bytes of the index; `None` if the file does not end as it should.
pub(crate) fn index(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    let length = file.seek(SeekFrom::End(0))?;
    let Some(end) = length.checked_sub(MAGIC.len() as u64 + 4) else { return Ok(None) };
    file.seek(SeekFrom::Start(end))?;
    let mut tail = [0; 10];
    file.read_exact(&mut tail)?;
    let size = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
    let Some(start) = end.checked_sub(u64::from(size)).filter(|_| tail.ends_with(MAGIC)) else {
        return Ok(None);
    };
    file.seek(SeekFrom::Start(start))?;
    let mut index = Vec::new();
    file.take(u64::from(size)).read_to_end(&mut index)?;
    Ok(Some(index))
}

/// The fields, and the messages with dictionaries and then those with rows.
pub(crate) fn read(index: &[u8]) -> Found<(Vec<Field>, Vec<Block>)> {
    let footer = Table::root(index)?;
    let schema = footer.table(1)?.ok_or(Damaged("it has no schema"))?;
    let mut blocks = Vec::new();
    for list in [2, 3] {
        // Place, length of the header, length of the body.
        for block in footer.longs(list, 3)?.chunks_exact(3) {
            let start = u64::try_from(block[0]).map_err(|_| Damaged("a message has a negative place"))?;
            blocks.push(Block { start });
        }
    }
    Ok((fields(&schema)?, blocks))
}
