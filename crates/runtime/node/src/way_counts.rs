//! Counters of all that a bridge heard on its one side, for the other.

use crate::group::Losses;

/// Counters of one direction. What was heard is the sum of all the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WayCounts {
    /// Messages, or datagrams, that came for the other side, as far as it is known.
    pub heard: u64,
    /// Of these: were given to the other side.
    pub carried: u64,
    /// Had crossed already, or were left to another bridge.
    pub duplicates: u64,
    /// Had waited until they were of no use.
    pub expired: u64,
    /// Found no room, or were gone before the bridge could take them.
    pub dropped: u64,
    /// Were too long, had no name there, or were not taken: each was told of by itself.
    pub refused: u64,
    /// Wait.
    pub waiting: u64,
}

impl WayCounts {
    /// With what a member of a group could not give the bridge.
    #[must_use]
    pub fn with_losses(self, losses: Losses) -> Self {
        let lost = losses.dropped + losses.unkept;
        Self { heard: self.heard + lost, dropped: self.dropped + lost, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_member_could_not_give_was_heard_and_dropped() {
        let counts = WayCounts { heard: 5, carried: 3, dropped: 2, ..WayCounts::default() };
        let losses = Losses { dropped: 7, unkept: 1, events: 9 };
        let with = counts.with_losses(losses);
        assert_eq!((with.heard, with.carried, with.dropped), (13, 3, 10));
    }
}
