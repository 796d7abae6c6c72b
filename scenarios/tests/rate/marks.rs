//! `auto` where routers mark (ECN): marks replace drops, also if only one of two bottlenecks marks,
//! and flows that react to marks alone leave it its share.

use core::ops::Range;
use fanfare_proto::{Bitrate, CongestionControl, Duration, SenderConfig};
use fanfare_scenarios::{chosen_seed, ms, plan, secs};
use fanfare_sim::{
    Change, Hop, Host, Link, Object, Plan, Queue, Red, Report, Router, Until, jain_index,
};

/// More than can ever be sent.
fn endless() -> Object {
    Object::data(1 << 36)
}
fn window() -> Range<Duration> {
    secs(20)..secs(80)
}
fn by(congestion: CongestionControl) -> SenderConfig {
    SenderConfig { congestion, rate: Bitrate::mbps(1000), ..SenderConfig::default() }
}
/// Object bytes of 1400 in packets of 1468.
fn of(goodput: f64, rate: Bitrate) -> f64 {
    goodput / (rate.as_bps() as f64 * 1400.0 / 1468.0)
}
fn line(rate: Bitrate, one_way: Duration) -> Hop {
    Hop::from(Link::default().delay(one_way).rate(rate, 0))
}
/// Floyd and Jacobson's RED, with marks.
fn marking(rate: Bitrate, one_way: Duration) -> Hop {
    line(rate, one_way).queue(Queue::Red(Red::new(5.0, 15.0)))
}
/// RED as in the testbed of Adamson et al. (MILCOM 2013), with a ring of four packets behind it.
fn testbed() -> Hop {
    let red = Red { ring: 4, ..Red::cisco(1, 1, 2, 1) };
    line(Bitrate::mbps(1), ms(242)).queue(Queue::Red(red))
}
/// A pair for each controller, one beginning 0.37 s after the other; seed 1.
fn pairs(controllers: &[CongestionControl], hop: Hop) -> Plan {
    pairs_of(1, controllers, hop)
}

fn pairs_of(seed: u64, controllers: &[CongestionControl], hop: Hop) -> Plan {
    let mut plan = Plan::dumbbell(chosen_seed().unwrap_or(seed), controllers.len() as u8, hop)
        .until(Until::Limit, secs(80))
        .warm_up(secs(20));
    for (n, controller) in (0u8..).zip(controllers) {
        let (sender, begin) = (Plan::sender_of(n), ms(370 * u64::from(n)));
        plan = plan
            .at(begin, Change::Send(sender, endless()))
            .adjust(sender, |config| config.sender = Some(by(*controller)));
    }
    plan
}
fn goodputs(report: &Report, n: usize) -> Vec<f64> {
    (0..n as u8).map(|pair| report.goodput(Plan::receiver_of(pair), &window())).collect()
}

#[test]
fn where_all_is_marked_nothing_is_dropped_after_the_start_and_the_line_is_full_and_shared() {
    for n in [1, 5] {
        let rate = Bitrate::mbps(10);
        let report = pairs(&vec![CongestionControl::Auto; n], marking(rate, ms(50))).run();
        let hop = report.hop(Router(0), Router(1)).unwrap();
        let goodput = goodputs(&report, n);
        let (used, jain) = (of(goodput.iter().sum(), rate), jain_index(&goodput));
        report.check(hop.marked > 0, &format!("{n}: there are marks"));
        // Five that start at once overrun RED's room of 60 packets, and never after.
        let dropped = hop.drop_share(&(secs(0)..secs(20)));
        report.check(dropped < 0.01, &format!("{n}: {dropped} dropped at the start"));
        report.check(hop.drop_share(&window()) == 0.0, &format!("{n}: drops"));
        report.check(used > 0.95, &format!("{n}: {used} of the line"));
        report.check(jain > 0.98, &format!("{n} share {goodput:?}"));
    }
}

/// One sender behind two narrow hops, of which the first marks and the second drops.
fn chain(first: Bitrate, second: Bitrate) -> Report {
    let drop_tail = line(second, ms(25)).queue(Queue::bdp(1.0, ms(100)));
    plan(1)
        .sender(by(CongestionControl::Auto))
        .receivers(1)
        .until(Until::Limit, secs(80))
        .wire(Host(0), Router(0), Link::wire())
        .wire(Router(0), Router(1), marking(first, ms(25)))
        .wire(Router(1), Router(2), drop_tail)
        .wire(Router(2), Host(1), Link::wire())
        .send(endless())
        .run()
}

#[test]
fn where_one_of_two_bottlenecks_marks_neither_drops_and_the_narrower_is_full() {
    for (first, second) in [(8, 10), (10, 10), (10, 8)] {
        let report = chain(Bitrate::mbps(first), Bitrate::mbps(second));
        let narrower = Bitrate::mbps(first.min(second));
        let used = of(report.goodput(Host(1), &window()), narrower);
        let dropped = [0, 1].map(|n| report.hop(Router(n), Router(n + 1)).unwrap().dropped);
        report.check(dropped == [0; 2], &format!("{first} and {second}: {dropped:?} dropped"));
        report.check(used > 0.95, &format!("{first} and {second}: {used} of the narrower"));
    }
}

#[test]
fn beside_flows_that_go_by_marks_alone_it_has_its_share() {
    use CongestionControl::{Auto, Ecn};
    let controllers = [Auto, Ecn, Auto, Ecn, Auto, Ecn, Auto, Ecn];
    for hop in [marking(Bitrate::mbps(10), ms(50)), testbed()] {
        // Seeds 1 to 12: behind the testbed's RED, with two messages of each flow in a round trip,
        // one run has 0.87 to 0.98.
        let mut indices = Vec::new();
        for seed in 1..=12 {
            let report = pairs_of(seed, &controllers, hop).run();
            let goodput = goodputs(&report, controllers.len());
            let ours: f64 = goodput.iter().step_by(2).sum();
            let share = ours / goodput.iter().sum::<f64>();
            report.check((0.4..0.65).contains(&share), &format!("auto has {share}"));
            indices.push(jain_index(&goodput));
        }
        let mean = indices.iter().sum::<f64>() / indices.len() as f64;
        // Of 64 kbit/s a flow has two probes a second: it learns later than one that may ask always.
        assert!(mean >= 0.88, "{mean}: {indices:?}");
    }
}
