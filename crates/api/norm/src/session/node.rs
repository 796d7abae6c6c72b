//! A remote node as a program sees it: a sender, or a receiver that acknowledges.

use std::{collections::VecDeque, net::SocketAddr};

use fanfare_proto::{NodeId, Time};

use crate::handle::Handle;

use super::object::Holds;

/// Commands of a sender that wait for the program: later ones are dropped.
pub(crate) const COMMANDS_MAX: usize = 256;

/// What stands behind a NormNodeHandle.
#[derive(Debug)]
pub struct Node {
    pub(crate) session: Handle,
    pub(crate) id: NodeId,
    pub(crate) address: Option<SocketAddr>,
    pub(crate) user_data: usize,
    /// It is in view.
    pub(crate) live: bool,
    pub(crate) holds: Holds,
    pub(crate) commands: VecDeque<Vec<u8>>,
    /// What it asks with a watermark.
    pub(crate) question: Option<Vec<u8>>,
    /// Its GRTT was told, and the program has not looked at it since.
    pub(crate) grtt_told: bool,
    /// It has been silent since then.
    pub(crate) inactive: Option<Time>,
    /// It was told as a sender; and so for a command alone.
    pub(crate) greeted: bool,
    pub(crate) commanded: bool,
}

impl Node {
    /// As a sender it is new when it is heard again. Gives its id.
    pub(crate) fn forget(&mut self) -> NodeId {
        (self.greeted, self.commanded) = (false, false);
        self.id
    }

    pub(crate) fn new(session: Handle, id: NodeId, address: Option<SocketAddr>) -> Self {
        Self {
            session,
            id,
            address,
            user_data: 0,
            live: true,
            holds: Holds::default(),
            commands: VecDeque::new(),
            question: None,
            grtt_told: false,
            inactive: None,
            greeted: false,
            commanded: false,
        }
    }
}
