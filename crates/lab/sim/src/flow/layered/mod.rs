//! Layered sessions: one source, receivers that join as many of its layers as they will.

mod convergence;
mod running;

pub use convergence::Convergence;
pub(crate) use running::{LayeredRunning, Participant};

use crate::{
    place::Place,
    results::series::{STEP, Series},
};
use core::ops::Range;
use fanfare_proto::{
    Duration, Time,
    congestion::layered::{LayeredControl, LayeredStats, Layers, Scheme, Shape, SourceConfig},
};

/// Simulated sessions have groups from here on; nothing but the announcement shows them.
const GROUP: &str = "239.255.43.0:6100";

/// A layered session, as a plan describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct LayeredFlow {
    /// Where its source is.
    pub from: Place,
    /// Where its receivers are, and when each begins to listen.
    pub to: Vec<(Place, Duration)>,
    /// What receivers go by.
    pub control: LayeredControl,
    /// Rates of layers.
    pub scheme: Scheme,
    /// Bytes of a packet on the wire.
    pub packet: u16,
    /// The adaptation interval.
    pub interval: Duration,
    /// The round trip of the TCP flow that FLID-DL's source has in mind.
    pub rtt: Duration,
    /// When the source sends.
    pub during: Range<Duration>,
    /// Each receiver begins at random up to so much later.
    pub spread: Duration,
    /// A file that packets carry the symbols of: receivers leave when they have it.
    pub object: Option<Shape>,
}

impl LayeredFlow {
    /// A session with the thesis' packets and interval, from the beginning on.
    #[must_use]
    pub fn new(from: impl Into<Place>, control: LayeredControl, scheme: Scheme) -> Self {
        Self {
            from: from.into(),
            to: Vec::new(),
            control,
            scheme,
            packet: 512,
            interval: Duration::from_secs(1),
            rtt: Duration::from_millis(60),
            during: Duration::ZERO..Duration::MAX,
            spread: Duration::ZERO,
            object: None,
        }
    }
    /// With a receiver that begins then.
    #[must_use]
    pub fn receiver(mut self, at: impl Into<Place>, begins: Duration) -> Self {
        self.to.push((at.into(), begins));
        self
    }

    fn source(&self) -> SourceConfig {
        SourceConfig {
            scheme: self.scheme.clone(),
            send_pattern: self.control.send_pattern(),
            interval: self.interval,
            every: 1,
            packet: self.packet,
            object: self.object.map_or(0, |shape| shape.object()),
            group: GROUP.parse().unwrap_or_else(|_| unreachable!("a constant")),
            rtt: self.rtt,
        }
    }
}

/// What came of one receiver.
#[derive(Debug, Clone)]
pub struct LayeredReport {
    /// Where it was.
    pub place: Place,
    /// When it began to listen.
    pub began: Time,
    /// The session's adaptation interval.
    pub interval: Duration,
    /// Bytes of layers that arrived, headers included.
    pub received: Series,
    /// Packets of layers that it was in.
    pub packets: Series,
    /// Those that were missing among them, when it noticed.
    pub lost: Series,
    /// When it changed how many layers it is in: layers, and the sum of their rates in bit/s.
    pub levels: Vec<(Time, usize, f64)>,
    /// The session's layers.
    pub layers: Layers,
    /// When it had enough of the object's symbols, and how many came beyond those that it has, as a
    /// share of them.
    pub whole: Option<(Time, f64)>,
    /// Its counters.
    pub stats: LayeredStats,
}

impl LayeredReport {
    /// Packets lost, of all that it should have had.
    #[must_use]
    pub fn loss_ratio(&self) -> f64 {
        let all = (self.stats.packets + self.stats.lost) as f64;
        if all > 0.0 { self.stats.lost as f64 / all } else { 0.0 }
    }
    /// The same of its worst adaptation interval, counted from its beginning on.
    #[must_use]
    pub fn worst_loss(&self) -> f64 {
        let end = STEP * self.lost.len() as u32;
        let began = self.began.since(Time::ZERO);
        let begins = (0..).map(|n| began + self.interval * n).take_while(|at| *at < end);
        let share = |at: Duration| {
            let window = at..at + self.interval;
            let lost = self.lost.sum(&window) as f64;
            lost / (lost + self.packets.sum(&window) as f64).max(1.0)
        };
        begins.map(share).fold(0.0, f64::max)
    }
    /// How many layers it is in at a time.
    #[must_use]
    pub fn level_at(&self, at: Duration) -> usize {
        let at = Time::ZERO + at;
        let last = self.levels.iter().rev().find(|(since, ..)| *since <= at);
        last.map_or(0, |(_, level, _)| *level)
    }
    /// Its mean number of layers in a window.
    #[must_use]
    pub fn mean_level(&self, window: &Range<Duration>) -> f64 {
        let edge = |at: Duration| Time::ZERO + at;
        let (mut sum, mut level, mut since) = (0.0, 0, edge(window.start));
        let end = edge(window.end);
        for (at, next, _) in &self.levels {
            let at = (*at).clamp(edge(window.start), end);
            sum += level as f64 * at.since(since).as_secs_f64();
            (level, since) = (*next, at);
        }
        sum += level as f64 * end.since(since).as_secs_f64();
        sum / end.since(edge(window.start)).as_secs_f64().max(f64::MIN_POSITIVE)
    }
    /// When its layers' sum was first within a range, from a time on.
    #[must_use]
    pub fn reached(&self, from: Time, range: &Range<f64>) -> Option<Time> {
        let before = self.levels.iter().rev().find(|(at, ..)| *at <= from);
        if before.is_some_and(|(.., rate)| range.contains(rate)) {
            return Some(from);
        }
        let later = self.levels.iter().filter(|(at, ..)| *at > from);
        later.clone().find(|(.., rate)| range.contains(rate)).map(|(at, ..)| *at)
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::Bitrate;

    use super::*;
    use crate::{Hop, Link, Plan, Queue, Report, Router, Until, fabric::MembershipLatency};

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }
    fn router(n: u16) -> Place {
        Router(n).into()
    }
    /// Source 2 - router 0 - router 1 - receivers 3 and 4; 1 Mbit/s between the routers.
    fn plan(control: LayeredControl, queue: Queue) -> Plan {
        let access = Link::default().rate(Bitrate::mbps(10), 0);
        let line = Hop::from(Link::default().rate(Bitrate::mbps(1), 0)).queue(queue);
        let mut plan = Plan::new(1).wire(Router(0), Router(1), line);
        for (edge, inner) in [(2, 0), (3, 1), (4, 1)] {
            plan = plan.wire(
                Router(edge),
                Router(inner),
                Hop::from(access).queue(Queue::packets(100)),
            );
        }
        let scheme = Scheme::Equal { rate: Bitrate::kbps(20), count: 100 };
        let flow = LayeredFlow::new(Router(2), control, scheme);
        let flow = flow.receiver(Router(3), secs(1)).receiver(Router(4), secs(10));
        plan.layered(flow).until(Until::Limit, secs(30))
    }
    fn receivers(report: &Report) -> [&LayeredReport; 2] {
        let find = |n| report.layered.iter().find(|r| r.place == router(n)).unwrap();
        [find(3), find(4)]
    }

    #[test]
    fn alone_on_a_fair_line_plm_takes_what_pairs_tell_and_loses_nothing() {
        let report = plan(LayeredControl::Plm, Queue::fair(40)).run();
        let [first, late] = receivers(&report);
        let window = secs(15)..secs(30);
        for receiver in [first, late] {
            let kbps = receiver.received.bps(&window) / 1e3;
            assert!((950.0..1000.0).contains(&kbps) && receiver.stats.lost == 0, "{kbps}");
            assert!((receiver.mean_level(&window) - 49.0).abs() < 0.5);
        }
        // A layer crosses the line once, whoever is in it.
        assert!(report.hops[0].bytes.bps(&window) < 1e6);
    }

    #[test]
    fn the_worst_interval_is_counted_from_a_receivers_beginning_on() {
        let mut report = plan(LayeredControl::Plm, Queue::fair(40)).run();
        let receiver = report.layered.iter_mut().find(|r| r.place == router(3)).unwrap();
        assert_eq!(receiver.worst_loss(), 0.0);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let (mut packets, mut lost) = (Series::default(), Series::default());
        for n in 0..40 {
            packets.add(at(100 * n), 10);
        }
        // 5 and 15 of 100, on both sides of the edge of a second, which is no edge of an interval.
        lost.add(at(1900), 5);
        lost.add(at(2000), 15);
        (receiver.packets, receiver.lost, receiver.began) = (packets, lost, at(1500));
        assert!((receiver.worst_loss() - 20.0 / 120.0).abs() < 1e-9);
        receiver.began = at(1000);
        assert!((receiver.worst_loss() - 15.0 / 115.0).abs() < 1e-9);
    }

    #[test]
    fn pairs_tell_the_narrowest_of_three_lines_wherever_it_is() {
        // The thesis' check of packet bunches (appendix B): 32 kbit/s among 64, 10 ms each.
        for narrow in 0..3 {
            let line = |kbps| {
                let link = Link::default().delay(Duration::from_millis(10));
                Hop::from(link.rate(Bitrate::kbps(kbps), 0)).queue(Queue::packets(10))
            };
            let mut plan = Plan::new(1).wire(Router(4), Router(0), line(10_000)).wire(
                Router(3),
                Router(5),
                line(10_000),
            );
            for hop in 0..3 {
                let rate = if hop == narrow { 32 } else { 64 };
                plan = plan.wire(Router(hop), Router(hop + 1), line(rate));
            }
            let scheme = Scheme::Equal { rate: Bitrate::kbps(20), count: 5 };
            let flow = LayeredFlow::new(Router(4), LayeredControl::Era, scheme);
            let report =
                plan.layered(flow.receiver(Router(5), secs(1))).until(Until::Limit, secs(60)).run();
            let told = report.layered[0].stats.pair_bps;
            assert!((31_360..=32_640).contains(&told), "{narrow}: {told}");
        }
    }

    #[test]
    fn a_left_layer_fills_the_line_until_the_network_knows() {
        // Half of the line is taken at 10 s; layers that are left go on coming for 9 s.
        let cbr = crate::FlowKind::Cbr { rate: Bitrate::kbps(500), bytes: 512 };
        let flow = crate::Flow::new(Router(0), Router(1), cbr).during(secs(10)..secs(30));
        let run = |leave| {
            let queue = Queue::fair(40);
            let latency = MembershipLatency { join: Duration::ZERO, leave: secs(leave) };
            let report =
                plan(LayeredControl::Plm, queue).flow(flow.clone()).membership(latency).run();
            report.hops[0].dropped
        };
        let (at_once, late) = (run(0), run(9));
        assert!(at_once < 100 && late > 5 * at_once.max(20), "{at_once} {late}");
    }

    #[test]
    fn webrc_leaves_only_waves_that_are_over_and_loses_little() {
        let mut plan =
            plan(LayeredControl::Webrc, Queue::bytes(15_000)).until(Until::Limit, secs(120));
        let waves = Scheme::Waves { base: Bitrate::bps(4096), fall: 750, count: 20 };
        plan.layered[0].scheme = waves;
        let report = plan
            .membership(MembershipLatency { join: Duration::from_millis(30), leave: secs(9) })
            .run();
        let [first, late] = receivers(&report);
        let window = secs(60)..secs(120);
        for receiver in [first, late] {
            let kbps = receiver.received.bps(&window) / 1e3;
            assert!((400.0..1000.0).contains(&kbps), "{kbps} {:?}", receiver.stats);
            assert!(receiver.loss_ratio() < 0.05, "{:?}", receiver.stats);
            // What was left was silent: nothing of it came, though leaves take nine seconds.
            assert_eq!(receiver.stats.unwanted, 0);
        }
    }

    #[test]
    fn every_scheme_finds_most_of_a_line_and_the_same_seed_the_same_run() {
        for (control, least) in [
            (LayeredControl::Era, 900.0),
            (LayeredControl::EraPublished, 900.0),
            (LayeredControl::FlidDl, 300.0),
            (LayeredControl::Rlc, 100.0),
            (LayeredControl::Rlm, 40.0),
        ] {
            let report = plan(control, Queue::bytes(15_000)).run();
            let kbps = receivers(&report)[0].received.bps(&(secs(20)..secs(30))) / 1e3;
            assert!((least..1000.0).contains(&kbps), "{control:?}: {kbps}");
            assert_eq!(report.hash, plan(control, Queue::bytes(15_000)).run().hash);
        }
    }
}
