//! Options of `fanfare parts`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use fanfare_command::{Exit, Help, OutputArgs};

const HELP: Help = Help::new(&[
    ("fanfare parts list /srv/images", "what earlier attempts have left"),
    ("fanfare parts clean /srv/images", "delete it"),
])
.exits(&[
    (Exit::Done, "done"),
    (Exit::Usage, "DIR is no directory, or cannot be read"),
    (Exit::Permission, "permission denied"),
])
.files(&[("DIR/.fanfare-*.part", "unfinished files of 'fanfare recv'")]);

/// List or delete unfinished files of interrupted transfers
///
/// 'fanfare recv' keeps what has arrived of a file when a transfer is interrupted, and begins from
/// there when the file is sent again. It deletes the oldest unfinished files by itself: see
/// --part-space and --part-age of 'fanfare recv'.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct PartsArgs {
    #[command(subcommand)]
    pub(crate) command: PartsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PartsCommand {
    /// List unfinished files, the oldest first
    List(ListArgs),
    /// Delete unfinished files; those that a receiver is writing stay
    Clean(CleanArgs),
}

/// Of `fanfare parts list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Directory of 'fanfare recv'
    #[arg(default_value = ".", value_name = "DIR")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Of `fanfare parts clean`.
#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Directory of 'fanfare recv'
    #[arg(default_value = ".", value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Delete only those that have not grown for this time
    #[arg(long, default_value = "0s", value_name = "TIME")]
    pub(crate) older: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
