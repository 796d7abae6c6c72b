//! One sender: from where it is heard, and how its messages are numbered on each side.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use fanfare_wire::header::SenderFields;

use crate::{
    side::{From, Side},
    turn::Turn,
};

/// A side on which a sender was silent for so long may be left for another, and a side that somebody else
/// serves is served again. Two probes of a slow sender.
pub(crate) const LEASE: Duration = Duration::from_secs(3);

/// One sender.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) instance: u16,
    /// The side that it is heard on, and when it was last.
    pub(crate) side: Side,
    pub(crate) from: From,
    pub(crate) heard: Duration,
    /// Its last sequence number.
    pub(crate) sequence: u16,
    /// Round trip of its group, by its own word.
    pub(crate) grtt: Duration,
    /// What is added to its numbers on each side: messages of the relay's own stand between, and some
    /// of its are left out.
    shifts: BTreeMap<Side, u16>,
    /// Who passes it on to a side.
    turns: BTreeMap<Side, Turn>,
    /// What its last message said of it, as a pattern for repairs; and the same as bytes.
    pub(crate) fields: SenderFields,
    pub(crate) header: [u8; 12],
}

impl Source {
    pub(crate) fn new(
        now: Duration,
        (side, from): (Side, From),
        (fields, header): (SenderFields, [u8; 12]),
    ) -> Self {
        Self {
            instance: fields.instance_id.0,
            side,
            from,
            heard: now,
            sequence: 0,
            grtt: Duration::from_millis(500),
            shifts: BTreeMap::new(),
            turns: BTreeMap::new(),
            fields,
            header,
        }
    }

    /// Whether what comes from there is this sender, and not a copy by another way.
    pub(crate) fn accepts(&mut self, now: Duration, side: Side, from: From) -> bool {
        let same = side == self.side && from.address.ip() == self.from.address.ip();
        if !same && now.saturating_sub(self.heard) < LEASE {
            return false;
        }
        (self.side, self.from, self.heard) = (side, from, now);
        true
    }

    /// It is heard from there now.
    pub(crate) fn move_to(&mut self, now: Duration, side: Side, from: From) {
        (self.side, self.from, self.heard) = (side, from, now);
    }

    /// The number of a message on this side.
    pub(crate) fn numbered(&mut self, side: Side, sequence: u16) -> u16 {
        sequence.wrapping_add(*self.shifts.entry(side).or_default())
    }

    /// A message of the relay's own comes behind the last one on this side; its number.
    pub(crate) fn insert(&mut self, side: Side) -> u16 {
        let shift = self.shifts.entry(side).or_default();
        *shift = shift.wrapping_add(1);
        self.sequence.wrapping_add(*shift)
    }

    /// A message of the sender's is left out on this side.
    pub(crate) fn leave_out(&mut self, side: Side) {
        let shift = self.shifts.entry(side).or_default();
        *shift = shift.wrapping_sub(1);
    }

    /// Who passes it on to this side.
    pub(crate) fn turn(&mut self, side: Side) -> &mut Turn {
        self.turns.entry(side).or_default()
    }

    /// The same for all sides of which it is known.
    pub(crate) fn turns(&mut self) -> impl Iterator<Item = &mut Turn> {
        self.turns.values_mut()
    }

    /// Whether it is passed on to any island from here.
    pub(crate) fn serves(&self) -> bool {
        let group = |(side, turn): (&Side, &Turn)| matches!(side, Side::Group(_)) && turn.is_own();
        self.turns.iter().any(group)
    }

    /// Whether somebody else passes it on to this side.
    pub(crate) fn is_served(&self, side: Side) -> bool {
        self.turns.get(&side).is_some_and(Turn::stands_by)
    }

    /// Where its feedback goes to.
    pub(crate) fn address(&self) -> SocketAddr {
        self.from.address
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(last: u8) -> From {
        From { address: SocketAddr::from(([10, 0, 0, last], 5)), group: 0, multicast: true }
    }

    fn fields() -> SenderFields {
        SenderFields {
            sequence: fanfare_wire::Sequence(0),
            source_id: fanfare_wire::NodeId(1),
            instance_id: fanfare_wire::InstanceId(0),
            grtt: fanfare_wire::QuantizedRtt(0),
            backoff: 4,
            gsize: fanfare_wire::GroupSize(0),
        }
    }

    #[test]
    fn a_sender_is_heard_on_one_side_until_it_is_silent_there() {
        let at = Duration::from_secs;
        let mut source = Source::new(at(0), (Side::Group(0), from(1)), (fields(), [0; 12]));
        assert!(source.accepts(at(1), Side::Group(0), from(1)));
        assert!(!source.accepts(at(2), Side::Peer(0), from(2)));
        assert!(source.accepts(at(5), Side::Peer(0), from(2)));
        assert!(!source.accepts(at(5), Side::Group(0), from(1)));
    }

    #[test]
    fn numbers_have_gaps_where_the_sender_has_and_nowhere_else() {
        let mut source = Source::new(Duration::ZERO, (Side::Single, from(1)), (fields(), [0; 12]));
        let side = Side::Group(0);
        let mut numbers = Vec::new();
        for sequence in [7, 8, 10] {
            source.sequence = sequence;
            numbers.push(source.numbered(side, sequence));
        }
        numbers.push(source.insert(side));
        source.sequence = 11;
        source.leave_out(side);
        source.sequence = 12;
        numbers.push(source.numbered(side, 12));
        assert_eq!(numbers, [7, 8, 10, 11, 12]);
    }
}
