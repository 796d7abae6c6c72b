//! A page of a hundred files over the testbed's road, as a browser asks for them: six connections, one
//! file after another on each.

use std::{collections::VecDeque, time::Duration};

use super::road::{Road, TESTBED, read};

/// Chromium's connections to one host.
const CONNECTIONS: usize = 6;
/// What a browser says for a file, bytes.
const REQUEST: usize = 400;
const FILES: u64 = 100;
const SEEDS: u64 = 6;
const LONG: Duration = Duration::from_secs(60);

/// One of the browser's connections.
struct Fetching {
    id: u64,
    /// Bytes of the file that it waits for.
    left: u64,
    /// Bytes of its request that have arrived.
    heard: usize,
    file: u64,
}

/// Bytes of a file: half a megabyte in all.
const fn length(file: u64) -> u64 {
    500 + file * 90
}

/// How the near side answers a browser that asks for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// When the far side has answered.
    Later,
    /// At once: the first request goes with the one for the connection.
    AtOnce,
}

/// Seconds until all files are there, connections included.
fn load(loss: f64, seed: u64, told: Told) -> f64 {
    let mut road = Road::new(TESTBED, loss, seed);
    let begun = road.now;
    let mut files: VecDeque<u64> = (0..FILES).collect();
    let mut all: Vec<Fetching> = (0..CONNECTIONS)
        .map(|_| match told {
            Told::Later => Fetching { id: road.open(), left: 0, heard: 0, file: 0 },
            Told::AtOnce => {
                let file = files.pop_front().unwrap_or(0);
                let id = road.near.mux.open_with(Vec::new(), vec![0; REQUEST]);
                Fetching { id, left: length(file), heard: 0, file }
            }
        })
        .collect();
    let mut done = None;
    road.run(LONG, |road| {
        let answered = road.now.since(begun) >= TESTBED.round_trip();
        for one in &mut all {
            road.grant(one.id);
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
        if answered && files.is_empty() && all.iter().all(|one| one.left == 0) {
            done.get_or_insert(road.now);
        }
    });
    done.map_or(f64::INFINITY, |done| done.since(begun).as_secs_f64())
}

#[test]
fn a_page_of_a_hundred_files_is_there_soon_after_its_last_round_trip() {
    // 1 Mbit/s and 242 ms one way, no loss and 1 %, seeds 1 to 6. Each connection has 16 or 17 files, one
    // in a round trip: 8.2 s, and as much of another one as the connection takes.
    for (told, loss, most) in [
        (Told::Later, 0.0, 10.5),
        (Told::AtOnce, 0.0, 10.0),
        (Told::Later, 0.01, 13.0),
        (Told::AtOnce, 0.01, 12.5),
    ] {
        let all: Vec<f64> = (1..=SEEDS).map(|seed| load(loss, seed, told)).collect();
        let mean = all.iter().sum::<f64>() / SEEDS as f64;
        println!("{told:?}, loss {loss}: {mean:.1} s, {all:.1?}");
        assert!(mean <= most, "{told:?}, loss {loss}: {mean} s, {all:?}");
    }
}
