//! A tree that has come, entry by entry. Nothing is believed but what fits together.

use std::io::{self, Read};

use fanfare_node::disk::{Mtime, name::SafeName};

use super::{
    ATTRIBUTE_MAX, ATTRIBUTE_NAME_MAX, ATTRIBUTES_MAX, MAGIC, NAME_MAX, TARGET_MAX, VERSION,
    entry::{Attribute, Carried, Entry, First, Kind, Owner, Properties},
};
use crate::content::varint;

/// Reads a tree. Holds the entry it stands on, and no more. What does not fit together is an error
/// of the kind `InvalidData` or `UnexpectedEof`.
#[derive(Debug)]
pub(super) struct TreeReader<R> {
    input: R,
    carried: Carried,
    /// Entries to come.
    left: u64,
    before: String,
}

impl<R: Read> TreeReader<R> {
    /// Begins before the first entry.
    pub(super) fn open(mut input: R) -> io::Result<Self> {
        let mut head = [0; MAGIC.len() + 2];
        input.read_exact(&mut head)?;
        let [m0, m1, m2, m3, version, classes] = head;
        let carried = Carried::from_bits(classes).ok_or_else(malformed)?;
        if [m0, m1, m2, m3] != MAGIC || version != VERSION {
            return Err(malformed());
        }
        let left = varint::read(&mut input)?;
        Ok(Self { input, carried, left, before: String::new() })
    }

    /// What the sender carries.
    pub(super) fn carried(&self) -> Carried {
        self.carried
    }

    /// The next entry; `None` after the last.
    pub(super) fn next(&mut self) -> io::Result<Option<Entry>> {
        let Some(left) = self.left.checked_sub(1) else {
            return match self.input.read(&mut [0])? {
                0 => Ok(None),
                _ => Err(malformed()),
            };
        };
        self.left = left;
        let head = varint::read(&mut self.input)?;
        let shared = usize::try_from(head >> 2).map_err(|_| malformed())?;
        let start = self.before.get(..shared).ok_or_else(malformed)?.to_owned();
        let name = start + &self.text(NAME_MAX)?;
        if name.len() > NAME_MAX || SafeName::check(&name).is_err() {
            return Err(malformed());
        }
        self.before.clone_from(&name);
        let entry = match head & 3 {
            2 => {
                let (of, size) = (self.text(NAME_MAX)?, varint::read(&mut self.input)?);
                let kind = Kind::HardLink(First { name: of, size, mtime: self.time()? });
                Entry { name, kind, properties: Properties::default() }
            }
            1 => {
                let properties = self.properties((false, true))?;
                let target = self.bytes(TARGET_MAX)?;
                if target.is_empty() || target.contains(&0) {
                    return Err(malformed());
                }
                Entry { name, kind: Kind::Link(target), properties }
            }
            kind => {
                let is_directory = kind == 0;
                let properties = self.properties((true, is_directory))?;
                let kind = if is_directory { Kind::Directory } else { Kind::File };
                Entry { name, kind, properties }
            }
        };
        Ok(Some(entry))
    }

    fn properties(&mut self, (has_mode, has_time): (bool, bool)) -> io::Result<Properties> {
        let mode = has_mode.then(|| self.number(0o7777)).transpose()?;
        let mtime = has_time.then(|| self.time()).transpose()?;
        let owner = self.carried.owner.then(|| self.owner()).transpose()?;
        let has_attributes = has_mode && self.carried.has_attributes();
        let attributes = if has_attributes { self.attributes()? } else { Vec::new() };
        Ok(Properties { mode, mtime, owner, attributes })
    }

    fn time(&mut self) -> io::Result<Mtime> {
        let zigzag = varint::read(&mut self.input)?;
        let seconds = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        Ok(Mtime { seconds, nanoseconds: self.number(999_999_999)? })
    }

    fn owner(&mut self) -> io::Result<Owner> {
        // The largest number is no user's: chown(2) takes it for none.
        let max = u32::MAX - 1;
        Ok(Owner { user: self.number(max)?, group: self.number(max)? })
    }

    fn attributes(&mut self) -> io::Result<Vec<Attribute>> {
        let count = varint::read(&mut self.input)?;
        if count > ATTRIBUTES_MAX {
            return Err(malformed());
        }
        // Nothing is reserved for what is only promised.
        let mut attributes = Vec::new();
        for _ in 0..count {
            let name = self.bytes(ATTRIBUTE_NAME_MAX)?;
            if name.is_empty() || name.contains(&0) {
                return Err(malformed());
            }
            attributes.push((name, self.bytes(ATTRIBUTE_MAX)?));
        }
        Ok(attributes)
    }

    fn number(&mut self, max: u32) -> io::Result<u32> {
        let number = varint::read(&mut self.input)?;
        u32::try_from(number).ok().filter(|number| *number <= max).ok_or_else(malformed)
    }

    fn text(&mut self, max: usize) -> io::Result<String> {
        String::from_utf8(self.bytes(max)?).map_err(|_| malformed())
    }

    fn bytes(&mut self, max: usize) -> io::Result<Vec<u8>> {
        let len = varint::read(&mut self.input)?;
        let len = usize::try_from(len).ok().filter(|len| *len <= max).ok_or_else(malformed)?;
        let mut bytes = vec![0; len];
        self.input.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

fn malformed() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

#[cfg(test)]
mod tests;
