//! TCP over a link: programs speak SOCKS5 or HTTP to the near side, and the far side connects.
//!
//! The near side is where the programs are, the far side where the destinations are. Both have a
//! [`crate::Link`] to each other. The far side is closed until rules open it.
//!
//! # Map, in reading order
//! - [`near`]: listeners, and what clients say; [`far`]: connections to destinations
//! - [`peering`]: what both share of one link; [`relay`]: bytes between TCP and the link; [`pipe`]:
//!   what carries them, and [`ends`]: what comes out; [`flows`]: datagrams, `far_flows`: at the far side
//! - [`norm`]: many connections in one NORM session, sealed; [`mux`]: who of them may send, without I/O
//! - [`norp`]: NRL's norp at the other end, with `far_norp`
//! - without I/O: [`socks5`], [`http_connect`], [`http_forward`], [`frame`]: what is said; [`destination`], [`code`]:
//!   where to, and how it ended; [`policy`], [`route`], [`limits`], [`users`]: who may what
//! - [`connect`], [`resolve`]: TCP and names at the far side
//! - [`gateway`]: a whole network's connections, taken by the kernel's rules
//! - [`event`]: what whoever runs it is told

pub mod code;
pub mod connect;
pub mod destination;
pub mod ends;
pub mod event;
pub mod far;
mod far_flows;
mod far_norp;
pub mod flows;
pub mod frame;
pub mod gateway;
pub mod http_connect;
pub mod http_forward;
pub mod limits;
pub mod mux;
pub mod near;
pub mod norm;
pub mod norp;
pub mod peering;
pub mod pipe;
pub mod policy;
pub mod relay;
pub mod resolve;
pub mod route;
pub mod socks5;
pub mod users;

pub use code::Code;
pub use destination::Destination;
pub use event::{Event, Listener};
pub use fanfare_proto::CongestionControl;
pub use far::{Far, FarOptions};
pub use near::{Carrier, Fallback, Front, GatewayListen, Near, NearOptions, Optimism};
pub use norm::{Sending, WARM_UP};
pub use norp::{Norp, NorpOptions};
pub use peering::Peering;
pub use policy::{Policy, Rule};
pub use route::{Routes, Via};
