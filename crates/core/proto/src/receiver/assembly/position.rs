//! A sender's position in its own sequence of objects and blocks.
//!
//! Object ids wrap at 2^16 on the wire. Here they are extended to numbers that do not wrap, so that
//! positions have an order: an id stands for the number nearest to the newest object heard (serial
//! arithmetic, RFC 5740 4.2.1).

use fanfare_wire::{ObjectTransportId, SourceBlockNumber};

/// An object id that does not wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectIndex(pub(crate) u64);

impl ObjectIndex {
    /// The index of the first id heard. One turn of 2^16 is left below it for what came earlier.
    pub(crate) fn first(id: ObjectTransportId) -> Self {
        Self(0x1_0000 + u64::from(id.0))
    }
    /// The index of `id` that lies nearest to `self`.
    pub(crate) fn nearest(self, id: ObjectTransportId) -> Self {
        let distance = self.id().distance_to(id);
        Self(self.0.saturating_add_signed(i64::from(distance)))
    }
    /// As it travels.
    pub(crate) fn id(self) -> ObjectTransportId {
        ObjectTransportId((self.0 & 0xffff) as u16)
    }
    pub(crate) fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// A block of an object; repair is wanted only for what lies before the sender's position
/// (RFC 5740 5.3). A flush moves it behind the block that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Position {
    pub(crate) object: ObjectIndex,
    /// Blocks of `object` below this one lie before the position.
    pub(crate) block: u64,
}

impl Position {
    /// At the start of `block`.
    pub(crate) fn at(object: ObjectIndex, block: SourceBlockNumber) -> Self {
        Self { object, block: u64::from(block.0) }
    }
    /// Just behind `block`.
    pub(crate) fn after(object: ObjectIndex, block: SourceBlockNumber) -> Self {
        Self { object, block: u64::from(block.0) + 1 }
    }
}

/// The sender's position as last heard, and the furthest ever heard.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Track {
    present: Option<Position>,
    furthest: Option<Position>,
}

impl Track {
    /// The sender stands at `position`. True when that is another block than before.
    pub(crate) fn moved(&mut self, position: Position) -> bool {
        let boundary = self.present != Some(position);
        self.present = Some(position);
        self.furthest = self.furthest.max(self.present);
        boundary
    }
    /// Where it stands; a sender that repairs has gone back.
    pub(crate) fn present(&self) -> Option<Position> {
        self.present
    }
    /// How far it ever came.
    pub(crate) fn furthest(&self) -> Option<Position> {
        self.furthest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_extended_across_the_wrap_in_both_directions() {
        let last = ObjectIndex::first(ObjectTransportId(0xffff));
        let wrapped = last.nearest(ObjectTransportId(2));
        assert_eq!((wrapped.0 - last.0, wrapped.id()), (3, ObjectTransportId(2)));
        assert_eq!(wrapped.nearest(ObjectTransportId(0xffff)), last);
    }

    #[test]
    fn a_flush_lies_behind_its_block_and_before_the_next_object() {
        let object = ObjectIndex::first(ObjectTransportId(7));
        let block = SourceBlockNumber(u32::MAX);
        assert!(Position::at(object, block) < Position::after(object, block));
        assert!(Position::after(object, block) < Position::at(object.next(), SourceBlockNumber(0)));
    }

    #[test]
    fn a_rewind_moves_the_present_but_not_the_furthest() {
        let object = ObjectIndex::first(ObjectTransportId(0));
        let at = |block| Position::at(object, SourceBlockNumber(block));
        let mut track = Track::default();
        assert!(track.moved(at(5)) && !track.moved(at(5)) && track.moved(at(1)));
        assert_eq!((track.present(), track.furthest()), (Some(at(1)), Some(at(5))));
    }
}
