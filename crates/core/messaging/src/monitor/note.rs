//! What nodes say, as bytes, behind the header of a group's frame of kind NOTE. It is said once, best
//! effort: no number, no repair, nothing kept.
//!
//! ```text
//! topic length 0 (8) | turn (8) | next interval (8, see `scale::AGE`) | sectors up to the end, each:
//!   block (4) hop (4) | subject: 0 is the writer, 1 a node whose id (32) follows, n + 2 the nth of these
//!   | version (8) | age (8) | closeness (8) | length (8) | content
//! ```
//! The writer is who sends the NORM message. A block that is not known is passed over by its length.
//! Nothing that a note says destroys anything.

use alloc::vec::Vec;

use fanfare_wire::NodeId;
use fanfare_wire::units::Duration;

use crate::monitor::{facts::Block, scale::AGE};

/// Other topics have a length; they are not the monitor's.
const TOPIC: u8 = 0;
/// Before the first sector.
pub(crate) const HEADER: usize = 3;
/// Sectors beyond these are not read: no frame has room for as many.
const SECTORS_MAX: usize = 64;
/// Longest content of a sector.
const CONTENT_MAX: usize = 64;
const HOP_MAX: u8 = 15;

/// What one node says at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Note {
    /// Grows with each.
    pub turn: u8,
    /// When the next one comes, at the latest.
    pub next: Duration,
    /// What it says.
    pub sectors: Vec<Told>,
}

/// What is said about one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// About what.
    pub block: Block,
    /// About whom.
    pub subject: NodeId,
    /// Grows with each change.
    pub version: u8,
    /// How long ago it was so.
    pub age: Duration,
    /// Through how many others it came.
    pub hop: u8,
    /// How near who measured it was: 0 is the node itself.
    pub closeness: u8,
    /// As the block says.
    pub content: Vec<u8>,
}

impl Told {
    /// Bytes that it takes at most.
    pub(crate) fn len(&self, writer: NodeId) -> usize {
        let subject = if self.subject == writer { 1 } else { 5 };
        5 + subject + self.content.len()
    }
}

impl Note {
    /// Writes it, without the frame's header. Content beyond its bound is left out.
    #[must_use]
    pub fn encode(&self, writer: NodeId) -> Vec<u8> {
        let mut bytes = Vec::from([TOPIC, self.turn, AGE.step_of(self.next)]);
        let mut named: Vec<NodeId> = Vec::new();
        for told in self.sectors.iter().filter(|told| told.content.len() <= CONTENT_MAX) {
            bytes.push(told.block.code() << 4 | told.hop.min(HOP_MAX));
            match named.iter().position(|node| *node == told.subject) {
                _ if told.subject == writer => bytes.push(0),
                Some(at) => bytes.push(at as u8 + 2),
                None => {
                    bytes.push(1);
                    bytes.extend(told.subject.0.to_be_bytes());
                    named.push(told.subject);
                }
            }
            let length = told.content.len() as u8;
            bytes.extend([told.version, AGE.step_of(told.age), told.closeness, length]);
            bytes.extend_from_slice(&told.content);
        }
        bytes
    }

    /// Reads what `writer` says; `None` when it is no note of a monitor, or broken.
    #[must_use]
    pub fn parse(writer: NodeId, bytes: &[u8]) -> Option<Self> {
        let &[TOPIC, turn, next, ref rest @ ..] = bytes else { return None };
        let (mut rest, mut sectors, mut named) = (rest, Vec::new(), Vec::new());
        for _ in 0..SECTORS_MAX {
            let Some((&first, after)) = rest.split_first() else { break };
            let (subject, after) = read_subject(writer, &mut named, after)?;
            let &[version, age, closeness, length, ref after @ ..] = after else { return None };
            let (content, after) = after.split_at_checked(usize::from(length))?;
            rest = after;
            let Some(block) = Block::of_code(first >> 4) else { continue };
            if content.len() > CONTENT_MAX {
                return None;
            }
            let (hop, age, content) = (first & 0x0f, AGE.time(age), content.to_vec());
            sectors.push(Told { block, subject, version, age, hop, closeness, content });
        }
        rest.is_empty().then(|| Self { turn, next: AGE.time(next), sectors })
    }
}

fn read_subject<'b>(
    writer: NodeId,
    named: &mut Vec<NodeId>,
    bytes: &'b [u8],
) -> Option<(NodeId, &'b [u8])> {
    let (&index, rest) = bytes.split_first()?;
    match index {
        0 => Some((writer, rest)),
        1 => {
            let (id, rest) = rest.split_first_chunk()?;
            let node = NodeId(u32::from_be_bytes(*id));
            named.push(node);
            Some((node, rest))
        }
        index => Some((*named.get(usize::from(index) - 2)?, rest)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WRITER: NodeId = NodeId(7);

    fn told(subject: u32, block: Block, content: &[u8]) -> Told {
        Told {
            block,
            subject: NodeId(subject),
            version: 3,
            age: AGE.time(9),
            hop: 1,
            closeness: 1,
            content: content.to_vec(),
        }
    }

    #[test]
    fn golden_bytes_of_a_note_with_its_own_sector_and_two_of_another() {
        let own = Told { hop: 0, closeness: 0, ..told(7, Block::Node, &[0x80, 128]) };
        let sectors = Vec::from([own, told(9, Block::Node, &[0]), told(9, Block::Name, b"b")]);
        let note = Note { turn: 5, next: Duration::from_secs(5), sectors };
        #[rustfmt::skip]
        let expected = [
            0, 5, 47,
            0x10, 0, 3, 9, 0, 2, 0x80, 128,
            0x11, 1, 0, 0, 0, 9, 3, 9, 1, 1, 0,
            0x21, 2, 3, 9, 1, 1, b'b',
        ];
        assert_eq!(note.encode(WRITER), expected);
        let read = Note::parse(WRITER, &expected).unwrap();
        assert_eq!((read.turn, &read.sectors), (5, &note.sectors));
    }

    #[test]
    fn a_block_of_a_later_version_is_passed_over_and_what_is_broken_is_refused() {
        let later = [0, 1, 1, 0xf0, 0, 1, 1, 0, 2, 8, 8, 0x10, 0, 1, 1, 0, 1, 0];
        assert_eq!(Note::parse(WRITER, &later).unwrap().sectors.len(), 1);
        for broken in [
            &[][..],
            &[1, 1, 1],
            &[0, 1],
            &[0, 1, 1, 0x10],
            &[0, 1, 1, 0x10, 2, 1, 1, 0, 0],
            &[0, 1, 1, 0x10, 0, 1, 1, 0, 9, 1],
        ] {
            assert_eq!(Note::parse(WRITER, broken), None, "{broken:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_from_any_bytes_is_written_and_read_alike(
            bytes in prop::collection::vec(any::<u8>(), 0..80)
        ) {
            if let Some(note) = Note::parse(WRITER, &bytes) {
                prop_assert_eq!(Note::parse(WRITER, &note.encode(WRITER)), Some(note));
            }
        }

        #[test]
        fn a_note_cut_anywhere_is_refused_or_shorter(cut in 0..30_usize) {
            let sectors = Vec::from([told(9, Block::Node, &[0]), told(9, Block::Name, b"bcd")]);
            let whole = Note { sectors, ..Note::default() }.encode(WRITER);
            let read = Note::parse(WRITER, &whole[..cut.min(whole.len() - 1)]);
            prop_assert!(read.is_none_or(|note| note.sectors.len() < 2));
        }
    }
}
