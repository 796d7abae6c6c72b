//! How repairs and new data share the rate. A flood of requests must not stop new data.

use crate::{rate::Bitrate, time::Duration};

/// The balance may run this far either way, in percent-bytes: a few dozen segments.
const BOUND: i64 = 100 * 50_000;
/// Where nothing else is said, repairs go first, and take half of the rate at most over this time at
/// the highest rate so far:
/// loss comes in bursts, and who comes late asks for much. Requests without end, true or not, cannot hold
/// new data up for longer.
const PATIENCE: Duration = Duration::from_secs(5);
const HALF: i64 = 50;

/// The sharing machine.
#[derive(Debug)]
pub(in crate::sender) struct RepairShare {
    /// Percent of the rate that repairs may take.
    repairs: i64,
    /// Repairs may run ahead of their share by what is sent in this time.
    patience: Duration,
    /// The highest rate so far: what was lost at it is repaired at a lower one.
    peak: Bitrate,
    /// What repairs have had beyond their share, in percent-bytes.
    balance: i64,
}

impl RepairShare {
    /// Repairs take at most `percent` while there is new data; with 100 they go first until they have had
    /// more than half of the rate for some time.
    pub(in crate::sender) fn new(percent: u8) -> Self {
        let (repairs, patience) = match percent {
            100.. => (HALF, PATIENCE),
            less => (i64::from(less), Duration::ZERO),
        };
        Self { repairs, patience, peak: Bitrate::bps(0), balance: 0 }
    }

    /// By how much repairs may be ahead, in percent-bytes.
    fn ahead(&self, rate: Bitrate) -> i64 {
        let bytes =
            i64::try_from(self.peak.max(rate).bytes_in(self.patience)).unwrap_or(i64::MAX / 200);
        bytes.min(i64::MAX / 200) * (100 - self.repairs)
    }

    /// Whether new data goes before repairs now.
    pub(in crate::sender) fn new_first(&self, rate: Bitrate) -> bool {
        self.balance > self.ahead(rate)
    }

    pub(in crate::sender) fn on_repair(&mut self, rate: Bitrate, bytes: usize) {
        self.add(rate, (100 - self.repairs) * bytes as i64);
    }

    pub(in crate::sender) fn on_new(&mut self, rate: Bitrate, bytes: usize) {
        self.add(rate, -self.repairs * bytes as i64);
    }

    fn add(&mut self, rate: Bitrate, change: i64) {
        self.peak = self.peak.max(rate);
        // Credit is for repairs that wait, not saved up while there are none: no lower bound below 0.
        let most = self.ahead(rate).saturating_add(BOUND);
        self.balance = self.balance.saturating_add(change).clamp(-1, most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Bitrate = Bitrate::mbps(10);

    /// Repairs among so many messages of 1400 bytes, with new data and requests without end.
    fn repairs_of(count: u32, percent: u8) -> u32 {
        let mut share = RepairShare::new(percent);
        let mut repairs = 0;
        for _ in 0..count {
            if share.new_first(RATE) {
                share.on_new(RATE, 1400);
            } else {
                share.on_repair(RATE, 1400);
                repairs += 1;
            }
        }
        repairs
    }

    #[test]
    fn repairs_get_their_share_and_no_more() {
        assert!((495..=505).contains(&repairs_of(1000, 50)), "{}", repairs_of(1000, 50));
        assert!((240..=260).contains(&repairs_of(1000, 25)), "{}", repairs_of(1000, 25));
    }

    #[test]
    fn repairs_go_first_for_five_seconds_and_then_take_half_of_the_rate() {
        // 10 Mbit/s are 4,464 such messages in five seconds.
        assert_eq!(repairs_of(4400, 100), 4400);
        let long = repairs_of(44_640, 100);
        assert!((22_320..=24_600).contains(&long), "{long}");
    }
}
