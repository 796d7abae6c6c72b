//! Writes what this receiver sends to one sender: NACK, ACK(FLUSH), ACK(CC), status and message
//! count, in that order.

use crate::receiver::{
    Local,
    needs::needs_before,
    objects::Objects,
    position::Position,
    remote_sender::RemoteSender,
    request::{self, Coding, ExplicitRepair},
    suppression::Suppression,
};
use crate::{
    config::FeedbackPath,
    congestion::Mode,
    context::Context,
    datagram::Destination,
    explicit_repair,
    roll_call::{RECEPTION_ACK, STATUS_ACK},
    stats::DropReason,
    time::Time,
};
use alloc::vec::Vec;
use fanfare_wire::{
    Ack, AckKind, FlushAck, Nack, RepairRequests, Sequence, ext::Extensions, header::FeedbackFields,
};

impl RemoteSender {
    /// Appends one message to `out` if one is due, and if so much may go where it is to go. One that may
    /// not counts as lost on the way.
    pub(in crate::receiver) fn poll_message(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        status: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<Destination> {
        let start = out.len();
        let destination = self.poll_due(ctx, local, status, out)?;
        if let Destination::Peer(to) = destination
            && !self.reflection.allows(to, out.len() - start)
        {
            out.truncate(start);
            ctx.stats.drop(DropReason::Reflection);
            return None;
        }
        Some(destination)
    }

    fn poll_due(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        status: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<Destination> {
        if self.eviction.is_silent() {
            return None;
        }
        if let Some(limit) = self.nack.due(ctx.now)
            && self.poll_nack(ctx, local, limit, out)
        {
            return Some(self.destination(local));
        }
        let count;
        let mut path = Vec::new();
        let ack = if let Some(reached) = self.ack.poll(ctx.now) {
            ctx.stats.watermarks_acknowledged += 1;
            path = self.path_report();
            AckKind::Flush(FlushAck {
                object_transport_id: reached.object.id(),
                payload_id: reached.payload_id,
            })
        } else if self.feedback.poll(ctx.now, &self.timing) {
            path = self.path_report();
            AckKind::Cc
        } else if self.status.poll(ctx.now) {
            AckKind::Application(STATUS_ACK, self.own_status.as_deref().unwrap_or(status))
        } else if let Some(arrived) = self.reception.poll(ctx.now) {
            count = arrived;
            AckKind::Application(RECEPTION_ACK, &count)
        } else {
            return None;
        };
        self.encode_ack(ctx.now, local, (ack, &path), out);
        ctx.stats.acks_sent += 1;
        Some(self.destination(local))
    }

    fn destination(&self, local: &Local) -> Destination {
        match (local.unicast, self.own_feedback.unwrap_or(local.feedback)) {
            (false, FeedbackPath::Group) if !self.way.is_direct() => Destination::Group,
            // Of whom only others speak, the address is not known.
            _ if self.identity.is_from_peers() => Destination::Group,
            _ => Destination::Peer(self.identity.pinned().source),
        }
    }

    /// The back-off that began at `initiated` is over: speaks, or leaves it to others.
    fn poll_nack(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        initiated: Position,
        out: &mut Vec<u8>,
    ) -> bool {
        let now = ctx.now;
        if self.eviction.asks_nothing() {
            self.nack.satisfied();
            return false;
        }
        let present = self.track.present().unwrap_or(initiated);
        let first = self.objects.as_ref().map(Objects::first_need);
        let Some(first) = first.filter(|first| *first < initiated.max(present)) else {
            self.nack.satisfied();
            return false;
        };
        // What the sender has gone back to will come by itself.
        if first >= present {
            self.squelched.on_asked();
            self.nack.suppressed(now, false);
            return false;
        }
        if self.nack.insists() {
            self.suppression.clear();
        }
        let requests = self.requests(initiated, present);
        if requests.is_empty() {
            ctx.stats.nacks_suppressed += 1;
            self.squelched.on_asked();
            self.nack.suppressed(now, true);
            return false;
        }
        self.encode_nack(now, local, &requests, out);
        if let Some(objects) = &mut self.objects {
            objects.on_asked();
        }
        self.squelched.on_asked();
        ctx.stats.nacks_sent += 1;
        self.nack.sent(now, self.rate.interval());
        self.feedback.on_nack_sent(now, &self.timing);
        self.reception.on_nack_sent(now);
        true
    }

    /// What to request; nothing when others have requested all that was missing at `initiated`.
    fn requests(&self, initiated: Position, present: Position) -> Vec<u8> {
        let (Some(objects), Some(latest)) = (&self.objects, self.coding) else {
            return Vec::new();
        };
        let limit = self.suppression.limit().map_or(present, |limit| limit.min(present));
        let mut needs = needs_before(objects, initiated.min(limit));
        let explicit = self.explicit();
        if needs.all(|need| self.suppression.covers(&need, explicit)) {
            return Vec::new();
        }
        // One NACK speaks of one coding: that of the first object to repair, which need not be the
        // latest.
        let mut needs = needs_before(objects, limit);
        let coding = needs.find_map(|need| need.format().map(Coding::of)).unwrap_or(latest);
        let coding = Coding { explicit, in_full: self.in_full, ..coding };
        match self.in_full {
            // Who answers counts what each lacks.
            true => request::encode(coding, &Suppression::default(), needs_before(objects, limit)),
            false => request::encode(coding, &self.suppression, needs_before(objects, limit)),
        }
    }

    /// By name where nobody has parity; the few of a fast sender that answers each request at once.
    fn explicit(&self) -> ExplicitRepair {
        let fast = || {
            self.nack.is_answered_at_once(&self.timing)
                && explicit_repair::is_fast(self.rate.interval())
        };
        match self.explicitly {
            true => ExplicitRepair::All,
            false if fast() => ExplicitRepair::Few,
            false => ExplicitRepair::Parity,
        }
    }

    fn encode_nack(&mut self, now: Time, local: &Local, requests: &[u8], out: &mut Vec<u8>) {
        let path = self.path_report();
        let nack = Nack {
            feedback: self.fields(now, local),
            extensions: extension_area(&path),
            requests: RepairRequests::default(),
        };
        let cc = self.feedback.report(self.measured(), &self.timing);
        nack.encode(self.feedback.is_wanted().then_some(&cc), requests, out);
    }

    /// EXT_PATH, when the sender wants it and there is something to tell.
    fn path_report(&mut self) -> Vec<u8> {
        let mut area = Vec::new();
        if self.feedback.mode() == Mode::Path
            && let Some(report) = self.path.report()
        {
            report.append(&mut area);
        }
        area
    }

    /// ACK(FLUSH) and ACK(CC) carry EXT_CC, ACK(FLUSH) the application's bytes as well.
    fn encode_ack(
        &self,
        now: Time,
        local: &Local,
        (kind, path): (AckKind<'_>, &[u8]),
        out: &mut Vec<u8>,
    ) {
        let cc = self.feedback.report(self.measured(), &self.timing);
        let (cc, app) = match kind {
            AckKind::Cc => (Some(&cc), None),
            AckKind::Flush(_) => {
                (Some(&cc), (!self.ack_content.is_empty()).then_some(&self.ack_content[..]))
            }
            AckKind::Application(..) => (None, None),
        };
        let feedback = self.fields(now, local);
        let ack = Ack { feedback, kind, ack_id: 0, extensions: extension_area(path) };
        ack.encode(cc, app, out);
    }

    /// The sequence is zero, as NRL's receivers have it.
    fn fields(&self, now: Time, local: &Local) -> FeedbackFields {
        FeedbackFields {
            sequence: Sequence(0),
            source_id: local.node_id,
            server_id: self.id,
            instance_id: self.identity.pinned().instance,
            grtt_response: self.feedback.grtt_response(now),
        }
    }
}

/// An extension of our own, if there is one, as what an encoder takes.
fn extension_area(bytes: &[u8]) -> Extensions<'_> {
    Extensions::parse(bytes).unwrap_or_default()
}
