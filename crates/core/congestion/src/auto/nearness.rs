//! How far a receiver is: the least round trip of late. What is measured now has queues in it.

use fanfare_wire::units::time::{Duration, Time};

/// A route that has become longer is believed after one to two of these.
const SPAN: Duration = Duration::from_secs(5);

/// The least round trip of this span and of the one before.
#[derive(Debug, Clone, Copy)]
pub struct Nearness {
    least: [Duration; 2],
    begun: Time,
}

impl Default for Nearness {
    fn default() -> Self {
        Self { least: [Duration::MAX; 2], begun: Time::ZERO }
    }
}

impl Nearness {
    /// A round trip as it is measured now; the least of late.
    pub fn on_rtt(&mut self, now: Time, rtt: Duration) -> Duration {
        if now.since(self.begun) >= SPAN {
            self.least = [rtt, self.least[0]];
            self.begun = now;
        }
        self.least[0] = self.least[0].min(rtt);
        self.least[0].min(self.least[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    #[test]
    fn a_queue_does_not_make_a_path_long_but_a_longer_route_does() {
        let mut nearness = Nearness::default();
        let mut on = |second: u64, millis| {
            nearness.on_rtt(at(second * 1000), Duration::from_millis(millis)).as_millis()
        };
        assert_eq!([on(1, 2), on(3, 90), on(6, 90), on(8, 90)], [2; 4]);
        assert_eq!(on(11, 90), 90);
    }
}
