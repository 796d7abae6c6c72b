//! A seed repeats a run to the bit.

use fanfare_proto::SenderConfig;
use fanfare_scenarios::ms;
use fanfare_sim::{Link, Object, Plan, Report};

/// A bit of everything; loss 10 %, delay 5 ms.
fn run(seed: u64) -> Report {
    let link = Link::default().loss(0.1).duplicate(0.05).reorder(0.05).jitter(ms(3)).corrupt(0.001);
    Plan::new(seed)
        .sender(SenderConfig::default())
        .receivers(5)
        .link(link)
        .send(Object::file("again", 300_000))
        .run()
}

#[test]
fn the_same_seed_gives_the_same_deliveries_twice() {
    // seed 1
    let (a, b) = (run(1), run(1));
    assert_eq!(a.hash, b.hash, "{a}\n{b}");
    assert_eq!(a.to_string(), b.to_string());
}

#[test]
fn another_seed_gives_other_deliveries() {
    // seeds 1 and 2
    assert_ne!(run(1).hash, run(2).hash);
}
