//! Files: three islands without multicast between them, two relays, receivers in each. The long links
//! lose 1 % of what goes over them.

use serde_json::Value;

use crate::world::{ONCE, Running, World, bytes, receivers};

/// All have everything, and the sender has a receipt of each.
pub(crate) fn assert_receipts(told: &[Value]) {
    let result = told.last().unwrap();
    let progress = told.iter().rfind(|line| line["event"] == "progress");
    assert_eq!(
        (&result["exit"], &result["complete"]),
        (&0.into(), &(3 * receivers()).into()),
        "{result:#}\n{progress:?}"
    );
    let receipts = told.iter().filter(|line| line["event"] == "receipt").count();
    assert_eq!(receipts, 3 * receivers());
}

#[test]
fn each_long_link_carries_the_file_about_once_and_every_receipt_comes_back() {
    let world = World::new();
    let relays = [2, 3].map(|island| world.relay(island, "--accept 10.78.1.2"));
    let receivers: Vec<Running> = (1..=3).flat_map(|island| world.receivers(island)).collect();
    let before = [2, 3].map(|island| world.carried(island));
    let (sender, file) = world.sender("--to 10.78.2.2,10.78.3.2 --with-group");
    let told = sender.end();
    let after = [2, 3].map(|island| world.carried(island));
    assert_receipts(&told);
    receivers.into_iter().for_each(|receiver| drop(receiver.end()));
    world.check(&file, 1..=3);
    let totals = relays.map(Running::totals);
    for (at, relay) in totals.iter().enumerate() {
        let times = (after[at] - before[at]) / bytes() as f64;
        eprintln!("link {}: {times:.4} x file on the wire; {relay}", at + 2);
        assert!(times < ONCE, "{times}");
    }
}

#[test]
fn relays_name_each_other_and_pass_on_what_one_of_them_hears_by_multicast() {
    let world = World::new();
    let relays = [
        world.relay(1, "--peer 10.78.2.2,10.78.3.2"),
        world.relay(2, "--peer 10.78.1.2"),
        world.relay(3, "--peer 10.78.1.2"),
    ];
    let receivers: Vec<Running> = (1..=3).flat_map(|island| world.receivers(island)).collect();
    let before = [2, 3].map(|island| world.carried(island));
    let (sender, file) = world.sender("");
    let told = sender.end();
    let after = [2, 3].map(|island| world.carried(island));
    assert_receipts(&told);
    receivers.into_iter().for_each(|receiver| drop(receiver.end()));
    world.check(&file, 1..=3);
    for (at, relay) in relays.map(Running::totals).iter().enumerate() {
        let times = at.checked_sub(1).map(|at| (after[at] - before[at]) / bytes() as f64);
        eprintln!("relay {}: {times:?} x file on the wire; {relay}", at + 1);
        assert!(times.is_none_or(|times| times < ONCE), "{times:?}");
    }
}

#[test]
fn a_relay_that_is_killed_is_replaced_by_another_and_the_file_is_not_sent_anew() {
    let world = World::new();
    let first = world.relay(2, "--accept 10.78.1.2");
    let _other = world.relay(3, "--accept 10.78.1.2");
    let receivers: Vec<Running> = (1..=3).flat_map(|island| world.receivers(island)).collect();
    let before = world.carried(2);
    let (mut sender, file) = world.sender("--to 10.78.2.2,10.78.3.2 --with-group");
    while sender.wait_for("progress")["sent_bytes"].as_u64().unwrap() < bytes() as u64 * 3 / 10 {}
    // SIGKILL.
    drop(first);
    let second = world.relay(2, "--accept 10.78.1.2");
    let told = sender.end();
    let times = (world.carried(2) - before) / bytes() as f64;
    assert_receipts(&told);
    receivers.into_iter().for_each(|receiver| drop(receiver.end()));
    world.check(&file, 1..=3);
    eprintln!("link 2: {times:.4} x file on the wire; {}", second.totals());
    assert!(times < ONCE + 0.2, "{times}");
}
