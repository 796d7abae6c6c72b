//! What sender and receivers tell each other beside NORM.
//!
//! ```text
//! header of a REPORT from nobody (8), "FFS1", kind (1), sender's node id (4), then
//! 1 roster: your number (1), hosts (1), for each: number (1), 4 or 6 (1), address (4 or 16), port (2)
//! 2 ask:    own number (1), nonce (8), cookie (8; 0 at first)
//! 3 cookie: own number (1), the nonce (8), cookie (8)
//! 4 status: own number (1), flags (1), whom it serves (8), who has passed on wrong bytes (8)
//! 7 call:   255, batches that have gone to the group (4), number of the host that is named (2; 65535: all
//!           hosts of the link are called), port that is called (2), the session: 4 or 6 (1), group (4 or
//!           16), port (2)
//! 8 here:   255, nonce (8), cookie (8; 0 at first), number of the host (2, as in the call), port to which
//!           everything is to be sent (2; 0: the one that this came from)
//! 9 push:   255, port that is called (2), the session as in the call. The sender sends to this host alone,
//!           and hears no answer
//! 10 knock: 255, nonce (8), the session as in the call. The sender's node id is 0: it is not known yet
//! ```
//! The flags of a status: 1, it passes on; 2, it has had wrong bytes and does not know from whom. Kinds 5
//! and 6 were a call and its answer without the session's name, up to version 0.1.0: nobody answers them.
//!
//! A REPORT's content is open (RFC 5740 4.4.1): nodes that know nothing of this take it for a message of
//! NORM, and do nothing with it ([`Report::FROM_NOBODY`]).

use std::net::{IpAddr, SocketAddr};

use fanfare_wire::Report;

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

/// The name of a session: its group and port. What is sent to hosts alone belongs to one, and only who has
/// joined that one takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionName(SocketAddr);

impl From<SocketAddr> for SessionName {
    /// Leaves out what differs from machine to machine: the scope of an IPv6 address.
    fn from(group: SocketAddr) -> Self {
        Self(SocketAddr::new(group.ip(), group.port()))
    }
}

impl std::fmt::Display for SessionName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl SessionName {
    /// The name as keys and signatures have it. The two ends of a session with one receiver know different
    /// addresses: all of these have one name.
    #[must_use]
    pub fn signed(self) -> String {
        if self.0.ip().is_multicast() { self.to_string() } else { "unicast".to_owned() }
    }

    /// The same group at another port: a host may be named with one.
    pub(crate) fn at_port(self, port: u16) -> Self {
        Self(SocketAddr::new(self.0.ip(), port))
    }

    fn encode(self, out: &mut Vec<u8>) {
        put_ip(self.0.ip(), out);
        out.extend(self.0.port().to_be_bytes());
    }
}

/// The number of a host that is not named: all are called.
pub(crate) const ALL_HOSTS: u16 = u16::MAX;

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
    /// The sender sends in this session. It goes by broadcast, to whoever has joined the session and does not
    /// hear it; or to one host, by its number, to which the sender is to send.
    Call {
        /// Batches that have gone to the group so far; the number wraps.
        messages: u32,
        /// The number of the host, or 65535 where all are called.
        host: u16,
        /// The port that this goes to.
        called: u16,
        /// The session.
        session: SessionName,
    },
    /// The sender sends to this host in this session, and nobody is to answer: the way leads in one direction.
    Push {
        /// The port that this goes to.
        called: u16,
        /// The session.
        session: SessionName,
    },
    /// A receiver that nobody can call, behind a firewall or a router that lets in answers alone, knocks at a
    /// sender whose address it knows: send to me, in this session.
    Knock {
        /// To be echoed in a cookie.
        nonce: u64,
        /// The session.
        session: SessionName,
    },
    /// Answer to the one that has called: send to me.
    Here {
        /// To be echoed in a cookie.
        nonce: u64,
        /// The last one that was given, or 0.
        cookie: u64,
        /// The number in the call.
        host: u16,
        /// The port to send to; 0: the one that this came from.
        port: u16,
    },
}

/// Content behind the header and the magic.
fn content(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_prefix(&Report::FROM_NOBODY)?.strip_prefix(&MAGIC)
}

impl Message {
    /// True if it is one of these messages, and not NORM.
    #[must_use]
    pub fn is_one(bytes: &[u8]) -> bool {
        content(bytes).is_some()
    }

    /// The number that an answer is to echo, where there is one.
    pub(crate) fn nonce(&self) -> Option<u64> {
        match self {
            Self::Ask { nonce, .. }
            | Self::Cookie { nonce, .. }
            | Self::Knock { nonce, .. }
            | Self::Here { nonce, .. } => Some(*nonce),
            Self::Roster(_) | Self::Status(_) | Self::Call { .. } | Self::Push { .. } => None,
        }
    }

    /// As bytes, about the transfer of `sender`.
    #[must_use]
    pub fn encode(&self, sender: u32) -> Vec<u8> {
        let mut out = Report::FROM_NOBODY.to_vec();
        out.extend(MAGIC);
        out.push(match self {
            Self::Roster(_) => 1,
            Self::Ask { .. } => 2,
            Self::Cookie { .. } => 3,
            Self::Status(_) => 4,
            Self::Call { .. } => 7,
            Self::Here { .. } => 8,
            Self::Push { .. } => 9,
            Self::Knock { .. } => 10,
        });
        out.extend(sender.to_be_bytes());
        match self {
            Self::Roster(Roster { you, hosts }) => {
                out.extend([*you, hosts.len().min(HOSTS_MAX) as u8]);
                for (number, address) in hosts.iter().take(HOSTS_MAX) {
                    out.push(*number);
                    put_ip(address.ip(), &mut out);
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
            Self::Call { messages, host, called, session } => {
                out.push(NO_HOST);
                out.extend(messages.to_be_bytes());
                out.extend(host.to_be_bytes());
                out.extend(called.to_be_bytes());
                session.encode(&mut out);
            }
            Self::Push { called, session } => {
                out.push(NO_HOST);
                out.extend(called.to_be_bytes());
                session.encode(&mut out);
            }
            Self::Knock { nonce, session } => {
                out.push(NO_HOST);
                out.extend(nonce.to_be_bytes());
                session.encode(&mut out);
            }
            Self::Here { nonce, cookie, host, port } => {
                out.push(NO_HOST);
                out.extend(nonce.to_be_bytes());
                out.extend(cookie.to_be_bytes());
                out.extend(host.to_be_bytes());
                out.extend(port.to_be_bytes());
            }
        }
        out
    }

    /// The sender that it is about, and the message; `None` for anything else.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<(u32, Self)> {
        let mut read = Reader(content(bytes)?);
        let [kind] = read.take()?;
        let sender = u32::from_be_bytes(read.take()?);
        let [host] = read.take()?;
        let message = match kind {
            1 => {
                let [count] = read.take()?;
                let mut hosts = Vec::new();
                for _ in 0..usize::from(count).min(HOSTS_MAX) {
                    let [number] = read.take()?;
                    hosts.push((number, read.address()?));
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
            7 => {
                let messages = u32::from_be_bytes(read.take()?);
                let host = u16::from_be_bytes(read.take()?);
                let called = u16::from_be_bytes(read.take()?);
                Self::Call { messages, host, called, session: SessionName(read.address()?) }
            }
            8 => {
                let nonce = u64::from_be_bytes(read.take()?);
                let cookie = u64::from_be_bytes(read.take()?);
                let host = u16::from_be_bytes(read.take()?);
                Self::Here { nonce, cookie, host, port: u16::from_be_bytes(read.take()?) }
            }
            9 => {
                let called = u16::from_be_bytes(read.take()?);
                Self::Push { called, session: SessionName(read.address()?) }
            }
            10 => {
                let nonce = u64::from_be_bytes(read.take()?);
                Self::Knock { nonce, session: SessionName(read.address()?) }
            }
            _ => return None,
        };
        Some((sender, message))
    }
}

fn put_ip(ip: IpAddr, out: &mut Vec<u8>) {
    match ip {
        IpAddr::V4(ip) => {
            out.push(4);
            out.extend(ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(6);
            out.extend(ip.octets());
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn address(&mut self) -> Option<SocketAddr> {
        let [family] = self.take()?;
        let ip = match family {
            4 => IpAddr::from(self.take::<4>()?),
            6 => IpAddr::from(self.take::<16>()?),
            _ => return None,
        };
        Some(SocketAddr::new(ip, u16::from_be_bytes(self.take()?)))
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
            Message::Call { messages: 9, host: ALL_HOSTS, called: 6003, session: four.into() },
            Message::Call { messages: 9, host: 2, called: 6004, session: six.into() },
            Message::Here { nonce: 6, cookie: 3, host: 2, port: 50_000 },
            Message::Push { called: 6004, session: six.into() },
            Message::Knock { nonce: 6, session: four.into() },
        ];
        for message in all {
            let bytes = message.encode(77);
            assert_eq!(Message::parse(&bytes), Some((77, message)));
            assert!((0..bytes.len()).all(|end| Message::parse(&bytes[..end]).is_none()));
        }
        assert_eq!(Message::parse(&[0x12; 60]), None);
    }

    #[test]
    fn a_call_without_a_session_as_version_0_1_0_sent_it_is_no_message() {
        let mut old = MAGIC.to_vec();
        old.extend([5, 0, 0, 0, 77, NO_HOST, 0, 0, 0, 9]);
        assert_eq!(Message::parse(&old), None);
    }

    #[test]
    fn a_session_is_its_group_and_port_whatever_the_scope_is() {
        let scoped = |scope| {
            let v6 = std::net::SocketAddrV6::new("ff02::1:3".parse().unwrap(), 6003, 0, scope);
            SessionName::from(SocketAddr::V6(v6))
        };
        assert_eq!(scoped(2), scoped(3));
        let four = |last, port| SessionName::from(SocketAddr::from(([239, 255, 42, last], port)));
        assert!(four(1, 6003) != four(2, 6003) && four(1, 6003) != four(1, 6004));
    }

    #[test]
    fn a_set_holds_the_first_64_hosts_and_no_others() {
        let set = Set::default().with(0).with(63).with(64);
        assert!(set.has(0) && set.has(63) && !set.has(64) && !set.has(1));
    }
}
