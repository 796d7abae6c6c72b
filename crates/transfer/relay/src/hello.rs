//! What relays tell each other every second: who they are, and by which relays they hear each sender.
//!
//! ```text
//! header of a REPORT from nobody (8), "FFR3", relay's number (4), count (2),
//!         for each sender: its node id (4), how (1), their numbers (4 each),
//!         count (1), for each group that it has joined: 4 or 6 (1), address (4 or 16), port (2)
//! how: 80 it was heard within the last seconds; 40 it is passed on to an island; 0f relays on the way
//! ```
//! Nodes that are no relays do nothing with a REPORT ([`Report::FROM_NOBODY`]).

use std::net::{IpAddr, SocketAddr};

use fanfare_wire::Report;

const MAGIC: [u8; 4] = *b"FFR3";
/// Senders and groups in one hello: it is one datagram.
const SENDERS_MAX: usize = 40;
const GROUPS_MAX: usize = 16;
/// A sender that was passed on by so many relays is passed on by no more.
pub(crate) const HOPS_MAX: usize = 8;
const FRESH: u8 = 0x80;
const SERVES: u8 = 0x40;
const HOPS: u8 = 0x0f;

/// The way to a sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Way {
    /// Its node id.
    pub(crate) sender: u32,
    /// It was heard lately.
    pub(crate) fresh: bool,
    /// It is passed on to an island.
    pub(crate) serves: bool,
    /// The relays between it and the one that says so, that one included.
    pub(crate) relays: Vec<u32>,
}

/// A relay, the way to each of its senders, and the groups that it has joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) relay: u32,
    pub(crate) ways: Vec<Way>,
    pub(crate) groups: Vec<SocketAddr>,
}

impl Hello {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Report::FROM_NOBODY.to_vec();
        bytes.extend(MAGIC);
        bytes.extend(self.relay.to_be_bytes());
        let count = self.ways.len().min(SENDERS_MAX);
        bytes.extend((count as u16).to_be_bytes());
        for Way { sender, fresh, serves, relays } in self.ways.iter().take(count) {
            bytes.extend(sender.to_be_bytes());
            let hops = relays.len().min(HOPS_MAX + 1);
            let (fresh, serves) = (u8::from(*fresh) * FRESH, u8::from(*serves) * SERVES);
            bytes.push(hops as u8 | fresh | serves);
            relays.iter().take(hops).for_each(|relay| bytes.extend(relay.to_be_bytes()));
        }
        let count = self.groups.len().min(GROUPS_MAX);
        bytes.push(count as u8);
        for group in self.groups.iter().take(count) {
            match group.ip() {
                IpAddr::V4(ip) => {
                    bytes.push(4);
                    bytes.extend(ip.octets());
                }
                IpAddr::V6(ip) => {
                    bytes.push(6);
                    bytes.extend(ip.octets());
                }
            }
            bytes.extend(group.port().to_be_bytes());
        }
        bytes
    }

    /// `None` for anything else.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(&Report::FROM_NOBODY)?.strip_prefix(&MAGIC)?;
        let (relay, rest) = word(rest)?;
        let (count, mut rest) = rest.split_first_chunk::<2>()?;
        let mut ways = Vec::new();
        for _ in 0..u16::from_be_bytes(*count).min(SENDERS_MAX as u16) {
            let (sender, behind) = word(rest)?;
            let (how, behind) = behind.split_first()?;
            rest = behind;
            let mut relays = Vec::new();
            for _ in 0..(how & HOPS).min(HOPS_MAX as u8 + 1) {
                let (relay, behind) = word(rest)?;
                relays.push(relay);
                rest = behind;
            }
            ways.push(Way { sender, fresh: how & FRESH > 0, serves: how & SERVES > 0, relays });
        }
        let (count, mut rest) = rest.split_first()?;
        let mut groups = Vec::new();
        for _ in 0..usize::from(*count).min(GROUPS_MAX) {
            let (group, behind) = address(rest)?;
            groups.push(group);
            rest = behind;
        }
        Some(Self { relay, ways, groups })
    }

    /// True if it has joined one of these groups, too.
    pub(crate) fn shares(&self, groups: &[SocketAddr]) -> bool {
        let same = |one: &SocketAddr, other: &SocketAddr| {
            (one.ip(), one.port()) == (other.ip(), other.port())
        };
        self.groups.iter().any(|group| groups.iter().any(|own| same(own, group)))
    }

    /// The way to this sender, if it is told.
    pub(crate) fn way_of(&self, sender: u32) -> Option<&Way> {
        self.ways.iter().find(|way| way.sender == sender)
    }
}

fn address(bytes: &[u8]) -> Option<(SocketAddr, &[u8])> {
    let (family, rest) = bytes.split_first()?;
    let (ip, rest) = match family {
        4 => rest.split_first_chunk::<4>().map(|(ip, rest)| (IpAddr::from(*ip), rest))?,
        6 => rest.split_first_chunk::<16>().map(|(ip, rest)| (IpAddr::from(*ip), rest))?,
        _ => return None,
    };
    let (port, rest) = rest.split_first_chunk::<2>()?;
    Some((SocketAddr::new(ip, u16::from_be_bytes(*port)), rest))
}

fn word(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (word, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*word), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_is_read_as_it_was_written_and_never_half() {
        let way = |sender, fresh: bool, relays: &[u32]| {
            let (serves, relays) = (!fresh, relays.to_vec());
            Way { sender, fresh, serves, relays }
        };
        let groups = vec!["239.255.42.1:6003", "[ff15::7]:6004"];
        let groups: Vec<SocketAddr> = groups.into_iter().map(|one| one.parse().unwrap()).collect();
        let ways = vec![way(1, false, &[]), way(2, true, &[9, 7])];
        let hello = Hello { relay: 7, ways, groups: groups.clone() };
        assert!(hello.shares(&groups[1..]));
        assert!(!hello.shares(&["239.255.42.2:6003".parse().unwrap()]));
        let bytes = hello.encode();
        assert_eq!(Hello::parse(&bytes), Some(hello.clone()));
        assert_eq!(hello.way_of(2).map(|way| &way.relays[..]), Some(&[9, 7][..]));
        for end in 0..bytes.len() {
            assert_eq!(Hello::parse(&bytes[..end]), None, "{end}");
        }
        assert_eq!(Hello::parse(&[0x12; 60]), None);
    }
}
