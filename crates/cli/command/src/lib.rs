//! What Fanfare's programs share on the command line.
//!
//! `fanfare` and `fanfare-lab` end with the same exit codes, word their errors alike, and read rates,
//! times and sizes alike.
//!
//! - `usage`: errors of the command line as failures; `ending`: how a command ends early
//! - `output`: text, progress bar and JSON; `notice`: lines that every command may print;
//!   `error_terminal`: where bars are drawn
//! - `help`: the end of a command's help; `pages`: completions, man pages and the page of
//!   reference; `generate`: the commands that print them
//! - `companion`: the program beside `fanfare`
//! - [`json`]: the lines of `--json`; [`keys`]: keys, identities, trust and signed receipts as files; [`config`]:
//!   options from a file; [`local`]: a node's socket; [`view`]: what is read from a live page; [`shims`]:
//!   command lines of udpcast and UFTP; [`code_exchange`]: two machines meet by a short code
//! - `input`: standard input that may be silent; `text_file`: files that people write;
//!   `interrupt`: Ctrl-C and SIGHUP
//!
//! Exit codes, failures, rates, times and sizes are in `fanfare-files`, in `plain`: the bindings have
//! them, too.

pub mod code_exchange;
mod companion;
pub mod config;
mod ending;
mod error_terminal;
pub mod generate;
mod help;
pub mod input;
pub mod interrupt;
pub mod json;
pub mod keys;
pub mod local;
mod notice;
mod output;
pub mod pages;
mod rows;
pub mod shims;
pub mod text_file;
mod usage;
pub mod view;

pub use companion::{Companion, CompanionArgs};
pub use ending::{give_up, give_up_all, misunderstood, refuse};
pub use fanfare_files::plain::{Exit, Failure, Printable, directory_failure, units};
pub use help::Help;
pub use notice::{Notice, to_text};
pub use output::{Output, OutputArgs, Printed, end, print_line, printed, say};
pub use usage::misuse;
