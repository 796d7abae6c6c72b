//! What becomes of what another host has said in a sender's name, once the true one is believed.
//!
//! Who hears the impostor first takes it for the sender, and may have begun with objects that there are
//! not, have skipped some that there are, or hold a wrong announcement. Only what the driver has
//! confirmed is proved. Everything else begins anew.

use crate::receiver::{
    Local, eviction::Eviction, farewell::Farewell, pinned_identity::Confirmation, position::Track,
    remote_sender::RemoteSender, squelch::Squelched, unsent::Unsent,
};
use crate::{config::JoinPolicy, context::Context, event::Event};

impl RemoteSender {
    /// The host that was believed so far was not the sender.
    pub(in crate::receiver) fn disown(&mut self, ctx: &mut Context<'_>, local: &Local) {
        if let Some(objects) = &mut self.objects {
            objects.forget_unproved(ctx);
            // Where to begin was the impostor's word, too. Who asks for all that there is asks anew.
            if objects.whole().next().is_none() && local.config.join == JoinPolicy::AllCached {
                self.objects = None;
            }
        }
        self.track = Track::default();
        self.suppression.clear();
        self.nack.satisfied();
        self.squelched = Squelched::default();
        self.unsent = Unsent::default();
        self.jump = Confirmation::default();
        self.farewell = Farewell::default();
        self.eviction = Eviction::default();
        self.gone = false;
        let (sender, instance) = self.incarnation();
        if self.announced {
            ctx.events.push(Event::SenderDisowned { sender, instance });
        }
    }
}
