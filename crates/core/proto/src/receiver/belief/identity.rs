//! Decides whether a message belongs to a known sender and to which of its instances, and when the
//! driver is told of a sender.

use crate::receiver::{
    RemoteSenders,
    join::Heard,
    objects::Objects,
    pinned_identity::{Identity, Verdict},
    remote_sender::RemoteSender,
};
use crate::{
    congestion::{loss::LossMeter, path::PathMeter},
    context::Context,
    datagram::RecvMeta,
    event::{AbortReason, Event},
    peer_repair::Incarnation,
    stats::DropReason,
};
use fanfare_wire::{Data, FieldSize, Message, ObjectFlags, header::SenderFields};

impl RemoteSenders {
    /// Whose message it is, in which instance, if it is to be believed. A confirmed new address is adopted, a confirmed new instance
    /// begun.
    pub(in crate::receiver) fn admit(
        &mut self,
        ctx: &mut Context<'_>,
        meta: &RecvMeta,
        sender: &SenderFields,
    ) -> Option<Incarnation> {
        let said = (sender.source_id, sender.instance_id);
        let in_view = self.senders.contains(said).then_some(said);
        let Some(incarnation) = in_view.or_else(|| self.senders.current(said.0)) else {
            if !self.make_place(ctx, said) {
                ctx.stats.drop(DropReason::TooManySenders);
                return None;
            }
            self.senders.insert(said, RemoteSender::new(&self.local, ctx.now, meta, sender));
            return Some(said);
        };
        let identity = Identity { source: meta.source, instance: sender.instance_id };
        let known = self.senders.at_mut(incarnation)?;
        let pinned = known.identity.clone();
        let silent = self
            .local
            .config
            .replaced_after
            .is_some_and(|silence| known.gone || ctx.now.since(known.heard) >= silence);
        match known.identity.check(ctx.now, identity, known.timing.grtt, silent) {
            Verdict::Known => {}
            Verdict::Moved => known.measure_anew(),
            Verdict::Disowned => known.disown(ctx, &self.local),
            Verdict::Refused(reason) => {
                ctx.stats.drop(reason);
                return None;
            }
            Verdict::Restarted => {
                let announced = known.announced;
                known.identity = pinned;
                self.begin_incarnation(ctx, (incarnation, said), (meta, sender));
                if announced {
                    let (sender, instance) = said;
                    ctx.events.push(Event::SenderReset { sender, instance });
                }
            }
        }
        self.senders.set_current(said);
        Some(said)
    }

    /// Keeps which object was the first of an instance that is not believed yet: when it is, it counts from
    /// there, and not from what is heard then.
    pub(in crate::receiver) fn note_claim(
        &mut self,
        meta: &RecvMeta,
        sender: &SenderFields,
        message: &Message<'_>,
    ) {
        let (id, heard) = match message {
            Message::Info(info) => (info.object_transport_id, Heard::of(info.flags, true)),
            Message::Data(data) => (data.object_transport_id, data_heard(data)),
            _ => return,
        };
        let identity = Identity { source: meta.source, instance: sender.instance_id };
        let known = self.senders.current(sender.source_id);
        let Some(known) = known.and_then(|known| self.senders.at_mut(known)) else { return };
        let is_next = known.identity.pinned().instance != identity.instance;
        let is_first = known.claim.is_none_or(|(who, first)| who != identity || id.precedes(first));
        if heard == Heard::Beginning && is_next && is_first {
            known.claim = Some((identity, id));
        }
    }

    /// A node has restarted with a new instance id. What it had published before others may still have: where that is so, and
    /// something of it is here whole, its earlier instance stays in view. It also stays where something of it is under way and
    /// another host says that it is the next: then both are followed, and the true one, when it is heard again, goes on.
    fn begin_incarnation(
        &mut self,
        ctx: &mut Context<'_>,
        (before, incarnation): (Incarnation, Incarnation),
        (meta, sender): (&RecvMeta, &SenderFields),
    ) {
        let mut new = RemoteSender::new(&self.local, ctx.now, meta, sender);
        let rivals = self.senders.at(before).is_some_and(|old| old.is_rival(meta));
        let stays = rivals || self.local.config.outlive_senders;
        let stays = stays && self.make_place(ctx, incarnation);
        let identity = Identity { source: meta.source, instance: incarnation.1 };
        let claim = self.senders.at(before).and_then(|old| old.claim);
        if let Some((_, first)) = claim.filter(|(who, _)| *who == identity) {
            // What it has begun while it was not believed is asked for.
            let _ = new.join(ctx, &self.local, first, Heard::Beginning);
        }
        if let Some(old) = self.senders.at_mut(before) {
            if !rivals {
                new.follow(old);
            }
            if !(stays && (rivals || old.has_whole())) {
                self.let_go(ctx, before);
            }
        }
        self.senders.insert(incarnation, new);
    }
}

/// What DATA of an instance that is not believed yet says of its object.
fn data_heard(data: &Data<'_>) -> Heard {
    // The size of its fields is not known yet. With the longer ones this is true of the first 256 symbols.
    let first = data.payload_id.unpack(FieldSize::M8).block.0 == 0;
    Heard::of(data.flags, first || data.flags.has(ObjectFlags::STREAM))
}

impl RemoteSender {
    /// Its messages come by another path now. What was measured of the last one, and what was missed until
    /// this one was believed, says nothing of it: a sender that heeded that would become as slow as it can.
    pub(in crate::receiver) fn measure_anew(&mut self) {
        (self.path, self.loss) = (PathMeter::default(), LossMeter::new());
    }

    /// It is the next instance of this one.
    pub(in crate::receiver) fn follow(&mut self, before: &Self) {
        self.ack_content.clone_from(&before.ack_content);
        self.announced = before.announced;
    }

    /// Another host says that it is the next instance of this one, which still has something to give.
    fn is_rival(&self, meta: &RecvMeta) -> bool {
        let lacking = self.objects.as_ref().is_some_and(Objects::lacks);
        lacking && !self.gone && self.identity.pinned().source.ip() != meta.source.ip()
    }

    /// Nothing of it will come any more.
    pub(in crate::receiver) fn abandon(&mut self, ctx: &mut Context<'_>) {
        // Of one that nobody has heard of, nothing is told.
        if let Some(objects) = self.objects.as_mut().filter(|_| self.announced) {
            objects.abort_all(ctx, AbortReason::SenderGone);
        }
    }

    /// Objects of it that are here whole.
    pub(in crate::receiver) fn whole_objects(&self) -> usize {
        self.objects.as_ref().map_or(0, |objects| objects.whole().count())
    }

    /// Whether there are any.
    pub(in crate::receiver) fn has_whole(&self) -> bool {
        self.objects.as_ref().is_some_and(|objects| objects.whole().next().is_some())
    }

    /// Tells the driver of the sender, once it is more than one stray datagram.
    pub(in crate::receiver) fn announce(&mut self, ctx: &mut Context<'_>, now: bool) {
        if !self.announced && self.speaks && (now || self.identity.is_established()) {
            self.announced = true;
            let Identity { source, instance } = self.identity.pinned();
            ctx.events.push(Event::SenderNew { sender: self.id, instance, source });
        }
    }
}
