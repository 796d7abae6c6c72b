//! Streams on real sockets: bytes without an end that is known beforehand, from one node to many.
//!
//! A stream has a session, and so a thread, of its own. What an application writes waits in a mailbox
//! until there is room in the stream's ring; what arrives waits in another until it is read.
//!
//! ```
//! use std::io::{Read as _, Write as _};
//! use fanfare_node::{Network, stream::{Expect, ReceiveOptions, SendOptions}};
//! # let port = 20_000 + std::process::id() % 20_000;
//! let network = Network::new(format!("norm://lo;239.255.42.9:{port}").parse()?);
//! let mut receiver = network.clone().receive_stream(ReceiveOptions::default())?;
//! let options = SendOptions { expect: Expect::Count(1), ..SendOptions::default() };
//! let mut sender = network.send_stream(options)?;
//! sender.write_all(b"hello, all")?;
//! let closing = std::thread::spawn(|| sender.finish());
//! let mut all = Vec::new();
//! receiver.read_to_end(&mut all)?;
//! assert_eq!(all, b"hello, all");
//! receiver.finish();
//! assert_eq!(closing.join().unwrap().whole(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Map, in reading order
//! - `options`: how a stream is sent and received; `report`: what it came to
//! - `sender`, `receiver`: the application's ends, `asynchronous`: with the traits of tokio;
//!   `framing`: messages in a stream; `messages`: those that arrive, `patchwork`: in any order
//! - `mailbox`, `delivery`: what the two threads share
//! - `sending`, `receiving`: what the driver drives; `writing`: from what was written to symbols,
//!   `lives`: how long that is of use;
//!   `audience`: who is waited for
//! - `receipt`: what ends say of a stream besides its bytes; `rings`: its memory

#[cfg(feature = "tokio")]
mod asynchronous;
mod audience;
mod delivery;
mod framing;
mod lives;
mod mailbox;
mod messages;
mod options;
mod patchwork;
mod receipt;
mod receiver;
mod receiving;
mod report;
mod rings;
mod sender;
mod sending;
mod writing;

pub use audience::Expect;
pub use fanfare_proto::StreamPolicy;
pub use framing::{Framing, FramingError};
pub use options::{Flush, ReceiveOptions, SendOptions, Start};
pub use receipt::Receipt;
pub use receiver::{Message, StreamGap, StreamReceiver};
pub use report::{Outcome, ReceiveReport, SendReport, SendStatus, StreamEvent};
pub use sender::StreamSender;
