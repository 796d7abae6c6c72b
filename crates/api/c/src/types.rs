//! What a program in C sees of values.
#![allow(non_camel_case_types, reason = "these are the names in C")]

use std::ffi::{c_char, c_void};

/// What a function came to. Below zero nothing was done; `fanfare_error` says why in words.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum fanfare_result {
    /// It was done.
    FANFARE_OK = 0,
    /// Nothing came in time. Call it again.
    FANFARE_TIMEOUT = 1,
    /// It has ended: nothing more will come, or be taken.
    FANFARE_ENDED = 2,
    /// Bytes of a stream are lost. Reading goes on behind them.
    FANFARE_GAP = 3,
    /// A handle, an argument or an option is wrong.
    FANFARE_INVALID = -1,
    /// This machine or its network refuses, or the other side did something wrong.
    FANFARE_FAILED = -2,
    /// A fault of this library. The call had no effect.
    FANFARE_FAULT = -3,
}

/// Options by name. 0: all at their defaults.
pub type fanfare_options = u64;
/// Files that are sent or received.
pub type fanfare_files = u64;
/// The end of a stream at which bytes go in.
pub type fanfare_out = u64;
/// The end of a stream at which bytes come out.
pub type fanfare_in = u64;
/// A member of a group.
pub type fanfare_group = u64;
/// Many messages on one topic.
pub type fanfare_publisher = u64;

/// What has happened.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum fanfare_event_kind {
    /// A receiver has answered: name, node.
    FANFARE_EVENT_RECEIVER = 1,
    /// Receivers are waited for: count of total are there; text names those that are missing.
    FANFARE_EVENT_WAITING = 2,
    /// Sending begins, to count receivers.
    FANFARE_EVENT_STARTED = 3,
    /// So many bytes of total are through.
    FANFARE_EVENT_PROGRESS = 4,
    /// The file name has been sent once: bytes.
    FANFARE_EVENT_SENT = 5,
    /// The receiver name has the file text, whole, verified and on its disk: bytes, hash, seconds.
    FANFARE_EVENT_RECEIPT = 6,
    /// The file name did not arrive; text says why.
    FANFARE_EVENT_FAILED = 7,
    /// A sender was heard: node, and its address as text.
    FANFARE_EVENT_SENDER = 8,
    /// The file name is in its place: bytes, hash, seconds.
    FANFARE_EVENT_FILE = 9,
    /// A sender is gone: node.
    FANFARE_EVENT_SENDER_GONE = 10,
    /// The receivers that text names keep all others waiting.
    FANFARE_EVENT_STALLED = 11,
    /// It goes on.
    FANFARE_EVENT_RESUMED = 12,
    /// A receiver has left: name, node.
    FANFARE_EVENT_LEFT = 13,
    /// A receiver was silent for too long: name, node.
    FANFARE_EVENT_GIVEN_UP = 14,
    /// This machine or its network has a difficulty; text says which.
    FANFARE_EVENT_TROUBLE = 15,
}

/// Something that has happened. What it points at stays until the next call with the same handle.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct fanfare_event {
    /// What has happened, and so which values count.
    pub kind: fanfare_event_kind,
    /// Of a node.
    pub node: u32,
    /// Of a receiver or a file.
    pub name: *const c_char,
    /// More in words.
    pub text: *const c_char,
    /// How many.
    pub count: u64,
    /// How many bytes.
    pub bytes: u64,
    /// Of how many.
    pub total: u64,
    /// Since the beginning.
    pub seconds: f64,
    /// Of a file: BLAKE3.
    pub hash: [u8; 32],
}

/// What a receiver came to.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum fanfare_outcome {
    /// It has everything, and says so.
    FANFARE_COMPLETE = 1,
    /// It has acknowledged everything, but is none of ours and cannot say what it has.
    FANFARE_UNVERIFIED = 2,
    /// It lacks something.
    FANFARE_PARTIAL = 3,
    /// It has something else than was sent.
    FANFARE_DIFFERS = 4,
    /// It was silent.
    FANFARE_SILENT = 5,
    /// It has left before the end.
    FANFARE_LEFT = 6,
    /// The sender was stopped, or gave it up.
    FANFARE_GIVEN_UP = 7,
}

/// A receiver, and what it came to.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct fanfare_receiver {
    /// What it is called.
    pub name: *const c_char,
    /// Its id.
    pub node: u32,
    /// What it came to.
    pub outcome: fanfare_outcome,
}

/// What it came to. What it points at stays until the handle is closed.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct fanfare_report {
    /// Everything is where it was to be: at each expected receiver, or here.
    pub complete: bool,
    /// Bytes of files, or of the stream.
    pub bytes: u64,
    /// Files.
    pub files: u64,
    /// Bytes of the stream that this receiver lacks.
    pub lost: u64,
    /// Receivers, at a sender.
    pub receivers: *const fanfare_receiver,
    /// How many.
    pub receiver_count: usize,
    /// Receivers that have everything.
    pub whole: usize,
    /// Who was expected and did not come, with commas between.
    pub missing: *const c_char,
}

/// How it stands with a stream.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct fanfare_status {
    /// Bytes written.
    pub written: u64,
    /// Bytes that all receivers that count are known to have.
    pub acknowledged: u64,
    /// Receivers that count.
    pub receivers: u64,
    /// Since when it has been waiting for receivers to read, in seconds; 0 when it is not.
    pub stalled: f64,
    /// What is sent at present, in bits a second.
    pub rate: u64,
    /// Bytes that are taken without waiting.
    pub vacancy: u64,
    /// Nothing is taken any more.
    pub ended: bool,
}

/// A message of a stream. What it points at stays until the next call with the same handle.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct fanfare_stream_message {
    /// Its bytes.
    pub data: *const c_void,
    /// How many.
    pub length: usize,
    /// Position of its frame in the stream.
    pub offset: u64,
    /// Something before it is lost, or was sent before this receiver came.
    pub gap_before: bool,
}

/// What comes to a member of a group.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum fanfare_arrival {
    /// A message.
    FANFARE_MESSAGE = 1,
    /// number messages are lost for this program.
    FANFARE_LOST = 2,
    /// Another member was heard: node.
    FANFARE_JOINED = 3,
    /// It is not heard any more: node.
    FANFARE_GONE = 4,
}

/// A message of a group. What it points at stays until the next call with the same handle.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct fanfare_message {
    /// What has come, and so which values count.
    pub kind: fanfare_arrival,
    /// Who has published it.
    pub node: u32,
    /// Its topic.
    pub topic: *const c_char,
    /// Its bytes.
    pub data: *const c_void,
    /// How many.
    pub length: usize,
    /// The publisher's count of its messages on that topic, from 0.
    pub number: u64,
    /// For which subscription.
    pub subscription: u32,
    /// How long ago it was first heard of, in seconds.
    pub age: f64,
}

/// How a member stands to an own message.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum fanfare_standing {
    /// It was sent once; node is 0.
    FANFARE_SENT = 1,
    /// The member has all of it.
    FANFARE_HOLDS = 2,
    /// The member does not have all of it, and asks for it.
    FANFARE_LACKS = 3,
    /// The member does not want it.
    FANFARE_UNWANTED = 4,
    /// It can no longer be repaired; node is 0. Nothing more is told of it.
    FANFARE_OVER = 5,
}

/// Something new of an own message that was published with the option receipts.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct fanfare_receipt {
    /// What fanfare_publish gave.
    pub message: u32,
    /// Which member.
    pub node: u32,
    /// How it stands.
    pub standing: fanfare_standing,
}
