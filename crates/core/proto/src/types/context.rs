//! What the session lends a state machine for the length of one call.

use crate::types::{event::EventQueue, rng::Rng, stats::Stats, storage::Storage, time::Time};

/// The present, chance, storage, and where to report.
#[allow(missing_debug_implementations, reason = "storage is whatever the driver lends")]
pub struct Context<'a> {
    /// The present.
    pub now: Time,
    /// Chance.
    pub rng: &'a mut Rng,
    /// Where the bytes of objects are.
    pub storage: &'a mut dyn Storage,
    /// Where to report what happened.
    pub events: &'a mut EventQueue,
    /// Where to count.
    pub stats: &'a mut Stats,
}
