//! How a command ends before its work is done.

use std::{ffi::OsString, process::ExitCode};

use clap::error::ErrorKind;

use crate::{
    Exit, Failure,
    notice::{Notice, to_text},
    output::{Output, end, print_line, print_with, say},
    usage::misuse,
};

/// Answers a command line that was refused. Help and version are no errors; everything else is one
/// line, in JSON too when that was asked for.
#[must_use]
pub fn misunderstood(error: &clap::Error, args: &[OsString]) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        print_with(|| error.print());
        return end(Exit::Done).into();
    }
    let failure = misuse(error);
    match error.kind() {
        // All that is missing is what there is.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => drop(error.print()),
        _ => say(&failure),
    }
    say_in_json(&Failure { exit: Exit::Usage, ..failure }, args);
    Exit::Usage.into()
}

/// Refuses a command whose arguments nobody has read: in JSON, too, where they ask for it.
pub fn refuse(failure: &Failure, args: &[OsString]) -> Exit {
    say(failure);
    say_in_json(failure, args);
    failure.exit
}

/// The same in JSON, where these arguments ask for it.
fn say_in_json(failure: &Failure, args: &[OsString]) {
    if args.iter().any(|arg| arg == "--json") {
        let message = failure.to_string();
        print_line(&to_text(&Notice::Error { code: failure.code, message: &message }));
        print_line(&to_text(&Notice::result(failure.exit as u8)));
    }
}

/// Shows why nothing came of it.
pub fn give_up(output: &Output, failure: &Failure) -> Exit {
    output.clear();
    output.failure(failure);
    if output.is_json() {
        output.event(&Notice::result(failure.exit as u8));
    }
    failure.exit
}

/// As [`give_up`], where there is more than one reason.
pub fn give_up_all(output: &Output, failures: &[Failure]) -> Exit {
    let Some((last, others)) = failures.split_last() else { return Exit::Failed };
    others.iter().for_each(|failure| output.failure(failure));
    give_up(output, last)
}
