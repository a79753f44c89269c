//! Reading tables from files: CSV and TSV, NPY, LIBSVM and Parquet.
//!
//! Every reader finds the columns of its file, asks [`columns`] which part each of them plays, and
//! hands row after row to [`collect`], which deals with missing cells. Whatever is wrong with a
//! file is said with its place and, where there is one, the remedy.

mod atomic_file;
mod block;
mod catch_panic;
mod cell;
mod column_ref;
mod columns;
mod csv;
mod decimal_mark;
mod error;
mod format;
mod glob;
mod libsvm;
mod missing;
pub mod npy;
mod options;
pub mod pairs;
mod parquet;
mod part_file;
mod read;
mod scalar;
mod source;
mod stream;
mod table;
mod table_builder;
mod write_error;

#[cfg(test)]
mod tests;

pub use atomic_file::{AtomicFile, write_atomic};
pub use block::Block;
pub use column_ref::ColumnRef;
pub use error::ReadError;
pub use options::{Format, Header, Missing, ReadOptions};
pub use part_file::remove_unfinished;
pub use read::{read_records, read_table};
pub use stream::{Stream, estimated_bytes};
pub use table::{Records, Table};
pub use table_builder::mean;
pub use write_error::WriteError;
