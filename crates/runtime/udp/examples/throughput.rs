//! How fast one endpoint sends to another over loopback multicast, by kernel segmentation and by
//! one call per datagram: `cargo run --release -p fanfare-udp --example throughput -- [MB]`.
//!
//! Send and receive take turns in one thread, so nothing is lost and the figure is the cost of both
//! sides together.

#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::time::Instant;

use fanfare_udp::{Endpoint, EndpointConfig, choose_interface};

const SEGMENT: usize = 1400;
const BATCH: usize = 45;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let megabytes: usize = std::env::args().nth(1).map_or(Ok(1000), |text| text.parse())?;
    for (name, gso, gro) in [
        ("GSO and GRO", true, true),
        ("GSO only", true, false),
        ("GRO only", false, true),
        ("plain", false, false),
    ] {
        let (bytes, seconds) = run(megabytes * 1_000_000, gso, gro)?;
        println!("{name:12} {:6.2} Gbit/s", bytes as f64 * 8e-9 / seconds);
    }
    Ok(())
}

fn run(total: usize, gso: bool, gro: bool) -> Result<(usize, f64), Box<dyn std::error::Error>> {
    let mut config = EndpointConfig { gso, gro, ..EndpointConfig::default() };
    config.interface = Some(choose_interface(config.group.ip(), Some("lo"))?);
    let sender =
        Endpoint::open(&EndpointConfig { role: fanfare_udp::Role::Sender, ..config.clone() })?;
    let mut receiver = Endpoint::open(&config)?;
    let batch = vec![0x5a; SEGMENT * BATCH];
    let (mut sent, mut received) = (0, 0);
    let start = Instant::now();
    while sent < total {
        sent += sender.send(config.group, SEGMENT, None, &batch)?;
        receiver.receive(|_, bytes| received += bytes.len())?;
    }
    if received < sent {
        eprintln!("{} of {sent} bytes lost", sent - received);
    }
    Ok((received, start.elapsed().as_secs_f64()))
}
