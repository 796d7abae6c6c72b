//! Both ends over a road of one rate, delay and loss, in steps of a millisecond: what a download gets
//! from its first byte on.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use fanfare_link::seal::{Key, Moment, Seal, Settings};
use fanfare_proto::{Ecn, Time, rng::Rng};

use super::engine::{Ends, Engine, Sending};
use crate::mux::Mux;

/// The road of the paper's testbed (Adamson et al., MILCOM 2013): 1 Mbit/s, 242 ms one way.
const RATE: f64 = 1e6;
const ONE_WAY: Duration = Duration::from_millis(242);
/// One bandwidth-delay product, bytes.
const QUEUE: usize = 60_500;
/// IPv4 and UDP.
const HEADERS: usize = 28;
const SEGMENT: u16 = 1376;
const STEP: Duration = Duration::from_millis(1);
/// The link is there for so long before a program asks for a connection.
const IDLE: Duration = Duration::from_secs(8);
const RUN: Duration = Duration::from_secs(40);
const MEGABYTE: u64 = 1_000_000;
const SEEDS: u64 = 5;

/// One direction of the road.
#[derive(Debug)]
struct Way {
    free: Time,
    loss: f64,
    rng: Rng,
    flying: VecDeque<(Time, Vec<u8>)>,
}

impl Way {
    fn new(loss: f64, seed: u64) -> Self {
        Self { free: Time::ZERO, loss, rng: Rng::new(seed), flying: VecDeque::new() }
    }

    fn send(&mut self, now: Time, run: &[u8], stride: usize) {
        for datagram in run.chunks(stride.max(1)) {
            let waiting = self.free.since(now).as_secs_f64() * RATE / 8.0;
            if waiting as usize + datagram.len() > QUEUE {
                continue;
            }
            let takes = Duration::from_secs_f64((datagram.len() + HEADERS) as f64 * 8.0 / RATE);
            self.free = self.free.max(now) + takes;
            if !self.rng.random_bool(self.loss) {
                self.flying.push_back((self.free + ONE_WAY, datagram.to_vec()));
            }
        }
    }
}

/// What is said about connections, by when it arrives: as a reliable message, which is sent again when it
/// was lost.
#[derive(Debug, Default)]
struct Said {
    waiting: BTreeMap<(Time, u64), Vec<u8>>,
    count: u64,
}

struct End {
    engine: Engine,
    mux: Mux,
    said: Said,
    buffer: Vec<u8>,
}

impl End {
    fn new(role: u64, seed: u64) -> Self {
        let key = Key::from_secret([7; 32], 1);
        let seal = Seal::new(Settings::new(vec![key], "unicast"), [role as u8; 16]);
        let ends = Ends {
            role,
            instance: 1 + role as u16,
            round_trip: ONE_WAY * 2,
            segment: SEGMENT,
            seed: seed + role,
        };
        let engine = Engine::new(Time::ZERO, ends, Sending::default(), seal);
        Self { engine, mux: Mux::new(role), said: Said::default(), buffer: Vec::new() }
    }

    fn speak(&mut self, at: Moment, way: &mut Way) {
        loop {
            self.engine.step(at.now, &mut self.mux).unwrap();
            while let Some(hello) = self.engine.poll_hello(at) {
                way.send(at.now, &hello, hello.len());
            }
            let Some((size, _)) = self.engine.poll_sealed(at, &mut self.buffer) else { return };
            if let Some(hello) = self.engine.greet(at) {
                way.send(at.now, &hello, hello.len());
            }
            way.send(at.now, &self.buffer, size);
        }
    }

    fn hear(&mut self, at: Moment, way: &mut Way) {
        while let Some((then, datagram)) = way.flying.pop_front_if(|(then, _)| *then <= at.now) {
            let run = (&datagram[..], datagram.len());
            self.engine.on_sealed(at, run, Some(Ecn::Ect0), at.now.since(then));
        }
        while let Some(first) = self.said.waiting.first_entry()
            && first.key().0 <= at.now
        {
            self.mux.on_control(&first.remove()).unwrap();
        }
    }

    fn say(&mut self, now: Time, to: &mut Said, way: &mut Way) {
        while let Some(control) = self.mux.poll_control() {
            let mut late = ONE_WAY;
            while way.rng.random_bool(way.loss) {
                late += ONE_WAY * 3;
            }
            to.count += 1;
            to.waiting.insert((now + late, to.count), control.to_bytes());
        }
    }
}

/// Seconds until the first megabyte was read, and bits a second of the whole run, from when a program
/// asks for an endless download.
fn download(loss: f64, seed: u64) -> (f64, f64) {
    let (mut near, mut far) = (End::new(0, seed), End::new(1, seed));
    let (mut there, mut back) = (Way::new(loss, seed * 2), Way::new(loss, seed * 2 + 1));
    let body = vec![0; 64 << 10];
    let (begin, mut id) = (Time::ZERO + IDLE, None);
    let (mut now, mut read, mut first) = (Time::ZERO, 0, f64::INFINITY);
    while now < begin + RUN {
        now = now + STEP;
        let at = Moment { now, clock: now.since(Time::ZERO) };
        near.hear(at, &mut back);
        far.hear(at, &mut there);
        if now >= begin {
            let id = *id.get_or_insert_with(|| near.mux.open(Vec::new()));
            far.mux.on_first_credit(id, near.mux.granted_first(id));
            while far.mux.write(now, id, &body).is_some_and(|taken| taken > 0) {}
            while let Ok(Some(bytes)) = near.mux.read(now, id) {
                read += bytes.len() as u64;
            }
            if read >= MEGABYTE {
                first = first.min(now.since(begin).as_secs_f64());
            }
        }
        near.say(now, &mut far.said, &mut there);
        far.say(now, &mut near.said, &mut back);
        near.speak(at, &mut there);
        far.speak(at, &mut back);
    }
    (first, read as f64 * 8.0 / RUN.as_secs_f64())
}

#[test]
fn a_download_over_a_long_road_is_near_the_line_from_its_first_byte() {
    // 1 Mbit/s and 242 ms one way, seeds 1 to 5. A segment takes 1376 of the 1480 bytes of its packet.
    for (loss, share, first_most) in [(0.0, 0.95, 10.2), (0.01, 0.93, 11.0), (0.1, 0.87, 13.5)] {
        let line = RATE * f64::from(SEGMENT) / 1480.0 * (1.0 - loss);
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
