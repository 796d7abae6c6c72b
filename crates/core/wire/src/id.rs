//! The numbers that name nodes, objects, blocks and symbols (RFC 5740 4.1, 4.2; RFC 5052).
//!
//! Numbers that wrap have no `Ord`: they compare by serial arithmetic with `precedes`.

/// A participant of a session (RFC 5740 4.1 `source_id`). Chosen at random by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// NORM_NODE_NONE: names nobody.
    pub const NONE: Self = Self(0);
    /// NORM_NODE_ANY: names everybody.
    pub const ANY: Self = Self(0xffff_ffff);
}

/// One life of a sender; a new value says that all earlier state of that sender is void.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(pub u16);

/// A transport object of one sender (RFC 5740 4.2.1). Wraps at 2^16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObjectTransportId(pub u16);

/// Per-session message counter of a sender, used to measure loss. Wraps at 2^16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sequence(pub u16);

macro_rules! serial16 {
    ($type:ty) => {
        impl $type {
            /// True when `self` comes before `other` in 16-bit serial arithmetic (RFC 1982).
            #[must_use]
            pub const fn precedes(self, other: Self) -> bool {
                self.distance_to(other) > 0
            }
            /// Steps from `self` forward to `other`; negative when `other` lies behind.
            #[must_use]
            pub const fn distance_to(self, other: Self) -> i32 {
                other.0.wrapping_sub(self.0).cast_signed() as i32
            }
            /// The value `steps` further on.
            #[must_use]
            pub const fn plus(self, steps: u16) -> Self {
                Self(self.0.wrapping_add(steps))
            }
            /// The value `steps` earlier.
            #[must_use]
            pub const fn minus(self, steps: u16) -> Self {
                Self(self.0.wrapping_sub(steps))
            }
            /// The next value.
            #[must_use]
            pub const fn next(self) -> Self {
                self.plus(1)
            }
        }
    };
}
serial16!(ObjectTransportId);
serial16!(Sequence);

/// A source block within an object (RFC 5052). Data and file objects never wrap it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceBlockNumber(pub u32);

/// A symbol within a block: below the block's source length a source symbol, else parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EncodingSymbolId(pub u16);

macro_rules! display {
    ($($type:ty, $format:literal;)*) => {$(
        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, $format, self.0)
            }
        }
    )*};
}
display! {
    NodeId, "{:08x}";
    InstanceId, "{:04x}";
    ObjectTransportId, "{}";
    Sequence, "{}";
    SourceBlockNumber, "{}";
    EncodingSymbolId, "{}";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_wrap_compare_by_the_shorter_way_round() {
        let (last, first) = (Sequence(0xffff), Sequence(0));
        assert!(last.precedes(first) && !first.precedes(last));
        assert_eq!((last.distance_to(first), first.distance_to(last)), (1, -1));
        assert_eq!(last.next(), first);
        assert_eq!(first.minus(1), last);
        assert!(!first.precedes(first));
    }

    #[test]
    fn half_way_round_neither_precedes() {
        let (a, b) = (ObjectTransportId(0), ObjectTransportId(0x8000));
        assert!(!a.precedes(b) && !b.precedes(a));
        assert!(a.precedes(ObjectTransportId(0x7fff)));
    }
}
