//! A relay joins islands between which there is no multicast: it hears the senders of one side, and
//! passes what they say on to the groups and relays of the other sides.
//!
//! It keeps a sender's node id, instance and objects as they are, so that hashes, receipts and
//! signatures stay true from end to end. What it changes is the sequence number of a message, as
//! repairs of its own stand between.
//!
//! - What comes is passed on at once, and kept. Members that have lost something get it from there.
//! - What the relay lacks too is asked for once, however many of its members ask.
//! - Acknowledgements, and the receipts in them, go back unaltered.
//! - Of each sender it listens to one side only, the first. So nothing goes in circles.
//!
//! # Map, in reading order
//! - [`Config`], [`Event`], [`Counts`]: how it is set up, and what it tells
//! - [`Side`]: where messages come from and go to
//! - [`Relay`]: the machine, without clock or sockets; in it `routing`: by which way a sender is heard, and
//!   to which sides it goes on; `feedback`: what receivers say, on its way to the sender
//! - `source`: one sender, and from where it is heard; `turn`: which of several relays in an island
//!   passes it on
//! - `object`: what is kept of an object; `cache`: of all, within a limit;
//!   `intake`: messages on their way into it, and out again
//! - `demand`: what a request comes to; `ledger`: repairs on their way, and their rate
//! - `layers`: layered sessions, and which of their groups are joined
//! - `hello`: what relays tell each other; `neighbours`: those that are heard; `outbox`: what waits to go
//! - [`daemon`]: a relay on real sockets

mod cache;
mod config;
pub mod daemon;
mod demand;
mod hello;
mod intake;
mod layers;
mod ledger;
mod neighbours;
mod object;
mod outbox;
mod relay;
mod side;
mod source;
mod turn;

pub use config::{Config, Counts, Event, Outgoing};
pub use layers::Membership;
pub use relay::Relay;
pub use side::{From, Side, To};
