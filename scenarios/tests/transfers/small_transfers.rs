//! Small files arrive at once: whole transfers to a few receivers, from the first roll call to the
//! last good-bye, in virtual time and without real programs.
//!
//! The start and the end use the measured round-trip time instead of guesses. With a long round
//! trip or a slow line they take no longer than before.

use fanfare_proto::{
    Bitrate, CongestionControl, Duration, Event, SenderConfig, SessionConfig, Time,
};
use fanfare_scenarios::{SENDER, chosen_seed, ms, plan, secs};
use fanfare_sim::{Change, Host, Link, Object, Plan, Report, Until};

const SEEDS: u64 = 10;
/// `fanfare send` calls the roll at these intervals before and while data flows.
const GATHERING: Duration = ms(500);
const SENDING: Duration = secs(2);

/// What the application does of an event comes after it.
const AFTER: Duration = Duration::from_micros(1);

/// A transfer to a few, each behind a line of its own.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    receivers: u16,
    one_way: Duration,
    line: Bitrate,
    /// At this rate, or by `auto`.
    told: Option<Bitrate>,
    bytes: u64,
}

/// Milliseconds from the first call of the roll.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
struct Times {
    /// All have answered.
    gathered: f64,
    /// All have everything.
    complete: f64,
    /// All have acknowledged it.
    acknowledged: f64,
    /// The sender has said its last.
    left: f64,
}

impl Transfer {
    fn base(self, seed: u64) -> Plan {
        let queue = self.line.bytes_in(self.one_way * 2).max(64 << 10);
        let link = Link::default().delay(self.one_way).rate(self.line, queue);
        let (congestion, rate) = match self.told {
            Some(rate) => (CongestionControl::Fixed, rate),
            None => (CongestionControl::Auto, Bitrate::mbps(10_000)),
        };
        let sender = SenderConfig { congestion, rate, ..SenderConfig::default() };
        let config = SessionConfig { sender: Some(sender), ..SessionConfig::default() };
        let seed = chosen_seed().unwrap_or(seed);
        let mut plan = plan(seed).host(config).receivers(self.receivers).link(link);
        for host in (1..=self.receivers).map(Host) {
            plan = plan.at(ms(0), Change::Status(host, vec![0; 24], false));
        }
        let calls = Change::RollCallOf(SENDER, GATHERING, u32::from(self.receivers));
        plan.at(ms(0), Change::Hold(SENDER, true)).at(ms(0), calls)
    }

    /// The same seed three times: to see when all have answered, when all have acknowledged, and what
    /// follows.
    fn run(self, seed: u64) -> Times {
        let report = self.base(seed).until(Until::Limit, secs(10)).run();
        let answers = statuses(&report);
        report.check(answers.len() == usize::from(self.receivers), "all have answered");
        let gathered = *answers.last().unwrap();
        let all: Vec<Host> = (1..=self.receivers).map(Host).collect();
        let sent = || {
            self.base(seed)
                .at(gathered, Change::Send(SENDER, Object::file("a file", self.bytes)))
                .at(gathered, Change::RollCallOf(SENDER, SENDING, u32::from(self.receivers)))
                .at(gathered, Change::Hold(SENDER, false))
                .at(gathered, Change::Watermark(SENDER, all.clone()))
        };
        let report = sent().until(Until::Limit, secs(60)).run();
        let acknowledged = first(&report, |event| matches!(event, Event::WatermarkDone { .. }));
        let report = sent()
            .at(acknowledged, Change::Hold(SENDER, true))
            .at(acknowledged, Change::End(SENDER))
            .until(Until::Limit, acknowledged + secs(5))
            .traced(1_000_000)
            .run();
        report.check_complete();
        let complete = report.hosts[1..].iter().map(|host| host.completions[0].at).max().unwrap();
        let millis = |at: Duration| at.as_secs_f64() * 1e3;
        Times {
            gathered: millis(gathered),
            complete: millis(complete.since(Time::ZERO)),
            acknowledged: millis(acknowledged),
            left: last_word(&report) * 1e3,
        }
    }

    /// The median of each over all seeds.
    fn median(self) -> Times {
        let runs: Vec<Times> = (1..=SEEDS).map(|seed| self.run(seed)).collect();
        let of = |pick: fn(&Times) -> f64| {
            let mut all: Vec<f64> = runs.iter().map(pick).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        Times {
            gathered: of(|t| t.gathered),
            complete: of(|t| t.complete),
            acknowledged: of(|t| t.acknowledged),
            left: of(|t| t.left),
        }
    }
}

/// When each receiver was heard to answer first, in order.
fn statuses(report: &Report) -> Vec<Duration> {
    let mut nodes = Vec::new();
    let mut times = Vec::new();
    for (at, event) in &report.host(SENDER).events {
        if let Event::ReceiverStatus { node, .. } = event
            && !nodes.contains(node)
        {
            nodes.push(*node);
            times.push(at.since(Time::ZERO) + AFTER);
        }
    }
    times
}

/// Seconds until the last good-bye.
fn last_word(report: &Report) -> f64 {
    let last = report.trace.iter().rev().find(|line| line.contains(" eot "));
    let at = last.and_then(|line| line.split(' ').next()?.parse().ok());
    report.check(at.is_some(), "good-bye was said");
    at.unwrap_or(0.0)
}

fn first(report: &Report, is: impl Fn(&Event) -> bool) -> Duration {
    let at = report.host(SENDER).events.iter().find(|(_, event)| is(event));
    report.check(at.is_some(), "it happened");
    at.map_or(Duration::ZERO, |(at, _)| at.since(Time::ZERO) + AFTER)
}

const LAN: Transfer = Transfer {
    receivers: 3,
    one_way: Duration::from_micros(100),
    line: Bitrate::mbps(1000),
    told: None,
    bytes: 1000,
};

#[test]
fn to_three_near_receivers_it_takes_no_longer_than_a_glance() {
    // 1 Gbit/s, 0.2 ms there and back, no loss, seeds 1 to 10. Up to 24 ms are the spread of answers;
    // then `auto` begins with ten messages in 10 ms, and doubles in each.
    for (bytes, most) in [(1000, 35.0), (1_000_000, 110.0), (10_000_000, 220.0)] {
        for seed in 1..=SEEDS {
            let times = Transfer { bytes, ..LAN }.run(seed);
            assert!(times.left <= most, "{bytes} bytes, seed {seed}: {times:?}");
        }
    }
}

#[test]
fn over_a_quarter_of_a_second_a_megabyte_takes_at_most_eight_round_trips_more_than_on_the_wire() {
    // 10 Mbit/s, 250 ms there and back, no loss, seeds 1 to 10, median
    let (one_way, line) = (ms(125), Bitrate::mbps(10));
    let times = Transfer { one_way, line, bytes: 1_000_000, ..LAN }.median();
    let wire = line.time_for(1_000_000 / 1400 * 1468).as_secs_f64() * 1e3;
    assert!(times.left <= wire + 8.0 * 250.0, "{times:?}, {wire} on the wire");
}

#[test]
fn over_fifty_milliseconds_a_link_is_full_after_a_few_round_trips() {
    // No loss, seeds 1 to 10, median. Five seconds at the link's rate, and so many round trips for the
    // roll call, the start and the drains.
    for (line, round_trips) in [(10, 7.0), (100, 10.0)] {
        let (one_way, line) = (ms(25), Bitrate::mbps(line));
        let bytes = line.bytes_in(secs(5));
        let times = Transfer { one_way, line, bytes, ..LAN }.median();
        let wire = 5e3 * 1468.0 / 1400.0;
        assert!(times.complete <= wire + round_trips * 50.0, "{times:?}, {wire} on the wire");
    }
}

#[test]
fn on_slow_and_on_long_paths_nothing_takes_longer_than_by_guesses() {
    // no loss, seeds 1 to 10, median; when all had it and had acknowledged it before the start went by
    // what is measured, milliseconds
    let kbps = Bitrate::kbps;
    for (rtt, line, told, bytes, complete, acknowledged) in [
        (600, 448, None, 1_000, 943.8, 4182.4),
        (600, 448, None, 100_000, 2809.7, 3695.4),
        (600, 448, Some(400), 100_000, 2956.7, 3812.1),
        (20, 56, Some(50), 1_000, 378.5, 1574.9),
        (20, 56, Some(50), 20_000, 3498.6, 3727.2),
        (20, 56, None, 20_000, 3144.9, 3407.4),
        (600, 56, None, 20_000, 4021.7, 4922.4),
    ] {
        let (one_way, line, told) = (ms(rtt / 2), kbps(line), told.map(kbps));
        let times = Transfer { one_way, line, told, bytes, ..LAN }.median();
        let what = format!("{bytes} bytes at {line}, {rtt} ms: {times:?}");
        assert!(times.complete <= 1.01 * complete, "{what}");
        assert!(times.acknowledged <= 1.01 * acknowledged, "{what}");
    }
}
