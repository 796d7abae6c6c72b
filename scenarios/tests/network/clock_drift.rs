//! Clocks that run fast or slow do not stop a transfer.

use fanfare_proto::{Bitrate, SenderConfig};
use fanfare_scenarios::{SENDER, plan, receivers};
use fanfare_sim::{Link, Object, Report};

/// 5 receivers, this loss; host 0 gains `sender` ppm, the others `others`.
fn run(loss: f64, sender: i32, others: i32) -> Report {
    plan(1)
        .sender(SenderConfig { rate: Bitrate::mbps(1), ..SenderConfig::default() })
        .receivers(5)
        .drift(SENDER, sender)
        .drift(receivers(5), others)
        .link(Link::default().loss(loss))
        .send(Object::data(500_000))
        .run()
}

#[test]
fn a_transfer_completes_between_clocks_that_differ() {
    // Ten times what a bad quartz does, in either direction.
    for (sender, others) in [(1_000, -1_000), (-1_000, 1_000)] {
        run(0.1, sender, others).check_complete();
    }
}

#[test]
fn a_fast_clock_makes_a_fast_sender() {
    // 10 % fast: the same bytes in 10/11 of the time, without loss.
    let seconds = |ppm| run(0.0, ppm, 0).last_completion().as_secs_f64();
    let ratio = seconds(0) / seconds(100_000);
    assert!((1.05..1.15).contains(&ratio), "{ratio}");
}
