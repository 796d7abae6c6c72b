//! What a transfer costs compared with the minimum.
//!
//! With a loss of p, a sender must send at least size / (1 - p), so that size arrives at one
//! receiver. The table is the performance of the protocol as a file in git: a change of behaviour
//! shows as a diff.

use fanfare_proto::SenderConfig;
use fanfare_scenarios::{plan, secs};
use fanfare_sim::{Kind, Link, Object, Report, Table, Until};

/// Independent loss of `loss` each way, delay 5 ms, default configuration (10 Mbit/s).
fn run(seed: u64, receivers: u16, loss: f64, bytes: u64) -> Report {
    let report = plan(seed)
        .sender(SenderConfig::default())
        .receivers(receivers)
        .link(Link::default().loss(loss))
        .send(Object::data(bytes))
        .until(Until::Quiet, secs(600))
        .run();
    report.check_complete();
    report
}

/// Bytes of symbols sent for each byte that had to be sent.
fn overhead(report: &Report, loss: f64) -> f64 {
    report.data_ratio() * (1.0 - loss)
}

#[test]
fn one_receiver_at_thirty_percent_loss_costs_at_most_a_tenth_more_than_it_must() {
    // 20 MB, loss 30 % each way, delay 5 ms, seed 1
    let report = run(1, 1, 0.3, 20_000_000);
    report.check(overhead(&report, 0.3) <= 1.10, "data <= 1.10 x size / (1 - p)");
}

#[test]
fn three_receivers_at_thirty_percent_loss_cost_at_most_a_tenth_more_than_they_must() {
    // 20 MB, loss 30 % each way, delay 5 ms, seed 2
    let report = run(2, 3, 0.3, 20_000_000);
    report.check(overhead(&report, 0.3) <= 1.10, "data <= 1.10 x size / (1 - p)");
}

#[test]
fn cost_by_loss_and_group_is_as_recorded() {
    // 4 MB, seed 7
    let mut table = Table::new(&[
        "loss %",
        "receivers",
        "data",
        "time",
        "parity",
        "explicit",
        "nacks",
        "suppressed",
    ]);
    for percent in [0u32, 1, 5, 10, 30] {
        for receivers in [1, 3, 10] {
            let loss = f64::from(percent) / 100.0;
            let report = run(7, receivers, loss, 4_000_000);
            // Time at 10 Mbit/s of datagrams with 1400 bytes of symbol and 36 of headers.
            let least = 4e6 / (1.0 - loss) * 1436.0 / 1400.0 * 8.0 / 10e6;
            table.row([
                percent.to_string(),
                receivers.to_string(),
                format!("{:.2}", overhead(&report, loss)),
                format!("{:.2}", report.last_completion().as_secs_f64() / least),
                report.sum(|s| s.parity_repair_sent).to_string(),
                report.sum(|s| s.explicit_repair_sent).to_string(),
                report.traffic.of(Kind::Nack).messages.to_string(),
                report.sum(|s| s.nacks_suppressed).to_string(),
            ]);
        }
    }
    insta::assert_snapshot!(table.to_string());
}
