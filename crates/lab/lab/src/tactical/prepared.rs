//! The systems, ready.

use super::relay::Relay;
use crate::peer::{Tools, messaging::norm::Objects};

/// The systems, ready.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) tools: Tools,
    pub(super) version: String,
    pub(super) norm: Option<Objects>,
}

impl Prepared {
    pub(super) fn version(&self, relay: Relay) -> &str {
        match (relay, &self.norm) {
            (Relay::Norm, Some(norm)) => norm.version(),
            _ => &self.version,
        }
    }
}
