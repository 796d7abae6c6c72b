//! Who is asked to acknowledge a watermark, and who has.

use std::collections::BTreeMap;

use fanfare_proto::NodeId;

use crate::{handle::Handle, kinds::AckingStatus};

/// Nobody: asked in its place, all is flushed, and no answer is expected.
pub(crate) const NODE_NONE: NodeId = NodeId(0);
/// All of them together.
pub(crate) const NODE_ANY: NodeId = NodeId(u32::MAX);

/// A node that is asked.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) status: AckingStatus,
    /// What its program answered.
    pub(super) answer: Option<Vec<u8>>,
    pub(super) node: Handle,
}

/// Who is asked, and of what.
#[derive(Debug, Default)]
pub(crate) struct Acking {
    pub(super) nodes: BTreeMap<NodeId, Asked>,
    /// The object of the watermark.
    pub(super) object: Handle,
    pub(super) state: Option<AckingStatus>,
    /// All that were asked have answered, and the flush has not ended yet.
    pub(super) awaits_flush: bool,
}

impl Acking {
    /// Nobody is asked any more. Whoever has answered has answered.
    pub(crate) fn cancel(&mut self) {
        (self.object, self.state, self.awaits_flush) = (Handle::NULL, None, false);
    }

    pub(crate) fn stop(&mut self) {
        self.cancel();
        self.nodes.values_mut().for_each(|asked| asked.status = AckingStatus::Pending);
    }

    pub(crate) fn is_pending_at(&self, object: Handle) -> bool {
        self.object == object && self.state == Some(AckingStatus::Pending)
    }

    pub(crate) fn has_failed_at(&self, object: Handle) -> bool {
        self.object == object && self.state == Some(AckingStatus::Failure)
    }

    /// Whether one of its nodes has this handle.
    pub(crate) fn names(&self, node: Handle) -> bool {
        self.nodes.values().any(|asked| asked.node == node)
    }

    /// State of a node's acknowledgement; all of them for `NODE_ANY`. Without nodes all have acknowledged, and a node that
    /// was not asked yet has not.
    pub(crate) fn status(&self, node: NodeId) -> AckingStatus {
        match node {
            NODE_ANY if self.state == Some(AckingStatus::Pending) => AckingStatus::Pending,
            NODE_ANY => self.outcome(),
            node => self.nodes.get(&node).map_or(AckingStatus::Invalid, |asked| asked.status),
        }
    }

    /// The first node behind this one, by its id.
    pub(crate) fn next_after(&self, node: NodeId) -> Option<(NodeId, AckingStatus)> {
        let mut behind =
            self.nodes.range((std::ops::Bound::Excluded(node), std::ops::Bound::Unbounded));
        behind.find(|(id, _)| **id != NODE_NONE).map(|(id, asked)| (*id, asked.status))
    }

    /// What a node's program answered.
    pub(crate) fn answer(&self, node: NodeId) -> Option<&[u8]> {
        self.nodes.get(&node)?.answer.as_deref()
    }

    pub(crate) fn node(&self, node: NodeId) -> Option<Handle> {
        self.nodes.get(&node).map(|asked| asked.node)
    }

    pub(super) fn settle(&mut self) {
        self.state = Some(self.outcome());
        self.awaits_flush = false;
    }

    fn outcome(&self) -> AckingStatus {
        let has = |asked: &Asked| asked.status == AckingStatus::Success;
        match self.nodes.values().all(has) {
            true => AckingStatus::Success,
            false => AckingStatus::Failure,
        }
    }
}
