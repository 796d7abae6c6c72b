//! What goes with messages unasked, of a publisher that hears nobody: what all others miss is then not
//! lost, although nobody can ask for it.
//!
//! Others mend what one of them holds. What each of them missed only the publisher could send again, and
//! it does not hear that it should. With nine others and half of all packets lost that is one symbol of
//! 512. So it sends sums over its last messages, now and then: each lacks many of a sum's terms, others
//! have most of them, and what nobody has follows when all else is there. Where a message is too long for
//! its symbols to be terms, it has parity of its own instead.

use crate::mixture::{Class, TERMS_MAX};
use alloc::{collections::VecDeque, vec::Vec};
use fanfare_proto::{Duration, Time};

/// One symbol of a sum, or of parity, for so many of messages. Each is in two or three sums then, and in the
/// tactical test (`results/s000-table3.md`) what a publisher sends beside its messages is less than in DisService.
const SHARE: u64 = 32;
/// Descriptions of messages are short; without its own a message cannot be asked for.
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
pub(crate) enum Lane {
    /// Messages that travel in their descriptions.
    Short,
    /// Descriptions of others.
    Described,
    /// Symbols of these.
    Symbols,
}

impl Lane {
    const ALL: [Self; 3] = [Self::Described, Self::Short, Self::Symbols];

    pub(crate) fn class(self) -> Class {
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

/// What was sent of late, and since when nobody is heard.
#[derive(Debug)]
pub(crate) struct Foresight {
    since: Time,
    queues: [Queue; 3],
    /// What short messages have saved up for parity.
    saved: u64,
}

impl Foresight {
    pub(crate) fn new(now: Time) -> Self {
        Self { since: now, queues: Default::default(), saved: 0 }
    }

    /// Somebody was: who is heard can ask.
    pub(crate) fn on_heard(&mut self, now: Time) {
        *self = Self::new(now);
    }

    /// How many parity symbols go with each block of a message of so many `symbols` in blocks of
    /// `block`, of which there are no sums.
    pub(crate) fn parity(&mut self, now: Time, (symbols, block): (u64, u64)) -> u16 {
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
    pub(crate) fn on_sent(
        &mut self,
        now: Time,
        lane: Lane,
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
    pub(crate) fn on_gone(&mut self, object: u16) {
        for lane in Lane::ALL {
            let of = |term: u32| match lane.class() {
                Class::Info => term as u16,
                Class::Symbol => (term >> 16) as u16,
            };
            self.queues[lane as usize].terms.retain(|(term, _)| of(*term) != object);
        }
    }

    /// When the next sum may go, and of what.
    pub(crate) fn next(&self) -> Option<(Time, Lane)> {
        let due = |lane: Lane| Some((self.queues[lane as usize].due(lane.share())?, lane));
        let (at, lane) = Lane::ALL.into_iter().filter_map(due).min_by_key(|(at, _)| *at)?;
        Some((at.max(self.since + UNHEARD), lane))
    }

    /// Its terms, the newest first, each with its bytes.
    pub(crate) fn newest(&self, lane: Lane) -> Vec<(u32, usize)> {
        self.queues[lane as usize].terms.iter().rev().copied().collect()
    }

    /// A sum of so many bytes has gone.
    pub(crate) fn on_sum(&mut self, now: Time, lane: Lane, bytes: usize) {
        let queue = &mut self.queues[lane as usize];
        queue.saved -= bytes as i64 * lane.share();
        queue.behind = queue.behind.saturating_add(1);
        queue.at = now;
    }
}
