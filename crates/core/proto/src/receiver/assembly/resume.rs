//! Takes over bytes that the driver has in storage from an earlier attempt, and rejects bytes that
//! it found wrong.

use crate::receiver::{
    Local, RemoteSenders, objects::Entry, position::ObjectIndex, remote_sender::RemoteSender,
};
use crate::{context::Context, rng::Rng, storage::ObjectKey, time::Time};
use alloc::{vec, vec::Vec};

/// Most runs told of one object: the lowest. A journal that misses the rest loses little.
const RANGES_MAX: usize = 64;

impl RemoteSender {
    fn have(
        &mut self,
        ctx: &mut Context<'_>,
        local: &Local,
        object: ObjectIndex,
        bytes: (u64, u64),
    ) -> bool {
        let Some(objects) = &mut self.objects else { return false };
        let taken = objects.have(ctx, &mut self.decoder, object, bytes);
        self.watermark_progress(ctx.now, local);
        taken
    }

    /// Asked for at once: when the driver has found out, the sender may have said its last flush.
    fn reject(
        &mut self,
        now: Time,
        rng: &mut Rng,
        local: &Local,
        object: ObjectIndex,
        bytes: (u64, u64),
    ) -> bool {
        // Others may repair what a sender that is gone cannot.
        let asks = !self.gone || local.config.outlive_senders;
        let Some(objects) = self.objects.as_mut().filter(|_| asks) else { return false };
        if !objects.reject(object, bytes) {
            return false;
        }
        self.ack.revoke();
        self.want_all(now, rng, local);
        true
    }

    /// The INFO of an object is wrong: it is asked for at once, as above.
    fn reject_info(
        &mut self,
        now: Time,
        rng: &mut Rng,
        local: &Local,
        object: ObjectIndex,
    ) -> bool {
        let asks = !self.gone || local.config.outlive_senders;
        let Some(objects) = self.objects.as_mut().filter(|_| asks) else { return false };
        if !objects.reject_info(object) {
            return false;
        }
        self.ack.revoke();
        self.want_all(now, rng, local);
        true
    }

    fn want_all(&mut self, now: Time, rng: &mut Rng, local: &Local) {
        if let Some(furthest) = self.track.furthest() {
            self.want(now, rng, local, furthest);
        }
    }

    /// What turns out to be missing is requested at once, as above.
    fn examine(
        &mut self,
        now: Time,
        rng: &mut Rng,
        local: &Local,
        object: ObjectIndex,
        examined: bool,
    ) -> bool {
        let Some(objects) = &mut self.objects else { return false };
        if !objects.examine(object, examined) {
            return false;
        }
        if !examined && !matches!(objects.entry(object), Some(Entry::Complete { .. })) {
            self.want_all(now, rng, local);
            return !self.gone;
        }
        true
    }
}

impl RemoteSenders {
    /// Of objects of senders to come that nothing was heard of, their INFO is requested first.
    pub(crate) fn ask_info_first(&mut self) {
        self.local.info_first = true;
    }

    /// The driver holds `bytes` (offset, length) of the object already.
    pub(crate) fn have(
        &mut self,
        ctx: &mut Context<'_>,
        key: ObjectKey,
        bytes: (u64, u64),
    ) -> bool {
        match self.find(key) {
            Some((local, sender, object)) => sender.have(ctx, local, object, bytes),
            None => false,
        }
    }

    /// `bytes` (offset, length) of the object are wrong.
    pub(crate) fn reject(
        &mut self,
        now: Time,
        rng: &mut Rng,
        key: ObjectKey,
        bytes: (u64, u64),
    ) -> bool {
        match self.find(key) {
            Some((local, sender, object)) => sender.reject(now, rng, local, object, bytes),
            None => false,
        }
    }

    /// The INFO of the object is wrong.
    pub(crate) fn reject_info(&mut self, now: Time, rng: &mut Rng, key: ObjectKey) -> bool {
        match self.find(key) {
            Some((local, sender, object)) => sender.reject_info(now, rng, local, object),
            None => false,
        }
    }

    /// The driver begins, or ends, to look at what it has of the object.
    pub(crate) fn examine(
        &mut self,
        now: Time,
        rng: &mut Rng,
        key: ObjectKey,
        examined: bool,
    ) -> bool {
        match self.find(key) {
            Some((local, sender, object)) => sender.examine(now, rng, local, object, examined),
            None => false,
        }
    }

    /// Runs (offset, length) of complete blocks.
    pub(crate) fn ranges(&self, key: ObjectKey) -> Option<Vec<(u64, u64)>> {
        match self.entry(key)? {
            Entry::Open(open) => Some(open.ranges().take(RANGES_MAX).collect()),
            Entry::Complete { format, .. } => Some(vec![(0, format.partition.object_size)]),
            Entry::Pending { .. } | Entry::GivenUp | Entry::Skipped => None,
        }
    }

    /// Bytes of complete blocks from the start.
    pub(crate) fn first_gap(&self, key: ObjectKey) -> Option<u64> {
        match self.entry(key)? {
            Entry::Open(open) => Some(open.first_gap()),
            Entry::Complete { format, .. } => Some(format.partition.object_size),
            Entry::Pending { .. } | Entry::GivenUp | Entry::Skipped => None,
        }
    }
}
