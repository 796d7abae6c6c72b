//! Groups that repair themselves, over the NORM protocol, without I/O: topics and messages,
//! subscriptions, and receivers that repair in place of a sender that cannot.
//!
//! A [`GroupNode`] wraps a [`fanfare_proto::Session`] and is driven in the same way: the driver
//! tells it what happened, and asks what it wants. Time, randomness and storage are arguments.
//!
//! # Map, in reading order
//! - [`topic`], [`description`], [`publisher`](PublishError): what is published, and how it is
//!   described
//! - [`subscription`], `delivery`, `order`, `lru_map`: who gets a message, in which order, and what
//!   must be remembered for that
//! - [`cache`]: which objects of others are kept; `source_log`: the state of each object
//! - `age`: how long ago messages were published
//! - `frame`: frames between group nodes; `demand`, `outstanding`, `rank`, `origin_timeout`,
//!   `slice`, `symbol_choice`, `token_bucket`, `repairer`: repairing for others; `requester`: requesting from
//!   others; `relay`, `coverage`: forwarding without a request
//! - `request_pool`, `coded_packet`, `equations`: the same across objects: who lacks what, sums of
//!   it, and what can be solved from them; `nack`: compact requests; `bitmap`: compact sets of
//!   numbers
//! - `repair_round`: who requests which of a node's own short messages, and the sums that answer;
//!   `proactive`: sums that a publisher sends without a request when it hears nobody; `sum_cache`:
//!   such sums of others, kept for forwarding
//! - `state`, `trickle`, `members`, `member`, `lost_members`, `delivery_ratio`: announcing what a
//!   node has, and who hears whom; `holders`: who else has what this node published
//! - `occupancy`: how full the limited tables are
//! - [`node`]: dispatches to all of these, and has the few rules that concern several of them
//! - `origin`: a message's identity in every group; [`gateway`]: forwarding between groups
//!
//! # The guide
#![doc = include_str!("../../../docs/explanation/groups.md")]
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod age;
mod bitmap;
pub mod cache;
mod coded_packet;
mod compact_info;
pub mod config;
mod coverage;
mod delivery;
mod delivery_ratio;
mod demand;
pub mod description;
mod equations;
pub mod event;
mod frame;
pub mod gateway;
mod holders;
mod linear_system;
mod lost_members;
mod lru_map;
mod member;
mod members;
mod nack;
pub mod node;
mod node_set;
mod occupancy;
mod order;
mod origin;
mod origin_timeout;
mod outstanding;
mod proactive;
mod publisher;
mod rank;
mod relay;
mod repair_round;
mod repairer;
mod request_pool;
mod requester;
mod slice;
mod source_log;
mod state;
pub mod stats;
pub mod subscription;
mod sum_cache;
mod symbol_choice;
mod token_bucket;
pub mod topic;
mod trickle;
mod varint;

pub use cache::{CachePolicy, Cached, PriorityThenAge};
pub use config::GroupConfig;
pub use description::{ContentHash, Description, Options};
pub use event::{Delivered, Event};
pub use frame::frame_name;
pub use gateway::{
    ForwardedMessage, Gateway, GatewayConfig, GatewayStats, GroupIndex, IncomingMessage, Route,
};
pub use holders::Standing;
pub use node::{GroupNode, Published, Wake};
pub use occupancy::{DEADLINES_MAX, Load, OBJECTS_IN_VIEW, PUBLISHERS_MAX, SENDERS_IN_VIEW};
pub use origin::{Identity, Origin};
pub use publisher::PublishError;
pub use stats::GroupStats;
pub use subscription::{History, Ordering, Subscription, SubscriptionId};
pub use topic::{Filter, Topic, TopicError};
