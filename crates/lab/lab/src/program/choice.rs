//! Names with commas between, as users choose systems and cells.

use std::str::FromStr;

use fanfare_command::Failure;
use fanfare_lab::System;

/// Systems by their names.
pub(crate) fn systems(names: &str) -> Result<Vec<System>, Failure> {
    chosen("systems", Some(names), &[])
}

/// Cells by their names, with commas between. `which` says what may be written.
pub(crate) fn cells<T>(
    names: &str,
    of: impl Fn(&str) -> Option<T>,
    which: &str,
) -> Result<Vec<T>, Failure> {
    let found: Option<Vec<T>> = names.split(',').map(|name| of(name.trim())).collect();
    found.ok_or_else(|| Failure::usage("cells.invalid", format!("cells ({names}): write {which}")))
}

/// Names with commas between, or all.
pub(crate) fn chosen<T: FromStr<Err = String> + Clone>(
    what: &'static str,
    names: Option<&str>,
    all: &[T],
) -> Result<Vec<T>, Failure> {
    let Some(names) = names else { return Ok(all.to_vec()) };
    let one = |name: &str| {
        name.trim()
            .parse()
            .map_err(|why| Failure::usage("systems.invalid", format!("{what} ({name}): {why}")))
    };
    names.split(',').map(one).collect()
}
