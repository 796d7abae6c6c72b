//! Datagrams sealed with a key that all members of a group have.
//!
//! A [`Seal`] stands below the session: what goes out is sealed, what comes in is opened, and nothing
//! that does not open goes any further. It has no clock, socket or chance of its own.
//!
//! ```
//! use fanfare_crypto::{Form, Key, Moment, Seal, Settings};
//! let settings = || Settings::new(vec![Key::from_secret([7; 32], 1)], "239.255.42.1:6003");
//! let (now, source) = (Moment::default(), "10.0.0.1:6003".parse().unwrap());
//! let (mut one, mut other) = (Seal::new(settings(), [1; 16]), Seal::new(settings(), [2; 16]));
//! let (mut sealed, mut opened) = (Vec::new(), Vec::new());
//! let hello = one.hello(now, None);
//! one.seal(now, b"a message", &mut sealed);
//! other.open(now, source, &hello, &mut opened).unwrap();
//! other.open(now, source, &sealed, &mut opened).unwrap();
//! assert_eq!(opened, b"a message");
//! assert_eq!(sealed.len(), opened.len() + Form::Long.overhead());
//! ```
//!
//! # On the wire
//! ```text
//! a message         byte 0   0x08 | generation << 4         a message in   byte 0  0x48 | generation << 4
//! (24 bytes more)   byte 1   epoch, low 8 bits              short form     byte 1  slot, low 8 bits
//!                   byte 2-3 slot                           (12 bytes      byte 2-3 number, low 16
//!                   byte 4-7 number, low 32 bits             more)                  bits
//!                   AES-128-GCM of the message,                            AES-128-CCM of the message,
//!                   its tag of 16 bytes                                    its tag of 8 bytes
//!
//! a hello           byte 0     0x88                      inside: the sender's clock, microseconds since
//! (81 bytes)        byte 1     epoch, low 8 bits         1970 (8), number of its next message (8),
//!                   byte 2-3   slot                      generation (4), flags (1: please answer), its
//!                   byte 4-7   key id                    question (8), the question it answers (8)
//!                   byte 8-23  salt
//!                   byte 24-27 number of this hello
//!                   AES-128-GCM, its tag of 16 bytes
//! ```
//! The low half of byte 0 is 8, which no NORM message has. All numbers have the high byte first. The
//! bytes ahead of the sealed ones, and 8 bytes that stand for the group's address, are authenticated.
//!
//! # Map, in reading order
//! - [`key`]: what members share, and the file that holds it; [`passphrase`]: a key from words; [`hex`]:
//!   digits in such files
//! - `schedule`: keys of epochs, senders and generations; `cipher`: what is done with them
//! - `packet`: the bytes ahead; `hello`: who a sender is
//! - `sealer`: what goes out; `opener`, `member`, `window`: what comes in; `greeting`: when to say hello
//! - [`Seal`]: all of it; [`Refusal`]: why something does not open; [`Notice`]: what people are told
//!
//! Beside all this, [`identity`]: a node's own key pair and signatures; [`trust`]: whose are believed;
//! [`policy`]: who may do what, from a file; [`toml`]: mistakes in such files, with their lines.
//!
//! `testdata/vectors.txt` is made by `testdata/vectors.py`, which shares no code with this crate.

mod cipher;
mod greeting;
mod hello;
pub mod hex;
pub mod identity;
pub mod key;
mod member;
mod notice;
mod opener;
mod packet;
pub mod passphrase;
pub mod policy;
mod refusal;
mod schedule;
mod seal;
mod sealer;
pub mod toml;
pub mod trust;
#[cfg(test)]
mod vectors;
mod window;

pub use identity::{Identity, PublicKey, Purpose, Signature};
pub use key::{Key, KeyError, KeyId};
pub use notice::Notice;
pub use packet::Form;
pub use refusal::Refusal;
pub use seal::{Keyless, Moment, Seal, Settings};
pub use trust::Trusted;

/// Random bytes drawn anew at each start: they keep the same key and number from being used twice.
pub type Salt = [u8; 16];

/// A salt from the operating system; `None` where that has none to give: nothing may be sealed then.
#[must_use]
pub fn system_salt() -> Option<Salt> {
    let mut salt = [0; 16];
    ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut salt).ok().map(|()| salt)
}
