//! Files to hosts that multicast does not reach.

mod hosts;
mod roads;
mod serving;
