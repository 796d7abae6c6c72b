//! What one measurement gave.

use super::protocol::{Pattern, Protocol};

/// One measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct UnicastRow {
    pub(crate) protocol: Protocol,
    pub(crate) pattern: Pattern,
    pub(crate) loss: u32,
    pub(crate) repetition: u32,
    /// None when it was not whole.
    pub(crate) seconds: Option<f64>,
    pub(crate) version: String,
    pub(crate) why: String,
}

impl UnicastRow {
    /// In a line.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { protocol, loss, repetition, why, .. } = self;
        let pattern = self.pattern.name();
        let told = self.seconds.map_or_else(|| why.clone(), |seconds| format!("{seconds:.3} s"));
        format!("{protocol} {pattern} {loss} % #{repetition}: {told}")
    }

    /// Whether one of ours was not whole.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.seconds.is_none() && self.protocol == Protocol::Fanfare
    }

    pub(super) fn order(&self) -> (Protocol, Pattern, u32, u32) {
        (self.protocol, self.pattern, self.loss, self.repetition)
    }
}
