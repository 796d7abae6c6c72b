//! Bytes from an earlier attempt, and bytes that turn out wrong.

use super::{GRTT, Harness, RECEIVER, Script, content, key, raw};
use alloc::vec::Vec;

use crate::{
    config::{AckPolicy, ReceiverConfig},
    storage::Storage,
};

/// A 95-byte object (blocks of 4, 3 and 3 symbols of 10 bytes) of which the INFO was heard.
fn announced() -> (Harness, Script) {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    rig.hear(&script.info(0, 95, b"i"));
    (rig, script)
}

/// Bytes of the object, as an earlier attempt left them.
fn stored(rig: &mut Harness, from: usize, end: usize) -> bool {
    rig.storage.write(key(0), from as u64, &content(0, 95)[from..end]).unwrap();
    rig.have(0, from as u64, (end - from) as u64)
}

fn whole(rig: &mut Harness, script: &mut Script) {
    for (block, len) in [(0, 4), (1, 3), (2, 3)] {
        (0..len).for_each(|symbol| rig.hear(&script.data(0, 95, block, symbol)));
    }
}

#[test]
fn only_bytes_that_the_driver_does_not_have_are_requested() {
    let (mut rig, mut script) = announced();
    assert!(stored(&mut rig, 15, 70));
    assert_eq!(rig.senders.progress(key(0)), Some(50));
    rig.hear(&script.flush(0, raw(2, 2), &[]));
    rig.pass(GRTT * 5);
    assert_eq!(rig.asked(), ["0/0/4", "0/0/5", "block 0/2"]);
}

#[test]
fn an_object_that_the_driver_has_completely_requests_nothing() {
    let (mut rig, mut script) = announced();
    assert!(stored(&mut rig, 0, 50) && stored(&mut rig, 50, 95));
    assert!(rig.told().contains(&"complete 0".into()));
    rig.hear(&script.flush(0, raw(2, 2), &[]));
    rig.pass(GRTT * 5);
    assert!(rig.asked().is_empty());
}

#[test]
fn bytes_from_before_and_parity_that_came_earlier_complete_a_block() {
    let (mut rig, mut script) = announced();
    rig.hear(&script.data(0, 95, 1, 3));
    assert!(stored(&mut rig, 0, 60) && stored(&mut rig, 70, 95));
    assert_eq!(rig.bytes(0), Some(&content(0, 95)[..]));
    assert!(rig.told().contains(&"complete 0".into()));
    assert_eq!(rig.stats.recovered, 1);
}

#[test]
fn what_arrived_already_is_counted_once() {
    let (mut rig, mut script) = announced();
    rig.hear(&script.data(0, 95, 2, 2));
    rig.hear(&script.data(0, 95, 1, 0));
    rig.hear(&script.data(0, 95, 1, 3));
    assert!(stored(&mut rig, 30, 95) && stored(&mut rig, 20, 60));
    assert_eq!(rig.senders.progress(key(0)), Some(75));
}

#[test]
fn wrong_bytes_of_a_complete_object_are_requested_and_it_completes_again() {
    let (mut rig, mut script) = announced();
    whole(&mut rig, &mut script);
    rig.hear(&script.flush(0, raw(2, 2), &[]));
    rig.pass(GRTT * 5);
    assert!(rig.told().contains(&"complete 0".into()) && rig.asked().is_empty());
    assert!(rig.reject(0, 45, 1) && rig.reject(0, 90, 5));
    assert_eq!(rig.senders.progress(key(0)), Some(80));
    rig.pass(GRTT * 5);
    assert_eq!(rig.asked(), ["0/1/3", "0/2/3"]);
    rig.storage.write(key(0), 40, &[0; 10]).unwrap();
    rig.hear(&script.data(0, 95, 1, 3));
    assert!(rig.told().is_empty());
    rig.hear(&script.data(0, 95, 2, 2));
    assert_eq!(rig.told(), ["complete 0"]);
    assert_eq!(rig.bytes(0), Some(&content(0, 95)[..]));
}

#[test]
fn a_rejected_range_takes_whole_blocks_and_the_parity_of_the_rest() {
    let (mut rig, mut script) = announced();
    for symbol in [0, 1, 4] {
        rig.hear(&script.data(0, 95, 0, symbol));
    }
    (0..3).for_each(|symbol| rig.hear(&script.data(0, 95, 1, symbol)));
    assert!(rig.reject(0, 15, 60));
    assert_eq!(rig.senders.progress(key(0)), Some(10));
    rig.hear(&script.flush(0, raw(2, 2), &[]));
    rig.pass(GRTT * 5);
    assert_eq!(rig.asked(), ["0/0/3 to 0/0/5", "block 0/1", "block 0/2"]);
}

#[test]
fn a_range_that_touches_nothing_changes_nothing() {
    let (mut rig, mut script) = announced();
    whole(&mut rig, &mut script);
    rig.told();
    assert!(rig.reject(0, 95, 10) && rig.reject(0, 20, 0) && rig.have(0, 3, 5));
    assert_eq!(rig.senders.progress(key(0)), Some(95));
    assert!(!rig.reject(9, 0, 10) && !rig.have(9, 0, 10), "not in view");
}

#[test]
fn a_wrong_info_is_requested_and_told_again_and_what_has_arrived_stays() {
    let (mut rig, mut script) = announced();
    rig.told();
    rig.hear(&script.data(0, 95, 0, 0));
    assert!(rig.reject_info(0), "while the object is under way");
    rig.hear(&script.flush(0, raw(2, 2), &[]));
    rig.pass(GRTT * 5);
    assert_eq!(rig.asked()[0], "info 0");
    rig.hear(&script.info(0, 95, b"i"));
    assert_eq!(rig.senders.progress(key(0)), Some(10));
    whole(&mut rig, &mut script);
    let told = rig.told();
    assert_eq!(told.last().unwrap(), "complete 0", "{told:?}");
    assert!(told.iter().any(|told| told.starts_with("info 0")), "{told:?}");
    assert!(rig.reject_info(0), "and when it is complete");
    // The wait after the request before must be over, too.
    rig.pass(GRTT * 12);
    assert_eq!(rig.asked(), ["info 0"]);
    rig.hear(&script.info(0, 95, b"j"));
    let told = rig.told();
    assert!(told.len() == 2 && told[0].starts_with("info 0"), "{told:?}");
    assert_eq!(told[1], "complete 0");
    assert!(!rig.reject_info(9), "not in view");
}

#[test]
fn what_was_rejected_is_not_acknowledged() {
    let config = ReceiverConfig { ack: AckPolicy::Confirmed, ..ReceiverConfig::default() };
    let (mut rig, mut script) = (Harness::new(config), Script::new());
    rig.hear(&script.info(0, 95, b"i"));
    whole(&mut rig, &mut script);
    rig.senders.confirm(key(0));
    rig.hear(&script.flush(0, raw(2, 2), &[RECEIVER]));
    assert!(rig.reject(0, 0, 1));
    rig.pass(GRTT * 5);
    assert!(rig.acks().iter().all(|ack| !ack.starts_with("flush")));
    rig.hear(&script.data(0, 95, 0, 0));
    rig.senders.confirm(key(0));
    rig.pass(GRTT * 5);
    assert!(rig.acks().contains(&"flush 0".into()));
}

#[test]
fn nothing_can_be_repaired_after_the_sender_said_good_bye() {
    let (mut rig, mut script) = announced();
    whole(&mut rig, &mut script);
    rig.hear(&script.end());
    rig.pass(GRTT * 2);
    rig.hear(&script.end());
    assert!(!rig.reject(0, 0, 1));
    assert_eq!(rig.senders.progress(key(0)), Some(95));
}

#[test]
fn complete_blocks_are_told_as_ranges_and_from_the_start() {
    let (mut rig, mut script) = announced();
    assert_eq!(rig.senders.ranges(key(0)), Some([].into()));
    (0..3).for_each(|symbol| rig.hear(&script.data(0, 95, 2, symbol)));
    rig.hear(&script.data(0, 95, 0, 0));
    assert_eq!(rig.senders.ranges(key(0)), Some([(70, 25)].into()));
    assert_eq!(rig.senders.first_gap(key(0)), Some(0));
    (1..4).for_each(|symbol| rig.hear(&script.data(0, 95, 0, symbol)));
    assert_eq!(rig.senders.ranges(key(0)), Some([(0, 40), (70, 25)].into()));
    assert_eq!(rig.senders.first_gap(key(0)), Some(40));
    (0..3).for_each(|symbol| rig.hear(&script.data(0, 95, 1, symbol)));
    assert_eq!(rig.senders.ranges(key(0)), Some([(0, 95)].into()));
    assert_eq!((rig.senders.first_gap(key(0)), rig.senders.ranges(key(1))), (Some(95), None));
}

#[test]
fn an_object_that_is_being_examined_accepts_data_but_requests_nothing() {
    let (mut rig, mut script) = announced();
    assert!(rig.examine(0, true));
    (0..3).for_each(|symbol| rig.hear(&script.data(0, 95, 1, symbol)));
    rig.hear(&script.flush(0, raw(2, 2), &[]));
    rig.pass(GRTT * 5);
    assert!(rig.asked().is_empty());
    assert_eq!(rig.senders.progress(key(0)), Some(30));
    // Block 1 had come meanwhile, so that all of it is there but block 2.
    assert!(stored(&mut rig, 0, 40));
    assert!(rig.examine(0, false));
    rig.pass(GRTT * 5);
    assert_eq!(rig.asked(), ["block 0/2"]);
    (0..3).for_each(|symbol| rig.hear(&script.data(0, 95, 2, symbol)));
    assert!(rig.told().contains(&"complete 0".into()));
}

#[test]
fn later_objects_are_requested_while_an_earlier_one_is_examined() {
    let (mut rig, mut script) = announced();
    assert!(rig.examine(0, true));
    rig.hear(&script.info(1, 95, b"i"));
    rig.hear(&script.flush(1, raw(2, 2), &[]));
    rig.pass(GRTT * 5);
    assert_eq!(rig.asked(), ["block 1/0 to block 1/2"]);
}

#[test]
fn an_examination_can_end_after_its_sender_has_left() {
    for lacking in [0, 1] {
        let (mut rig, mut script) = announced();
        assert!(rig.examine(0, true));
        rig.hear(&script.end());
        rig.pass(GRTT * 2);
        rig.hear(&script.end());
        rig.pass(GRTT * 40);
        assert!(stored(&mut rig, 0, 95 - lacking));
        assert_eq!(rig.examine(0, false), lacking == 0);
    }
}

#[test]
fn a_receiver_that_examines_objects_before_a_watermark_reports_that_it_is_busy() {
    let config = ReceiverConfig { ack: AckPolicy::Confirmed, ..ReceiverConfig::default() };
    let (mut rig, mut script) = (Harness::new(config), Script::new());
    rig.hear(&script.info(0, 95, b"i"));
    rig.hear(&script.info(1, 95, b"i"));
    assert!(rig.examine(0, true) && rig.examine(1, true));
    rig.hear(&script.flush(1, raw(2, 2), &[RECEIVER]));
    rig.pass(GRTT * 5);
    let acks = rig.acks();
    assert!(!acks.is_empty() && acks.iter().all(|ack| !ack.starts_with("flush")), "{acks:?}");
}

#[test]
fn a_receiver_that_may_have_objects_already_requests_their_info_first_for_a_limited_time() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    rig.senders.ask_info_first();
    rig.hear(&script.info(2, 95, b"i"));
    let mut asked = Vec::new();
    for _ in 0..7 {
        rig.hear(&script.flush(2, raw(2, 2), &[]));
        rig.pass(GRTT * 20);
        asked.push(rig.asked());
    }
    let infos = ["info 0", "info 1", "block 2/0 to block 2/2"];
    assert!(asked[..5].iter().all(|asked| *asked == infos), "{asked:?}");
    assert!(asked[5..].iter().all(|asked| asked[0] == "object 0"), "{asked:?}");
}
