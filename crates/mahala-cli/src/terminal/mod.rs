//! What people see: tables, progress, and what becomes of signals.

pub(crate) mod progress;
pub(crate) mod signals;
pub(crate) mod table;
