//! What waits for the sockets: bounded, and no faster than a side may have it.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use crate::{config::Outgoing, side::Side};

/// Datagrams that wait for the sockets.
const WAITING_MAX: usize = 8192;
/// Answers that are passed on in a second.
const ANSWERS_MAX: u32 = 20_000;
/// A side may have a tenth of a second's bytes at once, and no fewer than these.
const BURST_PARTS: f64 = 10.0;
const BURST_MIN: f64 = 64_000.0;

/// The queue.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// Bytes a second to a side.
    rate: f64,
    waiting: VecDeque<Outgoing>,
    /// Bytes that each side may have now, and since when.
    tokens: BTreeMap<Side, (f64, Duration)>,
    /// A second, and the answers in it.
    answers: (u64, u32),
}

impl Outbox {
    /// For sides that may have so many bits a second each.
    pub(crate) fn new(limit: u64) -> Self {
        let (waiting, tokens) = (VecDeque::new(), BTreeMap::new());
        Self { rate: limit as f64 / 8.0, waiting, tokens, answers: (0, 0) }
    }

    /// False when there is no room for it.
    pub(crate) fn push(&mut self, outgoing: Outgoing) -> bool {
        let room = self.waiting.len() < WAITING_MAX;
        if room {
            self.waiting.push_back(outgoing);
        }
        room
    }

    pub(crate) fn pop(&mut self) -> Option<Outgoing> {
        self.waiting.pop_front()
    }

    /// Whether there is room for repairs, beside what has to be passed on.
    pub(crate) fn has_room_for_repairs(&self) -> bool {
        self.waiting.len() < WAITING_MAX / 2
    }

    /// Whether a side may have so many bytes now: they are taken from what it may have.
    pub(crate) fn may_send(&mut self, now: Duration, side: Side, bytes: usize) -> bool {
        let burst = (self.rate / BURST_PARTS).max(BURST_MIN);
        let (tokens, filled) = self.tokens.entry(side).or_insert((burst, now));
        *tokens = (*tokens + now.saturating_sub(*filled).as_secs_f64() * self.rate).min(burst);
        *filled = now;
        let may = *tokens >= bytes as f64;
        if may {
            *tokens -= bytes as f64;
        }
        may
    }

    /// Whether one answer more may be passed on now.
    pub(crate) fn may_answer(&mut self, now: Duration) -> bool {
        if self.answers.0 != now.as_secs() {
            self.answers = (now.as_secs(), 0);
        }
        self.answers.1 += 1;
        self.answers.1 <= ANSWERS_MAX
    }
}
