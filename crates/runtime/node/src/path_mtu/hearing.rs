//! The receiver's side: what it hears of a sender's datagrams, by their length.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use fanfare_proto::Time;

use super::message::PathMessage;
use super::sending::SAME;

/// Senders that are watched; one that is silent for so long gives way to another one.
const SENDERS_MAX: usize = 256;
const SILENT: Duration = Duration::from_secs(20);
/// So many datagrams of a length do not all get lost by chance, where a path carries that length at all:
/// with a loss of 60 % one time in a hundred, and then lengths are tried, which shows it.
const SIGN: u32 = 10;
/// Marks without a datagram of their length between them that are enough, however few were sent.
const MARKS: u32 = 4;
/// It is said again after so long, and then after twice as long each time, up to the most.
const AGAIN: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(32);

/// What was heard of one sender.
#[derive(Debug)]
struct HeardSender {
    last: Time,
    /// The longest since the last mark.
    longest: usize,
    /// Marks and datagrams that were told of in vain.
    marks: u32,
    missed: u32,
    /// When it may be said next, and after how long the time after that.
    next: Time,
    wait: Duration,
    /// The series under way, and the longest rung heard of it.
    series: (u32, usize),
}

/// Answers that wait to be sent; a lost one is given again.
const ANSWERS_MAX: usize = 256;

/// The receiver's side.
#[derive(Debug, Default)]
pub(super) struct HearingSide {
    senders: BTreeMap<SocketAddr, HeardSender>,
    pub(super) messages: VecDeque<(SocketAddr, Vec<u8>)>,
}

impl HearingSide {
    /// Something of this length came from there, which is no rung.
    pub(super) fn on_datagram(&mut self, now: Time, source: SocketAddr, length: usize) {
        if let Some(sender) = self.sender(now, source) {
            (sender.last, sender.longest) = (now, sender.longest.max(length));
        }
    }

    fn sender(&mut self, now: Time, source: SocketAddr) -> Option<&mut HeardSender> {
        if !self.senders.contains_key(&source) && self.senders.len() >= SENDERS_MAX {
            self.senders.retain(|_, sender| now.since(sender.last) < SILENT);
            if self.senders.len() >= SENDERS_MAX {
                return None;
            }
        }
        Some(self.senders.entry(source).or_insert_with(|| HeardSender {
            last: now,
            longest: 0,
            marks: 0,
            missed: 0,
            next: now,
            wait: AGAIN,
            series: (0, 0),
        }))
    }

    pub(super) fn on_mark(&mut self, now: Time, source: SocketAddr, wanted: u16, count: u16) {
        let Some(sender) = self.sender(now, source) else { return };
        let longest = std::mem::take(&mut sender.longest);
        if longest + SAME > usize::from(wanted) {
            (sender.marks, sender.missed, sender.wait) = (0, 0, AGAIN);
            return;
        }
        sender.marks += 1;
        sender.missed = sender.missed.saturating_add(count.into());
        // What was sent before this receiver was there counts for nothing: two marks at least.
        let is_sign = sender.marks >= MARKS || (sender.marks >= 2 && sender.missed >= SIGN);
        if !is_sign || now < sender.next {
            return;
        }
        (sender.marks, sender.missed) = (1, 0);
        sender.next = now + sender.wait;
        sender.wait = (sender.wait * 2).min(AGAIN_MAX);
        let longest = u16::try_from(longest).unwrap_or(u16::MAX);
        self.answer(source, PathMessage::Deaf { longest, wanted });
    }

    fn answer(&mut self, to: SocketAddr, message: PathMessage<'_>) {
        if self.messages.len() < ANSWERS_MAX {
            self.messages.push_back((to, message.to_bytes()));
        }
    }

    /// A rung has come, `length` bytes long. Gives the longest that was heard when it was the last.
    pub(super) fn on_rung(
        &mut self,
        now: Time,
        source: SocketAddr,
        series: u32,
        wanted: u16,
        last: bool,
        length: usize,
    ) -> Option<usize> {
        let sender = self.sender(now, source)?;
        if sender.series.0 != series {
            sender.series = (series, 0);
        }
        sender.series.1 = sender.series.1.max(length);
        if !last {
            return None;
        }
        let heard = sender.series.1;
        let longest = u16::try_from(heard).unwrap_or(u16::MAX);
        self.answer(source, PathMessage::Heard { series, longest, wanted });
        Some(heard)
    }
}
