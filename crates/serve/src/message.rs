//! What sender and receivers tell each other beside NORM.
//!
//! ```text
//! "FFS1", kind (1), sender's node id (4), then
//! 1 roster: your number (1), hosts (1), for each: number (1), 4 or 6 (1), address (4 or 16), port (2)
//! 2 ask:    own number (1), nonce (8), cookie (8; 0 at first)
//! 3 cookie: own number (1), the nonce (8), cookie (8)
//! 4 status: own number (1), flags (1), whom it serves (8), who has passed on wrong bytes (8)
//! 5 call:   255, batches that have gone to the group (4)
//! 6 deaf:   255, nonce (8), cookie (8; 0 at first)
//! ```
//! The flags of a status: 1, it passes on; 2, it has had wrong bytes and does not know from whom.
//!
//! No NORM message begins with an F: nodes that know nothing of this drop it.

use std::net::{IpAddr, SocketAddr};

const MAGIC: [u8; 4] = *b"FFS1";
/// Hosts of one transfer that can pass on to each other: a set of them is one word.
pub const HOSTS_MAX: usize = 64;
/// The number of a host that has none.
pub(crate) const NO_HOST: u8 = 255;

/// A set of hosts, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Set(pub u64);

impl Set {
    /// Whether this host is in it.
    #[must_use]
    pub fn has(self, host: usize) -> bool {
        host < HOSTS_MAX && self.0 >> host & 1 == 1
    }

    /// With this host.
    #[must_use]
    pub fn with(self, host: usize) -> Self {
        if host < HOSTS_MAX { Self(self.0 | 1 << host) } else { self }
    }
}

/// Who is in a transfer, as the sender tells each of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    /// The number of the one that is told.
    pub you: u8,
    /// Numbers and addresses.
    pub hosts: Vec<(u8, SocketAddr)>,
}

/// What a receiver tells the sender of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status {
    /// Its number.
    pub host: u8,
    /// It passes on what it is given.
    pub passes: bool,
    /// It has had wrong bytes, and does not know yet who passed them on.
    pub suspects: bool,
    /// Who gets from it what it is given.
    pub serves: Set,
    /// Who has passed on wrong bytes to it.
    pub wrong: Set,
}

/// One message, about the transfer of this sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Who is in the transfer.
    Roster(Roster),
    /// Pass on to me; with a cookie that shows that I am here.
    Ask {
        /// The number of who asks.
        host: u8,
        /// To be echoed.
        nonce: u64,
        /// The last one that was given, or 0.
        cookie: u64,
    },
    /// Ask again with this.
    Cookie {
        /// The number of who answers.
        host: u8,
        /// That of the request.
        nonce: u64,
        /// For the next request.
        cookie: u64,
    },
    /// What a receiver does.
    Status(Status),
    /// By broadcast: the sender sends to the group.
    Call {
        /// Batches that have gone there so far; the number wraps.
        messages: u32,
    },
    /// To who has called: nothing of that is heard here.
    Deaf {
        /// To be echoed in a cookie.
        nonce: u64,
        /// The last one that was given, or 0.
        cookie: u64,
    },
}

/// Whether it is one of these messages, and not NORM.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

impl Message {
    /// As bytes, about the transfer of `sender`.
    #[must_use]
    pub fn encode(&self, sender: u32) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.push(match self {
            Self::Roster(_) => 1,
            Self::Ask { .. } => 2,
            Self::Cookie { .. } => 3,
            Self::Status(_) => 4,
            Self::Call { .. } => 5,
            Self::Deaf { .. } => 6,
        });
        out.extend(sender.to_be_bytes());
        match self {
            Self::Roster(Roster { you, hosts }) => {
                out.extend([*you, hosts.len().min(HOSTS_MAX) as u8]);
                for (number, address) in hosts.iter().take(HOSTS_MAX) {
                    out.push(*number);
                    match address.ip() {
                        IpAddr::V4(ip) => {
                            out.push(4);
                            out.extend(ip.octets());
                        }
                        IpAddr::V6(ip) => {
                            out.push(6);
                            out.extend(ip.octets());
                        }
                    }
                    out.extend(address.port().to_be_bytes());
                }
            }
            Self::Ask { host, nonce, cookie } | Self::Cookie { host, nonce, cookie } => {
                out.push(*host);
                out.extend(nonce.to_be_bytes());
                out.extend(cookie.to_be_bytes());
            }
            Self::Status(Status { host, passes, suspects, serves, wrong }) => {
                out.extend([*host, u8::from(*passes) | u8::from(*suspects) << 1]);
                out.extend(serves.0.to_be_bytes());
                out.extend(wrong.0.to_be_bytes());
            }
            Self::Call { messages } => {
                out.push(NO_HOST);
                out.extend(messages.to_be_bytes());
            }
            Self::Deaf { nonce, cookie } => {
                out.push(NO_HOST);
                out.extend(nonce.to_be_bytes());
                out.extend(cookie.to_be_bytes());
            }
        }
        out
    }

    /// The sender that it is about, and the message; `None` for anything else.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<(u32, Self)> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let mut read = Reader(rest);
        let [kind] = read.take()?;
        let sender = u32::from_be_bytes(read.take()?);
        let [host] = read.take()?;
        let message = match kind {
            1 => {
                let [count] = read.take()?;
                let mut hosts = Vec::new();
                for _ in 0..usize::from(count).min(HOSTS_MAX) {
                    let [number, family] = read.take()?;
                    let ip = match family {
                        4 => IpAddr::from(read.take::<4>()?),
                        6 => IpAddr::from(read.take::<16>()?),
                        _ => return None,
                    };
                    let port = u16::from_be_bytes(read.take()?);
                    hosts.push((number, SocketAddr::new(ip, port)));
                }
                Self::Roster(Roster { you: host, hosts })
            }
            2 | 3 => {
                let nonce = u64::from_be_bytes(read.take()?);
                let cookie = u64::from_be_bytes(read.take()?);
                match kind {
                    2 => Self::Ask { host, nonce, cookie },
                    _ => Self::Cookie { host, nonce, cookie },
                }
            }
            4 => {
                let [flags] = read.take()?;
                let serves = Set(u64::from_be_bytes(read.take()?));
                let wrong = Set(u64::from_be_bytes(read.take()?));
                let (passes, suspects) = (flags & 1 != 0, flags & 2 != 0);
                Self::Status(Status { host, passes, suspects, serves, wrong })
            }
            5 => Self::Call { messages: u32::from_be_bytes(read.take()?) },
            6 => {
                let nonce = u64::from_be_bytes(read.take()?);
                Self::Deaf { nonce, cookie: u64::from_be_bytes(read.take()?) }
            }
            _ => return None,
        };
        Some((sender, message))
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written_and_never_half() {
        let four = SocketAddr::from(([10, 0, 0, 2], 6003));
        let six = SocketAddr::from(([0xfd00, 0, 0, 0, 0, 0, 0, 1], 7));
        let all = [
            Message::Roster(Roster { you: 3, hosts: vec![(0, four), (3, six)] }),
            Message::Ask { host: 1, nonce: 5, cookie: 0 },
            Message::Cookie { host: 2, nonce: 5, cookie: 99 },
            Message::Status(Status {
                host: 4,
                passes: true,
                suspects: true,
                serves: Set(7),
                wrong: Set(8),
            }),
            Message::Call { messages: 9 },
            Message::Deaf { nonce: 6, cookie: 3 },
        ];
        for message in all {
            let bytes = message.encode(77);
            assert_eq!(Message::parse(&bytes), Some((77, message)));
            assert!((0..bytes.len()).all(|end| Message::parse(&bytes[..end]).is_none()));
        }
        assert_eq!(Message::parse(&[0x12; 60]), None);
    }

    #[test]
    fn a_set_holds_the_first_64_hosts_and_no_others() {
        let set = Set::default().with(0).with(63).with(64);
        assert!(set.has(0) && set.has(63) && !set.has(64) && !set.has(1));
    }
}
