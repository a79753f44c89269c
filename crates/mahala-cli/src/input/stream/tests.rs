//! Streams against the reader of whole tables.
