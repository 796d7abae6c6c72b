//! How fast it goes, and how long it will take, by what has been done of late.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use fanfare_node::proto::Bitrate;

/// The rate is measured over this: long enough to be steady, short enough to follow a change.
const SPAN: Duration = Duration::from_secs(5);
/// Before so much has passed there is no estimate.
const SPAN_MIN: Duration = Duration::from_secs(1);

/// What has been done, at some times of late.
#[derive(Debug, Default)]
pub(crate) struct Estimate {
    seen: VecDeque<(Instant, u64)>,
}

impl Estimate {
    /// So many bytes are done.
    pub(crate) fn on_done(&mut self, now: Instant, bytes: u64) {
        self.seen.push_back((now, bytes));
        while self.seen.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= SPAN) {
            self.seen.pop_front();
        }
    }

    fn bytes_per_second(&self) -> Option<f64> {
        let ((from, first), (to, last)) = (self.seen.front()?, self.seen.back()?);
        let span = to.duration_since(*from);
        let done = last.saturating_sub(*first) as f64;
        (span >= SPAN_MIN).then(|| done / span.as_secs_f64())
    }

    /// How fast it has gone.
    pub(crate) fn rate(&self) -> Option<Bitrate> {
        self.bytes_per_second().map(Bitrate::from_bytes_per_second)
    }

    /// How long it takes until `total` are done; `None` while that cannot be told.
    pub(crate) fn left(&self, total: u64) -> Option<Duration> {
        let (_, done) = self.seen.back()?;
        let rate = self.bytes_per_second().filter(|rate| *rate > 0.0)?;
        let left = total.checked_sub(*done).filter(|left| *left > 0)?;
        Duration::try_from_secs_f64(left as f64 / rate).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_takes_as_long_as_what_was_done_of_late() {
        let begun = Instant::now();
        let at = |millis| begun + Duration::from_millis(millis);
        let mut estimate = Estimate::default();
        estimate.on_done(at(0), 0);
        assert_eq!((estimate.rate(), estimate.left(10)), (None, None));
        estimate.on_done(at(2000), 2_000_000);
        assert_eq!(estimate.rate(), Some(Bitrate::mbps(8)));
        assert_eq!(estimate.left(5_000_000), Some(Duration::from_secs(3)));
        // Three times as fast from now on.
        estimate.on_done(at(4000), 8_000_000);
        estimate.on_done(at(7000), 17_000_000);
        assert_eq!(estimate.rate(), Some(Bitrate::mbps(24)));
        assert_eq!(estimate.left(17_000_000), None, "it is done");
        estimate.on_done(at(20_000), 17_000_000);
        assert_eq!(estimate.left(20_000_000), None, "nothing moves");
    }
}
