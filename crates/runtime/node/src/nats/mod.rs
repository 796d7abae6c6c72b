//! A bridge between a group and NATS: what is published on one side comes to the other.
//!
//! # Map, in reading order
//! - [`Bridge`]: what is done with what is heard; [`BridgeEvent`]: what it tells
//! - `subject`: topics as subjects; `mark`: by what a message is known; `crossing`: what crosses
//! - `outbox`: what waits for NATS; `login`: how to come in; [`NatsError`]: why not
//! - `letter`: what is heard; `shared`: what both threads have
//! - `connection`: the thread that speaks to NATS; `consumer`: fetching from a stream
//!
//! The client is `async-nats`, in a thread of its own; the bridge itself waits in its caller's.

mod bridge;
mod connection;
mod consumer;
mod crossing;
mod error;
mod event;
mod letter;
mod login;
mod mark;
mod outbox;
mod shared;
mod subject;

pub use bridge::{Bridge, BridgeOptions};
pub use connection::StreamOptions;
pub use error::NatsError;
pub use event::{BridgeEvent, NatsCounts, Refusal};
pub use login::{Identity, Login, Secret, Servers, Tls};
pub use subject::{Pattern, SubjectError, Subjects};
