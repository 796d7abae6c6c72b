//! The average loss probability (RFC 3738 3.2.2.1): its inverse, filtered twice.
//!
//! Loss comes in bursts, just after a wave was joined. So packets and loss events are first spread
//! over some time slots, a share at the end of each epoch, and what comes of that moves the average
//! by a share for each loss event.

use super::equation;

/// Shares of the filter by time (Nu) and of that by loss events (Delta).
const NU: f64 = 0.3;
const DELTA: f64 = 0.3;

/// The estimate LOSSP with its counts, by the names of the RFC.
#[derive(Debug, Clone)]
pub(super) struct Loss {
    /// G: what goes into the average at the end of an epoch.
    share: f64,
    /// W: packets since the last loss event began.
    since: f64,
    /// X and Y: packets and loss events that are not in the average yet.
    packets: f64,
    events: f64,
    /// Z: the inverse of the average so far.
    inverse: f64,
    probability: f64,
}

impl Loss {
    /// With epochs of this share of a time slot.
    pub(super) fn new(epoch_to_slot: f64) -> Self {
        let (since, packets, events) = (0.0, 0.0, 0.0);
        Self { share: NU * epoch_to_slot, since, packets, events, inverse: 1.0, probability: 1.0 }
    }
    /// Starts over from a probability at which the equation gives this rate.
    pub(super) fn reset(&mut self, rate: f64, round_trip: f64) {
        self.reset_to(equation::loss_at(rate, round_trip));
    }
    fn reset_to(&mut self, probability: f64) {
        (self.since, self.packets, self.events) = (0.0, 0.0, 0.0);
        self.inverse = 1.0 / probability;
        self.probability = probability;
    }
    /// Packets arrived or are missing.
    pub(super) fn on_packets(&mut self, count: u32) {
        self.since += f64::from(count);
    }
    /// The last of them begins a loss event.
    pub(super) fn on_event(&mut self) {
        self.packets += self.since;
        self.since = 0.0;
        self.events += 1.0;
    }
    /// An epoch is over.
    pub(super) fn on_epoch(&mut self) {
        let kept = |events: f64| libm::pow(1.0 - DELTA, events);
        let g = self.share;
        let settled = g * self.events;
        self.inverse = self.inverse * kept(settled)
            + g * self.packets / (settled + 1.0) * (1.0 - kept(settled + 1.0));
        self.packets *= 1.0 - g;
        self.events *= 1.0 - g;
        let (x, y, z) = (self.packets, self.events, self.inverse);
        let now = z * kept(y) + x / (y + 1.0) * (1.0 - kept(y + 1.0));
        // Were the next packet lost.
        let next = z * kept(y + 1.0) + (x + self.since + 1.0) / (y + 2.0) * (1.0 - kept(y + 2.0));
        self.probability = 1.0 / now.max(next).max(1.0);
    }
    pub(super) fn probability(&self) -> f64 {
        self.probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One packet in `every` lost, `packets` an epoch.
    fn settled(every: u32, packets: u32, epochs: u32) -> f64 {
        let mut loss = Loss::new(0.05);
        loss.reset_to(0.5);
        for n in 0..epochs * packets {
            loss.on_packets(1);
            if n % every == 0 {
                loss.on_event();
            }
            if n % packets == packets - 1 {
                loss.on_epoch();
            }
        }
        loss.probability()
    }

    #[test]
    fn the_average_comes_to_the_share_of_packets_that_begin_a_loss_event() {
        for every in [5, 20, 100] {
            let found = settled(every, 40, 2000);
            assert!((found * f64::from(every) - 1.0).abs() < 0.35, "{every}: {found}");
        }
    }

    #[test]
    fn a_long_time_without_loss_lowers_it_before_the_next_event() {
        let mut loss = Loss::new(0.05);
        loss.reset_to(0.1);
        loss.on_packets(1000);
        loss.on_epoch();
        // Z2 with W = 1000: 10 (0.7) + 1001 / 2 (1 - 0.49).
        assert!((1.0 / loss.probability() - 262.255).abs() < 1e-6, "{}", loss.probability());
    }

    #[test]
    fn it_is_never_more_than_all() {
        let mut loss = Loss::new(0.05);
        (0..200).for_each(|_| {
            loss.on_packets(1);
            loss.on_event();
            loss.on_epoch();
        });
        assert!(loss.probability() <= 1.0 && loss.probability() > 0.5);
    }
}
