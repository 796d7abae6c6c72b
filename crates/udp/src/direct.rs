//! Datagrams to single hosts beside those to a group: what a member hears of them, and from whom.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::config::EndpointConfig;
use crate::group::{bind, open_shared};
use crate::receive::ReceiveSocket;

/// Opens the socket that hears what is sent to this machine's own addresses, at the group's port.
/// `None` where another program has the port to itself: the group is heard all the same.
pub(crate) fn open(config: &EndpointConfig) -> Option<ReceiveSocket> {
    let mut address = config.group;
    address.set_ip(match config.group {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    });
    let socket = open_shared(config.group, config).ok()?;
    bind(&socket, address).ok()?;
    ReceiveSocket::timed(socket, config.gro, config.group.is_ipv6()).ok()
}

/// Whether datagrams of this address are heard: multicast does not leave the link by itself, and neither
/// should strangers from everywhere be heard because of this. Private, shared and link-local
/// networks, and this machine (RFC 1918, 3927, 4193, 4291, 6598).
pub(crate) fn is_near(source: IpAddr) -> bool {
    match source {
        IpAddr::V4(ip) => {
            let [first, second, ..] = ip.octets();
            let shared = first == 100 && (64..128).contains(&second);
            ip.is_private() || ip.is_loopback() || ip.is_link_local() || shared
        }
        IpAddr::V6(ip) => {
            let mapped = ip.to_ipv4_mapped().map(IpAddr::V4);
            ip.is_loopback()
                || ip.is_unicast_link_local()
                || ip.is_unique_local()
                || mapped.is_some_and(is_near)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Endpoint;
    use crate::follow::loopback_interface;

    #[test]
    fn who_sends_to_hosts_takes_nothing_from_a_receiver_on_the_same_machine() {
        let free = std::net::UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let group = SocketAddr::new(Ipv4Addr::new(239, 255, 42, 23).into(), port);
        let interface = Some(loopback_interface(group.ip()).unwrap());
        let config = EndpointConfig { group, interface, direct: true, ..EndpointConfig::default() };
        let hears = EndpointConfig { hears_direct: true, ..config.clone() };
        let mut receiver = Endpoint::open(&hears).unwrap();
        let mut sender = Endpoint::open(&config).unwrap();
        sender.send(SocketAddr::from(([127, 0, 0, 1], port)), 100, None, &[7; 100]).unwrap();
        let heard = |endpoint: &mut Endpoint| {
            let mut lengths = Vec::new();
            endpoint.receive(|_, bytes| lengths.push(bytes.len())).unwrap();
            lengths
        };
        assert_eq!((heard(&mut receiver), heard(&mut sender)), (vec![100], vec![]));
    }

    #[test]
    fn neighbours_and_private_networks_are_near_and_the_internet_is_not() {
        let near = |text: &str| is_near(text.parse().unwrap());
        for text in ["10.1.2.3", "172.16.0.1", "192.168.1.1", "127.0.0.1", "169.254.3.4"] {
            assert!(near(text), "{text}");
        }
        for text in ["100.64.0.1", "fe80::1", "fd00::1", "::1", "::ffff:10.0.0.1"] {
            assert!(near(text), "{text}");
        }
        for text in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2001:db8::1", "::ffff:8.8.8.8"] {
            assert!(!near(text), "{text}");
        }
    }
}
