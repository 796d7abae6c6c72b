//! Bytes of one connection from the other end: put in order, and never more than was granted.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use fanfare_proto::Time;

use super::span::Record;

/// Credit of a connection at least.
pub(crate) const CREDIT_MIN: u64 = 64 << 10;
/// And at most.
pub(crate) const CREDIT_MAX: u64 = 16 << 20;
/// A lost piece comes again a round trip later, and with bad luck three; what is behind it waits. Credit
/// takes a round trip to arrive, and is given when half of it is used. So many round trips of what is
/// read have to be granted: at 10 % loss four of them left the sender without credit every few seconds.
const ROUNDS: f64 = 8.0;

/// One direction.
#[derive(Debug)]
pub struct Incoming {
    /// In order, not fetched yet.
    ready: VecDeque<Vec<u8>>,
    /// Where the first of `beyond` is awaited.
    next: u64,
    beyond: BTreeMap<u64, Vec<u8>>,
    end: Option<u64>,
    /// The other end may send up to here.
    granted: u64,
    fetched: u64,
    window: u64,
    /// What was fetched in the last round trip decides about the next.
    measured: (Time, u64),
}

/// The other end does what it must not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Violation {
    /// It sends more than was granted.
    Credit,
    /// It contradicts itself about where a connection ends.
    End,
    /// It cannot be understood.
    Malformed,
}

impl Incoming {
    /// With this much credit.
    #[must_use]
    pub const fn new(credit: u64) -> Self {
        Self {
            ready: VecDeque::new(),
            next: 0,
            beyond: BTreeMap::new(),
            end: None,
            granted: credit,
            fetched: 0,
            window: credit,
            measured: (Time::ZERO, 0),
        }
    }

    /// A piece has come. True when there is something new to fetch.
    ///
    /// # Errors
    /// When it may not be.
    pub fn on_record(&mut self, record: &Record<'_>) -> Result<bool, Violation> {
        if record.end() > self.granted {
            return Err(Violation::Credit);
        }
        let beyond_end = self.end.is_some_and(|end| record.end() > end);
        let before_known = record.last && record.end() < self.known();
        let other_end = record.last && self.end.is_some_and(|end| end != record.end());
        if beyond_end || before_known || other_end {
            return Err(Violation::End);
        }
        let was_ended = self.is_at_end();
        if record.last {
            self.end = Some(record.end());
        }
        let before = self.next;
        if record.end() > self.next && !record.bytes.is_empty() {
            let skip = self.next.saturating_sub(record.offset) as usize;
            self.keep(record.offset + skip as u64, &record.bytes[skip..]);
            self.move_on();
        }
        Ok(self.next > before || self.is_at_end() && !was_ended)
    }

    /// The furthest that anything is known of.
    fn known(&self) -> u64 {
        let beyond = self.beyond.last_key_value();
        beyond.map_or(self.next, |(offset, bytes)| offset + bytes.len() as u64)
    }

    /// Keeps what is not kept yet: pieces do not overlap afterwards.
    fn keep(&mut self, mut offset: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let before = self.beyond.range(..=offset).next_back();
            if let Some((at, held)) = before
                && at + held.len() as u64 > offset
            {
                let skip = (at + held.len() as u64 - offset).min(bytes.len() as u64);
                offset += skip;
                bytes = &bytes[skip as usize..];
                continue;
            }
            let free = self.beyond.range(offset..).next().map(|(at, _)| at - offset);
            let take = free.map_or(bytes.len(), |free| bytes.len().min(free as usize));
            self.beyond.insert(offset, bytes[..take].to_vec());
            offset += take as u64;
            bytes = &bytes[take..];
        }
    }

    fn move_on(&mut self) {
        while let Some(bytes) = self.beyond.remove(&self.next) {
            self.next += bytes.len() as u64;
            self.ready.push_back(bytes);
        }
    }

    fn is_at_end(&self) -> bool {
        self.end == Some(self.next)
    }

    /// Whether all of it has been fetched.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_at_end() && self.ready.is_empty()
    }

    /// The next bytes.
    pub fn fetch(&mut self) -> Option<Vec<u8>> {
        let bytes = self.ready.pop_front()?;
        self.fetched += bytes.len() as u64;
        Some(bytes)
    }

    /// More credit, when half of it is used up: what was fetched in a round trip, several times. `room`:
    /// what all connections together may still be granted.
    pub fn grant(&mut self, now: Time, round_trip: Duration, room: u64) -> Option<u64> {
        if self.end.is_some() {
            return None;
        }
        let (since, fetched) = self.measured;
        let elapsed = now.since(since);
        if elapsed >= round_trip {
            let of_round = (self.fetched - fetched) as f64 * round_trip.as_secs_f64()
                / elapsed.as_secs_f64().max(1e-6);
            let wanted = ((ROUNDS * of_round) as u64).clamp(CREDIT_MIN, CREDIT_MAX);
            self.window = if room > 0 {
                // It does not shrink while there is room: a slow round may have been bad luck.
                wanted.max(self.window).min(self.window + room)
            } else {
                wanted.max(self.window / 2).min(self.window)
            };
            self.measured = (now, self.fetched);
        }
        let wanted = self.fetched + self.window;
        let left = self.granted.saturating_sub(self.fetched);
        if wanted > self.granted && left <= self.window / 2 {
            self.granted = wanted;
            return Some(wanted);
        }
        None
    }

    /// What it may hold at most.
    #[must_use]
    pub const fn window(&self) -> u64 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(incoming: &mut Incoming) -> Vec<u8> {
        std::iter::from_fn(|| incoming.fetch()).flatten().collect()
    }

    fn record(offset: u64, bytes: &[u8], last: bool) -> Record<'_> {
        Record { id: 1, offset, bytes, last }
    }

    #[test]
    fn pieces_in_any_order_and_twice_make_the_whole() {
        let mut incoming = Incoming::new(100);
        assert_eq!(incoming.on_record(&record(6, b"world", true)), Ok(false));
        assert_eq!(incoming.on_record(&record(6, b"wor", false)), Ok(false));
        assert_eq!(incoming.on_record(&record(0, b"hello ", false)), Ok(true));
        assert_eq!(incoming.on_record(&record(0, b"hello ", false)), Ok(false));
        assert!(!incoming.is_done());
        assert_eq!(all(&mut incoming), b"hello world");
        assert!(incoming.is_done());
    }

    #[test]
    fn a_byte_beyond_the_credit_or_the_end_is_a_violation() {
        let mut incoming = Incoming::new(5);
        assert_eq!(incoming.on_record(&record(1, b"world", false)), Err(Violation::Credit));
        assert_eq!(incoming.on_record(&record(0, b"abc", true)), Ok(true));
        assert_eq!(incoming.on_record(&record(3, b"d", false)), Err(Violation::End));
        assert_eq!(incoming.on_record(&record(0, b"ab", true)), Err(Violation::End));
        let mut other = Incoming::new(5);
        other.on_record(&record(2, b"cd", false)).unwrap();
        assert_eq!(other.on_record(&record(0, b"ab", true)), Err(Violation::End));
    }

    #[test]
    fn credit_grows_only_with_what_is_fetched() {
        let mut incoming = Incoming::new(CREDIT_MIN);
        let (round_trip, room) = (Duration::from_millis(500), u64::MAX / 2);
        let at = |n: u64| Time::ZERO + Duration::from_secs(n);
        assert_eq!(incoming.grant(at(1), round_trip, room), None);
        let bytes = vec![0; CREDIT_MIN as usize];
        incoming.on_record(&record(0, &bytes, false)).unwrap();
        assert_eq!(incoming.grant(at(2), round_trip, room), None);
        incoming.fetch();
        // 64 KiB in the last second, so 32 in a round trip: eight times that from here on.
        assert_eq!(incoming.grant(at(3), round_trip, room), Some(5 * CREDIT_MIN));
        assert_eq!(incoming.grant(at(4), round_trip, room), None);
        incoming.on_record(&record(CREDIT_MIN, &bytes, false)).unwrap();
        incoming.fetch();
        let soon = at(4) + Duration::from_millis(500);
        assert_eq!(incoming.grant(soon, round_trip, room), Some(10 * CREDIT_MIN));
        // Without room for all connections it shrinks.
        incoming.on_record(&record(2 * CREDIT_MIN, &bytes, false)).unwrap();
        incoming.on_record(&record(3 * CREDIT_MIN, &bytes, false)).unwrap();
        incoming.grant(at(60), round_trip, 0);
        assert_eq!(incoming.window(), 4 * CREDIT_MIN);
    }

    proptest! {
        /// Against a slow model: a byte at a time in an array.
        #[test]
        fn what_is_put_together_is_what_was_sent(
            pieces in proptest::collection::vec((0usize..200, 1usize..60), 1..60),
        ) {
            let sent: Vec<u8> = (0..260u32).map(|n| (n * 7 % 251) as u8).collect();
            let mut model = vec![false; 260];
            let mut incoming = Incoming::new(260);
            let mut got = Vec::new();
            for (offset, len) in pieces {
                let bytes = &sent[offset..offset + len];
                incoming.on_record(&record(offset as u64, bytes, false)).unwrap();
                model[offset..offset + len].fill(true);
                got.extend(all(&mut incoming));
                let known = model.iter().take_while(|known| **known).count();
                prop_assert_eq!(&got, &sent[..known]);
            }
        }
    }
}
