//! What goes into a session and what comes out of it, and what its two halves share.
//!
//! # Map, in reading order
//! - [`time`], [`rate`], [`rng`], [`backoff`]: the units, and the one source of chance.
//! - [`config`], [`datagram`], [`enqueue`], [`event`], [`timer`], [`report`], [`stats`], [`storage`]:
//!   what goes in and what comes out. [`storage_error`]: why a storage refuses.
//! - [`stream`]: objects without an end, their policies, and the rings that hold them.
//! - [`partition`]: how an object is cut into blocks and symbols; [`fti`]: how that is told.
//!   [`explicit_repair`]: which repairs are parity.
//! - [`roll_call`]: how receivers are asked for their names; [`peer_repair`]: what receivers that help
//!   each other say.
//! - [`context`]: what a session lends a machine for one call.

pub mod backoff;
pub mod config;
pub mod context;
pub mod datagram;
pub mod enqueue;
pub mod event;
pub mod explicit_repair;
pub mod fti;
pub mod partition;
pub mod peer_repair;
pub mod report;
pub mod roll_call;
pub mod stats;
pub mod storage;
pub mod storage_error;
pub mod stream;
pub mod tail_policy;
pub mod timer;

pub use fanfare_congestion as congestion;
pub use fanfare_wire::units::{rate, rng, time, timer_queue};
