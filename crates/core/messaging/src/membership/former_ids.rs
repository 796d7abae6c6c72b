//! Ids that this node had in earlier lives, and for how long it tells others.

use alloc::vec::Vec;
use fanfare_proto::{Duration, NodeId, Time};
use fanfare_wire::ext::ExtFormer;

/// Time for which they are named: who comes later has never heard of them.
const NAMED: Duration = Duration::from_secs(60);
/// Time for which they are named again, for who comes later and asks.
const NAMED_AGAIN: Duration = Duration::from_secs(10);
/// Announcements at the beginning that follow each other soon, since each may be lost, or the answer to it;
const SOON: u8 = 3;
/// and by how much.
const EACH: Duration = Duration::from_secs(1);

/// Ids that this node had before.
#[derive(Debug, Default)]
pub(crate) struct FormerIds {
    /// The newest first, at most [`ExtFormer::MAX`].
    ids: Vec<NodeId>,
    until: Time,
    soon: u8,
}

impl FormerIds {
    /// It begins at `now`, as `own`.
    pub(crate) fn new(now: Time, own: NodeId, formers: impl IntoIterator<Item = NodeId>) -> Self {
        let mut others: Vec<NodeId> = Vec::new();
        for former in formers.into_iter().filter(|former| *former != own) {
            if others.len() < ExtFormer::MAX && !others.contains(&former) {
                others.push(former);
            }
        }
        Self { ids: others, until: now + NAMED, soon: SOON }
    }

    /// Somebody has come who has to know: they are named for a moment more.
    pub(crate) fn on_newcomer(&mut self, now: Time) {
        self.until = self.until.max(now + NAMED_AGAIN);
    }

    /// Ids to be named in an announcement at `now`.
    pub(crate) fn named(&self, now: Time) -> &[NodeId] {
        if now < self.until { &self.ids } else { &[] }
    }

    /// Something was heard of a node: it is there, beside this one.
    pub(crate) fn on_heard(&mut self, node: NodeId) {
        self.ids.retain(|former| *former != node);
    }

    /// An announcement names them. Gives when they are to be named again at the latest, if soon.
    pub(crate) fn on_named(&mut self, now: Time) -> Option<Time> {
        self.soon = self.soon.saturating_sub(1);
        (self.soon > 0).then(|| now + EACH)
    }
}
