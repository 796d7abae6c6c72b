//! Receivers of one unicast transfer pass it on to each other, so that a sender with a thin uplink sends
//! the file about once, whatever their number.
//!
//! The sender cuts its stream of symbols into runs, as short as the links ask for, and gives each run to
//! one of the receivers. That one passes it on to all others. So each link carries the file about once in
//! either direction. What is lost on any way is asked for from the sender, as always, and the repair goes
//! by another receiver. What is wrong shows by its hash, and [`Blame`] finds who has passed it on.
//!
//! Nobody is passed anything who has not asked for it, and shown that it is at its address.
//!
//! # Map, in reading order
//! - [`Message`]: what they tell each other; [`peek`]: what is read of a NORM message.
//! - [`Source`]: the sender's side: who gets a run, and who gets copies.
//! - [`Member`]: a receiver's side: whom it asks, whom it serves. A [`Circle`](member) for each sender.
//! - [`Caller`]: hosts that were named, or do not hear a group, are found by calls; `budget`: what that may
//!   take of the rate; `ear` and [`CallGreeter`]: a receiver's answer, if it has joined the session
//!   ([`SessionName`]); `knock`: it asks first, where no call reaches it.
//! - [`Order`]: what comes by many ways is put in order again; `delays`: what of its delay is a queue.
//! - [`Blame`]: who has passed on wrong bytes; `passing`: runs on their way to others.
//!
//! All are machines without clock, sockets or chance of their own.

mod blame;
mod budget;
mod caller;
mod cookie;
mod delays;
mod door;
mod ear;
mod greeter;
mod knock;
pub mod member;
mod message;
mod order;
mod passing;
pub mod peek;
mod source;

pub use blame::{Blame, Chunk};
pub use caller::{Caller, FoundHost};
pub use door::SocketDoor;
pub use ear::{AdmittedPath, JoinedSession};
pub use greeter::{CallGreeter, MemberReply};
pub use member::{Accusation, IncomingRun, Member, Settings, Way};
pub use message::{HOSTS_MAX, Message, Roster, SessionName, Set, Status};
pub use order::{Arrival, Held, Order};
pub use source::{News, Source};
