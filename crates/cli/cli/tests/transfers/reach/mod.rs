//! Files to hosts that multicast does not reach.

mod firewalls;
mod hosts;
mod mtu;
mod one_way;
mod public_addresses;
mod roads;
mod serving;
mod walls;
