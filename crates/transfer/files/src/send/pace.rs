//! How far a receiver is, and how fast it goes on, by what it says now and then.

use std::time::Duration;

use fanfare_proto::{Bitrate, Time};

/// Counts closer together than this are taken as one: a rate over less says little.
const SPAN_MIN: Duration = Duration::from_millis(900);
/// Of a rate that was measured before, this share stays when another is.
const KEPT: f64 = 0.5;

/// What is known of one receiver's progress.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Bytes that are there, as it said last.
    bytes: Option<u64>,
    /// A count, and when it came, from which on the next rate is measured.
    since: Option<(u64, Time)>,
    rate: Option<f64>,
}

impl Pace {
    /// It says how much is there.
    pub(super) fn on_count(&mut self, now: Time, bytes: u64) {
        self.bytes = Some(bytes);
        let Some((before, at)) = self.since else {
            self.since = Some((bytes, now));
            return;
        };
        let span = now.since(at);
        if span < SPAN_MIN {
            return;
        }
        let measured = bytes.saturating_sub(before) as f64 / span.as_secs_f64();
        let rate = self.rate.map_or(measured, |rate| KEPT * rate + (1.0 - KEPT) * measured);
        self.rate = Some(rate);
        self.since = Some((bytes, now));
    }

    /// Bytes that are there.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// How fast they have grown of late.
    pub(super) fn rate(&self) -> Option<Bitrate> {
        self.rate.map(Bitrate::from_bytes_per_second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn the_rate_is_what_the_count_grows_by_and_follows_it() {
        let mut pace = Pace::default();
        pace.on_count(at(0), 0);
        assert_eq!((pace.bytes(), pace.rate()), (Some(0), None));
        pace.on_count(at(100), 500);
        assert_eq!((pace.bytes(), pace.rate()), (Some(500), None), "too soon for a rate");
        pace.on_count(at(2000), 2_000_000);
        assert_eq!(pace.rate(), Some(Bitrate::mbps(8)));
        pace.on_count(at(4000), 2_000_000);
        assert_eq!(pace.rate(), Some(Bitrate::mbps(4)), "half of the old rate stays");
        pace.on_count(at(6000), 1_000_000);
        assert_eq!(pace.rate(), Some(Bitrate::mbps(2)), "a count that shrinks is no rate");
    }
}
