//! Receivers that lose nearly everything at any rate, while others lose little: they do not count for the rate.
//!
//! A receiver with a broken antenna loses 97 of 100 messages at 20 Mbit/s. The rate falls for it, down to some
//! messages a second, and it still loses 97 of 100. So the rate is not why. Without this machine that one receiver
//! holds a whole group at a message a second.
//!
//! At such a rate a report tells of a few messages, and there is none where all were lost. So the probes are
//! counted that the receiver was to answer at once, and those that it has heard.
//!
//! It takes witnesses: another receiver that gets most of what is sent. A receiver that is alone stays what it is,
//! as nobody can tell whether something else on its way drops the messages.

use crate::{
    rate::Bitrate,
    time::{Duration, Time},
};
use alloc::collections::BTreeMap;
use fanfare_wire::NodeId;

/// The share of messages that is next to nothing, and the share from which on a receiver counts again.
const NOTHING: f64 = 0.1;
const SOME: f64 = 0.3;
/// A receiver that gets such a share shows that the messages were sent.
const MOST: f64 = 0.5;
/// A rate is low at so many messages a second. An eighth of it is 14 kbit/s with messages of 1,400 bytes: a quarter
/// of what the slowest line that Fanfare is made for (56 kbit/s) carries.
const LOW_MESSAGES: u32 = 10;
/// And when the same receiver got next to nothing at so many times this rate.
const LOWERED: u64 = 16;
/// So many probes were to be answered at a low rate, and at most one of so many was heard. Of who hears one of two,
/// one in 500 is taken for lossy; of who hears one of 30, 98 of 100 are.
const PROBES: u32 = 16;
const HEARD_OF: u32 = 8;
/// A receiver counts again after this time, and is tried anew; each time twice as long, up to a limit. A line may
/// have come to rest.
const EXPIRY_FIRST: Duration = Duration::from_secs(60);
const EXPIRY_MAX: Duration = Duration::from_secs(960);
/// A receiver counts again when all its reports of so long tell that it gets some.
const RESTORED_AFTER: Duration = Duration::from_secs(1);
/// A witness has reported within this time. At a message a second there is a probe in each second.
const FRESH: Duration = Duration::from_secs(5);

/// Content of a report, as far as it counts here.
#[derive(Debug, Clone, Copy)]
pub(in crate::sender) struct LossReport {
    pub(in crate::sender) node: NodeId,
    /// The last probe that it has heard. A report with the same one as before says nothing new.
    pub(in crate::sender) probe: u16,
    /// The share of messages that arrives there, 0 to 1.
    pub(in crate::sender) share: f64,
    /// The sender's rate.
    pub(in crate::sender) rate: Bitrate,
}

/// A probe that goes out.
#[derive(Debug, Clone, Copy)]
pub(in crate::sender) struct SentProbe {
    /// The sender's rate.
    pub(in crate::sender) rate: Bitrate,
    /// Bytes of a full message.
    pub(in crate::sender) message: u16,
}

/// Record of one receiver.
#[derive(Debug, Clone, Copy)]
struct LossRecord {
    probe: u16,
    /// The last report: what arrived, and when it came.
    share: f64,
    at: Time,
    /// The greatest rate at which it got next to nothing.
    lost_at: Bitrate,
    /// Probes at a low rate that it was to answer, and those that it has heard.
    asked: u32,
    heard: u32,
    /// The time until which it does not count.
    ignored_until: Option<Time>,
    expiry: Duration,
    /// All reports since then tell that it gets some.
    some_since: Option<Time>,
}

/// The machine. Its map holds receivers that the sender has accepted, which bounds it.
#[derive(Debug, Default)]
pub(in crate::sender) struct LossyReceivers {
    records: BTreeMap<NodeId, LossRecord>,
}

impl LossyReceivers {
    /// A receiver reports. Tells whether that counts for the rate.
    pub(in crate::sender) fn on_report(&mut self, now: Time, report: &LossReport) -> bool {
        let known = self.records.contains_key(&report.node);
        let record = self.records.entry(report.node).or_insert(LossRecord::new(now, report));
        if report.share < NOTHING {
            record.lost_at = record.lost_at.max(report.rate);
        }
        if !known || record.probe != report.probe {
            (record.probe, record.share, record.at) = (report.probe, report.share, now);
            record.heard = record.heard.saturating_add(1);
            record.note_some(now);
        }
        let Some(until) = record.ignored_until else { return true };
        let restored = record.some_since.is_some_and(|at| now.since(at) >= RESTORED_AFTER);
        if restored || now >= until {
            let expiry = if restored { EXPIRY_FIRST } else { (record.expiry * 2).min(EXPIRY_MAX) };
            *record = LossRecord { expiry, ..LossRecord::new(now, report) };
        }
        record.ignored_until.is_none()
    }

    /// A probe goes out that `node` is to answer at once. True if the node is lossy, and does not count from now on.
    pub(in crate::sender) fn on_probe(
        &mut self,
        now: Time,
        node: NodeId,
        probe: &SentProbe,
    ) -> bool {
        let witnessed = self.has_witness(now, node);
        let Some(record) = self.records.get_mut(&node) else { return false };
        if record.ignored_until.is_some() {
            return false;
        }
        if !record.is_low(probe) {
            (record.asked, record.heard) = (0, 0);
            return false;
        }
        record.asked = record.asked.saturating_add(1);
        let lossy = record.asked > PROBES && record.heard * HEARD_OF <= record.asked;
        if lossy && witnessed {
            record.ignored_until = Some(now + record.expiry);
            record.some_since = None;
        }
        lossy && witnessed
    }

    /// Tells whether what `node` says does not count.
    pub(in crate::sender) fn has(&self, node: NodeId) -> bool {
        self.records.get(&node).is_some_and(|record| record.ignored_until.is_some())
    }

    /// A receiver is gone.
    pub(in crate::sender) fn forget(&mut self, node: NodeId) {
        self.records.remove(&node);
    }

    fn has_witness(&self, now: Time, node: NodeId) -> bool {
        let gets = |record: &LossRecord| record.share >= MOST && now.since(record.at) < FRESH;
        self.records.iter().any(|(other, record)| *other != node && gets(record))
    }
}

impl LossRecord {
    fn new(now: Time, report: &LossReport) -> Self {
        Self {
            probe: report.probe,
            share: report.share,
            at: now,
            lost_at: Bitrate::default(),
            asked: 0,
            heard: 0,
            ignored_until: None,
            expiry: EXPIRY_FIRST,
            some_since: None,
        }
    }

    /// Tells whether this rate is low, and it got next to nothing at a much higher one.
    fn is_low(&self, probe: &SentProbe) -> bool {
        let low = f64::from(u32::from(probe.message) * LOW_MESSAGES);
        probe.rate.as_bytes_per_second() <= low
            && probe.rate.as_bps().saturating_mul(LOWERED) <= self.lost_at.as_bps()
    }

    fn note_some(&mut self, now: Time) {
        let some = self.share >= SOME;
        self.some_since = if some { self.some_since.or(Some(now)) } else { None };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Bitrate = Bitrate::mbps(20);
    const LOW: Bitrate = Bitrate::kbps(100);

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Hears `node`, which has heard the probe of that time.
    fn heard(
        receivers: &mut LossyReceivers,
        millis: u64,
        node: u32,
        share: f64,
        rate: Bitrate,
    ) -> bool {
        let probe = u16::try_from(millis % 60_000).unwrap();
        receivers.on_report(at(millis), &LossReport { node: NodeId(node), probe, share, rate })
    }

    /// Sends probes that receiver 1 is to answer, each 200 ms; it hears those of `hears`, and 2 gets `witness`.
    /// True if 1 is found to be lossy.
    fn probed(
        receivers: &mut LossyReceivers,
        begun: u64,
        rate: Bitrate,
        witness: f64,
        hears: impl Fn(u64) -> bool,
    ) -> bool {
        (0..40).any(|n| {
            let millis = begun + n * 200;
            heard(receivers, millis, 2, witness, rate);
            if hears(n) {
                heard(receivers, millis, 1, 0.25, rate);
            }
            receivers.on_probe(at(millis), NodeId(1), &SentProbe { rate, message: 1_400 })
        })
    }

    fn lost_at_speed() -> LossyReceivers {
        let mut receivers = LossyReceivers::default();
        assert!(heard(&mut receivers, 0, 1, 0.03, QUICK));
        receivers
    }

    fn lossy() -> LossyReceivers {
        let mut receivers = lost_at_speed();
        assert!(probed(&mut receivers, 1_000, LOW, 1.0, |n| n % 16 == 5));
        receivers
    }

    #[test]
    fn who_loses_nearly_all_at_any_rate_does_not_count() {
        let mut receivers = lossy();
        assert!(receivers.has(NodeId(1)) && !receivers.has(NodeId(2)));
        assert!(!heard(&mut receivers, 9_000, 1, 0.03, QUICK), "what it says is not followed");
    }

    #[test]
    fn who_hears_more_at_a_lower_rate_counts() {
        let mut receivers = lost_at_speed();
        assert!(!probed(&mut receivers, 1_000, LOW, 1.0, |n| n % 4 == 1));
    }

    #[test]
    fn a_report_that_is_repeated_is_heard_once() {
        let mut receivers = lost_at_speed();
        let report = LossReport { node: NodeId(1), probe: 7, share: 0.5, rate: LOW };
        let found = (0..40).any(|n| {
            let now = at(1_000 + n * 200);
            heard(&mut receivers, 1_000 + n * 200, 2, 1.0, LOW);
            receivers.on_report(now, &report);
            receivers.on_probe(now, NodeId(1), &SentProbe { rate: LOW, message: 1_400 })
        });
        assert!(found);
    }

    #[test]
    fn without_a_witness_everybody_counts() {
        let mut receivers = lost_at_speed();
        assert!(!probed(&mut receivers, 1_000, LOW, 0.04, |_| false));
    }

    #[test]
    fn who_got_something_at_a_higher_rate_counts() {
        let mut receivers = LossyReceivers::default();
        heard(&mut receivers, 0, 1, 0.2, QUICK);
        assert!(!probed(&mut receivers, 1_000, LOW, 1.0, |_| false));
    }

    #[test]
    fn a_rate_that_is_not_low_proves_nothing() {
        let mut receivers = lost_at_speed();
        assert!(!probed(&mut receivers, 1_000, Bitrate::mbps(1), 1.0, |_| false));
    }

    #[test]
    fn who_gets_some_for_a_second_counts_again() {
        let mut receivers = lossy();
        let mut heard = |millis, share| heard(&mut receivers, millis, 1, share, QUICK);
        assert!(!heard(10_000, 0.4) && !heard(10_500, 0.1) && !heard(11_000, 0.4));
        assert!(heard(12_000, 0.4));
        assert!(!receivers.has(NodeId(1)));
    }

    #[test]
    fn a_verdict_expires_and_the_next_lasts_twice_as_long() {
        let mut receivers = lossy();
        assert!(!heard(&mut receivers, 60_900, 1, 0.0, QUICK));
        assert!(heard(&mut receivers, 65_000, 1, 0.0, QUICK), "after a minute");
        assert!(heard(&mut receivers, 65_100, 1, 0.0, QUICK));
        assert!(probed(&mut receivers, 66_000, LOW, 1.0, |_| false));
        assert!(!heard(&mut receivers, 66_000 + 119_000, 1, 0.0, QUICK));
        assert!(heard(&mut receivers, 66_000 + 125_000, 1, 0.0, QUICK), "after two");
    }

    #[test]
    fn who_is_gone_is_forgotten() {
        let mut receivers = lossy();
        receivers.forget(NodeId(1));
        assert!(!receivers.has(NodeId(1)));
    }
}
