//! `fanfare generate`: shell completions and man pages, for packagers.

use std::{io, path::PathBuf};

use clap::{Args, Command, Subcommand};
use clap_complete::Shell;

use fanfare_command::{Exit, Failure};

/// Writes shell completions or man pages.
#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Prints the completions of a shell
    Completions { shell: Shell },
    /// Writes a man page for each command into a directory
    Man { dir: PathBuf },
}

pub(crate) fn run(args: &GenerateArgs, mut command: Command) -> Exit {
    match &args.what {
        What::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut command, "fanfare", &mut script);
            fanfare_command::print_line(&String::from_utf8_lossy(&script));
        }
        What::Man { dir } => {
            let written =
                std::fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(command, dir));
            if let Err(error) = written {
                eprintln!("{}", cannot_write(dir, &error));
                return Exit::Resource;
            }
        }
    }
    Exit::Done
}

fn cannot_write(dir: &std::path::Path, error: &io::Error) -> Failure {
    let text = format!("directory ({}): cannot be written ({error}). Use another", dir.display());
    Failure::new(Exit::Resource, "directory.not_writable", text)
}
