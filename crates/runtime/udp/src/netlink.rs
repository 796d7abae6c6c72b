//! Lists interfaces by two rtnetlink dumps, without C structures.
//!
//! Message layouts are those of `linux/netlink.h`, `linux/rtnetlink.h`, `linux/if_link.h` and
//! `linux/if_addr.h`. All numbers are in the machine's byte order.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use crate::interface::Interface;

const AF_NETLINK: i32 = 16;
const NETLINK_ROUTE: i32 = 0;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

const NLM_F_REQUEST_DUMP: u16 = 0x001 | 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const RTM_NEWADDR: u16 = 20;
const RTM_GETADDR: u16 = 22;

const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;

const IFF_UP: u32 = 0x1;
const IFF_LOOPBACK: u32 = 0x8;
const IFF_MULTICAST: u32 = 0x1000;
/// The carrier itself; IFF_RUNNING follows up to a second after an interface is switched on.
const IFF_LOWER_UP: u32 = 0x1_0000;
/// Duplicate detection under way (0x40) or failed (0x08): such an address cannot be bound.
const IFA_F_UNUSABLE: u8 = 0x40 | 0x08;

const NLMSGHDR_LEN: usize = 16;
const IFINFOMSG_LEN: usize = 16;
const IFADDRMSG_LEN: usize = 8;
/// The kernel fills at most this much per dump read (NLMSG_GOODSIZE and the reader's buffer).
const READ_BUFFER: usize = 32 * 1024;

/// All interfaces with their addresses, ordered by index.
pub(crate) fn interfaces() -> io::Result<Vec<Interface>> {
    let mut found: BTreeMap<u32, Interface> = BTreeMap::new();
    dump(RTM_GETLINK, |kind, body| {
        if kind == RTM_NEWLINK
            && let Some(interface) = parse_link(body)
        {
            found.insert(interface.index, interface);
        }
    })?;
    dump(RTM_GETADDR, |kind, body| {
        if kind == RTM_NEWADDR
            && let Some((index, address)) = parse_address(body)
            && let Some(interface) = found.get_mut(&index)
        {
            interface.addresses.push(address);
        }
    })?;
    Ok(found.into_values().collect())
}

/// Asks for one table and gives each message's type and body to `each`.
fn dump(request: u16, mut each: impl FnMut(u16, &[u8])) -> io::Result<()> {
    let socket =
        Socket::new(Domain::from(AF_NETLINK), Type::RAW, Some(Protocol::from(NETLINK_ROUTE)))?;
    // The kernel answers at once; the limit only keeps a broken sandbox from hanging us.
    socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    socket.send(&dump_request(request))?;
    let mut buffer = vec![0; READ_BUFFER];
    loop {
        let length = (&socket).read(&mut buffer)?;
        let mut rest = &buffer[..length];
        while let Some((kind, body, after)) = split_message(rest) {
            match kind {
                NLMSG_DONE => return Ok(()),
                NLMSG_ERROR => return Err(error_of(body)),
                _ => each(kind, body),
            }
            rest = after;
        }
    }
}

fn dump_request(request: u16) -> [u8; NLMSGHDR_LEN + IFINFOMSG_LEN] {
    let mut message = [0; NLMSGHDR_LEN + IFINFOMSG_LEN];
    let length = message.len() as u32;
    message[0..4].copy_from_slice(&length.to_ne_bytes());
    message[4..6].copy_from_slice(&request.to_ne_bytes());
    message[6..8].copy_from_slice(&NLM_F_REQUEST_DUMP.to_ne_bytes());
    message
}

/// Type, body and what follows of the first message; `None` at the end or at a bad length.
fn split_message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32_at(bytes, 0)? as usize;
    let kind = u16_at(bytes, 4)?;
    let body = bytes.get(NLMSGHDR_LEN..length)?;
    let next = length.next_multiple_of(4).min(bytes.len());
    Some((kind, body, &bytes[next..]))
}

/// The body of NLMSG_ERROR begins with the negated errno.
fn error_of(body: &[u8]) -> io::Error {
    let errno = u32_at(body, 0).map_or(0, |bits| (bits as i32).wrapping_neg());
    io::Error::from_raw_os_error(errno)
}

fn parse_link(body: &[u8]) -> Option<Interface> {
    let index = u32_at(body, 4)?;
    let flags = u32_at(body, 8)?;
    let mut name = String::new();
    let mut mtu = 0;
    for (kind, value) in Attributes(body.get(IFINFOMSG_LEN..)?) {
        match kind {
            IFLA_IFNAME => {
                let text = value.split(|byte| *byte == 0).next().unwrap_or(value);
                name = String::from_utf8_lossy(text).into_owned();
            }
            IFLA_MTU => mtu = u32_at(value, 0)?,
            _ => {}
        }
    }
    Some(Interface {
        name,
        index,
        addresses: Vec::new(),
        up: flags & (IFF_UP | IFF_LOWER_UP) == IFF_UP | IFF_LOWER_UP,
        multicast: flags & IFF_MULTICAST != 0,
        loopback: flags & IFF_LOOPBACK != 0,
        mtu,
    })
}

/// Interface index and own address; on a point-to-point link IFA_ADDRESS is the peer's and
/// IFA_LOCAL ours, elsewhere IPv6 has only IFA_ADDRESS.
fn parse_address(body: &[u8]) -> Option<(u32, IpAddr)> {
    let family = *body.first()?;
    if body.get(2)? & IFA_F_UNUSABLE != 0 && family == AF_INET6 {
        return None;
    }
    let index = u32_at(body, 4)?;
    let attributes = || body.get(IFADDRMSG_LEN..).map(Attributes).into_iter().flatten();
    let find = |wanted: u16| attributes().find(|(kind, _)| *kind == wanted);
    let (_, value) = find(IFA_LOCAL).or_else(|| find(IFA_ADDRESS))?;
    let address = match family {
        AF_INET => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(value).ok()?)),
        AF_INET6 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(value).ok()?)),
        _ => return None,
    };
    Some((index, address))
}

/// Walks type-length-value attributes; stops at the first bad length.
struct Attributes<'a>(&'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::from(u16_at(self.0, 0)?);
        let kind = u16_at(self.0, 2)?;
        let value = self.0.get(4..length)?;
        self.0 = &self.0[length.next_multiple_of(4).min(self.0.len())..];
        Some((kind, value))
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_with_a_length_beyond_the_buffer_ends_the_walk() {
        let mut message = dump_request(RTM_GETLINK).to_vec();
        assert!(split_message(&message).is_some());
        message[0] = 200;
        assert!(split_message(&message).is_none());
        assert!(split_message(&message[..7]).is_none());
    }

    #[test]
    fn an_attribute_shorter_than_its_header_ends_the_walk() {
        let attribute = [2_u16.to_ne_bytes(), 1_u16.to_ne_bytes()].concat();
        assert_eq!(Attributes(&attribute).count(), 0);
    }

    #[test]
    fn the_own_address_of_a_point_to_point_link_is_the_local_one() {
        let mut body = vec![AF_INET, 32, 0, 0];
        body.extend(9_u32.to_ne_bytes());
        for (kind, address) in [(IFA_ADDRESS, [10, 0, 0, 2]), (IFA_LOCAL, [10, 0, 0, 1])] {
            body.extend(8_u16.to_ne_bytes());
            body.extend(kind.to_ne_bytes());
            body.extend(address);
        }
        assert_eq!(parse_address(&body), Some((9, IpAddr::from([10, 0, 0, 1]))));
    }
}
