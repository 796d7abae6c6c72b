//! Groups, gateways, bridges and nodes.

mod bridge;
#[cfg(feature = "nats")]
mod broker;
mod bursts;
mod clones;
mod delivery;
mod gateway;
mod greeting;
mod groups;
mod interfaces;
mod monitor;
#[cfg(feature = "nats")]
mod nats;
pub(crate) mod node;
mod node_groups;
mod one_source;
mod socket;
