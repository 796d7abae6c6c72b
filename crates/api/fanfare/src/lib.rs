//! The same bytes on many machines over multicast, and a receipt from each.
//!
//! # Send a file, receive it, and know who has it
//!
//! ```
//! use fanfare::{Network, ReceiveOptions, SendOptions, Sources, Transfer};
//!
//! # let work = std::env::temp_dir().join(format!("fanfare-facade-{}", std::process::id()));
//! # std::fs::create_dir_all(work.join("inbox"))?;
//! # std::fs::write(work.join("hello.txt"), "hello, all")?;
//! # let (file, inbox) = (work.join("hello.txt"), work.join("inbox"));
//! # let group = format!("norm://lo;239.255.42.7:{}", 20_000 + std::process::id() % 20_000);
//! // On each machine that is to have the file:
//! let network = Network::new(group.parse()?);
//! let receiver = Transfer::over(network).receive(&inbox, ReceiveOptions::default()).start()?;
//!
//! // On the machine that has it:
//! let network = Network::new(group.parse()?);
//! let sender =
//!     Transfer::over(network).send(Sources::of([file])?, SendOptions::default()).start()?;
//! let report = sender.finish().sent.unwrap();
//! assert_eq!(report.complete(), 1);
//! assert_eq!(std::fs::read(inbox.join("hello.txt"))?, b"hello, all");
//! # drop(receiver);
//! # std::fs::remove_dir_all(&work)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A transfer and a member of a group each have a thread of their own for sockets and timers: a
//! program needs no async runtime. Dropping one stops it.
//!
//! # What to use for which job
//! | job | begin with | example |
//! |---|---|---|
//! | say where: group, interface, rate | [`Network`] | each of them |
//! | send files | [`Transfer`], [`Sources`], [`SendOptions`] | `send.rs` |
//! | know who has them | [`TransferEvent`]: [`SendEvent`](files::SendEvent) | `receipts.rs` |
//! | receive files, show progress | [`Transfer`], [`ReceiveOptions`] | `receive.rs` |
//! | write and read a stream | [`stream::StreamSender`], [`stream::StreamReceiver`] | `stream.rs` |
//! | publish and subscribe | [`Group`], [`GroupOptions`], [`GroupEvent`] | `publish_subscribe.rs` |
//! | try a program's plans on a bad network | `fanfare::sim` (feature `sim`) | `simulated_network.rs` |
//!
//! The examples are complete programs in `examples/`. `cargo run --example send` tells how each is
//! called, and CI runs them all.
//!
//! # Further in
//! - [`files`]: everything about files: receipts, manifests, several streams, layers
//! - [`stream`]: everything about streams: policies, messages in them, what receivers came to
//! - [`groups`]: everything about messages: filters, order, what became of each, gateways, bridges
//! - [`protocol`]: the protocol's own types, such as rates and congestion control
//!
//! What of this crate a program can see is listed in `public-api.txt`; a test compares it.

pub use fanfare_files::{ReceiveOptions, SendOptions, Sources, Transfer, TransferEvent};
pub use fanfare_node::{
    GroupSpec, Network,
    group::{Group, GroupEvent, GroupOptions},
};

/// Everything about files.
pub mod files {
    pub use fanfare_files::{
        Conflict, DirectoryError, Expect, Finished, Gathering, LayeredError, LayeredOptions,
        MemoryShort, MemoryUse, Packing, Placed, ReceiveEvent, SendEvent, Slow, SlowVerdict,
        SourceError, SourceFile, Streams, TransferBuilder, TransferError, Until, event, manifest,
        receipt,
    };
}

/// Everything about streams.
pub mod stream {
    pub use fanfare_node::{
        engine::Trouble,
        proto::{StreamFlush, StreamPolicy, StreamProgress},
        stream::{
            Expect, Flush, Framing, FramingError, Message, Outcome, Receipt, ReceiveOptions,
            ReceiveReport, SendOptions, SendReport, SendStatus, Start, StreamEvent, StreamGap,
            StreamReceiver, StreamSender,
        },
    };
}

/// Everything about messages.
pub mod groups {
    pub use fanfare_node::{
        JoinError, QueueLimit, Stopper, WayCounts, bridge, gateway,
        group::{
            Body, BodyError, Fate, Gap, GroupError, GroupEvents, GroupHandle, Inbox, Losses,
            Message, MessageBatch, MessageSender, Watch,
        },
        messaging::{
            Filter, History, Options, Ordering, Standing, Subscription, SubscriptionId, Topic,
            TopicError,
        },
        proto::ObjectKey,
    };
}

/// The protocol's own types.
pub mod protocol {
    pub use fanfare_node::proto::{
        Bitrate, CongestionControl, FecConfig, InstanceId, NodeId, ReceiverConfig, SenderConfig,
        Stats,
    };
}

/// A network in virtual time, with losses and delays of your choice.
#[cfg(feature = "sim")]
pub mod sim {
    pub use fanfare_node::proto::{Duration, Time};
    pub use fanfare_sim::{Change, Host, Link, Object, Plan, Report, Until};
}

/// The programs of the how-to page are compiled as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/how-to/programs/use-in-a-program.md")]
struct HowTo;
