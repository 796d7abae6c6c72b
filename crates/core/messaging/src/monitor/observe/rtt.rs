//! Round trips, from packets that answer each other. A sensor in the middle sees two halves of a path;
//! one at an end sees all of it in one half.

use alloc::collections::{BTreeMap, VecDeque};
use core::net::IpAddr;

use fanfare_wire::units::{Duration, Time};

use super::sighting::{Segment, Sighting, What};

/// Packets whose answer is awaited; the oldest goes.
const AWAITED_MAX: usize = 65_536;
/// A later answer is none.
const LONGEST: Duration = Duration::from_secs(60);
/// Pairs of addresses.
const PAIRS_MAX: usize = 4096;
/// The least of so long is what the path takes when it is idle.
const BASE_OVER: Duration = Duration::from_secs(30);
/// What is measured now is the median of so long.
const NOW_OVER: Duration = Duration::from_secs(1);
/// Samples that are kept of a pair.
const SAMPLES_MAX: usize = 256;
/// A change by more than these, seen twice, is a step: what was before it is forgotten.
const STEP_LEAST: Duration = Duration::from_millis(5);
const STEP_SHARE: f64 = 0.2;

/// What answers what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Token {
    /// SYN, by the number that its answer acknowledges.
    Syn(u32),
    /// SYN with acknowledgement, likewise.
    SynAck(u32),
    /// A time stamp.
    Stamp(u32),
    /// A ping.
    Echo(u16, u16),
}

/// Who awaits an answer from whom, at which ports, to what.
type Key = ((IpAddr, IpAddr), (u16, u16), Token);

/// How long the way from here to an end and back is, for packets of the other end.
#[derive(Debug, Clone)]
pub struct Way {
    samples: VecDeque<(Time, Duration)>,
    base: Duration,
    /// All samples so far.
    pub count: u64,
}

impl Way {
    fn new() -> Self {
        Self { samples: VecDeque::new(), base: Duration::MAX, count: 0 }
    }

    fn on_sample(&mut self, at: Time, took: Duration) {
        if self.count > 1 {
            self.look_for_step(took);
        }
        self.samples.push_back((at, took));
        let old = |first: &(Time, Duration)| at.since(first.0) > BASE_OVER;
        while self.samples.len() > SAMPLES_MAX || self.samples.front().is_some_and(old) {
            self.samples.pop_front();
        }
        self.base = self.samples.iter().map(|(_, took)| *took).min().unwrap_or(took);
        self.count += 1;
    }

    /// Two samples in a row that are far from what was before on the same side.
    fn look_for_step(&mut self, took: Duration) {
        let Some((_, last)) = self.samples.back().copied() else { return };
        let Some((_, before)) = self.samples.iter().rev().nth(1).copied() else { return };
        let far = |one: Duration| {
            let apart = one.abs_diff(before);
            apart > STEP_LEAST && apart > before.mul_f64(STEP_SHARE)
        };
        let alike = took.abs_diff(last) <= STEP_LEAST.max(last.mul_f64(STEP_SHARE));
        if far(last) && far(took) && alike && (last > before) == (took > before) {
            let kept = self.samples.pop_back();
            self.samples.clear();
            self.samples.extend(kept);
        }
    }

    /// The median of the last second in which there was one.
    #[must_use]
    pub fn now(&self) -> Duration {
        let last = self.samples.back().map_or(Time::ZERO, |(at, _)| *at);
        let lately = self.samples.iter().filter(|(at, _)| last.since(*at) <= NOW_OVER);
        let mut lately: alloc::vec::Vec<Duration> = lately.map(|(_, took)| *took).collect();
        lately.sort_unstable();
        lately.get(lately.len() / 2).copied().unwrap_or_default()
    }

    /// The least lately.
    #[must_use]
    pub fn base(&self) -> Duration {
        self.base
    }

    /// When the last sample came.
    #[must_use]
    pub fn last(&self) -> Time {
        self.samples.back().map_or(Time::ZERO, |(at, _)| *at)
    }
}

/// All round trips.
#[derive(Debug, Default)]
pub struct Trips {
    awaited: BTreeMap<Key, Time>,
    order: VecDeque<(Time, Key)>,
    ways: BTreeMap<(IpAddr, IpAddr), Way>,
    /// Connections whose handshake was seen whole, and the time that it took.
    pub(super) handshakes: VecDeque<Handshake>,
    /// Answers that came late, or too many at once.
    pub dropped: u64,
}

/// How long a connection took to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handshake {
    /// Client and server.
    pub ends: (IpAddr, IpAddr),
    /// Their ports.
    pub ports: (u16, u16),
    /// From the first SYN to the answer of the answer, as seen here.
    pub took: Duration,
}

/// Handshakes that are kept to be told.
const HANDSHAKES_MAX: usize = 1024;

impl Trips {
    pub(super) fn on_sighting(&mut self, seen: &Sighting) {
        match &seen.what {
            What::Tcp(ports, segment) => self.on_segment(seen, *ports, segment),
            What::Echo { reply: false, id } => {
                self.expect(seen.at, (seen.ends, (0, 0), Token::Echo(id.0, id.1)));
            }
            What::Echo { reply: true, id } => {
                self.answer(seen, (0, 0), Token::Echo(id.0, id.1));
            }
            _ => {}
        }
    }

    fn on_segment(&mut self, seen: &Sighting, ports: (u16, u16), segment: &Segment) {
        if segment.rst {
            return;
        }
        let next = segment.number.wrapping_add(1);
        match (segment.syn, segment.ack) {
            (true, false) => self.expect(seen.at, (seen.ends, ports, Token::Syn(next))),
            (true, true) => {
                self.answer(seen, ports, Token::Syn(segment.acknowledged));
                self.expect(seen.at, (seen.ends, ports, Token::SynAck(next)));
            }
            (false, true) => {
                let token = Token::SynAck(segment.acknowledged);
                if let Some(took) = self.answer(seen, ports, token) {
                    self.on_handshake(seen, ports, took);
                }
            }
            (false, false) => {}
        }
        let Some((own, answered)) = segment.stamps else { return };
        // The first answer to a stamp is that to its first packet; who only acknowledges is not answered.
        if segment.ack && !segment.syn {
            self.answer(seen, ports, Token::Stamp(answered));
        }
        if segment.length > 0 && !segment.syn {
            let key = (seen.ends, ports, Token::Stamp(own));
            if !self.awaited.contains_key(&key) {
                self.expect(seen.at, key);
            }
        }
    }

    fn on_handshake(&mut self, seen: &Sighting, ports: (u16, u16), second: Duration) {
        let (client, server) = seen.ends;
        // The first half was just measured: it is the last sample of the way to the server.
        let first = self.ways.get(&(server, client)).and_then(|way| way.samples.back());
        let Some((_, first)) = first.copied() else { return };
        if self.handshakes.len() == HANDSHAKES_MAX {
            self.handshakes.pop_front();
        }
        let took = first + second;
        self.handshakes.push_back(Handshake { ends: (client, server), ports, took });
    }

    /// A packet whose answer will be known. One that was sent before is not awaited twice (Karn).
    fn expect(&mut self, at: Time, key: Key) {
        let sent_again = self.awaited.insert(key, at).is_some();
        if sent_again && !matches!(key.2, Token::Stamp(_)) {
            // Nobody can tell which of both is answered.
            self.awaited.remove(&key);
            return;
        }
        self.order.push_back((at, key));
        while self.order.len() > AWAITED_MAX
            || self.order.front().is_some_and(|(sent, _)| at.since(*sent) > LONGEST)
        {
            if let Some((_, key)) = self.order.pop_front() {
                self.dropped += u64::from(self.awaited.remove(&key).is_some());
            }
        }
    }

    fn answer(&mut self, seen: &Sighting, ports: (u16, u16), token: Token) -> Option<Duration> {
        let (from, to) = seen.ends;
        let sent = self.awaited.remove(&((to, from), (ports.1, ports.0), token))?;
        let took = seen.at.since(sent);
        if took > LONGEST || seen.at < sent {
            self.dropped += 1;
            return None;
        }
        let room = self.ways.len() < PAIRS_MAX || self.ways.contains_key(&(from, to));
        if !room {
            self.dropped += 1;
            return None;
        }
        self.ways.entry((from, to)).or_insert_with(Way::new).on_sample(seen.at, took);
        Some(took)
    }

    /// For each who answered, and whom: the way from here to it and back.
    pub fn ways(&self) -> impl Iterator<Item = (&(IpAddr, IpAddr), &Way)> {
        self.ways.iter()
    }
}
