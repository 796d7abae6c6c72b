//! The roll call: how a sender learns the names of the receivers that listen.
//!
//! This is an extension of Fanfare's, not of RFC 5740. The call is a CMD(APPLICATION), the answer
//! is an ACK of an application type. NRL's nodes pass the first to their application and ignore the
//! second. The call lists the receivers that the sender knows already; these do not answer. The
//! others answer at a random time within `spread`, so that answers do not collide. The first `given
//! up` of the listed receivers learn that the sender has evicted them.
//!
//! ```text
//! "FNFR" | version 1 (8) | given up (8) | spread ms (16) | nodes (16) | content bytes (16)
//! node id (32) … | content
//! ```
//!
//! A sender that calls the roll also learns the packet loss of each receiver. After a NACK, but at
//! most once a second and once in 32 messages, a receiver sends an ACK of another application type.
//! It has the number of the sender's messages that have arrived so far (32 bits, wraps).

use crate::types::time::Duration;
use alloc::vec::Vec;
use fanfare_wire::NodeId;

/// ACK type of a receiver's status. RFC 5740 4.3.2 leaves 16 to 255 to applications.
pub const STATUS_ACK: u8 = 16;
/// ACK type of a receiver's count of messages.
pub const RECEPTION_ACK: u8 = 17;
const MAGIC: [u8; 4] = *b"FNFR";
const VERSION: u8 = 1;
const HEADER: usize = 12;

/// How a sender calls the roll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollCalls {
    /// What it says along with each call.
    pub content: Vec<u8>,
    /// From one call to the next.
    pub interval: Duration,
    /// How many receivers there are to answer, where that is known. While a few are missing, calls
    /// begin quicker than every `interval`, and answers come sooner.
    pub awaited: Option<u32>,
    /// In each call so many receivers that have answered before are asked again, in turn: what they
    /// say of their progress is news. Fewer where answers would take more than a hundredth of the
    /// sender's rate.
    pub again: u32,
}

/// A parsed roll call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RollCall<'a> {
    /// Receivers answer within this time.
    pub spread: Duration,
    known: &'a [u8],
    given_up: usize,
    /// What the sender says along with it.
    pub content: &'a [u8],
}

impl<'a> RollCall<'a> {
    /// `None` when `command` is not a roll call of this version: some other application's command.
    pub fn parse(command: &'a [u8]) -> Option<Self> {
        let header = command.get(..HEADER)?;
        if header[..4] != MAGIC || header[4] != VERSION {
            return None;
        }
        let number = |at: usize| usize::from(u16::from_be_bytes([header[at], header[at + 1]]));
        let nodes_end = HEADER + number(8) * 4;
        Some(Self {
            spread: Duration::from_millis(number(6) as u64),
            known: command.get(HEADER..nodes_end)?,
            given_up: usize::from(header[5]),
            content: command.get(nodes_end..nodes_end + number(10))?,
        })
    }

    /// Whether `node` has already answered.
    pub fn knows(&self, node: NodeId) -> bool {
        self.known.chunks_exact(4).any(|id| id == node.0.to_be_bytes())
    }

    /// Whether the sender goes on without `node`.
    pub fn gives_up(&self, node: NodeId) -> bool {
        self.known.chunks_exact(4).take(self.given_up).any(|id| id == node.0.to_be_bytes())
    }
}

/// Appends a roll call of at most `max` bytes to `out`: as many `known` nodes as fit are named, the
/// first `given_up` of them as such.
pub fn encode(
    spread: Duration,
    (known, given_up): (&[NodeId], usize),
    content: &[u8],
    max: usize,
    out: &mut Vec<u8>,
) {
    let content =
        &content[..content.len().min(max.saturating_sub(HEADER)).min(usize::from(u16::MAX))];
    let room = max.saturating_sub(HEADER + content.len()) / 4;
    let known = &known[..known.len().min(room).min(usize::from(u16::MAX))];
    let number = |n: usize| u16::try_from(n).unwrap_or(u16::MAX).to_be_bytes();
    out.extend_from_slice(&MAGIC);
    let given_up = u8::try_from(given_up.min(known.len())).unwrap_or(u8::MAX);
    out.extend_from_slice(&[VERSION, given_up]);
    out.extend_from_slice(&number(usize::try_from(spread.as_millis()).unwrap_or(usize::MAX)));
    out.extend_from_slice(&number(known.len()));
    out.extend_from_slice(&number(content.len()));
    known.iter().for_each(|node| out.extend_from_slice(&node.0.to_be_bytes()));
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(known: &[NodeId], max: usize) -> Vec<u8> {
        let mut out = Vec::new();
        encode(Duration::from_millis(250), (known, 1), b"hello", max, &mut out);
        out
    }

    #[test]
    fn a_roll_call_names_who_is_known() {
        let bytes = call(&[NodeId(7), NodeId(9)], 1400);
        let parsed = RollCall::parse(&bytes).unwrap();
        assert!(parsed.knows(NodeId(9)) && !parsed.knows(NodeId(8)));
        assert!(parsed.gives_up(NodeId(7)) && !parsed.gives_up(NodeId(9)));
        assert_eq!((parsed.spread, parsed.content), (Duration::from_millis(250), &b"hello"[..]));
    }

    #[test]
    fn a_roll_call_stays_within_its_bound() {
        let bytes = call(&[NodeId(7); 1000], 64);
        assert!(bytes.len() <= 64 && RollCall::parse(&bytes).is_some());
    }

    #[test]
    fn other_commands_and_truncated_calls_are_not_roll_calls() {
        let bytes = call(&[NodeId(7)], 1400);
        assert!((0..bytes.len()).all(|cut| RollCall::parse(&bytes[..cut]).is_none()));
        assert!(RollCall::parse(b"some other application").is_none());
    }
}
