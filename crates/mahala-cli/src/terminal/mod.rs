//! What people see: tables, numbers, messages, progress; and what becomes of signals.

pub(crate) mod format;
pub(crate) mod json;
pub(crate) mod message;
pub(crate) mod progress;
pub(crate) mod signals;
pub(crate) mod table;
pub(crate) mod talk;
