//! What a tree is beside its files: directories with their permissions and times, links, and, where
//! both sides ask for it, owners, extended attributes, ACLs and the set-user-ID bits.
//!
//! ```text
//! "FNTR" | version, 8 bits | classes, 8 bits | entries, varint | entries
//! entry: shared << 2 | kind, varint | length, varint | rest of the name
//!   directory:  permissions, time, owner, attributes
//!   link:       time, owner, length and bytes of what it points to
//!   hard link:  length and text of the name that it is one with, that file's size and time
//!   file:       permissions, owner, attributes
//! permissions = varint; time = seconds since 1970, zigzag varint, and nanoseconds, varint
//! owner       = user and group, varints, only with class 1
//! attributes  = their number, and length and bytes of each name and value, only with class 2 or 4
//! ```
//! A varint is LEB128. The name is the first `shared` bytes of the name before, then the rest. Classes
//! are a sum: 1 owners, 2 extended attributes, 4 ACLs, 8 set-user-ID, set-group-ID and sticky bits.
//! Directories stand before what is in them. Files have an entry only where there is a class: content,
//! permissions and time travel with the file itself.
//!
//! It travels after everything else, of kind DATA and without a name, and a receiver acts on it once
//! all files are in their place: what is put into a directory would change its time.
//!
//! - `entry`: what is said of each; `writer`: as bytes; `reader`: from bytes, nothing believed
//! - `target`: where a link leads; `collector`: what the sender finds
//! - `attributes`: extended attributes of an open file
//! - `restoration`: from a received tree to what came of it; `apply`: entry by entry; `place`: links
//!   get their names; `properties`: permissions, owners and times

mod apply;
mod attributes;
mod collector;
mod entry;
mod place;
mod properties;
mod reader;
mod restoration;
mod target;
mod writer;

pub(crate) use collector::Collector;
pub use entry::Carried;
pub use restoration::{Restoration, Restored, Rules};
pub(crate) use target::stays_inside;

/// First bytes of every tree.
const MAGIC: [u8; 4] = *b"FNTR";
/// Format that this program writes and reads.
const VERSION: u8 = 1;
/// Longest tree that is sent or believed, bytes: some five million directories and links.
pub(crate) const TREE_MAX: usize = 128 << 20;
/// Longest text of a name that is believed: a byte that is no UTF-8 stands there as four.
const NAME_MAX: usize = 4 * fanfare_node::disk::name::NAME_MAX;
/// Longest thing that a link can point to: linux/limits.h, `PATH_MAX`, less its NUL.
const TARGET_MAX: usize = 4095;
/// Longest name of an attribute: linux/limits.h, `XATTR_NAME_MAX`.
const ATTRIBUTE_NAME_MAX: usize = 255;
/// Longest value of one: linux/limits.h, `XATTR_SIZE_MAX`.
const ATTRIBUTE_MAX: usize = 64 << 10;
/// Most attributes of one file that are believed: linux/limits.h has room for 64 KiB of names.
const ATTRIBUTES_MAX: u64 = 1024;
