//! What can be told from packets that pass by: who sends how much to whom, round trips, loss, gateways.
//! Nothing is sent, and no content is looked at.
//!
//! - `sighting`: what is seen of one packet
//! - `flow`: bytes and packets; `rtt`: round trips; `loss`: what came again or did not come;
//!   `neighbours`: cards on the link, and gateways among them

mod flow;
mod loss;
mod neighbours;
mod rtt;
mod sighting;

use alloc::vec::Vec;

pub use flow::{Flow, FlowKey, Flows};
pub use loss::{Losses, Retransmitted, Session};
pub use neighbours::{Card, Neighbours};
pub use rtt::{Handshake, Trips, Way};
pub use sighting::{Mac, Norm, Segment, Sighting, What};

use fanfare_wire::units::Time;

/// Everything that is made of packets.
#[derive(Debug, Default)]
pub struct Observer {
    flows: Flows,
    trips: Trips,
    losses: Losses,
    neighbours: Neighbours,
    last: Time,
    /// Packets whose time is before that of an earlier one by a second or more: a clock was set back.
    pub backwards: u64,
}

impl Observer {
    /// Has seen nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A packet was seen.
    pub fn on_sighting(&mut self, seen: &Sighting) {
        let back = self.last.since(seen.at);
        if self.last > seen.at && back.as_secs() >= 1 {
            self.backwards += 1;
        }
        self.last = self.last.max(seen.at);
        self.flows.on_sighting(seen);
        self.trips.on_sighting(seen);
        self.losses.on_sighting(seen);
        self.neighbours.on_sighting(seen);
    }

    /// Who sends how much to whom.
    #[must_use]
    pub fn flows(&self) -> &Flows {
        &self.flows
    }

    /// Round trips.
    #[must_use]
    pub fn trips(&self) -> &Trips {
        &self.trips
    }

    /// Handshakes since this was asked last, 1024 at most.
    pub fn take_handshakes(&mut self) -> Vec<Handshake> {
        self.trips.handshakes.drain(..).collect()
    }

    /// What came again, or did not come.
    #[must_use]
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Cards on the link.
    #[must_use]
    pub fn neighbours(&self) -> &Neighbours {
        &self.neighbours
    }
}

#[cfg(test)]
#[path = "observe_tests.rs"]
mod tests;
