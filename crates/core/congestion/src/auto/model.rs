//! A path in packets, for tests: one queue, a delay, random loss, and around them the real
//! controller and the real meter, without sessions: a thousand times faster than those, and so a
//! place to try constants. `flow` has what is of one flow.

mod flow;

use crate::{Feedback, RateController};
use alloc::{
    collections::{BTreeMap, BinaryHeap, VecDeque},
    vec::Vec,
};
use core::cmp::Reverse;
use fanfare_wire::NodeId;
use fanfare_wire::units::{
    rate::Bitrate,
    rng::Rng,
    time::{Duration, Time},
};
use flow::Flow;

pub(super) const SIZE: usize = 1468;

/// The path that all flows share.
#[derive(Debug, Clone)]
pub(super) struct Path {
    pub(super) rate: Bitrate,
    pub(super) one_way: Duration,
    /// Packets of [`SIZE`].
    pub(super) buffer: usize,
    pub(super) loss: f64,
    /// Mean number of packets that are lost together (Gilbert-Elliott); 1: each by itself.
    pub(super) together: f64,
    /// Marks above so many bytes in the queue.
    pub(super) mark: Option<usize>,
    /// Bytes that a shaper lets pass at once when the link was not used for long (a token bucket).
    pub(super) bucket: usize,
    /// Drops what is above this rate, but for a burst, and delays none of it.
    pub(super) policer: Option<Bitrate>,
    /// Packets of [`SIZE`] that it lets pass at once.
    pub(super) burst: usize,
    /// How busy the processors are that send and receive.
    pub(super) busy: Busy,
    pub(super) clock: ReceiverClock,
}

/// What is wrong with the receiver's clock.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReceiverClock {
    /// It gains so many microseconds in a second.
    pub(super) drift_ppm: f64,
    /// Each second, for 20 ms, messages are dated earlier by this: the clock was set while they
    /// waited in the socket.
    pub(super) misdated: Duration,
    /// It reports a queue of so many microseconds, whatever it measures.
    pub(super) nonsense_micros: u32,
}

impl ReceiverClock {
    fn date(&self, arrived: Time) -> Time {
        let seconds = arrived.since(Time::ZERO).as_secs_f64();
        let drifted = Time::ZERO + Duration::from_secs_f64(seconds * (1.0 + self.drift_ppm / 1e6));
        if seconds % 1.0 < 0.02 { drifted.before(self.misdated) } else { drifted }
    }
}

/// Processes that wait for their processor. What they send and read waits meanwhile; the kernel notes
/// when it arrived.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Busy {
    /// Seconds from one wait to the next, on average; none for 0.
    pub(super) every: f64,
    /// The longest wait, seconds.
    pub(super) longest: f64,
    /// What the kernel adds to each message's delay at most: interrupts and batches.
    pub(super) noise: f64,
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
    Depart,
    Arrive(Packet, Time),
    Report(usize, Feedback),
    Change(Bitrate),
}

/// What was seen of one flow.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) sent: u64,
    pub(super) delivered: u64,
    pub(super) overflowed: u64,
}

/// The world.
pub(super) struct Model {
    pub(super) path: Path,
    now: Time,
    count: u64,
    agenda: BinaryHeap<Reverse<(Time, u64)>>,
    events: BTreeMap<u64, Event>,
    queue: VecDeque<Packet>,
    queued: usize,
    /// Bytes that the shaper lets pass at once, and when that was reckoned.
    tokens: (f64, Time),
    /// Bytes that the policer lets pass, and when that was reckoned.
    passes: (f64, Time),
    flows: Vec<Flow>,
    numbers: Vec<u64>,
    pub(super) seen: Vec<Seen>,
    rng: Rng,
    /// The last packet was lost, one of a burst.
    lost_last: bool,
    /// Queueing delays of the packets that left, seconds, since the last [`Self::reset`].
    pub(super) delays: Vec<f64>,
}

impl Model {
    pub(super) fn new(path: Path, seed: u64) -> Self {
        Self {
            tokens: (path.bucket as f64, Time::ZERO),
            path,
            now: Time::ZERO,
            count: 0,
            agenda: BinaryHeap::new(),
            events: BTreeMap::new(),
            queue: VecDeque::new(),
            queued: 0,
            passes: (0.0, Time::ZERO),
            flows: Vec::new(),
            numbers: Vec::new(),
            seen: Vec::new(),
            rng: Rng::new(seed),
            lost_last: false,
            delays: Vec::new(),
        }
    }

    fn at(&mut self, at: Time, event: Event) {
        self.count += 1;
        self.agenda.push(Reverse((at, self.count)));
        self.events.insert(self.count, event);
    }

    pub(super) fn auto(&mut self, start: Time, max: Bitrate) -> usize {
        self.flows.push(Flow::new(start, max));
        self.numbers.push(0);
        self.seen.push(Seen::default());
        let flow = self.flows.len() - 1;
        self.at(start, Event::Send(flow));
        flow
    }

    pub(super) fn change(&mut self, at: Time, rate: Bitrate) {
        self.at(at, Event::Change(rate));
    }

    /// The flow's receiver has lost messages in its own buffer.
    pub(super) fn overrun(&mut self, flow: usize) {
        let now = self.now;
        assert!(self.flows[flow].control.on_overrun(now, NodeId(2)));
    }

    /// From now on the flow's application has so many messages, so often, and no more.
    pub(super) fn offer(&mut self, flow: usize, every: Duration, messages: u32) {
        self.flows[flow].offer(self.now, every, messages);
    }

    /// The flow's rate.
    pub(super) fn rate(&self, flow: usize) -> Bitrate {
        self.flows[flow].control.rate()
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

    fn step(&mut self, event: Event) {
        match event {
            Event::Change(rate) => self.path.rate = rate,
            Event::Depart => self.depart(),
            Event::Send(flow) => self.send(flow),
            Event::Arrive(packet, arrived) => self.arrive(packet, arrived),
            Event::Report(flow, feedback) => self.report(flow, feedback),
        }
    }

    fn enqueue(&mut self, flow: usize, bytes: usize, probe: Option<u16>) {
        let number = self.numbers[flow];
        self.numbers[flow] += 1;
        self.seen[flow].sent += u64::from(bytes == SIZE);
        if self.queued + bytes > self.path.buffer * SIZE || !self.passes_policer(bytes) {
            self.seen[flow].overflowed += 1;
            return;
        }
        let marked = self.path.mark.is_some_and(|mark| self.queued > mark);
        self.queue.push_back(Packet { flow, number, bytes, sent: self.now, probe, marked });
        self.queued += bytes;
        if self.queue.len() == 1 {
            let at = self.leaves_at(bytes);
            self.at(at, Event::Depart);
        }
    }

    /// Time at which the packet at the head of the queue has left.
    fn leaves_at(&mut self, bytes: usize) -> Time {
        if self.path.bucket == 0 {
            return self.now + self.path.rate.time_for(bytes);
        }
        let (before, then) = self.tokens;
        let gained = self.path.rate.as_bytes_per_second() * self.now.since(then).as_secs_f64();
        let tokens = (before + gained).min(self.path.bucket as f64);
        let lacking = (bytes as f64 - tokens).max(0.0);
        let at = self.now + self.path.rate.time_for(lacking as usize);
        // What is gained while it waits it takes, too.
        self.tokens = ((tokens - bytes as f64).max(0.0), at);
        at
    }

    fn passes_policer(&mut self, bytes: usize) -> bool {
        let Some(rate) = self.path.policer else { return true };
        let (before, then) = self.passes;
        let gained = rate.as_bytes_per_second() * self.now.since(then).as_secs_f64();
        let allowed = (before + gained).min((self.path.burst * SIZE) as f64);
        let passes = allowed >= bytes as f64;
        self.passes = (if passes { allowed - bytes as f64 } else { allowed }, self.now);
        passes
    }

    /// Loses a packet by chance: by itself, or with those around it.
    fn is_lost(&mut self) -> bool {
        let Path { loss, together, .. } = self.path;
        let ends = 1.0 / together;
        let begins = (loss * ends / (1.0 - loss)).min(1.0);
        let chance = match self.lost_last {
            _ if together <= 1.0 => loss,
            true => 1.0 - ends,
            false => begins,
        };
        self.lost_last = self.rng.random_bool(chance);
        self.lost_last
    }

    fn depart(&mut self) {
        let Some(packet) = self.queue.pop_front() else { return };
        self.queued -= packet.bytes;
        let alone = self.path.rate.time_for(packet.bytes);
        self.delays.push(self.now.since(packet.sent).saturating_sub(alone).as_secs_f64());
        if let Some(next) = self.queue.front().copied() {
            let at = self.leaves_at(next.bytes);
            self.at(at, Event::Depart);
        }
        if !self.is_lost() {
            let noise = Duration::from_secs_f64(self.rng.unit() * self.path.busy.noise);
            let flow = &mut self.flows[packet.flow];
            flow.arrived = flow.arrived.max(self.now + self.path.one_way + noise);
            let arrived = flow.arrived;
            self.at(arrived, Event::Arrive(packet, arrived));
        }
    }

    fn send(&mut self, flow: usize) {
        let free = self.free_at(flow, 0);
        if free > self.now {
            return self.at(free, Event::Send(flow));
        }
        self.send_now(flow);
        let at = self.flows[flow].next(self.now);
        self.at(at, Event::Send(flow));
    }

    /// When the sender's (0) or the receiver's (1) process has its processor.
    fn free_at(&mut self, flow: usize, side: usize) -> Time {
        let Busy { every, longest, .. } = self.path.busy;
        let now = self.now;
        if every > 0.0 && now >= self.flows[flow].stalls[side] {
            let wait = Duration::from_secs_f64(self.rng.unit() * longest);
            let next = Duration::from_secs_f64(self.rng.unit() * 2.0 * every);
            self.flows[flow].stalled[side] = now + wait;
            self.flows[flow].stalls[side] = now + wait + next;
        }
        self.flows[flow].stalled[side].max(now)
    }

    /// What is due: the rate may have changed.
    fn send_now(&mut self, flow: usize) {
        let mut out = Vec::new();
        self.flows[flow].poll(self.now, &mut out);
        for (bytes, probe) in out {
            self.enqueue(flow, bytes, probe);
        }
    }

    fn arrive(&mut self, packet: Packet, arrived: Time) {
        let (now, free) = (self.now, self.free_at(packet.flow, 1));
        if free > now {
            return self.at(free, Event::Arrive(packet, arrived));
        }
        if packet.bytes == SIZE {
            self.seen[packet.flow].delivered += 1;
        }
        let clock = self.path.clock;
        let arrived = clock.date(arrived);
        if let Some(mut feedback) = self.flows[packet.flow].hear(arrived, now, &packet) {
            if let Some(path) = feedback.path.as_mut().filter(|_| clock.nonsense_micros > 0) {
                path.standing_micros = clock.nonsense_micros;
                path.queue_micros = clock.nonsense_micros;
            }
            self.at(now + self.path.one_way, Event::Report(packet.flow, feedback));
        }
    }

    fn report(&mut self, flow: usize, mut feedback: Feedback) {
        let (now, free) = (self.now, self.free_at(flow, 0));
        if free > now {
            return self.at(free, Event::Report(flow, feedback));
        }
        self.flows[flow].on_report(now, &mut feedback);
        self.send_now(flow);
    }
}
