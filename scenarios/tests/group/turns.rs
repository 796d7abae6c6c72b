//! A short message of a publisher does not wait behind a long one, and the long one goes on.

use fanfare_group::{Filter, GroupConfig, Options, Subscription, Topic};
use fanfare_proto::{Bitrate, Duration, FecConfig, ReceiverConfig, SenderConfig, SessionConfig};
use fanfare_scenarios::{SENDER, ms, plan, secs};
use fanfare_sim::{Change, Host, Hosts, Kind, Loss, Medium, Plan, Publication, Report, Until};

/// Vehicles, all of which hear each other.
const VEHICLES: u16 = 24;
/// Bytes of a document, and of a position.
const DOCUMENT: u64 = 512 << 10;
const POSITION: u64 = 128;
/// The document is published then; all know each other.
const BEGIN: Duration = secs(20);

/// Each vehicle sends at 300 kbit/s on a radio of 600 kbit/s, and tells where it is every 10 s.
fn company(seed: u64, loss: f64) -> Plan {
    let fec = FecConfig { source: 64, parity: 64, ..FecConfig::default() };
    let sender = SenderConfig {
        rate: Bitrate::kbps(300),
        fec,
        group_size: 24,
        grtt_initial: ms(100),
        ..SenderConfig::default()
    };
    let node = SessionConfig {
        sender: Some(sender),
        receiver: Some(ReceiverConfig { objects_max: 1024, ..ReceiverConfig::default() }),
        ..SessionConfig::default()
    };
    let plan = (0..VEHICLES).fold(plan(seed), |plan, _| plan.host(node.clone()));
    let config = GroupConfig { repair_rate: Bitrate::kbps(200), ..GroupConfig::default() };
    let everything = Subscription::new(Filter::new("#").unwrap());
    let radio = Medium::new(Bitrate::kbps(600)).delay(ms(1)).loss(Loss::Independent(loss));
    let plan = plan.cooperate(Hosts::All, config).subscribe(Hosts::All, &everything);
    let plan = plan.medium(radio.nodes((0..VEHICLES).map(Host)));
    (1..VEHICLES).fold(plan, |plan, vehicle| {
        let position = message("position", POSITION, Options::default());
        let positions = Publication { every: Some(secs(10)), count: 6, ..position };
        plan.at(ms(400) * u32::from(vehicle), Change::Publish(Host(vehicle), positions))
    })
}

fn message(topic: &str, size: u64, options: Options) -> Publication {
    Publication { options, ..Publication::new(Topic::new(topic).unwrap(), size, 1) }
}

fn of(priority: u8) -> Options {
    Options { priority, ..Options::default() }
}

/// How long after `at` all others had that number of a topic of the first vehicle.
fn delay(report: &Report, topic: &str, number: u64, at: Duration) -> Duration {
    let sender = Plan::node_id(SENDER);
    let of_host = |host: &fanfare_sim::HostReport| {
        let wanted = host.messages.iter().find(|(_, message)| {
            let described = &message.description;
            let named = described.topic.as_str() == topic && described.number == number;
            named && message.key.sender == sender
        });
        wanted.map(|(when, _)| *when)
    };
    let times: Vec<_> = report.hosts[1..].iter().filter_map(of_host).collect();
    report.check(times.len() == report.hosts.len() - 1, &format!("all have {topic} {number}"));
    times.into_iter().max().unwrap().since(fanfare_proto::Time::ZERO + at)
}

/// What it came to.
#[derive(Debug)]
struct Outcome {
    position: Duration,
    document: Duration,
    bytes: u64,
    nacks: u64,
}

/// The document, and a second later a position on `topic`. One topic keeps its order.
fn outcome(seed: u64, loss: f64, topic: &str) -> Outcome {
    let at = BEGIN + secs(1);
    let report = company(seed, loss)
        .at(BEGIN, Change::Publish(SENDER, message("document", DOCUMENT, Options::default())))
        .at(at, Change::Publish(SENDER, message(topic, POSITION, Options::default())))
        .until(Until::Limit, secs(80))
        .run();
    report.check(report.sum(|stats| stats.dropped(fanfare_proto::DropReason::Turn)) == 0, "no lie");
    let number = u64::from(topic == "document");
    Outcome {
        position: delay(&report, topic, number, at),
        document: delay(&report, "document", 0, BEGIN),
        bytes: report.sum(|stats| stats.bytes_sent),
        nacks: report.traffic.of(Kind::Nack).messages,
    }
}

#[test]
fn a_position_overtakes_the_document_that_its_vehicle_has_begun_and_costs_hardly_anything() {
    // 24 vehicles, no loss and 10 % of their own each, seeds 1 to 3
    for loss in [0.0, 0.1] {
        let (mut with, mut without) = (0, 0);
        for seed in 1..=3 {
            let (turns, order) = (outcome(seed, loss, "position"), outcome(seed, loss, "document"));
            println!("loss {loss} seed {seed}: {turns:?}, in order {order:?}");
            let most = if loss > 0.0 { ms(2_000) } else { ms(200) };
            assert!(turns.position < most, "{loss} {seed}: {turns:?}");
            assert!(order.position > secs(12), "{loss} {seed}: {order:?}");
            assert!(turns.document < order.document + secs(2), "{turns:?}, in order {order:?}");
            (with, without) = (with + turns.bytes, without + order.bytes);
        }
        let more = with as f64 / without as f64;
        assert!(more < 1.02, "loss {loss}: {more}");
    }
}
