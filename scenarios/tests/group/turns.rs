//! A short message of a publisher does not wait behind a long one, and the long one goes on.

use fanfare_messaging::{Filter, GroupConfig, Options, Subscription, Topic};
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
        positions(plan, Host(vehicle), (ms(400) * u32::from(vehicle), secs(10)), 6)
    })
}

/// So many positions of a vehicle, the first at a time, then at this interval.
fn positions(plan: Plan, host: Host, (at, each): (Duration, Duration), count: u32) -> Plan {
    let position = || message("position", POSITION, Options::default());
    (0..count).fold(plan, |plan, n| plan.at(at + each * n, Change::Publish(host, position())))
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
            assert!(loss > 0.0 || turns.nacks == 0, "what is to come is not requested: {turns:?}");
            (with, without) = (with + turns.bytes, without + order.bytes);
        }
        let more = with as f64 / without as f64;
        // Where there is loss, as many repairs more or fewer go by chance.
        assert!(more < if loss > 0.0 { 1.05 } else { 1.01 }, "loss {loss}: {more}");
    }
}

#[test]
fn many_positions_overtake_a_document_that_still_comes_in_its_time() {
    // A position every 500 ms from the document's beginning on, 10 % loss of their own each, seeds 1 to 2
    for seed in 1..=2 {
        let each = ms(500);
        let report = positions(company(seed, 0.1), SENDER, (BEGIN + each, each), 30)
            .at(BEGIN, Change::Publish(SENDER, message("document", DOCUMENT, Options::default())))
            .until(Until::Limit, secs(80))
            .run();
        let document = delay(&report, "document", 0, BEGIN);
        report.check(document < secs(22), &format!("the document came after {document:?}"));
        let at = |number: u64| BEGIN + each * (number as u32 + 1);
        let delays: Vec<_> =
            (0..30).map(|number| delay(&report, "position", number, at(number))).collect();
        println!("seed {seed}: document {document:?}, positions {delays:?}");
        let most = delays.iter().max().unwrap();
        report.check(*most < secs(4), &format!("a position came after {most:?}"));
    }
}

#[test]
fn a_higher_priority_overtakes_what_has_begun_and_is_overtaken_itself() {
    // 128 KiB of priority 5, after a second 128 KiB of 8, after another a position of 8; 10 % loss, seed 1
    let (size, high) = (128 << 10, BEGIN + secs(1));
    let report = company(1, 0.1)
        .at(BEGIN, Change::Publish(SENDER, message("document", size, of(5))))
        .at(high, Change::Publish(SENDER, message("orders", size, of(8))))
        .at(high + secs(1), Change::Publish(SENDER, message("position", POSITION, of(8))))
        .until(Until::Limit, secs(80))
        .run();
    let (document, orders) =
        (delay(&report, "document", 0, BEGIN), delay(&report, "orders", 0, high));
    let position = delay(&report, "position", 0, high + secs(1));
    println!("document {document:?}, orders {orders:?}, position {position:?}");
    report.check(position < secs(2), &format!("the position came after {position:?}"));
    // Alone it takes 3.6 s; a seventh more is the document's.
    report.check(orders < secs(7), &format!("the orders came after {orders:?}"));
    report.check(document > orders, "the document waits");
    report.check(document < secs(12), &format!("and comes after {document:?}"));
}

#[test]
fn who_comes_while_a_document_is_overtaken_gets_both() {
    // The last vehicle comes 4 s after the document's beginning, 10 % loss, seed 1
    let last = Host(VEHICLES - 1);
    let report = company(1, 0.1)
        .joins(last, BEGIN + secs(4))
        .at(BEGIN, Change::Publish(SENDER, message("document", DOCUMENT, Options::default())))
        .at(BEGIN + secs(1), Change::Publish(SENDER, message("position", POSITION, of(5))))
        .at(BEGIN + secs(5), Change::Publish(SENDER, message("position", POSITION, of(5))))
        .until(Until::Limit, secs(80))
        .run();
    delay(&report, "position", 0, BEGIN);
    delay(&report, "document", 0, BEGIN);
    let position = delay(&report, "position", 1, BEGIN + secs(5));
    report.check(position < secs(2), &format!("the position came after {position:?}"));
}

#[test]
fn of_a_publisher_that_dies_in_the_middle_what_was_sent_whole_comes() {
    // The publisher is gone 5 s after the document's beginning, 10 % loss, seed 1
    let at = BEGIN + secs(1);
    let run = |topic| {
        company(1, 0.1)
            .at(BEGIN, Change::Publish(SENDER, message("document", DOCUMENT, Options::default())))
            .at(at, Change::Publish(SENDER, message(topic, POSITION, Options::default())))
            .at(BEGIN + secs(5), Change::Crash(SENDER))
            .until(Until::Limit, secs(80))
            .run()
    };
    let (turns, order) = (run("position"), run("document"));
    let position = delay(&turns, "position", 0, at);
    turns.check(position < secs(2), &format!("the position came after {position:?}"));
    let sent = |report: &Report| report.sum(|stats| stats.bytes_sent);
    let nacks = |report: &Report| report.traffic.of(Kind::Nack).messages;
    println!(
        "{} and {} bytes, {} and {} NACKs",
        sent(&turns),
        sent(&order),
        nacks(&turns),
        nacks(&order)
    );
    let more = sent(&turns) as f64 / sent(&order) as f64;
    turns.check(more < 1.1, &format!("{more} of the bytes that it costs in order"));
}
