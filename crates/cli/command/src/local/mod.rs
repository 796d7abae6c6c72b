//! The local socket of `fanfare node`: requests and answers, a line of JSON each;
//! docs/reference/node.md is its description.
//!
//! - [`request`]: what a client may ask; [`topics`], [`wanted`]: topics, and what is wanted of them, as
//!   people write them
//! - [`server`]: at the node; `requests`: what it hears of a client, `subscription`: what that asks
//!   for, `mailbox`: what it has for one
//! - [`client`]: of `pub`, `sub` and `node status` with `--via`

pub mod client;
mod mailbox;
pub mod request;
mod requests;
pub mod server;
mod subscription;
pub mod topics;
pub mod wanted;
