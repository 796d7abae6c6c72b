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
/// Objects of so many messages are remembered: the next one is near one of them.
const RECENT: usize = 8;
/// Where it is not, so many messages must say that the sender has gone beyond what would be dropped, with none
/// of that or of earlier objects in between. A message that was changed on the way is not followed by others.
const MESSAGES: u8 = 4;

/// Decides whether a message may end objects by saying that the sender has gone far beyond them.
#[derive(Debug, Default)]
pub(in crate::receiver) struct WindowPassing {
    /// Objects of the messages that were believed last.
    recent: [u64; RECENT],
    next: usize,
    /// The first object that would be kept, by the last message that was not believed.
    floor: u64,
    count: u8,
}

impl WindowPassing {
    /// `newest` has been heard of.
    pub(in crate::receiver) fn at(newest: ObjectIndex) -> Self {
        Self { recent: [newest.0; RECENT], ..Self::default() }
    }

    /// A message was believed to be of `object`.
    fn on_object(&mut self, object: ObjectIndex) {
        self.recent[self.next] = object.0;
        self.next = (self.next + 1) % RECENT;
        if object.0 < self.floor {
            (self.floor, self.count) = (0, 0);
        }
    }

    /// A message of `object` says that all before `floor` is over. Whether that is to be believed.
    fn believes(&mut self, object: ObjectIndex, floor: ObjectIndex, steps: u64) -> bool {
        let latest = self.recent.iter().max().copied().unwrap_or_default();
        if object.0 <= latest.saturating_add(steps) {
            return true;
        }
        self.floor = floor.0;
        self.count = self.count.saturating_add(1);
        self.count >= MESSAGES
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn what_is_near_a_recent_message_is_believed_and_what_is_not_takes_some_messages() {
        let mut passing = WindowPassing::at(ObjectIndex(100));
        assert!(passing.believes(ObjectIndex(132), ObjectIndex(50), 32));
        for _ in 0..10 {
            let far: Vec<bool> =
                (0..3).map(|_| passing.believes(ObjectIndex(133), ObjectIndex(50), 32)).collect();
            assert_eq!(far, [false; 3]);
            passing.on_object(ObjectIndex(49));
        }
        let far = (0..5).map(|_| passing.believes(ObjectIndex(140), ObjectIndex(50), 32));
        assert_eq!(far.collect::<Vec<_>>(), [false, false, false, true, true]);
    }
}
