//! A link between two nodes: one UDP port, one QUIC connection with pinned keys, and what both share.
//!
//! A [`Node`] has a key and a socket. A [`Link`] joins it to one other node, and outlives its
//! connections: it is dialled again when one is lost, and follows addresses that change. It carries
//! messages of four classes, streams and datagrams of an application, and beside them sealed NORM.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use fanfare_link::{Class, Node, NodeOptions, Options, Peer, Peers};
//! use fanfare_crypto::Identity;
//! let identity = std::sync::Arc::new(Identity::generate().ok_or("no randomness")?);
//! let node = Node::start(NodeOptions::new(identity, "[::]:0".parse()?))?;
//! let peer = Peer {
//!     name: "base".to_owned(),
//!     key: "ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a".parse()?,
//!     addresses: vec!["198.51.100.7:7001".parse()?],
//! };
//! let link = node.dial(peer);
//! link.send(Class::ReliableSequenced, b"here I am", Options::default())?;
//! let answer = link.recv().await;
//! # let _ = answer; Ok(()) }
//! ```
//!
//! # Map, in reading order
//! - [`Node`]: socket and key; [`Link`]: to one other node; [`Event`]: what happens to it
//! - [`identity`]: raw public keys, pinned; `hello`: whether two processes met before
//! - `association`: what outlives a connection, and what goes first; `control`: whether the other end
//!   answers, and where; [`liveness`]: quiet, heard, lost
//! - [`messages`]: classes, tags, deadlines; [`early`]: those that go with the first packet
//! - [`trains`]: how fast the narrowest link is
//! - [`demux`], [`socket`]: QUIC and sealed NORM on one port
//! - [`proxy`]: TCP over a link
//! - [`congestion`]: the rate of QUIC; [`varint`], [`clock`]: numbers and time

mod association;
pub mod clock;
pub mod congestion;
mod control;
mod copies;
pub mod demux;
pub mod early;
mod event;
mod hello;
pub mod identity;
mod kind;
mod link;
pub mod liveness;
mod lock;
pub mod messages;
mod node;
pub mod proxy;
pub mod socket;
pub mod trains;
pub mod varint;

pub use association::{Attached, ENDED};
pub use early::EarlyCounts;
pub use event::Event;
pub use fanfare_crypto as seal;
pub use hello::{Hello, Instance};
pub use identity::Peers;
pub use link::{Bulk, Link, Status};
pub use messages::{Class, Message, Options, SendError};
pub use node::{Node, NodeOptions, Peer, plain_address};
pub use quinn;
