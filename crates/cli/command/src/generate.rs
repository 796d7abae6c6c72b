//! `completions` and `man`: commands of every program.

use std::path::PathBuf;

use clap::{Args, Command, Subcommand};
use clap_complete::Shell;

use crate::{
    Exit, Failure,
    help::Help,
    output::{print_line, say},
    pages,
};

const COMPLETIONS: Help = Help::new(&[
    ("fanfare completions bash > /etc/bash_completion.d/fanfare", "for bash"),
    ("fanfare completions zsh > ~/.zfunc/_fanfare", "for zsh"),
])
.exits(&[(Exit::Done, "done")]);

/// Print completions for a shell
///
/// With them, the Tab key completes commands and options.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS.short(), after_long_help = COMPLETIONS.long())]
pub struct CompletionsArgs {
    /// Which shell
    shell: Shell,
}

const MAN: Help = Help::new(&[
    ("fanfare man send | man -l -", "read the page of a command"),
    ("fanfare man --dir /usr/local/share/man/man1", "install all pages"),
])
.exits(&[(Exit::Done, "done"), (Exit::Resource, "DIR cannot be written")])
.files(&[("--dir DIR", "a page for each command")]);

/// Print the manual page of a command, or write all of them
#[derive(Debug, Args)]
#[command(after_help = MAN.short(), after_long_help = MAN.long())]
pub struct ManArgs {
    /// Which command, such as send or 'node status' [default: the program]
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    command: Vec<String>,
    /// Write the pages of all commands into this directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Both, in a program beside `fanfare`: not shown where that one is called as `fanfare` is.
#[derive(Debug, Subcommand)]
pub enum GenerateCommand {
    /// Print completions for a shell
    #[command(hide = true)]
    Completions(CompletionsArgs),
    /// Print the manual page of a command, or write all of them
    #[command(hide = true)]
    Man(ManArgs),
}

/// Prints the completions of `program`.
#[must_use]
pub fn completions(args: &CompletionsArgs, mut program: Command) -> Exit {
    let name = program.get_name().to_owned();
    print_line(&pages::completions(args.shell, &mut program, &name));
    Exit::Done
}

/// Prints a page of `program`, or writes all of them.
#[must_use]
pub fn man(args: &ManArgs, program: Command) -> Exit {
    let done: Result<(), Failure> = match &args.dir {
        Some(dir) => pages::write_man(program, dir),
        None => pages::man(program, &args.command).map(|page| print_line(&page)),
    };
    match done {
        Ok(()) => Exit::Done,
        Err(failure) => {
            say(&failure);
            failure.exit
        }
    }
}
