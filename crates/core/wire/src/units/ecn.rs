//! Congestion marks in the IP header.

/// An ECN codepoint other than "not capable" (RFC 3168 section 5), which is `None` of this type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// ECT(0), binary 10: the sender reacts to marks.
    Ect0,
    /// ECT(1), binary 01: the sender reacts to marks; used by L4S (RFC 9331).
    Ect1,
    /// CE, binary 11: a router met congestion.
    Ce,
}

impl Ecn {
    /// The two bits as they stand in the traffic class.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::Ect1 => 0b01,
            Self::Ect0 => 0b10,
            Self::Ce => 0b11,
        }
    }
}
