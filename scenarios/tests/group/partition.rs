//! The network is partitioned, and heals.

use fanfare_proto::SenderConfig;
use fanfare_scenarios::{SENDER, ms, plan, secs};
use fanfare_sim::{Change, Host, Hosts, Link, Object};

#[test]
fn a_partition_of_five_seconds_is_repaired_after_it_heals() {
    // hosts 2 and 3 cut off from 200 ms to 5.2 s; an object of 2.5 s; loss 2 %, 5 ms, seed 1
    plan(1)
        .sender(SenderConfig::default())
        .receivers(3)
        .link(Link::default().loss(0.02))
        .send(Object::file("across", 3_000_000))
        .at(ms(200), Change::Partition(Hosts::Span(Host(2), Host(3))))
        .at(ms(5_200), Change::Heal)
        .run()
        .check_complete();
}

#[test]
fn receivers_cut_off_from_the_first_byte_to_the_last_are_repaired_when_the_sender_speaks_again() {
    // hosts 2 and 3 cut off until 40 s, after the flush has ended; the next object comes at 50 s,
    // loss 0, 5 ms, seed 2
    plan(2)
        .sender(SenderConfig::default())
        .receivers(3)
        .at(ms(0), Change::Partition(Hosts::Span(Host(2), Host(3))))
        .at(ms(1), Change::Send(SENDER, Object::file("missed", 400_000)))
        .at(secs(40), Change::Heal)
        .at(secs(50), Change::Send(SENDER, Object::data(10)))
        .run()
        .check_complete();
}
