//! What the scenarios in `tests/` share: the beginning of a plan.
//!
//! Each file in `tests/` is one behaviour of the protocol, and each test is one sentence about it.
//! A test states loss, delay and seed in its first lines. `FANFARE_SEED` sets another seed.

use fanfare_proto::{Bitrate, Duration, FecConfig, ReceiverConfig, SenderConfig, SessionConfig};
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

/// A node of a small group at 1 Mbit/s, which sends and receives.
#[must_use]
pub fn member() -> SessionConfig {
    let fec = FecConfig { source: 64, parity: 64, ..FecConfig::default() };
    let sender = SenderConfig {
        rate: Bitrate::mbps(1),
        fec,
        group_size: 10,
        grtt_initial: ms(50),
        ..SenderConfig::default()
    };
    SessionConfig {
        sender: Some(sender),
        receiver: Some(ReceiverConfig { objects_max: 1024, ..ReceiverConfig::default() }),
        ..SessionConfig::default()
    }
}
