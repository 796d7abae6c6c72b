//! How long a segment may be on an interface, and how long it is when nobody says.

use std::net::IpAddr;

use fanfare_proto::ReceiverConfig;
use fanfare_udp::Interface;

/// Header of a DATA message with its longest extensions: a full message is at most this much longer
/// than its segment.
pub const HEADER_MAX: usize = 40;
/// What every Ethernet carries (RFC 894): nothing longer is jumbo.
const ETHERNET_MTU: u32 = 1500;
/// What every path of IPv6 carries (RFC 8200 5), and tunnels of VPNs.
pub const MTU_ANYWHERE: u32 = 1280;
/// Long segments end on a cache line.
const ALIGNMENT: u16 = 64;

/// What fits into one packet of the interface beside all headers.
pub fn longest(interface: &Interface, group: IpAddr) -> u32 {
    let ip_header = if group.is_ipv4() { 20 } else { 40 };
    let udp_header = 8;
    interface.mtu.saturating_sub(ip_header + udp_header + HEADER_MAX as u32)
}

/// The segment to take instead of `wanted` where the link's packets are too short for that, with `beside`
/// bytes of other headers.
pub fn shortened(wanted: u16, interface: &Interface, group: IpAddr, beside: u16) -> u16 {
    let most = longest(interface, group).saturating_sub(u32::from(beside));
    wanted.min(u16::try_from(most).unwrap_or(u16::MAX))
}

/// The segment to take instead of `wanted`: shorter where the link's packets are, and where they are
/// longer as long as they and all receivers take it. Beyond a router (`ttl` above 1) packets may be
/// shorter again, and on the loopback interface there is nothing to be saved.
/// `beside`: bytes of other headers.
pub fn fitting(wanted: u16, interface: &Interface, group: IpAddr, (ttl, beside): (u8, u16)) -> u16 {
    let is_jumbo = interface.mtu > ETHERNET_MTU && !interface.loopback && ttl <= 1;
    if !is_jumbo {
        return shortened(wanted, interface, group, beside);
    }
    let most = longest(interface, group).saturating_sub(u32::from(beside));
    let most = u16::try_from(most).unwrap_or(u16::MAX);
    let most = most.min(ReceiverConfig::default().segment_size_max);
    wanted.max(most / ALIGNMENT * ALIGNMENT).min(most)
}

/// Whether a host seems to be on the interface's own link: the same 24 bits of an IPv4 address, 64 of an
/// IPv6 one, which is what most links have. A router may still be between, and is then taken for none.
pub fn is_near(host: IpAddr, interface: &Interface) -> bool {
    let same = |own: &IpAddr| match (own, host) {
        (IpAddr::V4(own), IpAddr::V4(host)) => own.octets()[..3] == host.octets()[..3],
        (IpAddr::V6(own), IpAddr::V6(host)) => own.segments()[..4] == host.segments()[..4],
        _ => false,
    };
    interface.loopback || interface.addresses.iter().any(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(mtu: u32, loopback: bool) -> Interface {
        let (name, addresses) = ("test0".to_owned(), Vec::new());
        Interface { name, index: 1, addresses, up: true, multicast: true, loopback, mtu }
    }

    #[test]
    fn a_segment_follows_the_links_packets_but_not_beyond_a_router() {
        let group = IpAddr::from([239, 255, 42, 1]);
        let fit = |mtu, loopback, ttl| fitting(1400, &interface(mtu, loopback), group, (ttl, 0));
        assert_eq!((fit(1500, false, 1), fit(1280, false, 1)), (1400, 1212));
        assert_eq!((fit(9000, false, 1), fit(4000, false, 0)), (8192, 3904));
        assert_eq!((fit(9000, false, 2), fit(65_536, true, 1)), (1400, 1400));
    }

    #[test]
    fn a_host_of_another_network_may_be_behind_a_tunnel_and_one_of_this_link_is_not() {
        let mut eth = interface(1500, false);
        eth.addresses = ["10.0.3.7", "fd00::7"].map(|ip| ip.parse().unwrap()).to_vec();
        let near = |host: &str| is_near(host.parse().unwrap(), &eth);
        assert!(near("10.0.3.9") && near("fd00::9"));
        assert!(!near("10.0.4.9") && !near("fd00:0:0:1::9") && !near("fe80::1"));
    }

    #[test]
    fn in_groups_a_segment_is_never_longer_than_asked_for_and_leaves_room_for_what_passes_it_on() {
        let group = IpAddr::from([239, 255, 42, 2]);
        let fit = |mtu| shortened(1400, &interface(mtu, false), group, 22);
        assert_eq!([1280, 1420, 1500, 9000].map(fit), [1190, 1330, 1400, 1400]);
    }
}
