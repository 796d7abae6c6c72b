//! Objects, blocks and symbols, and what of them must be sent.
//!
//! - `object`, `block`, `block_ranges`: one object; `repairs`: what must be sent of it again;
//!   `history`: what was sent before and is requested; `stream_object`: what is different with a
//!   stream; `cache`: all of them; `line`: in which order they are sent first
//! - `coding`: payload ids; `parity`: parity symbols, computed on demand
//! - `piece`: what of an object one message carries; `symbol_batch`: what many do
//! - `object_message`: symbols as messages; `stream_detector`: whether objects come in a row

pub(in crate::sender) mod block;
pub(in crate::sender) mod block_ranges;
pub(in crate::sender) mod cache;
pub(in crate::sender) mod coding;
mod history;
mod line;
pub(in crate::sender) mod object;
pub(in crate::sender) mod object_message;
pub(in crate::sender) mod parity;
pub(in crate::sender) mod piece;
mod repairs;
pub(in crate::sender) mod stream_detector;
mod stream_object;
pub(in crate::sender) mod symbol_batch;
