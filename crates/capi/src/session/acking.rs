//! Watermarks: who is asked, and who has acknowledged.

use std::collections::BTreeMap;

use fanfare_proto::{NodeId, WatermarkOutcome};

use crate::{
    handle::Handle,
    instance::desk::{Desk, Event},
    kinds::{AckingStatus, EventType},
};

use super::{Session, node::Node};

/// Nobody: asked in its place, all is flushed, and no answer is expected.
pub(crate) const NODE_NONE: NodeId = NodeId(0);
/// All of them together.
pub(crate) const NODE_ANY: NodeId = NodeId(u32::MAX);

/// A node that is asked.
#[derive(Debug)]
struct Asked {
    status: AckingStatus,
    /// What its program answered.
    answer: Option<Vec<u8>>,
    node: Handle,
}

/// Who is asked, and of what.
#[derive(Debug, Default)]
pub(crate) struct Acking {
    nodes: BTreeMap<NodeId, Asked>,
    /// The object of the watermark.
    object: Handle,
    state: Option<AckingStatus>,
    /// All that were asked have answered, and the flush has not ended yet.
    awaits_flush: bool,
}

impl Acking {
    pub(crate) fn stop(&mut self) {
        (self.object, self.state, self.awaits_flush) = (Handle::NULL, None, false);
        self.nodes.values_mut().for_each(|asked| asked.status = AckingStatus::Invalid);
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

    /// How far a node is; all of them for `NODE_ANY`.
    pub(crate) fn status(&self, node: NodeId) -> AckingStatus {
        match node {
            NODE_ANY => self.state.unwrap_or(AckingStatus::Failure),
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

    fn settle(&mut self) {
        let failed = |asked: &Asked| asked.status == AckingStatus::Failure;
        let any = self.nodes.values().any(failed);
        self.state = Some(if any { AckingStatus::Failure } else { AckingStatus::Success });
        self.awaits_flush = false;
    }
}

impl Session {
    /// Asks this node from now on. False when there are too many.
    pub(crate) fn add_acking_node(&mut self, desk: &mut Desk, id: NodeId) -> bool {
        if id == NODE_ANY {
            return false;
        }
        if self.acking.nodes.contains_key(&id) {
            return true;
        }
        let Some(node) = self.node(desk, id, None) else { return false };
        let pending = self.acking.state == Some(AckingStatus::Pending);
        let status = if pending { AckingStatus::Pending } else { AckingStatus::Invalid };
        self.acking.nodes.insert(id, Asked { status, answer: None, node });
        if pending && id != NODE_NONE {
            self.sending.proto.sender().add_acking_node(id);
        }
        true
    }

    /// No longer asks it.
    pub(crate) fn remove_acking_node(&mut self, id: NodeId) {
        if self.acking.nodes.remove(&id).is_some() {
            self.sending.proto.sender().remove_acking_node(id);
        }
    }

    /// The handle of a node, which is made where there is none.
    pub(crate) fn node(
        &mut self,
        desk: &mut Desk,
        id: NodeId,
        address: Option<std::net::SocketAddr>,
    ) -> Option<Handle> {
        let known = self.by_node.get(&id).copied();
        if let Some((known, node)) =
            known.and_then(|known| Some((known, desk.nodes.get_mut(known)?)))
        {
            node.address = address.or(node.address);
            return Some(known);
        }
        let handle = desk.nodes.insert(Node::new(self.handle, id, address))?;
        self.by_node.insert(id, handle);
        Some(handle)
    }

    /// Asks all acking nodes to acknowledge this object, and all before it.
    pub(crate) fn set_watermark(
        &mut self,
        desk: &mut Desk,
        object: Handle,
        question: Option<Vec<u8>>,
    ) -> bool {
        let Some(known) = desk.objects.get(object).filter(|known| !known.is_incoming()) else {
            return false;
        };
        let id = known.key.object;
        self.purge_watermark(desk);
        let nodes: Vec<NodeId> =
            self.acking.nodes.keys().copied().filter(|node| *node != NODE_NONE).collect();
        if !self.sending.proto.sender().set_watermark_at(id, &nodes, question) {
            return false;
        }
        for asked in self.acking.nodes.values_mut() {
            (asked.status, asked.answer) = (AckingStatus::Pending, None);
        }
        self.acking.object = object;
        self.acking.state = (!self.acking.nodes.is_empty()).then_some(AckingStatus::Pending);
        self.acking.awaits_flush = self.acking.state.is_some() && nodes.is_empty();
        // With nobody to answer the flush is all there is.
        self.tx.flushing = object;
        true
    }

    fn purge_watermark(&mut self, desk: &mut Desk) {
        let (own, kind) = (self.handle, EventType::TxWatermarkCompleted);
        desk.purge(|event: &Event| event.kind == kind && event.session == own);
    }

    /// Asks those once more who have not answered.
    pub(crate) fn reset_watermark(&mut self, desk: &mut Desk) -> bool {
        let object = self.acking.object;
        let Some(known) = desk.objects.get(object) else { return false };
        let id = known.key.object;
        self.purge_watermark(desk);
        let open = |asked: &&mut Asked| asked.status != AckingStatus::Success;
        let mut nodes = Vec::new();
        for (node, asked) in &mut self.acking.nodes {
            if let Some(asked) = Some(asked).filter(open) {
                asked.status = AckingStatus::Pending;
                nodes.extend(Some(*node).filter(|node| *node != NODE_NONE));
            }
        }
        if !self.sending.proto.sender().set_watermark_at(id, &nodes, None) {
            return false;
        }
        self.acking.state = Some(AckingStatus::Pending);
        self.acking.awaits_flush = nodes.is_empty();
        true
    }

    /// Asks nobody any more.
    pub(crate) fn cancel_watermark(&mut self, desk: &mut Desk) {
        self.purge_watermark(desk);
        self.sending.proto.sender().cancel_watermark();
        self.acking.stop();
    }

    /// A node has acknowledged.
    pub(super) fn on_acknowledged(&mut self, id: NodeId, answer: Vec<u8>) {
        if let Some(asked) = self.acking.nodes.get_mut(&id) {
            asked.status = AckingStatus::Success;
            asked.answer = (!answer.is_empty()).then_some(answer);
        }
    }

    /// All have answered, or were given up.
    pub(super) fn on_watermark_done(
        &mut self,
        desk: &mut Desk,
        outcomes: &[(NodeId, WatermarkOutcome)],
    ) {
        for (id, outcome) in outcomes {
            if let Some(asked) = self.acking.nodes.get_mut(id) {
                asked.status = match outcome {
                    WatermarkOutcome::Acknowledged => AckingStatus::Success,
                    WatermarkOutcome::Unanswered => AckingStatus::Failure,
                };
            }
        }
        if self.acking.nodes.contains_key(&NODE_NONE) {
            self.acking.awaits_flush = true;
        } else {
            self.end_watermark(desk);
        }
    }

    /// The flush has ended: whoever need not answer counts as one who has.
    pub(super) fn on_flushed(&mut self, desk: &mut Desk) {
        if !std::mem::take(&mut self.acking.awaits_flush) {
            return;
        }
        if let Some(asked) = self.acking.nodes.get_mut(&NODE_NONE) {
            asked.status = AckingStatus::Success;
        }
        self.end_watermark(desk);
    }

    fn end_watermark(&mut self, desk: &mut Desk) {
        if self.acking.state == Some(AckingStatus::Pending) {
            self.acking.settle();
            let object = self.acking.object;
            self.tell(desk, EventType::TxWatermarkCompleted, Handle::NULL, object);
        }
    }
}
