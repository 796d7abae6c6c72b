//! Feedback by unicast to the sender: no other receiver hears it, so the sender advertises what it
//! heard.

use fanfare_proto::{FeedbackPath, SenderConfig};
use fanfare_scenarios::{SENDER, plan, receivers};
use fanfare_sim::{Hosts, Kind, Link, Object, Report};

/// 30 receivers that suffer the same loss of 5 %; delay 5 ms.
fn common_loss(seed: u64, feedback: FeedbackPath) -> Report {
    let report = plan(seed)
        .sender(SenderConfig::default())
        .receivers(30)
        .adjust(Hosts::All, |config| config.feedback = feedback)
        .path(receivers(30), receivers(30), Link::down())
        .uplink(SENDER, Link::wire().loss(0.05))
        .send(Object::data(800_000))
        .run();
    report.check_complete();
    report
}

#[test]
fn unicast_nacks_are_answered_with_repair_adv_that_silences_others() {
    // seed 1
    let report = common_loss(1, FeedbackPath::Sender);
    let advertised = report.traffic.of(Kind::RepairAdv).messages;
    report.check(advertised > 0, "the sender advertises what it heard");
    report.check(report.sum(|s| s.nacks_suppressed) > 0, "others keep silent");
    report.check(report.nacks_per_loss_event() < 10.0, "fewer than 10 of 30 speak");
}

#[test]
fn unicast_nacks_complete_under_independent_loss_each_way() {
    // loss 20 % each way, delay 5 ms, seed 2
    plan(2)
        .sender(SenderConfig::default())
        .receivers(5)
        .adjust(Hosts::All, |config| config.feedback = FeedbackPath::Sender)
        .link(Link::default().loss(0.2))
        .send(Object::file("unicast", 400_000))
        .run()
        .check_complete();
}

#[test]
fn a_unicast_session_serves_one_receiver() {
    // one receiver, destination is its address; loss 10 % each way, delay 5 ms, seed 3
    plan(3)
        .sender(SenderConfig::default())
        .receivers(1)
        .adjust(Hosts::All, |config| {
            config.unicast = true;
            config.feedback = FeedbackPath::Sender;
        })
        .link(Link::default().loss(0.1))
        .send(Object::file("unicast", 400_000))
        .run()
        .check_complete();
}
