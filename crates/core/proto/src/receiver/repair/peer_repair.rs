//! Accepts repairs and reports of senders from peers, and requests what these reports show to be
//! missing.

use crate::receiver::{
    Local, RemoteSenders, content::MessageSource, format::Format, join::Heard,
    pinned_identity::PinnedIdentity, position::Position, remote_sender::RemoteSender,
    unfinished::behind,
};
use crate::{
    context::Context,
    datagram::RecvMeta,
    peer_repair::{Combination, Incarnation, SenderSummary},
    rng::Rng,
    stats::DropReason,
    storage::ObjectKey,
    time::{Duration, Time},
};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use fanfare_wire::{Data, Message, NodeId, ObjectFlags, Sequence, header::SenderFields};

/// Where a sender is that was only heard of.
const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

impl RemoteSender {
    /// A sender that others speak of.
    fn of_peers(local: &Local, now: Time, sender: &SenderFields) -> Self {
        let meta = RecvMeta { source: NOWHERE, ecn: None, unicast: false, waited: Duration::ZERO };
        let new = Self::new(local, now, &meta, sender);
        Self { identity: PinnedIdentity::of_peers(new.identity.pinned()), ..new }
    }

    /// A message of this sender, forwarded.
    fn on_retransmission(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        message: &Message<'_>,
    ) -> bool {
        match message {
            Message::Info(info) => {
                self.place_info(ctx, local, MessageSource::Peer, info).is_some_and(|(_, new)| new)
            }
            Message::Data(data) => self.on_retransmitted_data(ctx, local, data, None),
            _ => false,
        }
    }

    fn on_retransmitted_data(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        data: &Data<'_>,
        sum: Option<&Combination>,
    ) -> bool {
        let Some((position, new)) = self.place_data(ctx, local, MessageSource::Peer, (data, sum))
        else {
            return false;
        };
        self.advance(ctx, local, position);
        new
    }

    /// A whole object of no bytes, of which others tell the INFO. How the sender codes is not told.
    fn on_whole_info(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        summary: &SenderSummary,
        info: &[u8],
    ) -> Option<bool> {
        let format = Some(Format::empty(summary.fec_id, &local.config)?);
        let heard = Heard::of(ObjectFlags(ObjectFlags::INFO), true);
        let object = self.locate(ctx, local, summary.newest, heard)?;
        self.note_coding(summary.fec_id);
        self.open_with_info(ctx, local, (object, format), info)
    }

    /// The sender has come as far as `position`, others say; what lies before it can be requested.
    fn advance(&mut self, ctx: &mut Context<'_>, local: &Local, position: Position) {
        if self.track.furthest().is_none_or(|furthest| furthest < position) {
            self.moved(ctx, local, position);
        }
    }

    fn hear_of(&mut self, ctx: &mut Context<'_>, local: &Local, summary: &SenderSummary) -> bool {
        let heard = Heard::Middle;
        let Some(object) = self.locate(ctx, local, summary.newest, heard) else { return false };
        self.note_coding(summary.fec_id);
        self.advance(ctx, local, behind(object));
        true
    }

    /// As when the sender has been silent: it may have stopped anywhere, so all counts.
    pub(in crate::receiver) fn ask(&mut self, now: Time, rng: &mut Rng, local: &Local) -> bool {
        let Some(furthest) = self.track.furthest() else { return false };
        let limit = Position { block: furthest.block.saturating_add(1), ..furthest };
        if let Some(objects) = &mut self.objects {
            objects.unfinished.on_silence();
        }
        let missing = self.objects.as_ref().is_some_and(|objects| objects.first_need() < limit);
        self.track.moved(limit);
        self.want(now, rng, local, limit);
        missing
    }

    /// All that lies before that object counts, whoever sends it now.
    fn ask_before(&mut self, now: Time, rng: &mut Rng, local: &Local, key: ObjectKey) {
        let found = self.objects.as_ref().and_then(|objects| objects.find(key));
        let Some(object) = found else { return };
        self.want(now, rng, local, Position { object, block: 0 });
    }
}

/// As the sender would begin a message.
fn fields_of(summary: &SenderSummary) -> SenderFields {
    SenderFields {
        sequence: Sequence(0),
        source_id: summary.sender,
        instance_id: summary.instance,
        grtt: summary.grtt,
        backoff: summary.backoff,
        gsize: summary.gsize,
    }
}

impl RemoteSenders {
    pub(crate) fn on_retransmission(
        &mut self,
        ctx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> bool {
        let sender = match message {
            Message::Info(info) => &info.sender,
            Message::Data(data) => &data.sender,
            _ => return false,
        };
        let Some((sender, local)) = self.known(ctx, sender) else { return false };
        sender.on_retransmission(ctx, local, message)
    }

    pub(crate) fn on_combination(
        &mut self,
        ctx: &mut Context<'_>,
        data: &Data<'_>,
        sum: &Combination,
    ) -> bool {
        let Some((sender, local)) = self.known(ctx, &data.sender) else { return false };
        sender.on_retransmitted_data(ctx, local, data, Some(sum))
    }

    pub(crate) fn hear_of(&mut self, ctx: &mut Context<'_>, summary: &SenderSummary) -> bool {
        match self.known(ctx, &fields_of(summary)) {
            Some((sender, local)) => sender.hear_of(ctx, local, summary),
            None => false,
        }
    }

    pub(crate) fn on_whole_info(
        &mut self,
        ctx: &mut Context<'_>,
        summary: &SenderSummary,
        info: &[u8],
    ) -> bool {
        match self.known(ctx, &fields_of(summary)) {
            Some((sender, local)) => {
                sender.on_whole_info(ctx, local, summary, info).unwrap_or(false)
            }
            None => false,
        }
    }

    /// The sender of that id and instance. Others may speak of another instance than the one in view.
    fn known(
        &mut self,
        ctx: &mut Context<'_>,
        fields: &SenderFields,
    ) -> Option<(&mut RemoteSender, &Local)> {
        let incarnation = (fields.source_id, fields.instance_id);
        // In a group the driver puts back what earlier lives of this node had said.
        if incarnation.0 == self.local.node_id && !self.local.config.outlive_senders {
            ctx.stats.drop(DropReason::Own);
            return None;
        }
        let other =
            self.senders.current(incarnation.0).is_some() && !self.senders.contains(incarnation);
        if other && !self.local.config.outlive_senders {
            ctx.stats.drop(DropReason::NotForUs);
            return None;
        }
        if !self.make_place(ctx, incarnation) {
            ctx.stats.drop(DropReason::TooManySenders);
            return None;
        }
        let Self { local, senders, .. } = self;
        if !senders.contains(incarnation) {
            senders.insert(incarnation, RemoteSender::of_peers(local, ctx.now, fields));
        }
        Some((senders.at_mut(incarnation)?, local))
    }

    pub(crate) fn ask(&mut self, now: Time, rng: &mut Rng, incarnation: Incarnation) -> bool {
        let Self { local, senders, .. } = self;
        senders.at_mut(incarnation).is_some_and(|sender| sender.ask(now, rng, local))
    }

    pub(crate) fn ask_before(&mut self, now: Time, rng: &mut Rng, key: ObjectKey) {
        let Self { local, senders, .. } = self;
        if let Some(sender) = senders.at_mut(key.incarnation()) {
            sender.ask_before(now, rng, local, key);
        }
    }

    pub(crate) fn request_explicitly(&mut self, incarnation: Incarnation, explicitly: bool) {
        let other =
            self.senders.at(incarnation).is_some_and(|sender| sender.explicitly != explicitly);
        if other && let Some(sender) = self.senders.at_mut(incarnation) {
            sender.explicitly = explicitly;
        }
    }

    pub(crate) fn ask_in_full(&mut self, incarnation: Incarnation, in_full: bool) {
        let other = self.senders.at(incarnation).is_some_and(|sender| sender.in_full != in_full);
        if other && let Some(sender) = self.senders.at_mut(incarnation) {
            sender.in_full = in_full;
        }
    }

    pub(crate) fn set_silent(&mut self, silent: bool) {
        self.local.config.silent = silent;
        self.senders.touch_all();
    }

    pub(crate) fn incarnation(&self, sender: NodeId) -> Option<Incarnation> {
        self.senders.current(sender)
    }

    pub(crate) fn hear_of_incarnation(&mut self, incarnation: Incarnation) {
        let heard = |known: &RemoteSender| !known.identity.is_from_peers();
        if self.senders.contains(incarnation) && !self.senders.get(incarnation.0).is_some_and(heard)
        {
            self.senders.set_current(incarnation);
        }
    }

    pub(crate) fn summary(&self, incarnation: Incarnation) -> Option<SenderSummary> {
        let known = self.senders.at(incarnation)?;
        let newest = known.objects.as_ref()?.newest().id();
        let (grtt, backoff, gsize) = known.timing.advertised();
        let fec_id = known.coding?.fec_id;
        let (sender, instance) = incarnation;
        Some(SenderSummary { sender, instance, grtt, backoff, gsize, fec_id, newest })
    }
}
