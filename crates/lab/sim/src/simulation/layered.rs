//! Layered sessions in a run: starts, arrivals, joins and leaves.

use fanfare_proto::Time;

use super::{ScheduledEvent, Simulation, fnv};
use crate::{
    flow::layered::{LayeredRunning, Participant},
    packet::Packet,
    place::{Place, PlaceNumber},
};

impl Simulation {
    /// Enters the beginnings of sessions and of their receivers.
    pub(super) fn plan_layered(&mut self) {
        let Some(fabric) = &self.fabric else { return };
        for (flow, number) in self.plan.layered.iter().zip(0..) {
            let find = |place: Place| {
                let found = fabric.find(place);
                found.unwrap_or_else(|| panic!("session {number}: no hop names {place}"))
            };
            let places = flow.to.iter().map(|(place, _)| find(*place)).collect();
            let ends = (find(flow.from), places);
            let running = LayeredRunning::new(number, flow, ends, self.plan.seed);
            for (at, party) in running.beginnings() {
                self.events.push(Time::ZERO + at, ScheduledEvent::PartyStart(number, party));
            }
            self.layered.push(running);
        }
    }

    pub(super) fn start_party(&mut self, number: u16, party: Participant) {
        self.layered[usize::from(number)].start(self.now, party);
        self.settle_party(number, party);
    }
    pub(super) fn wake_party(&mut self, number: u16, party: Participant) {
        self.layered[usize::from(number)].on_wake(self.now, party);
        self.settle_party(number, party);
    }

    pub(super) fn arrive_layered(&mut self, number: u16, place: PlaceNumber, packet: &Packet) {
        let words = [self.now.as_nanos(), u64::from(place.0), packet.bytes as u64];
        self.hash = fnv(self.hash, words);
        let session = &mut self.layered[usize::from(number)];
        if let Some(party) = session.on_packet(self.now, place, packet) {
            self.settle_party(number, party);
        }
    }

    fn settle_party(&mut self, number: u16, party: Participant) {
        let actions = self.layered[usize::from(number)].drain(self.now, party);
        if let Some(at) = actions.wake {
            self.events.push(at, ScheduledEvent::PartyWake(number, party));
        }
        let Some(fabric) = &mut self.fabric else { return };
        for (place, id, joined) in actions.memberships {
            fabric.set_listener(self.now, place, id, joined);
        }
        actions.packets.into_iter().for_each(|packet| fabric.send(self.now, packet));
        self.enter_steps();
    }
}
