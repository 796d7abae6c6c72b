//! How long does a file take to reach fifty receivers when every tenth packet is lost? A simulated
//! network tells, in virtual time: `cargo run --features sim --example simulated_network`

#![allow(clippy::print_stderr, clippy::print_stdout)]

use fanfare::{
    protocol::SenderConfig,
    sim::{Duration, Link, Object, Plan, Report},
};

fn main() {
    // The same seed gives the same run, on every machine.
    let report = distribute(7, 0.1);
    println!("{report}");
}

/// One sender, fifty receivers, and every path loses this share of its packets.
pub(crate) fn distribute(seed: u64, loss: f64) -> Report {
    let path = Link::default().delay(Duration::from_millis(20)).loss(loss);
    Plan::new(seed)
        .sender(SenderConfig::default())
        .receivers(50)
        .link(path)
        .send(Object::file("model.bin", 500_000))
        .run()
}
