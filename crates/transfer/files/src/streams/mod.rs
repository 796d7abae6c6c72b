//! Several sendings of one process that share a rate and memory.
//!
//! Each is a node with a thread of its own; what they share is behind one lock, which they take when
//! something changes, not for packets.
//!
//! - `shared`: what is behind the lock; `rates`: one rate for all; `pool`: one bound for what they hold
//!   in memory, `room`: a stream's part of it
//! - `stream`: what a driver does about it; `activity`: whether it has data to send

mod activity;
mod pool;
mod rates;
mod room;
mod shared;
mod stream;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

use fanfare_proto::Bitrate;

use crate::builder::TransferBuilder;
pub use pool::MemoryUse;
use pool::Pool;
use rates::Rates;
pub(crate) use room::Room;
use shared::{Bell, Shared, State};
pub(crate) use stream::{Stream, block_bytes};

/// What the sendings of one process share.
#[derive(Debug, Clone)]
pub struct Streams {
    shared: Arc<Shared>,
}

/// There is not enough memory for one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryShort {
    /// The bound of all together, bytes.
    pub bound: usize,
    /// What this one needs at least, beside the others.
    pub least: usize,
}

impl fmt::Display for MemoryShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bound, least } = self;
        write!(
            f,
            "memory ({bound} bytes): one more stream needs {least} beside the others. Give more"
        )
    }
}

impl std::error::Error for MemoryShort {}

impl Streams {
    /// They send `rate` together, unless each goes by its own, and hold at most `memory` bytes of
    /// what they have read ahead and computed.
    #[must_use]
    pub fn new(rate: Option<Bitrate>, memory: usize) -> Self {
        let rates = rate.map(|rate| Rates::new(rate.as_bps()));
        let state = State { rates, pool: Pool::new(memory), bells: BTreeMap::new(), next: 0 };
        Self { shared: Arc::new(Shared { state: Mutex::new(state) }) }
    }

    /// What is built by this sends as one of them: `weight` parts of rate and memory, no more than
    /// `most` of the rate. To be called when the builder's configuration is complete.
    ///
    /// # Errors
    /// When there is not enough memory for one more.
    pub fn add(
        &self,
        builder: TransferBuilder,
        weight: u32,
        most: Option<Bitrate>,
    ) -> Result<TransferBuilder, MemoryShort> {
        let least = builder.memory_least();
        Ok(builder.stream(self.join(weight, most, least)?))
    }

    fn join(
        &self,
        weight: u32,
        most: Option<Bitrate>,
        least: usize,
    ) -> Result<Stream, MemoryShort> {
        let mut state = self.shared.state();
        let id = state.next;
        if !state.pool.join(id, weight, least) {
            return Err(MemoryShort { bound: state.pool.used().bound, least });
        }
        if let Some(rates) = &mut state.rates {
            rates.join(id, weight, most.map(Bitrate::as_bps));
        }
        let bell = Bell::default();
        state.bells.insert(id, bell.clone());
        state.next += 1;
        state.ring(id);
        Ok(Stream::new(self.shared.clone(), id, bell.asked))
    }

    /// How much memory they hold and have held.
    #[must_use]
    pub fn memory(&self) -> MemoryUse {
        self.shared.state().pool.used()
    }
}
