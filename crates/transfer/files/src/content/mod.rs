//! What is sent, how it is described, and how a description becomes files again. There is no network
//! in this crate: what is here is as true of a disk as of a group of receivers.
//!
//! # Map, in reading order
//! - [`source`]: paths walked and hashed, what users choose of them ([`selection`]); [`read_at`]: what
//!   the bytes are read from; `reach`: opened without following links
//! - [`pack`]: many small files as one object; [`tree`]: directories, links, owners; [`listing`]: what
//!   directories hold, and what receivers may remove for it; [`stream`]: what has no known length
//! - [`announcement`], [`manifest`], [`receipt`], [`invitation`]: what travels besides the bytes
//! - [`root_set`], `varint`: how some of that is written down
//! - [`received`], [`placed`]: an object that has come, and a file in its place

pub mod announcement;
pub mod invitation;
pub mod listing;
pub mod manifest;
pub mod pack;
pub mod placed;
mod reach;
pub mod read_at;
pub mod receipt;
pub mod received;
pub mod root_set;
pub mod selection;
pub mod source;
pub mod stream;
pub mod tree;
mod varint;
