//! Messages as files in a directory: one below its topic's levels for each.

use std::{fmt::Write as _, io, io::Write, path::Path};

use crate::disk::{
    OwnFile,
    directory::{Directory, DirectoryError, How, Settled},
    name::SafeName,
    placement::Conflict,
};
use fanfare_messaging::Identity;
use fanfare_proto::ObjectTransportId;

use super::body::Body;

/// A directory that takes messages.
#[derive(Debug)]
pub struct Inbox {
    directory: Directory,
}

impl Inbox {
    /// Opens `path`, after creating it if asked to.
    ///
    /// # Errors
    /// It is not there, is no directory, or cannot be written to.
    pub fn open(path: &Path, create: bool) -> Result<Self, DirectoryError> {
        Ok(Self { directory: Directory::open(path, create)? })
    }

    /// Writes a message, durably and whole or not at all, to `TOPIC/PUBLISHER-INSTANCE-NUMBER`.
    /// Gives its name below the directory. The same message twice is one file.
    ///
    /// # Errors
    /// The disk is full, or fails.
    pub fn place(&self, message: &Identity, body: &Body) -> io::Result<String> {
        let object = ObjectTransportId(message.number as u16);
        let key = format_args!("{}-{}-{object}", message.node, message.instance);
        let part = self.directory.own_name(key, ".message");
        let file = self.directory.create_own(&part)?;
        let placed = write(body, &file).and_then(|hash| {
            let about = (body.len(), hash.as_bytes());
            self.directory.place(&part, &name_of(message), Conflict::KeepBoth, about)
        });
        if !matches!(placed, Ok(Settled::Placed(_, How::New | How::Beside))) {
            self.directory.remove(&part);
        }
        placed.map(|placed| match placed {
            Settled::Placed(name, _) => name.to_string(),
            Settled::Taken => String::new(),
        })
    }
}

/// Gives the hash of what is written.
fn write(body: &Body, file: &OwnFile) -> io::Result<blake3::Hash> {
    let mut at = At { file, offset: 0, hasher: blake3::Hasher::new() };
    body.copy_to(&mut at)?;
    file.sync()?;
    Ok(at.hasher.finalize())
}

/// Writes one after the other.
struct At<'a> {
    file: &'a OwnFile,
    offset: u64,
    hasher: blake3::Hasher,
}

impl Write for At<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.handle().write_all_at(bytes, self.offset)?;
        self.offset += bytes.len() as u64;
        self.hasher.update(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A topic whose levels are no safe names is replaced by its hash: a name is never repaired, since two
/// different ones must not become one.
fn name_of(message: &Identity) -> SafeName {
    let topic = message.topic.as_str();
    let file = format!("{:08x}-{:04x}-{}", message.node.0, message.instance.0, message.number);
    let safe = SafeName::parse(format!("{topic}/{file}").as_bytes());
    safe.unwrap_or_else(|_| {
        let mut name = String::from("topic-");
        for byte in &blake3::hash(topic.as_bytes()).as_bytes()[..8] {
            let _ = write!(name, "{byte:02x}");
        }
        SafeName::own(name).join(file)
    })
}

#[cfg(test)]
mod tests {
    use crate::disk::scratch::Scratch;
    use fanfare_messaging::Topic;
    use fanfare_proto::{InstanceId, NodeId};

    use super::*;

    fn message(topic: &str, number: u64) -> Identity {
        let topic = Topic::new(topic).unwrap();
        Identity { node: NodeId(0xab), instance: InstanceId(7), topic, number }
    }

    #[test]
    fn a_message_is_a_file_below_its_topic_and_twice_the_same_is_one() {
        let scratch = Scratch::new();
        let inbox = Inbox::open(scratch.path(), false).unwrap();
        for body in [b"one", b"one", b"two"] {
            let name = inbox.place(&message("a/b", 3), &Body::new(body.to_vec())).unwrap();
            assert_eq!(std::fs::read(scratch.path().join(name)).unwrap(), body);
        }
        let names = std::fs::read_dir(scratch.path().join("a/b")).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, ["000000ab-0007-3", "000000ab-0007-3.1"]);
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1, "no part is left");
    }

    #[test]
    fn a_topic_that_is_no_safe_name_leads_nowhere_else() {
        let scratch = Scratch::new();
        let inbox = Inbox::open(&scratch.path().join("in"), true).unwrap();
        let mut names = Vec::new();
        for topic in ["../../etc/passwd", "/a", "a//b", "a/./b", ".fanfare-a/x"] {
            let name = inbox.place(&message(topic, 0), &Body::new(vec![1])).unwrap();
            assert!(name.starts_with("topic-"), "{topic}: {name}");
            names.push(name);
        }
        names.dedup();
        assert_eq!(names.len(), 5);
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1);
    }
}
