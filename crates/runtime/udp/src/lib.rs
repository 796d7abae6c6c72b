//! Multicast UDP on real systems: membership, offload, ECN, and waiting with nanosecond timeouts.
//!
//! An [`Endpoint`] is a pair of sockets. One is bound to the group and only receives. The other is
//! bound to the interface's own address on a port of its own; it sends everything, and receives the
//! feedback that peers send by unicast. Where the kernel can (Linux UDP_SEGMENT and UDP_GRO) it
//! segments and coalesces; elsewhere there is one call for each datagram. Callers see the same
//! datagrams either way.
//!
//! Modules in reading order:
//! - [`address`]: group addresses as a user writes them
//! - [`interface`]: the interfaces of the system; `choice`: which one a group uses
//! - [`config`]: how an endpoint is opened; [`endpoint`]: its sockets
//! - `group`: one group's receiving socket and its membership
//! - `direct`: what is sent to this machine alone; `local_bus`: programs of a machine pass it on
//! - [`follow`]: the interface goes, comes back, or gets another address; `watch`: news of that
//! - `filter`: drops looped-back datagrams
//! - [`transmit`], [`receive`], [`wait`]: sending, receiving, waiting
//! - [`ecn`], [`error`]: ECN marks, and errors
//! - `settings`: what changes while an endpoint is open
//! - [`os`]: what differs between operating systems, in one shape
//! - `option`, `netlink`: Linux features without a safe wrapper; the crate's unsafe code is in
//!   `option`

pub mod address;
pub mod broadcast;
mod choice;
pub mod config;
mod direct;
pub mod ecn;
pub mod endpoint;
pub mod error;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod filter;
pub mod follow;
mod group;
pub mod interface;
mod layers;
mod local_bus;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod netlink;
mod option;
pub mod os;
pub mod receive;
mod scoped_host;
mod settings;
pub mod transmit;
pub mod wait;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod watch;

pub use address::{GroupSpec, GroupSpecError};
pub use choice::{choose_interface, has_only_ipv6, interface_towards};
pub use config::Awaited;
pub use config::{EndpointConfig, HeardHosts, Role, is_private_host};
pub use endpoint::{ChosenInterface, Endpoint};
pub use error::OpenError;
pub use fanfare_wire::units::Ecn;
pub use follow::Change;
pub use interface::{Interface, interfaces};
pub use receive::{RecvMeta, TURN, Via};
pub use rustix::fd::BorrowedFd as WaitFd;
pub use scoped_host::scoped_host;
pub use transmit::MAX_GSO_SEGMENTS;
pub use wait::Ready;
