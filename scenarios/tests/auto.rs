//! `auto` in whole sessions, on seed links of 1 Mbit/s and 242 ms and others: what it reaches, how
//! long messages queue, how flows share, and how soon it follows a change.

use core::ops::Range;
use fanfare_proto::{Bitrate, CongestionControl, Duration};
use fanfare_scenarios::{chosen_seed, ms, secs};
use fanfare_sim::{
    Change, Flow, FlowKind, Hop, Link, Object, Plan, Queue, Report, Router, Until, jain_index,
    tcp::Config,
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
    let mut plan =
        Plan::dumbbell(seed, n, hop).until(Until::Limit, secs(end)).warm_up(secs(warm));
    for pair in 0..n {
        let sender = Plan::sender_of(pair);
        let begin = ms(370 * u64::from(pair));
        plan = plan.at(begin, Change::Send(sender, Object::data(1 << 36))).adjust(
            sender,
            |config| {
                let sender = config.sender.as_mut().unwrap();
                (sender.congestion, sender.rate) =
                    (CongestionControl::Auto, Bitrate::mbps(1000));
            },
        );
    }
    plan
}
fn goodputs(report: &Report, n: u8, window: &Range<Duration>) -> Vec<f64> {
    (0..n).map(|pair| report.goodput(Plan::receiver_of(pair), window)).collect()
}

#[test]
fn explore() {
    for n in [1, 5, 10] {
        for loss in [0.0, 0.001, 0.01, 0.1] {
            let report = pairs(n, satellite(loss, 1.0), (100, 300)).run();
            let goodput = goodputs(&report, n, &(secs(100)..secs(300)));
            let hop = report.hop(Router(0), Router(1)).unwrap();
            println!(
                "sat flows {n:2} loss {loss}: goodput {:.1} kbit/s of ceiling {:.3} jain {:.4} p95 {:?} drops {} util {:.3}",
                goodput.iter().sum::<f64>() / 1e3,
                goodput.iter().sum::<f64>() / (953.65e3 * (1.0 - loss)),
                jain_index(&goodput),
                hop.delay.percentile(0.95),
                hop.drop_share(&(secs(100)..secs(300))),
                hop.utilisation(&(secs(100)..secs(300)))
            );
        }
    }
}

#[test]
fn explore_tcp() {
    let wide = narrow(Bitrate::mbps(10), ms(50), 0.0, 1.0);
    let short = narrow(Bitrate::mbps(10), ms(10), 0.0, 1.0);
    let mut cells = vec![("10M100", wide), ("10M20", short)];
    for buffer in [0.5, 1.0, 2.0] {
        cells.push(("sat", satellite(0.0, buffer)));
    }
    for (name, hop) in cells {
        let mut share = [0.0; 2];
        let mut ours = 0.0;
        let window = secs(50)..secs(250);
        for (i, n) in [0u8, 5].into_iter().enumerate() {
            let mut plan = pairs(n, hop, (50, 250));
            for flow in 0..10 - n {
                let tcp = Flow::new(Router(0), Router(1), FlowKind::tcp(Config::default()));
                plan = plan.flow(tcp.during(ms(190 + 370 * u64::from(flow))..Duration::MAX));
            }
            let report = plan.run();
            share[i] = report.flows.iter().take(5).map(|f| f.received.bps(&window)).sum::<f64>();
            ours = goodputs(&report, n, &window).iter().sum::<f64>();
        }
        println!("{name} {:?}: 5 TCP beside 5 TCP {:.0} beside auto {:.0}: {:.2}; auto {ours:.0}", hop.queue, share[0], share[1], share[1] / share[0]);
    }
}
