//! CMD(SQUELCH): the sender lists what it can no longer repair (RFC 5740 4.2.3.3).
//!
//! Objects from before our time are skipped at once. One that was heard of, or follows what was, is
//! given up only when another squelch confirms it a second later (a GRTT, where that is longer), none of
//! its data came in between, and it was asked for twice: a sender that has it would have answered.

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
}

impl Squelched {
    /// The sender sent something of `object`: it has it.
    pub(crate) fn contradict(&mut self, object: ObjectIndex) {
        if !self.doubted.is_empty() {
            self.doubted.remove(&object);
        }
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
        let block = squelch.payload_id.unpack(field).block.0;
        let mut object = objects.low();
        while object < valid && object <= newest {
            self.gone(ctx, objects, object, patience);
            object = object.next();
        }
        match objects.open_mut(valid).filter(|open| open.stream.is_some()) {
            Some(stream) => stream.on_stream_squelch(ctx, block, patience.grtt),
            None => {
                let first_need = objects.open(valid).and_then(|open| open.first_need(false));
                if first_need.is_some_and(|need| need < block) {
                    self.gone(ctx, objects, valid, patience);
                }
            }
        }
        for id in squelch.invalid_objects.iter() {
            let object = newest.nearest(id);
            if object >= objects.floor() && object <= newest {
                self.gone(ctx, objects, object, patience);
            }
        }
        let floor = objects.floor();
        self.doubted.retain(|object, _| *object >= floor);
    }

    fn gone(
        &mut self,
        ctx: &mut Context<'_>,
        objects: &mut Objects,
        object: ObjectIndex,
        SquelchPatience { grtt, asks }: SquelchPatience,
    ) {
        match objects.entry(object) {
            None | Some(Entry::Pending { .. }) if objects.is_from_before(object) => {
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
