//! Short messages of others in a compact form. It leaves out what a receiver does not need from the
//! NORM_INFO and EXT_FTI of an object without bytes. Several messages travel in one datagram.
//!
//! ```text
//! per message: how (8) | length of what follows (varint) if 80
//!              | node id (32) | instance (16); in a report, if 10, their reference (24)
//!              | object (16)
//!              | grtt (8) | backoff (4) gsize (4) if 02 | objects before (8) if 10 and not 20
//!              | description from its flags on
//! how: 01 it was requested; 02 the origin's timing differs from the sending node's, or no command says it;
//!      0c encoding id: 5, 2 or 129; 10 its topic is that of an object before; 20 of the one before it;
//!      40 and its number one more; 80 another message follows: the last one goes to the end
//! ```
//!
//! The description is what the NORM_INFO has after "FG" and the version (see `description`). If the
//! topic is that of an earlier object of the origin, the description has no topic. If the number is
//! one more than that object's, it has no number either. A receiver without that object requests
//! this one. A receiver that has it knows the origin, so in a report a 24-bit reference names the
//! origin and its timing is left out. The reference is a digest of node id and instance. In about
//! one of 800 groups with 200 origins, two origins have the same reference. A node that knows both
//! names them in full.

use crate::message::{
    description::{self, PREFIX},
    frames::slice,
    frames::varint::{array, put, split, take},
    topic::Topic,
};
use alloc::vec::Vec;
use fanfare_proto::{NodeId, ObjectKey, SenderSummary};
use fanfare_wire::{
    FecId, GroupSize, InstanceId, ObjectTransportId, QuantizedRtt, header::SenderFields,
};

const ASKED: u8 = 0x01;
const TIMING: u8 = 0x02;
/// Encoding ids that a compact form can name, by their number.
pub const CODES: [FecId; 3] =
    [FecId::ReedSolomon8, FecId::ReedSolomonM, FecId::SmallBlockSystematic];
const CODE_SHIFT: u8 = 2;
const CODE: u8 = 0x0c;
const LIKE: u8 = 0x10;
const NEXT: u8 = 0x20;
const COUNTED: u8 = 0x40;
const FOLLOWED: u8 = 0x80;
/// Where the number stands in a NORM_INFO: behind the flags.
const NUMBER: usize = PREFIX.len() + 1;
/// Bytes of a message's length where others follow: a datagram has fewer than 2^14.
const LENGTH: usize = 2;

/// An object of the same origin and topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SameTopic {
    /// So many objects before.
    pub before: u8,
    /// The message's number is one more than its.
    pub counted: bool,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactInfo {
    /// Somebody asked for it.
    pub asked: bool,
    /// Whose it is, and as the newest which object.
    pub summary: SenderSummary,
    /// Its topic is that of another.
    pub like: Option<SameTopic>,
    /// Its NORM_INFO, without the topic where it is that of another, nor a number that follows.
    info: Vec<u8>,
}

/// GRTT, back-off and group size of an origin.
pub type Timing = (QuantizedRtt, u8, GroupSize);

/// What a frame of them travels in decides what has to be said of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Envelope {
    /// A command, which says this of its speaker.
    Command(Timing),
    /// A report, which says nothing of it.
    Report,
}

impl Envelope {
    /// As a command of this sender has it.
    pub fn command(speaker: &SenderFields) -> Self {
        Self::Command((speaker.grtt, speaker.backoff, speaker.gsize))
    }
}

/// An instance of an origin in few bytes, for who knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference([u8; 3]);

impl Reference {
    /// Of this instance of a sender.
    pub fn of(sender: NodeId, instance: InstanceId) -> Self {
        let first = ObjectKey { sender, instance, object: ObjectTransportId(0) };
        let [_, low @ ..] = slice::digest(NodeId::NONE, first, 0).to_be_bytes();
        Self(low)
    }
}

/// The origin that is meant, if it is known here.
pub type Known<'a> = &'a mut dyn FnMut(Reference) -> Option<SenderSummary>;

impl CompactInfo {
    /// `None` when `info` is no description that can be told this way.
    pub fn new(
        asked: bool,
        summary: SenderSummary,
        info: &[u8],
        like: Option<SameTopic>,
    ) -> Option<Self> {
        let mut info = info.strip_prefix(&PREFIX).map(|_| info.to_vec())?;
        if let Some(SameTopic { counted, .. }) = like {
            let at = description::topic_at(&info)?;
            let end = at + 1 + usize::from(*info.get(at)?);
            if end > info.len() {
                return None;
            }
            info.drain(at..end);
            let mut rest = &info[NUMBER..];
            take(&mut rest)?;
            let behind = info.len() - rest.len();
            if counted {
                info.drain(NUMBER..behind);
            }
        }
        Some(Self { asked, summary, like, info })
    }

    /// The whole NORM_INFO; topic and number are of the object that it is like, if any. `None` where that is not known.
    pub fn info(&self, other: Option<(&Topic, u64)>) -> Option<Vec<u8>> {
        let mut info = self.info.clone();
        if let Some(SameTopic { counted, .. }) = self.like {
            let (topic, number) = other?;
            if counted && info.len() >= NUMBER {
                let mut bytes = Vec::new();
                put(number.checked_add(1)?, &mut bytes);
                info.splice(NUMBER..NUMBER, bytes);
            }
            let (at, topic) = (description::topic_at(&info)?, topic.as_str().as_bytes());
            info.splice(at..at, [topic.len() as u8].into_iter().chain(topic.iter().copied()));
        }
        Some(info)
    }

    /// The object that it describes.
    pub fn key(&self) -> ObjectKey {
        let SenderSummary { sender, instance, newest: object, .. } = self.summary;
        ObjectKey { sender, instance, object }
    }

    /// Bytes that it has at most, in a frame with others.
    pub fn room(&self) -> usize {
        LENGTH + 1 + 4 + 2 + 2 + 2 + 1 + self.info.len() - PREFIX.len()
    }

    /// Whether its origin is named by reference.
    fn is_referred(&self, envelope: Envelope) -> bool {
        envelope == Envelope::Report && self.like.is_some()
    }

    /// What goes before its length, if any.
    fn how(&self, envelope: Envelope) -> u8 {
        let code = CODES.iter().position(|id| *id == self.summary.fec_id).unwrap_or(0) as u8;
        let flag = |set, bit| if set { bit } else { 0 };
        let next = self.like.is_some_and(|like| like.before == 1);
        flag(self.asked, ASKED)
            | flag(self.is_timed(envelope), TIMING)
            | code << CODE_SHIFT
            | flag(self.like.is_some(), LIKE)
            | flag(next, NEXT)
            | flag(self.like.is_some_and(|like| like.counted), COUNTED)
    }

    /// Its origin's timing has to be told.
    fn is_timed(&self, envelope: Envelope) -> bool {
        let SenderSummary { grtt, backoff, gsize, .. } = self.summary;
        match envelope {
            Envelope::Command(speaker) => (grtt, backoff, gsize) != speaker,
            Envelope::Report => !self.is_referred(envelope),
        }
    }

    fn append(&self, envelope: Envelope, out: &mut Vec<u8>) {
        let SenderSummary { sender, instance, grtt, backoff, gsize, newest, .. } = self.summary;
        if self.is_referred(envelope) {
            out.extend_from_slice(&Reference::of(sender, instance).0);
        } else {
            out.extend_from_slice(&sender.0.to_be_bytes());
            out.extend_from_slice(&instance.0.to_be_bytes());
        }
        out.extend_from_slice(&newest.0.to_be_bytes());
        if self.is_timed(envelope) {
            out.extend_from_slice(&[grtt.0, backoff << 4 | gsize.0 & 0x0f]);
        }
        out.extend(self.like.map(|like| like.before).filter(|before| *before != 1));
        out.extend_from_slice(&self.info[PREFIX.len()..]);
    }

    /// `None` when it contradicts itself; nothing in it when its origin is not known.
    fn parse(
        how: u8,
        (envelope, known): (Envelope, Known<'_>),
        mut bytes: &[u8],
    ) -> Option<Option<Self>> {
        let referred = envelope == Envelope::Report && how & LIKE != 0;
        let (origin, timing) = if referred {
            let summary = known(Reference(array(&mut bytes)?));
            let timing = summary.map(|r| (r.grtt, r.backoff, r.gsize));
            (summary.map(|r| (r.sender, r.instance)), timing)
        } else {
            let sender = NodeId(u32::from_be_bytes(array(&mut bytes)?));
            let instance = InstanceId(u16::from_be_bytes(array(&mut bytes)?));
            let timing = match envelope {
                Envelope::Command(timing) => Some(timing),
                Envelope::Report => None,
            };
            (Some((sender, instance)), timing)
        };
        let newest = ObjectTransportId(u16::from_be_bytes(array(&mut bytes)?));
        let timing = match how & TIMING {
            0 => timing,
            _ => {
                let [grtt, nibbles] = array(&mut bytes)?;
                Some((QuantizedRtt(grtt), nibbles >> 4, GroupSize(nibbles & 0x0f)))
            }
        };
        let before = match (how & LIKE != 0, how & NEXT != 0) {
            (true, true) => Some(1),
            (true, false) => Some(array::<1>(&mut bytes)?[0]).filter(|before| *before > 1),
            (false, _) => None,
        };
        let like = before.map(|before| SameTopic { before, counted: how & COUNTED != 0 });
        let fec_id = *CODES.get(usize::from((how & CODE) >> CODE_SHIFT))?;
        // Without another object nothing is like it.
        if like.is_none() && how & (LIKE | NEXT | COUNTED) != 0 {
            return None;
        }
        let Some((sender, instance)) = origin else { return Some(None) };
        let (grtt, backoff, gsize) = timing?;
        let summary = SenderSummary { sender, instance, grtt, backoff, gsize, fec_id, newest };
        let info = [&PREFIX, bytes].concat();
        Some(Some(Self { asked: how & ASKED != 0, summary, like, info }))
    }
}

/// Appends them, as one frame's content.
pub fn append(compacts: &[CompactInfo], envelope: Envelope, out: &mut Vec<u8>) {
    let Some((last, others)) = compacts.split_last() else { return };
    for compact in others {
        let mut bytes = Vec::new();
        compact.append(envelope, &mut bytes);
        out.push(compact.how(envelope) | FOLLOWED);
        put(bytes.len() as u64, out);
        out.extend_from_slice(&bytes);
    }
    out.push(last.how(envelope));
    last.append(envelope, out);
}

/// Reads a frame's content; `None` when it contradicts itself, and in its place for one whose origin is not known.
pub fn parse(
    envelope: Envelope,
    known: Known<'_>,
    mut bytes: &[u8],
) -> Option<Vec<Option<CompactInfo>>> {
    let mut compacts = Vec::new();
    loop {
        let [how] = array(&mut bytes)?;
        if how & FOLLOWED == 0 {
            compacts.push(CompactInfo::parse(how, (envelope, known), bytes)?);
            return Some(compacts);
        }
        let length = usize::try_from(take(&mut bytes)?).ok()?;
        let body = split(&mut bytes, length)?;
        compacts.push(CompactInfo::parse(how & !FOLLOWED, (envelope, known), body)?);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Description, Options, Topic};
    use alloc::vec;
    use fanfare_wire::Sequence;
    use proptest::prelude::*;

    fn summary(newest: u16) -> SenderSummary {
        SenderSummary {
            sender: NodeId(0x0a00_0001),
            instance: InstanceId(0x1234),
            grtt: QuantizedRtt(0xa6),
            backoff: 4,
            gsize: GroupSize(2),
            fec_id: FecId::ReedSolomon8,
            newest: ObjectTransportId(newest),
        }
    }

    /// By the formula in docs/reference/group-protocol.md, from node 0x0a000001 and instance 0x1234.
    const GOLDEN_REFERENCE: [u8; 3] = [0x8b, 0x32, 0x41];

    fn speaker() -> SenderFields {
        SenderFields {
            sequence: Sequence(7),
            source_id: NodeId(9),
            instance_id: InstanceId(1),
            grtt: QuantizedRtt(0xa6),
            backoff: 4,
            gsize: GroupSize(2),
        }
    }
    fn compact(content: &[u8]) -> CompactInfo {
        let topic = Topic::new("a/b").unwrap();
        let content = Some(content.to_vec());
        let info =
            Description { topic, number: 300, options: Options::default(), batch: None, content };
        CompactInfo::new(false, summary(5), &info.encode(), None).unwrap()
    }
    fn bytes(compacts: &[CompactInfo]) -> Vec<u8> {
        carried(compacts, Envelope::command(&speaker()))
    }
    fn carried(compacts: &[CompactInfo], envelope: Envelope) -> Vec<u8> {
        let mut out = Vec::new();
        append(compacts, envelope, &mut out);
        out
    }
    /// From a command.
    fn command(bytes: &[u8]) -> Option<Vec<CompactInfo>> {
        let nobody: Known<'_> = &mut |_| None;
        let compacts = parse(Envelope::command(&speaker()), nobody, bytes)?;
        Some(compacts.into_iter().map(|compact| compact.expect("it names its origin")).collect())
    }
    /// From a report, to who knows some of the origins.
    fn read_report(bytes: &[u8], origins: &[SenderSummary]) -> Option<Vec<Option<CompactInfo>>> {
        let meant =
            |r: &&SenderSummary, reference| Reference::of(r.sender, r.instance) == reference;
        let known: Known<'_> =
            &mut |reference| origins.iter().find(|r| meant(r, reference)).copied();
        parse(Envelope::Report, known, bytes)
    }

    #[test]
    fn golden_bytes_of_two_messages_of_which_one_has_another_timing() {
        let slow = SenderSummary { backoff: 6, fec_id: FecId::ReedSolomonM, ..summary(6) };
        let two = [CompactInfo { asked: true, summary: slow, ..compact(b"xy") }, compact(b"z")];
        let golden = [
            &[0x87, 19, 0x0a, 0, 0, 1, 0x12, 0x34, 0, 6, 0xa6, 0x62, 0x20, 0xac, 2, 3][..],
            b"a/bxy",
            &[0x00, 0x0a, 0, 0, 1, 0x12, 0x34, 0, 5, 0x20, 0xac, 2, 3],
            b"a/bz",
        ];
        assert_eq!(bytes(&two), golden.concat());
        assert_eq!(command(&bytes(&two)), Some(two.to_vec()));
    }

    fn like(before: u8, counted: bool) -> (CompactInfo, Vec<u8>) {
        let info = compact(b"xy").info(None).unwrap();
        let like = Some(SameTopic { before, counted });
        (CompactInfo::new(false, summary(5), &info, like).unwrap(), info)
    }

    #[test]
    fn golden_bytes_of_a_message_that_has_the_topic_of_another() {
        let topic = Topic::new("a/b").unwrap();
        let (other, info) = like(9, false);
        let golden = [0x10, 0x0a, 0, 0, 1, 0x12, 0x34, 0, 5, 9, 0x20, 0xac, 2, b'x', b'y'];
        assert_eq!(bytes(&[other]), golden);
        let read = command(&golden).unwrap().remove(0);
        assert_eq!(read.info(Some((&topic, 7))), Some(info));
        assert_eq!((read.like.unwrap().before, read.info(None)), (9, None));
        for before in [0, 1] {
            let mut bad = golden;
            bad[9] = before;
            assert_eq!(command(&bad), None, "itself, or said in another way");
        }
    }

    #[test]
    fn golden_bytes_of_a_message_that_follows_the_one_before_have_neither_topic_nor_number() {
        let topic = Topic::new("a/b").unwrap();
        let (next, info) = like(1, true);
        let golden = [0x70, 0x0a, 0, 0, 1, 0x12, 0x34, 0, 5, 0x20, b'x', b'y'];
        assert_eq!(bytes(&[next]), golden);
        let read = command(&golden).unwrap().remove(0);
        assert_eq!(read.info(Some((&topic, 299))), Some(info));
        assert_eq!(read.info(Some((&topic, u64::MAX))), None, "there is no such number");
        let cut = command(&golden[..9]).unwrap().remove(0);
        assert_eq!(cut.info(Some((&topic, 299))), None, "it has no flags");
    }

    #[test]
    fn golden_bytes_in_a_report_name_an_origin_in_full_or_by_reference_and_then_say_no_timing() {
        let (next, _) = like(1, true);
        let (id, origin) =
            (Reference::of(next.summary.sender, next.summary.instance).0, next.summary);
        assert_eq!(id, GOLDEN_REFERENCE);
        let golden = [&[0x70][..], &id, &[0, 5, 0x20, b'x', b'y']].concat();
        let report =
            |compact: &CompactInfo| carried(core::slice::from_ref(compact), Envelope::Report);
        assert_eq!(report(&next), golden);
        assert_eq!(read_report(&golden, &[origin]), Some(vec![Some(next)]));
        assert_eq!(read_report(&golden, &[]), Some(vec![None]));
        assert_eq!(read_report(&golden[..5], &[origin]), None);
        let full = compact(b"z");
        let golden =
            [&[0x02, 0x0a, 0, 0, 1, 0x12, 0x34, 0, 5, 0xa6, 0x42, 0x20, 0xac, 2, 3][..], b"a/bz"]
                .concat();
        assert_eq!(report(&full), golden);
        assert_eq!(read_report(&golden, &[]), Some(vec![Some(full)]));
        let untimed = [&[0x00][..], &golden[1..9], &golden[11..]].concat();
        assert_eq!(read_report(&untimed, &[origin]), None, "nothing says its timing");
    }

    #[test]
    fn what_is_unknown_in_a_report_does_not_keep_the_others_from_being_read() {
        let (next, _) = like(1, true);
        let both = carried(&[next, compact(b"z")], Envelope::Report);
        assert_eq!(read_report(&both, &[]), Some(vec![None, Some(compact(b"z"))]));
    }

    #[test]
    fn a_message_has_no_more_bytes_than_it_asks_room_for() {
        for content in [0, 100, 1300] {
            let compact = compact(&vec![7; content]);
            assert!(bytes(&[compact.clone(), compact.clone()]).len() <= 2 * compact.room());
        }
    }

    #[test]
    fn what_ends_within_a_message_or_says_what_is_not_known_is_refused() {
        let good = bytes(&[compact(b"xy"), compact(b"")]);
        // The last one's description may end anywhere: it says itself whether that is right.
        let fixed = good.len() - compact(b"").info.len() + PREFIX.len();
        assert!((0..fixed).all(|length| command(&good[..length]).is_none()));
        for how in [0x20, 0x40, 0x0c] {
            let mut bad = good.clone();
            bad[0] = 0x80 | how;
            assert_eq!(command(&bad), None, "{how}");
        }
        assert_eq!(CompactInfo::new(false, summary(1), b"holiday.jpg", None), None);
    }

    proptest! {
        #[test]
        fn any_messages_come_back(
            list in proptest::collection::vec((any::<(bool, u32, u16, u16)>(), any::<(u8, u8)>(),
                (0..3_usize, proptest::option::of((1..=255_u8, any::<bool>()))), any::<Vec<u8>>()), 1..9)
        ) {
            let compacts: Vec<CompactInfo> = list.into_iter().map(|((asked, id, instance, object), (grtt, nibbles), (code, like), rest)| {
                let summary = SenderSummary {
                    sender: NodeId(id),
                    instance: InstanceId(instance),
                    grtt: QuantizedRtt(grtt),
                    backoff: nibbles >> 4,
                    gsize: GroupSize(nibbles & 0x0f),
                    fec_id: CODES[code],
                    newest: ObjectTransportId(object),
                };
                let like = like.map(|(before, counted)| SameTopic { before, counted });
                CompactInfo { asked, summary, like, info: [&PREFIX[..], &rest].concat() }
            }).collect();
            let origins: Vec<SenderSummary> = compacts.iter().map(|compact| compact.summary).collect();
            let report = read_report(&carried(&compacts, Envelope::Report), &origins).unwrap();
            let same = |(read, sent): (&Option<CompactInfo>, &CompactInfo)| {
                let read = read.as_ref().unwrap();
                (read.key(), read.like, &read.info) == (sent.key(), sent.like, &sent.info)
            };
            prop_assert!(report.iter().zip(&compacts).all(same));
            prop_assert_eq!(command(&bytes(&compacts)), Some(compacts));
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            command(&bytes);
            read_report(&bytes, &[summary(5)]);
        }
    }
}
