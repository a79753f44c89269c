//! Tables from files, and files written whole.
//!
//! ```text
//! CSV, TSV, JSON Lines ──▶ blocks of text ──┐
//! Parquet, Arrow ───────▶ blocks of columns ┴▶ Stream ─▶ Block, Block, … ─▶ Table
//! NPY, NPZ, LIBSVM ─────────────────────────────────────▶ Block, Block, … ─▶ Table
//! ```
//!
//! - [`read_table`] reads all rows of a file, of a folder or of a pattern into memory; a [`Stream`] gives one [`Block`]
//!   after the other, parsed by all threads, in the order of the file.
//! - Every reader finds the columns of its file, and the part that each of them plays: feature, label, or none. One
//!   policy for all formats decides about missing cells.
//! - [`table_writer`] writes tables, in the form that the name of the file asks for.
//! - [`AtomicFile`] writes a file that appears under its name when it is complete; [`npy`] writes arrays.
//! - Whatever is wrong with a file is said with its place and, where there is one, the remedy.
//!
//! ```
//! let path = std::env::temp_dir().join(format!("mahala-io-{}.csv", std::process::id()));
//! mahala_io::write_atomic(&path, b"a,b,class\n1,2,u\n3,4,v\n")?;
//! let options = mahala_io::ReadOptions { label: "class".parse().ok(), ..Default::default() };
//! let table = mahala_io::read_table(&path, &options)?;
//! assert_eq!(table.rows, [1.0, 2.0, 3.0, 4.0]);
//! assert_eq!(table.labels, Some(vec!["u".to_owned(), "v".to_owned()]));
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrow;
mod atomic_file;
mod block;
#[cfg(feature = "parquet")]
mod catch_panic;
mod cell;
mod column_block;
mod column_ref;
mod columns;
mod csv;
mod cutter;
mod decimal_mark;
mod error;
mod fields;
mod format;
mod glob;
mod jsonl;
pub mod judgements;
mod label_file;
mod libsvm;
mod mapped;
mod missing;
pub mod npy;
mod npz;
mod options;
pub mod pairs;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "parquet/disabled.rs"]
mod parquet;
mod progress;
mod read;
mod scalar;
mod source;
mod stream;
mod table;
mod table_builder;
pub mod table_writer;
pub mod tuples;
mod write_error;

#[cfg(test)]
mod tests;

pub use atomic_file::{AtomicFile, write_atomic};
pub use block::Block;
pub use column_ref::ColumnRef;
pub use columns::are_numbered;
pub use error::ReadError;
pub use mahala::model::remove_unfinished;
pub use options::{Format, Header, Missing, ReadOptions, RowsHeld};
pub use progress::ReadProgress;
pub use read::{read_records, read_table};
pub use stream::{Stream, estimated_bytes};
pub use table::{Records, Table};
pub use table_builder::mean;
pub use write_error::WriteError;
