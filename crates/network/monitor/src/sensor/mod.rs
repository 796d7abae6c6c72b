//! What the operating system can tell the monitor: packets that pass by, interfaces, the host, and
//! agents of SNMP. Only headers of packets are looked at, and nothing but SNMP is sent.
//!
//! - `capture`: packets of an interface (Linux alone), and the rights that are given up; `replay`: packets of a file
//! - `dissect`: a frame's bytes become a sighting, as `fanfare_messaging::monitor::observe` takes it
//! - `copies`: packets that a router shows twice
//! - `host`: processors, memory, battery; `interfaces`: counters of network interfaces
//! - `snmp`: other machines' interfaces, by SNMP v2c
//! - `report`: everything of a span of time, as JSON; `address`: how much of addresses is told

mod address;
#[cfg(target_os = "linux")]
pub mod capture;
pub mod copies;
pub mod dissect;
pub mod host;
pub mod interfaces;
pub mod replay;
pub mod report;
pub mod snmp;

pub use address::Addresses;
