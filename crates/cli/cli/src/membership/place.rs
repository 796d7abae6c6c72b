//! The files of a group on this machine. Only its user may read them.
//!
//! ```text
//! member          who this machine is in it, with its secrets
//! key             the group's key in this epoch, for --key; key.before: that of the epoch before
//! address         where members meet
//! history/N       how epoch N was left, for members who were away
//! orders/         what commands ask of 'keep'
//! ```

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    net::SocketAddr,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use clap::Args;
use fanfare_command::{Exit, Failure};
use fanfare_mls::{Change, GroupKeying as _, Member};
use fanfare_node::seal::Key;

/// Files that commands of group read and write, for their help.
pub(super) const FILES: &[(&str, &str)] = &[
    ("~/.config/fanfare/groups/NAME", "all of a group, without --dir"),
    ("~/.config/fanfare/groups/NAME/key", "its key, for --key of other commands"),
];
/// Longer is no file of ours.
const LONGEST: u64 = 64 << 20;

/// Which group.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlaceArgs {
    /// What the group is called on this machine
    name: String,
    #[command(flatten)]
    home: HomeArgs,
}

/// Where groups are kept.
#[derive(Debug, Clone, Args)]
pub(crate) struct HomeArgs {
    /// Directory of groups [default: ~/.config/fanfare/groups]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl PlaceArgs {
    pub(crate) fn place(&self) -> Result<Place, Failure> {
        self.home.place(&self.name)
    }
}

impl HomeArgs {
    /// The group of this name.
    pub(crate) fn place(&self, name: &str) -> Result<Place, Failure> {
        if name.is_empty() || name.starts_with('.') || name.contains('/') {
            let text = format!("name ({name}): is no name of a group. Use letters and digits");
            return Err(Failure::usage("group.name", text));
        }
        let usual = || {
            let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
            let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
            config.or_else(home).map(|config| config.join("fanfare/groups"))
        };
        let dir = self.dir.clone().or_else(usual).ok_or_else(|| {
            let text = "group: neither XDG_CONFIG_HOME nor HOME says where groups are. Give --dir";
            Failure::new(Exit::Permission, "group.nowhere", text)
        })?;
        Ok(Place { name: name.to_owned(), dir: dir.join(name) })
    }
}

/// One group's files.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) name: String,
    dir: PathBuf,
}

impl Place {
    /// Where the key is.
    pub(crate) fn key(&self) -> PathBuf {
        self.dir.join("key")
    }

    /// Of what commands ask.
    pub(crate) fn orders(&self) -> PathBuf {
        self.dir.join("orders")
    }

    fn failed(&self, what: &str, error: &io::Error) -> Failure {
        let shown = self.dir.join(what).display().to_string();
        let text = format!("group ({shown}): {error}. Check the path, and who owns it");
        Failure::new(Exit::Resource, "group.file", text)
    }

    /// Makes the directory. It must not be there.
    pub(crate) fn create(&self) -> Result<(), Failure> {
        if self.dir.join("member").exists() {
            let shown = self.dir.display();
            let text = format!("group ({shown}): is there already, and is kept. Use another name");
            return Err(Failure::new(Exit::Permission, "group.exists", text));
        }
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(self.orders());
        made.and_then(|()| builder.create(self.dir.join("history")))
            .map_err(|error| self.failed("", &error))
    }

    /// Takes the place of an old file in one step.
    fn write(&self, what: &str, bytes: &[u8]) -> Result<(), Failure> {
        let (path, new) = (self.dir.join(what), self.dir.join(format!("{what}.new")));
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&new, &path))
            .and_then(|()| fs::File::open(&self.dir)?.sync_all());
        written.map_err(|error| self.failed(what, &error))
    }

    /// A file that nobody else may read.
    fn read(&self, what: &str) -> Result<Vec<u8>, Failure> {
        let path = self.dir.join(what);
        let meta = fs::metadata(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                let text = format!(
                    "group ({}): there is none of this name here. Use 'fanfare group create', or \
                     'join' with a code",
                    self.name
                );
                Failure::new(Exit::Permission, "group.unknown", text)
            }
            _ => self.failed(what, &error),
        })?;
        if meta.mode() & 0o077 != 0 {
            let text = format!(
                "group ({}): others may read it (mode {:03o}). Run 'chmod 600' on it, and join again \
                 if others may have read it",
                path.display(),
                meta.mode() & 0o777
            );
            return Err(Failure::new(Exit::Permission, "group.exposed", text));
        }
        if meta.len() > LONGEST {
            return Err(self.failed(what, &io::Error::other("is too long")));
        }
        fs::read(&path).map_err(|error| self.failed(what, &error))
    }

    /// Writes where members meet.
    pub(crate) fn set_address(&self, address: SocketAddr) -> Result<(), Failure> {
        self.write("address", format!("{address}\n").as_bytes())
    }

    /// Where members meet.
    pub(crate) fn address(&self) -> Result<SocketAddr, Failure> {
        let text = self.read("address")?;
        let address = String::from_utf8_lossy(&text).trim().parse();
        address.map_err(|_| self.failed("address", &io::Error::other("is no address")))
    }

    /// Who this machine is.
    pub(crate) fn member(&self) -> Result<Member, Failure> {
        let bytes = self.read("member")?;
        Member::from_bytes(&bytes).map_err(|fault| {
            let shown = self.dir.join("member").display().to_string();
            let text = format!("group ({shown}): {fault}. Join again with a new code");
            Failure::new(Exit::Permission, "group.invalid", text)
        })
    }

    /// Keeps who this machine is, and the group's key if that is new. The member goes first: a key that
    /// is not written is made anew from it.
    pub(crate) fn keep(&self, member: &Member) -> Result<(), Failure> {
        self.write("member", &member.to_bytes())?;
        let Ok(key) = member.key() else { return Ok(()) };
        let text = key.to_text();
        let before = self.read("key").ok().filter(|before| before != text.as_bytes());
        if let Some(before) = before {
            self.write("key.before", &before)?;
        }
        self.write("key", text.as_bytes())
    }

    /// The group's keys and all else go.
    pub(crate) fn forget(&self) {
        for what in ["key", "key.before"] {
            let _ = fs::remove_file(self.dir.join(what));
        }
        let _ = fs::remove_dir_all(self.dir.join("history"));
    }

    /// How epochs were left: the key of each, and the change out of it.
    pub(crate) fn history(&self) -> Vec<(u64, Key, Change)> {
        let names = fs::read_dir(self.dir.join("history")).into_iter().flatten().flatten();
        let epochs = names.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
        let mut epochs: Vec<u64> = epochs.collect();
        epochs.sort_unstable();
        let one = |epoch: u64| {
            let bytes = self.read(&format!("history/{epoch}")).ok()?;
            let end = bytes.iter().position(|byte| *byte == 0)?;
            let key = Key::parse(std::str::from_utf8(&bytes[..end]).ok()?).ok()?;
            Some((epoch, key, Change::decode(&bytes[end + 1..]).ok()?))
        };
        epochs.into_iter().filter_map(one).collect()
    }

    /// Adds how an epoch was left, and keeps the last `count`.
    pub(crate) fn add_history(
        &self,
        (epoch, key, change): (u64, &Key, &Change),
        count: usize,
    ) -> Result<(), Failure> {
        let bytes = [key.to_text().as_bytes(), &[0], &change.encode()].concat();
        self.write(&format!("history/{epoch}"), &bytes)?;
        let known = self.history();
        for (old, ..) in known.iter().take(known.len().saturating_sub(count)) {
            let _ = fs::remove_file(self.dir.join(format!("history/{old}")));
        }
        Ok(())
    }

    /// Puts an order where 'keep' finds it.
    pub(crate) fn order(&self, name: &str, text: &str) -> Result<(), Failure> {
        self.read("member")?;
        self.write(&format!("orders/{name}"), text.as_bytes())
    }

    /// Orders that wait: name and text.
    pub(crate) fn waiting(&self) -> Vec<(String, String)> {
        let names = fs::read_dir(self.orders()).into_iter().flatten().flatten();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| is_order(name)).collect();
        names.sort();
        let read = |name: String| {
            let text = fs::read_to_string(self.orders().join(&name)).ok()?;
            Some((name, text))
        };
        names.into_iter().filter_map(read).collect()
    }

    /// It is done.
    pub(crate) fn take(&self, name: &str) {
        let _ = fs::remove_file(self.orders().join(name));
    }
}

/// What is being written is none yet.
fn is_order(name: &str) -> bool {
    Path::new(name).extension().is_none()
}
