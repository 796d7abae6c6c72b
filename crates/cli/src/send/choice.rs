//! Which files are sent, and what would be.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use fanfare_command::{Exit, Failure, Output, units};
use fanfare_files::{Planned, Selection, Sources, parse_list};

use super::plan::SendPlan;
use crate::json::Line;

/// Which files.
#[derive(Debug)]
pub(crate) struct Choice {
    /// Of the directories.
    pub(crate) selection: Selection,
    /// The list that names them.
    pub(crate) list: Option<PathBuf>,
}

/// The paths of the list, if there is one.
pub(super) fn list(plan: &SendPlan) -> Result<Option<Vec<PathBuf>>, Failure> {
    let Some(path) = &plan.choice.list else { return Ok(None) };
    let mut bytes = Vec::new();
    let read = match path == Path::new("-") {
        true => std::io::stdin().lock().read_to_end(&mut bytes).map(drop),
        false => std::fs::read(path).map(|all| bytes = all),
    };
    let shown = path.display();
    read.map_err(|error| {
        let text = format!("files-from ({shown}): cannot be read ({error}). Check its name");
        Failure::usage("files_from.unreadable", text)
    })?;
    let paths = parse_list(&bytes).map_err(|wrong| {
        let text = format!(
            "files-from ({shown}): '{wrong}' is not a relative path. Name files below PATH"
        );
        Failure::usage("files_from.invalid", text)
    })?;
    Ok(Some(paths))
}

/// The plan, as the library takes it.
pub(super) fn planned<'a>(plan: &'a SendPlan, list: Option<&'a [PathBuf]>) -> Planned<'a> {
    let base = plan.paths.first().map_or(Path::new("."), PathBuf::as_path);
    Planned {
        paths: &plan.paths,
        list: list.map(|list| (base, list)),
        selection: &plan.choice.selection,
        stdin_name: &plan.stdin_name,
        packing: plan.packing,
        listed: plan.listed,
    }
}

/// Says what would be sent.
pub(super) fn dry_run(plan: &SendPlan, output: &Output) -> Result<Exit, Failure> {
    let list = list(plan)?;
    let (mut files, mut bytes) = (0_u64, 0_u64);
    Sources::survey(&planned(plan, list.as_deref()), &mut |name, size| {
        files += 1;
        bytes += size;
        output.data(&format!("{size:>14} {name}"));
        output.event(&Line::planned(name, size));
    })?;
    let seconds = plan.given_rate.map(|rate| bytes as f64 / rate.as_bytes_per_second().max(1.0));
    let time = seconds.map_or_else(
        || ". Add --rate to learn the time that it takes".to_owned(),
        |seconds| format!(", {seconds:.1} s at {}", plan.rate),
    );
    output.text(&format!("would send {files} files, {}{time}", units::size(bytes)));
    output.event(&Line::dry_run_result(files, bytes, seconds));
    Ok(Exit::Done)
}
