//! A file that is ready to be sent, and what is sent in the form of one: packs, listings, trees, pieces.

use std::{fs::File, path::PathBuf, sync::Arc};

use fanfare_node::disk::name::bytes_of;
use fanfare_proto::ObjectKind;

use super::{Stamp, Stamped};
use crate::content::{
    announcement::{Announcement, Details},
    manifest::Manifest,
    pack::{Packed, PackedFiles},
    reach,
    read_at::ReadAt,
    stream::{Fed, StreamSource},
};

/// A file of which this share is zeros is sent on demand. That costs a few round trips, for the
/// requests; a quarter of a file that is long enough to have groups saves more.
const SPARSE_SHARE: u64 = 4;
/// A file that is ready to be sent: open, hashed and named.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Where it is, for messages; `-` for standard input.
    pub path: PathBuf,
    /// Its name for receivers, relative, with `/` between parts.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// BLAKE3 hash of its content.
    pub root: [u8; 32],
    /// The hashes of its groups, when it has more than one.
    pub manifest: Option<Arc<Manifest>>,
    pub(super) mode: Option<u32>,
    pub(super) stamp: Stamp,
    pub(super) content: Content,
    pub(super) again: Option<Retaken>,
}

/// A file that had changed, and was read again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retaken {
    /// The object that was sent of it before.
    pub(super) instead: Option<u16>,
}

/// Where the bytes of an object are.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// In the file at its path.
    File,
    /// In a file that has no path to open again, and is kept open.
    Spooled(Arc<File>),
    /// In many files.
    Pack(Arc<Packed>),
    /// In memory: what the directories hold that are sent.
    Listing(Arc<Vec<u8>>),
    /// In memory: what the directories are beside their files, and how many links there are.
    Tree(Arc<Vec<u8>>, u64),
    /// In memory: a piece of a stream.
    Piece(Box<Fed>),
}

impl SourceFile {
    /// What NORM_INFO says of it.
    #[must_use]
    pub fn announcement(&self) -> Announcement {
        if let Content::Piece(fed) = &self.content {
            let details = Details::of_piece(self.size, self.root, fed.piece.clone());
            return Announcement { name: Vec::new(), details: Some(details) };
        }
        if self.is_listing() {
            let details = Details::of_listing(self.size, self.root, None);
            return Announcement { name: Vec::new(), details: Some(details) };
        }
        if let Content::Tree(_, links) = self.content {
            let details = Details::of_tree(self.size, self.root, links, None);
            return Announcement { name: Vec::new(), details: Some(details) };
        }
        if let Content::Pack(pack) = &self.content {
            let details = Details::of_pack(self.size, self.root, pack.files(), pack.head());
            return Announcement { name: Vec::new(), details: Some(details) };
        }
        let mtime = self.mode.map(|_| self.stamp.mtime().seconds);
        let details = Details::new(self.size, self.root, self.mode, mtime);
        Announcement {
            name: bytes_of(&self.name).into_owned(),
            details: Some(match mtime {
                Some(_) => details.at_nanoseconds(self.stamp.mtime().nanoseconds),
                None => details,
            }),
        }
    }

    /// The same where it is said of a pack, or of a piece of a stream, that only what is asked for will come.
    pub fn announcement_sent(&self, on_demand: bool) -> Announcement {
        let mut announcement = self.announcement();
        if let Some(details) = &mut announcement.details {
            details.on_demand = (self.is_asked_for() && on_demand).then_some(true);
            details.instead = self.again.and_then(|again| again.instead);
        }
        announcement
    }

    /// Whether receivers look for it first where it goes on demand.
    fn is_asked_for(&self) -> bool {
        matches!(self.content, Content::Pack(_) | Content::Piece(_))
    }

    /// Files in it, when it is a pack.
    #[must_use]
    pub fn packed_files(&self) -> Option<u64> {
        match &self.content {
            Content::Pack(pack) => Some(pack.files()),
            _ => None,
        }
    }

    /// Each of them.
    pub fn packed(&self) -> Option<PackedFiles> {
        match &self.content {
            Content::Pack(pack) => Some(PackedFiles(pack.clone())),
            _ => None,
        }
    }

    /// A piece of a stream.
    pub fn piece_of(stream: &StreamSource, fed: Box<Fed>) -> Self {
        let size = fed.bytes.len() as u64;
        Self {
            path: stream.path.clone(),
            name: stream.name.clone(),
            size,
            root: fed.root,
            manifest: None,
            mode: None,
            stamp: Stamp::none(size),
            content: Content::Piece(fed),
            again: None,
        }
    }

    /// What a receipt says of it, bytes and hash; `None` for a piece in the middle of a stream.
    pub fn receipted(&self) -> Option<(u64, [u8; 32])> {
        match &self.content {
            Content::Piece(fed) => fed.piece.end.map(|end| (end.total, end.hash)),
            _ => Some((self.size, self.root)),
        }
    }

    /// Whether it is a piece of a stream.
    pub fn is_piece(&self) -> bool {
        matches!(self.content, Content::Piece(_))
    }

    /// Whether it is the listing, and no file.
    pub fn is_listing(&self) -> bool {
        matches!(self.content, Content::Listing(_))
    }

    /// The first parts of the names of what is in it; none of what comes last.
    pub fn tops(&self) -> impl Iterator<Item = &str> {
        let names = match &self.content {
            Content::Pack(pack) => pack.ends().map(Some),
            Content::File | Content::Spooled(_) => [Some(self.name.as_str()), None],
            _ => [None, None],
        };
        names.into_iter().flatten().map(|name| name.split('/').next().unwrap_or_default())
    }

    /// Whether it is the tree, and no file.
    pub fn is_tree(&self) -> bool {
        matches!(self.content, Content::Tree(..))
    }

    /// Whether it is sent after everything else, and is no file.
    pub fn comes_last(&self) -> bool {
        self.is_listing() || self.is_tree()
    }

    /// Whether so much of it is zeros, by whole groups, that receivers had better ask for the rest.
    pub fn is_sparse(&self) -> bool {
        let runs = self.manifest.as_ref().map(|manifest| manifest.zero_runs()).unwrap_or_default();
        let zeros: u64 = runs.iter().map(|(_, len)| len).sum();
        zeros >= self.size / SPARSE_SHARE && zeros > 0
    }

    /// Files are files on the wire; a pack or a listing is data, so that plain receivers of files let
    /// it be.
    pub fn kind(&self) -> ObjectKind {
        match self.content {
            Content::File | Content::Spooled(_) => ObjectKind::File,
            _ => ObjectKind::Data,
        }
    }

    /// The file that changed, when [`Self::is_unchanged`] says so: itself, or one in the pack.
    #[must_use]
    pub fn changed_path(&self) -> PathBuf {
        match &self.content {
            Content::Pack(pack) => pack.changed().unwrap_or(&self.path).clone(),
            _ => self.path.clone(),
        }
    }

    /// Whether the file is still what was hashed, as far as size and times tell. The files of a
    /// pack are looked at whenever they are read.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        let meta = match &self.content {
            Content::Pack(pack) => return pack.changed().is_none(),
            Content::Listing(_) | Content::Tree(..) | Content::Piece(_) => return true,
            Content::Spooled(file) => file.metadata(),
            Content::File => reach::metadata(&self.path),
        };
        meta.is_ok_and(|meta| Stamp::of(&meta) == self.stamp)
    }

    /// The content for reading; `None` when it is no longer what was hashed.
    pub fn open(&self) -> Option<Arc<dyn ReadAt>> {
        match &self.content {
            Content::Pack(pack) => return Some(pack.clone()),
            Content::Spooled(file) => return Some(file.clone()),
            Content::Listing(bytes) | Content::Tree(bytes, _) => return Some(bytes.clone()),
            Content::Piece(fed) => return Some(fed.bytes.clone()),
            Content::File => {}
        }
        let file = Stamped::open(&self.path, self.stamp).ok()?;
        file.check().ok().map(|()| Arc::new(file) as Arc<dyn ReadAt>)
    }
}
