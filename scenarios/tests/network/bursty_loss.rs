//! Loss in bursts: one receiver loses many datagrams in sequence.

use fanfare_proto::SenderConfig;
use fanfare_scenarios::{plan, receivers};
use fanfare_sim::{Hosts, Link, Object};

#[test]
fn bursts_of_ten_datagrams_are_repaired() {
    // 10 % lost in bursts of 10 on the way out, 10 % independently on the way back, 5 ms, seed 1
    plan(1)
        .sender(SenderConfig::default())
        .receivers(3)
        .link(Link::default().loss(0.1))
        .path(fanfare_scenarios::SENDER, receivers(3), Link::default().bursts(0.1, 10.0))
        .send(Object::file("bursts", 800_000))
        .run()
        .check_complete();
}

#[test]
fn bursts_longer_than_a_block_are_repaired() {
    // 20 % lost in bursts of 200 datagrams (a block has 128), 5 ms, seed 2
    plan(2)
        .sender(SenderConfig::default())
        .receivers(3)
        .path(Hosts::All, Hosts::All, Link::default().bursts(0.2, 200.0))
        .send(Object::data(1_500_000))
        .run()
        .check_complete();
}
