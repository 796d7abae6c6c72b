//! Which groups the layers of a session have, and how long their packets are.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use fanfare_proto::congestion::layered::{Channel, GroupRange, scheme::LAYERS_MAX};
use fanfare_udp::Interface;
use fanfare_wire::Alc;

/// What every Ethernet carries (RFC 894): routers behind it may carry no more.
const MTU: u32 = 1500;
const UDP_HEADER: usize = 8;

/// Bytes of the IP and UDP headers.
pub(super) fn headers(group: IpAddr) -> usize {
    UDP_HEADER + if group.is_ipv4() { 20 } else { 40 }
}

/// Bytes of a symbol that fills a packet of the interface, or of Ethernet where that is shorter.
/// `beside`: bytes of other headers.
pub(super) fn symbol(interface: Option<&Interface>, group: IpAddr, beside: u16) -> u16 {
    let mtu = interface.map_or(MTU, |interface| interface.mtu.min(MTU)) as usize;
    // At most 1500.
    mtu.saturating_sub(headers(group) + Alc::HEADER + usize::from(beside)) as u16
}

/// The groups that layers of a session may have: those that follow its own. A receiver joins no
/// others, whatever it is told.
pub(super) fn groups(session: IpAddr) -> GroupRange {
    let first = nth(session, 1).unwrap_or(session);
    GroupRange { first, count: LAYERS_MAX as u32 }
}

/// A channel's group, of the first channel's.
pub(super) fn group_of(first: SocketAddr, channel: Channel) -> Option<SocketAddr> {
    let ip = nth(first.ip(), channel.0.checked_sub(1)?)?;
    Some(SocketAddr::new(ip, first.port()))
}

/// The address so many further, when it is a group too.
pub(super) fn nth(ip: IpAddr, further: u8) -> Option<IpAddr> {
    let next: IpAddr = match ip {
        IpAddr::V4(ip) => Ipv4Addr::from(u32::from(ip).checked_add(further.into())?).into(),
        IpAddr::V6(ip) => Ipv6Addr::from(u128::from(ip).checked_add(further.into())?).into(),
    };
    next.is_multicast().then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_have_the_groups_that_follow_the_sessions_own() {
        let first = groups("239.255.42.1".parse().unwrap()).first;
        assert_eq!(first, IpAddr::from([239, 255, 42, 2]));
        let first = SocketAddr::new(first, 6003);
        assert_eq!(group_of(first, Channel(1)), Some(first));
        assert_eq!(group_of(first, Channel(128)), "239.255.42.129:6003".parse().ok());
        assert_eq!(group_of(first, Channel::SESSION), None);
        // Behind the last group there is none.
        assert_eq!(nth("239.255.255.250".parse().unwrap(), 6), None);
        assert_eq!(nth("ff05::fffe".parse().unwrap(), 3), "ff05::1:1".parse().ok());
    }
}
