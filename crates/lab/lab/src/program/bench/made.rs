//! By which command, when and beside which load a page of results was made.

use std::{path::Path, process::Command};

use fanfare_command::{Exit, Failure};

/// Begun at some time.
#[derive(Debug)]
pub(super) struct Made {
    before: String,
}

impl Made {
    /// Now.
    pub(super) fn begin() -> Self {
        Self { before: load() }
    }

    /// In a sentence or two.
    pub(super) fn line(&self) -> String {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let told = |program: &str, argument: &str| {
            let told = Command::new(program).args(["-u", argument]).output().ok();
            told.map(|told| String::from_utf8_lossy(&told.stdout).trim().to_owned())
        };
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        format!(
            "Written by\n`fanfare {}`\non {}. Linux {}, load average {} before and {} after.",
            words.join(" "),
            told("date", "+%F").unwrap_or_default(),
            kernel.split(['-', '+', '\n']).next().unwrap_or_default(),
            self.before,
            load()
        )
    }

    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(&self, file: &Path, page: &str) -> Result<(), Failure> {
        std::fs::write(file, page).map_err(|error| {
            let text = format!("out ({}): {error}. Choose another", file.display());
            Failure::new(Exit::Resource, "out", text)
        })
    }
}

/// The load average of the last minute.
pub(super) fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().filter(|load| !load.is_empty()).unwrap_or("unknown").to_owned()
}
