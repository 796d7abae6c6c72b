//! Short objects that somebody waits for, and how much cover they may have: see `covering`.

use crate::{
    rate::Bitrate,
    time::{Duration, Time},
};
use alloc::collections::VecDeque;

/// Of the rate so much may be cover, one part of so many: where others have the rest of the line, they
/// see little of it.
const PARTS: u32 = 4;
/// And so much is saved up: what a page's first answers take.
const SAVED: Duration = Duration::from_millis(500);
/// Objects that wait for an idle line.
const WAITING_MAX: usize = 64;
/// The share of messages that is lost is averaged over so many.
const MEMORY: f64 = 500.0;
/// So many without loss are taken to precede the first ones: one of ten lost is not 10 %.
const PRIOR: f64 = 50.0;

/// The covering machine.
#[derive(Debug, Default)]
pub(in crate::sender) struct Cover {
    /// Oldest first: when the last of an object went out, and its ordinal.
    waiting: VecDeque<(Time, u64)>,
    /// Bytes that may go, and when that was reckoned.
    allowed: (u64, Time),
    loss: SmoothedLoss,
}

/// The share of messages that a receiver has not got, by what it says of its path.
#[derive(Debug, Default)]
struct SmoothedLoss {
    share: f64,
    messages: f64,
    /// Messages sent until the last report.
    sent: Option<u64>,
}

impl SmoothedLoss {
    /// `share` of those that came lately are lost; `sent`: messages so far.
    fn on_report(&mut self, sent: u64, share: f64) {
        let new = sent.saturating_sub(self.sent.replace(sent).unwrap_or(sent)) as f64;
        self.messages = (self.messages + new).min(MEMORY);
        self.share += (share - self.share) * new / (self.messages + PRIOR);
    }
}

impl Cover {
    /// The receiver has lost this share of what came lately; `sent`: messages so far.
    pub(in crate::sender) fn on_report(&mut self, sent: u64, share: f64) {
        self.loss.on_report(sent, share);
    }

    /// What is lost, if a receiver has said so.
    pub(in crate::sender) fn loss(&self) -> Option<f64> {
        self.loss.sent.map(|_| self.loss.share)
    }

    /// All of an object has gone out that is to be covered.
    pub(in crate::sender) fn on_passed(&mut self, now: Time, ordinal: u64) {
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back((now, ordinal));
    }

    /// Whether an object waits that went out no longer than `patience` ago.
    pub(in crate::sender) fn is_waiting(&self, now: Time, patience: Duration) -> bool {
        self.waiting.back().is_some_and(|(at, _)| now.since(*at) < patience)
    }

    /// The next of them; those that went out longer ago are forgotten.
    pub(in crate::sender) fn next(&mut self, now: Time, patience: Duration) -> Option<u64> {
        while let Some((at, ordinal)) = self.waiting.pop_front() {
            if now.since(at) < patience {
                return Some(ordinal);
            }
        }
        None
    }

    /// Whether so many bytes more may go.
    pub(in crate::sender) fn takes(&mut self, now: Time, rate: Bitrate, bytes: u64) -> bool {
        let (before, then) = self.allowed;
        let gained = rate.bytes_in(now.since(then)) / u64::from(PARTS);
        let most = rate.bytes_in(SAVED) / u64::from(PARTS);
        let allowed = before.saturating_add(gained).min(most);
        // Small change is not lost to rounding.
        if gained > 0 {
            self.allowed = (allowed, now);
        }
        let takes = bytes <= allowed;
        if takes {
            self.allowed.0 = allowed - bytes;
        }
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::at;

    const PATIENCE: Duration = Duration::from_millis(100);

    #[test]
    fn what_went_out_too_long_ago_is_not_covered_any_more() {
        let mut cover = Cover::default();
        cover.on_passed(at(0), 7);
        cover.on_passed(at(50), 8);
        assert!(cover.is_waiting(at(149), PATIENCE) && !cover.is_waiting(at(150), PATIENCE));
        assert_eq!(cover.next(at(120), PATIENCE), Some(8));
        assert_eq!(cover.next(at(120), PATIENCE), None);
    }

    #[test]
    fn objects_that_wait_have_a_bound() {
        let mut cover = Cover::default();
        (0..100).for_each(|ordinal| cover.on_passed(at(0), ordinal));
        assert_eq!(cover.next(at(1), PATIENCE), Some(100 - WAITING_MAX as u64));
    }

    #[test]
    fn cover_is_no_more_than_its_part_of_the_rate() {
        let mut cover = Cover::default();
        let rate = Bitrate::mbps(1);
        let sent = (0..10_000).filter(|ms| cover.takes(at(*ms), rate, 1000)).count();
        // 31 kB a second for ten seconds.
        assert!((300..=328).contains(&sent), "{sent}");
        let more = (0..100).filter(|_| cover.takes(at(20_000), rate, 1000)).count();
        assert_eq!(more, 15, "half a second is saved up");
    }

    #[test]
    fn the_loss_is_averaged_over_messages_and_begins_with_none() {
        let mut loss = SmoothedLoss::default();
        loss.on_report(0, 0.0);
        loss.on_report(10, 0.1);
        assert!(loss.share < 0.02, "{}", loss.share);
        (2..200).for_each(|n| loss.on_report(n * 10, 0.02));
        assert!((loss.share - 0.02).abs() < 0.002, "{}", loss.share);
    }
}
