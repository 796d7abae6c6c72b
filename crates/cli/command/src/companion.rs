//! The program beside `fanfare`: `fanfare lab`, `sim` and `bench` become `fanfare-lab`, as git and
//! cargo find theirs. What that program begins with is here, too.

use std::{
    ffi::OsString,
    io::{self, ErrorKind},
    path::PathBuf,
    process::{Command, ExitCode},
};

use clap::{Args, CommandFactory, Parser};

use crate::{
    Exit, Failure, end,
    ending::{misunderstood, refuse},
    generate::{self, GenerateCommand},
};

/// A program that has some of the commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Companion {
    /// Laboratory, simulator and benchmarks.
    Lab,
}

impl Companion {
    const fn name(self) -> &'static str {
        match self {
            Self::Lab => "fanfare-lab",
        }
    }

    /// The program itself: does what `run` makes of the command line.
    pub fn main<Asked: Parser>(self, run: impl FnOnce(Asked) -> Exit) -> ExitCode {
        fanfare_udp::os::signal::survive_file_limit();
        let args: Vec<OsString> = std::env::args_os().collect();
        match Asked::try_parse_from(&args) {
            Ok(asked) => end(run(asked)).into(),
            Err(error) => misunderstood(&error, &args),
        }
    }

    /// Prints its completions or man pages. It is called as its file is in them: those of `fanfare` are
    /// another program's.
    #[must_use]
    pub fn generate<Asked: CommandFactory>(self, command: &GenerateCommand) -> Exit {
        let program = Asked::command().name(self.name()).bin_name(self.name());
        match command {
            GenerateCommand::Completions(args) => generate::completions(args, program),
            GenerateCommand::Man(args) => generate::man(args, program),
        }
    }

    /// Becomes the other program; comes back only when that cannot be.
    #[must_use]
    pub fn run(self, command: &str, args: &CompanionArgs) -> Exit {
        let own = std::env::current_exe().ok();
        let beside = own.as_ref().map(|path| path.with_file_name(self.name()));
        // Beside this program first: that one was built together with it.
        let programs = beside.into_iter().chain([PathBuf::from(self.name())]);
        let mut refused = None;
        for program in programs {
            let mut started = Command::new(program);
            started.arg(command).args(&args.args);
            if let Some(own) = own.as_ref().filter(|_| std::env::var_os(VARIABLE).is_none()) {
                started.env(VARIABLE, own);
            }
            let error = fanfare_udp::os::process::replace(&mut started);
            if error.kind() != ErrorKind::NotFound {
                refused = Some(error);
                break;
            }
        }
        refuse(&self.failure(command, refused.as_ref()), &args.args)
    }

    fn failure(self, command: &str, refused: Option<&io::Error>) -> Failure {
        let program = self.name();
        let text = match refused {
            None => format!(
                "command ({command}): needs the program {program}, which is not installed. Install it with: \
             cargo install --path crates/lab/lab"
            ),
            Some(error) => {
                format!("program ({program}): cannot be started ({error}). Make it executable")
            }
        };
        Failure::usage("laboratory.missing", text)
    }
}

/// Tells the laboratory which `fanfare` to measure: the one that was called.
const VARIABLE: &str = "FANFARE_BIN";

/// What the other program is given as it stands.
#[derive(Debug, Args)]
pub struct CompanionArgs {
    /// Commands and options of that program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    args: Vec<OsString>,
}
