//! Every option: its name, what it is for, and how its value is read.

use std::path::PathBuf;

use fanfare::protocol::NodeId;
use fanfare_files::plain::units;

use crate::{
    error::Error,
    options::{Options, Purpose},
    words,
};

/// An option.
pub(crate) struct Known {
    pub(crate) name: &'static str,
    /// Purposes, added up.
    pub(crate) uses: u8,
    pub(crate) set: fn(&mut Options, &str, &str) -> Result<(), Error>,
}

const SEND_FILES: u8 = Purpose::SendFiles as u8;
const RECEIVE_FILES: u8 = Purpose::ReceiveFiles as u8;
const SEND_STREAM: u8 = Purpose::SendStream as u8;
const RECEIVE_STREAM: u8 = Purpose::ReceiveStream as u8;
const JOIN: u8 = Purpose::Join as u8;
const PUBLISH: u8 = Purpose::Publish as u8;
const SUBSCRIBE: u8 = Purpose::Subscribe as u8;

const FILES: u8 = SEND_FILES | RECEIVE_FILES;
const STREAMS: u8 = SEND_STREAM | RECEIVE_STREAM;
const SENDERS: u8 = SEND_FILES | SEND_STREAM | JOIN;
/// What takes part in a group.
const NODES: u8 = FILES | STREAMS | JOIN;

/// Puts a value that was read where it belongs.
macro_rules! option {
    ($name:literal, $uses:expr, $field:ident, $read:expr) => {
        Known {
            name: $name,
            uses: $uses,
            set: |options, name, text| {
                let read: fn(&str, &str) -> Result<_, Error> = $read;
                options.$field = read(name, text)?;
                Ok(())
            },
        }
    };
}

/// In the order of the documentation.
pub(crate) const ALL: [Known; 35] = [
    option!("rate", SENDERS, rate, |name, text| Ok(Some(units::rate_of(name, text)?))),
    option!("cc", SENDERS, control, |name, text| Ok(Some(words::control(name, text)?))),
    option!("interface", NODES, interface, |_, text| Ok(Some(text.to_owned()))),
    option!("ttl", NODES, ttl, |name, text| Ok(Some(words::number(name, text)?))),
    option!("segment", SENDERS, segment, |_, text| Ok(Some(units::segment(text)?))),
    option!("node-id", NODES, node, |name, text| node(name, text)),
    option!("loss", NODES, loss, |name, text| words::probability(name, text)),
    option!("name", FILES | RECEIVE_STREAM | JOIN, name, |_, text| Ok(text.to_owned())),
    option!("expect", SEND_FILES | SEND_STREAM, expect, |name, text| Ok(Some(words::expected(
        name, text
    )?))),
    option!("wait", SEND_FILES | SEND_STREAM, wait, |name, text| Ok(Some(words::time(
        name, text
    )?))),
    option!("one-way", SEND_FILES, one_way, |name, text| words::flag(name, text)),
    option!("sync", SEND_FILES, sync, |name, text| words::flag(name, text)),
    option!("carousel", SEND_FILES, carousel, |name, text| words::number(name, text)),
    option!("conflict", RECEIVE_FILES, conflict, |name, text| words::conflict(name, text)),
    option!("create-dirs", RECEIVE_FILES, create_dirs, |name, text| words::flag(name, text)),
    option!("until", RECEIVE_FILES, until, |name, text| words::until(name, text)),
    option!("timeout", RECEIVE_FILES, timeout, |name, text| words::time_or_never(name, text)),
    option!("policy", SEND_STREAM, policy, |name, text| Ok(Some(words::policy(name, text)?))),
    option!("buffer", SEND_STREAM, buffer, |name, text| Ok(Some(units::bytes(name, text)?))),
    option!("flush", SEND_STREAM, flush, |name, text| words::flush(name, text)),
    option!("framing", STREAMS, framing, |name, text| words::framing(name, text)),
    option!("lifetime", STREAMS, lifetime, |name, text| words::time_or_never(name, text)),
    option!("start", RECEIVE_STREAM, start, |name, text| words::start(name, text)),
    option!("unordered", RECEIVE_STREAM, unordered, |name, text| words::flag(name, text)),
    option!("message-max", RECEIVE_STREAM | JOIN, message_max, |name, text| Ok(Some(
        units::bytes(name, text)?
    ))),
    option!("cache-dir", JOIN, cache_dir, |_, text| Ok(Some(PathBuf::from(text)))),
    option!("repair-rate", JOIN, repair_rate, |name, text| Ok(Some(units::rate_of(name, text)?))),
    option!("priority", PUBLISH | SUBSCRIBE, priority, |name, text| Ok(Some(words::number(
        name, text
    )?))),
    option!("expiry", PUBLISH, expiry, |_, text| Ok(Some(units::expiry(text)?))),
    option!("tag", PUBLISH, tag, |name, text| Ok(Some(words::number(name, text)?))),
    option!("replaces", PUBLISH, replaces, |name, text| words::flag(name, text)),
    option!("receipts", PUBLISH, receipts, |name, text| words::flag(name, text)),
    option!("ordering", SUBSCRIBE, ordering, |name, text| words::ordering(name, text)),
    option!("unreliable", SUBSCRIBE, unreliable, |name, text| words::flag(name, text)),
    option!("history", SUBSCRIBE, history, |name, text| words::history(name, text)),
];

fn node(name: &str, text: &str) -> Result<Option<NodeId>, Error> {
    let id = NodeId(words::number(name, text)?);
    match id == NodeId::NONE || id == NodeId::ANY {
        true => Err(Error::mistake(format!("{name} ({text}): not a number from 1 to 4294967294"))),
        false => Ok(Some(id)),
    }
}
