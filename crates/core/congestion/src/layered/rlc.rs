//! RLC: one layer more at a synchronisation point if there was no loss before it, one layer less
//! after loss (Vicisano, Rizzo and Crowcroft 1998; thesis 4.3). Before each such point the source
//! sends at the next higher rate for a short time.

use super::{Arrival, LayeredController, SessionParameters, timing::BURST_PACKETS};
use fanfare_wire::units::time::{Duration, Time};

/// After a drop the line still gets what was on its way, and the leave takes time: loss in this time
/// is of the layer that was left. (The authors' "deaf period".)
const DEAF: Duration = Duration::from_secs(1);

/// An RLC receiver.
#[derive(Debug)]
pub struct Rlc {
    most: usize,
    level: usize,
    /// Loss since then speaks against a join: the burst, and the rest after it.
    burst: Duration,
    lost_at: Option<Time>,
    deaf_until: Time,
}

impl Rlc {
    /// With the base layer.
    #[must_use]
    pub fn new(now: Time, terms: SessionParameters) -> Self {
        let packet = 8.0 * f64::from(terms.packet) / terms.layers.sum(1);
        let burst = Duration::from_secs_f64(2.0 * BURST_PACKETS * packet);
        Self { most: terms.layers.count(), level: 1, burst, lost_at: None, deaf_until: now }
    }
}

impl LayeredController for Rlc {
    fn on_packet(&mut self, now: Time, arrival: &Arrival) {
        if arrival.lost > 0 {
            self.lost_at = Some(now);
            if now >= self.deaf_until {
                self.level = (self.level - 1).max(1);
                self.deaf_until = now + DEAF;
            }
            return;
        }
        let is_mine = usize::from(arrival.header.layer) + 1 == self.level;
        let calm = self.lost_at.is_none_or(|at| now.since(at) > self.burst);
        if is_mine && calm && self.level < usize::from(arrival.header.signal) {
            self.level = (self.level + 1).min(self.most);
        }
    }
    fn level(&self) -> usize {
        self.level
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            Header,
            tests::{arrival, terms},
        },
        *,
    };

    fn on(rlc: &mut Rlc, ms: u64, layer: u8, signal: u8, lost: u32) -> usize {
        let (now, packet) = arrival(ms);
        let header = Header { layer, signal, ..packet.header };
        rlc.on_packet(now, &Arrival { header, lost, ..packet });
        rlc.level()
    }

    #[test]
    fn only_a_point_of_the_top_layer_lets_it_grow() {
        let mut rlc = Rlc::new(Time::ZERO, terms());
        assert_eq!(on(&mut rlc, 0, 0, 2, 0), 2);
        assert_eq!(on(&mut rlc, 10, 0, 2, 0), 2);
        assert_eq!(on(&mut rlc, 20, 1, 3, 0), 3);
    }

    #[test]
    fn loss_drops_one_layer_once_and_a_lossy_burst_forbids_growth() {
        let mut rlc = Rlc::new(Time::ZERO, terms());
        (0..3).for_each(|n| assert_eq!(on(&mut rlc, 0, n, n + 2, 0), usize::from(n) + 2));
        assert_eq!(on(&mut rlc, 2000, 3, 0, 3), 3);
        assert_eq!(on(&mut rlc, 2500, 2, 0, 3), 3);
        // Bursts of this session and their rest take 0.82 s.
        assert_eq!(on(&mut rlc, 3200, 2, 4, 0), 3);
        assert_eq!(on(&mut rlc, 3400, 2, 4, 0), 4);
    }
}
