//! The NORM protocol (RFC 5740) as small state machines without I/O.
//!
//! A [`Session`] is one node's part in one group: it may send, receive, or both. It never reads a
//! clock, never draws its own chance, never touches a socket or a file. The driver tells it what
//! happened and drains what it wants:
//!
//! 1. [`Session::handle_datagram`] for each datagram, [`Session::handle_timeout`] when the time of
//!    [`Session::poll_timeout`] has come, or a command through [`Session::sender`] or
//!    [`Session::receiver`];
//! 2. then, until each gives `None`: [`Session::poll_transmit`] and
//!    [`Session::poll_event`];
//! 3. then wait until [`Session::poll_timeout`].
//!
//! Same configuration, seed and calls give the same output on every machine.
//!
//! # Map, in reading order
//! - [`time`], [`rate`], [`rng`], [`backoff`]: the units, and the one source of chance. [`types`] has them and
//!   the next two.
//! - [`config`], [`datagram`], [`enqueue`], [`event`], [`timer`], [`report`], [`stats`], [`storage`]:
//!   what goes in and what comes out.
//! - [`stream`]: objects without an end, their policies, and the rings that hold them.
//! - [`partition`]: how an object is cut into blocks and symbols. `explicit_repair`: which repairs are parity.
//! - `context`: a session's parts, lent to a machine.
//! - [`session`]: who gets a datagram, who speaks next. It holds no protocol rule. [`handle`]: the
//!   commands of the application; `stream_commands`, `peer_commands`: those about streams, and about
//!   receivers that help each other ([`peer_repair`]).
//! - `roles`: sender and receiver of a session begin and end one by one; `tuning`: settings that
//!   change while they run.
//! - [`sender`]: objects to send, repair, flush, watermark, squelch, GRTT, pacing: a file each.
//! - `receiver`: what this node knows of each remote sender: sync, objects, NACK, loss, ACK: a file
//!   each.
//! - [`congestion`]: what decides the rate.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod context;
pub mod handle;
mod id_conflict;
mod peer_commands;
mod receiver;
mod roles;
pub mod sender;
pub mod session;
mod stray_sources;
mod stream_commands;
mod tuning;
pub mod types;

pub use crate::types::{
    backoff, config, congestion, datagram, enqueue, event, partition, peer_repair, rate, report,
    rng, stats, storage, stream, tail_policy, time, timer, timer_queue,
};
use crate::types::{explicit_repair, fti, roll_call};

pub use config::{
    AckPolicy, FecConfig, FeedbackPath, FtiMode, JoinPolicy, Nacking, ReceiverConfig, SenderConfig,
    SessionConfig,
};
pub use congestion::CongestionControl;
pub use datagram::{Destination, Ecn, RecvMeta, Transmit};
pub use enqueue::{EnqueueError, FirstPass, NewObject, Turn};
pub use event::{AbortReason, Event, WatermarkOutcome};
pub use fanfare_fec::Matrix;
pub use fanfare_wire::{
    DataBatch, EncodingSymbolId, FecId, FieldSize, InstanceId, NodeId, ObjectTransportId,
    SourceBlockNumber,
};
pub use handle::{ReceiverHandle, SenderHandle};
pub use peer_repair::{
    AGE_TOLD_FROM, Combination, HeldBlock, Incarnation, Retransmission, SUM_SYMBOLS_MAX,
    SenderSummary,
};
pub use rate::Bitrate;
pub use receiver::{OnlyFrom, RunSet};
pub use report::{ReceiverReport, Reception};
pub use roll_call::RollCalls;
pub use session::Session;
pub use stats::{DropReason, Stats};
pub use storage::{MemoryStorage, ObjectKey, ObjectKind, Storage, StorageError};
pub use stream::{
    NewStream, StreamFlush, StreamPolicy, StreamProgress, StreamRead, StreamView, ring::SlotRing,
};
pub use tail_policy::TailPolicy;
pub use time::{Duration, Time};
pub use timer::Timer;
pub use timer_queue::TimerQueue;
