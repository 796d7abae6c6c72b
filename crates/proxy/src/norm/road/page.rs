//! A page of a hundred files over the testbed's road, as a browser asks for them: six connections, one
//! file after another on each.

use std::{collections::VecDeque, time::Duration};

use fanfare_proto::Time;

use super::{Road, TESTBED, read};

/// Chromium's connections to one host.
const CONNECTIONS: usize = 6;
/// What a browser says for a file, bytes.
const REQUEST: usize = 400;
const FILES: u64 = 100;
const LONG: Duration = Duration::from_secs(60);

/// One of the browser's connections.
struct Fetching {
    id: u64,
    /// Bytes of the file that it waits for.
    left: u64,
    /// Bytes of its request that have arrived.
    heard: usize,
    file: u64,
    /// When the far end's answer to the request for a connection is here.
    answered: Option<Time>,
}

/// Bytes of a file: half a megabyte in all.
const fn length(file: u64) -> u64 {
    500 + file * 90
}

/// Seconds until all files are there, connections included.
fn load(loss: f64, seed: u64) -> f64 {
    let mut road = Road::new(TESTBED, loss, seed);
    let begun = road.now;
    let mut files: VecDeque<u64> = (0..FILES).collect();
    let mut all: Vec<Fetching> = (0..CONNECTIONS)
        .map(|_| Fetching { id: road.open(), left: 0, heard: 0, file: 0, answered: None })
        .collect();
    let mut done = None;
    road.run(LONG, |road| {
        for one in &mut all {
            road.grant(one.id);
            if road.far.mux.write(road.now, one.id, &[]).is_some() {
                one.answered.get_or_insert(road.now + TESTBED.one_way);
            }
            let answered = one.answered.is_some_and(|then| road.now >= then);
            one.left -= read(&mut road.near.mux, road.now, one.id).min(one.left);
            if answered
                && one.left == 0
                && let Some(file) = files.pop_front()
            {
                (one.left, one.file, one.heard) = (length(file), file, 0);
                road.near.mux.write(road.now, one.id, &[0; REQUEST]);
            }
            one.heard += read(&mut road.far.mux, road.now, one.id) as usize;
            if one.heard == REQUEST {
                one.heard = 0;
                road.far.mux.write(road.now, one.id, &vec![0; length(one.file) as usize]);
            }
        }
        if files.is_empty() && all.iter().all(|one| one.left == 0) {
            done.get_or_insert(road.now);
        }
    });
    done.map_or(f64::INFINITY, |done| done.since(begun).as_secs_f64())
}

#[test]
fn a_page_of_a_hundred_files_is_there_soon_after_its_last_round_trip() {
    // 1 Mbit/s and 242 ms one way, no loss, seed 1. Each connection has 16 or 17 files, one in a round
    // trip: 8.2 s, and half a second for the connection. Without filling it takes 13.7 s.
    let seconds = load(0.0, 1);
    assert!(seconds <= 10.2, "{seconds} s");
}

#[test]
fn one_of_a_hundred_packets_lost_costs_a_page_less_than_a_second() {
    // 1 Mbit/s and 242 ms one way, seeds 1 to 10: without loss it is 10.0 s.
    let mut all: Vec<f64> = (1..=10).map(|seed| load(0.01, seed)).collect();
    all.sort_by(f64::total_cmp);
    println!("{all:.1?} s");
    assert!(all[5] <= 11.0 && all[9] <= 11.8, "{all:?}");
}
