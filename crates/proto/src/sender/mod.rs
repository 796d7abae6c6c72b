//! Objects to send, and everything that keeps them repairable (RFC 5740 5.1, 5.4, 5.5).
#![allow(unused_variables, clippy::todo, dead_code, missing_docs)]
use crate::{
    config::SenderConfig,
    context::Context,
    event::EventQueue,
    rate::Bitrate,
    rng::Rng,
    session::{EnqueueError, NewObject, ReceiverReport, RecvMeta, Timer},
    storage::ObjectKey,
    time::{Duration, Time},
};
use alloc::vec::Vec;
use fanfare_wire::{Ack, Nack, NodeId, ObjectTransportId};

/// The sending half of a session.
#[derive(Debug)]
pub(crate) struct Sender {}

impl Sender {
    pub(crate) fn new(
        node_id: NodeId,
        unicast: bool,
        config: SenderConfig,
        now: Time,
        rng: &mut Rng,
    ) -> Self {
        todo!()
    }
    pub(crate) fn enqueue(
        &mut self,
        now: Time,
        object: NewObject,
        events: &mut EventQueue,
    ) -> Result<ObjectKey, EnqueueError> {
        todo!()
    }
    pub(crate) fn requeue(&mut self, now: Time, object: ObjectTransportId) -> bool {
        todo!()
    }
    pub(crate) fn cancel(
        &mut self,
        now: Time,
        object: ObjectTransportId,
        events: &mut EventQueue,
    ) -> bool {
        todo!()
    }
    pub(crate) fn set_watermark(&mut self, now: Time, nodes: &[NodeId]) {
        todo!()
    }
    pub(crate) fn add_acking_node(&mut self, now: Time, node: NodeId) {
        todo!()
    }
    pub(crate) fn remove_acking_node(&mut self, now: Time, node: NodeId) {
        todo!()
    }
    pub(crate) fn set_roll_call(&mut self, now: Time, call: Option<(Vec<u8>, Duration)>) {
        todo!()
    }
    pub(crate) fn set_rate(&mut self, now: Time, rate: Bitrate) {
        todo!()
    }
    pub(crate) fn rate(&self) -> Bitrate {
        todo!()
    }
    pub(crate) fn grtt(&self) -> Duration {
        todo!()
    }
    pub(crate) fn hold(&mut self, now: Time, hold: bool) {
        todo!()
    }
    pub(crate) fn end(&mut self, now: Time) {
        todo!()
    }
    pub(crate) fn is_idle(&self) -> bool {
        todo!()
    }
    pub(crate) fn progress(&self) -> u64 {
        todo!()
    }
    pub(crate) fn receivers(&self) -> Vec<ReceiverReport> {
        todo!()
    }
    pub(crate) fn on_nack(&mut self, ctx: &mut Context<'_>, meta: &RecvMeta, nack: &Nack<'_>) {
        todo!()
    }
    pub(crate) fn on_ack(&mut self, ctx: &mut Context<'_>, meta: &RecvMeta, ack: &Ack<'_>) {
        todo!()
    }
    pub(crate) fn on_timeout(&mut self, ctx: &mut Context<'_>) {
        todo!()
    }
    /// Appends one message to `out` if one may go now.
    pub(crate) fn poll_message(&mut self, ctx: &mut Context<'_>, out: &mut Vec<u8>) -> bool {
        todo!()
    }
    pub(crate) fn next_timeout(&self) -> Option<(Time, Timer)> {
        todo!()
    }
}
