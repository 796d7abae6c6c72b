//! Lends a session's parts to a machine for the length of one call.

pub(crate) use crate::types::context::Context;

/// A macro, so that the session's machines stay free to be borrowed beside them.
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
