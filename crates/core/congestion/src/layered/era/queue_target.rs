//! How long a queue the controller wants, and how long a queue it must see before it lowers the
//! rate.

/// Least wait that is wanted, seconds: below, a scheduler's delays are a queue.
pub(super) const WANTED_LEAST: f64 = 0.01;

/// What goes with the layers that there are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct QueueTarget {
    /// Packets of its own that a session wants to wait in the queue: so all have an equal share there.
    pub(super) wanted_packets: f64,
    /// They wait so long at most, seconds.
    pub(super) wanted_most: f64,
    /// Packets that a glance needs: a slope through fewer is noise.
    pub(super) sample_packets: f64,
    /// What is left of the rate at least when it comes down at once.
    pub(super) cut_least: f64,
}

impl QueueTarget {
    /// The thesis' networks: small packets, layers alike.
    pub(super) const FEW_LAYERS: Self =
        Self { wanted_packets: 4.0, wanted_most: 0.08, sample_packets: 12.0, cut_least: 0.25 };
    /// Files: full packets, and dozens of layers of many rates, which make a queue come and go by
    /// chance.
    pub(super) const MANY_LAYERS: Self =
        Self { wanted_packets: 8.0, wanted_most: 0.2, sample_packets: 24.0, cut_least: 0.7 };
}
