//! Cover for short objects that somebody waits for ([`FirstPass::Awaited`]).
//!
//! An application asks something, and waits for the answer. When a message of either is lost, a round
//! trip passes before it comes again. Where the line is idle anyway, one message more costs nobody
//! anything: a copy of an object of one symbol, parity of a longer one. It goes when nothing else is to
//! be sent, and no later than a request for repair could have come.
//!
//! [`FirstPass::Awaited`]: crate::enqueue::FirstPass::Awaited

use crate::{
    rate::Bitrate,
    sender::{Sender, block::BlockDemand, tail_parity::parity_worth},
    time::{Duration, Time},
};
use alloc::{collections::VecDeque, vec::Vec};

/// Of the rate so much may be cover, one part of so many: where others have the rest of the line, they
/// see little of it.
const PARTS: u32 = 4;
/// And so much is saved up: what a page's first answers take.
const SAVED: Duration = Duration::from_millis(500);
/// Time on an idle line costs so much less than time on a full one, where others wait for it.
const IDLE: f64 = 3.0;
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
    fn loss(&self) -> Option<f64> {
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
    fn next(&mut self, now: Time, patience: Duration) -> Option<u64> {
        while let Some((at, ordinal)) = self.waiting.pop_front() {
            if now.since(at) < patience {
                return Some(ordinal);
            }
        }
        None
    }

    /// Whether so many bytes more may go.
    fn takes(&mut self, now: Time, rate: Bitrate, bytes: u64) -> bool {
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

impl Sender {
    /// The first pass over an object has ended.
    pub(in crate::sender) fn on_passed(&mut self, ordinal: u64) {
        match self.cache.get(ordinal).is_some_and(|object| object.awaited) {
            true => self.cover.on_passed(self.now, ordinal),
            false => self.send_tail(ordinal),
        }
    }

    /// Whether something is to be covered when nothing else is to be sent.
    pub(in crate::sender) fn has_cover(&self) -> bool {
        self.cover.is_waiting(self.now, self.grtt())
    }

    /// Nothing else is to be sent: cover for the next object that waits for it.
    pub(in crate::sender) fn begin_cover(&mut self) {
        if self.cache.has_new() || self.cache.has_repair() {
            return;
        }
        while let Some(ordinal) = self.cover.next(self.now, self.grtt()) {
            if self.cover(ordinal) {
                return;
            }
        }
    }

    /// Whether there is something to send for it.
    fn cover(&mut self, ordinal: u64) -> bool {
        let Some(object) = self.cache.get(ordinal).filter(|object| object.stream.is_none()) else {
            return false;
        };
        let (blocks, size) = (object.partition.blocks, object.size());
        let segment = u64::from(object.told_segment());
        let lens: Vec<u16> = (0..blocks).map(|block| object.block_len(block)).collect();
        let is_small = self.is_small_group();
        let nodes: Vec<_> = self.receivers.nodes().collect();
        let losses: Vec<f64> = nodes
            .iter()
            .map(|node| self.cover.loss().unwrap_or_else(|| self.loss(*node)))
            .collect();
        if !is_small || self.coding.parity == 0 {
            return false;
        }
        // A copy of the only symbol is as short as that.
        let bytes = size.min(segment);
        let time = self.message_time().mul_f64(bytes as f64 / segment.max(1) as f64);
        let round = self.grtt() * (u32::from(self.backoff()) + 1);
        let worth = IDLE * round.as_secs_f64() / time.as_secs_f64().max(f64::MIN_POSITIVE);
        let mut begun = false;
        for (block, len) in (0..).zip(lens) {
            let need = parity_worth(len, &losses, worth, self.coding.parity);
            let rate = self.controller.rate();
            if need == 0 || !self.cover.takes(self.now, rate, bytes * u64::from(need)) {
                continue;
            }
            let wanted = match len {
                1 => BlockDemand::named(0..1),
                _ => BlockDemand { need, ..BlockDemand::default() },
            };
            if let Some(object) = self.cache.get_mut(ordinal) {
                begun |= object.cover(block, &wanted, &self.coding);
            }
        }
        self.cache.refresh(ordinal);
        begun
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
