//! Exact k nearest neighbours: a scan of int16-quantised rows, candidates within the error bound, and re-ranking in double
//! precision; a k-d tree for few columns.

pub mod candidates;
pub mod distance;
pub mod kd_tree;
pub mod quantized;
pub mod scan;
pub mod search;
