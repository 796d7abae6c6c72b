//! Bytes of one connection to the other end, until they are in a span.

use std::{collections::VecDeque, time::Duration};

use fanfare_proto::Time;

/// Bytes that may wait for a span: more would be a queue of our own before the line.
const QUEUE_MAX: usize = 256 << 10;
/// Whoever has sent less than this in the last second goes first.
const PROMPT_BYTES: u64 = 16 << 10;
const PROMPT_TIME: Duration = Duration::from_secs(1);

/// One direction.
#[derive(Debug, Default)]
pub struct Outgoing {
    queue: VecDeque<Vec<u8>>,
    /// Bytes of the first of them that are sent already.
    begun: usize,
    queued: usize,
    sent: u64,
    credit: u64,
    finished: bool,
    last_sent: bool,
    recent: (Time, u64),
}

impl Outgoing {
    /// So many bytes have gone with the request.
    pub(crate) const fn begin_behind(&mut self, bytes: usize) {
        self.sent = bytes as u64;
    }

    /// How many bytes it takes now.
    #[must_use]
    pub fn room(&self) -> usize {
        let credit = self.credit.saturating_sub(self.sent + self.queued as u64);
        let room = QUEUE_MAX.saturating_sub(self.queued);
        usize::try_from(credit).unwrap_or(usize::MAX).min(room)
    }

    /// Takes bytes, at most as many as there is room for.
    pub fn push(&mut self, bytes: Vec<u8>) {
        debug_assert!(bytes.len() <= self.room() && !self.finished);
        self.queued += bytes.len();
        if !bytes.is_empty() {
            self.queue.push_back(bytes);
        }
    }

    /// Nothing more comes.
    pub const fn finish(&mut self) {
        self.finished = true;
    }

    /// The other end takes so much.
    pub fn on_credit(&mut self, up_to: u64) {
        self.credit = self.credit.max(up_to);
    }

    /// Whether there is something for a span.
    #[must_use]
    pub const fn has_data(&self) -> bool {
        self.queued > 0 || self.finished && !self.last_sent
    }

    /// Whether all of it is on its way.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.last_sent
    }

    /// Bytes that wait.
    #[must_use]
    pub const fn queued(&self) -> usize {
        self.queued
    }

    /// Whether it goes before those that send much.
    #[must_use]
    pub fn is_prompt(&self, now: Time) -> bool {
        now.since(self.recent.0) >= PROMPT_TIME || self.recent.1 < PROMPT_BYTES
    }

    /// Takes at most `max` bytes: where they begin, they, and whether nothing follows.
    pub fn take(&mut self, now: Time, max: usize) -> (u64, Vec<u8>, bool) {
        let mut bytes = Vec::with_capacity(max.min(self.queued));
        while bytes.len() < max
            && let Some(first) = self.queue.front()
        {
            let part = &first[self.begun..];
            let take = part.len().min(max - bytes.len());
            bytes.extend_from_slice(&part[..take]);
            self.begun += take;
            if self.begun == first.len() {
                self.queue.pop_front();
                self.begun = 0;
            }
        }
        self.queued -= bytes.len();
        let offset = self.sent;
        self.sent += bytes.len() as u64;
        if now.since(self.recent.0) >= PROMPT_TIME {
            self.recent = (now, 0);
        }
        self.recent.1 += bytes.len() as u64;
        let last = self.finished && self.queued == 0;
        self.last_sent |= last;
        (offset, bytes, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_leave_in_order_with_their_offsets_and_the_end_once() {
        let mut outgoing = Outgoing::default();
        assert_eq!(outgoing.room(), 0);
        outgoing.on_credit(8);
        outgoing.push(b"abc".to_vec());
        outgoing.push(b"defg".to_vec());
        assert_eq!(outgoing.room(), 1);
        let now = Time::ZERO;
        assert_eq!(outgoing.take(now, 5), (0, b"abcde".to_vec(), false));
        outgoing.finish();
        assert_eq!(outgoing.take(now, 5), (5, b"fg".to_vec(), true));
        assert!(outgoing.is_done() && !outgoing.has_data());
        assert_eq!(outgoing.room(), 1);
    }

    #[test]
    fn whoever_sends_little_is_prompt() {
        let mut outgoing = Outgoing::default();
        outgoing.on_credit(u64::MAX / 4);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        outgoing.push(vec![0; 20_000]);
        assert!(outgoing.is_prompt(at(2000)));
        outgoing.take(at(2000), 20_000);
        assert!(!outgoing.is_prompt(at(2500)));
        assert!(outgoing.is_prompt(at(3000)));
    }
}
