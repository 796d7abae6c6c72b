//! Files to many machines, and a receipt from each.
//!
//! A [`Transfer`] takes part in one group, as sender, receiver or both. It has one thread for protocol
//! and sockets and, when it receives, one that hashes and syncs. Files are acknowledged when they
//! are whole, verified, on disk and under their final name; not before.
//!
//! ```
//! use fanfare_files::{ReceiveOptions, SendOptions, Sources, Transfer};
//! use fanfare_node::Network;
//! # let inbox = std::env::temp_dir().join(format!("fanfare-doc-{}", std::process::id()));
//! # let outbox = inbox.with_extension("out");
//! # std::fs::create_dir_all(&inbox)?;
//! # std::fs::create_dir_all(&outbox)?;
//! # let hello = outbox.join("hello.txt");
//! # std::fs::write(&hello, "hello, all")?;
//! # let port = 20_000 + std::process::id() % 20_000;
//! let network = Network::new(format!("norm://lo;239.255.42.9:{port}").parse()?);
//! let receiver = Transfer::over(network.clone()).receive(&inbox, ReceiveOptions::default()).start()?;
//! let files = Sources::of([hello])?;
//! let sender = Transfer::over(network).send(files, SendOptions::default()).start()?;
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
//! - [`Transfer`], [`TransferBuilder`]: begun, watched, stopped; [`event`]: what it tells.
//! - `send`: from the roll call to the receipts.
//! - `receive`, `verify`: from an announcement to a file on disk; `ledger`: what is known to be there
//!   already.
//! - `stream`: what has no known length, in pieces, as it comes: pipes and block devices.
//! - `streams`: several sendings of a process that share a rate and memory.
//! - `layered`: a file over layers, each receiver at its own rate.
//! - `engine`: what the driver of `fanfare-node` drives; `file_storage`: objects in files.
//! - [`plain`]: errors, rates, times and sizes in words.
//!
//! [`content`] has what is sent and its description: sources, packs, trees, listings,
//! announcements, receipts. What receiving asks of a file system is in [`fanfare_node::disk`], and with
//! it a simulated disk that loses power: `crash_safety` receives on it.

mod builder;
pub mod content;
#[cfg(test)]
mod crash_safety;
mod engine;
pub mod event;
mod file_storage;
mod layered;
mod ledger;
pub mod plain;
mod receive;
mod send;
mod stream;
mod streams;
mod transfer;
mod transfer_error;
mod verify;

pub use crate::content::{
    announcement, invitation,
    listing::ListingError,
    manifest,
    placed::Placed,
    receipt,
    selection::{Selection, SelectionError, parse_list},
    source,
    source::{
        Extent, GatherOptions, Gathering, Links, NamedPath, Packing, SourceError, SourceFile,
        Sources,
    },
    tree::Carried,
};
pub use builder::TransferBuilder;
pub use event::{Finished, ReceiveEvent, SendEvent, SlowVerdict, TransferEvent};
pub use fanfare_node::disk::{
    directory::{DirectoryError, How},
    name,
    placement::Conflict,
};
pub use file_storage::{KeptPart, PartLimits, clean_parts, list_parts};
pub use layered::{LayeredError, LayeredOptions};
pub use receive::{ChainWanted, ReceiveOptions, SenderFilter, Until};
pub use send::{EnqueueFailed, Expect, SendOptions, Slow, StartWait};
pub use stream::{StreamTarget, TargetError, TargetKind};
pub use streams::{MemoryShort, MemoryUse, Streams};
pub use transfer::Transfer;
pub use transfer_error::TransferError;
