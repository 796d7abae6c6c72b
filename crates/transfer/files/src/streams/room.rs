//! Memory that a stream may hold, of what all have together.

use std::{num::NonZeroUsize, sync::Arc};

use super::shared::Shared;

/// Where a stream takes memory from, and gives it back to.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    shared: Arc<Shared>,
    id: usize,
}

impl Room {
    pub(super) fn new(shared: Arc<Shared>, id: usize) -> Self {
        Self { shared, id }
    }

    /// Whether so much more may be held.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let mut state = self.shared.state();
        let granted = state.pool.take(self.id, bytes);
        if !granted {
            state.ring(self.id);
        }
        granted
    }

    pub(crate) fn give(&self, bytes: usize) {
        if let Some(bytes) = NonZeroUsize::new(bytes) {
            self.shared.state().pool.give(self.id, bytes.get());
        }
    }
}
