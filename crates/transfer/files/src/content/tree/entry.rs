//! What is said of each directory, link and file.

use fanfare_node::disk::Mtime;

/// What travels of a file or directory beyond name, content, permissions and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Carried {
    /// User and group, by number.
    pub owner: bool,
    /// Extended attributes other than ACLs, among them capabilities.
    pub attributes: bool,
    /// POSIX ACLs.
    pub acls: bool,
    /// The set-user-ID, set-group-ID and sticky bits.
    pub special_bits: bool,
}

impl Carried {
    /// All of it.
    pub const ALL: Self = Self { owner: true, attributes: true, acls: true, special_bits: true };

    /// Whether there is any.
    #[must_use]
    pub fn any(self) -> bool {
        self != Self::default()
    }

    /// As it travels.
    pub(super) fn bits(self) -> u8 {
        let of = |is: bool, bit: u8| if is { bit } else { 0 };
        of(self.owner, 1) | of(self.attributes, 2) | of(self.acls, 4) | of(self.special_bits, 8)
    }

    pub(super) fn from_bits(bits: u8) -> Option<Self> {
        let is = |bit: u8| bits & bit != 0;
        let carried = Self { owner: is(1), attributes: is(2), acls: is(4), special_bits: is(8) };
        (bits < 16).then_some(carried)
    }

    /// Whether entries have a list of attributes.
    pub(super) fn has_attributes(self) -> bool {
        self.attributes || self.acls
    }

    /// What both have.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            owner: self.owner && other.owner,
            attributes: self.attributes && other.attributes,
            acls: self.acls && other.acls,
            special_bits: self.special_bits && other.special_bits,
        }
    }

    /// The permissions that are set: of the special bits only those that are carried.
    pub(super) fn mode_mask(self) -> u32 {
        if self.special_bits { 0o7777 } else { 0o777 }
    }
}

/// User and group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) user: u32,
    pub(super) group: u32,
}

/// An extended attribute: its name, with its namespace, and its value.
pub(super) type Attribute = (Vec<u8>, Vec<u8>);

/// What a file or directory has beside its content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Properties {
    /// Permission bits; a link has none.
    pub(super) mode: Option<u32>,
    /// A file's travels with it.
    pub(super) mtime: Option<Mtime>,
    pub(super) owner: Option<Owner>,
    pub(super) attributes: Vec<Attribute>,
}

/// The name under which a file with several was sent, and by what it is known again: where another file
/// keeps that name, it is not that one which gets a second name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct First {
    /// Its text.
    pub(super) name: String,
    /// Bytes.
    pub(super) size: u64,
    pub(super) mtime: Mtime,
}

/// What an entry is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    /// With what it points to.
    Link(Vec<u8>),
    /// One more name of a file.
    HardLink(First),
    File,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The text of its name.
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) properties: Properties,
}
