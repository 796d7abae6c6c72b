//! Many small files as one object, so that neither the wire nor the receipts pay for each of them.
//!
//! ```text
//! "FNPK" | version, 8 bits | groups, 24 bits big-endian | index length, 32 bits big-endian
//! index: CBOR array of entries, see `index`
//! BLAKE3 hash of each group: of 64 KiB of what follows
//! bytes of all files, in the order of the index
//! ```
//! A pack is an object of kind DATA whose announcement has no name: to a reader of C strings it is
//! nameless, and plain NORM receivers keep files only, or keep it as it is.
//!
//! What is ahead of the files is the head; its length and hash are announced.
//!
//! - `index`: names, sizes, permissions and times, each beside the one before
//! - `format`: the bytes before the index, and how much is believed
//! - `packer`: small files gathered into packs; `alone`: one of a long name; `packed`: a pack that is read from its files;
//!   `retake`: those files as they are now
//! - `unpack`: a verified pack becomes files on disk; `staging`: where they wait until
//!   synced; `graft`: new directories as a whole
//! - `head`: reading it; `rebuild`: what of a pack is on disk already
//! - `leftover`: packs that a killed receiver had under way; `part_name`: what their parts are called
//! - `samples`: packs of a few bytes, for tests

mod alone;
mod format;
mod graft;
mod head;
mod index;
mod leftover;
mod packed;
mod packer;
mod part_name;
mod rebuild;
mod retake;
#[cfg(test)]
pub mod samples;
mod staging;
mod unpack;

pub(crate) use alone::alone;
pub(crate) use format::is_long;
pub use leftover::recover;
pub(crate) use packed::{Finished, Packed, Root};
pub use packed::{PackedFile, PackedFiles};
pub(crate) use packer::{Packer, Rest, Taken};
pub use part_name::{PACK_PART, pack_part_name};
pub use rebuild::{fill, wrong};
pub use staging::Staging;
pub use unpack::{Staged, Unpacked, stage};
