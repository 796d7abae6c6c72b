//! Two machines meet by a short code, such as `7-otter-granite-river`: whoever knows it gets the key of
//! a transfer, and whoever guesses has a few tries.
//!
//! The number tells several senders of a network apart, and is no secret. The words are: 24 bits of
//! chance. They do not travel. Both sides put them into SPAKE2, a key exchange whose result is the same
//! only for the same words, and of which a stranger learns nothing. Each exchange is one guess.
//!
//! ```
//! use fanfare_command::code_exchange::{Code, Grant, Guest, Host, HostEvent, GuestEvent, Terms};
//! use std::time::Duration;
//! let code = Code::parse("7-otter-granite-river").unwrap();
//! let grant = Grant { secret: [7; 32], group: "239.255.42.1:6003".parse().unwrap(), name: "desk".into() };
//! let mut host = Host::new(&code, grant.clone(), Terms::default(), [1; 8]);
//! let mut guest = Guest::new(&code, [2; 16]);
//! let (here, there) = ("10.0.0.1:9".parse().unwrap(), "10.0.0.2:9".parse().unwrap());
//! host.handle_timeout(Duration::ZERO);
//! // The beacon; then proposal, answer, proof, grant.
//! while let Some((_, message)) = host.poll_transmit() {
//!     guest.on_datagram(Duration::ZERO, here, &message);
//!     while let Some((_, message)) = guest.poll_transmit() {
//!         host.on_datagram(Duration::ZERO, there, &message);
//!     }
//! }
//! assert_eq!(host.poll_event(), Some(HostEvent::Joined(there)));
//! let told: Vec<GuestEvent> = std::iter::from_fn(|| guest.poll_event()).collect();
//! assert!(told.contains(&GuestEvent::Granted { grant, host: here }));
//! ```
//!
//! # Map, in reading order
//! - [`Code`]: a number and three words; `words`: those that there are
//! - `message`: what travels, as bytes; `secret`: what follows from an exchange
//! - [`Host`]: who has made a code; [`Guest`]: who has been told it. Neither has a clock or a socket
//! - [`meeting`]: both on real sockets

mod code;
mod guest;
mod host;
pub mod meeting;
mod message;
mod secret;
mod words;

pub use code::{Code, CodeError};
pub use guest::{Guest, GuestEvent};
pub use host::{Host, HostEvent, Terms};
pub use secret::Grant;

/// Where hosts and guests look for each other: next to the groups for files and for messages.
pub const MEETING_PLACE: &str = "239.255.42.3:6005";
