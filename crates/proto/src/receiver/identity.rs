//! Whether a message is this sender's, and when the driver hears of it.

use super::{
    Local,
    guard::{Identity, Verdict},
    remote_sender::RemoteSender,
};
use crate::{
    context::Context,
    datagram::RecvMeta,
    event::{AbortReason, Event},
};
use fanfare_wire::header::SenderFields;

impl RemoteSender {
    /// Whether the message is to be believed. Adopts a confirmed new address or life.
    pub(super) fn admit(
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

    pub(super) fn restart(
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
    pub(super) fn announce(&mut self, ctx: &mut Context<'_>, now: bool) {
        if !self.announced && self.speaks && (now || self.guard.is_established()) {
            self.announced = true;
            let Identity { source, instance } = self.guard.pinned();
            ctx.events.push(Event::SenderNew { sender: self.id, instance, source });
        }
    }
}
