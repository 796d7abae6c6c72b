//! What clap refuses, in one line of ours: `<what> (<value>): <why>. <what to do>`.

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use crate::Failure;

/// The failure for a command line that clap refuses.
pub fn misuse(error: &Error) -> Failure {
    Failure::usage("usage", text(error))
}

fn text(error: &Error) -> String {
    let (what, value) =
        (name(&context(error, ContextKind::InvalidArg)), context(error, ContextKind::InvalidValue));
    match error.kind() {
        ErrorKind::UnknownArgument => unknown(error),
        ErrorKind::InvalidSubcommand => {
            let given = context(error, ContextKind::InvalidSubcommand);
            let hint = hint(error, ContextKind::SuggestedSubcommand);
            format!("command ({given}): is not known. {hint}")
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            format!("command (none): is missing. {}", see_help(error))
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = context(error, ContextKind::InvalidArg);
            format!("arguments ({missing}): are missing. {}", see_help(error))
        }
        ErrorKind::ArgumentConflict => match name(&context(error, ContextKind::PriorArg)) {
            other if other == what => format!("{what} (twice): may be given once. Leave one out"),
            other => format!("{what} (beside {other}): the two exclude each other. Leave one out"),
        },
        ErrorKind::InvalidValue => {
            let known = context(error, ContextKind::ValidValue);
            let value = if value.is_empty() { "none" } else { &value };
            match known.is_empty() {
                true => format!("{what} ({value}): a value is missing. {}", see_help(error)),
                false => format!("{what} ({value}): not known. Use one of: {known}"),
            }
        }
        ErrorKind::ValueValidation => format!("{what} ({value}): {}", why_not(error)),
        ErrorKind::NoEquals | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            format!("{what} ({value}): a value is missing. {}", see_help(error))
        }
        ErrorKind::TooManyValues => {
            format!("{what} ({value}): is one value too many. {}", see_help(error))
        }
        ErrorKind::InvalidUtf8 => {
            format!("argument (not UTF-8): is no text. {}", see_help(error))
        }
        _ => {
            let all = error.to_string();
            let first = all.lines().next().unwrap_or_default().trim_start_matches("error: ");
            format!("arguments ({first}): are not understood. {}", see_help(error))
        }
    }
}

fn context(error: &Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(list)) => list.join(", "),
        _ => String::new(),
    }
}

/// Of `--slow <SLOW>` and `<FILE>`, what a file or a person calls it.
fn name(text: &str) -> String {
    let name = text.trim_start_matches(['-', '<', '[']);
    name.split([' ', '=', '[', ']', '>']).next().unwrap_or_default().to_owned()
}

fn unknown(error: &Error) -> String {
    let given = context(error, ContextKind::InvalidArg);
    match given.starts_with('-') {
        true => {
            let hint = hint(error, ContextKind::SuggestedArg);
            format!("option ({given}): is not known. {hint}")
        }
        false => format!("argument ({given}): is one too many. {}", see_help(error)),
    }
}

/// What may have been meant, or where it is said.
fn hint(error: &Error, kind: ContextKind) -> String {
    let near = match error.get(kind) {
        Some(ContextValue::String(near)) => Some(near),
        // The nearest is the last.
        Some(ContextValue::Strings(list)) => list.last(),
        _ => None,
    };
    near.map_or_else(|| see_help(error), |near| format!("Did you mean {near}?"))
}

/// Why a value is none.
fn why_not(error: &Error) -> String {
    let why = error.source().map(ToString::to_string).unwrap_or_default();
    if let Some((from, to)) = why.split_once(" is not in ").and_then(|(_, r)| r.split_once("..=")) {
        return format!("is not from {from} to {to}. Give such a number");
    }
    match why.as_str() {
        _ if why.starts_with("invalid digit") || why.starts_with("invalid float") => {
            String::from("is no number. Give one")
        }
        _ if why.starts_with("number too large") => {
            String::from("is too large a number. Give a smaller one")
        }
        _ => format!("is not taken ({why}). {}", see_help(error)),
    }
}

/// `See fanfare pub --help`, of what the usage of the command begins with.
fn see_help(error: &Error) -> String {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    };
    let is_name = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase());
    let words = usage.split_whitespace().skip_while(|word| *word != "fanfare");
    let command: Vec<&str> = words.take_while(is_name).collect();
    match command[..] {
        [] => String::from("See --help"),
        _ => format!("See {} --help", command.join(" ")),
    }
}
