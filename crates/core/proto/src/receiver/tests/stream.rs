//! Streams: where a receiver begins, what it requests, and what a sender cannot make it do.

use super::*;
use crate::{DropReason, config::JoinPolicy, stream::StreamRead};
use fanfare_wire::StreamSymbol;

/// Blocks of 4 + 2, segments of 10 bytes; four blocks are promised.
const PROMISED: u64 = 4 * 4 * 10;
/// Bytes of a symbol of the stream of tests: its position is ten times its number.
fn symbol(index: u64) -> Vec<u8> {
    let mut symbol = StreamSymbol::header(10, Some(0), index as u32 * 10).to_vec();
    symbol.extend((0..10).map(|n| (index * 7 + n) as u8));
    symbol
}

impl Script {
    fn stream_fti() -> Fti {
        super::super::format::tests::small(PROMISED, 10)
    }

    fn flagged(&mut self, flags: u8, fti: Option<Fti>, at: (u32, u16), payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let data = Data {
            sender: self.fields(),
            flags: ObjectFlags(flags),
            object_transport_id: ObjectTransportId(0),
            payload_id: raw(at.0, at.1),
            extensions: Extensions::default(),
            payload: &[],
        };
        data.encode_header(fti.as_ref(), &mut out);
        out.extend_from_slice(payload);
        out
    }

    fn stream(&mut self, block: u32, number: u16) -> Vec<u8> {
        let payload = symbol(u64::from(block) * 4 + u64::from(number));
        let fti = Some(Self::stream_fti());
        self.flagged(ObjectFlags::STREAM, fti, (block, number), &payload)
    }

    fn raw_stream(&mut self, block: u32, number: u16, payload: &[u8]) -> Vec<u8> {
        let fti = Some(Self::stream_fti());
        self.flagged(ObjectFlags::STREAM, fti, (block, number), payload)
    }

    fn stream_squelch(&mut self, block: u32) -> Vec<u8> {
        let mut out = Vec::new();
        let squelch = Squelch {
            sender: self.fields(),
            object_transport_id: ObjectTransportId(0),
            payload_id: raw(block, 0),
            extensions: Extensions::default(),
            invalid_objects: ObjectIds::default(),
        };
        squelch.encode(&[], &mut out);
        out
    }
}

impl Harness {
    fn read(&mut self) -> StreamRead {
        let mut out = Vec::new();
        self.with(|senders, ctx| senders.read_stream(ctx, key(0), 1000, &mut out))
    }

    fn read_bytes(&mut self) -> Option<(u64, usize)> {
        match self.read() {
            StreamRead::Data { bytes, offset, .. } => Some((offset, bytes)),
            _ => None,
        }
    }

    fn dropped(&self, reason: DropReason) -> u64 {
        self.stats.dropped(reason)
    }
}

fn config(join: JoinPolicy) -> ReceiverConfig {
    ReceiverConfig { join, ..ReceiverConfig::default() }
}

fn joined(join: JoinPolicy) -> (Script, Harness) {
    (Script::new(), Harness::new(config(join)))
}

#[test]
fn from_now_begins_with_the_block_that_is_heard_and_requests_what_it_missed_of_it() {
    let (mut script, mut harness) = joined(JoinPolicy::FromNow);
    harness.hear(&script.stream(9, 2));
    harness.hear(&script.stream(9, 3));
    harness.hear(&script.stream(10, 0));
    harness.pass(GRTT * 10);
    assert_eq!(harness.asked(), ["0/9/4", "0/9/5"], "as much parity as is missing");
    assert_eq!(harness.read(), StreamRead::Empty);
    harness.hear(&script.stream(9, 0));
    harness.hear(&script.stream(9, 1));
    assert_eq!(harness.read_bytes(), Some((360, 50)));
}

#[test]
fn from_the_window_start_everything_that_is_promised_is_requested_and_nothing_before_it() {
    let (mut script, mut harness) = joined(JoinPolicy::ObjectStart);
    harness.hear(&script.stream(9, 0));
    harness.hear(&script.stream(10, 0));
    harness.pass(GRTT * 10);
    assert_eq!(harness.asked(), ["block 0/6 to block 0/8", "0/9/3 to 0/9/5"]);
    let (mut script, mut harness) = joined(JoinPolicy::ObjectStart);
    harness.hear(&script.stream(2, 0));
    harness.hear(&script.stream(3, 0));
    harness.pass(GRTT * 10);
    assert_eq!(harness.asked()[..2], ["block 0/0", "block 0/1"], "none before the first");
}

#[test]
fn of_a_block_that_may_not_be_full_symbols_are_requested_by_name_up_to_the_flushed_one() {
    let (mut script, mut harness) = joined(JoinPolicy::ObjectStart);
    harness.hear(&script.stream(0, 0));
    harness.hear(&script.flush(0, raw(0, 2), &[]));
    harness.pass(GRTT * 10);
    assert_eq!(harness.asked(), ["0/0/1", "0/0/2"]);
    harness.hear(&script.stream(0, 1));
    harness.hear(&script.stream(0, 2));
    harness.hear(&script.flush(0, raw(0, 2), &[]));
    harness.pass(GRTT * 20);
    assert_eq!(harness.asked(), [""; 0], "nothing is missing up to there");
}

#[test]
fn a_flush_beyond_the_block_or_far_ahead_requests_nothing() {
    let (mut script, mut harness) = joined(JoinPolicy::ObjectStart);
    harness.hear(&script.stream(0, 0));
    harness.hear(&script.flush(0, raw(0, 7), &[]));
    harness.hear(&script.flush(0, raw(0x80_0000, 1), &[]));
    harness.hear(&script.flush(0, raw(900, 1), &[]));
    harness.pass(GRTT * 20);
    assert_eq!(harness.asked(), [""; 0]);
    assert_eq!(harness.read_bytes(), Some((0, 10)));
}

#[test]
fn symbols_that_contradict_themselves_are_dropped_and_requested_again() {
    let (mut script, mut harness) = joined(JoinPolicy::ObjectStart);
    harness.hear(&script.stream(0, 0));
    let mut long = StreamSymbol::header(11, None, 10).to_vec();
    long.extend([0; 10]);
    let mut behind = StreamSymbol::header(3, Some(3), 10).to_vec();
    behind.extend([0; 3]);
    for bad in [&[0; 7][..], &long, &behind, &[0; 19]] {
        harness.hear(&script.raw_stream(0, 1, bad));
    }
    assert_eq!(harness.dropped(DropReason::Symbol), 4);
    harness.hear(&script.stream(1, 0));
    harness.pass(GRTT * 10);
    assert_eq!(harness.asked(), ["0/0/3 to 0/0/5"]);
}

#[test]
fn a_code_that_nobody_defined_is_skipped_and_counted() {
    let (mut script, mut harness) = joined(JoinPolicy::ObjectStart);
    harness.hear(&script.stream(0, 0));
    harness.hear(&script.raw_stream(0, 1, &[0, 0, 0, 9, 0, 0, 0, 10]));
    harness.hear(&script.raw_stream(0, 2, &symbol(1)));
    assert_eq!(harness.read_bytes(), Some((0, 20)));
    assert_eq!(harness.dropped(DropReason::Symbol), 1);
}

#[test]
fn the_end_is_read_once_and_what_lies_behind_it_is_dropped() {
    let (mut script, mut harness) = joined(JoinPolicy::ObjectStart);
    harness.hear(&script.stream(0, 0));
    harness.hear(&script.raw_stream(0, 1, &StreamSymbol::end(10)));
    harness.hear(&script.stream(0, 2));
    harness.hear(&script.raw_stream(0, 3, &StreamSymbol::end(30)));
    assert_eq!(harness.dropped(DropReason::Symbol), 2);
    assert_eq!(harness.read_bytes(), Some((0, 10)));
    assert_eq!(harness.read(), StreamRead::End { offset: 10 });
    harness.pass(GRTT * 20);
    assert_eq!(harness.asked(), [""; 0], "the rest of its block never comes");
    harness.with(|senders, ctx| senders.finish_stream(ctx, key(0)));
    assert_eq!(harness.told().last().unwrap(), "complete 0");
    assert_eq!(harness.read(), StreamRead::Gone);
}

#[test]
fn positions_that_jump_or_go_back_are_counted_and_the_order_of_symbols_counts() {
    let (mut script, mut harness) = joined(JoinPolicy::ObjectStart);
    harness.hear(&script.stream(0, 0));
    harness.hear(&script.raw_stream(0, 1, &symbol(50)));
    harness.hear(&script.raw_stream(0, 2, &symbol(2)));
    assert_eq!(harness.read_bytes(), Some((0, 10)));
    assert_eq!(harness.read_bytes(), Some((500, 10)));
    assert!(harness.read_bytes().is_some());
    assert!(harness.dropped(DropReason::StreamOffset) >= 2);
}

#[test]
fn another_structure_in_mid_stream_is_refused() {
    let (mut script, mut harness) = joined(JoinPolicy::ObjectStart);
    harness.hear(&script.stream(0, 0));
    let other = Fti { max_block_len: 5, ..Script::stream_fti() };
    harness.hear(&script.flagged(ObjectFlags::STREAM, Some(other), (0, 1), &symbol(1)));
    let other = Fti { segment_size: 12, ..Script::stream_fti() };
    harness.hear(&script.flagged(ObjectFlags::STREAM, Some(other), (0, 1), &symbol(1)));
    harness.hear(&script.flagged(0, Some(Script::stream_fti()), (0, 1), &symbol(1)));
    assert_eq!(harness.dropped(DropReason::ObjectInfo), 3);
    assert_eq!(harness.read_bytes(), Some((0, 10)));
}

#[test]
fn a_claim_to_any_buffer_costs_no_more_memory_than_is_allowed() {
    for size in [0, 1, 159, 1 << 32, (1 << 48) - 1] {
        let (mut script, mut harness) = joined(JoinPolicy::ObjectStart);
        harness.senders.local.config.stream_buffer = 20 * 18 * 4;
        let fti = Fti { object_size: size, ..Script::stream_fti() };
        harness.hear(&script.flagged(ObjectFlags::STREAM, Some(fti), (0, 0), &symbol(0)));
        let view = harness.senders.stream_view(key(0)).unwrap();
        assert!((8..=80).contains(&view.slots), "{size}: {}", view.slots);
        assert_eq!(harness.read_bytes(), Some((0, 10)));
    }
    let (mut script, mut harness) = joined(JoinPolicy::ObjectStart);
    harness.senders.local.config.stream_buffer = 18 * 4;
    harness.hear(&script.stream(0, 0));
    assert_eq!(harness.read(), StreamRead::Gone, "not even two blocks fit");
}

#[test]
fn a_single_symbol_far_ahead_ends_nothing() {
    let (mut script, mut harness) = joined(JoinPolicy::ObjectStart);
    harness.hear(&script.stream(0, 0));
    for block in [0x7f_ffff, 0x40_0000, 5000] {
        harness.hear(&script.stream(block, 0));
    }
    harness.hear(&script.stream(0, 1));
    assert_eq!(harness.read_bytes(), Some((0, 20)));
    // Two that agree are believed: the sender has gone on without us.
    harness.hear(&script.stream(5001, 0));
    harness.hear(&script.stream(5001, 1));
    assert!(matches!(harness.read(), StreamRead::Gap { from: 20, .. } | StreamRead::Empty));
}

#[test]
fn a_squelch_is_believed_when_it_is_repeated_or_the_sender_has_promised_no_more() {
    let begin = || {
        let (mut script, mut harness) = joined(JoinPolicy::ObjectStart);
        harness.hear(&script.stream(0, 0));
        assert_eq!(harness.read_bytes(), Some((0, 10)));
        harness.hear(&script.stream(1, 0));
        (script, harness)
    };
    let (mut script, mut harness) = begin();
    harness.hear(&script.stream_squelch(1));
    assert_eq!((harness.read(), harness.dropped(DropReason::Unconfirmed)), (StreamRead::Empty, 1));
    harness.pass(GRTT * 2);
    harness.hear(&script.stream_squelch(1));
    assert_eq!(harness.read(), StreamRead::Gap { from: 10, to: 40 });
    assert_eq!(harness.read_bytes(), Some((40, 10)));
    // Ahead of everything that was heard it says nothing.
    let (mut script, mut harness) = begin();
    for _ in 0..3 {
        harness.hear(&script.stream_squelch(7));
        harness.pass(GRTT * 3);
    }
    assert_eq!(harness.read(), StreamRead::Empty);
    let (mut script, mut harness) = begin();
    harness.hear(&script.stream(6, 0));
    harness.hear(&script.stream_squelch(1));
    assert_eq!(harness.read(), StreamRead::Gap { from: 10, to: 40 }, "four blocks are promised");
}

#[test]
fn a_late_joiner_moves_its_beginning_at_once_where_the_window_has_gone() {
    let (mut script, mut harness) = joined(JoinPolicy::ObjectStart);
    harness.hear(&script.stream(9, 0));
    harness.hear(&script.stream_squelch(9));
    assert_eq!(harness.read_bytes(), Some((360, 10)), "that is a beginning, not a gap");
}

#[test]
fn parity_that_decodes_into_nonsense_is_dropped_and_the_block_requested_again() {
    let (mut script, mut harness) = joined(JoinPolicy::ObjectStart);
    (0..3).for_each(|number| harness.hear(&script.stream(0, number)));
    harness.hear(&script.raw_stream(0, 4, &[0xa5; 18]));
    assert_eq!(harness.dropped(DropReason::Symbol), 1);
    assert_eq!(harness.read_bytes(), Some((0, 30)));
    harness.hear(&script.stream(1, 0));
    harness.pass(GRTT * 10);
    assert_eq!(harness.asked().len(), 1);
    harness.hear(&script.stream(0, 3));
    assert_eq!(harness.read_bytes(), Some((30, 20)));
}

#[test]
fn a_watermark_is_acknowledged_when_the_application_has_read_past_it() {
    let (mut script, mut harness) = joined(JoinPolicy::ObjectStart);
    (0..3).for_each(|number| harness.hear(&script.stream(0, number)));
    harness.hear(&script.flush(0, raw(0, 2), &[RECEIVER]));
    harness.pass(GRTT * 10);
    assert!(!harness.acks().contains(&"flush 0".into()));
    assert_eq!(harness.read_bytes(), Some((0, 30)));
    harness.pass(GRTT * 10);
    assert!(harness.acks().contains(&"flush 0".into()));
}

#[test]
fn the_end_that_was_lost_is_requested_when_the_sender_has_gone_on_to_other_objects() {
    let (mut script, mut harness) = joined(JoinPolicy::ObjectStart);
    harness.hear(&script.stream(0, 0));
    harness.hear(&script.stream(0, 1));
    harness.hear(&script.data(1, 40, 0, 0));
    harness.pass(GRTT * 10);
    assert!(harness.asked().contains(&"0/0/2".into()));
    harness.hear(&script.raw_stream(0, 2, &StreamSymbol::end(20)));
    assert_eq!(harness.read_bytes(), Some((0, 20)));
    assert_eq!(harness.read(), StreamRead::End { offset: 20 });
}
