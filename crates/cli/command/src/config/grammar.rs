//! What a file may set: every option and place of a command, as clap knows them.
//!
//! Whoever reads files says which commands there are, and asks those whether their options are right.

use std::ffi::OsString;

use crate::Failure;
use clap::{Arg, ArgAction, Command};

/// The commands that take options from files, and how each is asked about them.
#[derive(Debug)]
pub struct Grammar {
    /// The whole program.
    pub program: fn() -> Command,
    /// Of `fanfare send`.
    pub send: Table,
    /// Of `fanfare recv`.
    pub recv: Table,
    /// Of `fanfare node`.
    pub node: Table,
    /// What only several groups of a node together show to be wrong: which of them, and why. Each is
    /// right by itself.
    pub clashes: fn(&[Named]) -> Vec<(usize, Failure)>,
}

impl Grammar {
    /// All of them.
    #[must_use]
    pub fn tables(&self) -> [Table; 3] {
        [self.send, self.recv, self.node]
    }
}

/// A table of the file: the command that it is for.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// What it is called in the file.
    pub name: &'static str,
    /// The command, as clap knows it.
    pub command: fn() -> Command,
    /// What the command says to this command line.
    pub check: fn(&[OsString]) -> Result<(), Failure>,
    /// Whether what stands above the tables is for it, too. A node's group is another than that of
    /// files.
    pub takes_shared: bool,
    /// What stands for the places that the command line gives.
    pub place: Option<&'static str>,
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// What a group of a node is called, and the command line that would have it alone.
#[derive(Debug, Clone)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The command line.
    pub words: Vec<OsString>,
}

/// Everything that a file may set.
pub fn options_of(command: &Command) -> impl Iterator<Item = &Arg> {
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
pub fn key_of(arg: &Arg) -> String {
    arg.get_long().map_or_else(|| arg.get_id().as_str().replace('_', "-"), str::to_owned)
}

/// The option that a key means; `_` counts as `-`.
pub fn find<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    let word = word.replace('_', "-");
    let is_meant = |arg: &&Arg| {
        key_of(arg) == word || arg.get_all_aliases().unwrap_or_default().contains(&word.as_str())
    };
    options_of(command).find(is_meant)
}
