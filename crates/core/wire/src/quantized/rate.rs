//! Rate in sixteen bits (RFC 5740 4.2.3.4).

/// A rate in bytes per second: 12-bit mantissa, 4-bit power of ten (RFC 5740 4.2.3.4).
///
/// The value is `mantissa * 10 / 4096 * 10^exponent`; the mantissa stands in the high bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QuantizedRate(pub u16);

/// Greatest mantissa. A rate just below a power of ten would round to 4096, which twelve bits
/// cannot hold (NRL's code then sends a mantissa of 0).
const MANTISSA_MAX: f64 = 4095.0;

/// Powers of ten that the exponent can name; all exact as `f64`.
const POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

impl QuantizedRate {
    /// What NRL's code sends for "no rate": mantissa 0, exponent 1.
    pub const ZERO: Self = Self(0x0001);

    /// Nearest wire value; [`Self::ZERO`] for zero, negative rates and NaN. The greatest is just
    /// below 10^16.
    #[must_use]
    pub fn from_bytes_per_second(rate: f64) -> Self {
        if rate.is_nan() || rate <= 0.0 {
            return Self::ZERO;
        }
        let exponent = POWERS.iter().rposition(|&power| power <= rate).unwrap_or(0);
        let mantissa = 4096.0 / 10.0 * (rate / POWERS[exponent]) + 0.5;
        Self((mantissa.min(MANTISSA_MAX) as u16) << 4 | exponent as u16)
    }
    /// Bytes per second.
    #[must_use]
    pub fn to_bytes_per_second(self) -> f64 {
        f64::from(self.0 >> 4) * 10.0 / 4096.0 * POWERS[usize::from(self.0 & 0x0f)]
    }
}

impl core::fmt::Display for QuantizedRate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let rate = self.to_bytes_per_second();
        if rate < 10_000.0 { write!(f, "{rate:.0}B/s") } else { write!(f, "{:.0}kB/s", rate / 1e3) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_normal_value_decodes_and_encodes_to_itself() {
        // Normal: the mantissa says at least 1, so that no other exponent says it better.
        for raw in 0..=u16::MAX {
            if raw >> 4 >= 410 {
                let rate = QuantizedRate(raw);
                assert_eq!(QuantizedRate::from_bytes_per_second(rate.to_bytes_per_second()), rate);
            }
        }
    }

    #[test]
    fn a_value_with_a_small_mantissa_keeps_its_meaning() {
        for raw in 0..=u16::MAX {
            let value = QuantizedRate(raw).to_bytes_per_second();
            let again = QuantizedRate::from_bytes_per_second(value).to_bytes_per_second();
            assert!((value - again).abs() <= value * 1e-15, "{raw:04x}: {value} {again}");
        }
    }

    #[test]
    fn the_nearest_value_is_within_an_eighth_of_a_percent() {
        let mut rate = 1.0_f64;
        while rate < 9e15 {
            let wire = QuantizedRate::from_bytes_per_second(rate).to_bytes_per_second();
            assert!((wire - rate).abs() <= rate * 0.00125, "{rate} became {wire}");
            rate *= 1.0137;
        }
    }

    #[test]
    fn a_rate_just_below_a_power_of_ten_does_not_lose_its_mantissa() {
        assert_eq!(QuantizedRate::from_bytes_per_second(999.99), QuantizedRate(0xfff2));
        assert_eq!(QuantizedRate::from_bytes_per_second(1000.0), QuantizedRate(0x19a3));
    }

    #[test]
    fn no_rate_is_sent_as_the_reference_sends_it() {
        for rate in [0.0, -1.0, f64::NAN] {
            assert_eq!(QuantizedRate::from_bytes_per_second(rate), QuantizedRate(1));
        }
        assert_eq!(QuantizedRate::from_bytes_per_second(f64::INFINITY), QuantizedRate(0xffff));
    }
}
