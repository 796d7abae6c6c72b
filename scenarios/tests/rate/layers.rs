//! A file over layers: each receiver at its own rate.

use fanfare_proto::{
    Bitrate,
    congestion::layered::{LayeredControl, Scheme, Shape},
};
use fanfare_scenarios::{ms, plan, secs};
use fanfare_sim::{Hop, LayeredFlow, LayeredReport, Link, Plan, Queue, Router, Until};

/// Lines of the receivers, and what is lost on each whatever the rate.
const LINES: [u64; 4] = [500, 2_000, 8_000, 32_000];
const LOSS: f64 = 0.01;
/// The layers of `fanfare send --layers auto --rate 40M`.
const LAYERS: Scheme = Scheme::Multiplicative { base: Bitrate::kbps(128), factor: 1080, count: 75 };
/// The packet of Ethernet, and the symbol in it.
const PACKET: u16 = 1500;
const SYMBOL: u16 = 1440;

/// A source, a router, and a receiver behind each line.
fn network(seed: u64, object: u64) -> Plan {
    let hop = |kbps, delay, loss| {
        let link = Link::default().delay(ms(delay)).rate(Bitrate::kbps(kbps), 0).loss(loss);
        // A tenth of a second, but ten packets at least.
        Hop::from(link).queue(Queue::bytes((kbps * 100 / 8).max(15_000)))
    };
    let mut plan = plan(seed).wire(Router(1), Router(0), hop(100_000, 5, 0.0));
    let mut flow = LayeredFlow::new(Router(1), LayeredControl::EraTolerant, LAYERS);
    flow.packet = PACKET;
    flow.object = Shape::new(object, SYMBOL).ok();
    for (number, kbps) in (2..).zip(LINES) {
        plan = plan.wire(Router(number), Router(0), hop(kbps, 5, LOSS));
        flow = flow.receiver(Router(number), secs(1));
    }
    plan.layered(flow).until(Until::Limit, secs(40))
}

/// What a receiver took, of the least that its line allows.
fn of_bound(receiver: &LayeredReport, kbps: u64, object: u64) -> Option<f64> {
    let (whole, _) = receiver.whole?;
    let bound = object as f64 * 8.0 / (kbps as f64 * 1e3 * (1.0 - LOSS));
    Some(whole.since(receiver.began).as_secs_f64() / bound)
}

#[test]
fn a_file_comes_to_each_receiver_at_its_own_lines_rate() {
    // 64 times as fast, 64 times as long a file: each has its own after the same half minute. 1 % is
    // lost on each line, 10 ms from end to end.
    for (kbps, number) in LINES.into_iter().zip(0..) {
        let object = 1_500_000 * kbps / 500;
        for seed in 1..=3 {
            let report = network(seed, object).run();
            let receiver = &report.layered[number];
            let took = of_bound(receiver, kbps, object);
            let overhead = receiver.whole.map(|(_, overhead)| overhead);
            let of = format!("{kbps} kbit/s, seed {seed}: {took:?} of the bound, {overhead:?}");
            assert!(took.is_some_and(|took| took < 1.25), "{of}");
            assert!(overhead.is_some_and(|overhead| overhead < 0.02), "{of}");
        }
    }
}

#[test]
fn who_has_enough_leaves_and_its_line_is_free() {
    let report = network(1, 1_500_000).run();
    for receiver in &report.layered[1..] {
        let (whole, _) = receiver.whole.expect("it has had enough");
        let after = whole.since(fanfare_proto::Time::ZERO) + ms(500)..secs(40);
        assert_eq!(receiver.received.bps(&after), 0.0, "{}", receiver.place);
    }
}
