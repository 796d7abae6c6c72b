//! What the scenarios in `tests/` share: how a plan begins.
//!
//! Each file in `tests/` is one behaviour of the protocol, each test one sentence about it. A test
//! states loss, delay and seed in its first lines; `FANFARE_SEED` puts another seed in its place.

use fanfare_proto::Duration;
use fanfare_sim::{Host, Hosts, Plan};

/// The first host of every plan here: it sends.
pub const SENDER: Host = Host(0);

/// The seed in `FANFARE_SEED`, when there is one.
#[must_use]
pub fn chosen_seed() -> Option<u64> {
    std::env::var("FANFARE_SEED").ok()?.parse().ok()
}

/// A plan named after the running test, with `seed` or the seed in `FANFARE_SEED`.
#[must_use]
pub fn plan(seed: u64) -> Plan {
    let thread = std::thread::current();
    Plan::new(chosen_seed().unwrap_or(seed)).named(thread.name().unwrap_or_default())
}

/// All hosts but the first, of a plan with `n` receivers.
#[must_use]
pub fn receivers(n: u16) -> Hosts {
    Hosts::Span(Host(1), Host(n))
}

/// So many milliseconds.
#[must_use]
pub const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// So many seconds.
#[must_use]
pub const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}
