//! What relays tell each other every second: who they are, and by which relays they hear each sender.
//!
//! ```text
//! "FFR2", relay's number (4), count (2), for each sender: its node id (4), how (1), their numbers (4 each)
//! how: 80 it was heard within the last seconds; 40 it is passed on to an island; 0f relays on the way
//! ```
//! No NORM message begins with an F: nodes that are no relays drop it.

const MAGIC: [u8; 4] = *b"FFR2";
/// Senders in one hello: it is one datagram.
const SENDERS_MAX: usize = 40;
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

/// A relay, and the way to each of its senders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) relay: u32,
    pub(crate) ways: Vec<Way>,
}

impl Hello {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
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
        bytes
    }

    /// `None` for anything else.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(&MAGIC)?;
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
        Some(Self { relay, ways })
    }

    /// The way to this sender, if it is told.
    pub(crate) fn way_of(&self, sender: u32) -> Option<&Way> {
        self.ways.iter().find(|way| way.sender == sender)
    }
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
        let hello = Hello { relay: 7, ways: vec![way(1, false, &[]), way(2, true, &[9, 7])] };
        let bytes = hello.encode();
        assert_eq!(Hello::parse(&bytes), Some(hello.clone()));
        assert_eq!(hello.way_of(2).map(|way| &way.relays[..]), Some(&[9, 7][..]));
        for end in 0..bytes.len() {
            assert_eq!(Hello::parse(&bytes[..end]), None, "{end}");
        }
        assert_eq!(Hello::parse(&[0x12; 60]), None);
    }
}
