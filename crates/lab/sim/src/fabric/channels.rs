//! Multicast groups of layered sessions: who has joined which group, and what the network knows of
//! it.
//!
//! A host that joins gets packets when the network has learned of it (join latency). A host that
//! leaves takes no more packets, but they still fill its hops until the network has learned of
//! that, too: up to 260 s with IGMP version 1, some seconds with version 2 (leave latency).

use std::collections::BTreeMap;

use crate::place::PlaceNumber;

/// A group of a layered session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChannelId {
    /// The session, by its number in the plan.
    pub(crate) session: u16,
    /// Its channel.
    pub(crate) channel: u8,
}

/// A place in a group, or lately in it.
#[derive(Debug, Clone, Copy, Default)]
struct Listener {
    /// It takes packets.
    joined: bool,
    /// The network sends them there.
    served: bool,
    /// Joins and leaves so far.
    epoch: u32,
}

/// All groups.
#[derive(Debug, Default)]
pub(super) struct Channels {
    listeners: BTreeMap<ChannelId, BTreeMap<PlaceNumber, Listener>>,
}

impl Channels {
    /// A place joins or leaves; gives the epoch, by which a later word makes this one void.
    pub(super) fn set(&mut self, place: PlaceNumber, id: ChannelId, joined: bool) -> u32 {
        let listener = self.listeners.entry(id).or_default().entry(place).or_default();
        listener.joined = joined;
        listener.epoch += 1;
        listener.epoch
    }
    /// The network learns of it. True when trees change.
    pub(super) fn learn(&mut self, place: PlaceNumber, id: ChannelId, epoch: u32) -> bool {
        let listener = self.listeners.entry(id).or_default().entry(place).or_default();
        let changes = listener.epoch == epoch && listener.served != listener.joined;
        if changes {
            listener.served = listener.joined;
        }
        changes
    }
    /// Whether a place takes what arrives.
    pub(super) fn hears(&self, place: PlaceNumber, id: ChannelId) -> bool {
        let listener = self.listeners.get(&id).and_then(|places| places.get(&place));
        listener.is_some_and(|listener| listener.joined)
    }
    /// Where the network sends a group's packets.
    pub(super) fn served(&self, id: ChannelId) -> Vec<PlaceNumber> {
        let places = self.listeners.get(&id).into_iter().flatten();
        places.filter(|(_, listener)| listener.served).map(|(place, _)| *place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: ChannelId = ChannelId { session: 0, channel: 3 };
    const PLACE: PlaceNumber = PlaceNumber(7);

    #[test]
    fn who_has_left_hears_nothing_but_is_served_until_the_network_knows() {
        let mut channels = Channels::default();
        let joined = channels.set(PLACE, ID, true);
        assert!(channels.hears(PLACE, ID) && channels.served(ID).is_empty());
        assert!(channels.learn(PLACE, ID, joined));
        let left = channels.set(PLACE, ID, false);
        assert!(!channels.hears(PLACE, ID) && channels.served(ID) == [PLACE]);
        assert!(channels.learn(PLACE, ID, left) && channels.served(ID).is_empty());
    }

    #[test]
    fn who_comes_back_before_the_network_knows_never_left() {
        let mut channels = Channels::default();
        let joined = channels.set(PLACE, ID, true);
        channels.learn(PLACE, ID, joined);
        let left = channels.set(PLACE, ID, false);
        let back = channels.set(PLACE, ID, true);
        assert!(!channels.learn(PLACE, ID, left) && !channels.learn(PLACE, ID, back));
        assert_eq!(channels.served(ID), [PLACE]);
    }
}
