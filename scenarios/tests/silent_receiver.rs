//! Without feedback, parity that was sent unasked is all there is.

use fanfare_proto::{FecConfig, SenderConfig};
use fanfare_scenarios::{SENDER, plan, receivers, secs};
use fanfare_sim::{Host, Hosts, Kind, Link, Object, Until};

/// 64 source symbols, 32 of parity, all sent unasked.
fn generous() -> SenderConfig {
    let fec = FecConfig { source: 64, parity: 32, proactive: 32, ..FecConfig::default() };
    SenderConfig { fec, ..SenderConfig::default() }
}

#[test]
fn a_silent_receiver_completes_from_proactive_parity() {
    // loss 10 %, delay 5 ms, seed 1
    let report = plan(1)
        .sender(generous())
        .receivers(3)
        .adjust_receivers(|receiver| receiver.silent = true)
        .link(Link::default().loss(0.1))
        .send(Object::data(800_000))
        .run();
    report.check_complete();
    let spoken = report.traffic.of(Kind::Nack).messages + report.traffic.of(Kind::Ack).messages;
    report.check(spoken == 0, "silent receivers say nothing");
}

#[test]
fn a_one_way_link_is_enough_with_proactive_parity() {
    // loss 10 % on the way out, nothing on the way back, delay 250 ms, seed 2
    let report = plan(2)
        .sender(generous())
        .receivers(3)
        .path(SENDER, Hosts::All, Link::default().delay(fanfare_scenarios::ms(250)).loss(0.1))
        .path(receivers(3), Hosts::All, Link::down())
        .send(Object::data(800_000))
        .run();
    report.check_complete();
}

#[test]
fn a_silent_receiver_beside_a_speaking_one_profits_from_its_repairs() {
    // common loss 10 % before the paths part, delay 5 ms, seed 3; no proactive parity
    plan(3)
        .sender(SenderConfig::default())
        .receivers(2)
        .adjust(Host(2), |config| {
            if let Some(receiver) = &mut config.receiver {
                receiver.silent = true;
            }
        })
        .uplink(SENDER, Link::wire().loss(0.1))
        .send(Object::data(400_000))
        .until(Until::Complete, secs(60))
        .run()
        .check_complete();
}
