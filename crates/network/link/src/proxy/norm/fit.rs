//! Segments that fit the path.
//!
//! QUIC finds the path's MTU. It begins at 1,200 bytes and sends longer probes, and goes back when
//! only its longer packets are lost. When connections go by NORM, QUIC itself has nothing long to send,
//! so it cannot see that the path's MTU has become smaller. Then NORM's long packets are lost, and
//! nothing is acknowledged any more. So when that has lasted some time, QUIC is given something long to
//! send. What was begun with segments that are too long begins anew.

use std::time::Duration;

use fanfare_proto::Time;

/// What a message has beside its segment: headers of NORM, and the seal.
const BESIDE: u16 = 52 + 24;
/// The segment where the path takes packets of 1,500 bytes, over IPv6, too.
pub(crate) const SEGMENT: u16 = 1376;
/// QUIC's least packet: every path of QUIC takes it (RFC 9000 14).
const QUIC_LEAST: u16 = 1200;
/// The segment that every path takes.
pub(crate) const SEGMENT_LEAST: u16 = QUIC_LEAST - BESIDE;
/// Nothing is acknowledged for so many round trips, and no less than this, before the path is doubted. At
/// 10 % loss a span is acknowledged after three or four.
const ROUNDS: u32 = 8;
const PATIENCE: Duration = Duration::from_secs(2);
/// From one long packet of QUIC to the next, and round trips: each has to be lost by itself, and four make
/// QUIC sure.
const PAUSE: Duration = Duration::from_millis(250);
const PAUSE_ROUNDS: u32 = 2;
/// After so many the pause doubles with each: the path is dead, or something else is wrong.
const PROBES: u32 = 8;
/// Doublings at most.
const DOUBLINGS: u32 = 6;

/// The longest segment on a path of this MTU, as QUIC counts it.
pub(crate) fn segment(mtu: u16) -> u16 {
    mtu.saturating_sub(BESIDE).clamp(SEGMENT_LEAST, SEGMENT)
}

/// What is not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unacknowledged {
    /// Nothing has been acknowledged since.
    pub(crate) since: Time,
    /// The longest segment of it.
    pub(crate) longest: u16,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Nothing.
    Fits,
    /// QUIC is to send a long packet.
    Probe,
    /// What is not acknowledged begins anew, with segments that fit.
    Again,
}

/// When it is doubted that segments fit.
#[derive(Debug)]
pub(crate) struct Fit {
    probed: Time,
    probes: u32,
}

impl Fit {
    pub(crate) const fn new() -> Self {
        Self { probed: Time::ZERO, probes: 0 }
    }

    /// `fits`: the longest segment that fits as far as QUIC knows.
    pub(crate) fn look(
        &mut self,
        now: Time,
        fits: u16,
        waiting: Option<Unacknowledged>,
        round_trip: Duration,
    ) -> Look {
        let patience = PATIENCE.max(round_trip * ROUNDS);
        let Some(waiting) = waiting.filter(|all| now.since(all.since) >= patience) else {
            self.probes = 0;
            return Look::Fits;
        };
        if waiting.longest > fits {
            self.probes = 0;
            return Look::Again;
        }
        let pause = PAUSE.max(round_trip * PAUSE_ROUNDS);
        let pause = pause * (1 << self.probes.saturating_sub(PROBES).min(DOUBLINGS));
        if waiting.longest <= SEGMENT_LEAST || now.since(self.probed) < pause {
            return Look::Fits;
        }
        self.probed = now;
        self.probes += 1;
        Look::Probe
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    const fn since(millis: u64, longest: u16) -> Option<Unacknowledged> {
        Some(Unacknowledged { since: Time::from_nanos(millis * 1_000_000), longest })
    }

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn the_segment_is_what_the_path_takes_and_never_below_what_every_path_takes() {
        assert_eq!(
            [1452, 1300, 1252, 1200, 0, 9000].map(segment),
            [1376, 1224, 1176, 1124, 1124, 1376]
        );
    }

    #[test]
    fn quic_sends_long_packets_only_when_nothing_has_been_acknowledged_for_some_time() {
        let mut fit = Fit::new();
        assert_eq!(fit.look(at(9000), 1376, None, RTT), Look::Fits);
        assert_eq!(fit.look(at(9000), 1376, since(7001, 1376), RTT), Look::Fits);
        assert_eq!(fit.look(at(9000), 1376, since(7000, 1376), RTT), Look::Probe);
        assert_eq!(fit.look(at(9249), 1376, since(7000, 1376), RTT), Look::Fits);
        assert_eq!(fit.look(at(9250), 1376, since(7000, 1376), RTT), Look::Probe);
        // Over half a second of path it takes longer.
        assert_eq!(fit.look(at(12_000), 1376, since(8100, 1376), RTT * 5), Look::Fits);
        assert_eq!(fit.look(at(12_100), 1376, since(8100, 1376), RTT * 5), Look::Probe);
    }

    #[test]
    fn what_is_too_long_begins_anew_and_what_every_path_takes_is_never_doubted() {
        let mut fit = Fit::new();
        assert_eq!(fit.look(at(9000), 1124, since(7000, 1376), RTT), Look::Again);
        assert_eq!(fit.look(at(9000), 1124, since(7000, 1124), RTT), Look::Fits);
    }

    #[test]
    fn a_dead_path_is_probed_less_and_less() {
        let mut fit = Fit::new();
        let probes = (0..60_000)
            .step_by(50)
            .filter(|ms| fit.look(at(9000 + ms), 1376, since(7000, 1376), RTT) == Look::Probe)
            .count();
        // Eight in two seconds, and six in the minute after them.
        assert!((12..=16).contains(&probes), "{probes}");
    }
}
