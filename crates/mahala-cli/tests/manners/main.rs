//! What the command says, to people and to programs: lists, tables, JSON, help, and models that say how they were made.

#[path = "../common/mod.rs"]
mod common;

mod help;
mod machine;
mod methods;
mod predictions;
mod refit;
mod talk;
