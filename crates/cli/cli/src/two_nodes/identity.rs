//! This machine's key pair: the one that `fanfare id` shows.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use fanfare_command::{Exit, Failure};
use fanfare_crypto::Identity;

/// Longer is no file of ours.
const LONGEST: u64 = 64 * 1024;
/// Bits that let others read or write.
const OTHERS: u32 = 0o077;

fn refused(code: &'static str, path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Permission, code, format!("identity ({}): {why}", path.display()))
}

/// Where it is when no option says so.
fn usual() -> Result<PathBuf, Failure> {
    let of = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty());
    let config = of("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.or_else(|| of("HOME").map(|home| PathBuf::from(home).join(".config")));
    config.map(|config| config.join("fanfare").join("identity")).ok_or_else(|| {
        let text = "identity: neither XDG_CONFIG_HOME nor HOME says where it is. Give --identity";
        Failure::new(Exit::Permission, "identity.nowhere", text)
    })
}

/// Where it is.
pub(crate) fn path(path: Option<&Path>) -> Result<PathBuf, Failure> {
    path.map_or_else(usual, |path| Ok(path.to_owned()))
}

/// The key pair in this file, or in the usual one. It is made where there is none.
pub(crate) fn own(file: Option<&Path>) -> Result<Arc<Identity>, Failure> {
    let path = path(file)?;
    if !path.exists() {
        make(&path)?;
    }
    let text = read_private(&path)?;
    let identity = Identity::parse(&text).map_err(|error| {
        let why = format!("{error}. Name another file; one that is not there is made");
        refused("identity.invalid", &path, why)
    })?;
    Ok(Arc::new(identity))
}

fn make(path: &Path) -> Result<(), Failure> {
    let identity = Identity::generate().ok_or_else(|| {
        let text = "identity: this system has no random bytes to give";
        Failure::new(Exit::Resource, "key.random", text)
    })?;
    if let Some(parent) = path.parent() {
        // What stands against it is told when the file is written.
        let _ = fs::create_dir_all(parent);
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| file.write_all(identity.to_text().as_bytes()));
    match written {
        // Another process was first.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(refused("key.unwritable", path, format!("cannot be written ({error})")))
        }
        _ => Ok(()),
    }
}

/// A file that only its owner may read.
pub(crate) fn read_private(path: &Path) -> Result<String, Failure> {
    let unreadable = |error: io::Error| {
        refused(
            "key.unreadable",
            path,
            format!("cannot be read ({error}). Check the path and its owner"),
        )
    };
    let file = File::open(path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.mode();
    if mode & OTHERS != 0 {
        let why = format!(
            "others may read or change it (mode {:03o}). Run 'chmod 600 {}'",
            mode & 0o777,
            path.display()
        );
        return Err(refused("key.exposed", path, why));
    }
    fanfare_command::text_file::read_all(file.take(LONGEST)).map_err(unreadable)
}
