//! Nodes that start again with another id, and what others make of the old one.

use super::*;
use crate::{
    frames::frame::{Frame, Kind},
    membership::state::State,
};
use fanfare_wire::{
    Report, Sequence,
    ext::{ExtFormer, Extensions},
};

/// Node 0 publishes, node 1 subscribes, as node 2 does; all know each other.
fn group() -> Bus {
    let mut bus = Bus::new(3);
    (1..3).for_each(|node| {
        bus.subscribe(node, "#");
    });
    bus.run(20, &mut none);
    bus
}

/// A node with another id that was node 2 before; gives its place.
fn newcomer(bus: &mut Bus) -> usize {
    let place = bus.join();
    let now = bus.now;
    bus.nodes[place].0.set_former_ids(now, [NodeId(2)]);
    bus.subscribe(place, "#");
    place
}

fn has_left(bus: &Bus, node: usize) -> bool {
    bus.events[0].contains(&Event::Left { node: NodeId(node as u32 + 1) })
}

fn is_known(bus: &Bus, node: u32) -> bool {
    bus.nodes[0].0.members().iter().any(|(other, _)| other.0 == node)
}

#[test]
fn a_publisher_waits_five_seconds_at_most_for_a_node_that_was_started_again() {
    for loss in [0, 20] {
        let mut rng = Rng::new(loss);
        let mut bus = group();
        newcomer(&mut bus);
        let key = bus.publish(0, "a", b"short", Options::default()).key;
        bus.nodes[0].0.watch(key);
        bus.run(5, &mut |from, to, _| from == 1 || to == 1 || rng.below(100) < loss);
        assert!(has_left(&bus, 1) && !is_known(&bus, 2), "{loss} % are lost");
        assert!(is_known(&bus, 4));
    }
}

#[test]
fn who_waits_for_nobody_learns_as_soon_that_the_earlier_life_is_over() {
    let mut bus = group();
    newcomer(&mut bus);
    bus.run(5, &mut |from, to, _| from == 1 || to == 1);
    assert!(has_left(&bus, 1));
    // It is not missed as one is that may come back.
    assert_eq!(bus.nodes[0].0.members.absence(bus.now), None);
}

#[test]
fn a_clone_and_its_original_that_still_lives_are_both_waited_for() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let mut bus = group();
        newcomer(&mut bus);
        // The publisher has heard of it: whoever it does not know has to ask for what was complete before.
        bus.run(20, &mut none);
        assert!(is_known(&bus, 4), "seed {seed}");
        let key = bus.publish(0, "a", &bytes(3_000), Options::default()).key;
        bus.nodes[0].0.watch(key);
        bus.run(90, &mut |_, _, _| rng.below(100) < 10);
        assert!(!has_left(&bus, 1) && is_known(&bus, 2) && is_known(&bus, 4), "seed {seed}");
        assert_eq!(
            bus.standings(0, key),
            [2, 3, 4].map(|node| (node, Standing::Holds)),
            "seed {seed}"
        );
    }
}

#[test]
fn an_original_out_of_reach_of_its_clone_is_asked_by_the_publisher_that_waits_for_it() {
    let mut bus = group();
    let clone = newcomer(&mut bus);
    let key = bus.publish(0, "a", b"short", Options::default()).key;
    bus.nodes[0].0.watch(key);
    bus.run(60, &mut |from, to, _| [(1, clone), (clone, 1)].contains(&(from, to)));
    assert!(!has_left(&bus, 1) && is_known(&bus, 2) && is_known(&bus, 4));
}

/// Node 0 is told by somebody whom nobody knows that it was node 2 before.
fn forge(bus: &mut Bus, speaker: u32, calls: bool) {
    let called = if calls { vec![NodeId(2)] } else { Vec::new() };
    let mut payload = Kind::State.report_header().to_vec();
    State { called, ..State::default() }.append(1_000, &mut payload);
    let mut area = Vec::new();
    ExtFormer::append(&[NodeId(2)], &mut area);
    let extensions = Extensions::parse(&area).unwrap();
    let mut bytes = Vec::new();
    let (sequence, source_id) = (Sequence(0), NodeId(speaker));
    Report { sequence, source_id, extensions, payload: &payload }.encode(&mut bytes);
    let meta = RecvMeta {
        source: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9)), 6003),
        ecn: None,
        unicast: false,
        waited: Duration::ZERO,
    };
    for (node, storage) in &mut bus.nodes {
        node.handle_datagram(bus.now, meta, &bytes, storage);
    }
}

#[test]
fn a_living_node_stays_a_member_however_often_others_claim_to_have_been_it() {
    let mut bus = group();
    for speaker in 100..160 {
        forge(&mut bus, speaker, true);
        bus.run(1, &mut none);
    }
    bus.run(10, &mut none);
    assert!(!has_left(&bus, 1) && is_known(&bus, 2));
}

#[test]
fn who_is_not_called_on_stays_a_member_and_who_speaks_again_is_one_at_once() {
    let mut silent = |from: usize, to: usize, _: &Message<'_>| from == 1 || to == 1;
    let mut bus = group();
    forge(&mut bus, 100, false);
    bus.run(10, &mut silent);
    assert!(is_known(&bus, 2));
    forge(&mut bus, 101, true);
    bus.run(4, &mut silent);
    assert!(!is_known(&bus, 2));
    bus.run(70, &mut none);
    assert!(is_known(&bus, 2));
    // Whoever claims it goes on: it was heard since.
    forge(&mut bus, 101, true);
    bus.run(10, &mut silent);
    assert!(is_known(&bus, 2));
}

#[test]
fn a_node_says_for_a_minute_what_it_was_and_stops_when_it_hears_that_it_is_not() {
    let told = |bus: &mut Bus, seconds: u64, silent: bool| {
        let mut told = 0;
        bus.run(seconds, &mut |from, to, message| {
            let extensions = Frame::of(message).map(|(_, extensions)| extensions);
            let formers = extensions.map_or(0, |extensions| extensions.formers().count());
            told += usize::from((from, to) == (3, 0) && formers > 0);
            silent && (from == 1 || to == 1)
        });
        told
    };
    let mut bus = group();
    newcomer(&mut bus);
    assert!((3..15).contains(&told(&mut bus, 60, true)));
    assert_eq!(told(&mut bus, 200, true), 0);
    let mut bus = group();
    newcomer(&mut bus);
    assert!((1..=2).contains(&told(&mut bus, 60, false)));
}

#[test]
fn a_reader_that_knows_nothing_of_earlier_lives_reads_the_rest_of_an_announcement() {
    let state = State { called: vec![NodeId(2)], asks: true, ..State::default() };
    let mut payload = Kind::State.report_header().to_vec();
    state.append(1_000, &mut payload);
    let mut area = Vec::new();
    ExtFormer::append(&[NodeId(2)], &mut area);
    let extensions = Extensions::parse(&area).unwrap();
    let mut bytes = Vec::new();
    let (sequence, source_id) = (Sequence(7), NodeId(9));
    Report { sequence, source_id, extensions, payload: &payload }.encode(&mut bytes);
    // The announcement stands as it did before there was anything ahead of it.
    assert!(bytes.ends_with(&[0x01, 2, 0x02]));
    let message = Message::parse(&bytes).unwrap();
    let Some((Frame::State(read), _)) = Frame::of(&message) else { panic!("an announcement") };
    assert_eq!(State::parse(read, &mut |_| None), Some(state));
}
