//! Congestion marks as `quinn-udp` names them.

use fanfare_wire::units::Ecn;
use quinn_udp::EcnCodepoint;

/// The mark of a datagram that arrived.
pub(crate) const fn mark_of(codepoint: EcnCodepoint) -> Ecn {
    match codepoint {
        EcnCodepoint::Ect0 => Ecn::Ect0,
        EcnCodepoint::Ect1 => Ecn::Ect1,
        EcnCodepoint::Ce => Ecn::Ce,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_the_codepoint() {
        for codepoint in [EcnCodepoint::Ect0, EcnCodepoint::Ect1, EcnCodepoint::Ce] {
            assert_eq!(mark_of(codepoint).bits(), codepoint as u8);
        }
    }
}
