//! A tree as bytes, entry by entry.

use fanfare_node::disk::{Mtime, name::shared_bytes};

use super::{
    MAGIC, VERSION,
    entry::{Carried, Entry, Kind},
};
use crate::content::varint;

/// Builds a tree.
#[derive(Debug, Default)]
pub(super) struct Writer {
    carried: Carried,
    entries: u64,
    bytes: Vec<u8>,
    before: String,
}

impl Writer {
    pub(super) fn new(carried: Carried) -> Self {
        Self { carried, ..Self::default() }
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds an entry after the others.
    pub(super) fn push(&mut self, entry: &Entry) {
        let shared = shared_bytes(&self.before, &entry.name);
        let rest = &entry.name.as_bytes()[shared..];
        varint::put(&mut self.bytes, (shared as u64) << 2 | bits(&entry.kind));
        self.put_bytes(rest);
        if let Kind::HardLink(of) = &entry.kind {
            self.put_bytes(of.name.as_bytes());
            varint::put(&mut self.bytes, of.size);
            self.put_time(of.mtime);
        } else {
            self.put_properties(entry);
        }
        if let Kind::Link(target) = &entry.kind {
            self.put_bytes(target);
        }
        self.before.clone_from(&entry.name);
        self.entries += 1;
    }

    fn put_properties(&mut self, entry: &Entry) {
        let properties = &entry.properties;
        if !matches!(entry.kind, Kind::Link(_)) {
            varint::put(&mut self.bytes, properties.mode.unwrap_or_default().into());
        }
        if entry.kind != Kind::File {
            self.put_time(properties.mtime.unwrap_or_default());
        }
        if let Some(owner) = properties.owner.filter(|_| self.carried.owner) {
            varint::put(&mut self.bytes, owner.user.into());
            varint::put(&mut self.bytes, owner.group.into());
        }
        if self.carried.has_attributes() && !matches!(entry.kind, Kind::Link(_)) {
            varint::put(&mut self.bytes, properties.attributes.len() as u64);
            for (name, value) in &properties.attributes {
                self.put_bytes(name);
                self.put_bytes(value);
            }
        }
    }

    fn put_time(&mut self, Mtime { seconds, nanoseconds }: Mtime) {
        varint::put(&mut self.bytes, zigzag(seconds));
        varint::put(&mut self.bytes, nanoseconds.into());
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        varint::put(&mut self.bytes, bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// The bytes of its object; `None` where there is no entry.
    pub(super) fn finish(self) -> Option<Vec<u8>> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([VERSION, self.carried.bits()]);
        varint::put(&mut bytes, self.entries);
        bytes.extend_from_slice(&self.bytes);
        (self.entries > 0).then_some(bytes)
    }
}

fn bits(kind: &Kind) -> u64 {
    match kind {
        Kind::Directory => 0,
        Kind::Link(_) => 1,
        Kind::HardLink(_) => 2,
        Kind::File => 3,
    }
}

/// Small numbers of either sign become small ones without.
fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}
