//! SOCKS5 (RFC 1928, RFC 1929), the server's side, without I/O: bytes in, answers out.
//!
//! GSSAPI, which RFC 1928 demands, is left out, as everywhere.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::proxy::{
    code::Code,
    destination::{Destination, Host},
};

const VERSION: u8 = 5;
const AUTH_VERSION: u8 = 1;
const NO_AUTH: u8 = 0;
const PASSWORD: u8 = 2;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;
const BIND: u8 = 2;
const ASSOCIATE: u8 = 3;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// Longest of all that a client may say before it is answered: user and password, 3 + 2 * 255, and
/// two bytes more as the longest greeting has them.
pub const SAID_MAX: usize = 515;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// A connection.
    Connect(Destination),
    /// A relay for datagrams, which come from there, as far as it knows.
    Associate(Option<SocketAddr>),
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// More bytes are needed.
    More,
    /// Send this, and go on.
    Answer(Vec<u8>),
    /// Check these, and say so to [`Handshake::on_checked`].
    Check {
        /// Who it says it is.
        user: Vec<u8>,
        /// Its password.
        password: Vec<u8>,
    },
    /// It asks for this: answer with [`reply`].
    Ask(Request),
    /// Send this, if it is something, and close.
    Close(Vec<u8>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Greeting,
    Password,
    Checking,
    Request,
    Done,
}

/// One client's handshake.
#[derive(Debug)]
pub struct Handshake {
    wants_password: bool,
    state: State,
    said: Vec<u8>,
}

impl Handshake {
    /// `wants_password`: with user and password, or not at all.
    #[must_use]
    pub const fn new(wants_password: bool) -> Self {
        Self { wants_password, state: State::Greeting, said: Vec::new() }
    }

    /// Bytes came.
    pub fn on_bytes(&mut self, bytes: &[u8]) {
        self.said.extend_from_slice(bytes);
    }

    /// What was said behind the request: the first bytes of the connection.
    #[must_use]
    pub fn into_rest(self) -> Vec<u8> {
        self.said
    }

    /// User and password are right, or wrong.
    pub fn on_checked(&mut self, right: bool) -> Step {
        self.state = if right { State::Request } else { State::Done };
        match right {
            true => Step::Answer(vec![AUTH_VERSION, 0]),
            false => Step::Close(vec![AUTH_VERSION, 1]),
        }
    }

    /// What to do next.
    pub fn step(&mut self) -> Step {
        let step = match self.state {
            State::Greeting => self.greeting(),
            State::Password => self.password(),
            State::Request => self.request(),
            State::Checking | State::Done => Step::More,
        };
        if step == Step::More && self.said.len() > SAID_MAX {
            return self.close(Vec::new());
        }
        step
    }

    fn close(&mut self, answer: Vec<u8>) -> Step {
        self.state = State::Done;
        Step::Close(answer)
    }

    fn greeting(&mut self) -> Step {
        let Some((&version, rest)) = self.said.split_first() else { return Step::More };
        if version != VERSION {
            return self.close(Vec::new());
        }
        let Some((&count, rest)) = rest.split_first() else { return Step::More };
        let Some(methods) = rest.get(..usize::from(count)) else { return Step::More };
        let wanted = if self.wants_password { PASSWORD } else { NO_AUTH };
        if !methods.contains(&wanted) {
            return self.close(vec![VERSION, NO_METHOD]);
        }
        self.said.drain(..2 + usize::from(count));
        self.state = if self.wants_password { State::Password } else { State::Request };
        Step::Answer(vec![VERSION, wanted])
    }

    fn password(&mut self) -> Step {
        let Some((&version, rest)) = self.said.split_first() else { return Step::More };
        if version != AUTH_VERSION {
            return self.close(Vec::new());
        }
        let Some((user, rest)) = counted(rest) else { return Step::More };
        let Some((password, rest)) = counted(rest) else { return Step::More };
        let (user, password) = (user.to_vec(), password.to_vec());
        let used = self.said.len() - rest.len();
        self.said.drain(..used);
        self.state = State::Checking;
        Step::Check { user, password }
    }

    fn request(&mut self) -> Step {
        let Some((&[version, command, _], rest)) = self.said.split_first_chunk() else {
            return Step::More;
        };
        if version != VERSION {
            return self.close(Vec::new());
        }
        let (host, port, rest) = match address(rest) {
            Address::More => return Step::More,
            Address::Type => return self.close(reply(Code::AddressType, None)),
            Address::Malformed => return self.close(reply(Code::General, None)),
            Address::Is(host, port, rest) => (host, port, rest),
        };
        let used = self.said.len() - rest;
        self.said.drain(..used);
        self.state = State::Done;
        match (command, host) {
            (CONNECT, Some(_)) if port == 0 => Step::Close(reply(Code::General, None)),
            (CONNECT, Some(host)) => Step::Ask(Request::Connect(Destination { host, port })),
            (CONNECT, None) => Step::Close(reply(Code::General, None)),
            (ASSOCIATE, host) => {
                let from = match host {
                    Some(Host::Address(ip)) if port != 0 => Some(SocketAddr::new(ip, port)),
                    _ => None,
                };
                Step::Ask(Request::Associate(from))
            }
            (BIND, _) => Step::Close(reply(Code::Command, None)),
            _ => Step::Close(reply(Code::Command, None)),
        }
    }
}

fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&count, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(count))
}

enum Address {
    More,
    Type,
    Malformed,
    /// No host: all zeros, or an empty one. And how many bytes are left.
    Is(Option<Host>, u16, usize),
}

fn address(bytes: &[u8]) -> Address {
    let Some((&kind, rest)) = bytes.split_first() else { return Address::More };
    let split = match kind {
        IPV4 => rest.split_at_checked(4),
        IPV6 => rest.split_at_checked(16),
        NAME => counted(rest),
        _ => return Address::Type,
    };
    let Some((host, rest)) = split else { return Address::More };
    let Some((&port, rest)) = rest.split_first_chunk::<2>() else { return Address::More };
    let ip: Option<IpAddr> = match kind {
        IPV4 => host.try_into().ok().map(|b: [u8; 4]| Ipv4Addr::from(b).into()),
        IPV6 => host.try_into().ok().map(|b: [u8; 16]| Ipv6Addr::from(b).into()),
        _ => None,
    };
    let host = match ip {
        Some(ip) if ip.is_unspecified() => None,
        Some(ip) => Some(Host::Address(ip.to_canonical())),
        // As PySocks names an address that it does not know.
        None if host == b"0" => None,
        None => match Host::parse(host) {
            Ok(host) => Some(host),
            Err(_) => return Address::Malformed,
        },
    };
    Address::Is(host, u16::from_be_bytes(port), rest.len())
}

/// The answer to a request.
#[must_use]
pub fn reply(code: Code, bound: Option<SocketAddr>) -> Vec<u8> {
    let mut bytes = vec![VERSION, code as u8, 0];
    put_address(bound.unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0))), &mut bytes);
    bytes
}

fn put_address(address: SocketAddr, out: &mut Vec<u8>) {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => {
            out.push(IPV4);
            out.extend_from_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(IPV6);
            out.extend_from_slice(&ip.octets());
        }
    }
    out.extend_from_slice(&address.port().to_be_bytes());
}

/// Why a datagram of a client is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatagramError {
    /// It is a fragment: they are not put together (RFC 1928, 7).
    Fragment,
    /// It cannot be read.
    Malformed,
}

/// Where a client's datagram is to go, and what is in it.
///
/// # Errors
/// When it is to be dropped.
pub fn datagram(bytes: &[u8]) -> Result<(Destination, &[u8]), DatagramError> {
    let Some((&[0, 0, fragment], rest)) = bytes.split_first_chunk() else {
        return Err(DatagramError::Malformed);
    };
    if fragment != 0 {
        return Err(DatagramError::Fragment);
    }
    match address(rest) {
        Address::Is(Some(host), port, left) if port != 0 => {
            Ok((Destination { host, port }, &bytes[bytes.len() - left..]))
        }
        _ => Err(DatagramError::Malformed),
    }
}

/// A datagram for a client, from there.
#[must_use]
pub fn to_datagram(from: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0, 0, 0];
    put_address(from, &mut datagram);
    datagram.extend_from_slice(bytes);
    datagram
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All that a client says, one byte at a time: the steps that are not `More`.
    fn steps(wants_password: bool, said: &[u8]) -> Vec<Step> {
        let mut handshake = Handshake::new(wants_password);
        let mut all = Vec::new();
        for byte in said {
            handshake.on_bytes(&[*byte]);
            loop {
                let step = handshake.step();
                match &step {
                    Step::More => break,
                    Step::Check { user, password } => {
                        let right = user == b"me" && password == b"secret";
                        let answer = handshake.on_checked(right);
                        all.push(step);
                        all.push(answer);
                    }
                    _ => all.push(step),
                }
            }
        }
        all
    }

    fn last(said: &[u8]) -> Step {
        steps(false, said).pop().unwrap()
    }

    fn asked(command: u8, rest: &[u8]) -> Step {
        last(&[&[5, 1, 0, 5, command, 0], rest].concat())
    }

    #[test]
    fn a_connection_is_asked_for_by_address_or_name() {
        let connect = |text: &str| Step::Ask(Request::Connect(text.parse().unwrap()));
        assert_eq!(asked(1, &[1, 10, 0, 0, 1, 0, 22]), connect("10.0.0.1:22"));
        assert_eq!(asked(1, b"\x03\x0bexample.org\x01\xbb"), connect("example.org:443"));
        let v6 = [&[4][..], &"fd00::1".parse::<Ipv6Addr>().unwrap().octets(), &[0, 80]].concat();
        assert_eq!(asked(1, &v6), connect("[fd00::1]:80"));
    }

    #[test]
    fn a_relay_is_asked_for_from_an_address_or_from_one_that_is_not_known_yet() {
        let relay = |from: Option<&str>| {
            Step::Ask(Request::Associate(from.map(|from| from.parse().unwrap())))
        };
        assert_eq!(asked(3, &[1, 10, 0, 0, 1, 0, 22]), relay(Some("10.0.0.1:22")));
        assert_eq!(asked(3, &[1, 0, 0, 0, 0, 0, 22]), relay(None));
        // As PySocks says it.
        assert_eq!(asked(3, b"\x03\x010\x00\x16"), relay(None));
        assert_eq!(asked(1, b"\x03\x010\x00\x16"), Step::Close(reply(Code::General, None)));
    }

    #[test]
    fn user_and_password_are_checked_when_they_are_wanted() {
        let said = b"\x05\x02\x00\x02\x01\x02me\x06secret\x05\x01\x00\x01\x0a\x00\x00\x01\x00\x16";
        let all = steps(true, said);
        assert_eq!(all[0], Step::Answer(vec![5, 2]));
        assert_eq!(all[2], Step::Answer(vec![1, 0]));
        assert!(matches!(all[3], Step::Ask(Request::Connect(_))));
        let wrong = steps(true, b"\x05\x01\x02\x01\x02me\x05wrong");
        assert_eq!(wrong[2], Step::Close(vec![1, 1]));
        // Only method 0 is offered, but a password is wanted, and the other way round.
        assert_eq!(steps(true, &[5, 1, 0]), [Step::Close(vec![5, 0xff])]);
        assert_eq!(steps(false, &[5, 1, 2]), [Step::Close(vec![5, 0xff])]);
        assert_eq!(steps(false, &[5, 0]), [Step::Close(vec![5, 0xff])]);
    }

    #[test]
    fn what_cannot_be_served_is_answered_with_its_code() {
        let closed = |code: u8| Step::Close(vec![5, code, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(asked(2, &[1, 10, 0, 0, 1, 0, 22]), closed(7));
        assert_eq!(asked(9, &[1, 10, 0, 0, 1, 0, 22]), closed(7));
        assert_eq!(asked(1, &[2]), closed(8));
        assert_eq!(asked(1, &[1, 10, 0, 0, 1, 0, 0]), closed(1));
        assert_eq!(asked(1, &[3, 0, 0, 22]), closed(1));
        assert_eq!(asked(1, b"\x03\x03a\0b\x00\x16"), closed(1));
        assert_eq!(asked(1, &[1, 0, 0, 0, 0, 0, 22]), closed(1));
    }

    #[test]
    fn another_version_and_endless_talk_are_cut_off() {
        assert_eq!(last(&[4, 1, 0, 22]), Step::Close(vec![]));
        assert_eq!(last(b"GET / HTTP/1.1\r\n"), Step::Close(vec![]));
        let mut handshake = Handshake::new(true);
        handshake.on_bytes(&[5, 1, 2]);
        assert_eq!(handshake.step(), Step::Answer(vec![5, 2]));
        handshake.on_bytes(&[&[1, 255][..], &[7; 255], &[255], &[7; 255]].concat());
        assert!(matches!(handshake.step(), Step::Check { .. }));
    }

    #[test]
    fn first_bytes_behind_the_request_are_kept() {
        let mut handshake = Handshake::new(false);
        handshake.on_bytes(&[5, 1, 0, 5, 1, 0, 1, 10, 0, 0, 1, 0, 22, b'h', b'i']);
        assert_eq!(handshake.step(), Step::Answer(vec![5, 0]));
        assert!(matches!(handshake.step(), Step::Ask(_)));
        assert_eq!(handshake.into_rest(), b"hi");
    }

    #[test]
    fn fragments_and_malformed_datagrams_are_dropped() {
        let good = b"\0\0\0\x01\x0a\0\0\x01\0\x35query";
        assert_eq!(datagram(good), Ok(("10.0.0.1:53".parse().unwrap(), &b"query"[..])));
        assert_eq!(datagram(b"\0\0\x01\x01\x0a\0\0\x01\0\x35q"), Err(DatagramError::Fragment));
        for cut in 0..10 {
            assert_eq!(datagram(&good[..cut]), Err(DatagramError::Malformed));
        }
        let from = "10.0.0.1:53".parse().unwrap();
        assert_eq!(to_datagram(from, b"query"), good);
    }

    proptest! {
        #[test]
        fn nothing_that_is_said_panics_or_is_kept_beyond_the_limit(
            said in proptest::collection::vec(any::<u8>(), 0..1200),
            wants in any::<bool>(),
            piece in 1usize..40,
        ) {
            let mut handshake = Handshake::new(wants);
            for bytes in said.chunks(piece) {
                handshake.on_bytes(bytes);
                loop {
                    match handshake.step() {
                        Step::More => break,
                        Step::Check { .. } => { handshake.on_checked(true); }
                        Step::Answer(_) => {}
                        Step::Ask(_) | Step::Close(_) => return Ok(()),
                    }
                }
                prop_assert!(handshake.said.len() <= SAID_MAX + piece);
            }
        }

        #[test]
        fn datagrams_of_any_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = datagram(&bytes);
        }
    }
}
