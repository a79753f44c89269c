//! Arrow files and streams (Feather V2): columns of numbers, booleans or text, and of lists that all have one length.
//!
//! ```text
//! schema ─▶ dictionaries, batches of rows, … ─▶ the arrays that are wanted ─▶ blocks
//! ```
//!
//! A stream has its messages one behind the other; a file has an index of them at its end, which is followed. A batch is
//! held as a whole; more of it than may be held is refused before it is read.

mod array;
pub(crate) mod blocks;
mod flatbuffer;
mod footer;
mod message;
mod schema;
