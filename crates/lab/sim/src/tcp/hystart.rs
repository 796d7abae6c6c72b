//! HyStart (Ha and Rhee, 2011), as Linux's CUBIC has it: slow start ends when the round trip grows
//! or when a round's ACKs come in one train for as long as half a round trip.

use fanfare_proto::{Duration, Time};

/// Linux `hystart_low_window`: below, a loss is cheap.
const LOW_WINDOW: u32 = 16;
/// Linux `HYSTART_MIN_SAMPLES`.
const MIN_SAMPLES: u32 = 8;
/// Linux `HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`: bounds of the growth that counts, an eighth of
/// the round trip.
const DELAY_MIN: Duration = Duration::from_millis(4);
const DELAY_MAX: Duration = Duration::from_millis(16);
/// Linux `hystart_ack_delta_us`: ACKs closer than this are one train.
const TRAIN_GAP: Duration = Duration::from_millis(2);

/// What it remembers of a round trip.
#[derive(Debug, Clone, Default)]
pub(super) struct HyStart {
    round_start: Time,
    last_ack: Time,
    samples: u32,
    shortest: Duration,
}

impl HyStart {
    /// An ACK with a round trip has come; true when slow start should end.
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        sample: Duration,
        min_rtt: Duration,
        window: u32,
        round_over: bool,
    ) -> bool {
        if round_over {
            let start =
                Self { round_start: now, last_ack: now, samples: 0, shortest: Duration::MAX };
            *self = start;
        }
        window >= LOW_WINDOW && (self.train(now, min_rtt) | self.delay(sample, min_rtt))
    }

    fn train(&mut self, now: Time, min_rtt: Duration) -> bool {
        if now.since(self.last_ack) > TRAIN_GAP {
            return false;
        }
        self.last_ack = now;
        now.since(self.round_start) > min_rtt / 2
    }

    fn delay(&mut self, sample: Duration, min_rtt: Duration) -> bool {
        self.shortest = self.shortest.min(sample);
        self.samples += 1;
        let growth = (min_rtt / 8).clamp(DELAY_MIN, DELAY_MAX);
        self.samples > MIN_SAMPLES && self.shortest > min_rtt + growth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// Whether it ends a round of 30 ACKs `gap` apart with this round trip.
    fn ends(rtt: Duration, gap: Duration, window: u32) -> bool {
        let mut hystart = HyStart::default();
        let mut now = Time::ZERO + Duration::from_secs(1);
        (0..30).any(|n| {
            now = now + gap;
            hystart.on_ack(now, rtt, RTT, window, n == 0)
        })
    }

    #[test]
    fn a_longer_round_trip_ends_slow_start_and_the_shortest_does_not() {
        let gap = Duration::from_millis(3);
        assert!(ends(RTT + Duration::from_millis(13), gap, 40));
        assert!(!ends(RTT + Duration::from_millis(12), gap, 40));
    }

    #[test]
    fn a_train_of_acks_half_a_round_trip_long_ends_slow_start() {
        assert!(ends(RTT, Duration::from_millis(2), 40));
        assert!(!ends(RTT, Duration::from_millis(1), 40), "30 ms are too short");
        assert!(!ends(RTT, Duration::from_millis(3), 40), "gaps make it no train");
    }

    #[test]
    fn a_small_window_stays_in_slow_start() {
        assert!(!ends(2 * RTT, Duration::from_millis(2), 15));
    }
}
