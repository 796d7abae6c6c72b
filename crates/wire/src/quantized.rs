//! RTT, rate, group size and loss in the forms that travel (RFC 5740 4.2.1, 4.2.3.4; RFC 5401).
//!
//! Plain integers in and out (nanoseconds, bytes per second), so that no float leaks into callers.

/// RTT in one byte, logarithmic, about 1 us to 1000 s (RFC 5740 4.2.1). Quantising rounds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuantizedRtt(pub u8);

impl QuantizedRtt {
    /// The smallest wire value that is not below `nanos`.
    #[must_use]
    pub fn from_nanos(nanos: u64) -> Self {
        let _ = nanos;
        todo!()
    }
    /// The RTT this byte stands for, in nanoseconds.
    #[must_use]
    pub fn to_nanos(self) -> u64 {
        todo!()
    }
}

/// Group size in four bits: mantissa 1 or 5 and a power of ten, 10 to 5*10^8. Rounds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GroupSize(pub u8);

impl GroupSize {
    /// The smallest wire value that is not below `receivers`.
    #[must_use]
    pub fn from_receivers(receivers: u32) -> Self {
        let _ = receivers;
        todo!()
    }
    /// The number of receivers this nibble stands for.
    #[must_use]
    pub fn to_receivers(self) -> u32 {
        todo!()
    }
}

/// A rate in bytes per second: 12-bit mantissa, 4-bit power of ten (RFC 5740 4.2.3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QuantizedRate(pub u16);

impl QuantizedRate {
    /// Nearest wire value.
    #[must_use]
    pub fn from_bytes_per_second(rate: f64) -> Self {
        let _ = rate;
        todo!()
    }
    /// Bytes per second.
    #[must_use]
    pub fn to_bytes_per_second(self) -> f64 {
        todo!()
    }
}

/// Loss fraction: 16 bits in RFC 5740, 32 bits as NRL's code sends it (the low half travels in
/// EXT_CC's reserved field). Scaled so that `u32::MAX` is a loss of 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuantizedLoss(pub u32);

impl QuantizedLoss {
    /// From a fraction in 0..=1 (values outside are clamped).
    #[must_use]
    pub fn from_fraction(loss: f64) -> Self {
        let _ = loss;
        todo!()
    }
    /// As a fraction in 0..=1.
    #[must_use]
    pub fn to_fraction(self) -> f64 {
        todo!()
    }
}
