//! Finds the object that a message belongs to. The window of objects follows the sender, but a
//! large jump needs confirmation.

use crate::receiver::{
    Local,
    join::{Heard, synchronise},
    objects::Objects,
    position::{ObjectIndex, Track},
    remote_sender::RemoteSender,
};
use crate::{context::Context, event::AbortReason, stats::DropReason};
use fanfare_wire::ObjectTransportId;

/// A sender that has come on by no more than this part of the window is believed at once where nothing is dropped
/// for it, and else after a few messages: so much one may have missed, and little is dropped for it. A single
/// message that says more could end all that is under way.
const STEPS: u64 = 8;
/// And by so many objects in any case, however small the window is.
const NEAR: u64 = 4;

impl RemoteSender {
    /// The object that `id` names, when it is one that counts. Synchronises, moves the window, and
    /// distrusts jumps.
    pub(in crate::receiver) fn locate(
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
        let steps = (objects.window() / STEPS).max(NEAR);
        let keeps_all = ahead == 0 || objects.keeps_all_at(object);
        let is_near = ahead <= steps || keeps_all;
        if ahead < objects.window() && object >= objects.floor() && is_near {
            self.jump.contradict();
            let floor = objects.floor_at(object);
            if !keeps_all && !objects.passing.believes(object, floor, steps) {
                ctx.stats.drop(DropReason::Unconfirmed);
                return None;
            }
            objects.passing.on_object(object);
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
        // Back beyond the window: it counts again from there.
        objects.abort_all(ctx, AbortReason::Window);
        self.objects = None;
        self.track = Track::default();
        self.join(ctx, local, id, heard)
    }

    pub(in crate::receiver) fn join(
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
        let whose = (self.id, self.identity.pinned().instance);
        let (window, buffer) = (config.objects_max, config.buffer_max);
        let decides = local.config.info_decides;
        let info = (local.info_first || decides, decides);
        let mut objects = Objects::new(whose, (floor, object), window, buffer, info);
        objects.set_nacking(self.nacking);
        self.objects = Some(objects);
        Some(object)
    }
}
