//! An object is withdrawn while it is being sent.

use fanfare_proto::{AbortReason, Event, SenderConfig};
use fanfare_scenarios::{SENDER, ms, plan, secs};
use fanfare_sim::{Change, Host, Link, Object, Until};

#[test]
fn a_cancelled_object_is_given_up_and_the_next_one_arrives() {
    // cancelled at 300 ms of 2.5 s; loss 10 % each way, delay 5 ms, seed 1
    let report = plan(1)
        .sender(SenderConfig::default())
        .receivers(3)
        .link(Link::default().loss(0.1))
        .send(Object::file("withdrawn", 3_000_000))
        .send(Object::file("kept", 300_000))
        .at(ms(300), Change::Cancel(SENDER, 0))
        .until(Until::Limit, secs(60))
        .run();
    report.check_complete();
    let withdrawn = report.offers[0].key;
    for n in 1..=3 {
        let reasons = report.events(Host(n), |event| match event {
            Event::ObjectAborted { key, reason } if *key == withdrawn => Some(*reason),
            _ => None,
        });
        report.check(reasons == [AbortReason::Squelched], "receivers learn that it is gone");
    }
    report.check(report.traffic.data_payload < 1_600_000, "no more of it was sent");
}

#[test]
fn the_last_object_is_given_up_though_its_sender_asks_for_an_acknowledgement_of_it() {
    // No delay: flushes go each 20 ms, and a squelch is confirmed after a second. The flushes name the
    // object, but they do not say that its sender still has it. Withdrawn at once, and after some of it.
    for at in [0, 10] {
        let report = plan(1)
            .sender(SenderConfig::default())
            .receivers(2)
            .link(Link::default().delay(ms(0)))
            .send(Object::file("kept", 1_000))
            .send(Object::file("withdrawn", 3_000_000))
            .at(ms(0), Change::Watermark(SENDER, vec![Host(1), Host(2)]))
            .at(ms(at), Change::Cancel(SENDER, 1))
            .until(Until::Limit, secs(8))
            .run();
        let is_done = |event: &Event| matches!(event, Event::WatermarkDone { .. }).then_some(());
        report.check(report.events(SENDER, is_done) == [()], "the sender is done");
    }
}
