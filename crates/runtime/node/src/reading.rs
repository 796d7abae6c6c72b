//! How far this machine is behind with reading its sockets.
//!
//! A thread that waits for its processor reads late, and then reads everything: that is no bottleneck.
//! A thread that does not get its sockets empty any more is one.

use std::time::Duration;

use fanfare_proto::Time;

/// Sockets that were not empty for so long are behind. A busy machine lets a thread wait for 3 ms and
/// more; what came meanwhile takes several reads.
const PATIENCE: Duration = Duration::from_millis(10);

/// When the sockets were empty last, and what has waited since.
#[derive(Debug)]
pub(crate) struct Reading {
    emptied: Time,
    behind: Duration,
    told: Duration,
}

impl Reading {
    pub(crate) fn new(now: Time) -> Self {
        Self { emptied: now, behind: Duration::ZERO, told: Duration::ZERO }
    }

    /// There is nothing more to read.
    pub(crate) fn on_empty(&mut self, now: Time) {
        self.emptied = now;
        self.behind = Duration::ZERO;
    }

    /// There may be more to read; what was read last had waited for `newest`.
    pub(crate) fn on_more(&mut self, now: Time, newest: Duration) {
        let late = now.since(self.emptied) > PATIENCE;
        self.behind = if late { newest } else { Duration::ZERO };
    }

    /// How long a datagram that is read now can have waited at most, where the system says `told`: it
    /// came after the sockets were empty. A system clock that is set says anything.
    pub(crate) fn waited(&self, now: Time, told: Duration) -> Duration {
        told.min(now.since(self.emptied))
    }

    /// How far this machine is behind, if that has changed.
    pub(crate) fn take_news(&mut self) -> Option<Duration> {
        (self.behind != self.told).then(|| {
            self.told = self.behind;
            self.behind
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_reader_that_empties_its_sockets_now_and_then_is_not_behind() {
        let mut reading = Reading::new(at(0));
        for n in 0..100 {
            reading.on_more(at(8 * n), ms(6));
            reading.on_empty(at(8 * n + 1));
            assert_eq!(reading.take_news(), None);
        }
    }

    #[test]
    fn a_reader_whose_sockets_stay_full_is_behind_by_what_the_newest_datagram_has_waited() {
        let mut reading = Reading::new(at(0));
        reading.on_more(at(5), ms(4));
        assert_eq!(reading.take_news(), None);
        reading.on_more(at(11), ms(7));
        assert_eq!(reading.take_news(), Some(ms(7)));
        reading.on_empty(at(12));
        assert_eq!((reading.take_news(), reading.take_news()), (Some(ms(0)), None));
    }

    #[test]
    fn a_system_clock_that_jumps_ahead_makes_no_datagram_older_than_the_last_empty_socket() {
        let mut reading = Reading::new(at(0));
        reading.on_empty(at(100));
        assert_eq!(reading.waited(at(103), ms(1000)), ms(3));
        assert_eq!(reading.waited(at(103), ms(2)), ms(2));
    }
}
