//! Which groups a receiver has joined, for the level that it wants.
//!
//! Layer n has channel n + 1. With dynamic layers a channel's rate falls from slot to slot: what
//! was layer n is layer n - 1 in the next slot, and is silent after layer 0. So a receiver that
//! joins nothing loses one layer in each slot, and leaves only channels that are silent.

use super::{Channel, SendPattern};
use alloc::{
    collections::{BTreeSet, VecDeque},
    vec::Vec,
};

/// How dynamic layers go round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Cycle {
    /// Lowest layers that stay where they are.
    pub(super) fixed: usize,
    /// Channels that the others go round; 0: they stay, too.
    pub(super) channels: usize,
}

impl Cycle {
    /// Of a session with so many layers.
    pub(super) fn of(pattern: SendPattern, layers: usize) -> Self {
        let (fixed, quiet) =
            (usize::from(pattern.fixed_layers()), usize::from(pattern.quiet_slots()));
        Self { fixed, channels: if quiet > 0 { layers - fixed + quiet } else { 0 } }
    }
    /// Whether layers move at all.
    pub(super) fn turns(self) -> bool {
        self.channels > 0
    }
}

/// A channel, by its place after the session's own.
pub(super) fn channel_number(place: usize) -> Channel {
    Channel(place as u8 + 1)
}

/// The channel of a layer in a slot.
pub(super) fn channel_of(layer: usize, slot: u32, cycle: Cycle) -> Channel {
    let Cycle { fixed, channels } = cycle;
    if layer < fixed || !cycle.turns() {
        return channel_number(layer);
    }
    channel_number(fixed + (layer - fixed + slot as usize % channels) % channels)
}

/// Groups joined, and joins and leaves that the driver has not taken yet.
#[derive(Debug, Default)]
pub(super) struct Subscription {
    joined: BTreeSet<Channel>,
    pending: VecDeque<Membership>,
}

impl Subscription {
    /// Joins and leaves so that just the channels of the first `level` layers are heard, and the
    /// session's own. Gives those that were left.
    pub(super) fn set(&mut self, level: usize, slot: u32, cycle: Cycle) -> Vec<Channel> {
        let mut wanted: BTreeSet<Channel> =
            (0..level).map(|layer| channel_of(layer, slot, cycle)).collect();
        wanted.insert(Channel::SESSION);
        let left: Vec<Channel> = self.joined.difference(&wanted).copied().collect();
        let new = wanted.difference(&self.joined).copied();
        // Leaves first: a line that is full needs them before anything else comes.
        self.pending.extend(left.iter().map(|channel| Membership::Leave(*channel)));
        self.pending.extend(new.map(Membership::Join));
        self.joined = wanted;
        left
    }
    pub(super) fn hears(&self, channel: Channel) -> bool {
        self.joined.contains(&channel)
    }
    pub(super) fn poll(&mut self) -> Option<Membership> {
        self.pending.pop_front()
    }
}

/// A group to join or to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Membership {
    /// Join.
    Join(Channel),
    /// Leave.
    Leave(Channel),
}

#[cfg(test)]
mod tests {
    use super::*;
    use Membership::{Join, Leave};

    fn drained(subscription: &mut Subscription) -> Vec<Membership> {
        core::iter::from_fn(|| subscription.poll()).collect()
    }

    #[test]
    fn a_level_is_its_layers_channels_and_the_sessions_own() {
        let mut subscription = Subscription::default();
        subscription.set(2, 0, Cycle::default());
        assert_eq!(drained(&mut subscription), [0, 1, 2].map(|n| Join(Channel(n))));
        assert_eq!(subscription.set(1, 0, Cycle::default()), [Channel(2)]);
        assert_eq!(drained(&mut subscription), [Leave(Channel(2))]);
    }

    #[test]
    fn dynamic_layers_sink_by_themselves_and_only_silent_ones_are_left() {
        let (mut subscription, cycle) = (Subscription::default(), Cycle { fixed: 0, channels: 5 });
        subscription.set(3, 7, cycle);
        drained(&mut subscription);
        // One lower in the next slot: nothing to join, and the channel to leave was layer 0.
        let left = subscription.set(2, 8, cycle);
        assert_eq!(left, [channel_of(0, 7, cycle)]);
        assert_eq!(drained(&mut subscription), [Leave(left[0])]);
        // To stay, a join a slot.
        subscription.set(2, 9, cycle);
        assert!(drained(&mut subscription).contains(&Join(channel_of(1, 9, cycle))));
    }

    #[test]
    fn waves_sink_above_a_base_channel_that_stays() {
        let cycle = Cycle::of(SendPattern::Waves, 16);
        assert_eq!(cycle, Cycle { fixed: 1, channels: 45 });
        // In slot i the lowest wave is channel number i of those above the base.
        for slot in [0, 7, 44, 45, 100] {
            let lowest = channel_number(1 + slot as usize % 45);
            assert_eq!(channel_of(0, slot, cycle), Channel(1));
            assert_eq!(channel_of(1, slot, cycle), lowest);
            assert_eq!(
                channel_of(2, slot.saturating_sub(1), cycle),
                channel_of(if slot == 0 { 2 } else { 1 }, slot, cycle)
            );
        }
    }
}
