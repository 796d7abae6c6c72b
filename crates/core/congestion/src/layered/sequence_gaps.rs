//! Counts losses by gaps in the sequence numbers of each channel.

use super::{Channel, Header};
use alloc::collections::BTreeMap;

/// A jump of more is not loss but a sender that began again.
const JUMP_MAX: u32 = 10_000;

/// The next sequence number expected on each channel.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    next: BTreeMap<Channel, u32>,
}

impl Gaps {
    /// Packets missing before this one; what comes late or twice has none. The first packet after a
    /// join begins the count.
    pub(super) fn on_packet(&mut self, header: &Header) -> u32 {
        let after = header.sequence.wrapping_add(1);
        let next = self.next.entry(header.channel).or_insert(header.sequence);
        let missing = header.sequence.wrapping_sub(*next);
        let is_late = missing > u32::MAX / 2 && missing.wrapping_neg() < JUMP_MAX;
        if !is_late {
            *next = after;
        }
        if missing < JUMP_MAX { missing } else { 0 }
    }
    /// The channel was left: what is missed from now on is not lost.
    pub(super) fn forget(&mut self, channel: Channel) {
        self.next.remove(&channel);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::header;
    use super::*;

    #[test]
    fn a_gap_is_loss_and_a_late_packet_is_not() {
        let mut gaps = Gaps::default();
        let lost: alloc::vec::Vec<u32> = [5, 6, 9, 7, 10, 10]
            .map(|n| gaps.on_packet(&Header { sequence: n, ..header(0) }))
            .into();
        assert_eq!(lost, [0, 0, 2, 0, 0, 0]);
    }

    #[test]
    fn numbers_wrap_and_channels_count_for_themselves() {
        let mut gaps = Gaps::default();
        let mut on = |layer, sequence| gaps.on_packet(&Header { sequence, ..header(layer) });
        assert_eq!([on(0, u32::MAX), on(1, 40), on(0, 1), on(1, 41)], [0, 0, 1, 0]);
        assert_eq!(on(0, 5_000_000), 0);
    }

    #[test]
    fn packets_missed_after_a_leave_are_not_lost() {
        let mut gaps = Gaps::default();
        assert_eq!(gaps.on_packet(&header(0)), 0);
        gaps.forget(Channel(1));
        assert_eq!(gaps.on_packet(&Header { sequence: 99, ..header(0) }), 0);
    }
}
