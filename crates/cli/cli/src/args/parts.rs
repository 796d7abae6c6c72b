//! Options of `fanfare parts`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use fanfare_command::{Exit, Help, OutputArgs};

const EXITS: &[(Exit, &str)] = &[(Exit::Done, "done"), (Exit::Permission, "permission denied")];
const FILES: &[(&str, &str)] = &[("DIR/.fanfare-*.part", "unfinished files of 'fanfare recv'")];
const HELP: Help = Help::new(&[
    ("fanfare parts list /srv/images", "what earlier attempts have left"),
    ("fanfare parts clean /srv/images", "delete it"),
])
.exits(EXITS)
.files(FILES);
const LIST: Help = Help::new(&[
    ("fanfare parts list", "of this directory"),
    ("fanfare parts list /srv/images --json", "for programs"),
])
.exits(EXITS)
.files(FILES);
const CLEAN: Help = Help::new(&[
    ("fanfare parts clean /srv/images", "all that is not being received"),
    ("fanfare parts clean /srv/images --older 7d", "what has been left alone for a week"),
])
.exits(EXITS)
.files(FILES);

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
    #[command(after_help = LIST.short(), after_long_help = LIST.long())]
    List(ListArgs),
    /// Delete unfinished files; those that a receiver is writing stay
    #[command(after_help = CLEAN.short(), after_long_help = CLEAN.long())]
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
