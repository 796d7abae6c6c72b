//! Groups that repair themselves, over the NORM protocol, without I/O: topics and messages,
//! subscriptions, and receivers that answer for a sender that cannot.
//!
//! A [`GroupNode`] wraps a [`fanfare_proto::Session`] and is driven as one: it is told what happened
//! and asked what it wants. Time, chance and storage come in as arguments.
//!
//! # Map, in reading order
//! - [`topic`], [`description`], [`publisher`](PublishError): what is published, and what it says of
//!   itself.
//! - [`subscription`], `delivery`, `order`, `recent`: who gets it, in which order, and what is remembered for that.
//! - [`cache`]: what of others' objects is kept; `source_log`: what has become of each.
//! - `age`: how long ago messages were published.
//! - `frame`: what group nodes say to each other; `demand`, `shortage`, `rank`, `patience`, `slice`, `budget`,
//!   `repairer`: answering for others; `asker`: asking them; `relay`, `prospect`: passing on what nobody asked for.
//! - `pool`, `mixture`, `equations`: the same across objects: who lacks what, sums of it, and what follows from them;
//!   `nack`: asking for it in few bytes; `terms`: sets of numbers in few bytes.
//! - `round`: who asks for which of a node's own short messages, and the sums that answer;
//!   `foresight`: what who hears nobody sends ahead of requests; `kept`: that of others, to be passed on.
//! - `state`, `trickle`, `members`, `member`, `lost`, `share`: saying what one holds, and who hears whom; `holders`: who else
//!   holds what one has published.
//! - `load`: how full is what has bounds.
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
mod asker;
mod brief;
mod budget;
pub mod cache;
pub mod config;
mod delivery;
mod demand;
pub mod description;
mod equations;
pub mod event;
mod foresight;
mod frame;
pub mod gateway;
mod holders;
mod kept;
mod load;
mod lost;
mod member;
mod members;
mod mixture;
mod nack;
pub mod node;
mod node_set;
mod order;
mod origin;
mod patience;
mod pool;
mod prospect;
mod publisher;
mod rank;
mod recent;
mod relay;
mod repairer;
mod round;
mod share;
mod shortage;
mod slice;
mod source_log;
mod state;
pub mod stats;
pub mod subscription;
mod system;
mod terms;
pub mod topic;
mod trickle;
mod varint;

pub use cache::{CachePolicy, Cached, PriorityThenAge};
pub use config::GroupConfig;
pub use description::{ContentHash, Description, Options};
pub use event::{Delivered, Event};
pub use frame::frame_name;
pub use gateway::{Crossing, Gateway, GatewayConfig, GatewayStats, Heard, Route, Side};
pub use holders::Standing;
pub use load::{DEADLINES_MAX, Load, OBJECTS_IN_VIEW, PUBLISHERS_MAX, SENDERS_IN_VIEW};
pub use node::{GroupNode, Published, Wake};
pub use origin::{Identity, Origin};
pub use publisher::PublishError;
pub use stats::GroupStats;
pub use subscription::{History, Ordering, Subscription, SubscriptionId};
pub use topic::{Filter, Topic, TopicError};
