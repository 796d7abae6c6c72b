use alloc::{format, vec};
use core::net::{IpAddr, Ipv4Addr};

use super::*;
use fanfare_wire::units::Duration;

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const GROUP: IpAddr = IpAddr::V4(Ipv4Addr::new(239, 1, 1, 1));
const OUT: (u16, u16) = (40_000, 80);
const BACK: (u16, u16) = (80, 40_000);

fn at(millis: u64) -> Time {
    Time::ZERO.plus(Duration::from_millis(millis))
}

fn seen(millis: u64, from: IpAddr, to: IpAddr, what: What) -> Sighting {
    let (bytes, packets) = (100, 1);
    Sighting { at: at(millis), bytes, packets, macs: None, ends: (from, to), ttl: 64, what }
}

fn data(number: u32, length: u32) -> Segment {
    Segment { ack: true, number, length, ..Segment::default() }
}

#[test]
fn a_handshake_gives_both_halves_of_a_path() {
    let mut observer = Observer::new();
    let syn = Segment { syn: true, number: 99, ..Segment::default() };
    let back = Segment { syn: true, ack: true, number: 499, acknowledged: 100, ..syn };
    let last = Segment { ack: true, number: 100, acknowledged: 500, ..Segment::default() };
    observer.on_sighting(&seen(0, CLIENT, SERVER, What::Tcp(OUT, syn)));
    observer.on_sighting(&seen(30, SERVER, CLIENT, What::Tcp(BACK, back)));
    observer.on_sighting(&seen(40, CLIENT, SERVER, What::Tcp(OUT, last)));
    let ways: Vec<(IpAddr, Duration)> =
        observer.trips().ways().map(|(ends, way)| (ends.0, way.now())).collect();
    let millis = Duration::from_millis;
    assert_eq!(ways, [(CLIENT, millis(10)), (SERVER, millis(30))]);
    assert_eq!(observer.take_handshakes()[0].took, millis(40));
}

#[test]
fn a_syn_that_was_sent_twice_gives_no_sample() {
    let mut observer = Observer::new();
    let syn = Segment { syn: true, number: 99, ..Segment::default() };
    let back = Segment { syn: true, ack: true, number: 499, acknowledged: 100, ..syn };
    observer.on_sighting(&seen(0, CLIENT, SERVER, What::Tcp(OUT, syn)));
    observer.on_sighting(&seen(1000, CLIENT, SERVER, What::Tcp(OUT, syn)));
    observer.on_sighting(&seen(1030, SERVER, CLIENT, What::Tcp(BACK, back)));
    assert_eq!(observer.trips().ways().count(), 0);
}

#[test]
fn the_first_answer_to_a_time_stamp_is_a_sample_and_later_ones_are_none() {
    let mut observer = Observer::new();
    let sent = |millis, stamp| {
        let segment = Segment { stamps: Some((stamp, 1)), ..data(100, 10) };
        seen(millis, CLIENT, SERVER, What::Tcp(OUT, segment))
    };
    let answered = |millis, stamp| {
        let segment = Segment { stamps: Some((millis as u32, stamp)), ..data(500, 0) };
        seen(millis, SERVER, CLIENT, What::Tcp(BACK, segment))
    };
    for one in [sent(0, 7), sent(5, 7), answered(20, 7), answered(90, 7), answered(95, 8)] {
        observer.on_sighting(&one);
    }
    let ways: Vec<(u64, Duration)> =
        observer.trips().ways().map(|(_, way)| (way.count, way.now())).collect();
    assert_eq!(ways, [(1, Duration::from_millis(20))]);
}

#[test]
fn a_step_of_the_round_trip_is_seen_with_its_second_sample() {
    let mut observer = Observer::new();
    let mut ping = |number: u16, took: u64| {
        let start = u64::from(number) * 1000;
        let echo = |reply| What::Echo { reply, id: (1, number) };
        observer.on_sighting(&seen(start, CLIENT, SERVER, echo(false)));
        observer.on_sighting(&seen(start + took, SERVER, CLIENT, echo(true)));
        observer.trips().ways().map(|(_, way)| way.base().as_millis()).next()
    };
    let bases: Vec<u128> = [50, 50, 52, 400, 401, 400]
        .into_iter()
        .enumerate()
        .filter_map(|(n, t)| ping(n as u16, t))
        .collect();
    assert_eq!(bases, [50, 50, 50, 50, 400, 400]);
}

#[test]
fn data_that_comes_again_is_told_from_what_was_overtaken_and_from_what_was_lost_before() {
    let mut observer = Observer::new();
    let mut send = |millis, number, length| {
        let what = What::Tcp(OUT, data(number, length));
        observer.on_sighting(&seen(millis, CLIENT, SERVER, what));
        observer.losses().pairs().next().map(|(_, pair)| *pair).unwrap()
    };
    send(0, 0, 100);
    send(1, 100, 100);
    assert_eq!(send(200, 100, 100).after, 1, "it had been seen");
    send(300, 300, 100);
    assert_eq!(send(302, 200, 100).overtaken, 1);
    send(400, 500, 100);
    assert_eq!(send(600, 400, 100).before, 1, "it had not been seen");
    let all = send(700, 599, 1);
    assert_eq!(all, Retransmitted { segments: 8, before: 1, after: 1, overtaken: 1 }, "kept alive");
}

#[test]
fn numbers_of_norm_messages_that_are_missing_are_lost() {
    let mut observer = Observer::new();
    let norm = |sequence| {
        let norm = Norm { kind: 2, sequence, source: 7, instance: 3 };
        seen(u64::from(sequence), CLIENT, GROUP, What::Norm((5000, 6003), norm))
    };
    for sequence in [65_534, 65_535, 2, 1, 5] {
        observer.on_sighting(&norm(sequence));
    }
    let (_, session) = observer.losses().sessions().next().unwrap();
    // 65534 to 5 are eight numbers; 0, 3 and 4 are missing.
    assert_eq!((session.sent, session.came, session.lost()), (8, 5, 3));
}

#[test]
fn more_flows_than_there_is_room_for_are_folded_and_the_sums_stay_right() {
    let mut observer = Observer::new();
    for port in 0..40_000_u32 {
        let from = IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + port));
        observer.on_sighting(&seen(u64::from(port), from, SERVER, What::Udp((9, 9))));
    }
    let flows = observer.flows();
    assert_eq!(flows.sum(), (4_000_000, 40_000));
    assert!(flows.iter().count() <= 16_384 && flows.other().2 > 20_000);
}

#[test]
fn the_card_behind_which_many_are_is_a_gateway_and_a_group_is_none() {
    let mut observer = Observer::new();
    for host in 0..9_u8 {
        let from = IpAddr::V4(Ipv4Addr::new(192, 0, 2, host + 1));
        let mut one = seen(0, from, SERVER, What::Udp((1, 1)));
        one.macs = Some(([2, 0, 0, 0, 0, 1], [2; 6]));
        one.ttl = 60;
        observer.on_sighting(&one);
        one.ends.0 = IpAddr::V4(Ipv4Addr::new(10, 0, 0, host % 3 + 1));
        one.macs = Some(([2, 0, 0, 0, 1, host % 3], [2; 6]));
        observer.on_sighting(&one);
        one.macs = Some(([0xff; 6], [2; 6]));
        observer.on_sighting(&one);
    }
    let cards = observer.neighbours().cards();
    let gateways: Vec<u8> = cards.iter().filter(|one| one.2).map(|(mac, ..)| mac[5]).collect();
    assert_eq!((cards.len(), gateways), (4, Vec::from([1])));
    assert_eq!(cards[0].1.hops, 4);
}

/// Frames of one NORM sender: the number of the first message of each, and how many it has of `length`
/// bytes. `is_told`: the kernel says of how many it was joined, as no file does.
fn joined(ends: (IpAddr, IpAddr), frames: &[(u16, u32)], length: u32, is_told: bool) -> (u64, u64) {
    let mut observer = Observer::new();
    for (sequence, count) in frames {
        let norm = Norm { kind: 2, sequence: *sequence, source: 7, instance: 3 };
        let mut frame = seen(0, ends.0, ends.1, What::Norm((5000, 6003), norm));
        let headers = if ends.0.is_ipv4() { 28 } else { 48 };
        (frame.bytes, frame.packets) = match is_told {
            true => (count * (length + headers), *count),
            false => (count * length + headers, 1),
        };
        observer.on_sighting(&frame);
    }
    let session = *observer.losses().sessions().next().unwrap().1;
    (session.sent, session.came)
}

#[test]
fn messages_that_the_kernel_has_joined_are_counted_one_by_one_told_or_not() {
    let six = (IpAddr::V6("fd00::1".parse().unwrap()), IpAddr::V6("ff15::1".parse().unwrap()));
    for ends in [(CLIENT, GROUP), (CLIENT, SERVER), six] {
        for length in [512, 1400, 1472, 8000] {
            for is_told in [true, false] {
                let case = format!("{ends:?} {length} {is_told}");
                // The last frame's number is known when the next one comes.
                let even: Vec<(u16, u32)> =
                    (0..50).map(|at| (at * 40, 40)).chain([(2000, 1)]).collect();
                assert_eq!(joined(ends, &even, length, is_told), (2001, 2001), "{case}");
                // Past the end of the numbers, by frames of several lengths.
                let mut mixed = Vec::new();
                let mut at = 65_000_u16;
                for count in [4, 40, 7, 40, 1, 1, 22, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 3, 1]
                {
                    mixed.push((at, count));
                    at = at.wrapping_add(count as u16);
                }
                let all = mixed.iter().map(|(_, count)| u64::from(*count)).sum();
                assert_eq!(joined(ends, &mixed, length, is_told), (all, all), "{case}");
            }
        }
    }
}

#[test]
fn what_is_lost_between_joined_frames_is_lost_and_a_long_message_is_one() {
    let ends = (CLIENT, GROUP);
    for is_told in [true, false] {
        // Ten of each hundred are lost, from the second hundred on.
        let mut frames: Vec<(u16, u32)> = vec![(0, 50), (50, 50)];
        frames.extend(
            (1..20)
                .map(|hundred| (hundred * 100, 45))
                .flat_map(|(at, count)| [(at, count), (at + 50, 45)]),
        );
        frames.push((2000, 1));
        assert_eq!(joined(ends, &frames, 1400, is_told), (2001, 100 + 19 * 90 + 1), "{is_told}");
        // Frames of a network with a large MTU, each of which is one message; every tenth is lost.
        let long: Vec<(u16, u32)> = (0..1000).filter(|at| at % 10 != 9).map(|at| (at, 1)).collect();
        assert_eq!(joined(ends, &long, 8900, is_told), (999, 900), "{is_told}");
        // Short ones tell nothing of joining.
        assert_eq!(joined(ends, &long, 1400, is_told), (999, 900), "{is_told}");
        assert_eq!(joined(ends, &long, 60, is_told), (999, 900), "{is_told}");
    }
}
