//! Why a datagram does not go any further.

use std::time::Duration;

use crate::key::KeyId;

/// Why a datagram is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It is not sealed.
    Clear,
    /// Cut off, or of a version that is not known here.
    Malformed,
    /// Sealed in the other form.
    Form,
    /// Sealed with a key that is not ours.
    OtherKey(KeyId),
    /// Its sender is not known yet: who it is comes with its next hello.
    Stranger,
    /// Its tag does not fit.
    Forged,
    /// It was here before, or is too old to tell.
    Replayed,
    /// A hello whose clock is so far from ours: perhaps an old one.
    Clock(Duration),
    /// We have sent it ourselves.
    Own,
}
