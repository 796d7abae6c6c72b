//! What this node knows of one remote sender: owns its machines, hands each message to those it
//! concerns.

use super::{
    Local,
    ack::WatermarkAck,
    decode::Decoder,
    feedback::{Feedback, Measured},
    format::Format,
    guard::{Confirmation, Guard, Identity, Verdict},
    inactivity::{Inactivity, Silence},
    join::{Heard, synchronise},
    loss::{LossMeter, PathState},
    nack::{NackCycle, NackPath},
    objects::Objects,
    overheard::Overheard,
    path::PathMeter,
    position::{ObjectIndex, Position, Track},
    receive_rate::ReceiveRate,
    reception::Reception,
    request::Coding,
    squelch::Squelched,
    status::Status,
    timing::Timing,
};
use crate::{
    config::FeedbackPath,
    congestion::Mode,
    context::Context,
    datagram::{Ecn, RecvMeta},
    event::{AbortReason, Event},
    rng::Rng,
    stats::DropReason,
    time::Time,
    timer::Timer,
};
use alloc::vec::Vec;
use fanfare_wire::{
    Cmd, Data, FecId, FecPayloadId, FieldSize, Info, Message, NodeId, ObjectFlags,
    ObjectTransportId, SourceBlockNumber, ext::Fti, header::SenderFields,
};

/// One remote sender.
#[derive(Debug)]
pub(super) struct RemoteSender {
    pub(super) id: NodeId,
    pub(super) guard: Guard,
    pub(super) timing: Timing,
    pub(super) heard: Time,
    /// `None` before the synchronisation point.
    pub(super) objects: Option<Objects>,
    pub(super) track: Track,
    pub(super) nack: NackCycle,
    pub(super) overheard: Overheard,
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
    jump: Confirmation<ObjectTransportId>,
    pub(super) end: Confirmation<()>,
    /// It has said good-bye: nothing can be asked of it any more.
    pub(super) gone: bool,
    pub(super) eviction: Confirmation<()>,
    /// It goes on without us: asking it would only silence others.
    pub(super) evicted: bool,
    /// It has said more than commands of some application: it sends objects, or is about to.
    pub(super) speaks: bool,
    announced: bool,
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
            guard: Guard::new(identity),
            timing: Timing::new(local.unicast, &local.config, sender),
            heard: now,
            objects: None,
            track: Track::default(),
            nack: NackCycle::new(path),
            overheard: Overheard::default(),
            ack: WatermarkAck::default(),
            ack_content: Vec::new(),
            status: Status::default(),
            own_status: None,
            feedback: Feedback::new(local.unicast),
            loss: LossMeter::new(),
            rate: ReceiveRate::new(),
            path: PathMeter::default(),
            reception: Reception::default(),
            coding: None,
            decoder: Decoder::new(local.config.matrix),
            inactivity: Inactivity::new(now, local.config.robust_factor),
            squelched: Squelched::default(),
            jump: Confirmation::default(),
            end: Confirmation::default(),
            gone: false,
            eviction: Confirmation::default(),
            evicted: false,
            speaks: false,
            announced: false,
        }
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
        if !self.admit(ctx, local, meta, sender) {
            return;
        }
        self.timing.on_message(sender);
        self.measure(ctx, meta, sender, bytes);
        if !matches!(message, Message::Cmd(Cmd::Eot(_))) {
            self.end.contradict();
            self.gone = false;
        }
        self.speaks |= !matches!(message, Message::Cmd(Cmd::Application(_)));
        match message {
            Message::Info(info) => self.on_info(ctx, local, info),
            Message::Data(data) => self.on_data(ctx, local, data),
            Message::Cmd(cmd) => self.on_cmd(ctx, local, cmd),
            Message::Nack(_) | Message::Ack(_) | Message::Report(_) => {}
        }
        self.announce(ctx, false);
    }

    /// Whether the message is to be believed. Adopts a confirmed new address or life.
    fn admit(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        meta: &RecvMeta,
        sender: &SenderFields,
    ) -> bool {
        let identity = Identity { source: meta.source, instance: sender.instance_id };
        match self.guard.check(ctx.now, identity, self.timing.grtt) {
            Verdict::Known | Verdict::Moved => {}
            Verdict::Refused(reason) => {
                ctx.stats.drop(reason);
                return false;
            }
            Verdict::Restarted => self.restart(ctx, local, meta, sender),
        }
        true
    }

    fn restart(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        meta: &RecvMeta,
        sender: &SenderFields,
    ) {
        if let Some(objects) = &mut self.objects {
            objects.abort_all(ctx, AbortReason::SenderGone);
        }
        let ack_content = core::mem::take(&mut self.ack_content);
        let announced = self.announced;
        *self = Self { ack_content, announced, ..Self::new(local, ctx.now, meta, sender) };
        if announced {
            let instance = sender.instance_id;
            ctx.events.push(Event::SenderReset { sender: self.id, instance });
        }
    }

    /// Tells the driver of the sender, once it is more than one stray datagram.
    fn announce(&mut self, ctx: &mut Context<'_>, now: bool) {
        if !self.announced && self.speaks && (now || self.guard.is_established()) {
            self.announced = true;
            let Identity { source, instance } = self.guard.pinned();
            ctx.events.push(Event::SenderNew { sender: self.id, instance, source });
        }
    }

    fn measure(
        &mut self,
        ctx: &mut Context<'_>,
        meta: &RecvMeta,
        sender: &SenderFields,
        bytes: usize,
    ) {
        let now = ctx.now;
        self.heard = now;
        self.inactivity.on_message(now);
        self.reception.on_message();
        let rtt = self.feedback.path_rtt(&self.timing);
        self.rate.on_message(now, bytes, rtt);
        let (rate, size) = (self.rate.bytes_per_second(), self.rate.message_size());
        let marked = meta.ecn == Some(Ecn::Ce);
        let events = self.loss.events();
        self.loss.set_mode(self.feedback.mode());
        let lost =
            self.loss.on_message(now, sender.sequence, marked, PathState { rtt, rate, size });
        ctx.stats.lost += lost;
        if self.feedback.mode() == Mode::Path {
            self.path.on_message(now, bytes, lost, marked, rtt);
        }
        if self.loss.events() > events {
            self.feedback.on_news(now);
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

    /// The object that `id` names, when it is one that counts. Synchronises, moves the window, and
    /// distrusts jumps.
    pub(super) fn locate(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        id: ObjectTransportId,
        heard: Heard,
    ) -> Option<ObjectIndex> {
        let Some(objects) = &mut self.objects else {
            return self.join(ctx, local, id, heard);
        };
        let object = objects.newest().nearest(id);
        let (ahead, behind) = (
            object.0.saturating_sub(objects.newest().0),
            objects.newest().0.saturating_sub(object.0),
        );
        if ahead < objects.window() && object >= objects.floor() {
            self.jump.contradict();
            objects.reached(ctx, object);
            return Some(object);
        }
        if behind > 0 && behind < objects.window() {
            ctx.stats.drop(DropReason::OutOfWindow);
            return None;
        }
        let window = i64::from(local.config.objects_max);
        let near = |a: &ObjectTransportId, b: &ObjectTransportId| {
            i64::from(a.distance_to(*b)).abs() < window
        };
        if !self.jump.hear(ctx.now, id, self.timing.grtt, near) {
            ctx.stats.drop(DropReason::Unconfirmed);
            return None;
        }
        if behind == 0 {
            objects.reached(ctx, object);
            return Some(object);
        }
        // Back beyond the window: it counts anew from there.
        objects.abort_all(ctx, AbortReason::Window);
        self.objects = None;
        self.track = Track::default();
        self.join(ctx, local, id, heard)
    }

    fn join(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        id: ObjectTransportId,
        heard: Heard,
    ) -> Option<ObjectIndex> {
        let config = &local.config;
        let Some(floor) = synchronise(config.join, id, heard, config.objects_max) else {
            ctx.stats.drop(DropReason::OutOfWindow);
            return None;
        };
        let object = ObjectIndex::first(id);
        let whose = (self.id, self.guard.pinned().instance);
        let (window, buffer) = (config.objects_max, config.buffer_max);
        let info_first = local.info_first;
        self.objects = Some(Objects::new(whose, (floor, object), window, buffer, info_first));
        Some(object)
    }

    /// EXT_FTI of a message within our limits; what is beyond is refused and counted.
    fn format(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        object: ObjectIndex,
        (fec_id, fti, flags): (FecId, Option<Fti>, ObjectFlags),
    ) -> Result<Option<Format>, ()> {
        let Some(fti) = fti else { return Ok(None) };
        match Format::new(fec_id, fti, flags, &local.config) {
            Some(format) => {
                self.coding = Some(Coding::of(&format));
                Ok(Some(format))
            }
            None => {
                if let Some(objects) = &mut self.objects {
                    objects.refuse(ctx, object);
                }
                Err(())
            }
        }
    }

    fn on_info(&mut self, ctx: &mut Context<'_>, local: &Local, info: &Info<'_>) {
        let heard = Heard::of(info.flags, true);
        let Some(object) = self.locate(ctx, local, info.object_transport_id, heard) else { return };
        let fti = info.extensions.fti(info.fec_id);
        let Ok(format) = self.format(ctx, local, object, (info.fec_id, fti, info.flags)) else {
            return;
        };
        self.note_coding(info.fec_id);
        self.squelched.contradict(object);
        self.announce(ctx, format.is_some());
        let Some(objects) = &mut self.objects else { return };
        if objects.ensure_open(ctx, object, format, true) {
            objects.on_info(ctx, object, info.payload);
            self.on_new(ctx, local, object, 0);
        }
        self.moved(ctx, local, Position::at(object, SourceBlockNumber(0)));
    }

    fn on_data(&mut self, ctx: &mut Context<'_>, local: &Local, data: &Data<'_>) {
        if let Some(time) = data.extensions.time() {
            self.path.on_stamp(ctx.now, time);
            if self.path.take_jump() {
                self.feedback.on_news(ctx.now);
            }
        }
        let fec_id = data.payload_id.fec_id;
        let fti = data.extensions.fti(fec_id);
        let field = self.field(data.object_transport_id, fec_id, fti.as_ref());
        let id = data.payload_id.unpack(field);
        let heard = Heard::of(data.flags, id.block.0 == 0);
        let Some(object) = self.locate(ctx, local, data.object_transport_id, heard) else { return };
        let Ok(format) = self.format(ctx, local, object, (fec_id, fti, data.flags)) else { return };
        self.note_coding(fec_id);
        self.squelched.contradict(object);
        self.announce(ctx, format.is_some());
        let Some(objects) = &mut self.objects else { return };
        let has_info = data.flags.has(ObjectFlags::INFO);
        if objects.ensure_open(ctx, object, format, has_info)
            && self.symbol(ctx, object, id, data.payload)
        {
            self.on_new(ctx, local, object, id.block.0);
        }
        self.moved(ctx, local, Position::at(object, self.within(object, id.block)));
    }

    fn symbol(
        &mut self,
        ctx: &mut Context<'_>,
        object: ObjectIndex,
        id: FecPayloadId,
        payload: &[u8],
    ) -> bool {
        let Some(objects) = &mut self.objects else { return false };
        let open = objects.open(object);
        let blocks = open.map_or(0, |open| open.format().partition.blocks);
        if blocks == 0 {
            objects.touch_empty(ctx, object);
            return false;
        }
        objects.on_symbol(ctx, &mut self.decoder, object, id, payload)
    }

    /// A symbol's block, or the object's end for one that it does not have.
    pub(super) fn within(
        &self,
        object: ObjectIndex,
        block: SourceBlockNumber,
    ) -> SourceBlockNumber {
        let open = self.objects.as_ref().and_then(|objects| objects.open(object));
        let blocks = open.map_or(u32::MAX, |open| open.format().partition.blocks);
        SourceBlockNumber(block.0.min(blocks))
    }

    /// Field size for reading payload ids of `id`.
    pub(super) fn field(
        &self,
        id: ObjectTransportId,
        fec_id: FecId,
        fti: Option<&Fti>,
    ) -> FieldSize {
        let open = self.objects.as_ref().and_then(|o| o.open(o.newest().nearest(id)));
        let known = open.map(|open| open.format().fti.field);
        let coding = self.coding.filter(|coding| coding.fec_id == fec_id);
        known
            .or_else(|| fti.map(|fti| fti.field))
            .or_else(|| coding.map(|coding| coding.field))
            .unwrap_or_else(|| Coding::unknown(fec_id).field)
    }

    pub(super) fn note_coding(&mut self, fec_id: FecId) {
        if self.coding.is_none_or(|coding| coding.fec_id != fec_id && coding.segment_size.is_none())
        {
            self.coding = Some(Coding::unknown(fec_id));
        }
    }

    /// Something new of `object` arrived.
    fn on_new(&mut self, ctx: &mut Context<'_>, local: &Local, object: ObjectIndex, block: u32) {
        let here = Position::at(object, SourceBlockNumber(block));
        if self.track.furthest().is_some_and(|furthest| here < furthest) {
            self.nack.on_repair();
        }
        self.watermark_progress(ctx.now, local);
    }

    /// The sender stands at `position`: at a boundary, what is missing before it is asked for.
    fn moved(&mut self, ctx: &mut Context<'_>, local: &Local, position: Position) {
        if self.track.moved(position) {
            self.want(ctx.now, ctx.rng, local, position);
        }
    }

    /// Begins a NACK cycle if something before `limit` is missing.
    pub(super) fn want(&mut self, now: Time, rng: &mut Rng, local: &Local, limit: Position) {
        let Some(objects) = &self.objects else { return };
        if local.config.silent || self.evicted || objects.first_need() >= limit {
            return;
        }
        if self.nack.on_need(now, limit, &self.timing, rng) {
            self.overheard.clear();
        }
    }

    pub(super) fn on_timeout(&mut self, ctx: &mut Context<'_>, local: &Local) {
        if self.nack.on_timeout(ctx.now, &self.timing, ctx.rng) {
            self.overheard.clear();
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
                if let Some(furthest) = self.track.furthest() {
                    let limit = Position { block: furthest.block.saturating_add(1), ..furthest };
                    self.track.moved(limit);
                    self.want(ctx.now, ctx.rng, local, limit);
                }
            }
        }
    }

    /// A silent receiver only watches for silence.
    pub(super) fn next_timeout(&self, silent: bool) -> Option<(Time, Timer)> {
        let inactivity = self.inactivity.next_timeout(self.timing.grtt);
        if silent || self.evicted {
            return inactivity;
        }
        [
            self.nack.next_timeout(&self.timing),
            self.ack.next_timeout(),
            self.status.next_timeout(),
            self.feedback.next_timeout(),
            self.reception.next_timeout(),
            inactivity,
        ]
        .into_iter()
        .flatten()
        .min()
    }
}
