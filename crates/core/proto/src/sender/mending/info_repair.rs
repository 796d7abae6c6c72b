//! NORM_INFO repairs that the driver sends itself: one message of its own form can serve several
//! receivers that miss different ones.

use crate::{
    sender::Sender,
    time::{Duration, Time},
};
use alloc::vec::Vec;
use fanfare_wire::ObjectTransportId;

impl Sender {
    /// Objects without bytes whose NORM_INFO is to go once more now, oldest first.
    pub fn info_repairs(&self) -> Vec<ObjectTransportId> {
        match self.held || self.eot.has_begun() {
            true => Vec::new(),
            false => self.cache.info_repairs().collect(),
        }
    }

    /// The driver says it: it counts as sent, and the end is not reached before that is flushed.
    pub fn take_info_repair(&mut self, now: Time, object: ObjectTransportId) {
        self.now = self.now.max(now);
        self.cache.take_info_repair(self.now, object);
        self.on_object_message_sent(self.flushes_infos);
    }

    /// The driver does not say it after all.
    pub fn give_info_repair(&mut self, object: ObjectTransportId) {
        self.cache.give_info_repair(object);
    }

    /// A message of so many bytes has gone in the place of such repairs.
    pub fn on_own_repair(&mut self, now: Time, bytes: usize) {
        self.on_own(now, bytes);
        self.share.on_repair(bytes);
        self.on_object_message_sent(self.flushes_infos);
    }

    /// Whether what is no repair waits to be sent.
    pub fn has_new(&self) -> bool {
        !self.held && self.cache.has_new()
    }

    /// Whether a short object is to be sent before repairs.
    pub fn has_prompt(&self) -> bool {
        !self.held && !self.eot.has_begun() && self.cache.is_prompt()
    }

    /// How long requests are gathered.
    pub fn gathering(&self) -> Duration {
        self.cycle_timing().aggregate
    }

    /// Something of an object was said: its end is flushed, and others' turns wait for it.
    pub(in crate::sender) fn on_object_message_sent(&mut self, flushed: bool) {
        match flushed {
            true => self.flush.on_sent(self.now),
            false => self.flush.on_sent_unflushed(self.now, self.flush_interval()),
        }
        self.slow.on_busy(self.now);
        self.active = true;
    }
}
