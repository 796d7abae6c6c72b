//! Files to hosts that multicast does not reach.

mod firewalls;
mod hosts;
mod mtu;
mod one_way;
mod roads;
mod serving;
mod walls;
