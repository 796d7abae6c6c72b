//! The start on a long road that loses packets: a link of a proxy over 1 Mbit/s and 242 ms one way.

use fanfare_proto::{Bitrate, CongestionControl, Duration, Event, Time};
use fanfare_scenarios::{chosen_seed, ms, secs};
use fanfare_sim::{Change, Hop, Host, Link, Object, Plan, Queue, Table, Until};

const BYTES: u64 = 1_000_000;
const ONE_WAY: Duration = ms(242);
const FROM: Host = Host(0);
const TO: Host = Host(1);
const SEEDS: u64 = 20;

fn gathering(loss: f64, seed: u64) -> Plan {
    let link = Link::default().delay(ONE_WAY).rate(Bitrate::mbps(1), 0).loss(loss);
    let hop = Hop::from(link).queue(Queue::bdp(1.0, ONE_WAY * 2));
    Plan::dumbbell(seed, 1, hop)
        .adjust(FROM, |config| {
            let sender = config.sender.as_mut().unwrap();
            sender.congestion = CongestionControl::Auto;
            sender.rate = Bitrate::mbps(1000);
        })
        .at(ms(0), Change::Status(TO, vec![0; 24], false))
        .at(ms(0), Change::Hold(FROM, true))
        .at(ms(0), Change::RollCall(FROM, ms(100)))
        .unicast(FROM, TO)
}

fn heard(loss: f64, seed: u64) -> Duration {
    let report = gathering(loss, seed).until(Until::Limit, secs(9)).run();
    let mut events = report.host(FROM).events.iter();
    let heard = events.find(|(_, event)| matches!(event, Event::ReceiverNew { .. }));
    heard.map_or(secs(5), |(at, _)| at.since(Time::ZERO))
}

fn seconds(loss: f64, seed: u64) -> f64 {
    let begin = heard(loss, seed) + ms(100);
    let report = gathering(loss, seed)
        .at(begin, Change::Send(FROM, Object::file("a file", BYTES)))
        .at(begin, Change::RollCall(FROM, secs(2)))
        .at(begin, Change::Hold(FROM, false))
        .at(begin, Change::Watermark(FROM, vec![TO]))
        .until(Until::Complete, secs(120))
        .run();
    report.check_complete();
    report.host(TO).completions[0].at.since(Time::ZERO + begin).as_secs_f64()
}

#[test]
fn a_megabyte_over_a_long_road_takes_little_longer_than_the_line() {
    // 1 Mbit/s and 242 ms one way, seeds 1 to 20: the line's own time, and for the start two round trips
    // and a fifth of it where one packet in ten is lost.
    let mut table = Table::new(&["loss", "line s", "mean s", "most s"]);
    for (loss, late) in [(0.0, 1.0), (0.001, 1.0), (0.01, 1.2), (0.1, 3.0)] {
        let line =
            BYTES as f64 * 8.0 * 1468.0 / 1400.0 / 1e6 / (1.0 - loss) + ONE_WAY.as_secs_f64();
        let seeds = chosen_seed().map_or(1..=SEEDS, |seed| seed..=seed);
        let all: Vec<f64> = seeds.map(|seed| seconds(loss, seed)).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let most = all.iter().copied().fold(0.0, f64::max);
        table.row([loss, line, mean, most].map(|figure| format!("{figure:.3}")));
        assert!(mean <= line + late, "{loss}: {mean} s, the line {line}");
    }
    println!("{table}");
}
