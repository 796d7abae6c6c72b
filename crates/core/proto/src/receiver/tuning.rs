//! Settings of a receiver that an application changes while it runs, and questions that come with
//! watermarks.

use super::{
    CONTENT_MAX, RemoteSenders, ack::Watermark, nack::NackPath, remote_sender::RemoteSender,
    watermark::Reached,
};
use crate::{
    config::{FeedbackPath, JoinPolicy, Nacking},
    context::Context,
    event::Event,
    peer_repair::Incarnation,
    storage::ObjectKey,
    time::{Duration, Time},
};
use alloc::vec::Vec;
use fanfare_wire::{InstanceId, NodeId};

impl RemoteSenders {
    pub(crate) fn set_join(&mut self, join: JoinPolicy) {
        self.local.config.join = join;
    }
    pub(crate) fn set_objects_max(&mut self, objects: u16) {
        self.local.config.objects_max = objects;
    }
    pub(crate) fn set_robust_factor(&mut self, factor: u32) {
        self.local.config.robust_factor = factor;
    }
    pub(crate) fn set_nacking(&mut self, nacking: Nacking) {
        self.local.config.nacking = nacking;
    }

    pub(crate) fn set_sender_nacking(&mut self, sender: Incarnation, nacking: Nacking) {
        if let Some(sender) = self.senders.at_mut(sender) {
            sender.nacking = nacking;
            if let Some(objects) = &mut sender.objects {
                objects.set_nacking(nacking);
            }
        }
    }

    pub(crate) fn set_object_nacking(&mut self, key: ObjectKey, nacking: Nacking) {
        if let Some((_, sender, object)) = self.find(key)
            && let Some(open) = sender.objects.as_mut().and_then(|o| o.open_mut(object))
        {
            open.nacking = nacking;
        }
    }

    pub(crate) fn set_feedback(&mut self, feedback: FeedbackPath) {
        self.local.feedback = feedback;
        let path = match (self.local.unicast, feedback) {
            (true, _) => NackPath::Unicast,
            (false, FeedbackPath::Sender) => NackPath::Sender,
            (false, FeedbackPath::Group) => NackPath::Group,
        };
        self.senders.values_mut().for_each(|sender| sender.nack.set_path(path));
    }

    pub(crate) fn set_sender_unicast(&mut self, sender: Incarnation, unicast: bool) {
        let is_unicast = self.local.unicast;
        if let Some(sender) = self.senders.at_mut(sender).filter(|_| !is_unicast) {
            sender.own_feedback =
                Some(if unicast { FeedbackPath::Sender } else { FeedbackPath::Group });
            sender.nack.set_path(if unicast { NackPath::Sender } else { NackPath::Group });
        }
    }

    pub(crate) fn forget(&mut self, ctx: &mut Context<'_>, node: NodeId) {
        while let Some(incarnation) = self.senders.current(node) {
            self.let_go(ctx, incarnation);
        }
    }

    pub(crate) fn grtt(&self, sender: NodeId) -> Option<Duration> {
        self.senders.get(sender).map(|sender| sender.timing.grtt)
    }

    pub(crate) fn instance(&self, sender: NodeId) -> Option<InstanceId> {
        self.senders.current(sender).map(|(_, instance)| instance)
    }

    pub(crate) fn answer_watermark(
        &mut self,
        now: Time,
        sender: Incarnation,
        answer: Vec<u8>,
    ) -> bool {
        match self.senders.at_mut(sender) {
            Some(sender) if answer.len() <= CONTENT_MAX => sender.answer_watermark(now, answer),
            _ => false,
        }
    }
}

impl RemoteSender {
    /// A watermark came with a question. True when it was answered, or there is none.
    pub(super) fn is_answered(
        &mut self,
        ctx: &mut Context<'_>,
        (watermark, question): (Watermark, Option<&[u8]>),
        reached: Reached,
    ) -> bool {
        let Some(content) = question else { return true };
        if self.question.answered == Some(watermark) {
            return true;
        }
        if reached == Reached::Yes && self.question.told != Some(watermark) {
            self.question.told = Some(watermark);
            let content = content.to_vec();
            ctx.events.push(Event::WatermarkRequest { sender: self.id, content });
        }
        false
    }

    fn answer_watermark(&mut self, now: Time, answer: Vec<u8>) -> bool {
        let Some(watermark) = self.question.told.take() else { return false };
        self.question.answered = Some(watermark);
        self.ack_content = answer;
        self.ack.on_flush(now, watermark, true, Duration::ZERO);
        true
    }
}
