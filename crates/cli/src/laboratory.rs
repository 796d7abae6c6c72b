//! `fanfare lab`, `sim` and `bench`: another program, `fanfare-lab`, as git and cargo find theirs.

use std::{
    ffi::OsString,
    io::{self, ErrorKind},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::Command,
};

use clap::Args;
use fanfare_command::{Exit, Failure, Notice, print_line, to_text};

const PROGRAM: &str = "fanfare-lab";
/// Tells the laboratory which `fanfare` to measure: the one that was called.
const VARIABLE: &str = "FANFARE_BIN";

/// What the other program is given as it stands.
#[derive(Debug, Args)]
pub(crate) struct LaboratoryArgs {
    /// Commands and options of fanfare-lab
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    args: Vec<OsString>,
}

/// Becomes the other program; comes back only when that cannot be.
pub(crate) fn run(command: &str, args: &LaboratoryArgs) -> Exit {
    let own = std::env::current_exe().ok();
    let beside = own.as_ref().map(|path| path.with_file_name(PROGRAM));
    // Beside this program first: that one was built together with it.
    let programs = beside.into_iter().chain([PathBuf::from(PROGRAM)]);
    let mut refused = None;
    for program in programs {
        let mut other = Command::new(program);
        other.arg(command).args(&args.args);
        if let Some(own) = own.as_ref().filter(|_| std::env::var_os(VARIABLE).is_none()) {
            other.env(VARIABLE, own);
        }
        let error = other.exec();
        if error.kind() != ErrorKind::NotFound {
            refused = Some(error);
            break;
        }
    }
    let failure = failure(command, refused.as_ref());
    eprintln!("{failure}");
    if args.args.iter().any(|arg| arg == "--json") {
        let message = failure.to_string();
        print_line(&to_text(&Notice::Error { code: failure.code, message: &message }));
        print_line(&to_text(&Notice::result(failure.exit as u8)));
    }
    failure.exit
}

fn failure(command: &str, refused: Option<&io::Error>) -> Failure {
    let text = match refused {
        None => format!(
            "command ({command}): needs the program {PROGRAM}, which is not installed. Install it with: \
             cargo install --path crates/lab-cli"
        ),
        Some(error) => {
            format!("program ({PROGRAM}): cannot be started ({error}). Make it executable")
        }
    };
    Failure::usage("laboratory.missing", text)
}
