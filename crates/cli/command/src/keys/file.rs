//! Files that hold secrets: nobody else may read them, and they are never written over.

use fanfare_udp::os::file::{MetadataExt as _, OpenOptionsExt as _};
use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::Path,
};

use crate::{Exit, Failure, text_file};
use fanfare_node::seal::Key;

/// Longer is no file of ours.
const LONGEST: u64 = 64 * 1024;
/// Bits that let others read or write.
const OTHERS: u32 = 0o077;

fn refused(code: &'static str, text: String) -> Failure {
    Failure::new(Exit::Permission, code, text)
}

/// A key that is shared.
pub fn read(path: &Path) -> Result<Key, Failure> {
    let text = read_private("key", path)?;
    Key::parse(&text).map_err(|error| {
        let text = format!("key ({}): {error}. Make one with 'fanfare key new'", path.display());
        refused("key.invalid", text)
    })
}

/// A secret file as text. `what` it is, for messages.
pub fn read_private(what: &str, path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let unreadable = |error: &io::Error| {
        let advice = match error.kind() {
            io::ErrorKind::NotFound => "Check the path",
            _ => "Check who owns it",
        };
        refused("key.unreadable", format!("{what} ({shown}): cannot be read ({error}). {advice}"))
    };
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    let meta = file.metadata().map_err(|error| unreadable(&error))?;
    if meta.mode() & OTHERS != 0 && meta.is_file() {
        let text = format!(
            "{what} ({shown}): others may read or change it (mode {:03o}). Run 'chmod 600 {shown}', \
             and make another key if others may have read it",
            meta.mode() & 0o777
        );
        return Err(refused("key.exposed", text));
    }
    match text_file::read_all(file.take(LONGEST)) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(refused("key.invalid", format!("{what} ({shown}): it is not text. Check the path")))
        }
        Err(error) => Err(unreadable(&error)),
    }
}

/// A key from an environment variable: `EPOCH:SECRET`, as 'fanfare key show --secret' prints it.
pub fn from_environment(name: &str) -> Result<Key, Failure> {
    let invalid = |why: &str| {
        let text = format!(
            "key-env ({name}): {why}. Put there what 'fanfare key show --secret FILE' prints"
        );
        refused("key.invalid", text)
    };
    let value = std::env::var(name).map_err(|_| invalid("the variable is not set"))?;
    let (epoch, secret) = value.trim().split_once(':').unwrap_or(("1", value.trim()));
    let text = format!("fanfare-key 1\nepoch {epoch}\nsecret {secret}\n");
    if value.trim().is_empty() {
        return Err(invalid("the variable is empty"));
    }
    Key::parse(&text).map_err(|error| invalid(&error.to_string()))
}

/// Writes a secret file that must not exist yet, for this user alone.
pub fn write_private(what: &str, path: &Path, text: &str) -> Result<(), Failure> {
    let shown = path.display();
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let text = format!(
                "{what} ({shown}): there is a file of this name, and it is kept. Choose another name"
            );
            Failure::usage("key.exists", text)
        }
        _ => refused("key.unwritable", format!("{what} ({shown}): cannot be written ({error})")),
    })
}

#[cfg(test)]
mod tests {
    use fanfare_udp::os::file::PermissionsExt;

    use super::*;

    fn told(path: &Path) -> String {
        let failure = read(path).unwrap_err();
        assert_eq!(failure.exit, Exit::Permission);
        failure.text.replace(&path.display().to_string(), "F")
    }

    #[test]
    fn a_key_file_that_cannot_be_used_is_refused_in_one_line_with_exit_4() {
        let directory = std::env::temp_dir().join(format!("fanfare-keys-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("k");
        let _ = std::fs::remove_file(&path);
        assert!(told(&path).starts_with("key (F): cannot be read (No such file"));
        let key = Key::from_secret([7; 32], 3);
        write_private("key", &path, &key.to_text()).unwrap();
        assert_eq!(read(&path).unwrap(), key);
        let again = write_private("key", &path, "").unwrap_err();
        assert!(again.text.contains("it is kept"), "{}", again.text);
        let set = |mode| {
            std::fs::set_permissions(
                &path,
                <std::fs::Permissions as PermissionsExt>::from_mode(mode),
            )
            .unwrap()
        };
        set(0o644);
        let says = "key (F): others may read or change it (mode 644). Run 'chmod 600 F', and make \
                    another key if others may have read it";
        assert_eq!(told(&path), says);
        set(0o600);
        let make = "Make one with 'fanfare key new'";
        for (text, why) in [
            ("fanfare-key 1\nepoch 3\nsecr", "it ends before its secret"),
            ("fanfare-key 1\nsecret 0707", "its secret has 4 hexadecimal digits instead of 64"),
            ("", "it is empty"),
            ("-----BEGIN PGP-----", "it is no key of fanfare"),
            ("fanfare-identity 1", "it is a key that signs, not one that a group shares"),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(told(&path), format!("key (F): {why}. {make}"));
        }
        for no_text in [&[0xc3, 0x28][..], &[0xff, 0xfe, 0x00], &[0x7f, 0x45, 0x4c, 0x46, 0x80]] {
            std::fs::write(&path, no_text).unwrap();
            assert_eq!(told(&path), "key (F): it is not text. Check the path", "{no_text:?}");
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
