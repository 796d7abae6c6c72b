//! A page of a hundred files over the testbed's road, as a browser asks for them: two connections at first,
//! one for the page and one in advance, then six, and one file after another on each.

use std::{collections::VecDeque, time::Duration};

use fanfare_proto::Time;

use super::{Road, TESTBED, read};

/// Chromium's connections to one host, and how many of them it opens before it has the page.
const CONNECTIONS: usize = 6;
const FIRST: usize = 2;
/// What a browser says for a file, bytes.
const REQUEST: usize = 400;
const FILES: u64 = 100;
/// Bytes of the page itself.
const PAGE: u64 = 2200;
const LONG: Duration = Duration::from_secs(60);

/// Whether connections to a destination that has taken one wait for the far side's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    Wait,
    GoOn,
}

/// One of the browser's connections.
struct Fetching {
    id: u64,
    /// Bytes of the file that it waits for.
    left: u64,
    /// Bytes of its request that have arrived.
    heard: usize,
    /// Of the answer.
    length: u64,
    /// When it can be used: when the far end's answer to the request for a connection is here.
    open: Option<Time>,
}

impl Fetching {
    fn new(road: &mut Road) -> Self {
        Self { id: road.open(), left: 0, heard: 0, length: 0, open: None }
    }

    /// With the connection's first request.
    fn with_first(road: &mut Road, length: u64) -> Self {
        let id = road.near.mux.open_with(Vec::new(), vec![0; REQUEST]);
        Self { id, left: length, heard: 0, length, open: Some(road.now) }
    }

    /// Whether it can ask for another file.
    fn is_free(&self, now: Time) -> bool {
        self.left == 0 && self.open.is_some_and(|open| now >= open)
    }

    fn ask(&mut self, road: &mut Road, length: u64) {
        (self.left, self.length) = (length, length);
        road.near.mux.write(road.now, self.id, &[0; REQUEST]);
    }

    /// Both ends do what they can.
    fn go_on(&mut self, road: &mut Road) {
        road.grant(self.id);
        if road.far.mux.has(self.id) {
            self.open.get_or_insert(road.now + TESTBED.one_way);
        }
        self.left -= read(&mut road.near.mux, road.now, self.id).min(self.left);
        self.heard += read(&mut road.far.mux, road.now, self.id) as usize;
        if self.heard == REQUEST {
            self.heard = 0;
            road.far.mux.write(road.now, self.id, &vec![0; self.length as usize]);
        }
    }
}

/// Bytes of a file: half a megabyte in all. They come in no order of length.
const fn length(file: u64) -> u64 {
    500 + file * 37 % FILES * 90
}

/// Seconds until all files are there, connections included.
fn load(loss: f64, seed: u64, others: Others) -> f64 {
    let mut road = Road::new(TESTBED, loss, seed);
    let begun = road.now;
    let mut files: VecDeque<u64> = (0..FILES).map(length).collect();
    let mut all: Vec<Fetching> = (0..FIRST).map(|_| Fetching::new(&mut road)).collect();
    let (mut asked, mut done) = (false, None);
    road.run(LONG, |road| {
        all.iter_mut().for_each(|one| one.go_on(road));
        if !asked && all[0].is_free(road.now) {
            all[0].ask(road, PAGE);
            asked = true;
        }
        if !asked || all[0].length == PAGE && all[0].left > 0 {
            return;
        }
        for one in &mut all {
            if one.is_free(road.now)
                && let Some(file) = files.pop_front()
            {
                one.ask(road, file);
            }
        }
        while all.len() < CONNECTIONS {
            all.push(match (others, files.front()) {
                (Others::GoOn, Some(_)) => {
                    let file = files.pop_front().unwrap();
                    Fetching::with_first(road, file)
                }
                _ => Fetching::new(road),
            });
        }
        if files.is_empty() && all.iter().all(|one| one.left == 0) {
            done.get_or_insert(road.now);
        }
    });
    done.map_or(f64::INFINITY, |done| done.since(begun).as_secs_f64())
}

#[test]
fn a_page_of_a_hundred_files_is_there_soon_after_its_last_round_trip() {
    for others in [Others::Wait, Others::GoOn] {
        println!("{others:?}: {} s", load(0.0, 1, others));
    }
}

#[test]
fn one_of_a_hundred_packets_lost_costs_a_page_less_than_a_second() {
    for others in [Others::Wait, Others::GoOn] {
        let mut all: Vec<f64> = (1..=20).map(|seed| load(0.01, seed, others)).collect();
        all.sort_by(f64::total_cmp);
        let mean = all.iter().sum::<f64>() / 20.0;
        println!("{others:?}: {mean:.2} {:.1} {all:.1?} s", all[10]);
    }
}
