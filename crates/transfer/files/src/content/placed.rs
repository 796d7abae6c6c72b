//! A file in its place.

use std::io;

use fanfare_node::disk::{
    directory::How,
    name::{NameError, SafeName},
};
use fanfare_udp::os::io::Errno;

use crate::content::receipt::Reason;

/// A file in its final place, on disk for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Its name below the directory.
    pub name: SafeName,
    /// Bytes.
    pub size: u64,
    /// BLAKE3 hash of its content.
    pub hash: [u8; 32],
    /// Whether the sender announced that hash; plain NORM senders announce none.
    pub verified: bool,
    /// Whether it is new, replaced another one, stands beside one, or was there.
    pub how: How,
    /// Why the file does not have the name its sender gave.
    pub name_rejected: Option<NameError>,
    /// That name, where something else stands in its way.
    pub displaced: Option<SafeName>,
}

impl Placed {
    /// It was in its place before; nothing was written.
    #[must_use]
    pub fn is_already(&self) -> bool {
        self.how == How::Already
    }

    /// What keeps it from being where its sender meant it to be.
    #[must_use]
    pub fn misplaced(&self) -> Option<Reason> {
        match self.name_rejected {
            Some(_) => Some(Reason::NameRejected),
            None if self.how == How::Beside => Some(Reason::KeptBeside),
            None => None,
        }
    }
}

/// The name of what cannot have the one it was sent with.
#[must_use]
pub fn unnamed(hash: &[u8; 32]) -> SafeName {
    let hex = blake3::Hash::from_bytes(*hash).to_hex();
    SafeName::own(format!("unnamed-{}", &hex[..16]))
}

/// The name of what is to have another one, with something in the way of that.
#[must_use]
pub fn displaced(name: &SafeName, hash: &[u8; 32]) -> SafeName {
    let of = blake3::Hasher::new().update(hash).update(name.to_string().as_bytes()).finalize();
    unnamed(of.as_bytes())
}

/// Something is where the file, or one of its directories, is to be.
#[must_use]
pub fn is_in_the_way(error: &io::Error) -> bool {
    // openat2 says XDEV where a path would leave the directory.
    let in_the_way = [Errno::NOTDIR, Errno::LOOP, Errno::EXIST, Errno::NAMETOOLONG, Errno::XDEV];
    error.kind() == io::ErrorKind::AlreadyExists
        || Errno::from_io_error(error).is_some_and(|errno| in_the_way.contains(&errno))
}
