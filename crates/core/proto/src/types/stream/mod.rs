//! Streams: objects without an end that is known beforehand (RFC 5740 4.2.1, NORM_OBJECT_STREAM).
//!
//! A stream is an object whose symbols are kept in a ring. A sender packs bytes into symbols and says
//! how far may be written; a receiver says from where on a stream is read, what is there in order, and
//! what is lost.
//!
//! - [`layout`]: blocks, and their numbers, which wrap on the wire
//! - [`ring`]: the memory behind a stream

pub mod layout;
pub mod ring;

use crate::types::storage::ObjectKey;
use alloc::vec::Vec;

/// What happens to bytes that nobody is known to have when there is no room for new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StreamPolicy {
    /// They stay until the driver says that all who count have them
    /// (`SenderHandle::release_stream`); a watermark that all have acknowledged says so, too.
    Lossless,
    /// They stay as long as a receiver may still ask for them: some round trips after they were sent
    /// or requested last (NRL's behaviour).
    #[default]
    Repaired,
    /// They give way (NRL's "push"): what is new is worth more than what is old.
    Live,
}

/// When receivers are told how far a stream has been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum StreamFlush {
    /// The symbol under way goes now, though it is short. That nothing follows is told somewhat later.
    #[default]
    Passive,
    /// The same, and CMD(FLUSH) follows at once when nothing else is to be sent.
    Active,
}

/// A stream to be opened.
#[derive(Debug, Clone, Default)]
pub struct NewStream {
    /// Bytes of content that can be repaired; at least two blocks.
    pub buffer: u64,
    /// NORM_INFO; at most one segment. `None` sends no INFO.
    pub info: Option<Vec<u8>>,
    /// What gives way for new bytes.
    pub policy: StreamPolicy,
}

/// How far a stream that is being sent has come, in bytes from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamProgress {
    /// Taken from the application.
    pub written: u64,
    /// In symbols that may be sent: the rest waits for more bytes, or for a flush.
    pub packed: u64,
    /// All receivers that count are known to have so many.
    pub released: u64,
    /// All that was packed has been sent once.
    pub sent: bool,
    /// It has its end.
    pub closed: bool,
}

/// What reading a stream gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamRead {
    /// Bytes were appended.
    Data {
        /// So many.
        bytes: usize,
        /// Position of the first of them in the stream.
        offset: u64,
        /// Where in them the first message begins of those that the sender has marked.
        msg_start: Option<usize>,
    },
    /// Bytes are lost for good: what comes next begins at `to`.
    Gap {
        /// The first that is lost.
        from: u64,
        /// The first that is not.
        to: u64,
    },
    /// Nothing more is here for now; [`crate::types::event::Event::StreamReadable`] tells when there is.
    Empty,
    /// The stream has ended, at this position.
    End {
        /// Its length.
        offset: u64,
    },
    /// No such stream is being received.
    Gone,
}

/// What can be done with a stream at the receiver, without reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamView {
    /// Which one.
    pub key: ObjectKey,
    /// Position of the next byte to be read.
    pub offset: u64,
    /// Symbols that can be stored.
    pub slots: u64,
    /// Symbols from the next one to be read to the last one heard of.
    pub ahead: u64,
    /// Symbols of a block.
    pub block_len: u16,
}
