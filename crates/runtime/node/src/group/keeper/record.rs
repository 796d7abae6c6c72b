//! A message as it is kept on disk: CBOR with a checksum of its own behind it, since a database's
//! pages are looked at only when it was not closed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fanfare_proto::{InstanceId, NodeId, ObjectKey, ObjectTransportId};
use fanfare_wire::Message;
use minicbor::{Decode, Encode};

/// Bytes of the BLAKE3 hash behind a record: 128 bits, as in manifests.
const CHECK: usize = 16;

/// What is kept of one message.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct Record {
    /// When it was first heard of, or published: milliseconds since 1970.
    #[n(0)]
    pub(crate) heard: u64,
    /// This node's own.
    #[n(1)]
    pub(crate) own: bool,
    /// Bytes of its object; none where the message is in its description.
    #[n(2)]
    pub(crate) size: u64,
    /// The beginning of their BLAKE3 hash; nodes of earlier versions wrote all of it.
    #[cbor(n(3), with = "minicbor::bytes")]
    pub(crate) hash: Vec<u8>,
    /// Of another publisher's the NORM_INFO message as it would send it, of an own one the
    /// description.
    #[cbor(n(4), with = "minicbor::bytes")]
    pub(crate) description: Vec<u8>,
    /// Its bytes, unless they are in a file.
    #[cbor(n(5), with = "minicbor::bytes")]
    pub(crate) content: Vec<u8>,
    /// The name of that file.
    #[n(6)]
    pub(crate) file: Option<String>,
}

impl Record {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        // Writing to memory does not fail.
        let _ = minicbor::encode(self, &mut out);
        let check = blake3::hash(&out);
        out.extend_from_slice(&check.as_bytes()[..CHECK]);
        out
    }

    /// `None` when it is not what was written.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (record, check) = bytes.split_at_checked(bytes.len().checked_sub(CHECK)?)?;
        let right = blake3::hash(record).as_bytes()[..CHECK] == *check;
        right.then(|| minicbor::decode(record).ok()).flatten()
    }

    /// Whether it belongs to this key, which has no check: what its publisher sends names it.
    pub(crate) fn is_of(&self, key: ObjectKey) -> bool {
        let Ok(Message::Info(info)) = Message::parse(&self.description) else { return false };
        let (sender, instance) = (info.sender.source_id, info.sender.instance_id);
        key == ObjectKey { sender, instance, object: info.object_transport_id }
    }

    /// How long ago it was heard of; nothing when the clock has gone back since.
    pub(crate) fn age(&self) -> Duration {
        Duration::from_millis(now().saturating_sub(self.heard))
    }
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A key of the table: in the order of publishers, lives, objects.
pub(crate) fn number(key: ObjectKey) -> u64 {
    u64::from(key.sender.0) << 32 | u64::from(key.instance.0) << 16 | u64::from(key.object.0)
}

/// What it stands for.
pub(crate) fn key(number: u64) -> ObjectKey {
    ObjectKey {
        sender: NodeId((number >> 32) as u32),
        instance: InstanceId((number >> 16) as u16),
        object: ObjectTransportId(number as u16),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_and_a_damaged_one_does_not() {
        let record = Record {
            heard: now(),
            own: false,
            size: 3,
            hash: vec![7; 16],
            description: vec![1, 2],
            content: vec![3, 4, 5],
            file: None,
        };
        let bytes = record.encode();
        assert_eq!(Record::decode(&bytes), Some(record));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(Record::decode(&damaged), None, "{at}");
            assert_eq!(Record::decode(&bytes[..at]), None, "{at}");
        }
    }

    #[test]
    fn numbers_stand_for_keys() {
        let object = ObjectTransportId(0xfffe);
        let some = ObjectKey { sender: NodeId(0xdead_beef), instance: InstanceId(7), object };
        assert_eq!(key(number(some)), some);
    }
}
