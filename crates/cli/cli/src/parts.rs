//! `fanfare parts`: unfinished files of interrupted transfers.

use std::time::SystemTime;

use fanfare_command::json::{Line, PartLine};
use fanfare_command::{Exit, Failure, Output, directory_failure, give_up, units};
use fanfare_files::{KeptPart, clean_parts, list_parts};

use crate::args::parts::{CleanArgs, ListArgs, PartsArgs, PartsCommand};

/// Lists or deletes them.
pub(crate) fn run(args: &PartsArgs) -> Exit {
    let (output, told) = match &args.command {
        PartsCommand::List(args) => (Output::new(args.output), list(args)),
        PartsCommand::Clean(args) => (Output::new(args.output), clean(args)),
    };
    match told {
        Ok(parts) => {
            let is_clean = matches!(args.command, PartsCommand::Clean(_));
            tell(&parts, is_clean, &output);
            Exit::Done
        }
        Err(failure) => give_up(&output, &failure),
    }
}

fn list(args: &ListArgs) -> Result<Vec<KeptPart>, Failure> {
    list_parts(&args.dir).map_err(|error| directory_failure(&error))
}

fn clean(args: &CleanArgs) -> Result<Vec<KeptPart>, Failure> {
    let age = units::time("older", &args.older)?;
    clean_parts(&args.dir, age).map_err(|error| directory_failure(&error))
}

fn tell(parts: &[KeptPart], are_deleted: bool, output: &Output) {
    for part in parts {
        output.event(&Line::Part(line(part, are_deleted)));
        output.data(&text(part));
    }
    let (count, taken) = (parts.len() as u64, parts.iter().map(|part| part.taken).sum());
    let what = if count == 1 { "unfinished file" } else { "unfinished files" };
    let done = if are_deleted { " deleted" } else { "" };
    output.text(&format!("{count} {what}{done}, {} on disk", units::size(taken)));
    output.event(&Line::parts_result(count, taken));
}

fn text(part: &KeptPart) -> String {
    let hash = part.hash.as_deref().unwrap_or("(no use)");
    let kind = if part.is_pack { "small files" } else { "file" };
    let of = part.size.map_or_else(|| "unknown size".to_owned(), units::size);
    let age = SystemTime::now().duration_since(part.changed).unwrap_or_default();
    let (taken, age) = (units::size(part.taken), units::about(age));
    let busy = if part.in_use { ", in use" } else { "" };
    format!("{hash:<16}  {kind:<11}  {taken:>10} of {of:<12}  {age} ago{busy}")
}

fn line(part: &KeptPart, deleted: bool) -> PartLine {
    let since = part.changed.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    PartLine {
        name: part.name.clone(),
        hash: part.hash.clone(),
        pack: part.is_pack,
        size: part.size,
        taken: part.taken,
        changed: since.as_secs(),
        in_use: part.in_use,
        deleted,
    }
}
