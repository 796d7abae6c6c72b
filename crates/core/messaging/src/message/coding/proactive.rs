//! Proactive sums: what a publisher that cannot hear anyone sends without a request, so that a loss
//! that all others share can be repaired.
//!
//! Others can repair what at least one of them has. What all of them missed only the publisher
//! could send again, and it cannot hear a request. With nine others and half of all packets lost,
//! that is one symbol of 512. So the publisher sends sums over its last messages now and then. Each
//! receiver lacks some terms of a sum, others have most of these, and the term that nobody has can
//! be solved when all others are there. Messages whose symbols are too long for sums get parity of
//! their own instead.

use crate::message::coding::coded_packet::{Class, TERMS_MAX};
use alloc::{collections::VecDeque, vec::Vec};
use fanfare_proto::{Duration, Time};

/// One symbol of a sum, or of parity, for so many of messages. Each is in two or three sums then, and in the
/// tactical test (`results/cooperation/s000-table3.md`) what a publisher sends beside its messages is less than in DisService.
const SHARE: u64 = 32;
/// Descriptions of messages are short; without its own a message cannot be requested.
const SHARE_DESCRIBED: i64 = 16;
/// A block of so many symbols has one in any case: a long message needs all of its symbols.
const LONG: u64 = 24;
/// Others announce themselves within 2 s; who has heard nobody for twice as long hears nobody.
const UNHEARD: Duration = Duration::from_secs(4);
/// Behind the last message come so many sums, one each time that so long nothing was said: its terms are in as
/// many as those before.
const LAST: u8 = 3;
const QUIET: Duration = Duration::from_secs(2);
/// Sums for which bytes are saved up at most.
const SAVED_MAX: i64 = 4;

/// What is summed with its like: sums are as long as the longest of their terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeClass {
    /// Messages that travel in their descriptions.
    Short,
    /// Descriptions of others.
    Described,
    /// Symbols of these.
    Symbols,
}

impl SizeClass {
    const ALL: [Self; 3] = [Self::Described, Self::Short, Self::Symbols];

    /// What is sent by this plan.
    pub fn class(self) -> Class {
        match self {
            Self::Short | Self::Described => Class::Info,
            Self::Symbols => Class::Symbol,
        }
    }

    /// One byte of sums goes with so many of terms.
    fn share(self) -> i64 {
        match self {
            Self::Symbols | Self::Short => SHARE as i64,
            Self::Described => SHARE_DESCRIBED,
        }
    }
}

/// Terms of one kind.
#[derive(Debug, Default)]
struct Queue {
    /// The last of them, each with its bytes.
    terms: VecDeque<(u32, usize)>,
    /// What terms have saved up for sums, times the share.
    saved: i64,
    /// When the newest came, or the last sum behind it.
    at: Time,
    /// Sums since.
    behind: u8,
}

impl Queue {
    fn longest(&self) -> i64 {
        self.terms.iter().map(|(_, bytes)| *bytes as i64).max().unwrap_or(0)
    }

    /// When the next sum may go; `None` while there is nothing to sum.
    fn due(&self, share: i64) -> Option<Time> {
        let cost = self.longest() * share;
        match self.terms.len() {
            0 | 1 => None,
            _ if self.saved >= cost => Some(Time::ZERO),
            _ if self.behind >= LAST || self.saved - cost < -cost * i64::from(LAST) => None,
            _ => Some(self.at + QUIET),
        }
    }
}

/// What was sent lately, and since when nobody is heard.
#[derive(Debug)]
pub struct ProactiveSums {
    since: Time,
    queues: [Queue; 3],
    /// What short messages have saved up for parity.
    saved: u64,
    /// Sums that have gone, modulo 2^8: no two have the same factors.
    sums: u8,
}

impl ProactiveSums {
    /// From now on.
    pub fn new(now: Time) -> Self {
        Self { since: now, queues: Default::default(), saved: 0, sums: 0 }
    }

    /// Somebody was: who is heard can ask.
    pub fn on_heard(&mut self, now: Time) {
        *self = Self { sums: self.sums, ..Self::new(now) };
    }

    /// How many parity symbols go with each block of a message of so many `symbols` in blocks of
    /// `block`, of which there are no sums.
    pub fn parity(&mut self, now: Time, (symbols, block): (u64, u64)) -> u16 {
        if now.since(self.since) < UNHEARD || symbols == 0 {
            return 0;
        }
        let longest = symbols.min(block.max(1));
        if longest >= LONG {
            return (longest / SHARE).max(1) as u16;
        }
        self.saved += symbols;
        let parity = self.saved / SHARE;
        self.saved %= SHARE;
        parity as u16
    }

    /// These have been sent, each with its bytes.
    pub fn on_sent(
        &mut self,
        now: Time,
        lane: SizeClass,
        terms: impl Iterator<Item = (u32, usize)>,
    ) {
        let queue = &mut self.queues[lane as usize];
        for (term, bytes) in terms {
            if queue.terms.len() >= TERMS_MAX {
                queue.terms.pop_front();
            }
            queue.terms.push_back((term, bytes));
            queue.saved += bytes as i64;
        }
        queue.saved = queue.saved.min(queue.longest() * lane.share() * SAVED_MAX);
        (queue.at, queue.behind) = (now, 0);
    }

    /// Of an object nothing can be sent any more.
    pub fn on_gone(&mut self, object: u16) {
        for lane in SizeClass::ALL {
            let of = |term: u32| match lane.class() {
                Class::Info => term as u16,
                Class::Symbol => (term >> 16) as u16,
            };
            self.queues[lane as usize].terms.retain(|(term, _)| of(*term) != object);
        }
    }

    /// No two of these fit into a frame: what comes next may.
    pub fn clear(&mut self, lane: SizeClass) {
        self.queues[lane as usize].terms.clear();
    }

    /// When the next sum may go, and of what.
    pub fn next(&self) -> Option<(Time, SizeClass)> {
        let due = |lane: SizeClass| Some((self.queues[lane as usize].due(lane.share())?, lane));
        let (at, lane) = SizeClass::ALL.into_iter().filter_map(due).min_by_key(|(at, _)| *at)?;
        Some((at.max(self.since + UNHEARD), lane))
    }

    /// Its terms, the newest first, each with its bytes.
    pub fn newest(&self, lane: SizeClass) -> Vec<(u32, usize)> {
        self.queues[lane as usize].terms.iter().rev().copied().collect()
    }

    /// The number of the next sum over own messages, sent ahead or not.
    pub fn number(&mut self) -> u8 {
        let number = self.sums;
        self.sums = number.wrapping_add(1);
        number
    }

    /// A sum of so many bytes has gone.
    pub fn on_sum(&mut self, now: Time, lane: SizeClass, bytes: usize) {
        let queue = &mut self.queues[lane as usize];
        queue.saved -= bytes as i64 * lane.share();
        queue.behind = queue.behind.saturating_add(1);
        queue.at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Time {
        Time::ZERO + Duration::from_secs(s)
    }
    /// Symbols of these numbers have been sent.
    fn send(proactive: &mut ProactiveSums, now: Time, terms: core::ops::Range<u32>) {
        proactive.on_sent(now, SizeClass::Symbols, terms.map(|term| (term, 1000)));
    }
    /// When sums go until nothing is sent for a minute, in seconds.
    fn sums(proactive: &mut ProactiveSums, mut now: Time) -> Vec<u64> {
        let mut all = Vec::new();
        while let Some((due, lane)) =
            proactive.next().filter(|(due, _)| *due < now + at(60).since(at(0)))
        {
            now = now.max(due);
            proactive.on_sum(now, lane, 1000);
            all.push(now.since(Time::ZERO).as_secs());
        }
        all
    }

    #[test]
    fn a_node_that_just_started_or_heard_somebody_sends_nothing_proactively() {
        let mut proactive = ProactiveSums::new(at(0));
        assert_eq!([3, 4].map(|s| proactive.parity(at(s), (26, 64))), [0, 1]);
        send(&mut proactive, at(1), 0..40);
        assert_eq!(proactive.next(), Some((at(4), SizeClass::Symbols)));
        proactive.on_heard(at(5));
        assert_eq!((proactive.next(), proactive.parity(at(8), (26, 64))), (None, 0));
    }

    #[test]
    fn long_blocks_have_parity_of_their_own_and_short_ones_save_for_it() {
        let mut proactive = ProactiveSums::new(at(0));
        let mut parity = |symbols| proactive.parity(at(9), (symbols, 64));
        assert_eq!([24, 63, 64, 1000].map(&mut parity), [1, 1, 2, 2]);
        let of_short: u16 = (0..64).map(|_| parity(6)).sum();
        assert_eq!((of_short, parity(0)), (12, 0));
    }

    #[test]
    fn one_sum_goes_for_32_symbols_and_three_behind_the_last() {
        let mut proactive = ProactiveSums::new(at(0));
        send(&mut proactive, at(10), 0..31);
        assert_eq!(proactive.next(), Some((at(10) + QUIET, SizeClass::Symbols)));
        send(&mut proactive, at(11), 31..64);
        assert_eq!(sums(&mut proactive, at(11)), [11, 11, 13]);
        send(&mut proactive, at(20), 64..66);
        assert_eq!(sums(&mut proactive, at(20)), [22, 24]);
    }

    #[test]
    fn proactive_sums_of_a_rare_sender_stay_within_their_share() {
        let mut proactive = ProactiveSums::new(at(0));
        let count = (0..1000_u32).map(|n| {
            let now = at(10 + 100 * u64::from(n));
            send(&mut proactive, now, 2 * n..2 * n + 2);
            sums(&mut proactive, now).len()
        });
        assert!((62..=62 + 4).contains(&count.sum::<usize>()));
    }

    #[test]
    fn a_sum_is_of_the_last_that_can_still_be_sent_and_not_of_one_alone() {
        let mut proactive = ProactiveSums::new(at(0));
        send(&mut proactive, at(0), 0x1_0000..0x1_0060);
        send(&mut proactive, at(0), 0x2_0000..0x2_0010);
        let terms = proactive.newest(SizeClass::Symbols);
        assert_eq!((terms[0].0, terms[95].0), (0x2_000f, 0x1_0010));
        proactive.on_gone(1);
        assert_eq!(proactive.newest(SizeClass::Symbols).len(), 16);
        proactive.on_gone(2);
        send(&mut proactive, at(0), 0x3_0000..0x3_0001);
        assert_eq!(proactive.next(), None);
    }
}
