//! What relays tell each other every second: who they are, and by which relays they hear each sender.
//!
//! ```text
//! "FFR1", relay's number (4), count (2), for each sender: its node id (4), relays on the way (1), their numbers (4 each)
//! ```
//! No NORM message begins with an F: nodes that are no relays drop it.

const MAGIC: [u8; 4] = *b"FFR1";
/// Senders in one hello: it is one datagram.
const SENDERS_MAX: usize = 40;
/// A sender that was passed on by so many relays is passed on by no more.
pub(crate) const HOPS_MAX: usize = 8;

/// A relay, and the way to each of its senders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) relay: u32,
    /// Node ids of senders, and the relays between them and this one, itself included.
    pub(crate) ways: Vec<(u32, Vec<u32>)>,
}

impl Hello {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.relay.to_be_bytes());
        let count = self.ways.len().min(SENDERS_MAX);
        bytes.extend((count as u16).to_be_bytes());
        for (sender, way) in self.ways.iter().take(count) {
            bytes.extend(sender.to_be_bytes());
            let hops = way.len().min(HOPS_MAX + 1);
            bytes.push(hops as u8);
            way.iter().take(hops).for_each(|relay| bytes.extend(relay.to_be_bytes()));
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
            let (hops, behind) = behind.split_first()?;
            rest = behind;
            let mut way = Vec::new();
            for _ in 0..(*hops).min(HOPS_MAX as u8 + 1) {
                let (relay, behind) = word(rest)?;
                way.push(relay);
                rest = behind;
            }
            ways.push((sender, way));
        }
        Some(Self { relay, ways })
    }

    /// The relays between here and this sender, if it is told.
    pub(crate) fn way_of(&self, sender: u32) -> Option<&[u32]> {
        self.ways.iter().find(|(id, _)| *id == sender).map(|(_, way)| &way[..])
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
        let hello = Hello { relay: 7, ways: vec![(1, vec![]), (2, vec![9, 7])] };
        let bytes = hello.encode();
        assert_eq!(Hello::parse(&bytes), Some(hello.clone()));
        assert_eq!(hello.way_of(2), Some(&[9, 7][..]));
        for end in 0..bytes.len() {
            assert_eq!(Hello::parse(&bytes[..end]), None, "{end}");
        }
        assert_eq!(Hello::parse(&[0x12; 60]), None);
    }
}
