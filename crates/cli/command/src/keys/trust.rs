//! The list of nodes whose signatures are believed.

use std::path::{Path, PathBuf};

use crate::json::{Line, TrustLine};
use crate::{Exit, Failure, Help, Output, OutputArgs};
use clap::{Args, Subcommand};
use fanfare_node::seal::{
    PublicKey, Trusted,
    trust::{Entry, TrustError},
};

use super::identity::directory;

const HELP: Help = Help::new(&[
    ("fanfare trust add host-7 ed25519:...", "what 'fanfare id' prints on host-7"),
    ("fanfare send disk.img --expect ~/.config/fanfare/trusted", "only their receipts count"),
])
.exits(super::exits::EXITS);

const LIST_FILE: &[(&str, &str)] =
    &[("~/.config/fanfare/trusted", "the list, without --file: a name and a key on each line")];

const ADD: Help = Help::new(&[
    ("fanfare trust add host-7 ed25519:...", "what 'fanfare id' prints on host-7"),
    ("fanfare trust add host-7 ed25519:... --revoked", "never believe it again"),
])
.exits(super::exits::EXITS)
.files(LIST_FILE);

const LIST: Help = Help::new(&[
    ("fanfare trust list", "all names and keys"),
    ("fanfare trust list --file hosts", "those of another list"),
])
.exits(super::exits::EXITS)
.files(LIST_FILE);

const REMOVE: Help = Help::new(&[
    ("fanfare trust remove host-7", "the name and its keys"),
    ("fanfare trust remove host-7 --file hosts", "from another list"),
])
.exits(super::exits::EXITS)
.files(LIST_FILE);

/// Keep a list of names and public keys that are believed
///
/// One line for each: a name and a key. It is ~/.config/fanfare/trusted, unless --file names another.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub struct TrustArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Add(AddArgs),
    List(ListArgs),
    Remove(RemoveArgs),
}

/// Add a name and its key
#[derive(Debug, Args)]
#[command(after_help = ADD.short(), after_long_help = ADD.long())]
struct AddArgs {
    /// What the node calls itself (--name)
    name: String,
    /// Its public key, as 'fanfare id' prints it there
    key: String,
    /// Never believe this key again
    #[arg(long)]
    revoked: bool,
    #[command(flatten)]
    place: Place,
}

/// Show all names and keys
#[derive(Debug, Args)]
#[command(after_help = LIST.short(), after_long_help = LIST.long())]
struct ListArgs {
    #[command(flatten)]
    place: Place,
}

/// Remove a name and its keys
#[derive(Debug, Args)]
#[command(after_help = REMOVE.short(), after_long_help = REMOVE.long())]
struct RemoveArgs {
    /// The name
    name: String,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Args)]
struct Place {
    /// The list
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

impl Place {
    fn path(&self) -> Result<PathBuf, Failure> {
        let usual = || directory().map(|directory| directory.join("trusted"));
        self.file.clone().or_else(usual).ok_or_else(|| {
            let text =
                "trust: neither XDG_CONFIG_HOME nor HOME says where the list is. Give --file";
            Failure::new(Exit::Permission, "trust.nowhere", text)
        })
    }
}

/// Adds, shows or removes.
pub fn run(args: &TrustArgs) -> Exit {
    let place = match &args.what {
        What::Add(args) => &args.place,
        What::List(args) => &args.place,
        What::Remove(args) => &args.place,
    };
    let output = Output::new(place.output);
    match place.path().and_then(|path| change(&args.what, &path, &output)) {
        Ok(()) => {
            output.event(&Line::early_result(Exit::Done as u8));
            Exit::Done
        }
        Err(failure) => crate::give_up(&output, &failure),
    }
}

fn change(what: &What, path: &Path, output: &Output) -> Result<(), Failure> {
    let mut trusted = if path.exists() { read(path)? } else { Trusted::default() };
    match what {
        What::Add(args) => {
            let key: PublicKey = args.key.parse().map_err(|error| {
                let text = format!(
                    "key ({}): {error}. Give what 'fanfare id' prints on that machine",
                    args.key
                );
                Failure::new(Exit::Permission, "key.invalid", text)
            })?;
            if args.name.trim().is_empty() {
                let text = "name (): a name is needed. Give that of the machine";
                return Err(Failure::usage("trust.name", text));
            }
            let entry = Entry { name: args.name.trim().to_owned(), key, revoked: args.revoked };
            trusted.add(entry).map_err(|error| added(path, &error))?;
            write(path, &trusted)
        }
        What::Remove(args) => {
            if !trusted.remove(&args.name) {
                let text = format!("name ({}): is not in {}", args.name, path.display());
                return Err(Failure::new(Exit::Permission, "trust.unknown", text));
            }
            write(path, &trusted)
        }
        What::List(_) => {
            for entry in trusted.entries() {
                let revoked = if entry.revoked { " (revoked)" } else { "" };
                output.data(&format!("{:<20} {}{revoked}", entry.name, entry.key));
                output.event(&Line::Trusted(TrustLine::of(entry)));
            }
            Ok(())
        }
    }
}

fn added(path: &Path, error: &TrustError) -> Failure {
    let why = match error {
        TrustError::TwoNames(_, name, _) => {
            format!("this key is already that of {name}. Remove that name first")
        }
        TrustError::TwoKeys(_, name) => {
            format!("{name} already has a key. Remove it first, or add the old one with --revoked")
        }
        TrustError::Line(_) => error.to_string(),
    };
    Failure::new(Exit::Permission, "trust.taken", format!("trust ({}): {why}", path.display()))
}

/// Reads a list.
pub fn read(path: &Path) -> Result<Trusted, Failure> {
    let shown = path.display();
    let text = crate::text_file::read(path).map_err(|error| {
        let text = format!("trust ({shown}): cannot be read ({error}). Check the path");
        Failure::new(Exit::Permission, "trust.unreadable", text)
    })?;
    Trusted::parse(&text).map_err(|error| {
        let text = format!("trust ({shown}): {error}. Correct the file");
        Failure::new(Exit::Permission, "trust.invalid", text)
    })
}

/// Takes the place of the old list in one step.
fn write(path: &Path, trusted: &Trusted) -> Result<(), Failure> {
    let new = path.with_extension("new");
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let written = parent
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(&new, trusted.to_text()))
        .and_then(|()| std::fs::rename(&new, path));
    written.map_err(|error| {
        let text = format!("trust ({}): cannot be written ({error})", path.display());
        Failure::new(Exit::Permission, "trust.unwritable", text)
    })
}
