//! What receivers say: how it stands with them, and in the end that they hold everything.

use crate::content::receipt::{Failure, State, Status};
use fanfare_proto::{NodeId, Session, Time, WatermarkOutcome};

use super::{Expect, SendJob, peers::News};
use crate::event::Outbox;

use crate::event::{Outcome, Receipt, SendEvent, Signed, TransferEvent};

/// Receivers of one name that may slow a sender down: one, and itself when it is started again twice.
const NAMESAKES: usize = 3;

impl SendJob {
    pub(super) fn on_status(
        &mut self,
        now: Time,
        session: &mut Session,
        node: NodeId,
        status: &[u8],
        out: &mut Outbox,
    ) {
        let Some(status) = Status::parse(status) else { return };
        let known = self.peers.is_known(node);
        let news = self.heed(now, node, &status);
        if self.is_expected(&status.name) {
            session.sender().heed(node);
        }
        self.on_receiver(now, session, node, !known);
        self.tell(session, node, &news, out);
        self.judge_resigned(now, session, node, &status);
    }

    /// Who says for long that something could not be had, or that it has not begun, and does nothing
    /// more, is not waited for.
    fn judge_resigned(&mut self, now: Time, session: &mut Session, node: NodeId, status: &Status) {
        let all_sent = self.queue.is_last_watermark() && self.queue.is_passed();
        let ready = status.state == State::Ready;
        let ours = (ready || status.about == Some(self.about)) && self.peers.is_open(node);
        if all_sent && ours && self.resigned.on_status(now, node, status) {
            session.sender().remove_acking_node(node);
            let held = self.files_held(node);
            let partial = Outcome::Partial { held, failures: [].into() };
            self.peers.settle(now, node, if ready { Outcome::Unanswered } else { partial });
        }
    }

    /// Whether a name is expected, and not yet borne by many: a receiver that was started again bears it a
    /// second time.
    fn is_expected(&self, name: &str) -> bool {
        let Expect::Names(names) = &self.options.expect else { return false };
        names.iter().any(|expected| expected == name) && self.peers.bearers(name) <= NAMESAKES
    }

    /// In a carousel that enqueues anew, what failed may come in the next round: only failures of
    /// the last one, once all of it is under way, settle a receiver.
    fn heed(&mut self, now: Time, node: NodeId, status: &Status) -> News {
        let queue = &self.queue;
        if queue.nonce().is_some_and(|nonce| status.proves(nonce, self.about, node)) {
            self.peers.prove(node);
        }
        let mut status = status.clone();
        status.failures.retain(|failure| !queue.is_withdrawn(failure.object));
        let status = &status;
        if !queue.is_anew() {
            return self.peers.on_status(now, node, status, self.about, queue.objects());
        }
        let is_last = queue.is_last_watermark();
        let counts = |failure: &Failure| is_last && queue.is_of_last_round(failure.object);
        self.peers.on_status_of_round(now, node, status, self.about, (queue.total, &counts))
    }

    fn tell(&self, session: &mut Session, node: NodeId, news: &News, out: &mut Outbox) {
        for (object, reason) in &news.reported {
            let name = self.queue.name_of(*object);
            let receiver = self.peers.view(node);
            let reported = SendEvent::Reported { receiver, name, reason: *reason };
            out.push(TransferEvent::Send(reported));
        }
        if news.settled {
            session.sender().remove_acking_node(node);
        }
    }

    /// Only the acknowledgement of everything says what a receiver holds in the end.
    pub(super) fn on_acknowledged(
        &mut self,
        now: Time,
        session: &mut Session,
        node: NodeId,
        app: &[u8],
        out: &mut Outbox,
    ) {
        let status = Status::parse(app);
        if let Some(status) = &status {
            let news = self.heed(now, node, status);
            self.tell(session, node, &news, out);
        }
        self.stalls.on_acknowledged(node);
        if !self.is_proved(node, status.as_ref()) {
            return self.on_unproved(now, session, (node, status.as_ref()), out);
        }
        if !self.queue.is_last_watermark() || !self.peers.is_open(node) {
            return;
        }
        let outcome = match &status {
            None if self.options.accept_plain => Outcome::Complete,
            None => Outcome::Unverified,
            Some(s) if s.about == Some(self.about) && s.digest == self.queue.expected.digest() => {
                Outcome::Complete
            }
            Some(_) => Outcome::Partial { held: self.files_held(node), failures: [].into() },
        };
        let outcome = if outcome == Outcome::Complete {
            if let Some(status) = &status {
                self.tell_signature(node, status, out);
            }
            self.issue_receipts(now, node, out);
            // It holds everything, but not all of it where it was meant to be.
            let misplaced = self.peers.has_misplaced(node);
            let held = self.files_held(node);
            if misplaced { Outcome::Partial { held, failures: [].into() } } else { outcome }
        } else {
            outcome
        };
        self.peers.settle(now, node, outcome);
    }

    /// Whether an acknowledgement comes from who has heard this transfer. A plain NORM receiver cannot
    /// say so; one of ours has told its status before.
    fn is_proved(&self, node: NodeId, status: Option<&Status>) -> bool {
        let Some(nonce) = self.queue.nonce() else { return true };
        match status {
            None => !self.peers.is_ours(node),
            Some(status) => status.proves(nonce, self.about, node) && self.is_trusted(node, status),
        }
    }

    /// Whether the receiver of its name has signed it, where that is asked for. Signatures cost 60 us:
    /// they are looked at after everything else is right, and only in the end.
    fn is_trusted(&self, node: NodeId, status: &Status) -> bool {
        let Some(trusted) = &self.options.trusted else { return true };
        let Some(nonce) = self.queue.nonce().filter(|_| self.queue.is_last_watermark()) else {
            return true;
        };
        let signer = status.signer(nonce, node);
        signer.is_some_and(|key| trusted.believes(&status.name, &key))
    }

    /// Tells the receiver's own signature, by which the receipts can be verified later.
    fn tell_signature(&self, node: NodeId, status: &Status, out: &mut Outbox) {
        let Some(nonce) = self.queue.nonce() else { return };
        let (Some(key), Some(signature)) = (status.signer(nonce, node), status.signature) else {
            return;
        };
        out.push(TransferEvent::Send(SendEvent::Signed(Signed {
            receiver: self.peers.view(node),
            key,
            signature,
            nonce,
            about: self.about,
            objects: self.queue.expected.roots().collect(),
        })));
    }

    fn on_unproved(
        &mut self,
        now: Time,
        session: &mut Session,
        (node, status): (NodeId, Option<&Status>),
        out: &mut Outbox,
    ) {
        if self.peers.is_known(node) && !self.peers.is_open(node) {
            // It is known how that one ends: who is asked once more is waited for.
            return;
        }
        if self.unproved.ask_again(now, node) {
            session.sender().remove_acking_node(node);
            session.sender().add_acking_node(node);
        } else {
            self.peers.settle(now, node, Outcome::Unproved);
            let key = self.queue.nonce().zip(status).and_then(|(nonce, s)| s.signer(nonce, node));
            let revoked = |key| self.options.trusted.as_ref().and_then(|t| t.find(key));
            let revoked = key.as_ref().and_then(revoked).is_some_and(|entry| entry.revoked);
            if self.options.trusted.is_some() {
                let receiver = self.peers.view(node);
                let refused = SendEvent::KeyRefused { receiver, key, revoked };
                out.push(TransferEvent::Send(refused));
            }
        }
    }

    /// Manifests are held before their files.
    fn files_held(&self, node: NodeId) -> u64 {
        self.peers.held(node).saturating_sub(self.queue.manifests())
    }

    fn issue_receipts(&self, now: Time, node: NodeId, out: &mut Outbox) {
        let in_place = |id: u16| self.peers.has_in_place(node, id);
        let withdrawn = |id: u16| self.queue.is_withdrawn(id);
        let objects = self.queue.sent.iter().filter(|object| !object.is_manifest);
        let objects = objects.filter(|object| !withdrawn(object.key.object.0));
        for object in objects.filter(|object| in_place(object.key.object.0)) {
            let Some((bytes, hash)) = object.file.receipted() else { continue };
            out.push(TransferEvent::Send(SendEvent::Receipt(Receipt {
                receiver: self.peers.view(node),
                object: object.key.object.0,
                file: object.file.name.clone(),
                hash,
                bytes,
                packed: object.file.packed(),
                elapsed: now.since(self.started),
            })));
        }
    }

    pub(super) fn on_watermark_done(&mut self, now: Time, outcomes: &[(NodeId, WatermarkOutcome)]) {
        for (node, outcome) in outcomes {
            if *outcome == WatermarkOutcome::Unanswered {
                self.peers.settle(now, *node, Outcome::Unanswered);
            }
        }
        self.queue.on_watermark_done();
    }
}
