//! How late the emulator was: how much it adds to delays, and whether a run can be trusted.

use fanfare_proto::Duration;
use fanfare_sim::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// Lateness up to which a run counts: what is published of the accuracy (docs/reference/laboratory.md).
const MEDIAN_MAX: Duration = Duration::from_micros(300);
const P99_MAX: Duration = Duration::from_millis(2);

/// Packets by how much later than due they were handed over; and wakes of a steady pulse, which
/// shows that the emulator did not run even when nothing was due.
#[derive(Debug, Default)]
pub(crate) struct Lateness {
    pub(crate) packets: Histogram,
    pub(crate) scheduling_delay: Histogram,
    longest: Duration,
}

impl Lateness {
    pub(crate) fn on_packets(&mut self, count: usize, late: Duration) {
        (0..count).for_each(|_| self.packets.add(late));
        self.longest = self.longest.max(late);
    }
    pub(crate) fn report(&self) -> LatenessReport {
        let ms = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        let of = |histogram: &Histogram, share| ms(histogram.percentile(share));
        let too_late = |histogram: &Histogram| {
            histogram.percentile(0.5) > MEDIAN_MAX || histogram.percentile(0.99) > P99_MAX
        };
        LatenessReport {
            packets: self.packets.total(),
            median_ms: of(&self.packets, 0.5),
            p95_ms: of(&self.packets, 0.95),
            p99_ms: of(&self.packets, 0.99),
            most_ms: ms(self.longest),
            pulse_median_ms: of(&self.scheduling_delay, 0.5),
            pulse_p99_ms: of(&self.scheduling_delay, 0.99),
            void: too_late(&self.packets) || too_late(&self.scheduling_delay),
        }
    }
}

/// The emulator's lateness, milliseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LatenessReport {
    /// Packets handed over.
    pub packets: u64,
    /// Half of them were less late.
    pub median_ms: f64,
    /// 95 of 100.
    pub p95_ms: f64,
    /// 99 of 100.
    pub p99_ms: f64,
    /// The latest.
    pub most_ms: f64,
    /// Of the steady pulse.
    pub pulse_median_ms: f64,
    /// Of the steady pulse.
    pub pulse_p99_ms: f64,
    /// The machine was too busy: half of all packets, or of all pulses, were more than 0.3 ms late,
    /// or one in a hundred more than 2 ms. Figures of this run do not count.
    pub void: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(late_ms: &[(usize, u64)]) -> LatenessReport {
        let mut lateness = Lateness::default();
        for (count, us) in late_ms {
            lateness.on_packets(*count, Duration::from_micros(*us));
        }
        lateness.report()
    }

    #[test]
    fn a_run_is_void_when_its_median_or_its_99th_percentile_is_too_late() {
        assert!(!report(&[(990, 100), (10, 50_000)]).void);
        assert!(report(&[(980, 100), (20, 2_200)]).void);
        assert!(report(&[(490, 100), (510, 320)]).void);
    }

    #[test]
    fn a_pulse_that_was_late_voids_a_run_without_a_packet() {
        let mut lateness = Lateness::default();
        (0..100).for_each(|_| lateness.scheduling_delay.add(Duration::from_millis(3)));
        assert!(lateness.report().void);
    }
}
