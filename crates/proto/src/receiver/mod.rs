//! What this node knows of each remote sender, and what it asks of it (RFC 5740 5.2, 5.3, 5.5).
#![allow(unused_variables, clippy::todo, dead_code, missing_docs)]
use crate::{
    config::{FeedbackPath, ReceiverConfig},
    context::Context,
    rng::Rng,
    session::{Destination, RecvMeta, Timer},
    storage::ObjectKey,
    time::Time,
};
use alloc::vec::Vec;
use fanfare_wire::{Ack, Message, Nack, NodeId};

/// The receiving half of a session: all senders in view.
#[derive(Debug)]
pub(crate) struct RemoteSenders {}

impl RemoteSenders {
    pub(crate) fn new(
        node_id: NodeId,
        feedback: FeedbackPath,
        unicast: bool,
        config: ReceiverConfig,
    ) -> Self {
        todo!()
    }
    /// INFO, DATA or CMD; `bytes` is the datagram's length.
    pub(crate) fn on_sender_message(
        &mut self,
        ctx: &mut Context<'_>,
        meta: &RecvMeta,
        message: &Message<'_>,
        bytes: usize,
    ) {
        todo!()
    }
    pub(crate) fn on_overheard_nack(&mut self, ctx: &mut Context<'_>, nack: &Nack<'_>) {
        todo!()
    }
    pub(crate) fn on_overheard_ack(&mut self, ctx: &mut Context<'_>, ack: &Ack<'_>) {
        todo!()
    }
    pub(crate) fn on_timeout(&mut self, ctx: &mut Context<'_>) {
        todo!()
    }
    /// Appends one feedback message to `out` if one is due.
    pub(crate) fn poll_message(
        &mut self,
        ctx: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Destination> {
        todo!()
    }
    pub(crate) fn next_timeout(&self) -> Option<(Time, Timer)> {
        todo!()
    }
    pub(crate) fn confirm(&mut self, key: ObjectKey) {
        todo!()
    }
    pub(crate) fn set_ack_content(&mut self, sender: NodeId, content: Vec<u8>) -> bool {
        todo!()
    }
    pub(crate) fn set_status(
        &mut self,
        now: Time,
        rng: &mut Rng,
        status: Vec<u8>,
        announce: bool,
    ) -> bool {
        todo!()
    }
    pub(crate) fn cancel(&mut self, ctx: &mut Context<'_>, key: ObjectKey) {
        todo!()
    }
    pub(crate) fn progress(&self, key: ObjectKey) -> Option<u64> {
        todo!()
    }
    pub(crate) fn loss(&self, sender: NodeId) -> Option<f64> {
        todo!()
    }
}
