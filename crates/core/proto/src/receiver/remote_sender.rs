//! What this node knows of one remote sender. It owns the machines and passes each message to those
//! that need it.

use super::question::Question;
use super::{
    Local,
    ack::WatermarkAck,
    decode::Decoder,
    eviction::Eviction,
    farewell::Farewell,
    feedback::{Feedback, Measured},
    inactivity::{Inactivity, Silence},
    nack::{NackCycle, NackPath},
    objects::Objects,
    pinned_identity::{Confirmation, Identity, PinnedIdentity},
    position::{Position, Track},
    reception::Reception,
    reflection::Reflection,
    request::Coding,
    squelch::Squelched,
    status::Status,
    suppression::Suppression,
    timing::Timing,
    unsent::Unsent,
    way::Way,
};
use crate::{
    config::{FeedbackPath, Nacking},
    congestion::{
        Mode,
        loss::{LossMeter, PathState},
        path::PathMeter,
        receive_rate::ReceiveRate,
    },
    context::Context,
    datagram::{Ecn, RecvMeta},
    event::Event,
    peer_repair::Incarnation,
    rng::Rng,
    time::{Duration, Time},
    timer::Timer,
};
use alloc::vec::Vec;
use fanfare_wire::{
    Cmd, Message, NodeId, ObjectTransportId, Sequence, ext::ExtTime, header::SenderFields,
};

/// One remote sender.
#[derive(Debug)]
pub(super) struct RemoteSender {
    pub(super) id: NodeId,
    pub(super) identity: PinnedIdentity,
    pub(super) timing: Timing,
    pub(super) heard: Time,
    /// `None` before the synchronisation point.
    pub(super) objects: Option<Objects>,
    pub(super) track: Track,
    pub(super) way: Way,
    pub(super) nack: NackCycle,
    pub(super) suppression: Suppression,
    pub(super) ack: WatermarkAck,
    pub(super) ack_content: Vec<u8>,
    pub(super) status: Status,
    /// What it is told instead of what all are told.
    pub(super) own_status: Option<Vec<u8>>,
    pub(super) feedback: Feedback,
    pub(super) loss: LossMeter,
    pub(super) rate: ReceiveRate,
    pub(super) path: PathMeter,
    pub(super) reception: Reception,
    pub(super) coding: Option<Coding>,
    pub(super) decoder: Decoder,
    pub(super) inactivity: Inactivity,
    pub(super) squelched: Squelched,
    pub(super) unsent: Unsent,
    pub(super) jump: Confirmation<ObjectTransportId>,
    /// Who says that it is the next instance, and the first object that it has begun since.
    pub(super) claim: Option<(Identity, ObjectTransportId)>,
    pub(super) farewell: Farewell,
    /// It has said good-bye: nothing can be asked of it any more.
    pub(super) gone: bool,
    pub(super) eviction: Eviction,
    /// It has said more than commands of some application: it sends objects, or is about to.
    pub(super) speaks: bool,
    /// Content of its roll calls. Only our senders of files call.
    pub(super) called: Option<Vec<u8>>,
    /// Content of the last one, where that was something else.
    pub(super) called_otherwise: Option<Vec<u8>>,
    pub(super) announced: bool,
    /// What is missing is requested by name, so that others than the sender can answer.
    pub(super) explicitly: bool,
    /// A NACK tells all that is missing, also what others have requested.
    pub(super) in_full: bool,
    /// What is requested of its objects that are to begin.
    pub(super) nacking: Nacking,
    /// Where feedback to it goes, where that is not as to all others.
    pub(super) own_feedback: Option<FeedbackPath>,
    pub(super) question: Question,
    pub(super) reflection: Reflection,
}

impl RemoteSender {
    pub(super) fn new(local: &Local, now: Time, source: &RecvMeta, sender: &SenderFields) -> Self {
        let identity = Identity { source: source.source, instance: sender.instance_id };
        let path = match (local.unicast, local.feedback) {
            (true, _) => NackPath::Unicast,
            (false, FeedbackPath::Sender) => NackPath::Sender,
            (false, FeedbackPath::Group) => NackPath::Group,
        };
        Self {
            id: sender.source_id,
            identity: PinnedIdentity::new(identity),
            timing: Timing::new(local.unicast, &local.config, sender),
            heard: now,
            objects: None,
            track: Track::default(),
            way: Way::default(),
            nack: NackCycle::new(path),
            suppression: Suppression::default(),
            ack: WatermarkAck::default(),
            ack_content: Vec::new(),
            status: Status::default(),
            own_status: None,
            feedback: Feedback::new(local.unicast),
            loss: LossMeter::new(),
            rate: ReceiveRate::new(),
            path: PathMeter::default(),
            reception: Reception::new(local.overruns),
            coding: None,
            decoder: Decoder::new(local.config.matrix),
            inactivity: Inactivity::new(now, local.config.robust_factor),
            squelched: Squelched::default(),
            unsent: Unsent::default(),
            jump: Confirmation::default(),
            claim: None,
            farewell: Farewell::default(),
            gone: false,
            eviction: Eviction::default(),
            speaks: false,
            called: None,
            called_otherwise: None,
            announced: false,
            explicitly: false,
            in_full: false,
            nacking: local.config.nacking,
            own_feedback: None,
            question: Question::default(),
            reflection: Reflection::default(),
        }
    }

    /// Who it is, in which instance.
    pub(super) fn incarnation(&self) -> Incarnation {
        (self.id, self.identity.pinned().instance)
    }

    /// A message of this sender.
    pub(super) fn on_message(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        meta: &RecvMeta,
        message: &Message<'_>,
        bytes: usize,
    ) {
        let sender = match message {
            Message::Info(info) => &info.sender,
            Message::Data(data) => &data.sender,
            Message::Cmd(cmd) => cmd.sender(),
            Message::Nack(_) | Message::Ack(_) | Message::Report(_) => return,
        };
        self.timing.on_message(sender);
        self.reflection.on_heard(meta.source, bytes);
        self.follow_way(ctx.now, local, meta);
        self.measure(ctx, meta, (message, bytes), sender.sequence);
        let is_farewell = matches!(message, Message::Cmd(Cmd::Eot(_)));
        if !is_farewell && self.farewell.on_other(sender.sequence) {
            self.gone = false;
        }
        self.speaks |= !matches!(message, Message::Cmd(Cmd::Application(_)));
        match message {
            Message::Info(info) => self.on_info(ctx, local, meta, info),
            Message::Data(data) => self.on_data(ctx, local, meta, data),
            Message::Cmd(cmd) => self.on_cmd(ctx, local, cmd),
            Message::Nack(_) | Message::Ack(_) | Message::Report(_) => {}
        }
        // Where a sender is believed at its first message, it is told of then, too.
        self.announce(ctx, local.config.replaced_after.is_some());
    }

    /// Feedback goes back by the way that its messages come.
    fn follow_way(&mut self, now: Time, local: &Local, meta: &RecvMeta) {
        let may_change = !local.unicast && local.feedback == FeedbackPath::Group;
        if may_change && self.way.on_message(now, meta.unicast, self.timing.grtt) {
            self.nack.set_path(match self.way.is_direct() {
                true => NackPath::Sender,
                false => NackPath::Group,
            });
        }
    }

    fn measure(
        &mut self,
        ctx: &mut Context<'_>,
        meta: &RecvMeta,
        (message, bytes): (&Message<'_>, usize),
        sequence: Sequence,
    ) {
        let now = ctx.now;
        self.heard = now;
        self.inactivity.on_message(now);
        self.reception.on_messages(1);
        let rtt = self.feedback.path_rtt(&self.timing);
        match message {
            Message::Cmd(Cmd::Flush(_)) => self.rate.on_flush(),
            Message::Cmd(_) if self.rate.is_idle() => {}
            _ => self.rate.on_message(now, bytes, rtt, self.loss.events() == 0),
        }
        self.loss.set_mode(self.feedback.mode());
        self.measure_loss(ctx, meta, (sequence, bytes), rtt);
    }

    /// What the number of a message says, after it has counted for the rate: the first loss event requests
    /// the rate at which it happened.
    pub(super) fn measure_loss(
        &mut self,
        ctx: &mut Context<'_>,
        meta: &RecvMeta,
        (sequence, bytes): (Sequence, usize),
        rtt: Duration,
    ) {
        let now = ctx.now;
        let (rate, size) = (self.rate.bytes_per_second(), self.rate.message_size());
        let marked = meta.ecn == Some(Ecn::Ce);
        let events = self.loss.events();
        let lost = self.loss.on_message(now, sequence, marked, PathState { rtt, rate, size });
        ctx.stats.lost += lost;
        if self.feedback.mode() == Mode::Path {
            self.path.on_message(now.before(meta.waited), bytes, lost, marked, rtt);
        }
        if self.loss.events() > events {
            self.feedback.on_news(now, self.path.pause());
        }
    }

    /// This machine is so far behind with its reading: the sender should know at once when that grows.
    pub(super) fn on_behind(&mut self, now: Time, behind: Duration) {
        self.path.on_behind(behind);
        self.tell_jump(now);
    }

    /// A message was stamped at sending.
    pub(super) fn on_stamp(&mut self, now: Time, meta: &RecvMeta, time: ExtTime) {
        self.path.on_stamp(now.before(meta.waited), time);
        self.tell_jump(now);
    }

    pub(super) fn tell_jump(&mut self, now: Time) {
        if self.path.take_jump() {
            self.feedback.on_news(now, self.path.pause());
        }
    }

    pub(super) fn measured(&self) -> Measured {
        let (rate, size) = (self.rate.bytes_per_second(), self.rate.message_size());
        let outlook = match self.feedback.mode() {
            Mode::Path => self.path.outlook(rate / size.max(1.0)),
            Mode::Norm | Mode::Ecn | Mode::LossTolerant => None,
        };
        Measured { loss: self.loss.fraction(), rate, size, outlook }
    }

    /// The sender stands at `position`: at a boundary, what is missing before it is requested.
    pub(super) fn moved(&mut self, ctx: &mut Context<'_>, local: &Local, position: Position) {
        if self.track.moved(position) {
            self.want(ctx.now, ctx.rng, local, position);
        }
    }

    /// Begins a NACK cycle if something before `limit` is missing.
    pub(super) fn want(&mut self, now: Time, rng: &mut Rng, local: &Local, limit: Position) {
        let Some(objects) = &self.objects else { return };
        let asks_nothing = local.config.silent || self.eviction.asks_nothing();
        if asks_nothing || objects.first_need() >= limit {
            return;
        }
        if self.nack.on_need(now, limit, &self.timing, rng) {
            self.suppression.clear();
        }
    }

    pub(super) fn on_timeout(&mut self, ctx: &mut Context<'_>, local: &Local) {
        if self.farewell.on_timeout(ctx.now) {
            return self.leave(ctx, local);
        }
        if self.nack.on_timeout(ctx.now, &self.timing, ctx.rng) {
            self.suppression.clear();
        }
        match self.inactivity.on_timeout(ctx.now, self.timing.grtt) {
            None => {}
            // Nobody has heard of it.
            Some(Silence::Inactive) if !self.announced => {}
            Some(Silence::Inactive) => {
                ctx.events.push(Event::SenderInactive { sender: self.id });
            }
            Some(Silence::Again) => {
                // It may have stopped anywhere: all that it ever reached counts.
                self.ask(ctx.now, ctx.rng, local);
            }
        }
    }

    /// A silent receiver only watches for silence.
    pub(super) fn next_timeout(&self, silent: bool) -> Option<(Time, Timer)> {
        let inactivity = self.inactivity.next_timeout(self.timing.grtt);
        let leaves = self.farewell.next_timeout().map(|at| (at, Timer::Inactivity));
        if silent || self.eviction.is_silent() {
            return [inactivity, leaves].into_iter().flatten().min();
        }
        [
            self.nack.next_timeout(&self.timing),
            self.ack.next_timeout(),
            self.status.next_timeout(),
            self.feedback.next_timeout(),
            self.reception.next_timeout(),
            inactivity,
            leaves,
        ]
        .into_iter()
        .flatten()
        .min()
    }
}
