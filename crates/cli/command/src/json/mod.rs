//! Events as JSON, one object per line; the schema is docs/reference/json-events.md.
//!
//! - `line`: the lines, and what all commands tell; `sending`, `receiving`, `messages`, `pipes`,
//!   `keys`, `codes`: the shapes of each
//! - `filling`, `content`: how they are made of what a transfer or a member of a group tells; `hex`:
//!   bytes as digits
#![expect(
    missing_docs,
    reason = "fields have the names of docs/reference/json-events.md, which explains them"
)]

mod codes;
mod content;
mod filling;
mod hex;
mod keys;
mod line;
mod messages;
mod pipes;
mod receiving;
mod sending;

pub use codes::{CodeLine, MetLine};
pub use content::message_line;
pub use filling::Taken;
pub use hex::{bytes_of_hex, hex};
pub use keys::{IdLine, KeyLine, SignedLine, TrustLine, VerifiedLine};
pub use line::{Line, Reloaded, ResultLine, Start, StreamLine};
pub use messages::{
    Broker, Cancelled, CrossingLine, CrossingWay, Dropped, GatewayLine, Held, Lost, Member,
    MemberLine, MessageLine, Published, Sent, StatusLine, Subscribed, Unsubscribed, Way, WayLine,
    tag_text,
};
pub use pipes::{PipeLine, PipeReceiver};
pub use receiving::{
    Bound, Deleted, Deletion, Evicted, Failed, Gone, LayersLine, Mending, Object, PartLine,
    Resumed, Sender, Tree,
};
pub use sending::{Resuming, Sending, Waiting};
