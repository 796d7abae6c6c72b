//! Which files are sent, and what would be.

use std::{borrow::Cow, io::Read, path::Path};

use fanfare_command::json::Line;
use fanfare_command::{Exit, Failure, Output, units};
use fanfare_files::{NamedPath, Sources, parse_list};

use super::plan::SendPlan;

/// The paths of the plan, or in their place those of its list, below the one path.
pub(super) fn paths(plan: &SendPlan) -> Result<Cow<'_, [NamedPath]>, Failure> {
    let Some(path) = &plan.choice else { return Ok(Cow::Borrowed(&plan.paths)) };
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
    let base = plan.paths.first().map_or(Path::new("."), |named| &named.path);
    let listed = parse_list(&bytes, base).map_err(|wrong| {
        let text = format!(
            "files-from ({shown}): '{wrong}' is not below PATH. Name files below {}",
            base.display()
        );
        Failure::usage("files_from.invalid", text)
    })?;
    let named = NamedPath::listed(base, listed).map_err(|error| {
        let text = format!("file ({}): cannot be read ({error})", base.display());
        Failure::usage("files_from.unreadable", text)
    })?;
    Ok(Cow::Owned(named))
}

/// Says what would be sent.
pub(super) fn dry_run(plan: &SendPlan, output: &Output) -> Result<Exit, Failure> {
    let (mut files, mut bytes) = (0_u64, 0_u64);
    Sources::survey(&paths(plan)?, &plan.gather, &mut |name, size| {
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
