//! The header of libfanfare is what its sources make: cbindgen writes it.

use std::fs;

use crate::step::{self, Outcome};

const HEADER: &str = "crates/api/c/include/fanfare.h";
const TOOL: &str = "cbindgen";

/// What the sources make. cbindgen is a tool, and no dependency: it is installed where it is not there.
fn make() -> Result<String, Outcome> {
    if !step::answers(TOOL, &["--version"]) {
        let installed = step::cargo(&["install", "--quiet", "--locked", TOOL], &[]);
        if !matches!(installed, Outcome::Passed) {
            return Err(installed);
        }
    }
    step::output(TOOL, &["--quiet", "--config", "crates/api/c/cbindgen.toml", "crates/api/c"])
        .map_err(Outcome::Failed)
}

/// Compares.
pub(crate) fn check() -> Outcome {
    match make() {
        Ok(made) if fs::read_to_string(HEADER).is_ok_and(|header| header == made) => {
            Outcome::Passed
        }
        Ok(_) => Outcome::Failed(format!(
            "{HEADER} is not what its sources make: run `cargo xtask headers --update`"
        )),
        Err(outcome) => outcome,
    }
}

/// Writes it anew.
pub(crate) fn update() -> Outcome {
    let made = match make() {
        Ok(made) => made,
        Err(outcome) => return outcome,
    };
    match fs::write(HEADER, made) {
        Ok(()) => Outcome::Passed,
        Err(error) => Outcome::Failed(format!("{HEADER}: {error}")),
    }
}
