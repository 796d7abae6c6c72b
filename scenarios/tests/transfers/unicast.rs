//! A unicast session: one receiver, at its own address. A transfer takes no longer than a multicast
//! transfer to one receiver on the same path.

use fanfare_proto::{Bitrate, CongestionControl, Duration, Event, Time};
use fanfare_scenarios::{chosen_seed, ms, secs};
use fanfare_sim::{Change, Hop, Host, Link, Object, Plan, Queue, Scenario, Table, Until};

const CONTROLLERS: [CongestionControl; 5] = [
    CongestionControl::Auto,
    CongestionControl::Norm,
    CongestionControl::Ecn,
    CongestionControl::LossTolerant,
    CongestionControl::Fixed,
];
/// Mbit/s and one-way delay.
const PATHS: [(u64, Duration); 3] = [(1, ms(242)), (10, ms(50)), (100, ms(1))];
const BYTES: u64 = 1_000_000;
const FROM: Host = Host(0);
const TO: Host = Host(1);

/// One transfer of 1 MB through a drop-tail queue of one bandwidth-delay product.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    unicast: bool,
    congestion: CongestionControl,
    path: (u64, Duration),
    loss: f64,
    seed: u64,
}

impl Transfer {
    /// The sender calls the roll and holds its data back.
    fn gathering(self) -> Plan {
        let (mbps, one_way) = self.path;
        let link = Link::default().delay(one_way).rate(Bitrate::mbps(mbps), 0).loss(self.loss);
        let hop = Hop::from(link).queue(Queue::bdp(1.0, one_way * 2));
        let plan = Plan::dumbbell(chosen_seed().unwrap_or(self.seed), 1, hop)
            .adjust(FROM, |config| {
                let sender = config.sender.as_mut().unwrap();
                sender.congestion = self.congestion;
                // A fixed rate must fit into the link with its headers.
                sender.rate = match self.congestion {
                    CongestionControl::Fixed => Bitrate::kbps(mbps * 950),
                    _ => Bitrate::mbps(1000),
                };
            })
            .at(ms(0), Change::Status(TO, vec![0; 24], false))
            .at(ms(0), Change::Hold(FROM, true))
            .at(ms(0), Change::RollCall(FROM, ms(100)));
        if self.unicast { plan.unicast(FROM, TO) } else { plan }
    }

    /// When the receiver was heard first: the same seed, to see when that is.
    fn heard(self) -> Duration {
        let report = self.gathering().until(Until::Limit, secs(5)).run();
        let mut events = report.host(FROM).events.iter();
        let heard = events.find(|(_, event)| matches!(event, Event::ReceiverNew { .. }));
        heard.map_or(secs(5), |(at, _)| at.since(Time::ZERO))
    }

    /// Seconds from its first byte until the receiver has all, when it begins `wait` after the
    /// receiver was heard.
    fn seconds(self, wait: Duration) -> f64 {
        let begin = self.heard() + wait;
        let report = self
            .gathering()
            .at(begin, Change::Send(FROM, Object::file("a file", BYTES)))
            .at(begin, Change::RollCall(FROM, secs(2)))
            .at(begin, Change::Hold(FROM, false))
            .at(begin, Change::Watermark(FROM, vec![TO]))
            .until(Until::Complete, secs(120))
            .run();
        report.check_complete();
        report.host(TO).completions[0].at.since(Time::ZERO + begin).as_secs_f64()
    }
}

/// What the controller may take at most on a path, seconds, of several transfers: they begin at once
/// when the receiver is heard, or up to a second later.
fn worst(unicast: bool, congestion: CongestionControl, path: (u64, Duration)) -> f64 {
    let all = (1..=4).flat_map(|seed| {
        let transfer = Transfer { unicast, congestion, path, loss: 0.0, seed };
        [0, 20, 130, 370, 1000].map(|wait| transfer.seconds(ms(wait)))
    });
    all.fold(0.0, f64::max)
}

#[test]
fn a_unicast_transfer_takes_no_longer_than_a_multicast_transfer_to_one() {
    // no loss, 242, 50 and 1 ms one way, seeds 1 to 4
    let mut table = Table::new(&["Mbit/s", "ms", "cc", "multicast s", "unicast s"]);
    for path in PATHS {
        for congestion in CONTROLLERS {
            let [multicast, unicast] = [false, true].map(|way| worst(way, congestion, path));
            let what = format!("{congestion:?} on {path:?}: {unicast} s, multicast {multicast} s");
            assert!(unicast <= 1.1 * multicast, "{what}");
            table.row([
                path.0.to_string(),
                path.1.as_millis().to_string(),
                format!("{congestion:?}"),
                format!("{multicast:.2}"),
                format!("{unicast:.2}"),
            ]);
        }
    }
    println!("{table}");
}

#[test]
fn auto_begins_as_fast_by_unicast_whenever_the_receiver_was_heard() {
    // no loss, 242, 50 and 1 ms one way, seeds 1 to 4: the line's own time, and four round trips and
    // a tenth for the start. `auto` reckons with no round trip below 10 ms, and a step of the start
    // takes up to two of them.
    for (mbps, one_way) in PATHS {
        let seconds = worst(true, CongestionControl::Auto, (mbps, one_way));
        let line = BYTES as f64 * 8.0 * 1468.0 / 1400.0 / (mbps as f64 * 1e6);
        let most = line + 4.0 * (2.0 * one_way.as_secs_f64()).max(0.02) + 0.1 * line.max(1.0);
        assert!(seconds <= most, "{mbps} Mbit/s: {seconds} s, at most {most}");
    }
}

#[test]
fn a_megabyte_over_a_long_road_that_loses_packets_takes_little_longer_than_the_line() {
    // 1 Mbit/s and 242 ms one way, seeds 1 to 20: the line's own time, and for the start two round trips
    // and more where one packet in ten is lost.
    let path = (1, ms(242));
    let mut table = Table::new(&["loss", "line s", "mean s", "most s"]);
    for (loss, late) in [(0.0, 1.0), (0.001, 1.0), (0.01, 1.2), (0.1, 3.0)] {
        let line = BYTES as f64 * 8.0 * 1468.0 / 1400.0 / 1e6 / (1.0 - loss) + 0.242;
        let seconds = |seed| {
            let congestion = CongestionControl::Auto;
            Transfer { unicast: true, congestion, path, loss, seed }.seconds(ms(100))
        };
        let all: Vec<f64> = chosen_seed().map_or(1..=20, |seed| seed..=seed).map(seconds).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let most = all.iter().copied().fold(0.0, f64::max);
        table.row([loss, line, mean, most].map(|figure| format!("{figure:.3}")));
        assert!(mean <= line + late, "{loss}: {mean} s, the line {line}");
    }
    println!("{table}");
}

/// Two pairs in one group: `a` sends to `r` alone.
const FILE: &str = r#"
    scenario = { name = "one to one", duration = "60s" }
    [[node]]
    name = "a"
    [[node]]
    name = "r"
    [[node]]
    name = "other"
    [[link]]
    from = "*"
    to = "*"
    rate = "1Mbps"
    delay = "242ms"
    [[flow]]
    kind = "fanfare-send"
    node = "a"
    to = "r"
    size = "100kB"
    rate = "1Gbps"
    cc = "auto"
    [[flow]]
    kind = "fanfare-recv"
    node = ["r", "other"]
"#;

#[test]
fn a_scenario_file_says_to_whom_a_unicast_flow_goes() {
    // no loss, 242 ms one way, seed 1
    let report = Scenario::parse(FILE, &|_| Ok(String::new())).unwrap().plan(1).run();
    report.check_complete();
    assert_eq!(report.hosts[1].completions.len(), 1);
    assert_eq!(report.hosts[2].sum(|s| s.datagrams_received), 0, "only r hears it");
}
