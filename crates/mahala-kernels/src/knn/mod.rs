//! Exact k nearest neighbours: a scan of quantised rows, candidates within the error bound, and their distances in double
//! precision.

pub mod candidates;
pub mod distance;
pub mod kd_tree;
pub mod quantized;
pub mod scan;
pub mod search;
