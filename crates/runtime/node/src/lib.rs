//! Nodes on real sockets: one thread each, an engine behind it, and groups that exchange messages.
//!
//! A node is a thread with sockets and a clock (`driver`) around an [`Engine`], which is a protocol
//! machine with its storage. This crate has the engine of groups. Files are transferred by another
//! one, in the crate `fanfare-files`.
//!
//! ```no_run
//! use fanfare_node::{Network, group::GroupOptions, messaging::{Filter, Subscription}};
//! let network = Network::new("239.255.42.9:6003".parse()?);
//! let member = network.join(GroupOptions::default())?;
//! member.subscribe(Subscription::new(Filter::new("weather/#")?))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Map, in reading order
//! - [`Network`]: where a node takes part and how it behaves there; [`JoinError`]: what stands
//!   against it; `opening`: its interface and sockets; `segment`: how long segments are
//! - [`group`]: topics and messages; [`gateway`]: between groups; [`bridge`]: to plain UDP multicast
//! - [`QueueRoom`], [`GroupWriter`], [`WayCounts`]: what bridges and gateways share
//! - [`stream`]: bytes without an end, written and read like a pipe's
//! - [`disk`]: names, placement and syncs; a simulated disk. [`serve`]: receivers of one unicast transfer pass it
//!   on to each other. `nats`: the bridge to NATS (a feature)
//! - [`engine`]: what a thread drives; [`driver`]: the thread; `clock`, `fanout`, `reach`, `waker`,
//!   `moderation`, `reading`, `outbox`, `outgoing`, `chance`, `test_drop`: its parts; `sealed`: between
//!   it and its sockets; `path_mtu`: datagrams that are too long for a path; `serving`: receivers that
//!   pass on to each other;
//!   [`Stopper`]: asks it to end

pub mod bridge;
mod chance;
mod clock;
pub mod disk;
pub mod driver;
pub mod engine;
mod fanout;
pub mod gateway;
pub mod group;
mod group_writer;
#[cfg(feature = "nats")]
pub mod nats;
pub mod serve;

mod join_error;
mod moderation;
mod network;
mod outbox;
mod outgoing;
mod path_mtu;
mod queue_room;
mod reach;
mod reading;
mod sealed;
pub mod segment;
mod serving;
mod stopper;
pub mod stream;
mod test_drop;
mod waker;
mod way_counts;

pub use crate::disk::directory::DirectoryError;
pub use chance::random;
pub use chance::random_id;
pub use clock::Clock;
pub use engine::Engine;
pub use fanfare_crypto as seal;
pub use fanfare_crypto::policy;
pub use fanfare_messaging as messaging;
pub use fanfare_messaging::monitor;
pub use fanfare_proto as proto;
pub use fanfare_udp::{
    GroupSpec, GroupSpecError, Interface, OpenError, has_only_ipv6, interfaces, is_private_host,
    scoped_host,
};
pub use fanfare_wire::FieldSize;
pub use group_writer::{GroupParcel, GroupWriter};
pub use join_error::JoinError;
pub use network::Network;
pub use outbox::Outbox;
pub use queue_room::{QueueLimit, QueuePlace, QueueRoom};
pub use sealed::{KeySource, Keys, Sealed};
pub use stopper::Stopper;
pub use waker::Waker;
pub use way_counts::WayCounts;
