//! An object as a program sees it: of its own, or of a remote sender.

use std::path::PathBuf;

use fanfare_proto::ObjectKey;

use crate::{handle::Handle, kinds::ObjectType};

use super::in_stream::InStream;
use super::out_stream::OutStream;
use super::store::Body;

/// What stands behind a NormObjectHandle.
#[derive(Debug)]
pub struct Object {
    pub(crate) session: Handle,
    pub(crate) key: ObjectKey,
    pub(crate) kind: ObjectType,
    /// Who sends it; null for an object of this node.
    pub(crate) sender: Handle,
    /// NORM_INFO, once it is here.
    pub(crate) info: Option<Vec<u8>>,
    /// It has one, here or not.
    pub(crate) has_info: bool,
    pub(crate) size: u64,
    pub(crate) user_data: usize,
    /// The engine knows it.
    pub(crate) live: bool,
    /// All of it is here.
    pub(crate) whole: bool,
    /// Bytes received when the program was told last.
    pub(crate) told: u64,
    pub(crate) holds: Holds,
    pub(crate) outgoing: Option<Box<OutStream>>,
    pub(crate) incoming: Option<Box<InStream>>,
    /// Where the program's own bytes are, which are sent.
    pub(crate) given: usize,
    /// Where the file is, or was.
    pub(crate) path: Option<PathBuf>,
    /// What was received, when the engine has done with it.
    pub(crate) body: Option<Body>,
}

impl Object {
    pub(crate) fn new(session: Handle, key: ObjectKey, kind: ObjectType, size: u64) -> Self {
        Self {
            session,
            key,
            kind,
            sender: Handle::NULL,
            info: None,
            has_info: false,
            size,
            user_data: 0,
            live: true,
            whole: false,
            told: 0,
            holds: Holds::default(),
            outgoing: None,
            incoming: None,
            given: 0,
            path: None,
            body: None,
        }
    }

    pub(crate) fn is_incoming(&self) -> bool {
        !self.sender.is_null()
    }
}

/// What keeps a handle valid.
#[derive(Debug, Clone, Copy, Default)]
pub struct Holds {
    /// The program has retained it so often more than it has released it.
    pub(crate) retained: u32,
    /// Events that name it: waiting, and the one that was fetched last.
    pub(crate) events: u32,
}

impl Holds {
    pub(crate) fn is_free(self) -> bool {
        self.retained == 0 && self.events == 0
    }
}
