//! Fanfare for applications: files to many machines, and a receipt from each.
//!
//! A [`Node`] takes part in one group, as sender, receiver or both. It has one thread for protocol
//! and sockets and, when it receives, one that hashes and syncs. Files are acknowledged when they
//! are whole, verified, on disk and under their final name; not before.
//!
//! ```
//! use fanfare_node::{Node, ReceiveOptions, SendOptions, Sources};
//! # let inbox = std::env::temp_dir().join(format!("fanfare-doc-{}", std::process::id()));
//! # let outbox = inbox.with_extension("out");
//! # std::fs::create_dir_all(&inbox)?;
//! # std::fs::create_dir_all(&outbox)?;
//! # let hello = outbox.join("hello.txt");
//! # std::fs::write(&hello, "hello, all")?;
//! # let port = 20_000 + std::process::id() % 20_000;
//! let group: fanfare_node::GroupSpec = format!("norm://lo;239.255.42.9:{port}").parse()?;
//! let receiver =
//!     Node::builder().group(group.clone()).receive(&inbox, ReceiveOptions::default()).build()?;
//! let files = Sources::gather(&[hello], "stdin", &mut |_| {})?;
//! let sender = Node::builder().group(group).send(files, SendOptions::default()).build()?;
//! let report = sender.finish().sent.unwrap();
//! assert_eq!(report.complete(), 1);
//! assert_eq!(std::fs::read(inbox.join("hello.txt"))?, b"hello, all");
//! # drop(receiver);
//! # std::fs::remove_dir_all(&inbox)?;
//! # std::fs::remove_dir_all(&outbox)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Map, in reading order
//! - [`Node`], [`NodeBuilder`]: built, watched, stopped; [`event`]: what it tells.
//! - [`source`]: files to be sent, found by `gatherer` and `walk`; `send`: from the roll call to the
//!   receipts.
//! - `listing`: what directories hold, and what receivers may remove for it;
//!   `pack`: many small files as one object; `placement`: where a file of the same name is already.
//! - [`name`], [`announcement`], [`receipt`]: what travels besides the bytes.
//! - `receive`, `verify`, `directory`: from an announcement to a file on disk; `ledger`, `root_set`:
//!   what is known to be there already, and telling senders of it.
//! - `streams`: several sendings of a process that share a rate and memory.
//! - `layered`: a file over layers, each receiver at its own rate.
//! - `disk`: what receiving asks of a file system, and a simulated one that loses power.
//! - [`group`]: topics and messages instead of files; [`gateway`]: between groups; [`bridge`]: to plain UDP
//!   multicast.
//! - `segment`: how long segments are; `file_storage`: objects in files; `driver`: the thread, whatever engine it
//!   drives: `transfer`; `clock`, `waker`, `moderation`, `outbox`: its parts.

pub mod announcement;
pub mod bridge;
mod build_error;
mod builder;
mod clock;
#[cfg(test)]
mod crash_safety;
mod directory;
mod disk;
pub mod doctor;
mod driver;
pub mod event;
mod file_storage;
pub mod gateway;
mod gatherer;
pub mod group;
pub mod invitation;
mod layered;
mod ledger;
mod listing;
pub mod manifest;
mod moderation;
pub mod name;
mod node;
mod outbox;
mod pack;
mod placement;
mod read_at;
mod reading;
pub mod receipt;
mod receive;
mod root_set;
#[cfg(test)]
mod scratch;
mod segment;
mod send;
pub mod source;
mod streams;
mod transfer;
mod verify;
mod waker;
mod walk;

pub use build_error::BuildError;
pub use builder::NodeBuilder;
pub use directory::DirectoryError;
pub use event::{Finished, NodeEvent, ReceiveEvent, SendEvent};
pub use fanfare_group as messaging;
pub use fanfare_proto as proto;
pub use fanfare_udp::{GroupSpec, GroupSpecError, Interface, OpenError, interfaces};
pub use fanfare_wire::FieldSize;
pub use layered::{LayeredError, LayeredOptions};
pub use listing::ListingError;
pub use node::{Node, Stopper};
pub use placement::Conflict;
pub use receive::{ReceiveOptions, Until};
pub use send::{EnqueueFailed, Expect, SendOptions, Slow, SlowVerdict};
pub use source::{Gathering, Packing, SourceError, SourceFile, Sources};
pub use streams::{MemoryShort, MemoryUse, Streams};
pub use verify::Placed;

/// The programs of the how-to page are compiled as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/use-in-a-program.md")]
struct HowTo;
