//! A question after the round trip.

/// What a receiver asks the sender, by unicast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RttRequest {
    /// Who asks.
    pub receiver: u32,
    /// Its clock, microseconds; wraps.
    pub asked: u32,
}

impl RttRequest {
    /// The type of the NORM_ACK in which it travels: RFC 5740 4.3.2 leaves 16 to 255 to applications,
    /// and ours has 16 and 17 otherwise.
    pub const ACK_TYPE: u8 = 18;

    /// Its bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 8] {
        (u64::from(self.receiver) << 32 | u64::from(self.asked)).to_be_bytes()
    }
    /// The reverse; `None` when there are too few.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let both = u64::from_be_bytes(*bytes.first_chunk()?);
        Some(Self { receiver: (both >> 32) as u32, asked: both as u32 })
    }
}
