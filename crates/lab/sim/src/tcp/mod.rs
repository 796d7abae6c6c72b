//! TCP flows as traffic to compete with: the two ends of a bulk transfer as sans-I/O machines.
//!
//! # Map, in reading order
//! - [`Config`]: what a flow is set to; [`Segment`]: what travels.
//! - [`Sender`]: dispatches an ACK to `scoreboard` (what of it is known), `rto` (round trips and the
//!   timer), `rack` or `duplicate_acks` (what is lost), `recovery` (how the window shrinks) and
//!   `window` (how it grows: slow start with `hystart`, then `reno` or `cubic`).
//! - [`Receiver`]: order, delayed ACKs, SACK, ECN echo.
//! - [`Pipe`]: some flows over one [`Bottleneck`].
//!
//! How near that comes to a kernel's TCP is measured in `results/tcp-model.md`. Left out are the
//! handshake and the end of a connection, flow control beyond a fixed window, F-RTO, DSACK and
//! pacing.

mod bottleneck;
mod config;
mod cubic;
mod duplicate_acks;
mod hystart;
mod pipe;
mod rack;
mod receiver;
mod recovery;
mod reno;
mod rto;
mod scoreboard;
mod segment;
mod sender;
#[cfg(test)]
mod tests;
mod window;

pub use bottleneck::{Bottleneck, Departure};
pub use config::{Algorithm, Config, LossDetection};
pub use pipe::{Flow, Pipe};
pub use receiver::{Receiver, ReceiverStats};
pub use segment::{MAX_SACK_RANGES, Sack, SackRange, Segment};
pub use sender::{Sender, SenderStats, Source};
