//! Bytes of text cut into blocks where records end.

use std::io::{BufRead, Read};
use std::mem;

use crate::error::ReadError;

/// A record longer than this is taken for something other than a table.
pub(crate) const LONGEST: usize = 1 << 28;

/// Bytes of a block: some thousand rows, and small beside the memory of a machine.
const BLOCK: usize = 1 << 22;

/// A text that is cut into blocks.
pub(crate) struct Cutter {
    name: String,
    reader: Box<dyn BufRead>,
    /// What was read behind the end of the last record.
    carried: Vec<u8>,
    ended: bool,
}

impl Cutter {
    pub(crate) fn new(name: &str, reader: Box<dyn BufRead>) -> Self {
        Self { name: name.to_owned(), reader, carried: Vec::new(), ended: false }
    }

    /// The next block; `None` at the end. `end_of_records` says where the last whole record ends, 0 if none does.
    ///
    /// A record longer than [`LONGEST`] is cut where it becomes too long.
    pub(crate) fn next(
        &mut self,
        end_of_records: impl Fn(&[u8]) -> usize,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        let mut bytes = mem::take(&mut self.carried);
        let mut wanted = BLOCK;
        while !self.ended {
            self.fill(&mut bytes, wanted)?;
            let end = if self.ended { bytes.len() } else { end_of_records(&bytes) };
            if end > 0 {
                self.carried = bytes.split_off(end);
                break;
            }
            // One record longer than a block.
            wanted = 2 * bytes.len();
            if wanted > 2 * LONGEST {
                break;
            }
        }
        Ok((!bytes.is_empty()).then_some(bytes))
    }

    /// Reads up to so many bytes; fewer at the end of the file alone.
    fn fill(&mut self, bytes: &mut Vec<u8>, wanted: usize) -> Result<(), ReadError> {
        let missing = wanted.saturating_sub(bytes.len());
        bytes.reserve_exact(missing);
        let read = self.reader.by_ref().take(missing as u64).read_to_end(bytes);
        let read = read.map_err(|error| ReadError::read(&self.name, error))?;
        self.ended = read < missing;
        Ok(())
    }
}
