//! Passing on between programs of one machine that share a port.
//!
//! A datagram to one of the machine's own addresses reaches one socket only, whichever program opened it
//! last; it may be meant for another. So each program passes on what it hears that way to the broadcast
//! address of the loopback network, where all of them listen. Only invitations come so, a few a second:
//! what is sent to one program goes to a port of its own.
//!
//! ```text
//! header of a NORM_REPORT from nobody (8), "FFL1", token of the program that passes it on (8), interface (4),
//! 4 or 6 (1), address it came from (4 or 16), port (2), 4 or 6 (1), address it went to, the datagram
//! ```
//! Other programs that listen there speak NORM, and do nothing with a REPORT (RFC 5740 4.4.1).

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};

/// Version 1, type 6, a header of 2 words, and no number or node; then what it is.
const MAGIC: [u8; 12] = *b"\x16\x02\0\0\0\0\0\0FFL1";
/// The broadcast address of the loopback network 127.0.0.0/8 (RFC 1122 3.2.1.3): nothing sent there leaves
/// the machine, and nothing from outside may come in with such an address.
const EVERY_PROGRAM: Ipv4Addr = Ipv4Addr::new(127, 255, 255, 255);
/// Longest datagram that is passed on: invitations are shorter, sealed ones too. Data is longer, and where
/// somebody takes it at this port, it is no other program's.
const LONGEST: usize = 256;
/// Datagrams passed on in a second at most: 64 senders that invite four times a second. A flood from
/// outside is not to become one inside.
const EACH_SECOND: u32 = 256;

/// True if it is one of these datagrams.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// A datagram that another program of this machine has passed on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PassedOn<'a> {
    /// Address that it came from.
    pub(crate) source: SocketAddr,
    /// The address of this machine that it was sent to.
    pub(crate) destination: IpAddr,
    /// The interface that it came in by.
    pub(crate) interface: u32,
    pub(crate) datagram: &'a [u8],
}

/// The socket on which programs of this machine pass on to each other.
#[derive(Debug)]
pub(crate) struct LocalBus {
    pub(crate) socket: Socket,
    port: u16,
    token: u64,
    /// Time at which the present second began, and what was passed on in it.
    second: Instant,
    passed: u32,
    /// Datagrams that were not passed on because there were too many.
    pub(crate) dropped: u64,
}

impl LocalBus {
    /// Listens at this port. Fails where a system has no such address (all but Linux may not).
    pub(crate) fn open(port: u16, token: u64) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_reuse_address(true)?;
        socket.set_broadcast(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&SocketAddr::from((EVERY_PROGRAM, port)).into())?;
        let (second, passed, dropped) = (Instant::now(), 0, 0);
        Ok(Self { socket, port, token, second, passed, dropped })
    }

    /// Passes a datagram on to the other programs.
    pub(crate) fn pass(&mut self, passed: &PassedOn<'_>) {
        let now = Instant::now();
        if now.duration_since(self.second) >= Duration::from_secs(1) {
            (self.second, self.passed) = (now, 0);
        }
        if passed.datagram.len() > LONGEST {
            return;
        }
        if self.passed >= EACH_SECOND {
            self.dropped += 1;
            return;
        }
        self.passed += 1;
        let to = SocketAddr::from((EVERY_PROGRAM, self.port));
        // A lost one is said again: whoever invites does so several times.
        let _ = self.socket.send_to(&encode(self.token, passed), &to.into());
    }

    /// Gives `each` what other programs have passed on, at most `most`; how many there were.
    pub(crate) fn drain(
        &self,
        most: usize,
        mut each: impl FnMut(&PassedOn<'_>),
    ) -> io::Result<usize> {
        let mut buffer = [0_u8; LONGEST + 64];
        for count in 0..most {
            let taken = io::Read::read(&mut &self.socket, &mut buffer);
            let length = match taken {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(count),
                Err(error) => return Err(error),
            };
            let bytes = buffer.get(..length).unwrap_or_default();
            if let Some(passed) = parse(self.token, bytes) {
                each(&passed);
            }
        }
        Ok(most)
    }
}

fn encode(token: u64, passed: &PassedOn<'_>) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend(token.to_be_bytes());
    out.extend(passed.interface.to_be_bytes());
    put(passed.source.ip(), &mut out);
    out.extend(passed.source.port().to_be_bytes());
    put(passed.destination, &mut out);
    out.extend_from_slice(passed.datagram);
    out
}

fn put(address: IpAddr, out: &mut Vec<u8>) {
    match address {
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

/// Reads what another program passed on; `None` for its own and for anything else.
fn parse(own: u64, bytes: &[u8]) -> Option<PassedOn<'_>> {
    let rest = bytes.strip_prefix(&MAGIC)?;
    let (token, rest) = rest.split_first_chunk::<8>()?;
    let (interface, rest) = rest.split_first_chunk::<4>()?;
    let interface = u32::from_be_bytes(*interface);
    let (from, rest) = take(rest)?;
    let (port, rest) = rest.split_first_chunk::<2>()?;
    let (destination, datagram) = take(rest)?;
    let source = match SocketAddr::new(from, u16::from_be_bytes(*port)) {
        // It means nothing without its interface.
        SocketAddr::V6(mut v6) if v6.ip().is_unicast_link_local() => {
            v6.set_scope_id(interface);
            SocketAddr::V6(v6)
        }
        other => other,
    };
    (u64::from_be_bytes(*token) != own).then_some(PassedOn {
        source,
        destination,
        interface,
        datagram,
    })
}

fn take(bytes: &[u8]) -> Option<(IpAddr, &[u8])> {
    let (family, rest) = bytes.split_first()?;
    match family {
        4 => rest.split_first_chunk::<4>().map(|(ip, rest)| (IpAddr::from(*ip), rest)),
        6 => rest.split_first_chunk::<16>().map(|(ip, rest)| (IpAddr::from(*ip), rest)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(source: &str) -> PassedOn<'static> {
        let source = source.parse().unwrap();
        let destination = "10.0.0.2".parse().unwrap();
        PassedOn { source, destination, interface: 3, datagram: b"FFS1 hello" }
    }

    #[test]
    fn what_is_passed_on_is_a_report_from_nobody_as_all_that_stands_beside_norm() {
        assert!(MAGIC.starts_with(&fanfare_wire::Report::FROM_NOBODY));
    }

    #[test]
    fn what_is_passed_on_is_read_as_it_was_written_never_half_and_not_by_its_own_program() {
        for source in ["10.0.0.9:4000", "[fd00::1]:7"] {
            let (passed, bytes) = (passed(source), encode(5, &passed(source)));
            assert_eq!(parse(6, &bytes), Some(passed));
            assert_eq!(parse(5, &bytes), None, "its own");
            let head = bytes.len() - b"FFS1 hello".len();
            assert!((0..head).all(|end| parse(6, &bytes[..end]).is_none()));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn every_other_program_of_the_port_hears_it_and_a_flood_is_bounded() {
        let port = 26_881;
        let mut buses = [1, 2, 3].map(|token| LocalBus::open(port, token).unwrap());
        buses[0].pass(&passed("10.0.0.9:4000"));
        let counts = buses.each_ref().map(|bus| {
            let mut heard = Vec::new();
            bus.drain(64, |one| heard.push(one.source.to_string())).unwrap();
            heard.len()
        });
        assert_eq!(counts, [0, 1, 1]);
        (0..1000).for_each(|_| buses[0].pass(&passed("10.0.0.9:4000")));
        assert!(buses[0].dropped >= 1000 - 2 * u64::from(EACH_SECOND), "{}", buses[0].dropped);
        buses[1].drain(4000, |_| {}).unwrap();
        buses[2].pass(&PassedOn { datagram: &[0; LONGEST + 1], ..passed("10.0.0.9:4000") });
        let mut heard = 0;
        buses[1].drain(64, |_| heard += 1).unwrap();
        assert_eq!(heard, 0, "it is data");
    }
}
