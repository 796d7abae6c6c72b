//! A path in packets, for tests: one queue, a delay, random loss, and around them the real
//! controller and the real meter, without sessions. And TCP (Reno and CUBIC) as company.

use super::Auto;
use crate::{
    congestion::{Feedback, Limits, Probing, RateController, equation_rate},
    rate::Bitrate,
    receiver::PathMeter,
    rng::Rng,
    time::{Duration, Time},
};
use alloc::{
    collections::{BTreeMap, BinaryHeap, VecDeque},
    vec::Vec,
};
use core::cmp::Reverse;
use fanfare_wire::{
    NodeId,
    ext::{CcFlags, ExtTime},
};

pub(super) const SIZE: usize = 1468;
const PROBE: usize = 60;

/// The path that all flows share.
#[derive(Debug, Clone)]
pub(super) struct Path {
    pub(super) rate: Bitrate,
    pub(super) one_way: Duration,
    /// Packets of [`SIZE`].
    pub(super) buffer: usize,
    pub(super) loss: f64,
    /// Marks above so many bytes in the queue.
    pub(super) mark: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Packet {
    flow: usize,
    number: u64,
    bytes: usize,
    sent: Time,
    probe: Option<u16>,
    marked: bool,
}

#[derive(Debug, Clone)]
enum Event {
    Send(usize),
    Tick(usize),
    Depart,
    Arrive(Packet),
    Report(usize, Feedback),
    Ack(usize, u64),
    Change(Bitrate),
}

/// What was seen of one flow.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) sent: u64,
    pub(super) delivered: u64,
    pub(super) overflowed: u64,
}

#[derive(Debug)]
enum Kind {
    Auto(Box),
    Tcp(Tcp),
    /// Constant rate between two times.
    Constant(Bitrate, Time),
}

type Box = alloc::boxed::Box<Sender>;

#[derive(Debug)]
struct Sender {
    control: Auto,
    next_probe: Time,
    sequence: u16,
    grtt: Duration,
    /// The message sent last, and whether the next goes with it.
    begun: Time,
    owed: usize,
    pair: u32,
    meter: PathMeter,
    expected: u64,
    rtt: Option<Duration>,
    heard: Option<(u16, Time, Time)>,
    probes: BTreeMap<u16, Time>,
    loss_event: Option<Time>,
    events: u64,
    received: u64,
}

/// Window-based sender of endless data; losses are found by three later arrivals.
#[derive(Debug)]
struct Tcp {
    cubic: bool,
    window: f64,
    threshold: f64,
    next: u64,
    outstanding: VecDeque<(u64, Time)>,
    recover: u64,
    epoch: Option<(Time, f64, f64)>,
    largest: f64,
    reno: f64,
    rtt: f64,
    idle_until: Time,
}

/// The world.
pub(super) struct Model {
    path: Path,
    now: Time,
    count: u64,
    agenda: BinaryHeap<Reverse<(Time, u64)>>,
    events: BTreeMap<u64, Event>,
    queue: VecDeque<Packet>,
    queued: usize,
    flows: Vec<Kind>,
    numbers: Vec<u64>,
    pub(super) seen: Vec<Seen>,
    rng: Rng,
    /// Queueing delays of the packets that left, seconds, since the last [`Self::reset`].
    pub(super) delays: Vec<f64>,
}

impl Model {
    pub(super) fn new(path: Path, seed: u64) -> Self {
        Self {
            path,
            now: Time::ZERO,
            count: 0,
            agenda: BinaryHeap::new(),
            events: BTreeMap::new(),
            queue: VecDeque::new(),
            queued: 0,
            flows: Vec::new(),
            numbers: Vec::new(),
            seen: Vec::new(),
            rng: Rng::new(seed),
            delays: Vec::new(),
        }
    }

    fn at(&mut self, at: Time, event: Event) {
        self.count += 1;
        self.agenda.push(Reverse((at, self.count)));
        self.events.insert(self.count, event);
    }

    fn add(&mut self, start: Time, kind: Kind) -> usize {
        self.flows.push(kind);
        self.numbers.push(0);
        self.seen.push(Seen::default());
        let flow = self.flows.len() - 1;
        self.at(start, Event::Send(flow));
        flow
    }

    pub(super) fn auto(&mut self, start: Time, max: Bitrate) -> usize {
        let limits = Limits {
            min: Bitrate::bps(SIZE as u64 * 8),
            max,
            segment: 1400,
            rtt: Duration::from_millis(250),
        };
        let sender = Sender {
            control: Auto::new(start, limits),
            next_probe: start,
            sequence: 0,
            grtt: Duration::from_millis(250),
            begun: start,
            owed: 0,
            pair: 0,
            meter: PathMeter::default(),
            expected: 0,
            rtt: None,
            heard: None,
            probes: BTreeMap::new(),
            loss_event: None,
            events: 0,
            received: 0,
        };
        self.add(start, Kind::Auto(Box::new(sender)))
    }

    pub(super) fn tcp(&mut self, start: Time, cubic: bool) -> usize {
        let tcp = Tcp {
            cubic,
            window: 10.0,
            threshold: 1e9,
            next: 0,
            outstanding: VecDeque::new(),
            recover: 0,
            epoch: None,
            largest: 0.0,
            reno: 0.0,
            rtt: 0.0,
            idle_until: start,
        };
        self.add(start, Kind::Tcp(tcp))
    }

    pub(super) fn constant(&mut self, start: Time, end: Time, rate: Bitrate) -> usize {
        self.add(start, Kind::Constant(rate, end))
    }

    pub(super) fn change(&mut self, at: Time, rate: Bitrate) {
        self.at(at, Event::Change(rate));
    }

    /// Forgets what was seen.
    pub(super) fn reset(&mut self) {
        self.seen.fill(Seen::default());
        self.delays.clear();
    }

    pub(super) fn run(&mut self, until: Time) {
        while let Some(Reverse((at, number))) = self.agenda.peek().copied() {
            if at > until {
                break;
            }
            self.agenda.pop();
            self.now = at;
            if let Some(event) = self.events.remove(&number) {
                self.step(event);
            }
        }
        self.now = until;
    }

    pub(super) fn rate(&self, flow: usize) -> f64 {
        match &self.flows[flow] {
            Kind::Auto(sender) => sender.control.rate().as_bps() as f64,
            Kind::Tcp(tcp) => tcp.window,
            Kind::Constant(rate, _) => rate.as_bps() as f64,
        }
    }

    pub(super) fn control(&self, flow: usize) -> &Auto {
        match &self.flows[flow] {
            Kind::Auto(sender) => &sender.control,
            _ => panic!("not ours"),
        }
    }

    pub(super) fn backlog(&self) -> f64 {
        self.queued as f64 * 8.0 / self.path.rate.as_bps() as f64
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Change(rate) => self.path.rate = rate,
            Event::Depart => self.depart(),
            Event::Send(flow) | Event::Tick(flow) => self.send(flow),
            Event::Arrive(packet) => self.arrive(packet),
            Event::Report(flow, feedback) => self.report(flow, feedback),
            Event::Ack(flow, number) => self.ack(flow, number),
        }
    }

    fn enqueue(&mut self, flow: usize, bytes: usize, probe: Option<u16>) {
        let number = self.numbers[flow];
        self.numbers[flow] += 1;
        self.seen[flow].sent += 1;
        if self.queued + bytes > self.path.buffer * SIZE {
            self.seen[flow].overflowed += 1;
            return;
        }
        let marked = self.path.mark.is_some_and(|mark| self.queued > mark);
        self.queue.push_back(Packet { flow, number, bytes, sent: self.now, probe, marked });
        self.queued += bytes;
        if self.queue.len() == 1 {
            let at = self.now + self.path.rate.time_for(bytes);
            self.at(at, Event::Depart);
        }
    }

    fn depart(&mut self) {
        let Some(packet) = self.queue.pop_front() else { return };
        self.queued -= packet.bytes;
        let alone = self.path.rate.time_for(packet.bytes);
        self.delays.push(self.now.since(packet.sent).saturating_sub(alone).as_secs_f64());
        if let Some(next) = self.queue.front() {
            let at = self.now + self.path.rate.time_for(next.bytes);
            self.at(at, Event::Depart);
        }
        if !self.rng.chance(self.path.loss) {
            self.at(self.now + self.path.one_way, Event::Arrive(packet));
        }
    }

    fn send(&mut self, flow: usize) {
        let now = self.now;
        let mut out: Vec<(usize, Option<u16>)> = Vec::new();
        let mut again = None;
        match &mut self.flows[flow] {
            Kind::Constant(rate, end) => {
                if now < *end {
                    out.push((SIZE, None));
                    again = Some(now + rate.time_for(SIZE));
                }
            }
            Kind::Tcp(tcp) => {
                let fresh = tcp.send(now);
                out.extend((0..fresh).map(|_| (SIZE, None)));
                if tcp.idle_until <= now {
                    tcp.idle_until = now + Duration::from_millis(500);
                    again = Some(tcp.idle_until);
                }
            }
            Kind::Auto(sender) => {
                sender.poll(now, &mut out);
                again = Some(sender.next(now));
            }
        }
        for (bytes, probe) in out {
            self.enqueue(flow, bytes, probe);
        }
        if let Some(at) = again {
            self.at(at, Event::Send(flow));
        }
    }

    fn arrive(&mut self, packet: Packet) {
        let now = self.now;
        if packet.bytes == SIZE {
            self.seen[packet.flow].delivered += 1;
        }
        let back = now + self.path.one_way;
        match &mut self.flows[packet.flow] {
            Kind::Constant(..) => {}
            Kind::Tcp(_) => self.at(back, Event::Ack(packet.flow, packet.number)),
            Kind::Auto(sender) => {
                if let Some(feedback) = sender.hear(now, &packet) {
                    self.at(back, Event::Report(packet.flow, feedback));
                }
            }
        }
    }

    fn report(&mut self, flow: usize, mut feedback: Feedback) {
        let now = self.now;
        if let Kind::Auto(sender) = &mut self.flows[flow] {
            if let Some(sent) = sender.probes.get(&feedback.cc_sequence) {
                let held = feedback.sample.unwrap_or_default();
                let sample = now.since(*sent).saturating_sub(held);
                let old = sender.rtt.unwrap_or(sample);
                sender.rtt = Some(old.mul_f64(0.9) + sample.mul_f64(0.1));
                sender.grtt = sender.rtt.unwrap_or(sample);
                feedback.sample = Some(sample);
                feedback.rtt = sender.rtt;
            }
            sender.control.on_feedback(now, &feedback);
        }
        self.send_now(flow);
    }

    /// The rate may have changed: the next message may be due.
    fn send_now(&mut self, flow: usize) {
        let mut out = Vec::new();
        if let Kind::Auto(sender) = &mut self.flows[flow] {
            sender.poll(self.now, &mut out);
        }
        for (bytes, probe) in out {
            self.enqueue(flow, bytes, probe);
        }
    }

    fn ack(&mut self, flow: usize, number: u64) {
        let now = self.now;
        if let Kind::Tcp(tcp) = &mut self.flows[flow] {
            tcp.on_ack(now, number);
        }
        self.send(flow);
    }
}

impl Sender {
    fn poll(&mut self, now: Time, out: &mut Vec<(usize, Option<u16>)>) {
        while self.control.next_timeout().is_some_and(|at| at <= now) {
            self.control.on_timeout(now);
        }
        loop {
            let rate = self.control.rate();
            let due = self.begun + rate.time_for(self.owed);
            if due > now && self.pair == 0 {
                return;
            }
            let begun = if self.pair == 0 { due.max(now) } else { self.begun };
            let (bytes, probe) = if self.next_probe <= now {
                self.sequence = self.sequence.wrapping_add(1);
                let probing =
                    Probing { grtt: self.grtt, cc_sequence: self.sequence, sending: true };
                self.control.on_probe(now, &probing);
                self.next_probe = now + self.control.probe_interval(self.grtt).unwrap();
                self.probes.insert(self.sequence, now);
                (PROBE, Some(self.sequence))
            } else {
                (SIZE, None)
            };
            if self.pair == 0 {
                self.owed = 0;
            }
            self.owed += bytes;
            self.begun = begun;
            let pair = if self.control.pairs() { 2 } else { 0 };
            self.pair = if probe.is_some() { pair } else { self.pair.saturating_sub(1) };
            self.control.on_sent(now, bytes);
            out.push((bytes, probe));
        }
    }

    fn next(&self, now: Time) -> Time {
        let due = self.begun + self.control.rate().time_for(self.owed);
        let timer = self.control.next_timeout().unwrap_or(Time::FAR_FUTURE);
        // Rates change between: looked at again within 20 ms.
        due.min(timer).max(now + Duration::from_micros(1)).min(now + Duration::from_millis(20))
    }

    fn hear(&mut self, now: Time, packet: &Packet) -> Option<Feedback> {
        let lost = packet.number.saturating_sub(self.expected);
        self.expected = packet.number + 1;
        self.received += 1;
        let rtt = self.rtt.unwrap_or(self.grtt);
        self.meter.on_message(now, packet.bytes, lost, packet.marked, rtt);
        if packet.bytes == SIZE {
            let micros = packet.sent.as_nanos() / 1000;
            self.meter.on_stamp(now, ExtTime::of_micros(micros));
        }
        let mut news = self.meter.take_jump();
        if lost > 0 && self.loss_event.is_none_or(|event| now.since(event) >= rtt) {
            self.loss_event = Some(now);
            self.events += 1;
            news = true;
        }
        if let Some(sequence) = packet.probe {
            self.heard = Some((sequence, packet.sent, now));
            news = true;
        }
        let (sequence, _, heard) = self.heard.filter(|_| news)?;
        let event_fraction = self.events as f64 / self.received as f64;
        let tcp = match self.events {
            0 => 0.0,
            _ => equation_rate(SIZE as f64, rtt, event_fraction),
        };
        let path = self.meter.report(tcp);
        Some(Feedback {
            node: NodeId(2),
            cc_sequence: sequence,
            sample: Some(now.since(heard)),
            rtt: None,
            loss: event_fraction,
            rate: Bitrate::bps(0),
            flags: CcFlags::default(),
            path,
        })
    }
}

impl Tcp {
    fn send(&mut self, now: Time) -> usize {
        // A whole window lost is found by time.
        if self
            .outstanding
            .front()
            .is_some_and(|(_, at)| now.since(*at).as_secs_f64() > (3.0 * self.rtt).max(1.0))
        {
            self.outstanding.clear();
            self.threshold = (self.window / 2.0).max(2.0);
            self.window = 1.0;
            self.recover = self.next;
        }
        let room = (self.window as usize).max(1).saturating_sub(self.outstanding.len());
        for _ in 0..room {
            self.outstanding.push_back((self.next, now));
            self.next += 1;
        }
        room
    }

    fn on_ack(&mut self, now: Time, number: u64) {
        let Ok(at) = self.outstanding.binary_search_by_key(&number, |(n, _)| *n) else { return };
        let (_, sent) = self.outstanding[at];
        let sample = now.since(sent).as_secs_f64();
        self.rtt = if self.rtt == 0.0 { sample } else { 0.875 * self.rtt + 0.125 * sample };
        self.outstanding.remove(at);
        let mut lost = false;
        while self.outstanding.front().is_some_and(|(n, _)| n + 3 <= number) {
            let (n, _) = self.outstanding.pop_front().unwrap();
            lost |= n >= self.recover;
        }
        if lost {
            self.recover = self.next;
            self.reduce();
        } else if self.recover <= number {
            self.grow(now);
        }
    }

    fn reduce(&mut self) {
        let beta = if self.cubic { 0.7 } else { 0.5 };
        self.largest = if self.window < self.largest { self.window * 0.85 } else { self.window };
        self.window = (self.window * beta).max(2.0);
        self.threshold = self.window;
        self.reno = self.window;
        self.epoch = None;
    }

    fn grow(&mut self, now: Time) {
        if self.window < self.threshold {
            self.window += 1.0;
            return;
        }
        if !self.cubic {
            self.window += 1.0 / self.window;
            return;
        }
        let (from, largest, k) = *self.epoch.get_or_insert_with(|| {
            let largest = self.largest.max(self.window);
            (now, largest, libm::cbrt((largest - self.window) / 0.4))
        });
        let t = now.since(from).as_secs_f64() + self.rtt - k;
        let target = (0.4 * t * t * t + largest).clamp(self.window, 1.5 * self.window);
        self.reno += 3.0 * 0.3 / 1.7 / self.window;
        self.window += (target - self.window) / self.window;
        self.window = self.window.max(self.reno);
    }
}
