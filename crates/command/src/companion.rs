//! The programs beside `fanfare`: `fanfare lab`, `sim` and `bench`, `link`, `proxy`, `group`, `relay`,
//! `sensor` and `video` become another program, as git and cargo find theirs.

use std::{
    ffi::OsString,
    io::{self, ErrorKind},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::Command,
};

use crate::{Exit, Failure, Notice, print_line, to_text};
use clap::Args;

/// A program that has some of the commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Companion {
    /// Laboratory, simulator and benchmarks.
    Lab,
    /// Links, and TCP over them.
    Proxy,
    /// Groups whose members change.
    Group,
    /// What passes by on this machine's network.
    Sensor,
    /// Video to a group.
    Video,
    /// Islands that no multicast reaches.
    Relay,
}

impl Companion {
    const fn name(self) -> &'static str {
        match self {
            Self::Lab => "fanfare-lab",
            Self::Proxy => "fanfare-proxy",
            Self::Group => "fanfare-group",
            Self::Sensor => "fanfare-sensor",
            Self::Video => "fanfare-video",
            Self::Relay => "fanfare-relay",
        }
    }

    /// Where its source is.
    const fn source(self) -> &'static str {
        match self {
            Self::Lab => "crates/lab-cli",
            Self::Proxy => "crates/proxy-cli",
            Self::Group => "crates/mls-cli",
            Self::Sensor => "crates/sensor-cli",
            Self::Video => "crates/video-cli",
            Self::Relay => "crates/relay-cli",
        }
    }

    /// Stable name of its absence.
    const fn missing(self) -> &'static str {
        match self {
            Self::Lab => "laboratory.missing",
            Self::Proxy => "proxy.missing",
            Self::Group => "group.missing",
            Self::Sensor => "sensor.missing",
            Self::Video => "video.missing",
            Self::Relay => "relay.missing",
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
            let error = started.exec();
            if error.kind() != ErrorKind::NotFound {
                refused = Some(error);
                break;
            }
        }
        let failure = self.failure(command, refused.as_ref());
        eprintln!("{failure}");
        if args.args.iter().any(|arg| arg == "--json") {
            let message = failure.to_string();
            print_line(&to_text(&Notice::Error { code: failure.code, message: &message }));
            print_line(&to_text(&Notice::result(failure.exit as u8)));
        }
        failure.exit
    }

    fn failure(self, command: &str, refused: Option<&io::Error>) -> Failure {
        let (program, source) = (self.name(), self.source());
        let text = match refused {
            None => format!(
                "command ({command}): needs the program {program}, which is not installed. Install it with: \
             cargo install --path {source}"
            ),
            Some(error) => {
                format!("program ({program}): cannot be started ({error}). Make it executable")
            }
        };
        Failure::usage(self.missing(), text)
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
