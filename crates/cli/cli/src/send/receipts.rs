//! The file of receipts.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

use fanfare_command::{Exit, Failure};

/// Where `--receipts` go.
pub(super) struct Receipts {
    file: Option<BufWriter<File>>,
    path: String,
    failed: Option<std::io::Error>,
}

impl Receipts {
    pub(super) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let shown = path.map_or_else(String::new, |path| path.display().to_string());
        let file =
            path.map(File::create).transpose().map_err(|error| unwritable(&shown, &error))?;
        Ok(Self { file: file.map(BufWriter::new), path: shown, failed: None })
    }

    /// Somebody wants them.
    pub(super) fn are_kept(&self) -> bool {
        self.file.is_some()
    }

    pub(super) fn write(&mut self, line: &str) {
        if let Some(file) = &mut self.file
            && let Err(error) = writeln!(file, "{line}")
        {
            self.failed.get_or_insert(error);
        }
    }

    pub(super) fn close(mut self) -> Result<(), Failure> {
        let flushed = self.file.as_mut().map_or(Ok(()), Write::flush);
        match self.failed.or(flushed.err()) {
            Some(error) => Err(unwritable(&self.path, &error)),
            None => Ok(()),
        }
    }
}

fn unwritable(path: &str, error: &std::io::Error) -> Failure {
    let text = format!("receipts ({path}): cannot be written ({error}). Name another file");
    Failure::new(Exit::Resource, "receipts.unwritable", text)
}
