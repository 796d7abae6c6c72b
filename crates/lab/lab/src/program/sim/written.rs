//! Files that are written, or why they cannot be.

use std::path::Path;

use fanfare_command::{Exit, Failure};

pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| unwritable(path, &error))
}

pub(super) fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let text =
        format!("output ({}): cannot be written ({error}). Use another place", path.display());
    Failure::new(Exit::Resource, "output.not_writable", text)
}
