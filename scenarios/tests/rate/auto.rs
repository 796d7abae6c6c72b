//! `auto` in whole sessions, on a link of 1 Mbit/s and 242 ms and on others: its goodput, its
//! queueing delay, how flows share, and how soon it follows a change.

use core::ops::Range;
use fanfare_proto::{Bitrate, CongestionControl, Duration, SenderConfig};
use fanfare_scenarios::{chosen_seed, ms, secs};
use fanfare_sim::{
    Change, Flow, FlowId, FlowKind, Hop, Host, Link, Object, Plan, Queue, Report, Router, Table,
    Until, jain_index, tcp::Config,
};

/// A narrow link with drop-tail before it, in round trips of queue.
fn narrow(rate: Bitrate, one_way: Duration, loss: f64, buffer: f64) -> Hop {
    Hop::from(Link::default().delay(one_way).rate(rate, 0).loss(loss))
        .queue(Queue::bdp(buffer, one_way * 2))
}
fn satellite(loss: f64, buffer: f64) -> Hop {
    narrow(Bitrate::mbps(1), ms(242), loss, buffer)
}
/// So many pairs that send without end, each beginning 0.37 s after the one before.
fn pairs(n: u8, hop: Hop, (warm, end): (u64, u64)) -> Plan {
    let seed = chosen_seed().unwrap_or(1);
    let mut plan = Plan::dumbbell(seed, n, hop).until(Until::Limit, secs(end)).warm_up(secs(warm));
    for pair in 0..n {
        let sender = Plan::sender_of(pair);
        let begin = ms(370 * u64::from(pair));
        plan =
            plan.at(begin, Change::Send(sender, Object::data(1 << 36))).adjust(sender, |config| {
                let sender = config.sender.as_mut().unwrap();
                (sender.congestion, sender.rate) = (CongestionControl::Auto, Bitrate::mbps(1000));
            });
    }
    plan
}
fn goodputs(report: &Report, n: u8, window: &Range<Duration>) -> Vec<f64> {
    (0..n).map(|pair| report.goodput(Plan::receiver_of(pair), window)).collect()
}

/// Object bytes a second that fit at a loss: 1400 of 1468 bytes on the wire, 1 Mbit/s.
fn ceiling(loss: f64) -> f64 {
    1e6 * 1400.0 / 1468.0 * (1.0 - loss)
}

#[test]
fn goodput_delay_and_fairness_by_loss_and_flows_are_as_recorded() {
    let mut table =
        Table::new(&["flows", "loss %", "kbit/s", "of ceiling", "jain", "p95 ms", "drop %"]);
    let window = secs(100)..secs(300);
    for n in [1u8, 5, 10] {
        for loss in [0.0, 0.001, 0.01, 0.1] {
            let report = pairs(n, satellite(loss, 1.0), (100, 300)).run();
            let goodput = goodputs(&report, n, &window);
            let (sum, jain) = (goodput.iter().sum::<f64>(), jain_index(&goodput));
            let hop = report.hop(Router(0), Router(1)).unwrap();
            let p95 = hop.delay.percentile(0.95);
            report.check(sum >= 0.95 * ceiling(loss), &format!("{n} flows at {loss}: {sum}"));
            report.check(p95 <= ms(484), &format!("{n} flows at {loss} queue {p95:?}"));
            report.check(jain >= 0.97, &format!("{n} flows at {loss} share {goodput:?}"));
            table.row([
                n.to_string(),
                format!("{}", loss * 100.0),
                format!("{:.0}", sum / 1e3),
                format!("{:.3}", sum / ceiling(loss)),
                format!("{jain:.4}"),
                format!("{:.0}", p95.as_secs_f64() * 1e3),
                format!("{:.2}", hop.drop_share(&window) * 100.0),
            ]);
        }
    }
    if chosen_seed().is_none() {
        insta::assert_snapshot!(table.to_string());
    }
}

/// What five TCP flows get, bit/s, beside five more or beside five of ours, and what those get.
fn beside(ours: u8, hop: Hop, window: &Range<Duration>) -> (f64, f64) {
    let mut plan = pairs(ours, hop, (50, 250));
    for n in 0..10 - ours {
        let tcp = Flow::new(Router(0), Router(1), FlowKind::tcp(Config::default()));
        plan = plan.flow(tcp.during(ms(190 + 370 * u64::from(n))..Duration::MAX));
    }
    let report = plan.run();
    let theirs = report.flows.iter().take(5).map(|flow| flow.received.bps(window)).sum();
    (theirs, goodputs(&report, ours, window).iter().sum())
}

#[test]
fn tcp_keeps_beside_it_what_it_has_beside_tcp() {
    let mut table =
        Table::new(&["Mbit/s", "rtt ms", "buffer bdp", "TCP beside TCP", "beside auto", "auto"]);
    let window = secs(50)..secs(250);
    let short = |one_way, buffer| narrow(Bitrate::mbps(10), ms(one_way), 0.0, buffer);
    let hops = [0.5, 1.0, 2.0].map(|buffer| (1, 484, buffer, satellite(0.0, buffer)));
    let more = [(10, 100, 1.0, short(50, 1.0)), (10, 20, 2.0, short(10, 2.0))];
    for (rate, rtt, buffer, hop) in hops.into_iter().chain(more) {
        let (alone, _) = beside(0, hop, &window);
        let (theirs, ours) = beside(5, hop, &window);
        assert!(theirs >= 0.9 * alone, "{rate} {rtt} {buffer}: {theirs} of {alone}");
        assert!(ours > 0.2 * theirs, "nor does it starve: {ours}");
        let kbps = |bps: f64| format!("{:.0}", bps / 1e3);
        table.row([
            rate.to_string(),
            rtt.to_string(),
            buffer.to_string(),
            kbps(alone),
            kbps(theirs),
            kbps(ours),
        ]);
    }
    if chosen_seed().is_none() {
        insta::assert_snapshot!(table.to_string());
    }
}

/// Time from a change until an average over one round trip is nine tenths of `share` on the
/// bottleneck, in seconds, and the share of messages dropped in the ten round trips after it.
fn reaction(report: &Report, (at, share): (Duration, f64), rtt: Duration) -> (f64, f64) {
    let hop = report.hop(Router(0), Router(1)).unwrap();
    let ours = &hop.bytes_of[&FlowId::Host(Plan::sender_of(0))];
    let begin = at.max(ms(100));
    let reached = (0..200).map(|n| begin + ms(100) * n).find(|t| {
        let bps = ours.bps(&(*t..*t + rtt.max(ms(200))));
        (0.9 * share..1.1 * share).contains(&bps)
    });
    let reached = reached.map_or(f64::NAN, |t| (t + rtt.max(ms(200)) - at).as_secs_f64());
    (reached, hop.drop_share(&(at..at + (rtt * 10).max(secs(2)))))
}

#[test]
fn it_follows_changes_of_the_road() {
    let mut table = Table::new(&["Mbit/s", "rtt ms", "change", "reached after s", "dropped %"]);
    let at = secs(60);
    for (rate, one_way) in [(1.0, 242), (10.0, 50), (10.0, 10)] {
        let link = |times: f64| {
            let hop = narrow(Bitrate::bps((rate * times * 1e6) as u64), ms(one_way), 0.0, 1.0);
            // The buffer is the machine's, not the rate's.
            let bytes = rate * 1e6 / 8.0 * 2.0 * one_way as f64 / 1e3;
            hop.queue(Queue::bytes(bytes as u64))
        };
        let hop = |hop| Change::Hop(Router(0).into(), Router(1).into(), hop);
        let cross = || {
            let kind = FlowKind::Cbr { rate: Bitrate::bps((rate * 5e5) as u64), bytes: 1000 };
            Flow::new(Router(0), Router(1), kind)
        };
        let plan = |times| pairs(1, link(times), (50, 80));
        let cases = [
            ("start", plan(1.0), Duration::ZERO, 1.0),
            ("halved", plan(1.0).at(at, hop(link(0.5))), at, 0.5),
            ("doubled", plan(0.5).at(at, hop(link(1.0))), at, 1.0),
            ("cross in", plan(1.0).flow(cross().during(at..Duration::MAX)), at, 0.5),
            ("cross out", plan(1.0).flow(cross().during(Duration::ZERO..at)), at, 1.0),
        ];
        for (name, plan, at, share) in cases {
            let rtt = ms(2 * one_way);
            let report = plan.run();
            let (reached, dropped) = reaction(&report, (at, share * rate * 1e6), rtt);
            report.check(dropped <= 0.04, &format!("{name}: {dropped} dropped"));
            report.check(reached < 20.0 * rtt.as_secs_f64() + 1.0, &format!("{name}: {reached}"));
            table.row([
                rate.to_string(),
                (2 * one_way).to_string(),
                name.to_owned(),
                format!("{reached:.1}"),
                format!("{:.2}", dropped * 100.0),
            ]);
        }
    }
    if chosen_seed().is_none() {
        insta::assert_snapshot!(table.to_string());
    }
}

/// Goodput of the first of `n` receivers, each behind a link of its own that loses 1 %, and
/// messages that the receivers sent in a second.
fn tree(n: u16) -> (f64, f64) {
    let mut plan = Plan::new(chosen_seed().unwrap_or(1))
        .sender(SenderConfig {
            congestion: CongestionControl::Auto,
            rate: Bitrate::mbps(100),
            ..SenderConfig::default()
        })
        .receivers(n)
        .until(Until::Limit, secs(40))
        .wire(Host(0), Router(0), narrow(Bitrate::mbps(1), ms(50), 0.0, 1.0));
    for receiver in 1..=n {
        plan = plan.wire(Router(0), Host(receiver), Link::wire().loss(0.01));
    }
    let report = plan.send(Object::data(1 << 36)).run();
    let back = report.hop(Router(0), Host(0)).map_or(0, |hop| hop.carried);
    (report.goodput(Host(1), &(secs(10)..secs(40))), back as f64 / 40.0)
}

#[test]
fn a_hundred_receivers_with_losses_of_their_own_do_not_slow_it_down() {
    let (one, few) = tree(1);
    let (many, messages) = tree(100);
    assert!(many > 0.9 * one, "{many} of {one} bit/s");
    // ln(100) is 4.6: four candidates more than one answer each probe, and NACKs come on top.
    assert!(messages < 8.0 * few, "{messages} messages a second, one receiver sends {few}");
}
