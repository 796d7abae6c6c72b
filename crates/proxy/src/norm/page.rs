//! A page of a hundred files over the testbed's road, as a browser asks for them: six connections, one
//! file after another on each.

use std::{collections::VecDeque, time::Duration};

use super::road::{Road, TESTBED, read};

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
}

/// Bytes of a file: half a megabyte in all.
const fn length(file: u64) -> u64 {
    500 + file * 90
}

/// Seconds until all files are there, connections included.
pub(super) fn load(loss: f64, seed: u64, mut each: impl FnMut(&mut Road)) -> f64 {
    let mut road = Road::new(TESTBED, loss, seed);
    let begun = road.now;
    let mut files: VecDeque<u64> = (0..FILES).collect();
    let ids: Vec<u64> = (0..CONNECTIONS).map(|_| road.open()).collect();
    let mut all: Vec<Fetching> = Vec::new();
    let (mut done, mut asked) = (None, 0);
    road.run(LONG, |road| {
        // The reply has come back.
        if all.is_empty() && road.now.since(begun) >= TESTBED.round_trip() {
            all.extend(ids.iter().map(|id| Fetching { id: *id, left: 0, heard: 0, file: 0 }));
        }
        for one in &mut all {
            road.grant(one.id);
            one.left -= read(&mut road.near.mux, road.now, one.id).min(one.left);
            if one.left == 0
                && let Some(file) = files.pop_front()
            {
                (one.left, one.file, one.heard) = (length(file), file, 0);
                road.near.mux.write(road.now, one.id, &[0; REQUEST]);
                asked += 1;
            }
            one.heard += read(&mut road.far.mux, road.now, one.id) as usize;
            if one.heard == REQUEST {
                one.heard = 0;
                road.far.mux.write(road.now, one.id, &vec![0; length(one.file) as usize]);
            }
        }
        if asked == FILES && all.iter().all(|one| one.left == 0) && done.is_none() {
            done = Some(road.now);
        }
        if done.is_none() {
            each(road);
        }
    });
    done.map_or(f64::INFINITY, |done| done.since(begun).as_secs_f64())
}

#[test]
fn a_page_of_a_hundred_files_is_there_soon() {
    for (loss, seeds) in [(0.0, 1), (0.01, 6)] {
        let all: Vec<f64> = (1..=seeds)
            .map(|seed| {
                let mut next = fanfare_proto::Time::ZERO;
                load(loss, seed, |road| {
                    if seed == 1 && road.now >= next {
                        next = road.now + Duration::from_millis(250);
                        let (rate, why, ..) = road.far.engine.status();
                        eprintln!(
                            "{:.2} {rate} {why} {:?}",
                            road.now.since(fanfare_proto::Time::ZERO).as_secs_f64(),
                            road.far.engine.sent()
                        );
                    }
                })
            })
            .collect();
        eprintln!("loss {loss}: {all:.1?}, mean {:.2}", all.iter().sum::<f64>() / all.len() as f64);
    }
}
