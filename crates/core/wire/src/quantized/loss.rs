//! Loss fraction in 32 bits (RFC 5740 4.2.3.5 has the high half of it).

/// Loss fraction: 16 bits in RFC 5740, 32 bits as NRL's code sends it (the low half travels in
/// EXT_CC's reserved field). Scaled so that `u32::MAX` is a loss of 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuantizedLoss(pub u32);

impl QuantizedLoss {
    /// From a fraction in 0..=1 (values outside are clamped, NaN is 0). Nearest value.
    #[must_use]
    pub fn from_fraction(loss: f64) -> Self {
        // The cast saturates at both ends and makes NaN 0.
        Self((loss * f64::from(u32::MAX) + 0.5) as u32)
    }
    /// As a fraction in 0..=1.
    #[must_use]
    pub fn to_fraction(self) -> f64 {
        f64::from(self.0) / f64::from(u32::MAX)
    }
}

impl core::fmt::Display for QuantizedLoss {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:.4}%", self.to_fraction() * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_decodes_and_encodes_to_itself() {
        for step in 0..=65_535_u32 {
            let loss = QuantizedLoss(step.wrapping_mul(65_537));
            assert_eq!(QuantizedLoss::from_fraction(loss.to_fraction()), loss);
        }
    }

    #[test]
    fn fractions_outside_are_clamped() {
        assert_eq!(QuantizedLoss::from_fraction(-0.5), QuantizedLoss(0));
        assert_eq!(QuantizedLoss::from_fraction(1.5), QuantizedLoss(u32::MAX));
        assert_eq!(QuantizedLoss::from_fraction(f64::NAN), QuantizedLoss(0));
    }
}
