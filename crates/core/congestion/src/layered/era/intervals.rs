//! Adaptation intervals by the sender's clock. So receivers behind one bottleneck adapt at the same
//! packet, whatever their own clocks say.

use fanfare_wire::units::time::{Duration, Time};

/// Which interval it is.
#[derive(Debug)]
pub(super) struct Intervals {
    length: Duration,
    number: Option<u64>,
}

impl Intervals {
    pub(super) fn new(length: Duration) -> Self {
        Self { length, number: None }
    }
    /// The number of this one, by the sender's clock.
    pub(super) fn number(&self) -> u64 {
        self.number.unwrap_or(0)
    }
    /// Whether a packet is the first of a new interval. The first packet ever is not.
    pub(super) fn turn(&mut self, sent: Time) -> bool {
        let number = sent.as_nanos() / (self.length.as_nanos() as u64).max(1);
        let is_new = self.number.is_some_and(|last| last < number);
        self.number = self.number.max(Some(number));
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::units::time::at;

    #[test]
    fn an_interval_ends_once_and_a_late_packet_does_not_reopen_it() {
        let mut intervals = Intervals::new(Duration::from_secs(1));
        let turns = [2_300, 2_999, 3_000, 2_999, 3_400, 5_000].map(|ms| intervals.turn(at(ms)));
        assert_eq!(turns, [false, false, true, false, false, true]);
    }
}
