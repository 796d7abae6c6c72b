//! Random roads, on which the sender finds its rate: every transfer ends, and what is sent stays within a
//! multiple of what passes.
//!
//! `FANFARE_ROADS=10000` draws more than CI does; `FANFARE_SEED=N` runs one of them.

use core::fmt;
use fanfare_proto::{Bitrate, CongestionControl, Duration, SenderConfig, Time, rng::Rng};
use fanfare_scenarios::{SENDER, chosen_seed, ms, plan, secs};
use fanfare_sim::{
    Change, Hop, Host, Kind, Link, Object, Plan, Queue, Report, Router, Series, Until,
};

/// As many as take some seconds.
const ROADS: u64 = 150;
/// UDP payload of a full message.
const MESSAGE: f64 = 1440.0;
/// Multiple of what passes in a second that may be sent in one. At the start it is two, and four on long roads,
/// where pairs of messages tell of the room.
const MOST: f64 = 4.0;
/// The same of what passes at once, which looks like the road's rate.
const AT_ONCE: f64 = 3.0;
/// Seconds in which nobody can know that a road is gone.
const UNKNOWN: f64 = 0.75;
/// Bytes of a first flight, of what may always be on the way, and of what goes until that shows.
const FIRST: f64 = 60.0 * (MESSAGE + 60.0);

/// Chance that something is so.
fn often(rng: &mut Rng, percent: u64) -> bool {
    rng.below(100) < percent
}

/// Between both, as often in each octave.
fn between(rng: &mut Rng, least: f64, most: f64) -> f64 {
    least * (most / least).powf(rng.unit())
}

/// Change of the road in the middle of a transfer.
#[derive(Debug, Clone, Copy)]
enum RoadChange {
    Rate(f64),
    Delay(f64),
    /// Nothing passes for so many seconds.
    Gone(f64),
}

/// A road and what is to go over it.
struct RandomRoad {
    seed: u64,
    rate: f64,
    one_way: f64,
    hop: Hop,
    back: Hop,
    receivers: u16,
    bytes: u64,
    change: Option<RoadChange>,
    /// Rate that passes in the end, bit/s, without what is lost at random.
    passes: f64,
    lost: f64,
    /// Bytes that pass at once, and so look like a faster road.
    at_once: u64,
}

impl fmt::Display for RandomRoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, rate, one_way, hop, receivers, bytes, change, .. } = self;
        let (loss, queue, bucket) = (hop.link.loss, hop.queue, hop.bucket);
        let (rate, one_way) = (rate / 1e3, one_way * 1e3);
        write!(
            f,
            "road {seed}: {bytes} bytes to {receivers}, {rate:.0} kbit/s, {one_way:.1} ms, {queue:?}, bucket \
             {bucket}, {loss:?}, {change:?}"
        )
    }
}

impl RandomRoad {
    fn new(seed: u64) -> Self {
        let rng = &mut Rng::new(seed);
        let rate = between(rng, 24e3, 1e8);
        let one_way = between(rng, 0.1e-3, 0.3);
        let products = between(rng, 0.25, 4.0) * rate * 2.0 * one_way / 8.0;
        let waits = products.max(between(rng, 6.0, 60.0) * 1500.0) as u64;
        let mut link = Link::default()
            .delay(Duration::from_secs_f64(one_way))
            .rate(Bitrate::bps(rate as u64), 0);
        let mut lost = 0.0;
        if often(rng, 60) {
            lost = between(rng, 0.001, 0.35);
            link = if often(rng, 30) {
                link.bursts(lost, between(rng, 1.5, 6.0))
            } else {
                link.loss(lost)
            };
        }
        if often(rng, 15) {
            link = link.reorder(0.05).duplicate(0.05);
        }
        let (mut passes, mut at_once) = (rate, 0);
        let mut hop = Hop::from(link).queue(Queue::bytes(waits));
        if often(rng, 25) {
            at_once = between(rng, 3e3, 256e3) as u64;
            hop = hop.bucket(at_once);
        } else if often(rng, 20) {
            passes = rate / between(rng, 1.5, 10.0);
            at_once = between(rng, 15e3, 250e3) as u64;
            let rate = Bitrate::bps(passes as u64);
            hop = hop.queue(Queue::Policer { rate, burst: at_once });
        }
        let back = Link::default().delay(link.delay);
        let asymmetric = if often(rng, 30) { 0.1 } else { 1.0 };
        let back = Hop::from(back.rate(Bitrate::bps((rate * asymmetric) as u64), 64 << 10));
        let seconds = between(rng, 2.0, 20.0);
        let bytes = (passes * (1.0 - lost) / 8.0 * seconds).clamp(10e3, 6e6) as u64;
        let change = often(rng, 30).then(|| match rng.below(3) {
            0 => RoadChange::Rate(between(rng, 0.25, 4.0)),
            1 => RoadChange::Delay(between(rng, 0.25, 4.0)),
            _ => RoadChange::Gone(between(rng, 0.5, 20.0)),
        });
        let receivers = [1, 1, 2, 3, 5][rng.below(5) as usize];
        Self { seed, rate, one_way, hop, back, receivers, bytes, change, passes, lost, at_once }
    }

    /// Seconds that it takes with the right rate.
    fn ideal(&self) -> f64 {
        let slowest = match self.change {
            Some(RoadChange::Rate(times)) => times.min(1.0),
            _ => 1.0,
        };
        self.bytes as f64 * 8.0 * 1.08 / (self.passes * slowest * (1.0 - self.lost))
    }

    fn gone(&self) -> f64 {
        if let Some(RoadChange::Gone(seconds)) = self.change { seconds } else { 0.0 }
    }

    /// Time at which the roll has been called, seconds.
    fn begins_at(&self) -> f64 {
        0.5 + 4.0 * self.one_way + 2_000.0 * 8.0 / self.rate
    }

    /// Time at which the road changes, seconds.
    fn changes_at(&self) -> f64 {
        self.begins_at() + 0.5 + self.ideal() / 3.0
    }

    /// Time at which a road that is gone is known to be, seconds.
    fn shows_by(&self) -> f64 {
        self.changes_at() + 3.0 + 10.0 * 2.0 * self.one_way
    }

    fn limit(&self) -> Duration {
        // What much loss takes beyond what it must: docs/explanation/congestion.md, known limits.
        let times = 8.0 + 80.0 * self.lost;
        Duration::from_secs_f64(60.0 + times * self.ideal() + 2.0 * self.gone())
    }

    fn plan(&self) -> Plan {
        let sender = SenderConfig {
            congestion: CongestionControl::Auto,
            rate: Bitrate::mbps(10_000),
            ..SenderConfig::default()
        };
        let access = Hop::from(Link::wire());
        let mut plan = plan(self.seed)
            .sender(sender)
            .receivers(self.receivers)
            .wire(SENDER, Router(0), access)
            .hop(Router(0), Router(1), self.hop)
            .hop(Router(1), Router(0), self.back);
        let all: Vec<Host> = (1..=self.receivers).map(Host).collect();
        for host in &all {
            plan = plan
                .wire(Router(1), *host, access)
                .at(ms(0), Change::Status(*host, vec![0; 24], false));
        }
        let count = u32::from(self.receivers);
        let at = Duration::from_secs_f64(self.changes_at());
        let hop = |hop: Hop| Change::Hop(Router(0).into(), Router(1).into(), hop);
        let plan = match self.change {
            None => plan,
            Some(RoadChange::Rate(times)) => {
                let rate = Bitrate::bps((self.rate * times) as u64);
                let link = Link { rate: Some(rate), ..self.hop.link };
                plan.at(at, hop(Hop { link, ..self.hop }))
            }
            Some(RoadChange::Delay(times)) => {
                let link = self.hop.link.delay(self.hop.link.delay.mul_f64(times));
                plan.at(at, hop(Hop { link, ..self.hop }))
            }
            Some(RoadChange::Gone(seconds)) => {
                let down = Hop { link: Link { up: false, ..self.hop.link }, ..self.hop };
                let until = at + Duration::from_secs_f64(seconds);
                // Those who have not answered are asked again, as `fanfare send` does.
                let asks = Change::Watermark(SENDER, all.clone());
                plan.at(at, hop(down)).at(until, hop(self.hop)).at(until + secs(1), asks)
            }
        };
        // As `fanfare send` does: nothing goes before those who are there have said so.
        let begin = Duration::from_secs_f64(self.begins_at());
        plan.at(ms(0), Change::Hold(SENDER, true))
            .at(ms(0), Change::RollCallOf(SENDER, ms(500), count))
            .at(begin, Change::Send(SENDER, Object::data(self.bytes)))
            .at(begin, Change::RollCallOf(SENDER, secs(2), count))
            .at(begin, Change::Hold(SENDER, false))
            .at(begin, Change::Watermark(SENDER, all))
            .until(Until::Complete, self.limit())
    }

    /// Faults of a run.
    fn judge(&self, report: &Report) -> Vec<String> {
        let mut wrong = Vec::new();
        if !report.complete || report.ended >= Time::ZERO + self.limit() {
            wrong.push(format!(
                "has not ended after {:?}, complete: {}",
                self.limit(),
                report.complete
            ));
        }
        let (out, road) = (report.hop(SENDER, Router(0)), report.hop(Router(0), Router(1)));
        let (Some(out), Some(road)) = (out, road) else { return vec!["no hops".to_owned()] };
        // A second, and the time before it in which nothing could be known of it, or the rate halved.
        let back =
            ((2.0 * self.one_way + longest(&road.longest_us) as f64 / 1e6) * 200.0) as usize + 30;
        let sum = |series: &Series, from: usize, steps: usize| {
            (from..from + steps).map(|step| series.at(step)).sum::<u64>() as f64
        };
        let mut worst = (0.0, 0.0, 0.0);
        for step in 0..out.bytes.len() {
            let sent = sum(&out.bytes, step, 10);
            let carried = (step.saturating_sub(back)..=step + 10)
                .map(|from| sum(&road.bytes, from, 10))
                .fold(0.0, f64::max);
            // What has arrived so far may go four times more at the start, and until silence shows.
            let starts = self.gone() > 0.0 && (step as f64) < 10.0 * self.shows_by();
            let arrived = if starts { sum(&road.bytes, 0, step + 10) } else { 0.0 };
            let unknown = if starts { UNKNOWN * self.passes / 8.0 } else { 0.0 };
            let at_once = AT_ONCE * self.at_once as f64;
            let most = MOST * carried.max(arrived) + FIRST + at_once + unknown;
            if sent / most > worst.0 {
                worst = (sent / most, step as f64 / 10.0, sent);
            }
        }
        if worst.0 > 1.0 {
            wrong.push(format!(
                "sent {:.0} bytes in the second after {:.1} s, {:.2} of what it may",
                worst.2, worst.1, worst.0
            ));
        }
        let probes = report.traffic.of(Kind::Cc).bytes as f64;
        let seconds = report.ended.as_nanos() as f64 / 1e9;
        let may = 0.04 * road.bytes.sum(&(ms(0)..secs(100_000))) as f64 + 150.0 * (seconds + 10.0);
        if probes > may {
            wrong.push(format!("probes of {probes:.0} bytes, more than {may:.0}"));
        }
        wrong
    }
}

fn longest(series: &Series) -> u64 {
    (0..series.len()).map(|step| series.at(step)).max().unwrap_or(0)
}

/// Prints what was sent and what passed in each 100 ms, kbit/s, with what waited longest.
fn show(report: &Report) {
    let (Some(out), Some(road)) = (report.hop(SENDER, Router(0)), report.hop(Router(0), Router(1)))
    else {
        return;
    };
    for step in 0..out.bytes.len() {
        let kbps = |series: &Series| series.at(step) as f64 * 8.0 / 100.0;
        eprintln!(
            "{:5.1} s: sent {:9.1} passed {:9.1} dropped {:4} waited {:5} ms",
            step as f64 / 10.0,
            kbps(&out.bytes),
            kbps(&road.bytes),
            road.drops.at(step),
            road.longest_us.at(step) / 1000
        );
    }
}

#[test]
fn on_random_roads_every_transfer_ends_and_no_more_is_sent_than_four_times_what_passes() {
    let count =
        std::env::var("FANFARE_ROADS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROADS);
    let seeds = chosen_seed().map_or(1..1 + count, |seed| seed..seed + 1);
    let mut failed = Vec::new();
    for seed in seeds {
        let road = RandomRoad::new(seed);
        let report = road.plan().run();
        let took = report.last_completion().as_nanos() as f64 / 1e9;
        let out =
            report.hop(SENDER, Router(0)).map_or(0, |hop| hop.bytes.sum(&(ms(0)..secs(100_000))));
        eprintln!(
            "{road}: {took:.1} s of {:.1}, sent {:.2}, ended {:.1}",
            road.begins_at() + road.ideal() + road.gone(),
            out as f64 / road.bytes as f64,
            report.ended.as_nanos() as f64 / 1e9,
        );
        if chosen_seed().is_some() {
            show(&report);
        }
        for what in road.judge(&report) {
            failed.push(format!("{road}: {what}"));
        }
    }
    assert!(failed.is_empty(), "{} wrong:\n{}", failed.len(), failed.join("\n"));
}
