//! `fanfare config check`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{grammar::Grammar, settings};
use crate::json::Line;
use fanfare_command::{Exit, Output, OutputArgs};

/// Configuration files of send, recv and node
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Check(CheckArgs),
}

/// Tell every mistake in configuration files
///
/// Looks at the files alone: whether an interface or a directory is there, a start tells.
#[derive(Debug, Args)]
struct CheckArgs {
    /// Configuration files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &ConfigArgs, grammar: &Grammar) -> Exit {
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
    fanfare_command::give_up_all(&output, &failures)
}
