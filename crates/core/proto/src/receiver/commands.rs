//! Dispatches a sender's commands to the machines that they concern (RFC 5740 4.2.3).

use super::{
    Local,
    ack::Watermark,
    join::Heard,
    objects::Objects,
    position::{ObjectIndex, Position, Track},
    remote_sender::RemoteSender,
    squelch::SquelchPatience,
    watermark::Reached,
};
use crate::{context::Context, event::Event, roll_call::RollCall, stats::DropReason, time::Time};
use fanfare_wire::{
    Cmd, NodeId, RepairRequests, Sequence,
    cmd::{Application, Flush, RepairAdv, Squelch},
    ext::ExtCc,
};

/// NORM_REPAIR_ADV_FLAG_LIMIT (RFC 5740 4.2.3.5): more was asked than found room.
const CUT: u8 = 0x01;

impl RemoteSender {
    pub(super) fn on_cmd(&mut self, ctx: &mut Context<'_>, local: &Local, cmd: &Cmd<'_>) {
        match cmd {
            Cmd::Flush(flush) => self.on_flush(ctx, local, flush),
            Cmd::Eot(eot) => self.on_end(ctx, local, eot.sender.sequence),
            Cmd::Squelch(squelch) => self.on_squelch(ctx, local, squelch),
            Cmd::Cc(cc) => {
                let state = (&self.timing, self.measured());
                if self.feedback.on_probe(ctx.now, cc, local.node_id, state, ctx.rng) {
                    self.reflection.on_named();
                    self.eviction.on_addressed();
                }
            }
            Cmd::RepairAdv(adv) => self.on_repair_adv(ctx.now, adv),
            Cmd::AckReq(_) => {}
            Cmd::Application(command) => self.on_application(ctx, local, command),
        }
    }

    fn on_squelch(&mut self, ctx: &mut Context<'_>, local: &Local, squelch: &Squelch<'_>) {
        let fec_id = squelch.payload_id.fec_id;
        let field = self.field(squelch.object_transport_id, fec_id, None);
        let grtt = self.timing.grtt;
        if let Some(objects) = &mut self.objects {
            let asks = !(local.config.silent || self.eviction.asks_nothing());
            let patience = SquelchPatience { grtt, asks };
            self.squelched.on_squelch(ctx, objects, squelch, field, patience);
        }
        if let Some(doubted) = self.squelched.last_doubted() {
            // A sender that has it answers.
            let limit = Position { object: doubted.next(), block: 0 };
            self.want(ctx.now, ctx.rng, local, limit);
        }
    }

    /// The sender tells what it was asked by unicast: it counts as overheard.
    fn on_repair_adv(&mut self, now: Time, adv: &RepairAdv<'_>) {
        let cut = adv.flags & CUT != 0;
        let cc = adv.extensions.cc();
        self.on_overheard(now, (self.id, cc.as_ref()), Some((&adv.requests, cut)));
    }

    /// The roll call is ours to answer; all else is the application's.
    fn on_application(&mut self, ctx: &mut Context<'_>, local: &Local, command: &Application<'_>) {
        let Some(call) = RollCall::parse(command.content) else {
            let content = command.content.to_vec();
            return ctx.events.push(Event::Command { sender: self.id, content });
        };
        self.speaks = true;
        self.note_called(call.content);
        self.reception.on_roll_call();
        self.nack.on_roll_call();
        let said = call.gives_up(local.node_id);
        if self.eviction.on_roll_call(ctx.now, said, self.timing.grtt) {
            ctx.events.push(Event::Evicted { sender: self.id });
        }
        if local.has_status {
            self.status.on_roll_call(ctx.now, &call, local.node_id, ctx.rng);
        }
    }

    /// The first call is believed at once. Two in a row must say what is new.
    fn note_called(&mut self, content: &[u8]) {
        if self.called.as_deref() == Some(content) {
            self.called_otherwise = None;
        } else if self.called.is_none() || self.called_otherwise.as_deref() == Some(content) {
            (self.called, self.called_otherwise) = (Some(content.to_vec()), None);
        } else {
            self.called_otherwise = Some(content.to_vec());
        }
    }

    fn on_flush(&mut self, ctx: &mut Context<'_>, local: &Local, flush: &Flush<'_>) {
        let asked = flush.acking_nodes.contains(local.node_id);
        let heard = if asked { Heard::AskedToAcknowledge } else { Heard::Middle };
        let fec_id = flush.payload_id.fec_id;
        let Some(object) = self.locate(ctx, local, flush.object_transport_id, heard) else {
            return;
        };
        self.note_coding(fec_id);
        self.squelched.on_flush(object);
        self.deny_later(ctx, local, object);
        let Some(objects) = &mut self.objects else { return };
        objects.unfinished.on_flush(object);
        if flush.payload_id.as_bytes().iter().all(|&byte| byte == 0xff) {
            // NRL's name for the end of an empty object: its INFO is all there is to request.
            objects.hear_of(object, true);
        }
        let field = self.field(flush.object_transport_id, fec_id, None);
        let id = flush.payload_id.unpack(field);
        let open = self.objects.as_mut().and_then(|objects| objects.open_mut(object));
        let id = open.map_or(id, |open| open.on_stream_flush(id, local.config.join));
        let block = self.within(object, id.block);
        if asked {
            self.eviction.on_addressed();
            let watermark = Watermark { object, payload_id: flush.payload_id };
            let delay = self.timing.ack_delay(self.feedback.sending(), ctx.rng);
            let reached = self.reached(local, watermark);
            let question = flush.extensions.app_ack().map(|question| question.content);
            if self.is_answered(ctx, (watermark, question), reached) {
                self.ack.on_flush(ctx.now, watermark, reached == Reached::Yes, delay);
            }
            if reached == Reached::Unconfirmed {
                self.status.at_work(ctx.now + delay);
            }
        }
        let position = Position::after(object, block);
        self.track.moved(position);
        self.want(ctx.now, ctx.rng, local, position);
    }

    /// A flush names this object as the last. Where others speak for a sender, they may have heard more
    /// of it than it still has.
    fn deny_later(&mut self, ctx: &mut Context<'_>, local: &Local, last: ObjectIndex) {
        let Some(objects) = &mut self.objects else { return };
        if objects.newest() <= last {
            self.unsent.contradict();
        } else if !local.config.outlive_senders && self.unsent.on_flush(ctx.now, last) {
            objects.forget_after(ctx, last);
            self.track = Track::default();
            self.nack.satisfied();
        }
    }

    fn on_end(&mut self, ctx: &mut Context<'_>, local: &Local, sequence: Sequence) {
        let lacks = |objects: &Objects| !local.config.outlive_senders && objects.lacks();
        let lacking = self.objects.as_ref().is_some_and(lacks);
        if !self.farewell.on_end(ctx.now, sequence, self.timing.grtt, lacking) {
            return ctx.stats.drop(DropReason::Unconfirmed);
        }
        self.leave(ctx, local);
    }

    /// It has left.
    pub(super) fn leave(&mut self, ctx: &mut Context<'_>, local: &Local) {
        if self.eviction.on_end() {
            ctx.events.push(Event::Evicted { sender: self.id });
        }
        if let Some(objects) = self.objects.as_mut().filter(|_| !local.config.outlive_senders) {
            objects.abort_lacking(ctx);
        }
        self.inactivity.end();
        self.gone = true;
        ctx.events.push(Event::SenderEnded { sender: self.id });
    }

    /// Others' feedback to this sender: who says it, EXT_CC, and what was requested (cut to fit, or all).
    pub(super) fn on_overheard(
        &mut self,
        now: Time,
        (node, cc): (NodeId, Option<&ExtCc>),
        requests: Option<(&RepairRequests<'_>, bool)>,
    ) {
        if let Some(cc) = cc {
            self.feedback.on_overheard(now, (node, cc), self.measured(), &self.timing);
        }
        if let (Some((requests, cut)), Some(objects), Some(coding), true) =
            (requests, &self.objects, self.coding, self.nack.listens())
        {
            self.suppression.hear(objects.newest(), coding.field, requests, cut);
        }
    }
}
