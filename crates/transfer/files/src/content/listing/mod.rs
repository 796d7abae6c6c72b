//! What the directories that are sent hold, by which receivers know what else they have beneath
//! them.
//!
//! ```text
//! "FNLS" | version, 8 bits | entries, varint | entries
//! entry: shared << 2 | kind, varint | length, varint | rest of the name
//! name  = the first `shared` bytes of the name before, then the rest
//! kind  = 0 file, 1 empty directory, 2 empty directory that is not sent, 3 anything else
//! ```
//! A varint is LEB128 of at most 64 bits. Names begin with that of their directory as it was named to
//! be sent, its *root*, and are in the order of a walk, part by part: so a receiver goes through
//! them and its own directories side by side, and neither side holds more than it stands on.
//! Directories with something in them are not listed, they are in the names. An empty root cannot be
//! said: whatever else goes wrong, it is never a reason to remove everything.
//!
//! It travels as the last object, of kind DATA and without a name, like a pack. Its announcement
//! says which objects a receiver must hold before it acts on it.
//!
//! - `lister`: made while the directories are walked; `reader`: read again, entry by entry
//! - `tree`: directories here, by descriptors; `comparison`: both, side by side
//! - `extras`: counted, or removed; `removal`: from a received listing to what came of it

mod clearing;
mod comparison;
mod extras;
mod instead;
mod lister;
mod reader;
mod removal;
mod tree;

pub(crate) use clearing::DirectoryClearing;
pub use instead::DisplacedFiles;
pub(crate) use lister::Lister;
pub use lister::ListingError;
pub(crate) use removal::now;
pub use removal::{Deleted, Limits, Outcome, Removal, Step};

/// First bytes of every listing.
const MAGIC: [u8; 4] = *b"FNLS";
/// Format that this program writes and reads.
const VERSION: u8 = 1;
/// Longest listing that is sent or believed, bytes: ten million names that differ from the one
/// before in some ten bytes.
pub(crate) const LISTING_MAX: usize = 128 << 20;
/// Longest text of a name that is believed: a byte that is no UTF-8 stands there as four.
const NAME_MAX: usize = 4 * fanfare_node::disk::name::NAME_MAX;

/// What a name stands for at the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A file, which was sent.
    File,
    /// An empty directory, which was sent.
    Directory,
    /// An empty directory, which was not: a receiver need not have it.
    UnsentDirectory,
    /// Anything that is not sent as a file: a link, another name of a file, a pipe, or what has a name that
    /// receivers do not take. Links and other names come with the tree, which is acted on after the
    /// listing. If something of that name is here, it stays with everything in it.
    Other,
}

impl Kind {
    fn from_bits(bits: u64) -> Self {
        match bits & 3 {
            0 => Self::File,
            1 => Self::Directory,
            2 => Self::UnsentDirectory,
            _ => Self::Other,
        }
    }

    fn bits(self) -> u64 {
        match self {
            Self::File => 0,
            Self::Directory => 1,
            Self::UnsentDirectory => 2,
            Self::Other => 3,
        }
    }
}
