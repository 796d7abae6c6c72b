//! Whether peers repair a part of an object in the sender's place.

/// Who asked may not hear them: what they sent in one round of requests is believed to have arrived, and in the next
/// round nothing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::sender) enum PeerRepair {
    #[default]
    No,
    Now,
    Before,
}

impl PeerRepair {
    /// A round of requests is to be answered.
    pub(in crate::sender) fn on_demand(&mut self) {
        *self = if *self == Self::Now { Self::Before } else { Self::No };
    }

    /// Another node was heard to send of the part: whether that is believed.
    pub(in crate::sender) fn on_repaired(&mut self) -> bool {
        if *self == Self::Before {
            return false;
        }
        *self = Self::Now;
        true
    }
}
