//! CMD(SQUELCH): the sender lists what it can no longer repair (RFC 5740 4.2.3.3).
//!
//! Objects from before our time are skipped at once, if the message is one that a sender makes and denies
//! nothing that was heard: a flush with a bit turned is a squelch that does. One that was heard of, or
//! follows what was, is given up only when another squelch confirms it a second later (a GRTT, where that
//! is longer), none of its data came in between, and it was asked for twice: a sender that has it would
//! have answered.

use crate::receiver::{
    objects::{Entry, Objects},
    pinned_identity::CONFIRM_MIN,
    position::ObjectIndex,
};
use crate::{
    context::Context,
    event::AbortReason,
    stats::DropReason,
    time::{Duration, Time},
};
use alloc::collections::BTreeMap;
use fanfare_wire::{FieldSize, cmd::Squelch};

/// Requests that a sender must have left without an answer. One, or its answer, may be lost.
const ASKED: u8 = 2;

/// Conditions on which a squelch is believed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SquelchPatience {
    pub(crate) grtt: Duration,
    /// This receiver asks for what it lacks.
    pub(crate) asks: bool,
}

/// An object that was squelched.
#[derive(Debug, Clone, Copy)]
struct SquelchDoubt {
    since: Time,
    /// Requests since then, of this receiver or of others in its place.
    asked: u8,
}

/// Objects that were squelched, and not given up so far. Bounded by the window.
#[derive(Debug, Default)]
pub(crate) struct Squelched {
    doubted: BTreeMap<ObjectIndex, SquelchDoubt>,
    /// The object that the last flush named.
    flushed: Option<ObjectIndex>,
}

impl Squelched {
    /// The sender sent something of `object`: it has it.
    pub(crate) fn contradict(&mut self, object: ObjectIndex) {
        if !self.doubted.is_empty() {
            self.doubted.remove(&object);
        }
    }

    /// A flush names `object` as the last one.
    pub(crate) fn on_flush(&mut self, object: ObjectIndex) {
        self.flushed = Some(object);
    }

    /// The last object of which this is doubted.
    pub(crate) fn last_doubted(&self) -> Option<ObjectIndex> {
        self.doubted.last_key_value().map(|(object, _)| *object)
    }

    /// A request for what is missing went out, of this receiver or of another in its place.
    pub(crate) fn on_asked(&mut self) {
        self.doubted.values_mut().for_each(|doubt| doubt.asked = doubt.asked.saturating_add(1));
    }

    pub(crate) fn on_squelch(
        &mut self,
        ctx: &mut Context<'_>,
        objects: &mut Objects,
        squelch: &Squelch<'_>,
        field: FieldSize,
        patience: SquelchPatience,
    ) {
        let newest = objects.newest();
        let valid = newest.nearest(squelch.object_transport_id);
        let id = squelch.payload_id.unpack(field);
        let block = id.block.0;
        let begins = block == 0 && id.symbol.0 == 0;
        // RFC 5740 does not tell in which order objects are named, but all senders that are known keep to
        // one. A flush that asks for acknowledgements, with a bit turned, does not.
        let named = squelch.invalid_objects.iter().map(|id| valid.nearest(id));
        if !core::iter::once(valid).chain(named).is_sorted_by(|one, next| one < next) {
            return ctx.stats.drop(DropReason::Unconfirmed);
        }
        let is_plausible = self.is_plausible(objects, valid, begins);
        let mut object = objects.low();
        while object < valid && object <= newest {
            self.gone(ctx, objects, object, patience, is_plausible);
            object = object.next();
        }
        match objects.open_mut(valid).filter(|open| open.stream.is_some()) {
            Some(stream) => stream.on_stream_squelch(ctx, block, patience.grtt),
            None => {
                let first_need = objects.open(valid).and_then(|open| open.first_need(false));
                if first_need.is_some_and(|need| need < block) {
                    self.gone(ctx, objects, valid, patience, is_plausible);
                }
            }
        }
        for id in squelch.invalid_objects.iter() {
            let object = newest.nearest(id);
            if object >= objects.floor() && object <= newest {
                self.gone(ctx, objects, object, patience, is_plausible);
            }
        }
        let floor = objects.floor();
        self.doubted.retain(|object, _| *object >= floor);
    }

    /// True if a squelch may well be the sender's, and not another message that was changed on the way: it
    /// denies nothing that was heard. `begins`: it names the beginning of `valid`, as of all objects but
    /// streams.
    fn is_plausible(&self, objects: &Objects, valid: ObjectIndex, begins: bool) -> bool {
        let is_stream = objects.open(valid).is_some_and(|open| open.stream.is_some());
        (is_stream || begins) && objects.is_first_or_before(valid) && self.flushed != Some(valid)
    }

    fn gone(
        &mut self,
        ctx: &mut Context<'_>,
        objects: &mut Objects,
        object: ObjectIndex,
        SquelchPatience { grtt, asks }: SquelchPatience,
        is_plausible: bool,
    ) {
        match objects.entry(object) {
            None | Some(Entry::Pending { .. })
                if is_plausible && objects.is_from_before(object) =>
            {
                objects.pass_over(ctx, object);
            }
            None | Some(Entry::Pending { .. } | Entry::Open(_)) => {
                // Of what is not asked for, nothing tells but the squelch itself.
                let asks = asks && objects.asks_for(object);
                let doubt = *self
                    .doubted
                    .entry(object)
                    .or_insert(SquelchDoubt { since: ctx.now, asked: 0 });
                let is_unanswered = !asks || doubt.asked >= ASKED;
                if is_unanswered && ctx.now.since(doubt.since) >= grtt.max(CONFIRM_MIN) {
                    self.doubted.remove(&object);
                    objects.abort(ctx, object, AbortReason::Squelched);
                } else {
                    ctx.stats.drop(DropReason::Unconfirmed);
                }
            }
            Some(Entry::Complete { .. } | Entry::GivenUp | Entry::Skipped) => {}
        }
    }
}
