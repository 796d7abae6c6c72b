//! Messages of groups, without I/O and without a group: what is published and how it is described,
//! what group nodes say to each other, and sums over several objects.
//!
//! # Map, in reading order
//! - [`topic`], [`description`]: what is published, and how it is described; [`batch`], [`batcher`]:
//!   short messages that travel together
//! - [`origin`]: a message's identity in every group; [`lru_map`]: what is remembered of it
//! - [`frames`]: what group nodes say to each other: `frame`, `nack` (a compact request),
//!   `compact_info` (a compact message), `bitmap`, `varint`, `slice` (who
//!   repairs what)
//! - [`coding`]: sums over several objects: `coded_packet`, `equations` and `linear_system`,
//!   `proactive` and `sum_cache`

pub mod batch;
pub mod batcher;
pub mod coding;
pub mod description;
pub mod frames;
pub mod lru_map;
pub mod origin;
pub mod topic;

pub use batch::Batch;
pub use batcher::Batcher;
pub use description::{ContentHash, Description, Options};
pub use origin::{Identity, Origin};
pub use topic::{Filter, Topic, TopicError};
