//! `fanfare lab`, `sim` and `bench`, `link`, `proxy` and `relay`: other programs, as git and cargo find theirs.

use std::{
    ffi::OsString,
    io::{self, ErrorKind},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::Command,
};

use clap::Args;
use fanfare_command::{Exit, Failure, Notice, print_line, to_text};

/// A program that has some of the commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Other {
    /// Laboratory, simulator and benchmarks.
    Lab,
    /// Links, and TCP over them.
    Proxy,
    /// Islands that no multicast reaches.
    Relay,
}

impl Other {
    const fn name(self) -> &'static str {
        match self {
            Self::Lab => "fanfare-lab",
            Self::Proxy => "fanfare-proxy",
            Self::Relay => "fanfare-relay",
        }
    }

    /// Where its source is.
    const fn source(self) -> &'static str {
        match self {
            Self::Lab => "crates/lab-cli",
            Self::Proxy => "crates/proxy-cli",
            Self::Relay => "crates/relay-cli",
        }
    }

    /// Stable name of its absence.
    const fn missing(self) -> &'static str {
        match self {
            Self::Lab => "laboratory.missing",
            Self::Proxy => "proxy.missing",
            Self::Relay => "relay.missing",
        }
    }
}

/// Tells the laboratory which `fanfare` to measure: the one that was called.
const VARIABLE: &str = "FANFARE_BIN";

/// What the other program is given as it stands.
#[derive(Debug, Args)]
pub(crate) struct LaboratoryArgs {
    /// Commands and options of that program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    args: Vec<OsString>,
}

/// Becomes the other program; comes back only when that cannot be.
pub(crate) fn run(other: Other, command: &str, args: &LaboratoryArgs) -> Exit {
    let own = std::env::current_exe().ok();
    let beside = own.as_ref().map(|path| path.with_file_name(other.name()));
    // Beside this program first: that one was built together with it.
    let programs = beside.into_iter().chain([PathBuf::from(other.name())]);
    let mut refused = None;
    for program in programs {
        let mut started = Command::new(program);
        started.arg(command).args(&args.args);
        if let Some(own) = own.as_ref().filter(|_| std::env::var_os(VARIABLE).is_none()) {
            started.env(VARIABLE, own);
        }
        let error = started.exec();
        if error.kind() != ErrorKind::NotFound {
            refused = Some(error);
            break;
        }
    }
    let failure = failure(other, command, refused.as_ref());
    eprintln!("{failure}");
    if args.args.iter().any(|arg| arg == "--json") {
        let message = failure.to_string();
        print_line(&to_text(&Notice::Error { code: failure.code, message: &message }));
        print_line(&to_text(&Notice::result(failure.exit as u8)));
    }
    failure.exit
}

fn failure(other: Other, command: &str, refused: Option<&io::Error>) -> Failure {
    let (program, source) = (other.name(), other.source());
    let text = match refused {
        None => format!(
            "command ({command}): needs the program {program}, which is not installed. Install it with: \
             cargo install --path {source}"
        ),
        Some(error) => {
            format!("program ({program}): cannot be started ({error}). Make it executable")
        }
    };
    Failure::usage(other.missing(), text)
}
