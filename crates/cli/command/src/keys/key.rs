//! Keys that a group shares: made, shown and compared.

use std::{io::BufRead as _, path::PathBuf};

use crate::json::{KeyLine, Line};
use crate::{Exit, Failure, Help, Output, OutputArgs};
use clap::{Args, Subcommand};
use fanfare_node::seal::{Key, passphrase};

use super::{exits::EXITS, file};

const HELP: Help = Help::new(&[
    ("fanfare key new lab.key", "a new key; copy it to all members"),
    ("fanfare key fingerprint lab.key", "compare it on two machines"),
    ("fanfare send disk.img --key lab.key", "only members read it"),
])
.exits(EXITS);

const KEY_FILE: &[(&str, &str)] = &[("FILE", "a key, readable by its owner alone")];

const NEW: Help = Help::new(&[
    ("fanfare key new lab.key", "a new key; copy it to all members"),
    ("fanfare key new next.key --replaces lab.key", "the key that follows it"),
])
.exits(EXITS)
.files(KEY_FILE);

const SHOW: Help = Help::new(&[
    ("fanfare key show lab.key", "its number, id and fingerprint"),
    ("fanfare key show lab.key --secret", "for --key-env"),
])
.exits(EXITS)
.files(KEY_FILE);

const FINGERPRINT: Help = Help::new(&[
    ("fanfare key fingerprint lab.key", "compare it on two machines"),
    ("fanfare key fingerprint lab.key --json", "for programs"),
])
.exits(EXITS)
.files(KEY_FILE);

/// Make and compare keys that seal a group's packets
///
/// All members of a group have the same key file. Whoever does not have it can neither read what is sent
/// nor be taken for a member.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub struct KeyCommandArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    New(NewArgs),
    Show(ShowArgs),
    Fingerprint(FingerprintArgs),
}

/// Make a new key
#[derive(Debug, Args)]
#[command(after_help = NEW.short(), after_long_help = NEW.long())]
struct NewArgs {
    /// The file to make; one that is there is kept
    file: PathBuf,
    /// Number of the key: higher than that of the one it replaces [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "replaces")]
    epoch: Option<u32>,
    /// The key that it replaces: its number is one more
    #[arg(long, value_name = "FILE")]
    replaces: Option<PathBuf>,
    /// Make it from words in the first line of standard input, the same on each machine
    ///
    /// Weaker than a random key: who records packets can try words. Needs 12 characters or more. Takes
    /// about a second.
    #[arg(long)]
    passphrase: bool,
    /// What the words are for: the same words make another key for another group
    #[arg(long, value_name = "NAME", default_value = "fanfare", requires = "passphrase")]
    group: String,
    #[command(flatten)]
    output: OutputArgs,
}

/// Show a key's number, id and fingerprint
#[derive(Debug, Args)]
#[command(after_help = SHOW.short(), after_long_help = SHOW.long())]
struct ShowArgs {
    /// The key file
    file: PathBuf,
    /// Print the secret, as --key-env takes it
    #[arg(long)]
    secret: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Show 32 digits by which two people can compare their keys
#[derive(Debug, Args)]
#[command(after_help = FINGERPRINT.short(), after_long_help = FINGERPRINT.long())]
struct FingerprintArgs {
    /// The key file
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

impl What {
    const fn output(&self) -> OutputArgs {
        match self {
            Self::New(args) => args.output,
            Self::Show(args) => args.output,
            Self::Fingerprint(args) => args.output,
        }
    }
}

/// Makes, shows or compares.
pub fn run(args: &KeyCommandArgs) -> Exit {
    let output = Output::new(args.what.output());
    let done = match &args.what {
        What::New(args) => make(args, &output),
        What::Show(args) => show_key(args, &output),
        What::Fingerprint(args) => show_fingerprint(args, &output),
    };
    match done {
        Ok(()) => {
            output.event(&Line::early_result(Exit::Done as u8));
            Exit::Done
        }
        Err(failure) => crate::give_up(&output, &failure),
    }
}

fn make(args: &NewArgs, output: &Output) -> Result<(), Failure> {
    let epoch = match &args.replaces {
        Some(old) => file::read(old)?.epoch().saturating_add(1),
        None => args.epoch.unwrap_or(1),
    };
    let key = if args.passphrase {
        let mut words = String::new();
        let _ = std::io::stdin().lock().read_line(&mut words);
        output.warn(
            "key.passphrase",
            "a key from words is weaker than a random one: who records packets can try words",
        );
        passphrase::key_from(&words, &args.group, epoch).map_err(|error| {
            let text = format!("passphrase (standard input): {error}. Give several words");
            Failure::new(Exit::Permission, "passphrase.refused", text)
        })?
    } else {
        Key::generate(epoch).ok_or_else(|| {
            let text = "key (new): this system has no random bytes to give".to_owned();
            Failure::new(Exit::Resource, "key.random", text)
        })?
    };
    file::write_private("key", &args.file, &key.to_text())?;
    tell(&key, output);
    output.text("copy the file to all members by a way that nobody reads, such as scp");
    Ok(())
}

fn show_key(args: &ShowArgs, output: &Output) -> Result<(), Failure> {
    let key = file::read(&args.file)?;
    if args.secret {
        output.data(&key.to_line());
        return Ok(());
    }
    tell(&key, output);
    Ok(())
}

fn show_fingerprint(args: &FingerprintArgs, output: &Output) -> Result<(), Failure> {
    let key = file::read(&args.file)?;
    output.data(&key.fingerprint());
    output.event(&Line::Key(KeyLine::of(&key)));
    Ok(())
}

fn tell(key: &Key, output: &Output) {
    let (id, epoch, fingerprint) = (key.id(), key.epoch(), key.fingerprint());
    output.data(&format!("key id {id}, number {epoch}\nfingerprint {fingerprint}"));
    output.event(&Line::Key(KeyLine::of(key)));
}
