//! A compact NACK for a publisher that cannot hear anyone. It leaves out what NORM_NACK says to the
//! sender alone, and has bitmaps where NORM_NACK has eight bytes for each item.
//!
//! ```text
//! publisher (32) | instance (16) | how (8) | per level: level (8) | numbers, see `bitmap`
//! how:    02 of symbols over GF(2^16); 0c encoding id: 5 or 2
//! level:  as in NORM_NACK: 01 symbols, numbered object (16) | block (8) | symbol (8); 02 blocks: object (16) | block (8);
//!         04 descriptions and 08 objects: object (16)
//! ```
//!
//! A node that receives one expands it to a NACK and treats it as such.

use crate::message::{frames::bitmap, frames::compact_info::CODES, frames::varint::array};
use alloc::{collections::BTreeSet, vec::Vec};
use fanfare_proto::NodeId;
use fanfare_wire::{
    EncodingSymbolId, FecId, FecPayloadId, FieldSize, InstanceId, Nack, ObjectTransportId,
    RepairForm, RepairLevel, Sequence, SourceBlockNumber,
    header::FeedbackFields,
    nack::{RepairRequests, RequestWriter},
};

/// Bytes of the requests of the NACK that is made of one: as of the session's own that tell all, with segments of
/// 1400. With one segment's, who lacked 300 symbols requested the first 170, and of these again only for what does not
/// follow.
pub const NACK_MAX: usize = 8 * 1400;
/// Numbers of one level, what is more is requested the next time: more than a NACK of that length has items, most of
/// them runs.
const NUMBERS_MAX: usize = 4096;
/// What goes first where not all has room: of what is not described nothing else is requested.
const BY_NEED: [usize; LEVELS.len()] = [2, 3, 1, 0];
const LEVELS: [u8; 4] =
    [RepairLevel::SEGMENT, RepairLevel::BLOCK, RepairLevel::INFO, RepairLevel::OBJECT];
/// Publisher, instance, how.
const HEADER: usize = 7;
const WIDE: u8 = 0x02;
const CODE_SHIFT: u8 = 2;
const KNOWN: u8 = 0x0e;

/// Appends what this NACK says, as a frame's content of at most `room` bytes, the oldest first; `false` when it cannot
/// be said this way.
pub fn append(nack: &Nack<'_>, coding: (FecId, FieldSize), room: usize, out: &mut Vec<u8>) -> bool {
    let (fec_id, field) = coding;
    let code = CODES.iter().position(|id| *id == fec_id).unwrap_or(0) as u8;
    if fec_id == FecId::SmallBlockSystematic {
        return false;
    }
    let wide = if field == FieldSize::M16 { WIDE } else { 0 };
    out.extend_from_slice(&nack.feedback.server_id.0.to_be_bytes());
    out.extend_from_slice(&nack.feedback.instance_id.0.to_be_bytes());
    out.push(code << CODE_SHIFT | wide);
    let Some(lists) = numbers(nack, field) else { return false };
    let mut lists = lists.map(|numbers| numbers.into_iter().collect::<Vec<u32>>());
    let mut room = room.saturating_sub(HEADER);
    for at in BY_NEED {
        let numbers = &mut lists[at];
        begin_at(first_of(nack, at), numbers);
        numbers.truncate(bitmap::within(numbers, room.saturating_sub(1)));
        if !numbers.is_empty() {
            room -= 1 + bitmap::len(numbers);
        }
    }
    let told = LEVELS.iter().zip(&lists).filter(|(_, numbers)| !numbers.is_empty());
    for (level, numbers) in told {
        out.push(*level);
        bitmap::append(numbers, out);
    }
    lists.iter().any(|numbers| !numbers.is_empty())
}

/// The least number of the object that it requests first.
fn first_of(nack: &Nack<'_>, at: usize) -> u32 {
    let request = nack.requests.iter().find(|request| request.level.0 == LEVELS[at]);
    let first = request.and_then(|request| request.iter().next());
    let object = first.map_or(0, |item| u32::from(item.object_transport_id.0));
    match LEVELS[at] {
        RepairLevel::SEGMENT => object << 16,
        RepairLevel::BLOCK => object << 8,
        _ => object,
    }
}

/// Object ids wrap: what is less follows what is more.
fn begin_at(first: u32, numbers: &mut [u32]) {
    let less = numbers.partition_point(|number| *number < first);
    numbers.rotate_left(less);
}

/// What it requests, for each of the levels.
fn numbers(nack: &Nack<'_>, field: FieldSize) -> Option<[BTreeSet<u32>; LEVELS.len()]> {
    let mut lists: [BTreeSet<u32>; LEVELS.len()] = Default::default();
    for request in nack.requests.iter() {
        let at = LEVELS.iter().position(|level| *level == request.level.0)?;
        if request.form == RepairForm::Erasures {
            return None;
        }
        for (first, last) in request.ranges() {
            let (a, b) = (first.id(field), last.id(field));
            let objects = (first.object_transport_id.0, last.object_transport_id.0);
            let one = objects.0 == objects.1;
            let small = |id: FecPayloadId| id.block.0 <= 0xff && id.symbol.0 <= 0xff;
            let object = u32::from(objects.0);
            let room = NUMBERS_MAX.saturating_sub(lists[at].len());
            match LEVELS[at] {
                RepairLevel::SEGMENT if one && a.block == b.block && small(a) && small(b) => {
                    let base = object << 16 | a.block.0 << 8;
                    let symbols = a.symbol.0..=b.symbol.0;
                    lists[at].extend(symbols.map(|s| base | u32::from(s)).take(room));
                }
                RepairLevel::BLOCK if one && small(a) && small(b) => {
                    let blocks = a.block.0..=b.block.0;
                    lists[at].extend(blocks.map(|block| object << 8 | block).take(room));
                }
                RepairLevel::INFO | RepairLevel::OBJECT => {
                    let span = u32::from(objects.1.wrapping_sub(objects.0));
                    let steps = (0..=span).take(room);
                    lists[at].extend(steps.map(|step| object.wrapping_add(step) & 0xffff));
                }
                _ => return None,
            }
        }
    }
    Some(lists)
}

/// The NORM_NACK that `from` would have sent; `None` when the bytes contradict themselves. What no NACK has
/// room for is left out.
pub fn expand(from: NodeId, mut bytes: &[u8]) -> Option<Vec<u8>> {
    let server_id = NodeId(u32::from_be_bytes(array(&mut bytes)?));
    let instance_id = InstanceId(u16::from_be_bytes(array(&mut bytes)?));
    let [how] = array(&mut bytes)?;
    let fec_id = *CODES.get(usize::from(how >> CODE_SHIFT))?;
    if how & !KNOWN != 0 || fec_id == FecId::SmallBlockSystematic {
        return None;
    }
    let field = if how & WIDE == 0 { FieldSize::M8 } else { FieldSize::M16 };
    let mut writer = RequestWriter::new(fec_id, field, NACK_MAX);
    while !bytes.is_empty() {
        let [level] = array(&mut bytes)?;
        if !LEVELS.contains(&level) {
            return None;
        }
        let numbers = bitmap::parse(&mut bytes, u32::MAX, NUMBERS_MAX)?;
        // Runs of what has the same number of bits above these.
        let apart = match level {
            RepairLevel::SEGMENT | RepairLevel::BLOCK => 8,
            _ => 16,
        };
        let follows = |a: &u32, b: &u32| a.wrapping_add(1) == *b && a >> apart == b >> apart;
        for run in numbers.chunk_by(follows) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let (first, last) = (place(level, *first), place(level, *last));
            let level = RepairLevel(level);
            // What does not fit is requested again.
            _ = match run.len() {
                1 => writer.item(level, first.0, first.1),
                _ => writer.range(level, (first.0, last.0), first.1, last.1),
            };
        }
    }
    let requests = writer.finish();
    let feedback = FeedbackFields {
        sequence: Sequence(0),
        source_id: from,
        server_id,
        instance_id,
        grtt_response: None,
    };
    let (extensions, none) = (Default::default(), RepairRequests::parse(&[]).ok()?);
    let mut out = Vec::new();
    Nack { feedback, extensions, requests: none }.encode(None, &requests, &mut out);
    (!requests.is_empty()).then_some(out)
}

/// Object and payload id of a number.
fn place(level: u8, number: u32) -> (ObjectTransportId, FecPayloadId) {
    let (object, block, symbol) = match level {
        RepairLevel::SEGMENT => (number >> 16, number >> 8 & 0xff, number & 0xff),
        RepairLevel::BLOCK => (number >> 8, number & 0xff, 0),
        _ => (number, 0, 0),
    };
    let (block, symbol) = (SourceBlockNumber(block), EncodingSymbolId(symbol as u16));
    (ObjectTransportId(object as u16), FecPayloadId { block, block_len: 0, symbol })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::Message;
    use proptest::prelude::*;

    const FROM: NodeId = NodeId(7);

    fn written(fill: impl FnOnce(&mut RequestWriter)) -> Vec<u8> {
        let mut writer = RequestWriter::new(FecId::ReedSolomon8, FieldSize::M8, NACK_MAX);
        fill(&mut writer);
        let feedback = FeedbackFields {
            sequence: Sequence(0),
            source_id: FROM,
            server_id: NodeId(0x0a00_0001),
            instance_id: InstanceId(0x1234),
            grtt_response: None,
        };
        let (extensions, requests) = (Default::default(), RepairRequests::parse(&[]).unwrap());
        let mut out = Vec::new();
        Nack { feedback, extensions, requests }.encode(None, &writer.finish(), &mut out);
        out
    }
    fn short(nack: &[u8]) -> Option<Vec<u8>> {
        let Ok(Message::Nack(nack)) = Message::parse(nack) else { panic!("a NACK") };
        let mut out = Vec::new();
        append(&nack, (FecId::ReedSolomon8, FieldSize::M8), 1400, &mut out).then_some(out)
    }
    fn asked(nack: &[u8]) -> Vec<(u8, BTreeSet<u32>)> {
        let Ok(Message::Nack(nack)) = Message::parse(nack) else { panic!("a NACK") };
        LEVELS.into_iter().zip(numbers(&nack, FieldSize::M8).unwrap()).collect()
    }
    fn at(level: u8, number: u32) -> (ObjectTransportId, FecPayloadId) {
        place(level, number)
    }

    #[test]
    fn golden_bytes_of_a_nack_for_symbols_and_a_run_of_objects() {
        let nack = written(|writer| {
            let segment = RepairLevel(RepairLevel::SEGMENT);
            for number in [0x0005_0003, 0x0005_0004, 0x0006_0000] {
                let (object, id) = at(RepairLevel::SEGMENT, number);
                writer.item(segment, object, id);
            }
            let ((first, id), (last, _)) =
                (at(RepairLevel::OBJECT, 9), at(RepairLevel::OBJECT, 12));
            writer.range(RepairLevel(RepairLevel::OBJECT), (first, last), id, id);
        });
        let golden = [
            &[0x0a, 0, 0, 1, 0x12, 0x34, 0x00][..],
            &[1, 2, 0x83, 0x80, 0x14, 1, 0xc0, 0xfc, 0xff, 3, 1, 0x80],
            &[8, 1, 9, 1, 0xf0],
        ];
        let short = short(&nack).unwrap();
        assert_eq!(short, golden.concat());
        assert_eq!(asked(&expand(FROM, &short).unwrap()), asked(&nack));
        let again = expand(FROM, &short).unwrap();
        let Ok(Message::Nack(again)) = Message::parse(&again) else { panic!("a NACK") };
        assert_eq!((again.feedback.source_id, again.feedback.server_id.0), (FROM, 0x0a00_0001));
    }

    #[test]
    fn what_it_cannot_say_is_left_to_a_nack() {
        let beyond = written(|writer| {
            let (object, id) = at(RepairLevel::SEGMENT, 5 << 16);
            let id = FecPayloadId { block: SourceBlockNumber(256), ..id };
            writer.item(RepairLevel(RepairLevel::SEGMENT), object, id);
        });
        assert_eq!(short(&beyond), None);
        let both = written(|writer| {
            let (object, id) = at(RepairLevel::OBJECT, 5);
            writer.item(RepairLevel(RepairLevel::OBJECT | RepairLevel::INFO), object, id);
        });
        assert_eq!(short(&both), None);
    }

    #[test]
    fn of_more_than_it_may_name_the_first_are_named() {
        let nack = written(|writer| {
            let ((first, id), (last, _)) =
                (at(RepairLevel::INFO, 10), at(RepairLevel::INFO, 9_000));
            writer.range(RepairLevel(RepairLevel::INFO), (first, last), id, id);
        });
        let all = asked(&expand(FROM, &short(&nack).unwrap()).unwrap());
        assert_eq!(all[2].1, (10..10 + NUMBERS_MAX as u32).collect());
    }

    #[test]
    fn where_object_ids_wrap_the_oldest_are_named_first() {
        for (level, shift) in [(RepairLevel::SEGMENT, 16), (RepairLevel::BLOCK, 8)] {
            let objects = (0..40_u32).map(|n| (65_516 + n) & 0xffff).collect::<Vec<_>>();
            let nack = written(|writer| {
                for number in &objects {
                    let (object, id) = at(level, *number << shift);
                    writer.item(RepairLevel(level), object, id);
                }
            });
            let Ok(Message::Nack(parsed)) = Message::parse(&nack) else { panic!("a NACK") };
            let told = |room| {
                let mut out = Vec::new();
                assert!(append(&parsed, (FecId::ReedSolomon8, FieldSize::M8), room, &mut out));
                let at = LEVELS.iter().position(|other| *other == level).unwrap();
                asked(&expand(FROM, &out).unwrap())[at].1.clone()
            };
            let all = |count| objects[..count].iter().map(|object| object << shift).collect();
            assert_eq!(told(1400), all(40), "{level}");
            let few = told(60);
            assert!((5..20).contains(&few.len()) && few == all(few.len()), "{level} {few:?}");
        }
    }

    #[test]
    fn what_ends_within_or_names_an_unknown_level_is_refused() {
        let good = [0, 0, 0, 1, 0, 1, 0, 4, 1, 9, 1, 0x80];
        assert!(expand(FROM, &good).is_some());
        assert!((0..good.len()).all(|end| expand(FROM, &good[..end]).is_none()));
        for (place, byte) in [(6, 0x08), (6, 0x01), (6, 0x10), (7, 3)] {
            let mut bad = good;
            bad[place] = byte;
            assert_eq!(expand(FROM, &bad), None, "{place} {byte}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic_and_make_a_nack_of_bounded_length(bytes: Vec<u8>) {
            if let Some(nack) = expand(FROM, &bytes) {
                prop_assert!(matches!(Message::parse(&nack), Ok(Message::Nack(_))));
                prop_assert!(nack.len() <= 24 + NACK_MAX);
            }
        }

        #[test]
        fn any_nack_that_can_be_said_is_said(
            symbols in proptest::collection::btree_set(any::<u32>(), 0..40),
            infos in proptest::collection::btree_set(any::<u16>(), 0..40),
        ) {
            let nack = written(|writer| {
                for (level, number) in symbols.iter().map(|n| (RepairLevel::SEGMENT, *n)).chain(infos.iter().map(|n| (RepairLevel::INFO, u32::from(*n)))) {
                    let (object, id) = at(level, number);
                    writer.item(RepairLevel(level), object, id);
                }
            });
            if let Some(short) = short(&nack).filter(|_| !symbols.is_empty() || !infos.is_empty()) {
                prop_assert_eq!(asked(&expand(FROM, &short).unwrap()), asked(&nack));
            }
        }
    }
}
