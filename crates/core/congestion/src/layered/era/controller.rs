//! Our variant of ERA. It finds the number of layers that the path can carry from the queueing
//! delay. Beside flows that keep the queue full, it follows TCP's equation.
//!
//! The measurements are in files of their own (`short_sample`, `queue`, `leave_latency`,
//! `loss_events`). All decisions are here, because each may cancel or wait for another.

use super::{
    intervals::Intervals,
    leave_latency::LeaveLatency,
    loss_events::LossEvents,
    queue::{BusyPeriod, TransitTrend, Waiting, median},
    queue_target::{QueueTarget, WANTED_LEAST},
    random_loss::RandomLoss,
    short_sample::ShortSample,
};
use crate::layered::{Arrival, LayeredController, SessionParameters};
use alloc::{collections::VecDeque, vec::Vec};
use fanfare_wire::units::time::{Duration, Time};

/// Pairs whose median is the path's rate. Cross traffic widens some and narrows others.
const PAIRS: usize = 31;
/// At the start the rate grows each so often, and so much: twice where others wait, too.
const STEP: Duration = Duration::from_millis(200);
const GROWTH: f64 = 4.0;
const GROWTH_BESIDE: f64 = 2.0;
/// An interval repairs this share of what the queue is off, and of the logarithm of it.
const HOLD: f64 = 0.3;
const SHARE: f64 = 0.05;
/// Changes of the rate in an interval.
const CHANGE: core::ops::RangeInclusive<f64> = -0.25..=0.1;
/// With a queue of less than this share of what is wanted there is room, nobody knows how much.
const NEARLY_EMPTY: f64 = 0.1;
const FREE: f64 = 0.25;
/// A glance whose packets wait less than this share of what is wanted lets the rate grow at once, by
/// this share of the line: three of them find a quarter of a line within half a second. Found on seeds
/// 1 to 20, as all here: with a tenth of what is wanted, packets that meet look like a queue and it takes
/// two seconds; with three, or an eighth more of one's own rate, two sessions share less evenly.
const SHORTLY: f64 = 0.2;
const AT_ONCE: f64 = 0.06;
/// A wait that is no queue, seconds.
const EMPTY: f64 = 0.003;
/// Overload is judged this often, and from this share of the path's rate on.
const GLANCE: Duration = Duration::from_millis(60);
/// Packets that a glance with losses needs: they come in clumps, and their share of fewer is noise.
const LOSSY_PACKETS: f64 = 40.0;
const OVERLOAD: f64 = 0.15;
/// Who has this share of the line takes away all that is too much at once.
const MINE: f64 = 0.5;
/// The longest that is waited for loss to show, seconds.
const SHOWS: f64 = 0.5;
/// With loss in so many of the last intervals, others fill the queue.
const MEMORY: usize = 8;
const LOSSY: usize = 4;
/// Every so many intervals, by the sender's count, it sends half: sessions whose clocks agree do so
/// together, and a queue that does not empty then is others'.
const DRAIN: u64 = 16;
/// Nobody else is thought to fill the queue where this share of the line is ours, nor to grow at once
/// when it is short.
const MOST: f64 = 0.4;
/// The rest of a queue has gone so long after a round trip.
const SETTLE: Duration = Duration::from_millis(250);
/// Mean wait of an interval in which a queue has emptied: seconds, or packets where one takes longer:
/// the second of a pair always waits for the first, and several sessions' pairs meet.
const EMPTIED: f64 = 0.016;
const EMPTIED_PACKETS: f64 = 2.5;
/// A queue of less than so much of what is wanted is short: it loses nothing.
const SHORT: f64 = 2.0;
/// Round trip when nobody answers: long rather than short, as a shorter one requests more.
const RTT_UNKNOWN: f64 = 0.2;

/// What the rate goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Growing until something limits.
    Start,
    /// The queue.
    Queue,
    /// What TCP would have: others fill the queue.
    Tcp,
}

/// A receiver of ours.
#[derive(Debug)]
pub struct Era {
    terms: SessionParameters,
    target: QueueTarget,
    level: usize,
    /// Bit/s that it would have were layers infinitely fine.
    rate: f64,
    phase: Phase,
    intervals: Intervals,
    pairs: VecDeque<f64>,
    losses: LossEvents,
    /// Transits of this interval.
    interval: TransitTrend,
    /// This step or glance.
    sample: ShortSample,
    /// The queue since it last began to grow.
    busy: BusyPeriod,
    interval_lost: bool,
    /// Least transit ever: the path without a queue.
    base: f64,
    round_trip: Option<(f64, f64)>,
    /// Of the last intervals, newest first: whether anything was lost.
    past: VecDeque<bool>,
    /// This interval drains.
    drained: bool,
    /// The last glance has seen overload.
    overload: Option<f64>,
    leaves: LeaveLatency,
    /// No judgement before the last one shows.
    hold_until: Time,
    /// Where loss with a short queue is no congestion: what is lost of how much, lately.
    random: Option<RandomLoss>,
}

impl Era {
    /// With the base layer.
    #[must_use]
    pub fn new(now: Time, terms: SessionParameters) -> Self {
        Self {
            level: 1,
            rate: terms.layers.sum(1),
            phase: Phase::Start,
            intervals: Intervals::new(terms.interval),
            pairs: VecDeque::new(),
            losses: LossEvents::default(),
            interval: TransitTrend::new(now),
            sample: ShortSample::new(now),
            busy: BusyPeriod::default(),
            interval_lost: false,
            base: f64::INFINITY,
            round_trip: None,
            past: VecDeque::new(),
            drained: false,
            overload: None,
            leaves: LeaveLatency::default(),
            hold_until: now,
            random: None,
            target: QueueTarget::FEW_LAYERS,
            terms,
        }
    }
    /// Where links lose whatever the rate, and there are many layers.
    #[must_use]
    pub fn tolerant(self) -> Self {
        Self { random: Some(RandomLoss::default()), target: QueueTarget::MANY_LAYERS, ..self }
    }

    /// The path's rate: the median of the last pairs.
    fn capacity(&self) -> Option<f64> {
        median(&self.pairs.iter().copied().collect::<Vec<f64>>())
    }
    /// Bit/s of the layers that it has.
    fn sum(&self) -> f64 {
        self.terms.layers.sum(self.level)
    }
    fn packet_bits(&self) -> f64 {
        8.0 * f64::from(self.terms.packet)
    }
    /// The round trip at this transit: what was measured, and what waiting has changed since.
    fn rtt(&self, transit: f64) -> Duration {
        let seconds = match self.round_trip {
            Some((sample, then)) => sample + transit - then,
            None => RTT_UNKNOWN + transit - self.base,
        };
        Duration::from_secs_f64(seconds.clamp(1e-3, 60.0))
    }
    /// How long packets should wait.
    fn wanted(&self, rate: f64) -> f64 {
        let QueueTarget { wanted_packets, wanted_most, .. } = self.target;
        (wanted_packets * self.packet_bits() / rate).clamp(WANTED_LEAST, wanted_most)
    }

    fn set_rate(&mut self, rate: f64) {
        let most = self.capacity().unwrap_or(f64::INFINITY).min(self.terms.layers.sum(usize::MAX));
        self.rate = rate.min(most).max(self.terms.layers.sum(1));
        self.level = self.terms.layers.level_at(self.rate).max(1);
    }

    /// Packets lost before this one, as far as a queue may have lost them.
    fn congested(&mut self, arrival: &Arrival) -> u32 {
        let short = SHORT * self.wanted(self.rate);
        let Some(random) = &mut self.random else { return arrival.lost };
        let rare = random.add(arrival.lost);
        let waits = arrival.transit - self.base;
        if rare && waits < short { 0 } else { arrival.lost }
    }

    /// What arrives for so long was sent before the last change shows: it is not judged.
    fn hold(&mut self, now: Time, time: Duration) {
        self.hold_until = now + time;
        self.interval = TransitTrend::new(self.hold_until);
        self.sample = ShortSample::new(self.hold_until);
        self.busy = BusyPeriod::default();
    }

    /// Start: more, until the queue grows, something is lost, or pairs say that this is all.
    fn step(&mut self, now: Time) {
        let Some(waiting) = self.sample.waiting(now) else {
            // The base layer alone would take a second to say more than its first pair.
            if !self.pairs.is_empty() && self.level == 1 {
                self.set_rate(self.rate * GROWTH);
                self.sample = ShortSample::new(now);
            }
            return;
        };
        let queue = waiting.end - self.base;
        let grows = queue > self.wanted(self.rate) && waiting.slope > OVERLOAD;
        if self.sample.has_lost() || grows {
            let passed = self.sample.passed(now).min(self.rate);
            self.phase = Phase::Queue;
            if self.sample.has_lost() {
                let packet = f64::from(self.terms.packet);
                self.losses.assume(passed, self.rtt(waiting.mean), packet);
            }
            self.set_rate(passed);
            return self.hold(now, self.rtt(waiting.mean));
        } else {
            let beside = waiting.mean - self.base > EMPTY;
            let grown = self.rate * if beside { GROWTH_BESIDE } else { GROWTH };
            self.set_rate(grown);
            if self.rate < grown {
                self.phase = Phase::Queue;
            }
        }
        self.sample = ShortSample::new(now);
    }

    /// In between: much more comes than passes. The rate goes down by what is too much, once two
    /// glances agree: the first has seen only the end of it.
    fn look(&mut self, now: Time) {
        let needed =
            if self.sample.has_lost() { LOSSY_PACKETS } else { self.target.sample_packets };
        if self.sample.packets() < needed {
            return;
        }
        let Some(waiting) = self.sample.waiting(now) else { return };
        let share = self.sample.share_lost();
        let over = waiting.over() + share / (1.0 - share);
        let queue = waiting.end - self.base;
        let seen = queue > 2.0 * self.wanted(self.rate) || share > 0.0;
        self.sample = ShortSample::new(now);
        let is_over = over > OVERLOAD && seen;
        let before = core::mem::replace(&mut self.overload, is_over.then_some(over));
        if !is_over {
            self.busy = BusyPeriod::default();
        }
        if before.is_some() && !is_over {
            self.leaves.on_relief(now);
        }
        if share == 0.0 && self.grow_at_once(&waiting) {
            return self.hold(now, self.rtt(waiting.mean));
        }
        let (Some(before), true, Phase::Queue) = (before, is_over, self.phase) else { return };
        // A queue that is full grows no more, and its losses do not show yet; when they do, a few
        // packets tell their share badly.
        let over = if share > 0.0 { (over + before) / 2.0 } else { over.max(before) };
        if self.leaves.explain(now, over) {
            return;
        }
        let capacity = self.capacity().unwrap_or(self.rate);
        // A queue that drops is measured by what it drops.
        let known = if share > 0.0 { None } else { self.busy.excess(self.sum(), capacity) };
        let excess = known.unwrap_or(over * capacity);
        self.leaves.on_cut(now, excess / capacity);
        // All who share a line see all that is too much; who has less of it takes less of that away.
        let part = (self.rate / (MINE * capacity)).min(1.0);
        self.set_rate((self.rate - part * excess).max(self.rate * self.target.cut_least));
        // A layer's loss shows with its next packets.
        let top = self.terms.layers.rate(self.level.max(1) - 1);
        let shows = (2.0 * self.packet_bits() / top).min(SHOWS);
        self.hold(now, self.rtt(waiting.mean) + Duration::from_secs_f64(shows));
    }
    /// Packets hardly wait: more, before the interval ends. Only who has much of the line: where many
    /// share it, glances tell each something else, and the bold part from the rest. Nor where leaves
    /// take long, and what was too much would stay.
    fn grow_at_once(&mut self, waiting: &Waiting) -> bool {
        let Some(capacity) = self.capacity() else { return false };
        let short = EMPTY.max(self.wanted(self.rate) * SHORTLY);
        let grown = self.rate + AT_ONCE * capacity;
        let may = self.phase == Phase::Queue && !self.drained && self.leaves.work();
        let grows =
            waiting.mean - self.base < short && self.rate >= MOST * capacity && grown <= capacity;
        if may && grows {
            self.set_rate(grown);
        }
        may && grows
    }
    /// Layers were left, and come nevertheless: whatever is measured now says nothing new.
    fn is_leaving(&self, now: Time) -> bool {
        self.overload.is_some() && self.leaves.are_awaited(now)
    }

    /// Once in an interval.
    fn adapt(&mut self, now: Time) {
        if self.is_leaving(now) {
            self.interval = TransitTrend::new(now);
            self.interval_lost = false;
            return;
        }
        let Some(waiting) = self.interval.waiting(now) else { return };
        let lost = core::mem::take(&mut self.interval_lost);
        self.past.push_front(lost);
        self.past.truncate(MEMORY);
        self.interval = TransitTrend::new(now);
        self.choose_phase(&waiting);
        let was_drained = core::mem::replace(&mut self.drained, false);
        match self.phase {
            Phase::Start => return,
            // What was seen while it drained says nothing of the rate before.
            _ if was_drained => self.set_rate(self.rate),
            Phase::Queue => {
                let before = self.level;
                self.by_queue(&waiting);
                if self.level < before && self.leaves.time() > Duration::ZERO {
                    self.hold(now, self.leaves.time());
                }
            }
            Phase::Tcp => self.by_tcp(&waiting),
        }
        if self.intervals.number().is_multiple_of(DRAIN) {
            self.drained = true;
            self.hold(now, self.rtt(waiting.mean) + SETTLE);
            self.level = self.terms.layers.level_at(self.rate / 2.0).max(1);
        }
    }

    /// As TCP: a packet a round trip more in each round trip, at most what its loss allows.
    fn by_tcp(&mut self, waiting: &Waiting) {
        let rtt = self.rtt(waiting.mean).as_secs_f64();
        let grown = self.packet_bits() / (rtt * rtt) * self.terms.interval.as_secs_f64();
        let allowed = self.tcp_rate(waiting).unwrap_or(f64::INFINITY);
        self.set_rate(allowed.min(self.rate + grown));
        // To the nearest sum of layers: below it on average would be half a layer less.
        let half = self.terms.layers.rate(self.level) / 2.0;
        self.level = self.terms.layers.level_at(self.rate + half).max(1);
    }

    fn tcp_rate(&self, waiting: &Waiting) -> Option<f64> {
        self.losses.tcp_rate(self.rtt(waiting.mean), f64::from(self.terms.packet))
    }

    /// Others fill the queue when it does not empty though we gave way, and overflows.
    fn choose_phase(&mut self, waiting: &Waiting) {
        if self.phase == Phase::Start {
            return;
        }
        let lossy = self.past.iter().filter(|lost| **lost).count();
        if self.phase == Phase::Queue && lossy >= LOSSY {
            self.phase = Phase::Tcp;
            self.past.clear();
        }
        if self.drained {
            let capacity = self.capacity().unwrap_or(self.rate);
            let packet = self.packet_bits() / capacity;
            let emptied = waiting.mean - self.base < EMPTIED.max(EMPTIED_PACKETS * packet);
            // Who has most of the line without loss is alone: its leaves have not worked yet.
            let beside = self.rate < MOST * capacity || lossy > 0;
            if emptied {
                self.phase = Phase::Queue;
            } else if self.leaves.work() && beside {
                self.phase = Phase::Tcp;
            }
        }
        // Where a drain tells nothing, an end of loss must.
        if self.phase == Phase::Tcp
            && !self.leaves.work()
            && lossy == 0
            && self.past.len() == MEMORY
        {
            self.phase = Phase::Queue;
        }
    }

    fn by_queue(&mut self, waiting: &Waiting) {
        let queue = (waiting.end - self.base).max(0.0);
        let mean = (waiting.mean - self.base).max(0.0);
        let wanted = self.wanted(self.rate);
        if mean < EMPTY.max(wanted * NEARLY_EMPTY) {
            return self.set_rate(self.rate * (1.0 + FREE));
        }
        let interval = self.terms.interval.as_secs_f64();
        let pace = 1.0 - waiting.slope.clamp(-0.5, 0.5);
        let change =
            HOLD * (wanted - queue) / interval + SHARE * libm::log(wanted / mean.max(EMPTY));
        let change = change.clamp(*CHANGE.start(), *CHANGE.end());
        self.set_rate(self.rate * pace.min(1.0 + CHANGE.end()) * (1.0 + change));
    }
}

impl LayeredController for Era {
    fn on_packet(&mut self, now: Time, arrival: &Arrival) {
        self.base = self.base.min(arrival.transit);
        if let Some(sample) = arrival.pair {
            self.pairs.push_back(sample);
            if self.pairs.len() > PAIRS {
                self.pairs.pop_front();
            }
        }
        let rtt = self.rtt(arrival.transit);
        let lost = self.congested(arrival);
        self.losses.on_packet(now, lost, rtt);
        self.interval_lost |= lost > 0;
        if now >= self.hold_until {
            self.interval.add(now, arrival.transit);
            self.sample.add(now, arrival, lost);
            self.busy.add(now, arrival);
        }
        let (length, starting) = match self.phase {
            Phase::Start => (STEP, true),
            _ => (GLANCE, false),
        };
        if now.since(self.sample.began()) >= length {
            if starting { self.step(now) } else { self.look(now) }
        }
        if self.intervals.turn(arrival.header.sent) {
            self.adapt(now);
        }
    }
    fn on_round_trip(&mut self, sample: Duration, transit: f64) {
        self.round_trip = Some((sample.as_secs_f64(), transit));
    }
    fn level(&self) -> usize {
        self.level
    }
    fn wants_round_trip(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layered::{
        LayeredSource, Outgoing, SendPattern, SourceConfig, packet_pairs::Pairs,
        tests::announcement, tests::terms,
    };
    use fanfare_wire::units::rate::Bitrate;

    /// Bytes that may wait before the line.
    const BUFFER: f64 = 15_000.0;

    /// A source, a line 20 ms long, and the receiver behind it.
    struct TestPath {
        era: Era,
        source: LayeredSource,
        pairs: Pairs,
        free_at: f64,
        lost: [u32; 101],
        dropped: u32,
        /// One packet in so many is lost whatever the rate.
        random_loss: Option<u32>,
        passed: u32,
    }

    impl TestPath {
        fn new() -> Self {
            let call = announcement();
            let config = SourceConfig {
                scheme: call.scheme,
                send_pattern: SendPattern::Pairs,
                interval: call.interval,
                every: 1,
                packet: 512,
                object: 0,
                group: call.group,
                rtt: Duration::ZERO,
            };
            Self {
                era: Era::new(Time::ZERO, terms()),
                source: LayeredSource::new(config, 1, Time::ZERO).unwrap(),
                pairs: Pairs::default(),
                free_at: 0.0,
                lost: [0; 101],
                dropped: 0,
                random_loss: None,
                passed: 0,
            }
        }
        /// Until then the line gives this session so much of its rate.
        fn run(&mut self, until: u64, share: Bitrate) -> usize {
            let end = Time::ZERO + Duration::from_secs(until);
            while self.source.next_timeout() < end {
                let now = self.source.next_timeout();
                while let Some((channel, outgoing)) = self.source.poll_packet(now) {
                    if let Outgoing::Data(header) = outgoing
                        && usize::from(header.layer) < self.era.level()
                    {
                        self.pass(now, usize::from(channel.0), header, share.as_bps() as f64);
                    }
                }
            }
            self.era.level()
        }
        fn pass(&mut self, now: Time, channel: usize, header: crate::layered::Header, bps: f64) {
            let now = now.as_secs_f64();
            if (self.free_at - now) * bps / 8.0 > BUFFER {
                self.lost[channel] += 1;
                self.dropped += 1;
                return;
            }
            self.free_at = self.free_at.max(now) + 4096.0 / bps;
            let at = Time::ZERO + Duration::from_secs_f64(self.free_at + 0.02);
            self.passed += 1;
            if self.random_loss.is_some_and(|one| self.passed.is_multiple_of(one)) {
                self.lost[channel] += 1;
                return;
            }
            let pair = self.pairs.on_packet(at, &header, 512);
            let lost = core::mem::take(&mut self.lost[channel]);
            let transit = at.as_secs_f64() - header.sent.as_secs_f64();
            self.era.on_packet(at, &Arrival { header, bytes: 512, lost, pair, transit });
        }
    }

    #[test]
    fn alone_it_has_the_whole_line_within_two_seconds_and_loses_nothing() {
        for (kbps, level) in [(300, 15), (1000, 50), (70, 3)] {
            let mut road = TestPath::new();
            assert_eq!(road.run(2, Bitrate::kbps(kbps)), level, "{kbps}");
            let later = road.run(30, Bitrate::kbps(kbps));
            assert!(later.abs_diff(level) <= 1 && road.dropped == 0, "{later} {}", road.dropped);
        }
    }

    #[test]
    fn half_of_the_line_is_released_within_a_second_and_taken_back_when_it_is_free() {
        let mut road = TestPath::new();
        road.run(10, Bitrate::mbps(1));
        let halved = road.run(11, Bitrate::kbps(500));
        assert!((21..=27).contains(&halved) && road.dropped < 100, "{halved} {}", road.dropped);
        let held = road.run(40, Bitrate::kbps(500));
        assert!((20..=27).contains(&held), "{held}");
        let back = road.run(47, Bitrate::mbps(1));
        assert!(back >= 45, "{back}");
    }

    #[test]
    fn free_capacity_is_taken_within_a_second_by_a_flow_with_much_of_the_line() {
        let mut road = TestPath::new();
        road.run(20, Bitrate::mbps(1));
        road.run(33, Bitrate::kbps(500));
        let before = road.dropped;
        let later = road.run(34, Bitrate::mbps(1));
        assert!(later >= 34 && road.dropped == before, "{later} {}", road.dropped - before);
    }

    #[test]
    fn one_pair_that_is_torn_apart_has_no_effect() {
        let mut road = TestPath::new();
        road.run(5, Bitrate::mbps(1));
        let (now, mut arrival) = crate::layered::tests::arrival(5_020);
        (arrival.pair, arrival.transit) = (Some(2e5), 0.03);
        road.era.on_packet(now, &arrival);
        assert!(road.era.level() >= 49, "{}", road.era.level());
    }

    #[test]
    fn the_round_trip_is_what_was_measured_and_what_has_changed_since() {
        let mut era = Era::new(Time::ZERO, terms());
        era.base = 5.0;
        assert_eq!(era.rtt(5.03).as_millis(), 230);
        era.on_round_trip(Duration::from_millis(80), 5.01);
        assert_eq!(era.rtt(5.04).as_millis(), 110);
    }

    #[test]
    fn the_tolerant_controller_fills_a_line_with_random_loss_and_the_other_does_not() {
        let level = |tolerant: bool| {
            let mut road = TestPath::new();
            if tolerant {
                road.era = Era::new(Time::ZERO, terms()).tolerant();
            }
            road.random_loss = Some(50);
            road.run(30, Bitrate::mbps(1))
        };
        let (tolerant, plain) = (level(true), level(false));
        assert!(tolerant >= 46 && plain < 40, "{tolerant} {plain}");
    }

    #[test]
    fn a_queue_that_overflows_is_congestion_to_the_tolerant_too() {
        let mut road = TestPath::new();
        road.era = Era::new(Time::ZERO, terms()).tolerant();
        road.run(10, Bitrate::mbps(1));
        let halved = road.run(11, Bitrate::kbps(500));
        assert!((19..=27).contains(&halved) && road.dropped < 100, "{halved} {}", road.dropped);
    }

    #[test]
    fn loss_that_persists_at_a_lower_rate_switches_to_tcps_equation() {
        let mut era = Era::new(Time::ZERO, terms());
        (era.phase, era.base) = (Phase::Queue, 0.02);
        era.on_round_trip(Duration::from_millis(80), 0.06);
        let mut sent = 0;
        for n in 0..1200 {
            let ms = 10 * n;
            let (now, packet) = crate::layered::tests::arrival(ms + 100);
            let lost = u32::from(n % 49 == 48);
            sent += 1 + lost;
            era.on_packet(now, &Arrival { lost, transit: 0.06, ..packet });
        }
        assert_eq!(era.phase, Phase::Tcp);
        // One in 50 lost, 80 ms: 443 kbit/s; a drain may be under way.
        assert!(sent > 1200 && (420e3..470e3).contains(&era.rate), "{}", era.rate);
    }
}
