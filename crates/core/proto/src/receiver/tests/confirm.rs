//! A single forged datagram has no effect. A claim that is repeated a second later is believed.

use super::{CONFIRMED, Harness, Script, content, raw};
use crate::{
    config::{JoinPolicy, ReceiverConfig},
    stats::DropReason,
    storage::MemoryStorage,
    time::{Duration, Time},
};
use alloc::format;
use core::net::SocketAddr;
use fanfare_wire::{NodeId, ObjectFlags};

/// Where a command's flavour is (RFC 5740 4.2.3).
const FLAVOUR: usize = 12;

/// A 95-byte object of which one block has arrived.
fn under_way() -> (Harness, Script) {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    for symbol in 0..4 {
        rig.hear(&script.data(0, 95, 0, symbol));
    }
    (rig, script)
}

fn completes(mut rig: Harness, mut script: Script) {
    for n in 0..6 {
        rig.hear(&script.data(0, 95, 1 + n / 3, (n % 3) as u16));
    }
    assert_eq!(rig.bytes(0), Some(&content(0, 95)[..]));
    assert!(rig.told().contains(&"complete 0".into()));
}

fn forged(instance: u16) -> Script {
    Script { instance, sequence: 500, ..Script::new() }
}

#[test]
fn a_forged_squelch_does_not_kill_the_transfer() {
    let (mut rig, mut script) = under_way();
    rig.hear(&script.squelch(5));
    rig.pass(CONFIRMED);
    rig.hear(&script.data(0, 95, 0, 0));
    rig.hear(&script.squelch(5));
    assert_eq!(rig.stats.dropped(DropReason::Unconfirmed), 2);
    completes(rig, script);
}

#[test]
fn a_squelch_that_is_repeated_is_obeyed_when_nothing_has_come_in_the_time_of_two_requests() {
    let (mut rig, mut script) = under_way();
    let aborted = "aborted 0 Squelched".into();
    rig.hear(&script.squelch(5));
    rig.hear(&script.squelch(5));
    assert!(!rig.told().contains(&aborted), "nobody has asked, and no time has passed");
    for _ in 0..20 {
        rig.pass(CONFIRMED);
        rig.hear(&script.squelch(5));
        if rig.told().contains(&aborted) {
            break;
        }
    }
    assert!(rig.now < Time::ZERO + CONFIRMED * 10, "{}", rig.now);
}

#[test]
fn a_receiver_that_says_nothing_believes_a_repeated_squelch() {
    let config = ReceiverConfig { silent: true, ..ReceiverConfig::default() };
    let (mut rig, mut script) = (Harness::new(config), Script::new());
    rig.hear(&script.data(0, 95, 0, 0));
    rig.hear(&script.squelch(5));
    rig.pass(CONFIRMED);
    rig.hear(&script.squelch(5));
    assert!(rig.told().contains(&"aborted 0 Squelched".into()));
}

#[test]
fn a_flush_that_a_turned_bit_made_a_squelch_does_not_end_what_was_sent_before_this_receiver_joined()
{
    // What the last object's flush may say, and whom it may ask: they are read as objects.
    for (id, asked) in [(raw(0, 0), &[][..]), (raw(2, 1), &[]), (raw(0, 0), &[NodeId(3)])] {
        for first in [1, 2] {
            let mut rig = Harness::new(ReceiverConfig::default());
            let mut script = Script::new();
            (first..3).for_each(|object| rig.hear(&script.data(object, 10, 0, 0)));
            let mut flush = script.flush(2, id, asked);
            rig.hear(&flush);
            assert_eq!(core::mem::replace(&mut flush[FLAVOUR], 3), 1);
            rig.hear(&flush);
            rig.hear(&flush);
            let told = rig.told();
            assert!(!told.iter().any(|event| event.contains("Skipped")), "{told:?}");
            rig.pass(Duration::from_secs(1));
            assert!(rig.asked()[0].starts_with("object 0"), "{id:?} {first}");
            rig.hear(&script.data(0, 10, 0, 0));
            (first..3).for_each(|object| rig.hear(&script.data(object, 10, 0, 0)));
            assert!(rig.told().contains(&"complete 0".into()), "{id:?} {first}");
        }
    }
}

#[test]
fn an_object_that_a_changed_message_made_too_large_for_storage_is_begun_when_another_says_what_it_is()
 {
    let config = ReceiverConfig { refused_after: 3, ..ReceiverConfig::default() };
    let (mut rig, mut script) = (Harness::new(config.clone()), Script::new());
    rig.storage = MemoryStorage::new(200);
    (0..2).for_each(|_| rig.hear(&script.data(0, 9500, 0, 0)));
    (0..4).for_each(|symbol| rig.hear(&script.data(0, 95, 0, symbol)));
    completes(rig, script);
    let (mut rig, mut script) = (Harness::new(config), Script::new());
    rig.storage = MemoryStorage::new(50);
    (0..3).for_each(|block| rig.hear(&script.data(0, 95, block, 0)));
    assert_eq!(rig.told(), ["sender", "aborted 0 Storage(Refused)"], "so many say the same");
}

#[test]
fn an_object_that_a_changed_message_made_a_stream_becomes_what_most_messages_say() {
    let config = ReceiverConfig { stream_buffer: 1 << 16, ..ReceiverConfig::default() };
    let (mut rig, mut script) = (Harness::new(config), Script::new());
    let mut stream = script.data(0, 95, 0, 0);
    stream[12] |= ObjectFlags::STREAM;
    rig.hear(&stream);
    for _ in 0..2 {
        for symbol in 0..4 {
            rig.hear(&script.data(0, 95, 0, symbol));
            rig.pass(CONFIRMED / 3);
        }
    }
    completes(rig, script);
}

#[test]
fn a_forged_instance_does_not_kill_the_transfer() {
    let (mut rig, script) = under_way();
    rig.hear(&forged(2).data(0, 95, 0, 0));
    assert_eq!(rig.stats.dropped(DropReason::Unconfirmed), 1);
    completes(rig, script);
}

#[test]
fn a_new_instance_at_another_address_does_not_end_what_the_old_one_is_sending() {
    let (mut rig, script) = under_way();
    let true_source = rig.source;
    rig.source = SocketAddr::from(([10, 0, 0, 66], 6003));
    let mut rival = forged(2);
    for _ in 0..5 {
        rig.hear(&rival.data(0, 40, 0, 0));
        rig.pass(CONFIRMED);
    }
    assert!(!rig.told().iter().any(|event| event.starts_with("aborted")));
    rig.source = true_source;
    completes(rig, script);
}

#[test]
fn a_sender_that_restarts_is_adopted_at_once_where_silence_is_enough_and_only_then() {
    let silence = Duration::from_millis(20);
    for (after, same_host, source_changes) in
        [(20, true, false), (20, true, true), (20, false, true), (19, true, false)]
    {
        let config = ReceiverConfig { replaced_after: Some(silence), ..ReceiverConfig::default() };
        let (mut rig, mut script) = (Harness::new(config), Script::new());
        rig.hear(&script.data(0, 95, 0, 0));
        rig.pass(Duration::from_millis(after));
        if source_changes {
            rig.source = SocketAddr::from(([10, 0, 0, if same_host { 1 } else { 66 }], 7007));
        }
        let mut next = forged(2);
        for symbol in 0..4 {
            rig.hear(&next.data(0, 40, 0, symbol));
        }
        let believed = rig.told().contains(&"complete 0".into());
        assert_eq!(believed, after >= 20, "{after} ms");
        assert_eq!(rig.stats.dropped(DropReason::Unconfirmed) > 0, after < 20);
    }
}

#[test]
fn a_sender_that_restarts_is_adopted_after_a_second() {
    let (mut rig, _) = under_way();
    let mut next = forged(2);
    rig.hear(&next.data(0, 40, 0, 0));
    rig.pass(CONFIRMED);
    for symbol in 0..4 {
        rig.hear(&next.data(0, 40, 0, symbol));
    }
    let told = rig.told();
    assert_eq!(told[2..], ["aborted 0 SenderGone", "reset", "new 0", "complete 0"]);
}

/// A receiver that begins with what it hears, and the next instance of its sender.
fn restarted(port: u16) -> (Harness, Script) {
    let config = ReceiverConfig { join: JoinPolicy::FromNow, ..ReceiverConfig::default() };
    let (mut rig, mut script) = (Harness::new(config), Script::new());
    (0..4).for_each(|symbol| rig.hear(&script.data(7, 40, 0, symbol)));
    rig.source.set_port(port);
    rig.told();
    (rig, forged(2))
}

#[test]
fn what_a_restarted_sender_begins_while_it_is_not_believed_is_asked_for() {
    // Its port may be another one. Objects from the first to the last, and symbols heard of each.
    for (port, first, last, symbols) in
        [(6003, 0, 0, 4), (6003, 0, 2, 1), (5000, 3, 5, 4), (5000, 0, 0, 1)]
    {
        let (mut rig, mut next) = restarted(port);
        for object in first..=last {
            (0..symbols).for_each(|symbol| rig.hear(&next.data(object, 40, 0, symbol)));
        }
        rig.pass(CONFIRMED);
        rig.sent.clear();
        // It sends nothing new, and says only where it stands.
        rig.hear(&next.flush(last, raw(0, 3), &[]));
        assert!(rig.told().contains(&"reset".into()));
        rig.pass(Duration::from_secs(20));
        assert!(!rig.sent.is_empty(), "objects {first} to {last}: it asks");
        for object in first..=last {
            (0..4).for_each(|symbol| rig.hear(&next.data(object, 40, 0, symbol)));
        }
        let told = rig.told();
        for object in first..=last {
            assert!(told.contains(&format!("complete {object}")), "{object}: {told:?}");
        }
    }
}

#[test]
fn a_restarted_sender_counts_from_what_it_began_itself() {
    // What another host said of its next instance, and what has begun earlier, does not count.
    for others in [&[0, 1][..], &[5], &[]] {
        let (mut rig, mut next) = restarted(6003);
        let own = rig.source;
        rig.source = SocketAddr::from(([10, 0, 0, 66], 6003));
        others.iter().for_each(|object| rig.hear(&forged(2).data(*object, 40, 0, 0)));
        rig.source = own;
        // The second block: its beginning was not heard.
        rig.hear(&next.data(8, 95, 1, 0));
        rig.hear(&next.data(9, 40, 0, 0));
        rig.pass(CONFIRMED);
        rig.hear(&next.data(10, 40, 0, 0));
        for object in [0, 1, 5, 8, 9, 10] {
            (0..4).for_each(|symbol| rig.hear(&next.data(object, 40, 0, symbol)));
        }
        let told = rig.told();
        let complete: alloc::vec::Vec<_> =
            told.iter().filter(|event| event.starts_with("complete")).collect();
        assert_eq!(complete, ["complete 9", "complete 10"], "{told:?}");
    }
}

#[test]
fn a_forged_address_is_foreign() {
    let (mut rig, mut script) = under_way();
    let true_source = rig.source;
    rig.source = SocketAddr::from(([10, 0, 0, 66], 6003));
    rig.hear(&script.data(0, 95, 1, 0));
    assert_eq!(rig.stats.dropped(DropReason::ForeignSource), 1);
    rig.source = true_source;
    completes(rig, script);
}

#[test]
fn a_forged_jump_of_the_object_id_does_not_kill_the_transfer() {
    let (mut rig, mut script) = under_way();
    rig.hear(&script.data(20_000, 95, 0, 0));
    rig.pass(CONFIRMED);
    assert_eq!(rig.stats.dropped(DropReason::Unconfirmed), 1);
    completes(rig, script);
}

#[test]
fn a_forged_jump_within_the_window_does_not_end_the_current_objects() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    (0..4).for_each(|symbol| rig.hear(&script.data(30, 95, 0, symbol)));
    rig.hear(&script.data(40, 10, 0, 0));
    // 256 objects are in view: of 290, 30 is not.
    rig.hear(&script.data(290, 10, 0, 0));
    assert_eq!(rig.stats.dropped(DropReason::Unconfirmed), 1);
    // So is one that causes no object to be dropped.
    rig.hear(&script.data(200, 10, 0, 0));
    assert_eq!(rig.stats.dropped(DropReason::Unconfirmed), 1);
    (0..6).for_each(|n| rig.hear(&script.data(30, 95, 1 + n / 3, (n % 3) as u16)));
    assert_eq!(rig.bytes(30), Some(&content(30, 95)[..]));
}

#[test]
fn a_confirmed_jump_is_followed() {
    let (mut rig, mut script) = under_way();
    for _ in 0..3 {
        rig.hear(&script.data(20_000, 10, 0, 0));
        rig.pass(CONFIRMED);
    }
    let told = rig.told();
    assert!(told.contains(&"complete 20000".into()), "{told:?}");
    assert!(told.contains(&"aborted 0 Window".into()));
}

#[test]
fn a_confirmed_jump_far_back_starts_over() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    rig.hear(&script.data(5000, 10, 0, 0));
    for _ in 0..3 {
        rig.hear(&script.data(0, 10, 0, 0));
        rig.pass(CONFIRMED);
    }
    assert!(rig.told().contains(&"complete 0".into()));
}

#[test]
fn a_forged_end_does_not_kill_the_transfer() {
    let (mut rig, mut script) = under_way();
    rig.hear(&script.end());
    rig.pass(CONFIRMED);
    rig.hear(&script.data(0, 95, 0, 0));
    rig.hear(&script.end());
    completes(rig, script);
}

#[test]
fn an_end_that_is_repeated_ends_it_and_no_timer_is_left() {
    let (mut rig, mut script) = under_way();
    rig.hear(&script.end());
    rig.pass(CONFIRMED);
    rig.hear(&script.end());
    rig.pass(Duration::from_secs(60));
    let told = rig.told();
    assert_eq!(told[2..], ["aborted 0 SenderGone", "ended"]);
    assert_eq!(rig.next(), None);
}

const IMPOSTOR: [u8; 4] = [10, 0, 0, 66];

/// Time passes, in which the sender flushes once a second, with this object as its last.
fn flushes(rig: &mut Harness, script: &mut Script, object: u16, seconds: usize) {
    for _ in 0..seconds {
        rig.hear(&script.flush(object, raw(2, 1), &[]));
        rig.pass(Duration::from_secs(1));
    }
}

#[test]
fn what_an_impostor_said_who_was_heard_first_is_forgotten_when_the_true_sender_is_believed() {
    let (mut rig, mut script) = (Harness::new(ReceiverConfig::default()), Script::new());
    let (true_source, impostor) = (rig.source, SocketAddr::from((IMPOSTOR, 6003)));
    // It begins with an object that there is not, and says that those before are gone.
    rig.source = impostor;
    rig.hear(&script.data(7, 40, 0, 0));
    rig.hear(&script.squelch(7));
    for _ in 0..3 {
        rig.source = true_source;
        rig.hear(&script.data(2, 40, 0, 0));
        rig.source = impostor;
        rig.hear(&script.data(7, 40, 0, 0));
    }
    rig.source = true_source;
    rig.hear(&script.data(2, 40, 0, 0));
    rig.pass(CONFIRMED);
    rig.told();
    for object in 0..3 {
        for symbol in 0..4 {
            rig.hear(&script.data(object, 40, 0, symbol));
        }
    }
    let told = rig.told();
    assert!(told.iter().any(|event| event.starts_with("SenderDisowned")), "{told:?}");
    assert!((0..3).all(|object| told.contains(&format!("complete {object}"))), "{told:?}");
    assert_eq!(rig.bytes(1), Some(&content(1, 40)[..]));
}

#[test]
fn a_sender_that_only_moves_loses_nothing_of_what_is_under_way() {
    let (mut rig, mut script) = under_way();
    rig.source = SocketAddr::from(([10, 0, 0, 2], 6003));
    rig.hear(&script.data(0, 95, 0, 0));
    rig.pass(CONFIRMED);
    rig.hear(&script.data(0, 95, 0, 0));
    assert!(!rig.told().iter().any(|event| event.starts_with("SenderDisowned")));
    completes(rig, script);
}

#[test]
fn what_was_missed_while_a_sender_moved_is_not_loss_of_its_new_path() {
    let (mut rig, mut script) = under_way();
    rig.source = SocketAddr::from(([10, 0, 0, 2], 6003));
    let mut lost = alloc::vec::Vec::new();
    for second in 0..4 {
        // Hundreds are missed before the first word from there, and before it is believed.
        script.sequence += if second < 2 { 300 } else { 0 };
        rig.hear(&script.data(0, 95, 0, 0));
        rig.pass(CONFIRMED);
        lost.push(rig.senders.loss(crate::receiver::tests::SENDER));
    }
    assert_eq!(lost[1..], [Some(0.0); 3]);
}

#[test]
fn an_object_that_the_sender_never_names_is_let_go_of_and_may_still_come() {
    let (mut rig, mut script) = under_way();
    rig.hear(&script.data(5, 40, 0, 0));
    flushes(&mut rig, &mut script, 0, 30);
    assert!(!rig.told().contains(&"aborted 5 Unsent".into()), "half a minute");
    flushes(&mut rig, &mut script, 0, 1);
    assert!(rig.told().contains(&"aborted 5 Unsent".into()));
    for symbol in 0..4 {
        rig.hear(&script.data(5, 40, 0, symbol));
    }
    assert!(rig.told().contains(&"complete 5".into()));
    completes(rig, script);
}

#[test]
fn an_object_that_the_sender_names_or_while_it_sends_others_is_waited_for() {
    let (mut rig, mut script) = under_way();
    rig.hear(&script.data(5, 40, 0, 0));
    flushes(&mut rig, &mut script, 5, 100);
    for _ in 0..10 {
        flushes(&mut rig, &mut script, 0, 25);
        rig.hear(&script.data(0, 95, 0, 0));
    }
    assert!(!rig.told().iter().any(|event| event.starts_with("aborted")));
}
