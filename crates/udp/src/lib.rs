//! Multicast UDP on real systems: membership, offload, ECN, and waiting with nanosecond timeouts.
//!
//! An [`Endpoint`] is a pair of sockets. One is bound to the group and only receives; the other is
//! bound to the interface's own address on a port of its own, sends everything, and receives the
//! feedback that peers send to it by unicast. Segmentation and coalescing are done by the kernel
//! where it can (Linux UDP_SEGMENT and UDP_GRO) and by one call per datagram elsewhere; callers see
//! the same datagrams either way.
//!
//! Modules in reading order:
//! - [`address`]: what a user writes for a group, in all accepted forms
//! - [`interface`]: what interfaces the system has; [`choice`]: which one a group uses
//! - [`endpoint`]: configuration and the pair of sockets
//! - `group`: one group's receiving socket and its membership
//! - `filter`: not hearing oneself
//! - [`transmit`], [`receive`], [`wait`]: the three things done with sockets all day
//! - [`ecn`], [`error`]: congestion marks and what can go wrong
//! - `option`, `netlink`: what Linux offers only by number; the crate's unsafe code is in `option`

pub mod address;
pub mod choice;
pub mod ecn;
pub mod endpoint;
pub mod error;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod filter;
mod group;
pub mod interface;
mod layers;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod netlink;
mod option;
pub mod receive;
pub mod transmit;
pub mod wait;

pub use address::{GroupSpec, GroupSpecError};
pub use choice::choose_interface;
pub use ecn::Ecn;
pub use endpoint::{Endpoint, EndpointConfig, Role};
pub use error::OpenError;
pub use interface::{Interface, interfaces};
pub use receive::{RecvMeta, TURN, Via};
pub use transmit::MAX_GSO_SEGMENTS;
pub use wait::Ready;
