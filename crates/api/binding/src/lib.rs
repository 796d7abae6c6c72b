//! The crate `fanfare` in plain values, for the libraries of other languages: options by name,
//! events without types of their own inside, handles that several threads may use.
//!
//! # Map, in reading order
//! - [`Options`]: what a program sets by name; `table`: every name; `words`: values as people write
//!   them; `settings`: what they come to for each purpose
//! - [`Files`]: files that are sent or received; [`Event`]: what happens meanwhile; [`Report`]: what it
//!   came to
//! - [`StreamOut`], [`StreamIn`]: the two ends of a stream
//! - [`Member`], [`Publisher`]: messages of a group
//! - [`Error`]: why something was not done

mod error;
mod event;
mod files;
mod member;
mod options;
mod report;
mod settings;
mod stream_in;
mod stream_out;
mod table;
mod wait;
mod words;

pub use error::{Error, Kind};
pub use event::{Event, EventKind};
pub use files::Files;
pub use member::{Arrival, Fate, Member, Message, Publisher, Standing};
pub use options::{Options, Purpose};
pub use report::{Outcome, Received, Report};
pub use stream_in::StreamIn;
pub use stream_out::{Status, StreamOut};
pub use wait::Wait;

/// The version of this library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
