//! What downloads get on the road of the testbed from their first byte on, and keystrokes beside them.

use std::{collections::VecDeque, time::Duration};

use super::{super::fit::SEGMENT, MEGABYTE, Road, TESTBED, read};

const RUN: Duration = Duration::from_secs(40);
const SEEDS: u64 = 5;

/// Seconds until the first megabyte was read, and bits a second of the whole run, from when a program
/// asks for an endless download.
fn download(loss: f64, seed: u64) -> (f64, f64) {
    let mut road = Road::new(TESTBED, loss, seed);
    let (id, begin, body) = (road.open(), road.now, vec![0; 64 << 10]);
    let (mut all, mut first) = (0, f64::INFINITY);
    road.run(RUN, |road| {
        all += road.download(id, &body);
        if all >= MEGABYTE {
            first = first.min(road.now.since(begin).as_secs_f64());
        }
    });
    (first, all as f64 * 8.0 / RUN.as_secs_f64())
}

#[test]
fn a_download_over_a_long_road_is_near_the_line_from_its_first_byte() {
    // 1 Mbit/s and 242 ms one way, seeds 1 to 5. A segment takes 1376 of the 1480 bytes of its packet.
    for (loss, share, first_most) in [(0.0, 0.945, 9.4), (0.01, 0.93, 10.0), (0.1, 0.87, 13.0)] {
        let line = TESTBED.rate * f64::from(SEGMENT) / 1480.0 * (1.0 - loss);
        let all: Vec<_> = (1..=SEEDS).map(|seed| download(loss, seed)).collect();
        let mean = all.iter().map(|(_, rate)| rate).sum::<f64>() / SEEDS as f64;
        let first = all.iter().map(|(first, _)| first).sum::<f64>() / SEEDS as f64;
        println!(
            "loss {loss}: {:.0} kbit/s of {:.0}, first MB {first:.1} s",
            mean / 1e3,
            line / 1e3
        );
        assert!(mean >= share * line, "loss {loss}: {mean} of {line} bit/s, {all:?}");
        assert!(first <= first_most, "loss {loss}: first MB after {first} s, {all:?}");
    }
}

#[test]
fn ten_downloads_get_what_one_gets_in_equal_shares() {
    // 1 Mbit/s and 242 ms one way, 1 % loss, seed 1
    let (_, one) = download(0.01, 1);
    let mut road = Road::new(TESTBED, 0.01, 1);
    let ids: Vec<u64> = (0..10).map(|_| road.open()).collect();
    let (mut shares, body) = (vec![0.0; ids.len()], vec![0; 64 << 10]);
    road.run(RUN, |road| {
        for (id, share) in ids.iter().zip(&mut shares) {
            *share += road.download(*id, &body) as f64;
        }
    });
    let sum = shares.iter().sum::<f64>() * 8.0 / RUN.as_secs_f64();
    let squares = shares.iter().map(|share| share * share).sum::<f64>();
    let jain = shares.iter().sum::<f64>().powi(2) / (10.0 * squares);
    println!("ten: {:.2} of one, Jain {jain:.3}", sum / one);
    assert!(sum >= 0.98 * one, "{sum} of {one} bit/s");
    assert!(jain >= 0.95, "{jain}, {shares:?}");
}

/// Milliseconds from a keystroke to its echo, one each second, sorted.
fn echoes(loss: f64, seed: u64, beside: bool) -> Vec<u64> {
    let mut road = Road::new(TESTBED, loss, seed);
    let bulk = beside.then(|| road.open());
    let (keys, body) = (road.open(), vec![0; 64 << 10]);
    let (mut typed, mut times) = (VecDeque::new(), Vec::new());
    let mut next = road.now + Duration::from_secs(10);
    road.run(RUN, |road| {
        bulk.map(|id| road.download(id, &body));
        road.grant(keys);
        if road.now >= next {
            next = next + Duration::from_secs(1);
            road.near.mux.write(road.now, keys, b"a key");
            typed.push_back(road.now);
        }
        let heard = read(&mut road.far.mux, road.now, keys);
        road.far.mux.write(road.now, keys, &vec![0; heard as usize]);
        for _ in 0..read(&mut road.near.mux, road.now, keys) / 5 {
            let begun = typed.pop_front().unwrap();
            times.push(road.now.since(begun).as_millis() as u64);
        }
    });
    times.sort_unstable();
    times
}

#[test]
fn a_keystroke_beside_a_download_is_echoed_150_ms_later_at_most() {
    // 1 Mbit/s and 242 ms one way, no loss, seed 1: 95 of 100
    let [idle, beside] = [false, true].map(|beside| {
        let times = echoes(0.0, 1, beside);
        assert!(times.len() >= 25, "{times:?}");
        times[times.len() * 95 / 100]
    });
    println!("idle {idle} ms, beside a download {beside} ms");
    assert!(beside <= idle + 150, "idle {idle} ms, beside a download {beside} ms");
}
