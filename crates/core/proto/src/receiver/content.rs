//! Takes NORM_INFO and NORM_DATA and stores their content (RFC 5740 4.2.1, 4.2.2).

use super::{
    Local,
    format::{self, Format},
    join::Heard,
    objects::refusals::FormatTold,
    position::{ObjectIndex, Position},
    remote_sender::RemoteSender,
    request::Coding,
    unfinished::behind,
};
use crate::{context::Context, datagram::RecvMeta, peer_repair::Combination, stats::DropReason};
use fanfare_wire::{
    Data, FecId, FecPayloadId, FieldSize, Info, ObjectFlags, ObjectTransportId, SourceBlockNumber,
    ext::{Extensions, Fti},
};

/// Who sent a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageSource {
    /// The sender of the object.
    Sender,
    /// Another node, which retransmits it in the sender's place.
    Peer,
}

impl RemoteSender {
    pub(super) fn on_info(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        meta: &RecvMeta,
        info: &Info<'_>,
    ) {
        if let Some(time) = info.extensions.time() {
            self.on_stamp(ctx.now, meta, time);
        }
        let Some((position, _)) = self.place_info(ctx, local, MessageSource::Sender, info) else {
            return;
        };
        self.moved_in_turn(ctx, local, position, &info.extensions);
    }

    /// Puts INFO in its place, whoever brings it. Tells where the sender stood and whether it was
    /// new.
    pub(super) fn place_info(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        word: MessageSource,
        info: &Info<'_>,
    ) -> Option<(Position, bool)> {
        let heard = Heard::of(info.flags, true);
        let object = self.locate(ctx, local, info.object_transport_id, heard)?;
        let fti = info.extensions.fti(info.fec_id);
        let told = (info.fec_id, fti, info.flags);
        let format = self.format(ctx, local, object, told, Some(info.payload)).ok()?;
        self.note_coding(info.fec_id);
        self.heed(ctx, word, object, format.is_some());
        self.doubt(ctx, word, object, format);
        let new = self.open_with_info(ctx, local, (object, format), info.payload)?;
        Some((Position::at(object, SourceBlockNumber(0)), new))
    }

    /// Gives an object its INFO, and begins it where it is new. Tells whether the INFO was new.
    pub(super) fn open_with_info(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        (object, format): (ObjectIndex, Option<Format>),
        payload: &[u8],
    ) -> Option<bool> {
        let objects = self.objects.as_mut()?;
        let open = objects.ensure_open(ctx, object, format, true, &local.config);
        let new = open && objects.open(object).is_some_and(|open| open.wants_info());
        if open {
            objects.on_info(ctx, object, payload);
            self.on_new(ctx, local, object, 0);
        }
        Some(new)
    }

    pub(super) fn on_data(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        meta: &RecvMeta,
        data: &Data<'_>,
    ) {
        if let Some(time) = data.extensions.time() {
            self.on_stamp(ctx.now, meta, time);
        }
        let placed = self.place_data(ctx, local, MessageSource::Sender, (data, None));
        let Some((position, _)) = placed else { return };
        match data.flags.has(ObjectFlags::REPAIR) {
            // A repair says nothing of turns.
            true => self.moved(ctx, local, position),
            false => self.moved_in_turn(ctx, local, position, &data.extensions),
        }
    }

    /// The sender stands at `position` of a pass; others may have overtaken that object, or been overtaken.
    fn moved_in_turn(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        position: Position,
        extensions: &Extensions<'_>,
    ) {
        let Position { object, block } = position;
        let Some(objects) = &mut self.objects else { return };
        let block = u32::try_from(block).unwrap_or(u32::MAX);
        let further = objects.open_mut(object).is_some_and(|open| open.hear_in(block));
        let within = objects.window();
        let (reach, refused) = objects.unfinished.on_message(object, extensions.turns(), within);
        (0..refused).for_each(|_| ctx.stats.drop(DropReason::Turn));
        let reach = reach.and_then(|reach| self.locate(ctx, local, reach.id(), Heard::Middle));
        let Some(reach) = reach else { return self.moved(ctx, local, position) };
        let reached = behind(reach);
        if self.track.moved(reached) || further {
            self.want(ctx.now, ctx.rng, local, reached);
        }
    }

    /// Puts a symbol in its place, whoever brings it, or a sum of symbols of its block. Tells where the
    /// sender stood and whether it was new.
    pub(super) fn place_data(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        word: MessageSource,
        (data, sum): (&Data<'_>, Option<&Combination>),
    ) -> Option<(Position, bool)> {
        let fec_id = data.payload_id.fec_id;
        let fti = data.extensions.fti(fec_id);
        let field = self.field(data.object_transport_id, fec_id, fti.as_ref());
        let id = data.payload_id.unpack(field);
        // Of a stream everything that is no repair is a beginning: it is joined anywhere.
        let first = id.block.0 == 0 || data.flags.has(ObjectFlags::STREAM);
        let heard = Heard::of(data.flags, first);
        let object = self.locate(ctx, local, data.object_transport_id, heard)?;
        let format = self.format(ctx, local, object, (fec_id, fti, data.flags), None).ok()?;
        self.note_coding(fec_id);
        self.heed(ctx, word, object, format.is_some());
        self.doubt(ctx, word, object, format);
        let has_info = data.flags.has(ObjectFlags::INFO);
        let objects = self.objects.as_mut()?;
        let open = objects.ensure_open(ctx, object, format, has_info, &local.config);
        let seen =
            objects.open_mut(object).map_or(Some(id), |o| o.view(ctx, id, local.config.join));
        let id = seen?;
        let new = open && self.symbol(ctx, object, (id, sum), data.payload);
        if new {
            self.on_new(ctx, local, object, id.block.0);
        }
        Some((Position::at(object, self.within(object, id.block)), new))
    }

    /// Only its own word denies what the sender is said to have ended, and tells that it is there.
    fn heed(
        &mut self,
        ctx: &mut Context<'_>,
        word: MessageSource,
        object: ObjectIndex,
        known: bool,
    ) {
        if word == MessageSource::Sender {
            self.unsent.contradict();
            self.squelched.contradict(object);
            self.announce(ctx, known);
        }
    }

    fn doubt(
        &mut self,
        ctx: &mut Context<'_>,
        word: MessageSource,
        object: ObjectIndex,
        format: Option<Format>,
    ) {
        if let (MessageSource::Sender, Some(format), Some(objects)) =
            (word, format, &mut self.objects)
        {
            objects.doubt(ctx, object, format);
        }
    }

    /// EXT_FTI of a message within our limits; what is beyond is refused and counted, with the INFO that
    /// said it.
    fn format(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        object: ObjectIndex,
        (fec_id, fti, flags): (FecId, Option<Fti>, ObjectFlags),
        info: Option<&[u8]>,
    ) -> Result<Option<Format>, ()> {
        let Some(fti) = fti else { return Ok(None) };
        match Format::new(fec_id, fti, flags, &local.config) {
            Some(format) => {
                self.coding = Some(Coding::of(&format));
                Ok(Some(format))
            }
            None => {
                if let Some(objects) = &mut self.objects {
                    let too_long = fti.object_size > local.config.object_size_max;
                    let told = FormatTold { fti, kind: format::kind_of(flags) };
                    objects.refuse(ctx, object, told, too_long.then_some(info));
                }
                Err(())
            }
        }
    }

    fn symbol(
        &mut self,
        ctx: &mut Context<'_>,
        object: ObjectIndex,
        (id, sum): (FecPayloadId, Option<&Combination>),
        payload: &[u8],
    ) -> bool {
        let Some(objects) = &mut self.objects else { return false };
        match sum {
            None => objects.on_symbol(ctx, &mut self.decoder, object, id, payload),
            Some(sum) => {
                let sum = (id.block.0, sum);
                objects.on_combination(ctx, &mut self.decoder, object, sum, payload)
            }
        }
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
    pub(super) fn on_new(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        object: ObjectIndex,
        block: u32,
    ) {
        let here = Position::at(object, SourceBlockNumber(block));
        let open = self.objects.as_ref().and_then(|objects| Some((objects, objects.open(object)?)));
        let to_come = open.is_some_and(|(objects, open)| here.block >= objects.bound(object, open));
        if !to_come && self.track.furthest().is_some_and(|furthest| here < furthest) {
            self.nack.on_repair();
        }
        self.watermark_progress(ctx.now, local);
    }
}
