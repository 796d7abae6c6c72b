//! Congestion marks carried in the two low bits of the IP traffic class.

use quinn_udp::EcnCodepoint;

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
    pub const fn bits(self) -> u8 {
        match self {
            Self::Ect1 => 0b01,
            Self::Ect0 => 0b10,
            Self::Ce => 0b11,
        }
    }
}

impl From<EcnCodepoint> for Ecn {
    fn from(codepoint: EcnCodepoint) -> Self {
        match codepoint {
            EcnCodepoint::Ect0 => Self::Ect0,
            EcnCodepoint::Ect1 => Self::Ect1,
            EcnCodepoint::Ce => Self::Ce,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_the_codepoint() {
        for (ecn, codepoint) in [
            (Ecn::Ect0, EcnCodepoint::Ect0),
            (Ecn::Ect1, EcnCodepoint::Ect1),
            (Ecn::Ce, EcnCodepoint::Ce),
        ] {
            assert_eq!(ecn.bits(), codepoint as u8);
            assert_eq!(Ecn::from(codepoint), ecn);
        }
    }
}
