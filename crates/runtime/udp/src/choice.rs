//! Chooses the interface for a group, from the user's option or automatically.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use crate::error::OpenError;
use crate::interface::{Interface, interfaces};

/// Picks the interface for a multicast group.
///
/// With `requested`, the interface of that name or own address, which must be able to carry the
/// group. Without: the only usable one that is not loopback; among several, the one to which the
/// routing table sends the group; one without the MULTICAST flag, such as WireGuard's, if the routing table
/// leads there; loopback when there is nothing else. It never guesses among several: see
/// [`OpenError::Ambiguous`].
pub fn choose_interface(group: IpAddr, requested: Option<&str>) -> Result<Interface, OpenError> {
    let all = interfaces().map_err(|source| OpenError::Enumerate { source })?;
    choose(all, group, requested, || route_source(group))
}

pub(crate) fn choose(
    all: Vec<Interface>,
    group: IpAddr,
    requested: Option<&str>,
    route_source: impl FnOnce() -> Option<IpAddr>,
) -> Result<Interface, OpenError> {
    if !group.is_multicast() {
        return Err(OpenError::NotMulticast { address: group });
    }
    if let Some(requested) = requested {
        return choose_requested(all, group, requested);
    }
    let serving = all.into_iter().filter(|interface| interface.serves(group));
    let (loopback, others): (Vec<_>, Vec<_>) = serving.partition(|i| i.loopback);
    let (mut usable, mut unmarked): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|i| i.multicast);
    let source = (usable.len() != 1).then(route_source).flatten();
    let leads = |i: &Interface| source.is_some_and(|source| i.addresses.contains(&source));
    if usable.is_empty() {
        // Without the MULTICAST flag it is taken where the routing table leads there.
        unmarked.retain(leads);
        usable.append(&mut unmarked);
    }
    if usable.len() > 1 {
        let routed = usable.iter().position(leads);
        let Some(routed) = routed else {
            return Err(OpenError::Ambiguous { group, usable });
        };
        return Ok(usable.swap_remove(routed));
    }
    usable.pop().or_else(|| loopback.into_iter().next()).ok_or(OpenError::NoInterface { group })
}

fn choose_requested(
    all: Vec<Interface>,
    group: IpAddr,
    requested: &str,
) -> Result<Interface, OpenError> {
    let address: Option<IpAddr> = requested.parse().ok();
    let matches =
        |i: &Interface| i.name == requested || address.is_some_and(|a| i.addresses.contains(&a));
    let usable = || all.iter().filter(|i| i.serves(group)).cloned().collect();
    let Some(found) = all.iter().find(|i| matches(i)) else {
        return Err(OpenError::NoSuchInterface {
            requested: requested.to_owned(),
            usable: usable(),
        });
    };
    let interface = found.name.clone();
    if !found.up {
        return Err(OpenError::InterfaceDown { interface, usable: usable() });
    }
    if found.address_towards(group).is_none() {
        return Err(OpenError::NoAddress { interface, group, usable: usable() });
    }
    Ok(with_address_first(found, address))
}

/// The address a user names is the one to send from, so it goes before its siblings.
fn with_address_first(found: &Interface, named: Option<IpAddr>) -> Interface {
    let mut interface = found.clone();
    interface.addresses.sort_by_key(|address| Some(*address) != named);
    interface
}

/// The own address with which the routing table would send to `destination`. Connecting a UDP
/// socket looks up the route and sends nothing.
pub(crate) fn route_source(destination: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = match destination {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0)).ok()?;
    // The port is never used; 9 is discard (RFC 863).
    socket.connect(SocketAddr::new(destination, 9)).ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|ip| !ip.is_unspecified())
}

/// The interface by which this machine sends to a host, where there is a way to it.
pub fn interface_towards(host: IpAddr) -> Option<Interface> {
    let source = route_source(host)?;
    interfaces().ok()?.into_iter().find(|one| one.addresses.contains(&source))
}

/// Whether this machine, or the interface of this name or address, has IPv6 addresses and no IPv4 address,
/// the loopback interface left aside: a group of IPv4 reaches nobody from here then.
pub fn has_only_ipv6(requested: Option<&str>) -> bool {
    interfaces().is_ok_and(|all| only_ipv6(&all, requested))
}

fn only_ipv6(all: &[Interface], requested: Option<&str>) -> bool {
    let address: Option<IpAddr> = requested.and_then(|text| text.parse().ok());
    let is_it = |one: &&Interface| match requested {
        Some(name) => one.name == name || address.is_some_and(|ip| one.addresses.contains(&ip)),
        None => true,
    };
    let meant = all.iter().filter(|one| one.up && !one.loopback).filter(is_it);
    let mut addresses = meant.flat_map(|one| &one.addresses).peekable();
    addresses.peek().is_some() && addresses.all(IpAddr::is_ipv6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, index: u32, addresses: &[&str]) -> Interface {
        Interface {
            name: name.to_owned(),
            index,
            addresses: addresses.iter().map(|text| text.parse().unwrap()).collect(),
            up: true,
            multicast: true,
            loopback: false,
            mtu: 1500,
        }
    }

    fn lo() -> Interface {
        let lo = interface("lo", 1, &["127.0.0.1", "::1"]);
        Interface { multicast: false, loopback: true, ..lo }
    }

    fn group() -> IpAddr {
        "239.1.2.3".parse().unwrap()
    }

    fn chosen(all: &[Interface], requested: Option<&str>, route: Option<&str>) -> String {
        match choose(all.to_vec(), group(), requested, || route.map(|r| r.parse().unwrap())) {
            Ok(interface) => interface.name,
            Err(error) => error.code().to_owned(),
        }
    }

    #[test]
    fn the_only_usable_interface_is_taken_without_asking_the_routes() {
        let down = Interface { up: false, ..interface("eth1", 3, &["10.1.0.2"]) };
        let all = [lo(), interface("eth0", 2, &["10.0.0.2"]), down];
        assert_eq!(chosen(&all, None, None), "eth0");
    }

    #[test]
    fn among_several_the_route_decides_and_without_a_route_the_user_must() {
        let all = [lo(), interface("eth0", 2, &["10.0.0.2"]), interface("eth1", 3, &["10.1.0.2"])];
        assert_eq!(chosen(&all, None, Some("10.1.0.2")), "eth1");
        assert_eq!(chosen(&all, None, None), "interface.ambiguous");
        assert_eq!(chosen(&all, None, Some("10.9.9.9")), "interface.ambiguous");
        assert_eq!(chosen(&all, Some("eth0"), Some("10.1.0.2")), "eth0");
        assert_eq!(chosen(&all, Some("10.0.0.2"), None), "eth0");
    }

    #[test]
    fn loopback_is_taken_when_there_is_nothing_else() {
        assert_eq!(chosen(&[lo()], None, None), "lo");
        assert_eq!(chosen(&[lo(), interface("eth0", 2, &["fe80::1"])], None, None), "lo");
        assert_eq!(chosen(&[], None, None), "interface.none");
    }

    #[test]
    fn a_requested_interface_must_be_able_to_carry_the_group() {
        let down = Interface { up: false, ..interface("eth1", 3, &["10.1.0.2"]) };
        let all = [lo(), down, interface("eth2", 5, &["fe80::1"])];
        assert_eq!(chosen(&all, Some("eth1"), None), "interface.down");
        assert_eq!(chosen(&all, Some("eth2"), None), "interface.no_address");
        assert_eq!(chosen(&all, Some("eth9"), None), "interface.unknown");
        assert_eq!(chosen(&all, Some("lo"), None), "lo");
    }

    #[test]
    fn an_interface_without_the_multicast_flag_is_taken_by_name_or_where_the_route_leads_there() {
        let plain = |name, index, address: &str| Interface {
            multicast: false,
            ..interface(name, index, &[address])
        };
        let (wg0, tun0) = (plain("wg0", 4, "10.2.0.2"), plain("tun0", 5, "10.3.0.2"));
        let only = [lo(), wg0.clone(), tun0];
        assert_eq!(chosen(&only, Some("wg0"), None), "wg0");
        assert_eq!(chosen(&only, Some("10.2.0.2"), None), "wg0");
        assert_eq!(chosen(&only, None, Some("10.2.0.2")), "wg0");
        assert_eq!(chosen(&only, None, Some("10.3.0.2")), "tun0");
        assert_eq!(chosen(&only, None, None), "lo", "no route says where");
        let beside = [lo(), wg0, interface("eth0", 2, &["10.0.0.2"])];
        assert_eq!(chosen(&beside, None, Some("10.2.0.2")), "eth0", "one that has it goes first");
    }

    #[test]
    fn a_machine_has_only_ipv6_where_no_interface_that_is_meant_has_an_ipv4_address() {
        let six = interface("eth0", 2, &["fe80::1", "fd00::1"]);
        let both = interface("eth1", 3, &["10.0.0.2", "fd00::2"]);
        let down = Interface { up: false, ..interface("eth2", 4, &["10.1.0.2"]) };
        let only = |all: &[Interface], requested| only_ipv6(all, requested);
        assert!(only(&[lo(), six.clone(), down.clone()], None));
        assert!(!only(&[lo(), six.clone(), both.clone()], None));
        assert!(only(&[lo(), six.clone(), both.clone()], Some("eth0")));
        assert!(only(&[lo(), six.clone(), both], Some("fd00::1")));
        assert!(!only(&[lo(), down], None), "nothing at all is no IPv6");
        assert!(!only(&[lo(), six], Some("eth9")));
    }

    #[test]
    fn a_named_address_becomes_the_one_to_send_from() {
        let all = vec![interface("eth0", 2, &["10.0.0.2", "10.0.0.3"])];
        let found = choose(all, group(), Some("10.0.0.3"), || None).unwrap();
        assert_eq!(found.ipv4(), Some(Ipv4Addr::new(10, 0, 0, 3)));
    }

    #[test]
    fn a_unicast_address_is_no_group() {
        let error = choose(vec![lo()], "10.0.0.1".parse().unwrap(), None, || None).unwrap_err();
        assert_eq!(error.code(), "group.not_multicast");
    }
}
