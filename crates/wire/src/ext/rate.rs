//! EXT_RATE: the sender's present rate, which also asks for feedback (RFC 5740 4.2.3.4).

use crate::QuantizedRate;

/// Sender rate; its presence in CMD(CC) makes receivers answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtRate {
    /// Bytes per second.
    pub rate: QuantizedRate,
}
