//! FLID-DL: one level up at a signal, one level down after a slot with loss (Byers et al. 2000;
//! thesis 4.4).
//!
//! With dynamic layers (see `subscription`) nobody needs to leave a group. The sender chooses at
//! random which levels may grow in a slot, so that their mean growth is that of a TCP flow (see
//! [`super::source`]).

use super::{Arrival, LayeredController, SessionParameters};
use fanfare_wire::units::time::Time;

/// A FLID-DL receiver.
#[derive(Debug)]
pub struct FlidDl {
    most: usize,
    level: usize,
    slot: Option<u32>,
    lost: bool,
    signal: u8,
}

impl FlidDl {
    /// With the base layer.
    #[must_use]
    pub fn new(terms: SessionParameters) -> Self {
        Self { most: terms.layers.count(), level: 1, slot: None, lost: false, signal: 0 }
    }

    fn end_slot(&mut self) {
        if self.lost {
            // The thesis lets who loses the lowest layer leave the session; a transfer goes on.
            self.level = (self.level - 1).max(1);
        } else if self.level < usize::from(self.signal) {
            self.level = (self.level + 1).min(self.most);
        }
        self.lost = false;
    }
}

impl LayeredController for FlidDl {
    fn on_packet(&mut self, _now: Time, arrival: &Arrival) {
        let slot = arrival.header.slot;
        if self.slot.is_none_or(|last| last < slot) {
            if self.slot.is_some() {
                self.end_slot();
            }
            self.slot = Some(slot);
        }
        self.signal = arrival.header.signal;
        self.lost |= arrival.lost > 0;
    }
    fn level(&self) -> usize {
        self.level
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        Header,
        tests::{header, terms},
    };
    use super::*;

    fn packet(slot: u32, signal: u8, lost: u32) -> Arrival {
        let header = Header { slot, signal, ..header(0) };
        Arrival { header, bytes: 512, lost, pair: None, transit: 0.03 }
    }
    /// Levels after packets of slots, each with its signal and loss.
    fn levels(slots: &[(u8, u32)]) -> alloc::vec::Vec<usize> {
        let mut flid = FlidDl::new(terms());
        let on = |(slot, (signal, lost)): (usize, &(u8, u32))| {
            flid.on_packet(Time::ZERO, &packet(slot as u32, *signal, *lost));
            flid.level()
        };
        slots.iter().enumerate().map(on).collect()
    }

    #[test]
    fn a_signal_takes_effect_in_the_next_slot() {
        assert_eq!(levels(&[(2, 0), (3, 0), (2, 0), (9, 0), (0, 0)]), [1, 2, 3, 3, 4]);
    }

    #[test]
    fn loss_takes_a_level_whatever_the_signal_and_never_the_lowest() {
        assert_eq!(levels(&[(9, 0), (9, 0), (9, 1), (9, 1), (9, 2), (9, 0)]), [1, 2, 3, 2, 1, 1]);
    }
}
