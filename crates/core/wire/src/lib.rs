//! NORM (RFC 5740) messages: bytes to typed values and back.
//!
//! No state, no I/O, no dependency, no `unsafe`, no `std`. A message is parsed once, at the door:
//! every length is checked there, so that a value of these types is well formed and the code
//! behind it never indexes raw input. Encoding mirrors parsing line by line.
//!
//! # Map, in reading order
//! - [`units`]: time, bit rates, random numbers, timers, congestion marks.
//! - [`id`]: the numbers that name things, each its own type; those that wrap have `precedes`.
//! - [`quantized`]: RTT, rate, group size and loss in their wire forms.
//! - [`header`]: the eight bytes every message begins with.
//! - [`fec`]: FEC encoding ids and payload ids.
//! - [`ext`]: header extensions, one file each.
//! - `frame`: reads and writes one datagram, header length and all.
//! - [`repair`]: repair requests, the content of NACK and REPAIR_ADV.
//! - [`data`], [`info`], [`cmd`], [`nack`], [`ack`], [`report`]: one file per message.
//! - [`batch`]: DATA that follow each other, read at once; [`stream`]: what symbols of a stream say.
//! - [`Message`]: all of them, for dispatch; `show`: flags and lists as text.
//! - [`alc`]: no NORM: what goes to the groups of layers; [`fdt`]: what tells FLUTE what that is.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod ack;
pub mod alc;
pub mod batch;
pub mod cmd;
pub mod data;
pub mod error;
pub mod ext;
pub mod fdt;
pub mod fec;
mod frame;
#[cfg(test)]
mod golden;
pub mod header;
pub mod id;
pub mod info;
pub mod message;
pub mod nack;
pub mod quantized;
pub mod repair;
pub mod report;
mod show;
pub mod stream;
pub mod units;

pub use ack::{Ack, AckKind, FlushAck};
pub use alc::Alc;
pub use batch::{DataBatch, DataBatchWriter};
pub use cmd::Cmd;
pub use data::{Data, ObjectFlags};
pub use error::WireError;
pub use fdt::Fdt;
pub use fec::{FecId, FecPayloadId, FieldSize};
pub use id::{
    EncodingSymbolId, InstanceId, NodeId, ObjectTransportId, Sequence, SourceBlockNumber,
};
pub use info::Info;
pub use message::Message;
pub use nack::{Nack, RepairForm, RepairItem, RepairLevel, RepairRequest, RepairRequests};
pub use quantized::{GroupSize, QuantizedLoss, QuantizedRate, QuantizedRtt};
pub use report::Report;
pub use stream::{STREAM_HEADER, StreamSymbol};
