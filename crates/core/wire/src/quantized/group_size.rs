//! Group size in four bits (RFC 5740 4.2.1).

/// Group size in four bits: mantissa 1 or 5 and a power of ten, 10 to 5*10^8. Rounds up.
///
/// The low three bits are the power less one, the high bit chooses the mantissa 5. Bits above the
/// nibble are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GroupSize(pub u8);

impl GroupSize {
    /// The smallest wire value that is not below `receivers`; beyond 5*10^8 the greatest there is.
    #[must_use]
    pub fn from_receivers(receivers: u32) -> Self {
        let mut unit = 10_u32;
        for exponent in 0..8_u8 {
            if receivers <= unit {
                return Self(exponent);
            }
            if receivers <= 5 * unit {
                return Self(0x08 | exponent);
            }
            // The last round leaves 10^9, which still fits.
            unit *= 10;
        }
        Self(0x0f)
    }
    /// The number of receivers this nibble stands for.
    #[must_use]
    pub fn to_receivers(self) -> u32 {
        let mantissa = if self.0 & 0x08 == 0 { 1 } else { 5 };
        mantissa * 10_u32.pow(u32::from(self.0 & 0x07) + 1)
    }
}

impl core::fmt::Display for GroupSize {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", self.to_receivers())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nibble_decodes_and_encodes_to_itself() {
        for nibble in 0..16 {
            let size = GroupSize(nibble);
            assert_eq!(GroupSize::from_receivers(size.to_receivers()), size);
        }
    }

    #[test]
    fn quantising_rounds_up_and_stops_at_the_greatest() {
        assert_eq!(GroupSize::from_receivers(0).to_receivers(), 10);
        assert_eq!(GroupSize::from_receivers(11).to_receivers(), 50);
        assert_eq!(GroupSize::from_receivers(51).to_receivers(), 100);
        assert_eq!(GroupSize::from_receivers(1_000), GroupSize(2));
        assert_eq!(GroupSize::from_receivers(100_000_001).to_receivers(), 500_000_000);
        assert_eq!(GroupSize::from_receivers(u32::MAX).to_receivers(), 500_000_000);
    }
}
