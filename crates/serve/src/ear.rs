//! A receiver's answer to a sender that calls by broadcast ([`crate::Caller`]): that it hears nothing of
//! what goes to the group. It has no time of its own.

use std::net::SocketAddr;

use fanfare_units::time::{Duration, Time};

use crate::message::Message;

/// Who has heard none of so many messages to the group, for so long, does not hear the group. One
/// that has heard it before may have lost a burst, and waits longer.
pub(crate) const MISSED: u32 = 3;
const SILENT: Duration = Duration::from_millis(400);
const SILENT_SINCE_HEARD: Duration = Duration::from_secs(2);
/// Senders at once whose calls a receiver attends to.
const SENDERS_MAX: usize = 8;
/// A sender that has not called for so long is forgotten: on a radio of 10 kbit/s there are 16 s between two
/// calls.
const FORGET: Duration = Duration::from_secs(60);

/// A sender that calls.
#[derive(Debug)]
struct Called {
    address: SocketAddr,
    id: u32,
    /// Since when, and since how many messages, nothing was heard by the group.
    since: Time,
    messages: u32,
    /// It was heard by the group since the last call, or ever.
    heard: bool,
    ever: bool,
    called: Time,
    nonce: u64,
    cookie: u64,
}

/// Answers calls.
#[derive(Debug, Default)]
pub(crate) struct Ear {
    senders: Vec<Called>,
}

impl Ear {
    /// Whether it is worth knowing who sends to the group: somebody has called, and was not heard there
    /// since.
    pub(crate) fn listens(&self) -> bool {
        self.senders.iter().any(|sender| !sender.heard)
    }

    /// A message of this sender came by the group.
    pub(crate) fn on_group(&mut self, id: u32) {
        for sender in self.senders.iter_mut().filter(|sender| sender.id == id) {
            (sender.heard, sender.ever) = (true, true);
        }
    }

    /// A sender calls. The answer, if it does not hear the group; `nonce`: chance.
    pub(crate) fn on_call(
        &mut self,
        now: Time,
        (address, id): (SocketAddr, u32),
        messages: u32,
        nonce: u64,
    ) -> Option<Vec<u8>> {
        self.senders.retain(|sender| now.since(sender.called) < FORGET);
        let is_it = |sender: &&mut Called| (sender.address, sender.id) == (address, id);
        let Some(sender) = self.senders.iter_mut().find(is_it) else {
            if self.senders.len() < SENDERS_MAX {
                let (since, called) = (now, now);
                let (heard, ever, cookie) = (false, false, 0);
                self.senders.push(Called {
                    address,
                    id,
                    since,
                    messages,
                    heard,
                    ever,
                    called,
                    nonce,
                    cookie,
                });
            }
            return None;
        };
        sender.called = now;
        if sender.heard {
            (sender.heard, sender.since, sender.messages) = (false, now, messages);
            return None;
        }
        let patience = if sender.ever { SILENT_SINCE_HEARD } else { SILENT };
        let missed = messages.wrapping_sub(sender.messages);
        let deaf = now.since(sender.since) >= patience && missed >= MISSED;
        deaf.then(|| Message::Deaf { nonce: sender.nonce, cookie: sender.cookie }.encode(id))
    }

    /// The sender wants to see this. What to answer.
    pub(crate) fn on_cookie(
        &mut self,
        (address, id): (SocketAddr, u32),
        nonce: u64,
        cookie: u64,
    ) -> Option<Vec<u8>> {
        let is_it = |sender: &&mut Called| (sender.address, sender.id) == (address, id);
        let sender = self.senders.iter_mut().find(is_it).filter(|s| s.nonce == nonce)?;
        if sender.heard || sender.cookie == cookie {
            return None;
        }
        sender.cookie = cookie;
        Some(Message::Deaf { nonce, cookie }.encode(id))
    }
}
