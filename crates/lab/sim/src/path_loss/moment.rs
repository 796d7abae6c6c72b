//! The path loss of each pair of nodes over time.

use fanfare_proto::Duration;

/// No signal at all, in dB.
pub(super) const NOTHING: f32 = 999.0;

/// The path loss of each pair of nodes, in dB, from a time on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Moment {
    pub(crate) at: Duration,
    /// A row for each node that sends, a column for each that hears.
    pub(super) losses: Vec<f32>,
}

/// The path loss of each pair over time; from one moment to the next it stays.
#[derive(Debug, Clone, PartialEq)]
pub struct PathLoss {
    pub(super) nodes: usize,
    pub(super) moments: Vec<Moment>,
}

impl PathLoss {
    /// How many nodes it speaks of.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }
    pub(crate) fn moments(&self) -> &[Moment] {
        &self.moments
    }
    /// From one node to another, at a moment of it.
    pub(crate) fn between(&self, moment: &Moment, from: usize, to: usize) -> f32 {
        moment.losses[from * self.nodes + to]
    }
}
