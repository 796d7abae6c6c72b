//! How repairs and new data share the rate. A flood of requests must not stop new data.

use crate::{rate::Bitrate, time::Duration};

/// The balance may run this far either way, in percent-bytes: a few dozen segments.
const BOUND: i64 = 100 * 50_000;
/// Where nothing else is said, each byte of new data earns one of repair, and so much is saved up as is
/// sent in this time at the highest rate: loss comes in bursts, and who comes late asks for much. So
/// repairs go first, but requests without end, true or not, do no more than double the time.
const PATIENCE: Duration = Duration::from_secs(5);
const HALF: i64 = 50;

/// The sharing machine.
#[derive(Debug)]
pub(in crate::sender) struct RepairShare {
    /// Percent of the rate that repairs may take.
    repairs: i64,
    /// What is saved up is what is sent in this time.
    patience: Duration,
    /// The highest rate so far: what was lost at it is repaired at a lower one.
    peak: Bitrate,
    /// What repairs have had beyond their share, in percent-bytes.
    balance: i64,
}

impl RepairShare {
    /// Repairs take at most `percent` while there is new data; with 100, half, and more where less was
    /// needed before.
    pub(in crate::sender) fn new(percent: u8) -> Self {
        let (repairs, patience) = match percent {
            100.. => (HALF, PATIENCE),
            less => (i64::from(less), Duration::ZERO),
        };
        Self { repairs, patience, peak: Bitrate::bps(0), balance: 0 }
    }

    /// Whether new data goes before repairs now.
    pub(in crate::sender) fn new_first(&self) -> bool {
        self.balance > 0
    }

    pub(in crate::sender) fn on_repair(&mut self, bytes: usize) {
        self.add((100 - self.repairs) * bytes as i64);
    }

    pub(in crate::sender) fn on_new(&mut self, rate: Bitrate, bytes: usize) {
        self.peak = self.peak.max(rate);
        self.add(-self.repairs * bytes as i64);
    }

    fn add(&mut self, change: i64) {
        let saved = i64::try_from(self.peak.bytes_in(self.patience)).unwrap_or(i64::MAX);
        let saved = saved.min(i64::MAX / 200) * self.repairs;
        // Where nothing is saved up, credit is for repairs that wait.
        self.balance = self.balance.saturating_add(change).clamp(-saved.max(1), BOUND);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Bitrate = Bitrate::mbps(10);

    /// Repairs among so many messages of 1400 bytes, with new data and requests without end, after as
    /// many of new data as these.
    fn repairs_of(count: u32, percent: u8, before: usize) -> u32 {
        let mut share = RepairShare::new(percent);
        share.on_new(RATE, before * 1400);
        let mut repairs = 0;
        for _ in 0..count {
            if share.new_first() {
                share.on_new(RATE, 1400);
            } else {
                share.on_repair(1400);
                repairs += 1;
            }
        }
        repairs
    }

    #[test]
    fn repairs_get_their_share_and_no_more() {
        assert!((495..=505).contains(&repairs_of(1000, 50, 0)), "{}", repairs_of(1000, 50, 0));
        assert!((240..=260).contains(&repairs_of(1000, 25, 0)), "{}", repairs_of(1000, 25, 0));
        assert!((495..=505).contains(&repairs_of(1000, 100, 0)), "{}", repairs_of(1000, 100, 0));
    }

    #[test]
    fn repairs_go_first_for_as_much_new_data_as_was_sent_and_for_five_seconds_at_most() {
        assert_eq!(repairs_of(300, 100, 300), 300);
        assert!(
            (650..=655).contains(&repairs_of(1000, 100, 300)),
            "{}",
            repairs_of(1000, 100, 300)
        );
        // 10 Mbit/s are 4,464 such messages in five seconds.
        let long = repairs_of(10_000, 100, 100_000);
        assert!((7_230..=7_240).contains(&long), "{long}");
    }
}
