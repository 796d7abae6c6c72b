//! What comes in by a link: the first byte of a datagram, heads and parts of messages, trains and
//! their reports. Nothing panics, no message is given twice, and memory stays within its bounds.
#![no_main]

use std::{collections::BTreeSet, time::Duration};

use fanfare_link::{
    demux::{Content, content},
    messages::{
        SIZE_MAX,
        head::{Body, HEAD_MAX, Head},
        inbox::Inbox,
        parts::Parts,
    },
    trains::{Capacity, Place, Trains},
    varint,
};
use fanfare_proto::Time;
use libfuzzer_sys::fuzz_target;

const ROUND_TRIP: Duration = Duration::from_millis(100);

fuzz_target!(|input: &[u8]| {
    let quic = content(input) == Content::Quic;
    assert!(input.first().is_none_or(|first| (first & 0x40 != 0) == quic));
    number(input);
    measure(input);
    hear(input);
});

/// A number that was read is written in no more bytes than it came in.
fn number(input: &[u8]) {
    let mut rest = input;
    if let Some(number) = varint::take(&mut rest) {
        let mut again = Vec::new();
        varint::put(number, &mut again);
        assert!(again.len() <= input.len() - rest.len());
        assert_eq!(varint::take(&mut again.as_slice()), Some(number));
    }
}

/// Trains of the other end, and what it says of ours.
fn measure(mut input: &[u8]) {
    let _ = Capacity::parse(input);
    let (mut trains, mut now) = (Trains::default(), Time::ZERO);
    while let Some((&[wait, length], rest)) = input.split_first_chunk() {
        let (piece, behind) = rest.split_at(rest.len().min(usize::from(length)));
        input = behind;
        now = now + Duration::from_micros(u64::from(wait) * 100);
        let Some(place) = Place::parse(piece) else { continue };
        trains.on_datagram(now, place, piece.len());
        if let Some(capacity) = trains.capacity(now) {
            assert_eq!(Capacity::parse(&capacity.to_bytes()), Some(capacity));
        }
    }
}

/// Messages of a peer that says what it wants: milliseconds, length, then head and bytes.
fn hear(mut input: &[u8]) {
    let (mut inbox, mut parts, mut now) = (Inbox::default(), Parts::default(), Time::ZERO);
    let (mut given, mut said) = (BTreeSet::new(), 0);
    while let Some((&[wait, length], rest)) = input.split_first_chunk() {
        let (mut piece, behind) = rest.split_at(rest.len().min(usize::from(length)));
        input = behind;
        now = now + Duration::from_millis(u64::from(wait));
        for (class, tag) in parts.expire(now) {
            inbox.on_incomplete(class, tag);
        }
        let Some((head, body)) = Head::take(&mut piece) else { continue };
        let mut again = Vec::new();
        head.write(body, &mut again);
        assert!(again.len() <= HEAD_MAX + 2);
        assert_eq!(Head::take(&mut again.as_slice()), Some((head, body)));
        let whole = match body {
            Body::Whole(length) => {
                assert!(length <= SIZE_MAX);
                Some(piece.to_vec())
            }
            Body::Part(part, parts_of) if !inbox.has(head.number) => {
                parts.on_part((now, ROUND_TRIP), head, (part, parts_of), piece)
            }
            Body::Part(..) => None,
        };
        said += piece.len();
        if let Some(bytes) = whole {
            let _ = inbox.on_message(head, bytes);
        }
        while let Some(message) = inbox.poll() {
            assert!(message.bytes.len() <= said);
            assert!(given.insert(message.number), "given twice: {}", message.number);
        }
    }
}
