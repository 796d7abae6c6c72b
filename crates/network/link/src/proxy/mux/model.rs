//! Two ends against a slow model: whatever is delayed, overtaken or reset, what is read is what was
//! written, nobody sends more than was granted, and every connection ends.

use std::{collections::BTreeMap, time::Duration};

use fanfare_proto::{Time, rng::Rng};

use super::{Event, Mux, control::FIRST_MAX};

/// What one end has written to a connection, and what the other has read.
#[derive(Debug, Default)]
struct Direction {
    written: Vec<u8>,
    to_write: Vec<u8>,
    finished: bool,
    read: Vec<u8>,
    ended: bool,
}

#[derive(Debug)]
struct Pair {
    /// From the opener, and to it.
    directions: [Direction; 2],
    reset: bool,
    replied: bool,
    slow: bool,
}

/// What is on its way: to which end, and whether it is a span.
type Flight = (usize, bool, Vec<u8>);

struct World {
    rng: Rng,
    ends: [Mux; 2],
    flights: Vec<Flight>,
    pairs: BTreeMap<u64, Pair>,
    now: Time,
}

impl World {
    fn new(seed: u64) -> Self {
        let ends = [Mux::new(0), Mux::new(1)];
        let (flights, pairs) = (Vec::new(), BTreeMap::new());
        Self { rng: Rng::new(seed), ends, flights, pairs, now: Time::ZERO }
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.rng.next_u64().is_multiple_of(one_in)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.rng.next_u64() % n.max(1) as u64) as usize
    }

    fn open(&mut self) {
        let end = self.below(2);
        let credit = self.ends[end].first_credit();
        let (slow, other) = (self.chance(4), self.below(256));
        let lengths = [self.below(400_000), self.below(400_000)];
        let mut directions = lengths.map(|len| Direction {
            to_write: (0..len).map(|n| (n * 31 + other) as u8).collect(),
            ..Direction::default()
        });
        // Some say their first bytes with the request.
        let first = if self.chance(2) { self.below(FIRST_MAX + 1) } else { 0 };
        let asking = &mut directions[0];
        asking.written = asking.to_write.drain(..first.min(lengths[0])).collect();
        let frame = credit.to_be_bytes().to_vec();
        let id = self.ends[end].open_with(frame, asking.written.clone());
        self.pairs.insert(id, Pair { directions, reset: false, replied: false, slow });
    }

    /// What is on its way arrives in any order: NORM objects and messages overtake each other.
    fn arrive(&mut self) {
        if self.flights.is_empty() {
            return;
        }
        let n = self.below(self.flights.len());
        let (end, is_span, bytes) = self.flights.swap_remove(n);
        let taken = match is_span {
            true => self.ends[end].on_span(&bytes),
            false => self.ends[end].on_control(&bytes),
        };
        assert_eq!(taken, Ok(()), "an honest end is never cut off");
    }

    fn depart(&mut self) {
        for end in 0..2 {
            while let Some(control) = self.ends[end].poll_control() {
                self.flights.push((1 - end, false, control.to_bytes()));
            }
            let max = 60 + self.below(20_000);
            if let Some(span) = self.ends[end].poll_span(self.now, max, 1400) {
                assert!(span.bytes.len() <= max);
                self.flights.push((1 - end, true, span.bytes));
            }
        }
    }

    fn react(&mut self) {
        for end in 0..2 {
            while let Some(event) = self.ends[end].poll_event() {
                match event {
                    Event::Opened(id, frame) => {
                        let credit = u64::from_be_bytes(frame.try_into().unwrap());
                        self.ends[end].on_first_credit(id, credit);
                        let own = self.ends[end].granted_first(id);
                        self.ends[end].reply(id, own.to_be_bytes().to_vec());
                    }
                    Event::Replied(id, frame) => {
                        let credit = u64::from_be_bytes(frame.try_into().unwrap());
                        self.ends[end].on_first_credit(id, credit);
                        self.pairs.get_mut(&id).unwrap().replied = true;
                    }
                    Event::Reset(id) => self.pairs.get_mut(&id).unwrap().reset = true,
                    Event::Readable(_) | Event::Writable(_) => {}
                }
            }
        }
    }

    /// Programs write and read, some slowly.
    fn use_connections(&mut self, hurry: bool) {
        let ids: Vec<u64> = self.pairs.keys().copied().collect();
        for id in ids {
            if self.pairs[&id].reset || self.pairs[&id].slow && !hurry && !self.chance(20) {
                continue;
            }
            for direction in 0..2 {
                let opener = (id & 1) as usize;
                let from = if direction == 0 { opener } else { 1 - opener };
                self.write(id, direction, from);
                self.read(id, direction, 1 - from);
            }
        }
    }

    fn write(&mut self, id: u64, direction: usize, from: usize) {
        let most = self.below(50_000);
        let pair = self.pairs.get_mut(&id).unwrap();
        let one = &mut pair.directions[direction];
        let len = most.min(one.to_write.len());
        if len > 0 {
            let Some(taken) = self.ends[from].write(self.now, id, &one.to_write[..len]) else {
                return;
            };
            one.written.extend(one.to_write.drain(..taken));
        }
        // Who asks waits for the answer: an end that overtakes the request is lost.
        let may_finish = direction == 1 || pair.replied;
        if may_finish && one.to_write.is_empty() && !one.finished && self.ends[from].has(id) {
            one.finished = self.ends[from].finish(self.now, id);
        }
    }

    fn read(&mut self, id: u64, direction: usize, at: usize) {
        let one = &mut self.pairs.get_mut(&id).unwrap().directions[direction];
        while !one.ended {
            match self.ends[at].read(self.now, id) {
                Ok(Some(bytes)) if bytes.is_empty() => one.ended = true,
                Ok(Some(bytes)) => one.read.extend(bytes),
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn step(&mut self, hurry: bool) {
        self.now = self.now + Duration::from_millis(10);
        if !hurry && self.pairs.len() < 30 && self.chance(5) {
            self.open();
        }
        if !hurry && self.chance(60) && !self.pairs.is_empty() {
            let n = self.below(self.pairs.len());
            let (id, end) = (*self.pairs.keys().nth(n).unwrap(), self.below(2));
            if self.ends[end].has(id) && self.pairs[&id].replied {
                self.ends[end].reset(id);
                self.pairs.get_mut(&id).unwrap().reset = true;
            }
        }
        self.use_connections(hurry);
        self.depart();
        for _ in 0..3 {
            self.arrive();
        }
        self.react();
    }
}

#[test]
fn what_is_read_is_what_was_written_and_every_connection_ends() {
    for seed in 0..40 {
        let mut world = World::new(seed);
        for _ in 0..400 {
            world.step(false);
        }
        let mut steps = 0;
        let is_over = |pair: &Pair| pair.reset || pair.directions.iter().all(|one| one.ended);
        while !world.pairs.values().all(is_over) || !world.flights.is_empty() {
            world.step(true);
            steps += 1;
            assert!(steps < 200_000, "seed {seed}: connections hang");
        }
        for (id, pair) in &world.pairs {
            for one in &pair.directions {
                assert!(one.written.starts_with(&one.read), "seed {seed}, connection {id}");
                assert!(pair.reset || one.read == one.written, "seed {seed}, connection {id}");
            }
        }
        assert!(world.ends.iter().all(Mux::is_empty), "seed {seed}: nothing is left");
    }
}

#[test]
fn one_that_sends_little_goes_before_one_that_sends_much() {
    let mut mux = Mux::new(0);
    let (bulk, prompt) = (mux.open(Vec::new()), mux.open(Vec::new()));
    for id in [bulk, prompt] {
        mux.on_first_credit(id, 1 << 20);
    }
    let at = |ms: u64| Time::ZERO + Duration::from_millis(2000 + ms);
    mux.write(at(0), bulk, &[7; 200_000]);
    while mux.poll_span(at(0), 20_000, 1400).is_some() {}
    mux.write(at(1), bulk, &[7; 200_000]);
    mux.write(at(2), prompt, b"k");
    let span = mux.poll_span(at(3), 1400, 1400).unwrap();
    let first = super::span::parse(&span.bytes).unwrap()[0];
    assert_eq!((first.id, first.bytes), (prompt, &b"k"[..]));
}

#[test]
fn short_answers_share_a_segment_and_longer_ones_do_not_wait_for_each_other() {
    let mut mux = Mux::new(0);
    let now = Time::ZERO + Duration::from_secs(5);
    let ids: Vec<u64> = (0..5).map(|_| mux.open(Vec::new())).collect();
    for (id, size) in ids.iter().zip([300, 400, 2000, 300, 300]) {
        mux.on_first_credit(*id, 1 << 20);
        mux.write(now, *id, &vec![0; size]);
    }
    let mut spans = Vec::new();
    while let Some(span) = mux.poll_span(now, 6 * 1400, 1400) {
        let records = super::span::parse(&span.bytes).unwrap();
        spans.push(records.iter().map(|record| record.id).collect::<Vec<_>>());
    }
    assert_eq!(spans, [&ids[..3], &ids[3..]]);
}

#[test]
fn ten_connections_that_send_much_share_alike() {
    let mut mux = Mux::new(0);
    let now = Time::ZERO + Duration::from_secs(5);
    let ids: Vec<u64> = (0..10).map(|_| mux.open(Vec::new())).collect();
    let mut sent: BTreeMap<u64, usize> = BTreeMap::new();
    for _ in 0..400 {
        for id in &ids {
            mux.on_first_credit(*id, 1 << 40);
            mux.write(now, *id, &[0; 30_000]);
        }
        let span = mux.poll_span(now, 6000, 1400).unwrap();
        for record in super::span::parse(&span.bytes).unwrap() {
            *sent.entry(record.id).or_default() += record.bytes.len();
        }
    }
    let (sum, squares) = sent.values().fold((0.0, 0.0), |(sum, squares), bytes| {
        let bytes = *bytes as f64;
        (sum + bytes, squares + bytes * bytes)
    });
    let jain = sum * sum / (10.0 * squares);
    assert!(jain > 0.99, "{jain} {sent:?}");
}

#[test]
fn an_end_that_sends_more_than_was_granted_is_found_out() {
    let mut mux = Mux::new(0);
    let id = mux.open(Vec::new());
    let mut span = super::span::begin();
    let bytes = [0; 1000];
    let offset = mux.first_credit() - 10;
    super::span::put(&super::span::Record { id, offset, bytes: &bytes, last: false }, &mut span);
    assert_eq!(mux.on_span(&span), Err(super::Violation::Credit));
    assert_eq!(mux.on_control(&[1, 0]), Err(super::Violation::Malformed));
}
