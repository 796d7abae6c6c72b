//! Groups that repair themselves, over the NORM protocol, without I/O: topics and messages,
//! subscriptions, and receivers that repair in place of a sender that cannot.
//!
//! A [`GroupNode`] wraps a [`fanfare_proto::Session`] and is driven in the same way: the driver
//! tells it what happened, and asks what it wants. Time, randomness and storage are arguments.
//!
//! # Map, in reading order
//! - [`message`]: [`topic`], [`description`], [`batch`], [`batcher`]; frames between nodes, and sums over
//!   several objects
//! - [`publisher`](PublishError): how a message becomes an object
//! - [`subscription`], `delivery`, `order`, `lru_map`: who gets a message, in which order, and what
//!   must be remembered for that
//! - [`cache`]: which objects of others are kept; `source_log`: the state of each object; `age`: how
//!   long ago messages were published
//! - `repair`: for a message of a silent origin: `requester` requests; `repairer` answers, by what
//!   `demand`, `outstanding` and `rank` say is missing, after `origin_timeout`, with what `slice` and
//!   `symbol_choice` select, within a `token_bucket`. `request_pool`: the same for many objects at
//!   once. `repair_round`: requests for a node's own messages
//! - `forwarding`: messages forwarded without a request: `relay`, `coverage`
//! - `membership`: `members`, `member`, `lost_members`, `node_set`, `delivery_ratio`, `state`,
//!   `trickle` and `flood` (announcements), `holders`, `former_ids`
//! - `fnv`: a short hash
//! - `occupancy`: how full the limited tables are
//! - [`node`]: dispatches to all of these, and has the few rules that concern several of them
//! - [`monitor`]: what nodes tell each other of themselves; `monitoring`: a [`monitor::Monitor`] in the node, if its configuration says so
//! - `origin`: a message's identity in every group; [`gateway`]: forwarding between groups
//!
//! # The guide
#![doc = include_str!("../guide.md")]
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod age;
pub mod cache;
pub mod config;
mod delivery;
pub mod event;
mod fnv;
mod forwarding;
pub mod gateway;
mod membership;
pub mod message;
pub mod monitor;
mod monitoring;
pub mod node;
mod occupancy;
mod order;
mod publisher;
mod repair;
mod source_log;
pub mod stats;
pub mod subscription;

pub use crate::message::{
    Batch, Batcher, ContentHash, Description, Filter, Identity, Options, Origin, Topic, TopicError,
    batch, batcher, description, frames::frame::frame_name, topic,
};
use crate::message::{coding, frames, lru_map, origin};
pub use cache::{CachePolicy, Cached, PriorityThenAge};
pub use config::GroupConfig;
pub use event::{Delivered, Event};
pub use gateway::{
    ForwardedMessage, Gateway, GatewayConfig, GatewayStats, GroupIndex, IncomingMessage, Route,
};
pub use membership::holders::Standing;
pub use node::{GroupNode, Published, Wake};
pub use occupancy::{DEADLINES_MAX, Load, OBJECTS_IN_VIEW, PUBLISHERS_MAX, SENDERS_IN_VIEW};
pub use publisher::PublishError;
pub use stats::GroupStats;
pub use subscription::{History, Ordering, Subscription, SubscriptionId};
