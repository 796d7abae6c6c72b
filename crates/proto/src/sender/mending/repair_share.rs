//! How repairs and new data share the rate. A flood of requests must not stop new data.

/// The balance may run this far either way, in percent-bytes: a few dozen segments.
const BOUND: i64 = 100 * 50_000;

/// The sharing machine.
#[derive(Debug)]
pub(in crate::sender) struct RepairShare {
    /// Percent of the rate that repairs may take.
    repairs: i64,
    /// What repairs have had beyond their share, in percent-bytes.
    balance: i64,
}

impl RepairShare {
    /// Repairs take at most `percent` while there is new data; 100 lets them always go first.
    pub(in crate::sender) fn new(percent: u8) -> Self {
        Self { repairs: i64::from(percent.min(100)), balance: 0 }
    }

    /// Whether new data goes before repairs now.
    pub(in crate::sender) fn new_first(&self) -> bool {
        self.balance > 0
    }

    pub(in crate::sender) fn on_repair(&mut self, bytes: usize) {
        self.add((100 - self.repairs) * bytes as i64);
    }

    pub(in crate::sender) fn on_new(&mut self, bytes: usize) {
        self.add(-self.repairs * bytes as i64);
    }

    fn add(&mut self, change: i64) {
        // Credit is for repairs that wait, not saved up while there are none: no lower bound below 0.
        self.balance = (self.balance + change).clamp(-1, BOUND);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repairs_of_1000(percent: u8) -> u32 {
        let mut share = RepairShare::new(percent);
        let mut repairs = 0;
        for _ in 0..1000 {
            if share.new_first() {
                share.on_new(1400);
            } else {
                share.on_repair(1400);
                repairs += 1;
            }
        }
        repairs
    }

    #[test]
    fn repairs_get_their_share_and_no_more() {
        assert_eq!(repairs_of_1000(100), 1000);
        assert!((495..=505).contains(&repairs_of_1000(50)), "{}", repairs_of_1000(50));
        assert!((240..=260).contains(&repairs_of_1000(25)), "{}", repairs_of_1000(25));
    }
}
