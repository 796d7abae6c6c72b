//! Options from a file: `--config FILE`; docs/reference/configuration.md is for those who write one.
//!
//! - `file`: a file that may be relied on, as text
//! - `grammar`: what a command takes: no list of its own, but clap's
//! - `page`: the file while it is read; `reader`: what concerns one command, as words of its
//!   command line; `settings`: all that it sets
//! - `streams`: the options of several sendings, of another file
//! - `groups`, `gateways`: a node's groups and what is carried between them
//! - `trial`: which of it is wrong, by itself or beside the rest
//! - `line`: a command line that names a file; `found`: what the two come to together
//! - `reload`: the same again while it runs; `check`: without running
//!
//! A file is right or wrong whatever the command line says: `config check` and a start agree.

mod check;
mod file;
mod found;
mod gateways;
mod grammar;
mod groups;
mod line;
mod page;
mod reader;
mod reload;
mod settings;
mod streams;
mod trial;

pub(crate) use check::{ConfigArgs, run};
pub(crate) use found::{FileArgs, Found, Loaded, Refusal, load, node_groups};
pub(crate) use grammar::{Grammar, Named, Table};
pub(crate) use reload::{Live, Reload};
pub(crate) use streams::StreamWords;

#[cfg(test)]
mod tests;
