//! What this node knows of each remote sender, and what it asks of it (RFC 5740 5.2, 5.3, 5.5).
//!
//! In reading order:
//! - [`local`]: what holds for all of them
//! - [`sender_table`]: all known senders, and which of them must be woken next
//! - [`admission`]: which senders are heard at all
//! - [`remote_sender`]: one sender; it owns the machines below and passes each message to them;
//!   [`content`] and [`commands`] are the two kinds of message, [`batch`] many of them at once
//! - [`belief`]: which messages are believed, and from which object on
//! - [`assembly`]: what has arrived; [`stream`]: what is different of a stream, and reading it
//! - [`repair`]: what is missing, and requesting it, of peers too
//! - `tuning`: settings that change while it runs; `question`: what comes with a watermark
//! - [`answer`]: the other feedback to a sender, and its timers

mod admission;
mod answer;
mod assembly;
mod batch;
mod belief;
mod commands;
mod content;
mod local;
mod question;
mod remote_sender;
mod repair;
mod sender_table;
mod stream;
mod stream_commands;
#[cfg(test)]
mod tests;
mod tuning;
mod way;

use crate::{
    config::{FeedbackPath, ReceiverConfig},
    context::Context,
    datagram::{Destination, RecvMeta},
    event::AbortReason,
    peer_repair::Incarnation,
    rng::Rng,
    stats::DropReason,
    storage::ObjectKey,
    time::{Duration, Time},
    timer::Timer,
};
use admission::Admission;
pub use admission::OnlyFrom;
use alloc::vec::Vec;
use answer::{ack, feedback, reception, reflection, status, timing, vouched, watermark};
use assembly::{block, blocks, decode, format, object, objects, position, runs, unfinished};
use belief::{
    eviction, farewell, format_doubt, inactivity, join, pinned_identity, squelch, unsent,
    window_passing,
};
use fanfare_wire::{Ack, Data, DataBatch, InstanceId, Message, Nack, NodeId};
use local::Local;
use objects::Entry;
use position::ObjectIndex;
use remote_sender::RemoteSender;
use repair::{nack, needs, request, suppression};
pub use runs::RunSet;
use sender_table::SenderTable;

/// Longest status and acknowledgement content, bytes: what fits beside EXT_CC into a header of
/// 255 words, rounded down.
const CONTENT_MAX: usize = 960;

/// The receiving half of a session: all senders in view.
#[derive(Debug)]
pub(crate) struct RemoteSenders {
    local: Local,
    senders: SenderTable,
    status: Vec<u8>,
}

impl RemoteSenders {
    pub(crate) fn new(
        node_id: NodeId,
        feedback: FeedbackPath,
        unicast: bool,
        config: ReceiverConfig,
    ) -> Self {
        let (has_status, info_first) = (false, false);
        let overruns = 0;
        let admission = Admission::default();
        let local = Local {
            node_id,
            feedback,
            unicast,
            config,
            has_status,
            info_first,
            overruns,
            admission,
        };
        Self { local, senders: SenderTable::default(), status: Vec::new() }
    }

    pub(crate) fn set_node_id(&mut self, node_id: NodeId) {
        self.local.node_id = node_id;
    }

    /// INFO, DATA or CMD; `bytes` is the datagram's length.
    pub(crate) fn on_sender_message(
        &mut self,
        ctx: &mut Context<'_>,
        meta: &RecvMeta,
        message: &Message<'_>,
        bytes: usize,
    ) {
        let sender = match message {
            Message::Info(info) => &info.sender,
            Message::Data(data) => &data.sender,
            Message::Cmd(cmd) => cmd.sender(),
            Message::Nack(_) | Message::Ack(_) | Message::Report(_) => return,
        };
        let said = (sender.source_id, sender.instance_id);
        if !self.local.admission.admits(said.0, meta.source) {
            return self.local.admission.refuse(ctx, meta, (said.0, message));
        }
        let Some(incarnation) = self.admit(ctx, meta, sender) else {
            self.note_claim(meta, sender, message);
            // Where others may speak for a sender, a word of it that may be another's counts as one of theirs.
            if self.local.config.outlive_senders && self.senders.contains(said) {
                self.on_retransmission(ctx, message);
            }
            return;
        };
        let Self { local, senders, .. } = self;
        if let Some(sender) = senders.at_mut(incarnation) {
            sender.on_message(ctx, local, meta, message, bytes);
        }
    }

    /// What follows `head`, which was heard, in a row. Returns how much of it is done with.
    pub(crate) fn on_batch(
        &mut self,
        ctx: &mut Context<'_>,
        meta: &RecvMeta,
        head: &Data<'_>,
        row: DataBatch<'_>,
    ) -> usize {
        let Self { local, senders, .. } = self;
        let incarnation = (head.sender.source_id, head.sender.instance_id);
        let heard = !row.is_empty() && local.admission.admits(incarnation.0, meta.source);
        let sender = senders.at_mut(incarnation).filter(|_| heard);
        sender.map_or(0, |sender| sender.on_batch(ctx, local, meta, head, row))
    }

    /// Whether there is room for `incarnation`: the stray one heard longest ago is dropped, and of a node with too many instances
    /// that which has least.
    fn make_place(&mut self, ctx: &mut Context<'_>, incarnation: Incarnation) -> bool {
        if self.senders.contains(incarnation) {
            return true;
        }
        if let Some(least) = self.senders.least_incarnation(incarnation.0) {
            self.let_go(ctx, least);
        }
        if self.has_room() {
            return true;
        }
        // First who has given nothing yet.
        let stray = self.senders.values().filter(|known| !known.identity.is_established());
        let stray = stray.min_by_key(|known| (known.has_whole(), known.heard));
        let Some(stray) = stray.map(RemoteSender::incarnation) else { return false };
        self.let_go(ctx, stray);
        true
    }

    fn has_room(&self) -> bool {
        self.senders.len() < self.local.config.senders_max.max(1)
    }

    fn let_go(&mut self, ctx: &mut Context<'_>, incarnation: Incarnation) {
        if let Some(mut gone) = self.senders.remove(incarnation) {
            gone.abandon(ctx);
        }
    }

    /// The sender that feedback speaks to, if it is in view and in that instance.
    fn addressed(&mut self, sender: NodeId, instance: InstanceId) -> Option<&mut RemoteSender> {
        self.senders.at_mut((sender, instance))
    }

    pub(crate) fn on_overheard_nack(&mut self, ctx: &mut Context<'_>, nack: &Nack<'_>) {
        let feedback = &nack.feedback;
        match self.addressed(feedback.server_id, feedback.instance_id) {
            Some(sender) => {
                let cc = nack.extensions.cc();
                let said = (feedback.source_id, cc.as_ref());
                sender.on_overheard(ctx.now, said, Some((&nack.requests, false)));
            }
            None => ctx.stats.drop(DropReason::NotForUs),
        }
    }

    pub(crate) fn on_overheard_ack(&mut self, ctx: &mut Context<'_>, ack: &Ack<'_>) {
        let feedback = &ack.feedback;
        match self.addressed(feedback.server_id, feedback.instance_id) {
            Some(sender) => {
                let cc = ack.extensions.cc();
                sender.on_overheard(ctx.now, (feedback.source_id, cc.as_ref()), None);
            }
            None => ctx.stats.drop(DropReason::NotForUs),
        }
    }

    pub(crate) fn on_timeout(&mut self, ctx: &mut Context<'_>) {
        let Self { local, senders, .. } = self;
        for incarnation in senders.due(ctx.now, local.config.silent) {
            if let Some(sender) = senders.at_mut(incarnation) {
                sender.on_timeout(ctx, local);
            }
        }
    }

    /// Appends one feedback message to `out` if one is due.
    pub(crate) fn poll_message(
        &mut self,
        ctx: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Destination> {
        if self.local.config.silent {
            return None;
        }
        let Self { local, senders, status } = self;
        let due = senders.due(ctx.now, local.config.silent);
        due.into_iter().find_map(|incarnation| {
            senders.at_mut(incarnation)?.poll_message(ctx, local, status, out)
        })
    }

    pub(crate) fn next_timeout(&self) -> Option<(Time, Timer)> {
        self.senders.next_timeout(self.local.config.silent)
    }

    fn find(&mut self, key: ObjectKey) -> Option<(&Local, &mut RemoteSender, ObjectIndex)> {
        let sender = self.senders.at_mut((key.sender, key.instance))?;
        let object = sender.objects.as_ref()?.find(key)?;
        Some((&self.local, sender, object))
    }

    pub(crate) fn confirm(&mut self, key: ObjectKey) {
        if let Some((local, sender, object)) = self.find(key) {
            sender.confirm(local, object);
        }
    }

    pub(crate) fn set_ack_content(&mut self, sender: Incarnation, content: Vec<u8>) -> bool {
        match self.senders.at_mut(sender) {
            Some(sender) if content.len() <= CONTENT_MAX => {
                sender.ack_content = content;
                true
            }
            _ => false,
        }
    }

    pub(crate) fn set_status(
        &mut self,
        now: Time,
        rng: &mut Rng,
        status: Vec<u8>,
        announce: bool,
    ) -> bool {
        if status.len() > CONTENT_MAX {
            return false;
        }
        self.status = status;
        self.local.has_status = true;
        if announce {
            for sender in self.senders.values_mut() {
                let delay = sender.timing.ack_delay(sender.feedback.sending(), rng);
                sender.status.report(now + delay);
            }
        }
        true
    }

    pub(crate) fn set_status_to(
        &mut self,
        now: Time,
        rng: &mut Rng,
        (sender, status): (Incarnation, Vec<u8>),
        announce: bool,
    ) -> bool {
        match self.senders.at_mut(sender) {
            Some(sender) if status.len() <= CONTENT_MAX => {
                sender.own_status = Some(status);
                self.local.has_status = true;
                if announce {
                    let delay = sender.timing.ack_delay(sender.feedback.sending(), rng);
                    sender.status.report(now + delay);
                }
                true
            }
            _ => false,
        }
    }

    pub(crate) fn set_overruns(&mut self, now: Time, overruns: u32) {
        self.local.overruns = overruns;
        self.senders.values_mut().for_each(|sender| sender.reception.on_overruns(now, overruns));
    }

    /// This machine has been so long behind with its reading.
    pub(crate) fn set_behind(&mut self, now: Time, behind: Duration) {
        self.senders.values_mut().for_each(|sender| sender.on_behind(now, behind));
    }

    /// All senders' messages come by other ways from now on.
    pub(crate) fn measure_anew(&mut self) {
        self.senders.values_mut().for_each(RemoteSender::measure_anew);
    }

    pub(crate) fn cancel(&mut self, ctx: &mut Context<'_>, key: ObjectKey) {
        if let Some((_, sender, object)) = self.find(key)
            && let Some(objects) = &mut sender.objects
        {
            objects.abort(ctx, object, AbortReason::Cancelled);
        }
    }

    pub(crate) fn forget_object(&mut self, ctx: &mut Context<'_>, key: ObjectKey) {
        if let Some((_, sender, object)) = self.find(key)
            && let Some(objects) = &mut sender.objects
        {
            objects.forget(ctx, object);
        }
    }

    pub(crate) fn excuse(&mut self, key: ObjectKey) {
        if let Some((local, sender, object)) = self.find(key) {
            sender.excuse(local, object);
        }
    }

    fn entry(&self, key: ObjectKey) -> Option<&Entry> {
        let objects = self.senders.at((key.sender, key.instance))?.objects.as_ref()?;
        objects.entry(objects.find(key)?)
    }

    pub(crate) fn progress(&self, key: ObjectKey) -> Option<u64> {
        match self.entry(key)? {
            Entry::Open(open) => Some(open.received()),
            Entry::Complete { format, .. } => Some(format.partition.object_size),
            Entry::Pending { .. } | Entry::GivenUp | Entry::Skipped => None,
        }
    }

    pub(crate) fn set_admission(&mut self, only: Option<OnlyFrom>) {
        self.local.admission.set(only);
    }

    pub(crate) fn heard(&self, sender: NodeId) -> Option<Time> {
        self.senders.get(sender).map(|sender| sender.heard)
    }

    pub(crate) fn called(&self, sender: NodeId) -> Option<&[u8]> {
        self.senders.get(sender)?.called.as_deref()
    }

    pub(crate) fn loss(&self, sender: NodeId) -> Option<f64> {
        self.senders.get(sender).map(|sender| sender.loss.fraction())
    }
}
