//! `fanfare config check`.

use std::path::PathBuf;

use crate::json::Line;
use clap::{Args, Subcommand};

use super::{grammar::Grammar, settings};
use crate::{Exit, Help, Output, OutputArgs};

/// Check configuration files of send, recv and node
#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Check(CheckArgs),
}

const HELP: Help = Help::new(&[
    ("fanfare config check /etc/fanfare/fanfare.toml", "one file"),
    ("fanfare config check *.toml --json", "several, for programs"),
])
.exits(&[(Exit::Done, "the files are right")])
.files(&[("FILE", "TOML; see docs/reference/configuration.md")]);

/// Find every mistake in configuration files
///
/// Reads only the files. Whether an interface or a directory exists is found at the start.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
struct CheckArgs {
    /// Configuration files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Examines the files, and tells every mistake.
pub fn run(args: &ConfigArgs, grammar: &Grammar) -> Exit {
    let What::Check(args) = &args.what;
    let output = Output::new(args.output);
    let mut failures = Vec::new();
    for path in &args.files {
        // Which command's settings come back does not matter: all of the file is examined.
        match settings::read(path, grammar, grammar.recv) {
            Ok(_) => output.text(&format!("{} is right", path.display())),
            Err((mistakes, _)) => failures.extend(mistakes),
        }
    }
    if failures.is_empty() {
        output.event(&Line::early_result(Exit::Done as u8));
        return Exit::Done;
    }
    crate::give_up_all(&output, &failures)
}
