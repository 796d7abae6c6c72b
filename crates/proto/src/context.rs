//! What the session lends a state machine for the length of one call.

use crate::{event::EventQueue, rng::Rng, stats::Stats, storage::Storage, time::Time};

/// The present, chance, storage, and where to report.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) rng: &'a mut Rng,
    pub(crate) storage: &'a mut dyn Storage,
    pub(crate) events: &'a mut EventQueue,
    pub(crate) stats: &'a mut Stats,
}

/// Lends a session's parts; a macro, so that its machines stay free to be borrowed beside them.
macro_rules! context {
    ($session:ident, $storage:ident) => {
        $crate::context::Context {
            now: $session.now,
            rng: &mut $session.rng,
            storage: $storage,
            events: &mut $session.events,
            stats: &mut $session.stats,
        }
    };
}

pub(crate) use context;
