//! When a block's parity is used up, repair continues with source symbols.

use fanfare_proto::{FecConfig, SenderConfig};
use fanfare_scenarios::plan;
use fanfare_sim::{Link, Object};

#[test]
fn four_parity_symbols_for_sixteen_complete_at_forty_percent_loss() {
    // 16 source, 4 parity; loss 40 % each way, delay 5 ms, seeds 1 to 5
    let fec = FecConfig { source: 16, parity: 4, ..FecConfig::default() };
    for seed in 1..6 {
        let report = plan(seed)
            .sender(SenderConfig { fec, ..SenderConfig::default() })
            .receivers(3)
            .link(Link::default().loss(0.4))
            .send(Object::file("exhausted", 200_000))
            .run();
        report.check_complete();
        let explicit = report.sum(|s| s.explicit_repair_sent);
        report.check(explicit > 0, "explicit repair was needed");
    }
}

#[test]
fn without_any_parity_source_symbols_are_repeated() {
    // 16 source, no parity; loss 20 % each way, delay 5 ms, seed 6
    let fec = FecConfig { source: 16, parity: 0, ..FecConfig::default() };
    let report = plan(6)
        .sender(SenderConfig { fec, ..SenderConfig::default() })
        .receivers(3)
        .link(Link::default().loss(0.2))
        .send(Object::data(200_000))
        .run();
    report.check_complete();
    report.check(report.sum(|s| s.parity_repair_sent) == 0, "there is no parity");
}
