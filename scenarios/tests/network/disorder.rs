//! Datagrams that are duplicated, reordered, or corrupted.

use fanfare_proto::{DropReason, SenderConfig};
use fanfare_scenarios::{ms, plan, secs};
use fanfare_sim::{Link, Object, Until};

#[test]
fn duplicates_and_reordering_do_no_harm() {
    // 20 % twice, 20 % overtaken, 4 ms jitter, loss 5 %, delay 5 ms, seed 1
    let link = Link::default().loss(0.05).duplicate(0.2).reorder(0.2).jitter(ms(4));
    let report = plan(1)
        .sender(SenderConfig::default())
        .receivers(3)
        .link(link)
        .send(Object::file("disorder", 800_000))
        .run();
    report.check_complete();
    let duplicates = report.sum(|s| s.dropped(DropReason::Duplicate));
    report.check(duplicates > 0, "duplicates are seen for what they are");
}

#[test]
fn reordering_alone_causes_few_repairs() {
    // 10 % overtaken by 15 ms, loss 0, delay 5 ms, seed 2
    let report = plan(2)
        .sender(SenderConfig::default())
        .receivers(3)
        .link(Link::default().reorder(0.1))
        .send(Object::data(800_000))
        .until(Until::Quiet, secs(60))
        .run();
    report.check_complete();
    report.check(report.data_ratio() < 1.05, "what comes late is not sent again");
}

#[test]
fn flipped_bits_past_the_checksum_do_not_stop_a_transfer() {
    // 2 % with one wrong bit, 10 % twice, 10 % overtaken, loss 5 %, delay 5 ms, seeds 3 to 12.
    // The bytes may be wrong then (a driver's hash finds out); the protocol must carry on.
    let link = Link::default().loss(0.05).duplicate(0.1).reorder(0.1).corrupt(0.02);
    for seed in 3..13 {
        let report = plan(seed)
            .sender(SenderConfig::default())
            .receivers(3)
            .link(link)
            .send(Object::file("bits", 400_000))
            .run();
        report.check(report.complete, "every receiver ends the object");
    }
}
