//! Options from a file: `--config FILE`; docs/reference/configuration.md is for those who write one.
//!
//! - `file`: a file that may be relied on, as text
//! - `grammar`: what a command takes: no list of its own, but clap's
//! - `page`: the file while it is read; `reader`: what concerns one command, as words of its
//!   command line; `settings`: all that it sets
//! - `streams`: the options of several sendings, of another file
//! - `groups`, `gateways`: a node's groups and what is carried between them; [`GatewayPlan`]: what a
//!   gateway is to do, [`gateway_options`]: how that is asked for
//! - `trial`: which of it is wrong, by itself or beside the rest
//! - `line`: a command line that names a file; `found`: what the two come to together
//! - `reload`: the same again while it runs; `check`: without running
//!
//! A file is right or wrong whatever the command line says: `config check` and a start agree.

mod check;
mod file;
mod found;
pub mod gateway_options;
mod gateway_plan;
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

pub use check::{ConfigArgs, run};
pub use found::{FileArgs, Found, Loaded, NodeGroup, Refusal, load, node_groups};
pub use gateway_plan::GatewayPlan;
pub use grammar::{Grammar, Named, Table, find, key_of, options_of};
pub use reload::{Live, Reload, Understand};
pub use streams::StreamWords;
