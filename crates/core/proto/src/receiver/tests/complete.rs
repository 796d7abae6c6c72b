//! Objects that arrive without loss, and objects that are refused.

use super::{Harness, RECEIVER, SENDER, Script, content, key, raw};
use crate::{
    config::{JoinPolicy, ReceiverConfig},
    event::{AbortReason, Event},
    stats::DropReason,
    storage::{MemoryStorage, StorageError},
    time::Duration,
};
use alloc::{vec, vec::Vec};
use fanfare_wire::ext::Fti;
use proptest::prelude::*;

/// Block and symbol of each source symbol of a 95-byte object, in order.
const PLACES: [(u32, u16); 10] =
    [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)];

#[test]
fn an_object_in_order_completes_without_feedback() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    for (block, symbol) in PLACES {
        rig.hear(&script.data(0, 95, block, symbol));
    }
    assert_eq!(rig.told(), ["sender", "new 0", "complete 0"]);
    assert_eq!(rig.bytes(0), Some(&content(0, 95)[..]));
    assert!(rig.sent.is_empty() && rig.stats.source_received == 10);
    assert_eq!(rig.senders.progress(key(0)), Some(95));
}

#[test]
fn symbols_in_any_order_and_twice_complete_once() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    for n in [2, 9, 0, 2, 5, 1, 3, 8, 7, 6, 4, 4] {
        let (block, symbol) = PLACES[n];
        rig.hear(&script.data(0, 95, block, symbol));
    }
    assert_eq!(rig.bytes(0), Some(&content(0, 95)[..]));
    assert_eq!(rig.told().iter().filter(|told| *told == "complete 0").count(), 1);
    assert_eq!(rig.stats.dropped(DropReason::Duplicate), 2);
}

#[test]
fn info_is_part_of_the_object() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    rig.hear(&script.info(0, 20, b"name"));
    rig.hear(&script.data(0, 20, 0, 0));
    rig.hear(&script.data(0, 20, 0, 1));
    assert_eq!(rig.told(), ["sender", "new 0", "info 0", "complete 0"]);
}

#[test]
fn an_empty_object_completes_by_its_info_or_by_one_empty_symbol() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    rig.hear(&script.info(0, 0, b"empty"));
    rig.hear(&script.raw_data(1, Some(Script::fti(0)), 0, 0, b""));
    let told = rig.told();
    assert!(told.contains(&"complete 0".into()) && told.contains(&"complete 1".into()), "{told:?}");
}

#[test]
fn only_the_info_of_a_missed_empty_object_is_requested() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    rig.hear(&script.data(0, 10, 0, 0));
    rig.hear(&script.flush(1, raw(0xff_ffff, 0xff), &[]));
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.asked(), ["info 1"]);
}

#[test]
fn data_without_fti_is_dropped_and_only_info_is_asked() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    script.with_fti = false;
    rig.hear(&script.data(0, 95, 0, 0));
    rig.hear(&script.data(0, 95, 1, 0));
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.asked(), ["info 0"]);
    rig.hear(&script.info(0, 95, b"now known"));
    rig.hear(&script.data(0, 95, 0, 0));
    assert_eq!(rig.stats.source_received, 1);
}

#[test]
fn an_impossible_fti_is_dropped_and_nothing_allocated() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    let fti = Fti { segment_size: 65000, max_block_len: 30000, ..Script::fti(1 << 30) };
    let fti = Fti { max_block_len: 200, num_parity: 200, ..fti };
    rig.hear(&script.raw_data(0, Some(fti), 0, 0, &[0; 100]));
    assert_eq!(rig.stats.dropped(DropReason::ObjectInfo), 1);
    assert!(rig.told().is_empty() && rig.bytes(0).is_none());
}

#[test]
fn an_object_that_is_never_acceptable_is_not_asked_for_ever() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    let fti = Fti { segment_size: 9000, ..Script::fti(1 << 20) };
    for symbol in 0..4 {
        rig.hear(&script.raw_data(0, Some(fti), 0, symbol, &[0; 100]));
    }
    rig.hear(&script.data(1, 10, 0, 0));
    rig.pass(Duration::from_secs(5));
    assert!(rig.asked().is_empty());
}

#[test]
fn a_too_large_object_is_reported_with_its_size_and_info_until_it_is_aborted() {
    let config = ReceiverConfig { object_size_max: 90, ..ReceiverConfig::default() };
    let (mut rig, mut script) = (Harness::new(config), Script::new());
    rig.hear(&script.info(0, 95, b"about"));
    (0..5).for_each(|symbol| rig.hear(&script.data(0, 95, symbol / 4, (symbol % 4) as u16)));
    let too_long = |info| Event::ObjectTooLong { key: key(0), size: 95, info };
    let aborted = AbortReason::Storage(StorageError::Refused);
    let aborted = Event::ObjectAborted { key: key(0), reason: aborted };
    let expected = [too_long(Some(b"about".to_vec())), too_long(None), too_long(None), aborted];
    assert_eq!(rig.events()[..4], expected);
}

#[test]
fn an_fti_that_changes_within_an_object_is_dropped() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    rig.hear(&script.data(0, 95, 0, 0));
    rig.hear(&script.raw_data(0, Some(Script::fti(200)), 0, 1, &[9; 10]));
    assert_eq!(rig.stats.dropped(DropReason::ObjectInfo), 1);
    assert_eq!(rig.stats.source_received, 1);
}

#[test]
fn an_object_that_was_begun_as_something_else_becomes_what_its_sender_keeps_to() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    rig.hear(&script.raw_data(0, Some(Script::fti(200)), 0, 1, &[9; 10]));
    for _ in 0..3 {
        for (block, symbol) in PLACES {
            rig.hear(&script.data(0, 95, block, symbol));
            rig.pass(Duration::from_millis(100));
        }
    }
    assert_eq!(rig.bytes(0), Some(&content(0, 95)[..]));
    assert!(rig.told().contains(&"complete 0".into()));
}

#[test]
fn an_object_that_storage_refuses_is_aborted_once_and_never_requested() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    rig.storage = MemoryStorage::new(50);
    for block in 0..3 {
        rig.hear(&script.data(0, 95, block, 0));
    }
    rig.hear(&script.data(1, 40, 0, 0));
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.told(), ["sender", "aborted 0 Storage(Refused)", "new 1"]);
    assert!(rig.asked().is_empty());
}

#[test]
fn a_cancelled_object_is_never_asked_for() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    rig.hear(&script.data(0, 95, 0, 0));
    rig.cancel(key(0));
    rig.hear(&script.data(0, 95, 1, 0));
    rig.pass(Duration::from_secs(1));
    assert!(rig.asked().is_empty() && rig.senders.progress(key(0)).is_none());
}

#[test]
fn a_receiver_that_joins_with_now_ignores_the_current_object() {
    let config = ReceiverConfig { join: JoinPolicy::FromNow, ..ReceiverConfig::default() };
    let (mut rig, mut script) = (Harness::new(config), Script::new());
    rig.hear(&script.data(7, 95, 1, 0));
    rig.hear(&script.data(8, 10, 0, 0));
    rig.hear(&script.data(7, 95, 2, 0));
    rig.pass(Duration::from_secs(1));
    assert!(rig.asked().is_empty() && rig.bytes(7).is_none() && rig.bytes(8).is_some());
    assert_eq!(rig.stats.dropped(DropReason::OutOfWindow), 2);
}

#[test]
fn a_receiver_that_joins_at_the_objects_start_asks_for_what_it_missed_of_it() {
    let config = ReceiverConfig { join: JoinPolicy::ObjectStart, ..ReceiverConfig::default() };
    let (mut rig, mut script) = (Harness::new(config), Script::new());
    rig.hear(&script.data(7, 95, 2, 0));
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.asked(), ["block 7/0", "block 7/1"]);
}

#[test]
fn a_receiver_that_wants_all_asks_for_earlier_objects_until_squelched() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    rig.hear(&script.data(7, 10, 0, 0));
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.asked(), ["object 0 to object 6"]);
    rig.hear(&script.squelch(5));
    rig.hear(&script.flush(7, raw(0, 0), &[]));
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.asked(), ["object 5", "object 6"]);
}

#[test]
fn objects_that_leave_the_window_are_aborted() {
    let config = ReceiverConfig { objects_max: 4, ..ReceiverConfig::default() };
    let (mut rig, mut script) = (Harness::new(config), Script::new());
    rig.hear(&script.data(0, 95, 0, 0));
    for object in 1..5 {
        rig.hear(&script.data(object, 10, 0, 0));
    }
    assert!(rig.told().contains(&"aborted 0 Window".into()));
}

#[test]
fn objects_that_leave_the_window_before_anything_of_them_arrived_are_counted() {
    let config = ReceiverConfig { objects_max: 4, ..ReceiverConfig::default() };
    let (mut rig, mut script) = (Harness::new(config), Script::new());
    rig.hear(&script.data(10, 5, 0, 0));
    let missed = |rig: &mut Harness| -> Vec<(u16, u64)> {
        let told = rig.events().into_iter().filter_map(|event| match event {
            Event::ObjectsMissed { oldest, missed } => Some((oldest.object.0, missed)),
            _ => None,
        });
        told.collect()
    };
    assert_eq!(missed(&mut rig), []);
    for object in [12, 13, 14] {
        rig.hear(&script.data(object, 5, 0, 0));
    }
    // What was before it came is nothing missed.
    assert_eq!(missed(&mut rig), [(9, 0), (10, 0)]);
    rig.hear(&script.data(15, 5, 0, 0));
    assert_eq!(missed(&mut rig), [(12, 1)]);
    rig.hear(&script.data(17, 5, 0, 0));
    assert_eq!(missed(&mut rig), []);
    rig.hear(&script.data(20, 5, 0, 0));
    assert_eq!(missed(&mut rig), [(17, 1)]);
}

#[test]
fn parity_of_the_newest_block_is_dropped_when_the_buffer_is_full() {
    let config = ReceiverConfig { buffer_max: 500, ..ReceiverConfig::default() };
    let (mut rig, mut script) = (Harness::new(config), Script::new());
    for block in (0..20).rev() {
        rig.hear(&script.data(0, 800, block, 4));
    }
    assert_eq!(rig.stats.dropped(DropReason::BufferFull), 0);
    // The oldest blocks are the ones that kept theirs.
    for symbol in 0..3 {
        rig.hear(&script.data(0, 800, 0, symbol));
    }
    assert_eq!(rig.stats.recovered, 1);
    for block in 3..20 {
        rig.hear(&script.data(0, 800, block, 5));
    }
    assert!(rig.stats.dropped(DropReason::BufferFull) > 0);
}

#[test]
fn more_senders_than_allowed_are_dropped_but_replace_stray_ones() {
    let config = ReceiverConfig { senders_max: 2, ..ReceiverConfig::default() };
    let mut rig = Harness::new(config);
    let mut script = Script::new();
    for symbol in 0..4 {
        rig.hear(&script.data(0, 95, 0, symbol));
    }
    for stray in 10..20u32 {
        rig.now = rig.now + Duration::from_millis(1);
        let mut datagram = script.data(0, 95, 0, 0);
        datagram[4..8].copy_from_slice(&stray.to_be_bytes());
        rig.hear(&datagram);
    }
    assert_eq!(rig.stats.dropped(DropReason::TooManySenders), 0);
    assert!(rig.senders.loss(SENDER).is_some() && rig.senders.senders.len() == 2);
}

/// Datagrams that begin as a message of the sender and go on at random.
fn datagrams() -> impl Strategy<Value = (u8, u8, Vec<u8>, u16)> {
    (0u8..7, 0u8..12, proptest::collection::vec(any::<u8>(), 0..120), any::<u16>())
}

proptest! {
    #[test]
    fn no_datagram_makes_a_receiver_panic_or_spin(
        datagrams in proptest::collection::vec(datagrams(), 1..60),
        unicast in any::<bool>(),
    ) {
        let mut rig = Harness::on(Default::default(), unicast, ReceiverConfig::default());
        let mut script = Script::new();
        rig.hear(&script.data(0, 95, 0, 0));
        for (kind, words, tail, wait) in datagrams {
            let mut datagram = vec![0x10 | kind, words, 0, 0, 0, 0, 0, SENDER.0 as u8, 0, 1];
            if kind > 3 {
                datagram[8..10].copy_from_slice(&[0, 0]);
                datagram.extend([0, SENDER.0 as u8, 0, 1]);
            }
            datagram.extend(tail);
            rig.now = rig.now + Duration::from_millis(u64::from(wait % 512));
            if fanfare_wire::Message::parse(&datagram).is_ok() {
                rig.hear(&datagram);
            }
            rig.pass(Duration::from_millis(10));
        }
        rig.pass(Duration::from_secs(30));
    }

    #[test]
    fn no_sequence_of_symbols_and_commands_makes_a_receiver_panic_or_spin(
        steps in proptest::collection::vec((0u8..8, 0u16..600, 0usize..200, 0u32..7, 0u16..7), 1..80),
    ) {
        let mut rig = Harness::new(ReceiverConfig { objects_max: 8, ..ReceiverConfig::default() });
        let mut script = Script::new();
        for (kind, object, size, block, symbol) in steps {
            let payload = &content(object, 200)[..size.min(18)];
            let fti = Some(Script::fti(size));
            let datagram = match kind {
                0..=3 => script.raw_data(object, fti, block, symbol, &payload[..payload.len().min(10)]),
                4 => script.info(object, size, payload),
                5 => script.flush(object, raw(block, symbol), &[RECEIVER]),
                6 => script.squelch(object),
                _ => script.end(),
            };
            rig.hear(&datagram);
            rig.pass(Duration::from_millis(u64::from(symbol) * 20));
        }
        rig.pass(Duration::from_secs(30));
    }
}
