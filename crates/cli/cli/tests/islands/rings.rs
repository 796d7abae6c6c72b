//! Relays that are joined in a ring, and two of them in one island.

use crate::{
    files::assert_receipts,
    world::{ONCE, Running, World, bytes},
};

#[test]
fn relays_in_a_ring_bring_the_file_over_each_link_about_once() {
    let world = World::new();
    // Each knows both others: what island 1 sends reaches island 3 by way of island 2, too.
    let relays = [
        world.relay(1, "--peer 10.78.2.2,10.78.3.2"),
        world.relay(2, "--peer 10.78.1.2,10.78.3.2"),
        world.relay(3, "--peer 10.78.1.2,10.78.2.2"),
    ];
    let receivers: Vec<Running> = (1..=3).flat_map(|island| world.receivers(island)).collect();
    let before = [2, 3].map(|island| world.carried(island));
    let (sender, file) = world.sender("");
    assert_receipts(&sender.end());
    let after = [2, 3].map(|island| world.carried(island));
    receivers.into_iter().for_each(|receiver| drop(receiver.end()));
    world.check(&file, 1..=3);
    let totals = relays.map(Running::totals);
    for link in 0..2 {
        let times = (after[link] - before[link]) / bytes() as f64;
        eprintln!("link {}: {times:.4} x file on the wire; {}", link + 2, totals[link + 1]);
        assert!(times < ONCE + 0.05, "{times}");
    }
}

/// Three islands, and two relays in the second one of them.
struct Doubled {
    receivers: Vec<Running>,
    /// The relay of island 2 that has the lower number.
    serving: Running,
    /// The other one there.
    stands_by: Running,
    /// Those of islands 1 and 3.
    single: [Running; 2],
    world: World,
}

impl Doubled {
    fn new() -> Self {
        let world = World::new();
        world.second_machine(2);
        let first = world.relay(1, "--peer 10.78.2.2,10.78.3.2,10.78.4.2");
        let serving = world.relay(2, "--peer 10.78.1.2 --id 1");
        let stands_by = world.relay(4, "--peer 10.78.1.2 --id 2");
        let third = world.relay(3, "--peer 10.78.1.2");
        let receivers = (1..=3).flat_map(|island| world.receivers(island)).collect();
        Self { receivers, serving, stands_by, single: [first, third], world }
    }
}

#[test]
fn of_two_relays_in_one_island_one_serves_it_and_the_other_stands_by() {
    let Doubled { receivers, serving, stands_by, single: _single, world } = Doubled::new();
    let (sender, file) = world.sender("");
    assert_receipts(&sender.end());
    receivers.into_iter().for_each(|receiver| drop(receiver.end()));
    world.check(&file, 1..=3);
    let [serving, stands_by] = [serving, stands_by].map(Running::totals);
    eprintln!("serves: {serving}\nstands by: {stands_by}");
    let count = |relay: &serde_json::Value| relay["forwarded"].as_u64().unwrap();
    assert!(count(&serving) > 10 * count(&stands_by), "{serving}\n{stands_by}");
    assert!(stands_by["cached"].as_u64().unwrap() > bytes() as u64 * 9 / 10, "{stands_by}");
}

#[test]
fn a_relay_that_stands_by_takes_over_when_the_other_is_killed() {
    let Doubled { receivers, serving, stands_by, single: _single, world } = Doubled::new();
    let before = [2, 4].map(|island| world.carried(island));
    let (mut sender, file) = world.sender("");
    while sender.wait_for("progress")["sent_bytes"].as_u64().unwrap() < bytes() as u64 * 3 / 10 {}
    // SIGKILL.
    drop(serving);
    let told = sender.end();
    let after = [2, 4].map(|island| world.carried(island));
    let times = [0, 1].map(|link| (after[link] - before[link]) / bytes() as f64);
    eprintln!("links: {times:.4?} x file on the wire; {}", stands_by.totals());
    assert_receipts(&told);
    receivers.into_iter().for_each(|receiver| drop(receiver.end()));
    world.check(&file, 1..=3);
    assert!(times[1] < ONCE + 0.2, "{times:?}");
}
