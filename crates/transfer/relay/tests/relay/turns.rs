//! Several relays in one island: one passes the sender on, the others stand by and take over.

use std::time::Duration;

use fanfare_relay::{Event, Relay, Side, To};

use crate::world::{SENDER, by_group, data, is_norm, ms, relay, sent, single, with_object};

#[test]
fn of_two_relays_in_one_island_one_stands_by_and_takes_over_when_the_other_is_silent() {
    let (mut low, mut high) = (relay(1, 1, &[50]), relay(2, 1, &[50]));
    let (at_low, at_high) = (by_group(0, 41), by_group(0, 42));
    let mut passed = [0; 2];
    let mut number = 0;
    for step in 0..2400_u64 {
        let now = ms(step * 5);
        let low_lives = step < 1200;
        let message = data(number, u32::from(number) % 2, number / 2 % 4);
        number = number.wrapping_add(1);
        let mut said = Vec::new();
        for (relay, here) in [(&mut low, at_low), (&mut high, at_high)] {
            if here == at_low && !low_lives {
                continue;
            }
            // Each hears a life of the sender of its own: eight symbols are soon over.
            relay.on_datagram(now, single(50), &with_object(&message, (step / 8) as u16));
            relay.handle_timeout(now);
            while let Some(out) = relay.poll_transmit() {
                if out.to == To::Group(0) {
                    said.push((here, out.bytes));
                }
            }
        }
        for (from, bytes) in said {
            passed[usize::from(from == at_high)] += u32::from(is_norm(&bytes));
            if from == at_low { &mut high } else { &mut low }.on_datagram(now, from, &bytes);
        }
    }
    let told: Vec<Event> = std::iter::from_fn(|| high.poll_event()).collect();
    let stands = |one: &Event| matches!(one, Event::StandBy { side: Side::Group(0), .. });
    assert!(told.iter().any(stands), "{told:?}");
    // The one with the lower number served half of the time, the other one after its lease.
    assert!(passed[0] > 1190, "{passed:?}");
    assert!((500..700).contains(&passed[1]), "{passed:?}");
}

/// Relays with these numbers in one island, each of which hears the sender by a road of its own. `lives` says
/// whether one is there. How many messages of the sender's came to the island from each, in each second.
fn in_one_island(
    numbers: &[u32],
    seconds: u64,
    lives: impl Fn(usize, u64) -> bool,
) -> Vec<Vec<usize>> {
    let start = |number: &u32| relay(*number, 1, &[50]);
    let mut relays: Vec<Option<(Relay, u64)>> = numbers.iter().map(|_| None).collect();
    let mut spoke = vec![vec![0; numbers.len()]; seconds as usize];
    for step in 0..seconds * 200 {
        // Each message is of another object.
        let message = with_object(&data(step as u16, 0, 0), step as u16);
        let mut said = Vec::new();
        for (n, one) in relays.iter_mut().enumerate() {
            if !lives(n, step / 200) {
                *one = None;
                continue;
            }
            let (relay, begun) = one.get_or_insert_with(|| (start(&numbers[n]), step));
            let own = Duration::from_millis((step - *begun) * 5);
            if step >= 200 {
                relay.on_datagram(own, single(50), &message);
            }
            relay.handle_timeout(own);
            let out = std::iter::from_fn(|| relay.poll_transmit());
            said.extend(out.filter(|out| out.to == To::Group(0)).map(|out| (n, out.bytes)));
        }
        for (from, bytes) in said {
            spoke[(step / 200) as usize][from] += usize::from(is_norm(&bytes));
            for (_, one) in relays.iter_mut().enumerate().filter(|(n, _)| *n != from) {
                if let Some((relay, begun)) = one {
                    let own = Duration::from_millis((step - *begun) * 5);
                    relay.on_datagram(own, by_group(0, 41 + from as u8), &bytes);
                }
            }
        }
    }
    spoke
}

#[test]
fn a_relay_that_stands_by_never_speaks_before_the_other_one_is_gone() {
    let spoke = in_one_island(&[1, 2], 12, |n, second| n == 1 || second < 6);
    // The first second is without a sender.
    assert!(spoke[2..6].iter().all(|each| each[0] > 190), "{spoke:?}");
    assert!(spoke[..8].iter().all(|each| each[1] == 0), "{spoke:?}");
    assert!(spoke[10..].iter().all(|each| each[1] > 190), "{spoke:?}");
}

#[test]
fn a_relay_that_comes_later_lets_the_other_one_go_on_although_its_own_number_is_lower() {
    let spoke = in_one_island(&[1, 2], 10, |n, second| n == 1 || second >= 4);
    assert!(spoke[2..].iter().all(|each| each[0] == 0 && each[1] > 190), "{spoke:?}");
}

#[test]
fn of_two_relays_that_know_each_other_neither_waits_for_the_other_when_a_sender_begins() {
    // By turns one of them hears the sender first, and the other one hears of that first.
    for numbers in [[1, 2], [2, 1]] {
        let spoke = in_one_island(&numbers, 4, |_, _| true);
        let low = usize::from(numbers[0] > numbers[1]);
        assert!(spoke[1][low] > 195 && spoke[1][1 - low] == 0, "{spoke:?}");
    }
}

#[test]
fn a_relay_that_hears_the_sender_by_the_other_one_first_stands_by_when_it_hears_it_first_hand() {
    let mut high = relay(2, 1, &[50]);
    let told = |relay: u32, ways: &[u32]| {
        // As in `hello`: one sender, heard lately.
        let mut bytes = fanfare_wire::Report::FROM_NOBODY.to_vec();
        bytes.extend(b"FFR3");
        bytes.extend(relay.to_be_bytes());
        bytes.extend([0, 1]);
        bytes.extend(SENDER.to_be_bytes());
        bytes.push(0x80 | ways.len() as u8);
        ways.iter().for_each(|way| bytes.extend(way.to_be_bytes()));
        // In the group of all.
        bytes.extend([1, 4, 239, 255, 42, 1]);
        bytes.extend(6003_u16.to_be_bytes());
        bytes
    };
    high.on_datagram(ms(0), by_group(0, 41), &data(0, 0, 0));
    high.on_datagram(ms(1), by_group(0, 41), &told(1, &[9, 1]));
    high.on_datagram(ms(1), single(50), &told(9, &[9]));
    high.on_datagram(ms(2), single(50), &data(1, 0, 1));
    high.on_datagram(ms(3), by_group(0, 41), &data(1, 0, 1));
    assert!(sent(&mut high).iter().all(|out| out.to != To::Group(0)));
    let stands = |one: &Event| matches!(one, Event::StandBy { side: Side::Group(0), .. });
    assert!(std::iter::from_fn(|| high.poll_event()).any(|event| stands(&event)));
}

#[test]
fn a_relay_that_does_not_hear_the_sender_keeps_no_other_one_waiting_for_long() {
    let (mut low, mut high) = (relay(1, 1, &[51]), relay(2, 1, &[50]));
    let mut spoke = Vec::new();
    for step in 0..600_u64 {
        let now = ms(step * 5);
        low.handle_timeout(now);
        while let Some(out) = low.poll_transmit() {
            high.on_datagram(now, by_group(0, 41), &out.bytes);
        }
        high.on_datagram(now, single(50), &with_object(&data(step as u16, 0, 0), step as u16));
        high.handle_timeout(now);
        let out = std::iter::from_fn(|| high.poll_transmit()).filter(|out| out.to == To::Group(0));
        for out in out.collect::<Vec<_>>() {
            low.on_datagram(now, by_group(0, 42), &out.bytes);
            spoke.extend(is_norm(&out.bytes).then_some(step * 5));
        }
    }
    assert!(spoke.first().is_some_and(|first| *first <= 1600), "{:?}", spoke.first());
    assert!(spoke.len() > 250, "{}", spoke.len());
}
