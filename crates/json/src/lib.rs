//! Events as JSON, one object per line; the schema is docs/reference/json-events.md.
//!
//! `line`: the lines, and what all commands tell; `sending`, `receiving`, `messages`, `pipes`: the shapes of each;
//! `filling`, `content`: how they are made of what the node tells.

mod content;
mod filling;
mod keys;
mod line;
mod messages;
mod pipes;
mod receiving;
mod sending;

pub(crate) use content::message_line;
pub(crate) use filling::{Taken, hex};
pub(crate) use keys::{IdLine, KeyLine, SignedLine, TrustLine, VerifiedLine, bytes_of_hex};
pub(crate) use line::{Line, Reloaded, Start, StreamLine};
#[cfg(feature = "nats")]
pub(crate) use messages::Broker;
pub(crate) use messages::{
    Cancelled, Dropped, GatewayLine, Held, Lost, Member, MemberLine, MessageLine, Published, Sent,
    StatusLine, Subscribed, Unsubscribed, Way, WayLine, tag_text,
};
pub(crate) use pipes::{PipeLine, PipeReceiver};
pub(crate) use receiving::{
    Bound, Deleted, Deletion, Evicted, Failed, Gone, LayersLine, Mending, Object, PartLine,
    Resumed, Sender, Tree,
};
pub(crate) use sending::{Resuming, Sending, Waiting};
