//! CMD(SQUELCH): the sender lists what it can no longer repair (RFC 5740 4.2.3.3).
//!
//! Objects from before our time are skipped at once. One that was heard of, or follows what was, is
//! given up only when a second squelch confirms it a second later (a GRTT, where that is longer) and
//! none of its data came in between.

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

/// Objects that were squelched once, and when. Bounded by the window.
#[derive(Debug, Default)]
pub(crate) struct Squelched {
    doubted: BTreeMap<ObjectIndex, Time>,
}

impl Squelched {
    /// The sender sent something of `object`: it has it.
    pub(crate) fn contradict(&mut self, object: ObjectIndex) {
        if !self.doubted.is_empty() {
            self.doubted.remove(&object);
        }
    }

    pub(crate) fn on_squelch(
        &mut self,
        ctx: &mut Context<'_>,
        objects: &mut Objects,
        squelch: &Squelch<'_>,
        field: FieldSize,
        grtt: Duration,
    ) {
        let newest = objects.newest();
        let valid = newest.nearest(squelch.object_transport_id);
        let block = squelch.payload_id.unpack(field).block.0;
        let mut object = objects.low();
        while object < valid && object <= newest {
            self.gone(ctx, objects, object, grtt);
            object = object.next();
        }
        match objects.open_mut(valid).filter(|open| open.stream.is_some()) {
            Some(stream) => stream.on_stream_squelch(ctx, block, grtt),
            None => {
                let first_need = objects.open(valid).and_then(|open| open.first_need(false));
                if first_need.is_some_and(|need| need < block) {
                    self.gone(ctx, objects, valid, grtt);
                }
            }
        }
        for id in squelch.invalid_objects.iter() {
            let object = newest.nearest(id);
            if object >= objects.floor() && object <= newest {
                self.gone(ctx, objects, object, grtt);
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
        grtt: Duration,
    ) {
        match objects.entry(object) {
            None | Some(Entry::Pending { .. }) if objects.is_from_before(object) => {
                objects.pass_over(ctx, object);
            }
            None | Some(Entry::Pending { .. } | Entry::Open(_)) => {
                let since = *self.doubted.entry(object).or_insert(ctx.now);
                if ctx.now.since(since) >= grtt.max(CONFIRM_MIN) {
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
