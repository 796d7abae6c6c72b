//! The node's monitor: it is told what the node knows of itself and of who hears whom, and its notes go out
//! as frames. Without one nothing is measured and nothing is sent.

use super::GroupNode;
use crate::monitor::{Facts, Hearing, Monitor};
use crate::{
    frames::frame::Kind,
    membership::delivery_ratio::DeliveryRatio,
    monitoring::{HEARING_EACH, LOOKS},
};
use alloc::vec::Vec;
use fanfare_proto::{NodeId, Time};
use fanfare_wire::ext::Extensions;

impl GroupNode {
    /// What the nodes of the group tell of themselves, if this node has a monitor.
    #[must_use]
    pub fn monitor(&self) -> Option<&Monitor> {
        self.monitoring.as_ref().map(|monitoring| &monitoring.monitor)
    }

    /// What the driver knows of this machine: its processors, memory and battery.
    pub fn set_host_facts(&mut self, facts: Facts) {
        if let Some(monitoring) = &mut self.monitoring {
            monitoring.host = facts;
        }
    }

    /// What others call this node.
    pub fn set_name(&mut self, name: &str) {
        let now = self.now;
        if let Some(monitoring) = &mut self.monitoring {
            monitoring.monitor.set_name(now, name);
        }
    }

    /// Who hears whom, in sevenths: this node by its own count, others by their announcements.
    #[must_use]
    pub fn hearing(&self) -> Vec<(NodeId, NodeId, u8)> {
        self.members.hearing(self.now)
    }

    pub(super) fn watch_itself(&mut self) {
        let now = self.now;
        if !self.monitoring.as_ref().is_some_and(|monitoring| monitoring.is_due(now)) {
            return;
        }
        let session = self.session_stats();
        let own: Vec<u8> = self.members.own_hearing(now).map(|(_, sevenths)| sevenths).collect();
        let Some(monitoring) = &mut self.monitoring else { return };
        let said = self.stats.note_bytes_sent;
        let (sent, received) = (session.bytes_sent, session.bytes_received);
        let bytes = (sent.saturating_sub(said), received.saturating_sub(monitoring.heard_notes));
        let (sent, received) = monitoring.rates(now, bytes);
        let arrives: u32 = own.iter().map(|sevenths| u32::from(*sevenths)).sum();
        let most = own.len() as f64 * f64::from(DeliveryRatio::ALL.bits());
        let facts = Facts {
            sent: Some(sent),
            received: Some(received),
            loss: (most > 0.0).then(|| 1.0 - f64::from(arrives) / most),
            hears: Some(u8::try_from(own.len()).unwrap_or(u8::MAX)),
            ..monitoring.host
        };
        monitoring.monitor.set_facts(now, facts);
        monitoring.monitor.handle_timeout(now);
        if monitoring.told_hearing.is_none_or(|at| now.since(at) >= HEARING_EACH) {
            monitoring.told_hearing = Some(now);
            monitoring.monitor.set_hearing(Hearing::of(self.members.hearing(now)));
        }
    }

    /// A note that is due.
    pub(super) fn poll_note(&mut self, buf: &mut Vec<u8>) -> bool {
        let now = self.now;
        let note = self.monitoring.as_mut().and_then(|m| m.monitor.poll_note(now));
        let Some(note) = note else { return false };
        let kind = (Kind::Note, Extensions::default());
        self.write_frame(kind, |_, out| out.extend_from_slice(&note), buf);
        self.stats.notes_sent += 1;
        self.stats.note_bytes_sent += buf.len() as u64;
        true
    }

    pub(super) fn on_note(&mut self, from: NodeId, bytes: &[u8]) {
        self.stats.notes_heard += 1;
        let (now, headers) = (self.now, self.frame_headers());
        if let Some(monitoring) = &mut self.monitoring {
            monitoring.heard_notes += (bytes.len() + headers) as u64;
            monitoring.monitor.on_note(now, from, bytes);
        }
    }

    pub(super) fn next_note(&self) -> Option<Time> {
        let monitoring = self.monitoring.as_ref()?;
        let look = monitoring.looked.plus(LOOKS);
        Some(look.min(monitoring.monitor.next_timeout()))
    }

    /// What is new of the nodes that are known.
    pub fn poll_monitor(&mut self) -> Option<crate::monitor::Event> {
        self.monitoring.as_mut()?.monitor.poll_event()
    }
}
