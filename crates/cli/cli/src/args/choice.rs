//! Options that say which files are sent.

use std::path::PathBuf;

use clap::Args;
use fanfare_command::Failure;
use fanfare_files::Selection;

/// Which files.
#[derive(Debug, Args)]
pub(super) struct ChoiceArgs {
    /// Leave out what matches this pattern, written as in .gitignore
    ///
    /// Patterns are for what the directories hold. Can be given several times.
    #[arg(long, value_name = "PATTERN", help_heading = "What is sent", hide_short_help = true)]
    exclude: Vec<String>,
    /// Send what matches this pattern, even if --exclude matches too
    #[arg(long, value_name = "PATTERN", help_heading = "What is sent", hide_short_help = true)]
    include: Vec<String>,
    /// Leave out what matches the patterns in this file
    #[arg(long, value_name = "FILE", help_heading = "What is sent", hide_short_help = true)]
    exclude_from: Vec<PathBuf>,
    /// Send the files that this list names; - is standard input
    ///
    /// One path in each line, or with a NUL after each, as find prints them. The paths are
    /// relative to PATH, a directory [default: .], and receivers get them under these names. A
    /// directory stands for all that it holds, unless the list names what is in it, too.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["delete", "layers", "as_stream"],
        help_heading = "What is sent",
        hide_short_help = true
    )]
    pub(super) files_from: Option<PathBuf>,
    /// Print what would be sent, and send nothing
    #[arg(
        long,
        conflicts_with = "as_stream",
        help_heading = "What is sent",
        hide_short_help = true
    )]
    pub(super) dry_run: bool,
}

impl ChoiceArgs {
    /// What of the directories is sent.
    pub(super) fn selection(&self) -> Result<Selection, Failure> {
        let selection = Selection::new(&self.exclude_from, &self.exclude, &self.include);
        selection.map_err(|error| Failure::usage("pattern.invalid", error.to_string()))
    }

    /// The list that names files below the one path.
    pub(super) fn list(&self, paths: &[PathBuf]) -> Result<Option<PathBuf>, Failure> {
        if self.files_from.is_some() && paths.len() > 1 {
            let text =
                "files-from (several paths): its paths are relative to one directory. Name one";
            return Err(Failure::usage("files_from.invalid", text));
        }
        Ok(self.files_from.clone())
    }
}
