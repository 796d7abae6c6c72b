//! A model of both ends over a road of one rate, delay and loss, in steps of a millisecond, and the tests
//! with it.
//!
//! - `download`: what downloads get on a long road, and keystrokes beside them; `matrix`: what an upload
//!   gets on the road of the matrix of protocols; `page`: many short ones in turn
//! - `satellite`: handovers, and long round trips; `narrow`: paths of small packets
//! - `stall`: an end that gets no processor

mod download;
mod matrix;
mod narrow;
mod page;
mod satellite;
mod stall;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use crate::seal::{Key, Moment, Seal, Settings};
use fanfare_proto::{Ecn, Time, rng::Rng};

use super::{
    engine::{Ends, Engine, Sending},
    fit::SEGMENT,
};
use crate::proxy::mux::Mux;

/// A kind of road, the same in both directions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    rate: f64,
    one_way: Duration,
    /// Bytes.
    queue: usize,
}

/// The road of the paper's testbed (Adamson et al., MILCOM 2013): 1 Mbit/s, 242 ms one way, and a queue
/// of one bandwidth-delay product.
pub(super) const TESTBED: Kind =
    Kind { rate: 1e6, one_way: Duration::from_millis(242), queue: 60_500 };
/// What a socket holds for a program that does not read.
const SOCKET_BUFFER: usize = 1 << 20;
/// IPv4 and UDP.
pub(super) const HEADERS: usize = 28;
/// QUIC has found the path's MTU after so many round trips.
const DISCOVERY: u32 = 5;
const STEP: Duration = Duration::from_millis(1);
/// The link is there for so long before a program asks for a connection.
const IDLE: Duration = Duration::from_secs(8);
const MEGABYTE: u64 = 1_000_000;

/// One direction of the road.
#[derive(Debug)]
pub(super) struct Way {
    kind: Kind,
    free: Time,
    loss: f64,
    /// Longest packet, bytes.
    pub(super) mtu: usize,
    /// Packets that were longer.
    pub(super) too_long: u64,
    rng: Rng,
    flying: VecDeque<(Time, Vec<u8>)>,
}

impl Way {
    fn new(kind: Kind, loss: f64, seed: u64) -> Self {
        let (rng, flying) = (Rng::new(seed), VecDeque::new());
        Self { kind, free: Time::ZERO, loss, mtu: 1500, too_long: 0, rng, flying }
    }

    fn send(&mut self, now: Time, run: &[u8], stride: usize) {
        for datagram in run.chunks(stride.max(1)) {
            if datagram.len() + HEADERS > self.mtu {
                self.too_long += 1;
                continue;
            }
            let waiting = self.free.since(now).as_secs_f64() * self.kind.rate / 8.0;
            if waiting as usize + datagram.len() > self.kind.queue {
                continue;
            }
            let takes =
                Duration::from_secs_f64((datagram.len() + HEADERS) as f64 * 8.0 / self.kind.rate);
            self.free = self.free.max(now) + takes;
            if !self.rng.random_bool(self.loss) {
                self.flying.push_back((self.free + self.kind.one_way, datagram.to_vec()));
            }
        }
    }

    /// Nobody reads: what is more than the socket's buffer holds is lost.
    fn overflow(&mut self, now: Time) {
        let came = self.flying.partition_point(|(then, _)| *then <= now);
        let mut room = SOCKET_BUFFER;
        let fits = self.flying.iter().take_while(|(_, datagram)| {
            let fits = datagram.len() <= room;
            room = room.saturating_sub(datagram.len());
            fits
        });
        let fits = fits.count();
        if fits < came {
            self.flying.drain(fits..came);
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

pub(super) struct End {
    pub(super) engine: Engine,
    pub(super) mux: Mux,
    said: Said,
    buffer: Vec<u8>,
}

impl End {
    fn new(kind: Kind, role: u64, seed: u64) -> Self {
        let key = Key::from_secret([7; 32], 1);
        let seal = Seal::new(Settings::new(vec![key], "unicast"), [role as u8; 16]);
        let ends = Ends {
            role,
            instance: 1 + role as u16,
            round_trip: kind.one_way * 2,
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
            let mut late = way.kind.one_way;
            while way.rng.random_bool(way.loss) {
                late += way.kind.one_way * 3;
            }
            to.count += 1;
            to.waiting.insert((now + late, to.count), control.to_bytes());
        }
    }
}

/// Both ends, and the road between them.
pub(super) struct Road {
    pub(super) now: Time,
    pub(super) near: End,
    pub(super) far: End,
    pub(super) there: Way,
    pub(super) back: Way,
    /// The near end gets no processor until then.
    pub(super) stalled: Time,
}

impl Road {
    /// It has been there for [`IDLE`].
    pub(super) fn new(kind: Kind, loss: f64, seed: u64) -> Self {
        let (near, far) = (End::new(kind, 0, seed), End::new(kind, 1, seed));
        let way = |seed| Way::new(kind, loss, seed);
        let (there, back) = (way(seed * 2), way(seed * 2 + 1));
        let stalled = Time::ZERO;
        let mut road = Self { now: Time::ZERO, near, far, there, back, stalled };
        let discovery = kind.one_way * 2 * DISCOVERY;
        road.run(discovery, |_| {});
        road.set_segments(SEGMENT);
        road.run(IDLE.saturating_sub(discovery), |_| {});
        road
    }

    pub(super) fn set_segments(&mut self, segment: u16) {
        for end in [&mut self.near, &mut self.far] {
            end.engine.set_segment(segment);
        }
    }

    /// A program at the near end asks for a connection, and the far end grants it at once.
    pub(super) fn open(&mut self) -> u64 {
        self.near.mux.open(Vec::new())
    }

    /// What the far end may write on it is what the near end has granted.
    pub(super) fn grant(&mut self, id: u64) {
        self.far.mux.on_first_credit(id, self.near.mux.granted_first(id));
        self.near.mux.on_first_credit(id, self.near.mux.granted_first(id));
    }

    /// `each` acts in each step, after what arrives and before what is sent.
    pub(super) fn run(&mut self, time: Duration, mut each: impl FnMut(&mut Self)) {
        let end = self.now + time;
        while self.now < end {
            self.now = self.now + STEP;
            let at = Moment { now: self.now, clock: self.now.since(Time::ZERO) };
            let runs = self.now >= self.stalled;
            match runs {
                true => self.near.hear(at, &mut self.back),
                false => self.back.overflow(self.now),
            }
            self.far.hear(at, &mut self.there);
            each(self);
            if runs {
                self.near.say(self.now, &mut self.far.said, &mut self.there);
                self.near.speak(at, &mut self.there);
            }
            self.far.say(self.now, &mut self.near.said, &mut self.back);
            self.far.speak(at, &mut self.back);
        }
    }

    /// The far end writes all that it may of an endless body; bytes that are read at the near end.
    pub(super) fn download(&mut self, id: u64, body: &[u8]) -> u64 {
        self.grant(id);
        while self.far.mux.write(self.now, id, body).is_some_and(|taken| taken > 0) {}
        read(&mut self.near.mux, self.now, id)
    }
}

pub(super) fn read(mux: &mut Mux, now: Time, id: u64) -> u64 {
    let mut bytes = 0;
    while let Ok(Some(piece)) = mux.read(now, id) {
        bytes += piece.len() as u64;
    }
    bytes
}
