//! Watermarks: who is asked, and what is told of it.

use super::{
    Session,
    acking::{Asked, NODE_ANY, NODE_NONE},
    node::Node,
};
use crate::{
    handle::Handle,
    instance::desk::{Desk, Event},
    kinds::{AckingStatus, EventType},
};
use fanfare_proto::{NodeId, WatermarkOutcome};

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
        // Also before any watermark, as with NRL's.
        let status = AckingStatus::Pending;
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
        self.acking.state = Some(AckingStatus::Pending);
        self.acking.awaits_flush = nodes.is_empty();
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
        self.acking.cancel();
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

    /// All was sent: a watermark that nobody is asked for is reached. NRL's does not wait for the flush.
    pub(super) fn end_unasked_watermark(&mut self) {
        if self.acking.awaits_flush && self.acking.nodes.is_empty() {
            self.acking.settle();
        }
    }

    fn end_watermark(&mut self, desk: &mut Desk) {
        if self.acking.state == Some(AckingStatus::Pending) {
            self.acking.settle();
            let object = self.acking.object;
            if self.acking.nodes.is_empty() {
                // Nobody was asked: only the end of the flush is told.
                return;
            }
            self.tell(desk, EventType::TxWatermarkCompleted, Handle::NULL, object);
        }
    }
}
