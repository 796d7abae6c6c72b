//! What a file may set: every option and place of a command, as clap knows them.

use clap::{Arg, ArgAction, Command, CommandFactory};

use crate::Cli;

/// A table of the file: the command that it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Send,
    Recv,
    Node,
}

impl Table {
    pub(super) const ALL: [Self; 3] = [Self::Send, Self::Recv, Self::Node];

    /// The command, as clap knows it.
    pub(super) fn command(self) -> Command {
        Cli::command().find_subcommand(self.name()).cloned().unwrap_or_default()
    }

    /// Whether what stands above the tables is for it, too. A node's group is another than that of
    /// files.
    pub(super) const fn takes_shared(self) -> bool {
        !matches!(self, Self::Node)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Recv => "recv",
            Self::Node => "node",
        }
    }
}

/// Everything that a file may set.
pub(super) fn options_of(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| {
        let asks = matches!(
            arg.get_action(),
            ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
        );
        // A file that names another would make a chain of them.
        !asks && arg.get_id() != "config" && arg.get_id() != "streams"
    })
}

/// What it is called in a file: its long name, or the place's name.
pub(super) fn key_of(arg: &Arg) -> String {
    arg.get_long().map_or_else(|| arg.get_id().as_str().replace('_', "-"), str::to_owned)
}

/// The option that a key means; `_` counts as `-`.
pub(super) fn find<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    let word = word.replace('_', "-");
    let is_meant = |arg: &&Arg| {
        key_of(arg) == word || arg.get_all_aliases().unwrap_or_default().contains(&word.as_str())
    };
    options_of(command).find(is_meant)
}
