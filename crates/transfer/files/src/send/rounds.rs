//! Carousels of more objects than can be kept: whole senders and receivers, in virtual time, with
//! real files but neither sockets nor threads.

mod adversary;
mod flipped;
mod mirror;
mod relays;
mod world;

use std::{net::SocketAddr, time::Duration};

use crate::content::receipt::Reason;
use fanfare_proto::{Bitrate, InstanceId, NodeId, RecvMeta, Time};

use super::{Expect, SendOptions};
use crate::{
    event::{Outcome, ReceiveEnd, ReceiveEvent},
    receive::{ReceiveOptions, SenderFilter, Until},
};
use world::World;

/// More than the 256 objects that are kept, and than the core sends again by itself.
const FILES: usize = 300;
const SEGMENT: u16 = 1400;
const RATE: Bitrate = Bitrate::mbps(10);
/// Everything has ended by then.
const LIMIT: Time = Time::from_nanos(600_000_000_000);

fn one_way(carousel: u32) -> SendOptions {
    SendOptions { one_way: true, carousel, ..SendOptions::default() }
}

#[test]
fn a_late_joiner_that_cannot_ask_completes_from_the_next_round() {
    // 300 files, two rounds, no loss; the second receiver joins halfway through the first.
    let mut world = World::new(one_way(1), 0.0, 1);
    world.join(true);
    world.run_until(FILES);
    world.join(true);
    world.run_until(usize::MAX);
    world.assert_complete(0);
    world.assert_complete(1);
    // INFO and one segment for each object of two rounds; probes and flushes; no third round.
    assert!((4 * FILES..5 * FILES).contains(&world.sent), "{}", world.sent);
    assert!(world.report().receivers.is_empty());
}

#[test]
fn in_eight_rounds_loss_is_mended_without_a_word_back() {
    // 300 files, loss 10 % at each of two silent receivers, seeds 1 to 3.
    for seed in 1..=3 {
        let mut world = World::new(one_way(7), 0.1, seed);
        (0..2).for_each(|_| world.join(true));
        world.run_until(usize::MAX);
        (0..2).for_each(|receiver| world.assert_complete(receiver));
    }
}

#[test]
fn who_comes_late_is_given_its_receipt_at_the_end_of_the_last_round() {
    // 300 files, two rounds, loss 2 %; the second receiver joins when most of the first has passed.
    let options = SendOptions { carousel: 1, ..SendOptions::default() };
    let mut world = World::new(options, 0.02, 4);
    world.join(false);
    world.run_until(2 * FILES - 50);
    world.join(false);
    world.run_until(usize::MAX);
    world.assert_complete(0);
    world.assert_complete(1);
    let outcomes: Vec<Outcome> =
        world.report().receivers.into_iter().map(|result| result.outcome).collect();
    assert_eq!(outcomes, [Outcome::Complete, Outcome::Complete]);
}

#[test]
fn what_came_in_the_first_round_is_not_verified_again_even_where_it_was_taken_away() {
    let mut world = World::new(one_way(2), 0.0, 5);
    world.join(true);
    world.run_until(2 * FILES);
    let gone = world.scratches[1].path().join("007");
    std::fs::remove_file(&gone).unwrap();
    world.run_until(usize::MAX);
    assert!(!gone.exists());
    let told = &world.told[0];
    assert_eq!(told.iter().filter(|e| matches!(e, ReceiveEvent::File { .. })).count(), FILES);
}

#[test]
fn a_file_is_with_all_that_are_expected_and_the_sender_gone_within_thirty_milliseconds() {
    // One file, no loss, no delay, seeds 1 to 20: half of it is the time in which answers are spread.
    for seed in 1..=20 {
        let options = SendOptions { expect: Expect::Count(3), ..SendOptions::default() };
        let mut world = World::of(1, options, 0.0, seed);
        (0..3).for_each(|_| world.join(false));
        world.run_until(usize::MAX);
        (0..3).for_each(|receiver| world.assert_complete(receiver));
        assert!(world.now <= Time::ZERO + Duration::from_millis(30), "seed {seed}: {}", world.now);
    }
}

#[test]
fn where_nobody_is_expected_who_missed_the_first_call_is_asked_with_the_first_data_and_waited_for()
{
    // One file, no loss, no delay, seeds 1 to 20; the second receiver joins after the first call.
    for seed in 1..=20 {
        let mut world = World::of(1, SendOptions::default(), 0.0, seed);
        world.join(false);
        world.run_until(2);
        world.join(false);
        world.run_until(usize::MAX);
        (0..2).for_each(|receiver| world.assert_complete(receiver));
        let outcomes = world.report().receivers.into_iter().map(|result| result.outcome);
        assert_eq!(outcomes.collect::<Vec<_>>(), [Outcome::Complete, Outcome::Complete]);
        assert!(world.now <= Time::ZERO + Duration::from_millis(50), "seed {seed}: {}", world.now);
    }
}

/// A receiver of the first transfer, whose sender is gone after so many datagrams; how it ends, and when.
fn left_alone(options: ReceiveOptions, datagrams: usize) -> (World, Duration) {
    let mut world = World::of(20, SendOptions::default(), 0.0, 1);
    world.join_with(false, ReceiveOptions { until: Until::SenderEnded, ..options });
    world.run_until(datagrams);
    let since = world.now;
    while !world.receivers[0].job.is_done() && world.now < since + Duration::from_secs(600) {
        world.receive();
        world.now = world.now + Duration::from_millis(200);
    }
    let waited = world.now.since(since);
    (world, waited)
}

#[test]
fn a_receiver_of_one_transfer_whose_sender_is_gone_in_the_middle_ends_after_a_minute() {
    // 20 objects of NORM_INFO and a segment each: within one, and between two of them.
    for datagrams in 10..30 {
        let (world, waited) = left_alone(ReceiveOptions::default(), datagrams);
        let report = world.receivers[0].job.report();
        assert_eq!(report.end, ReceiveEnd::SenderSilent, "{datagrams} datagrams");
        assert!((1..20).contains(&report.files), "{datagrams} datagrams: {}", report.files);
        let minute = Duration::from_secs(60)..Duration::from_secs(62);
        assert!(minute.contains(&waited), "{datagrams} datagrams: {waited:?}");
    }
}

#[test]
fn a_receiver_of_one_transfer_waits_for_its_first_sender_as_long_as_it_takes() {
    let (world, waited) = left_alone(ReceiveOptions::default(), 1);
    assert!(!world.receivers[0].job.is_done(), "{waited:?}");
}

#[test]
fn a_receiver_takes_nothing_of_a_sender_that_was_not_named() {
    for from in [
        SenderFilter::Node(NodeId(2)),
        SenderFilter::Name("other".to_owned()),
        SenderFilter::Address([10, 9, 9, 9].into()),
    ] {
        let (world, _) = left_alone(ReceiveOptions { from, ..ReceiveOptions::default() }, 30);
        let report = world.receivers[0].job.report();
        assert_eq!((report.files, report.refused_senders), (0, 1));
    }
}

#[test]
fn a_receiver_takes_everything_of_the_sender_that_was_named() {
    let named = SendOptions { name: "this".to_owned(), ..SendOptions::default() };
    let mut world = World::of(20, named, 0.0, 1);
    let from = SenderFilter::Name("this".to_owned());
    world.join_with(false, ReceiveOptions { from, ..ReceiveOptions::default() });
    world.run_until(usize::MAX);
    world.assert_complete(0);
}

#[test]
fn what_a_transfer_brings_beyond_the_limits_is_refused() {
    // 20 files of one or two bytes.
    for (max_size, max_files) in [(None, Some(5)), (Some(6), None)] {
        let options = ReceiveOptions { max_size, max_files, ..ReceiveOptions::default() };
        let mut world = World::of(20, SendOptions::default(), 0.0, 1);
        world.join_with(false, options);
        world.run_until(usize::MAX);
        let report = world.receivers[0].job.report();
        assert!((1..=6).contains(&report.files), "{}", report.files);
        assert!(report.failures.iter().all(|(_, reason)| *reason == Reason::Refused));
        assert_eq!(report.files + report.failures.len() as u64, 20);
    }
}

#[test]
fn a_manifest_and_a_file_that_come_with_wrong_bytes_are_asked_for_once_more() {
    // One file of 1.1 MB: files above 1 MiB have a manifest. No loss, seed 1.
    let content: Vec<u8> = (0..1_100_000u32).map(|n| (n / 7) as u8).collect();
    let options = SendOptions { expect: Expect::Count(1), ..SendOptions::default() };
    let mut world = World::with(std::slice::from_ref(&content), options, 0.0, 1);
    world.spoiled = vec![0, 1];
    world.join(false);
    world.run_until(usize::MAX);
    assert!(world.spoiled.is_empty(), "a segment of each has come");
    let outcomes = world.report().receivers.into_iter().map(|result| result.outcome);
    assert_eq!(outcomes.collect::<Vec<_>>(), [Outcome::Complete]);
    assert_eq!(std::fs::read(world.scratches[1].path().join("000")).unwrap(), content);
    assert_eq!(world.receivers[0].job.report().failures, []);
}

/// What an invented receiver says: it is ready, or it has this point and everything before.
fn invented(world: &World, flush: Option<&fanfare_wire::cmd::Flush<'_>>) -> Vec<u8> {
    invented_as(NodeId(66), crate::content::receipt::State::Done, world, flush)
}

/// The same in this name, which is so far.
fn invented_as(
    name: NodeId,
    state: crate::content::receipt::State,
    world: &World,
    flush: Option<&fanfare_wire::cmd::Flush<'_>>,
) -> Vec<u8> {
    use fanfare_wire::{Ack, AckKind, FlushAck, Sequence, ext::Extensions, header::FeedbackFields};
    let mut status = crate::content::receipt::Status::ready("invented", 1 << 40);
    status.state = state;
    status.about = Some(world.sender.job.about);
    status.held = world.files as u64;
    status.digest = world.sender.job.queue.expected.digest();
    status.proof = Some([0x55; 16]);
    let (content, point) = (status.encode(), flush);
    let kind = match point {
        None => AckKind::Application(16, &content),
        Some(flush) => AckKind::Flush(FlushAck {
            object_transport_id: flush.object_transport_id,
            payload_id: flush.payload_id,
        }),
    };
    let feedback = FeedbackFields {
        sequence: Sequence(0),
        source_id: name,
        server_id: world.sender.id,
        instance_id: InstanceId(1),
        grtt_response: None,
    };
    let mut bytes = Vec::new();
    let ack = Ack { feedback, kind, ack_id: 0, extensions: Extensions::default() };
    ack.encode(None, flush.map(|_| &content[..]), &mut bytes);
    bytes
}

#[test]
fn invented_receivers_that_say_without_end_that_they_are_at_work_are_waited_for_no_longer_than_told()
 {
    use crate::content::receipt::State;
    // 20 small files, no loss; eight names, one, or ever new ones, a message each round, seed 1
    for (names, state) in [
        (8, State::Receiving),
        (8, State::Verifying),
        (u32::MAX, State::Receiving),
        (1, State::Ready),
    ] {
        let wait = Duration::from_secs(6);
        let options = SendOptions { wait, ..SendOptions::default() };
        let mut world = World::of(20, options, 0.0, 1);
        world.latest = Duration::from_millis(20);
        world.join(false);
        let mut rounds = 0;
        while !world.sender.job.is_done() && world.now < LIMIT {
            world.send();
            let name = NodeId(0x6600_0000 + rounds % names);
            let source = SocketAddr::from(([10, 0, 0, 66], 6003));
            let meta = RecvMeta { source, ecn: None, unicast: false, waited: Duration::ZERO };
            let forged = invented_as(name, state, &world, None);
            world.sender.hear(world.now, meta, &forged);
            rounds += 1;
            world.receive();
            world.pass_time();
        }
        world.assert_complete(0);
        let ended = world.now.since(Time::ZERO);
        assert!(ended < wait * 2, "{names} names, {state:?}: {ended:?}");
        let own = world.report().receivers.into_iter().find(|r| r.view.id == NodeId(100)).unwrap();
        assert_eq!(own.outcome, Outcome::Complete);
    }
}

#[test]
fn a_host_that_knows_the_digest_but_has_not_heard_the_transfer_gets_no_receipt() {
    // 20 small files, no loss; it answers each flush ten times, seed 1
    let mut world = World::of(20, SendOptions::default(), 0.0, 1);
    world.join(false);
    let meta = RecvMeta {
        source: SocketAddr::from(([10, 0, 0, 66], 6003)),
        ecn: None,
        unicast: false,
        waited: Duration::ZERO,
    };
    while !world.sender.job.is_done() && world.now < LIMIT {
        world.send();
        for said in std::mem::take(&mut world.said) {
            let message = fanfare_wire::Message::parse(&said);
            let flush = match message {
                Ok(fanfare_wire::Message::Cmd(fanfare_wire::Cmd::Flush(flush))) => Some(flush),
                _ => None,
            };
            let forged = invented(&world, flush.as_ref());
            (0..10).for_each(|_| world.sender.hear(world.now, meta, &forged));
        }
        world.receive();
        world.pass_time();
    }
    world.assert_complete(0);
    let outcomes = world.report().receivers.into_iter().map(|r| (r.view.id, r.outcome));
    let expected = [(NodeId(66), Outcome::Unproved), (NodeId(100), Outcome::Complete)];
    assert_eq!(outcomes.collect::<Vec<_>>(), expected);
    assert!(world.now < Time::ZERO + Duration::from_secs(5), "{}", world.now);
}
