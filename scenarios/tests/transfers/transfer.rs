//! Objects of all kinds and sizes reach every receiver, whatever independent loss does to data and
//! feedback.

use fanfare_proto::SenderConfig;
use fanfare_scenarios::plan;
use fanfare_sim::{Link, Object, Report};

/// Sizes: nothing, one byte, one segment, 800 KB; each as DATA and as FILE with INFO.
fn objects() -> Vec<Object> {
    let sizes = [0, 1, 1400, 800_000];
    sizes.into_iter().flat_map(|n| [Object::data(n), Object::file("a/name", n)]).collect()
}

fn transfer(seed: u64, receivers: u16, loss: f64) -> Report {
    let link = Link::default().loss(loss);
    let mut plan = plan(seed).sender(SenderConfig::default()).receivers(receivers).link(link);
    for object in objects() {
        plan = plan.send(object);
    }
    plan.run()
}

#[test]
fn all_objects_reach_one_receiver_without_loss() {
    // loss 0, delay 5 ms, seed 1
    let report = transfer(1, 1, 0.0);
    report.check_complete();
    report.check(report.sum(|s| s.nacks_sent) == 0, "nobody asks for what was not lost");
    report.check(report.data_ratio() == 1.0, "every byte is sent once");
}

#[test]
fn all_objects_reach_one_receiver_at_one_percent_loss() {
    // loss 1 % each way, delay 5 ms, seed 2
    transfer(2, 1, 0.01).check_complete();
}

#[test]
fn all_objects_reach_one_receiver_at_ten_percent_loss() {
    // loss 10 % each way, delay 5 ms, seed 3
    transfer(3, 1, 0.1).check_complete();
}

#[test]
fn all_objects_reach_one_receiver_at_thirty_percent_loss() {
    // loss 30 % each way, delay 5 ms, seed 4
    transfer(4, 1, 0.3).check_complete();
}

#[test]
fn all_objects_reach_three_receivers_without_loss() {
    // loss 0, delay 5 ms, seed 5
    let report = transfer(5, 3, 0.0);
    report.check_complete();
    report.check(report.data_ratio() == 1.0, "every byte is sent once, not once a receiver");
}

#[test]
fn all_objects_reach_three_receivers_at_one_percent_loss() {
    // loss 1 % each way, delay 5 ms, seed 6
    transfer(6, 3, 0.01).check_complete();
}

#[test]
fn all_objects_reach_three_receivers_at_ten_percent_loss() {
    // loss 10 % each way, delay 5 ms, seed 7
    transfer(7, 3, 0.1).check_complete();
}

#[test]
fn all_objects_reach_three_receivers_at_thirty_percent_loss() {
    // loss 30 % each way, delay 5 ms, seed 8
    transfer(8, 3, 0.3).check_complete();
}

#[test]
fn twenty_seeds_complete_at_twenty_percent_loss() {
    // loss 20 % each way, delay 5 ms, seeds 100 to 119
    for seed in 100..120 {
        transfer(seed, 2, 0.2).check_complete();
    }
}
