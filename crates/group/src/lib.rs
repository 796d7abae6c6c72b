//! Groups that repair themselves, over the NORM protocol, without I/O: topics and messages,
//! subscriptions, and receivers that answer for a sender that cannot.
//!
//! A [`GroupNode`] wraps a [`fanfare_proto::Session`] and is driven as one: it is told what happened
//! and asked what it wants. Time, chance and storage come in as arguments.
//!
//! # Map, in reading order
//! - [`topic`], [`description`], [`publisher`](PublishError): what is published, and what it says of
//!   itself.
//! - [`subscription`], `delivery`, `order`, `lru_map`: who gets it, in which order, and what is remembered for that.
//! - [`cache`]: what of others' objects is kept; `source_log`: what has become of each.
//! - `age`: how long ago messages were published.
//! - `frame`: what group nodes say to each other; `demand`, `outstanding`, `rank`, `origin_timeout`, `slice`, `token_bucket`,
//!   `repairer`: answering for others; `requester`: asking them; `relay`, `coverage`: passing on what nobody asked for.
//! - `request_pool`, `coded_packet`, `equations`: the same across objects: who lacks what, sums of it, and what follows from them;
//!   `nack`: asking for it in few bytes; `bitmap`: sets of numbers in few bytes.
//! - `repair_round`: who asks for which of a node's own short messages, and the sums that answer;
//!   `proactive`: what who hears nobody sends ahead of requests; `sum_cache`: that of others, to be passed on.
//! - `state`, `trickle`, `members`, `member`, `lost_members`, `delivery_ratio`: saying what one holds, and who hears whom; `holders`: who else
//!   holds what one has published.
//! - `occupancy`: how full is what has bounds.
//! - [`node`]: all of it together: it dispatches, and has the few rules that concern several machines at once.
//! - `origin`: by what a message is known in every group; [`gateway`]: what crosses between groups.
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
