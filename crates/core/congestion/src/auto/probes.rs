//! What was sent between probes: a report speaks of messages of a round trip ago.

use alloc::collections::VecDeque;
use fanfare_wire::units::{
    rate::Bitrate,
    time::{Duration, Time},
};

/// Probes remembered: 5 s of those that go each 5 ms on a short path. Its link may be a slow one with a
/// queue of seconds, and the report that tells of it must find its probe.
const PROBES_MAX: usize = 1024;

#[derive(Debug, Clone, Copy)]
struct Mark {
    sequence: u16,
    at: Time,
    sent: u64,
    allowed: f64,
}

/// What was sent before a probe.
#[derive(Debug, Clone, Copy)]
pub(super) struct Past {
    pub(super) until: Time,
    /// Bytes a second that might have been sent, and which share of them was.
    pub(super) rate: f64,
    pub(super) used: f64,
}

/// Bytes sent, and bytes that might have been.
#[derive(Debug)]
pub(super) struct Probes {
    marks: VecDeque<Mark>,
    sent: u64,
    allowed: f64,
    since: Time,
}

impl Probes {
    pub(super) fn new(now: Time) -> Self {
        Self { marks: VecDeque::new(), sent: 0, allowed: 0.0, since: now }
    }

    pub(super) fn on_sent(&mut self, bytes: usize) {
        self.sent += bytes as u64;
    }

    /// Data begins to flow: what might have been sent before was not unused. The last probe counts as
    /// sent now.
    pub(super) fn begin(&mut self, now: Time) {
        let last = self.marks.pop_back();
        *self = Self::new(now);
        if let Some(last) = last {
            self.on_probe(now, last.sequence);
        }
    }

    /// The probe that was sent last.
    pub(super) fn last(&self) -> Option<u16> {
        self.marks.back().map(|mark| mark.sequence)
    }

    /// The rate was `rate` until now.
    pub(super) fn on_rate(&mut self, now: Time, rate: Bitrate) {
        self.allowed += rate.as_bytes_per_second() * now.since(self.since).as_secs_f64();
        self.since = self.since.max(now);
    }

    /// A probe goes out.
    pub(super) fn on_probe(&mut self, now: Time, sequence: u16) {
        if self.marks.len() == PROBES_MAX {
            self.marks.pop_front();
        }
        let (sent, allowed) = (self.sent, self.allowed);
        self.marks.push_back(Mark { sequence, at: now, sent, allowed });
    }

    /// Bytes sent since a probe.
    pub(super) fn sent_since(&self, sequence: u16) -> Option<u64> {
        let mark = self.marks.iter().rev().find(|mark| mark.sequence == sequence)?;
        Some(self.sent - mark.sent)
    }

    /// What was sent in about `span` before the probe that a report names.
    pub(super) fn find(&self, sequence: u16, span: Duration) -> Option<Past> {
        let at = self.marks.iter().rposition(|mark| mark.sequence == sequence)?;
        let end = self.marks[at];
        let before = |mark: &&Mark| mark.at + span <= end.at;
        let begin = self.marks.iter().take(at).rev().find(before).or(self.marks.front())?;
        let seconds = end.at.since(begin.at).as_secs_f64();
        let allowed = end.allowed - begin.allowed;
        if seconds <= 0.0 || allowed <= 0.0 {
            return None;
        }
        let used = (end.sent - begin.sent) as f64 / allowed;
        Some(Past { until: end.at, rate: allowed / seconds, used })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    #[test]
    fn a_report_is_about_what_was_sent_in_a_span_before_its_probe() {
        let mut probes = Probes::new(at(0));
        for n in 0..100u16 {
            let now = at(10 * u64::from(n));
            // 80 kbit/s for half a second, then 160; 100 bytes each 10 ms are sent.
            probes.on_rate(now, Bitrate::kbps(if n <= 50 { 80 } else { 160 }));
            probes.on_probe(now, n);
            probes.on_sent(100);
        }
        let early = probes.find(40, Duration::from_millis(30)).unwrap();
        assert_eq!((early.until, early.rate, early.used), (at(400), 10_000.0, 1.0));
        let late = probes.find(90, Duration::from_millis(30)).unwrap();
        assert_eq!((late.rate, late.used), (20_000.0, 0.5));
        for n in 100..=(PROBES_MAX as u16) {
            probes.on_probe(at(1000), n);
        }
        assert!(probes.find(0, Duration::ZERO).is_none(), "forgotten");
        assert!(probes.find(1000, Duration::ZERO).is_none(), "never sent");
    }
}
