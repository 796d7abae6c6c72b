//! Without feedback a receiver has only proactive parity.

use fanfare_proto::{Duration, FecConfig, SenderConfig, Time};
use fanfare_scenarios::{SENDER, ms, plan, receivers, secs};
use fanfare_sim::{Change, Host, Hosts, Kind, Link, Object, Report, Until};

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
        .path(SENDER, Hosts::All, Link::default().delay(ms(250)).loss(0.1))
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

/// Eight objects of 0.16 s each in four rounds to silent receivers, of which the last joins late.
fn carousel(seed: u64, loss: f64, joins: Duration) -> Report {
    let mut plan = plan(seed)
        .sender(generous())
        .receivers(3)
        .adjust_receivers(|receiver| receiver.silent = true)
        .link(Link::default().loss(loss))
        .joins(Host(3), joins);
    for n in 0..8 {
        plan = plan.send(Object::file(&format!("file {n}"), 128_000));
    }
    for nth in (0..8).cycle().take(24) {
        plan = plan.at(ms(1), Change::Requeue(SENDER, nth));
    }
    let report = plan.until(Until::Quiet, secs(60)).run();
    report.check_complete();
    report
}

#[test]
fn a_carousel_goes_round_so_that_a_late_joiner_waits_one_round_at_most() {
    // no loss, delay 5 ms, seed 4; a round takes 1.28 s with its parity; it joins in the second
    let joins = ms(1_700);
    let report = carousel(4, 0.0, joins);
    let all = report.host(Host(3)).completions.iter().map(|c| c.at).max();
    let waited = all.unwrap_or(Time::ZERO).since(Time::ZERO + joins);
    report.check(waited < ms(1_450), &format!("it has everything after {waited:?}"));
}

#[test]
fn a_carousel_with_parity_brings_everything_through_loss_without_a_word_back() {
    // loss 20 %, delay 5 ms, seeds 5 to 9: a third of parity and three rounds after the first, which
    // the INFO needs: it has no parity
    for seed in 5..10 {
        let report = carousel(seed, 0.2, Duration::ZERO);
        let spoken = report.traffic.of(Kind::Nack).messages + report.traffic.of(Kind::Ack).messages;
        report.check(spoken == 0, "silent receivers say nothing");
    }
}
