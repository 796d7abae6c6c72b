//! `fanfare norm-exec`: runs a program that is linked with NRL's libnorm on ours.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Args;
use fanfare_command::{Exit, Failure, Help, say};

/// What the loader looks for.
const LIBRARY: &str = "libnorm.so.1";
/// Where the loader looks first (ld.so(8)).
const LOADER_PATH: &str = "LD_LIBRARY_PATH";
/// Settings for programs that offer none.
const OPTIONS: &str = "FANFARE_NORM_OPTIONS";
/// From the folder of this program: as installed, and as cargo leaves it.
const PLACES: [&str; 3] = ["../lib/fanfare/norm", "norm", "."];

const HELP: Help = Help::new(&[
    ("fanfare norm-exec python3 publisher.py", "ZeroMQ over norm:// with our repair"),
    ("fanfare norm-exec --options rate=500M,cc=auto ./program", "and with settings"),
])
.exits(&[(Exit::Usage, "no such program, or no library"), (Exit::Permission, "permission denied")])
.environment(&[
    (OPTIONS, "settings for programs that offer none"),
    (LOADER_PATH, "what it says already is looked at behind the folder of the library"),
])
.files(&[("../lib/fanfare/norm/libnorm.so.1", "the library, from the folder of fanfare")]);

/// Run a program that is linked with NRL's libnorm on Fanfare
///
/// The program is not compiled again. It finds libnorm.so.1 of Fanfare in a private folder; the
/// library of the system stays where it is. Its exit code is the program's.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct NormExecArgs {
    /// Folder with libnorm.so.1 [default: beside this program]
    #[arg(long, value_name = "DIR")]
    library: Option<PathBuf>,
    /// Settings for a program that offers none: rate=100M,cc=auto,interface=eth0
    #[arg(long, value_name = "NAME=VALUE,...")]
    options: Option<String>,
    /// Program to run
    #[arg(value_name = "PROGRAM")]
    program: OsString,
    /// Its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    args: Vec<OsString>,
}

/// Becomes the program; comes back only when that cannot be.
pub(crate) fn run(args: &NormExecArgs) -> Exit {
    let failure = match folder(args.library.as_deref()) {
        Ok(folder) => start(args, &folder),
        Err(failure) => failure,
    };
    say(&failure);
    failure.exit
}

fn start(args: &NormExecArgs, folder: &Path) -> Failure {
    let mut program = Command::new(&args.program);
    program.args(&args.args).env(LOADER_PATH, loader_path(folder, env::var_os(LOADER_PATH)));
    if let Some(options) = &args.options {
        program.env(OPTIONS, options);
    }
    let error = fanfare_udp::os::process::replace(&mut program);
    let name = args.program.to_string_lossy();
    let text = format!("program ({name}): cannot be started ({error}). Check its name and path");
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            Failure { exit: Exit::Permission, ..Failure::usage("norm-exec.program", text) }
        }
        _ => Failure::usage("norm-exec.program", text),
    }
}

/// The folder of the library before all that is looked at already.
fn loader_path(folder: &Path, before: Option<OsString>) -> OsString {
    let mut path = OsString::from(folder);
    if let Some(before) = before.filter(|before| !before.is_empty()) {
        path.push(":");
        path.push(before);
    }
    path
}

fn folder(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let own = env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent);
    let places: Vec<PathBuf> = match named {
        Some(named) => vec![named.to_owned()],
        None => {
            beside.map(|beside| PLACES.map(|place| beside.join(place)).to_vec()).unwrap_or_default()
        }
    };
    let found = places.iter().find(|place| place.join(LIBRARY).exists());
    // The loader takes no path that is relative to another folder later.
    found.and_then(|place| place.canonicalize().ok()).ok_or_else(|| {
        let shown: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        let text = format!(
            "library ({LIBRARY}): not found in {}. Install it as \
             docs/how-to/programs/switch-from-norm.md says, or name its folder with --library",
            shown.join(", ")
        );
        Failure::usage("norm-exec.library", text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_librarys_folder_goes_before_what_the_loader_looks_at_already() {
        let folder = Path::new("/lib/fanfare/norm");
        assert_eq!(loader_path(folder, None), "/lib/fanfare/norm");
        assert_eq!(loader_path(folder, Some(OsString::new())), "/lib/fanfare/norm");
        assert_eq!(loader_path(folder, Some("/a:/b".into())), "/lib/fanfare/norm:/a:/b");
    }

    #[test]
    fn a_folder_without_the_library_is_refused_by_its_name() {
        let refused = folder(Some(Path::new("/nowhere"))).unwrap_err();
        assert!(refused.to_string().contains("/nowhere") && refused.exit == Exit::Usage);
    }
}
