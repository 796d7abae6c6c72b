//! A gateway: connections of a whole network, taken by the kernel's TPROXY and carried over a link.
//!
//! - [`redirect`]: which destinations; [`rules`]: the rules of nftables that bring them, as text
//! - [`sockets`]: sockets with other machines' addresses
//!
//! The near side's `transparent` accepts them.

pub mod redirect;
pub mod rules;
pub mod sockets;

pub use redirect::Redirect;
pub use rules::Rules;
