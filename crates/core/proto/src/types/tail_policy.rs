//! Receivers that are finished after the others: who counts as slow.

use crate::types::rate::Bitrate;

/// Choice of the receivers that are finished after the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TailPolicy {
    /// A receiver that gets less than this is slow. Without a rate: one that gets less than half of what
    /// the middle one of all receivers gets.
    pub min_rate: Option<Bitrate>,
}
