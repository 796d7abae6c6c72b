//! NACKs for each loss event must not grow with the group.
//!
//! The bound of 6 is what RFC 5401's backoff gives with a group size that is right within a factor
//! of ten; the table shows what we need.

use fanfare_proto::SenderConfig;
use fanfare_scenarios::{SENDER, plan};
use fanfare_sim::{Kind, Link, Object, Report, Table};

/// 200 segments to `n` receivers; the loss is each receiver's own, or common to all. Delay 5 ms.
fn run(seed: u64, n: u16, loss: f64, common: bool) -> Report {
    let plan = plan(seed).sender(SenderConfig::default()).receivers(n);
    let plan = match common {
        true => plan.uplink(SENDER, Link::wire().loss(loss)),
        false => plan.link(Link::default().loss(loss)),
    };
    let report = plan.send(Object::data(200 * 1400)).run();
    report.check_complete();
    report
}

#[test]
fn a_thousand_receivers_with_their_own_loss_send_few_nacks() {
    // 1000 receivers, 5 % independent loss each way, delay 5 ms, seed 1
    let report = run(1, 1000, 0.05, false);
    report.check(report.nacks_per_loss_event() <= 6.0, "at most 6 NACKs a loss event");
}

#[test]
fn a_thousand_receivers_with_common_loss_send_few_nacks() {
    // 1000 receivers, 5 % lost for all alike, delay 5 ms, seed 2
    let report = run(2, 1000, 0.05, true);
    report.check(report.nacks_per_loss_event() <= 6.0, "at most 6 NACKs a loss event");
}

#[test]
fn nacks_by_group_size_are_as_recorded() {
    // 10, 100, 1000 receivers; 5 % loss; delay 5 ms; seed 7
    let mut table =
        Table::new(&["receivers", "loss", "events", "nacks", "per event", "suppressed", "ms"]);
    for common in [false, true] {
        for n in [10, 100, 1000] {
            let report = run(7, n, 0.05, common);
            table.row([
                n.to_string(),
                if common { "common" } else { "own" }.to_string(),
                report.traffic.loss_events().to_string(),
                report.traffic.of(Kind::Nack).messages.to_string(),
                format!("{:.1}", report.nacks_per_loss_event()),
                report.sum(|s| s.nacks_suppressed).to_string(),
                (report.last_completion().as_nanos() / 1_000_000).to_string(),
            ]);
        }
    }
    insta::assert_snapshot!(table.to_string());
}
