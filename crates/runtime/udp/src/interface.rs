//! The network interfaces of this machine, as far as multicast needs them.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A network interface at the moment it was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name, such as `eth0`.
    pub name: String,
    /// The system's number for it; it stays while the interface exists. Never 0.
    pub index: u32,
    /// Own addresses, in the system's order, without those still being checked for duplicates.
    pub addresses: Vec<IpAddr>,
    /// Switched on, with a carrier.
    pub up: bool,
    /// Can send to many at once. Linux leaves this off on loopback, where multicast works anyway.
    pub multicast: bool,
    /// Reaches only this machine.
    pub loopback: bool,
    /// Largest IP packet in bytes.
    pub mtu: u32,
}

impl Interface {
    /// The first IPv4 address.
    pub fn ipv4(&self) -> Option<Ipv4Addr> {
        self.addresses.iter().find_map(|address| match address {
            IpAddr::V4(v4) => Some(*v4),
            IpAddr::V6(_) => None,
        })
    }

    /// An IPv6 address whose scope fits the destination: link-local for a link-local destination,
    /// wider otherwise; the other kind where that is all there is.
    pub fn ipv6_towards(&self, destination: &Ipv6Addr) -> Option<Ipv6Addr> {
        let own = || {
            self.addresses.iter().filter_map(|address| match address {
                IpAddr::V6(v6) => Some(*v6),
                IpAddr::V4(_) => None,
            })
        };
        let link_local = is_link_scope(destination);
        own().find(|address| address.is_unicast_link_local() == link_local).or_else(|| own().next())
    }

    /// The address from which to send to `destination`, if there is one of its family.
    pub fn address_towards(&self, destination: IpAddr) -> Option<IpAddr> {
        match destination {
            IpAddr::V4(_) => self.ipv4().map(IpAddr::V4),
            IpAddr::V6(v6) => self.ipv6_towards(&v6).map(IpAddr::V6),
        }
    }

    /// Whether a group of `destination`'s family can be used here. The MULTICAST flag decides nothing: a
    /// WireGuard interface has none, and Linux joins groups and sends to them there all the same.
    pub fn serves(&self, destination: IpAddr) -> bool {
        self.up && self.address_towards(destination).is_some()
    }
}

impl fmt::Display for Interface {
    /// Name and addresses: `eth0 (10.0.0.2, fe80::1)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.addresses.is_empty() {
            return Ok(());
        }
        let addresses: Vec<String> = self.addresses.iter().map(IpAddr::to_string).collect();
        write!(f, " ({})", addresses.join(", "))
    }
}

/// Link scope is nibble 2 of a multicast address (RFC 4291 section 2.7), and fe80::/10.
pub(crate) fn is_link_scope(address: &Ipv6Addr) -> bool {
    if address.is_multicast() {
        address.octets()[1] & 0x0f == 2
    } else {
        address.is_unicast_link_local()
    }
}

/// Lists the interfaces of this machine, in the order of their index.
///
/// Errors: what the system said when asked.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return crate::netlink::interfaces();
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    listed()
}

/// All interfaces with their addresses, ordered by index, where there is no netlink.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn listed() -> io::Result<Vec<Interface>> {
    use std::collections::BTreeMap;

    use getifaddrs::{Address, InterfaceFlags};

    /// The system's list has no lengths: this is what Ethernet and Wi-Fi take.
    const USUAL_MTU: u32 = 1500;

    let mut found: BTreeMap<u32, Interface> = BTreeMap::new();
    for entry in getifaddrs::getifaddrs()? {
        // Without a number no group can be joined there.
        let Some(index) = entry.index.filter(|index| *index > 0) else { continue };
        let has = |flag| entry.flags.contains(flag);
        let interface = found.entry(index).or_insert_with(|| Interface {
            name: entry.name.clone(),
            index,
            addresses: Vec::new(),
            up: has(InterfaceFlags::UP) && has(InterfaceFlags::RUNNING),
            multicast: has(InterfaceFlags::MULTICAST),
            loopback: has(InterfaceFlags::LOOPBACK),
            mtu: USUAL_MTU,
        });
        let address: IpAddr = match entry.address {
            Address::V4(v4) => v4.address.into(),
            Address::V6(v6) => v6.address.into(),
            Address::Mac(_) => continue,
        };
        interface.addresses.push(address);
    }
    Ok(found.into_values().collect())
}

/// The interface that `old` was, where it is there again for `group`: of the same name, or else of the same
/// address.
pub(crate) fn again<'a>(
    old: &Interface,
    all: &'a [Interface],
    group: IpAddr,
) -> Option<&'a Interface> {
    let usable = || all.iter().filter(|one| one.serves(group) && one.index != old.index);
    let own = old.address_towards(group);
    let found = usable().find(|one| one.name == old.name);
    found.or_else(|| usable().find(|one| one.address_towards(group) == own))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_addresses(addresses: &[&str]) -> Interface {
        Interface {
            name: "eth0".to_owned(),
            index: 2,
            addresses: addresses.iter().map(|text| text.parse().unwrap()).collect(),
            up: true,
            multicast: true,
            loopback: false,
            mtu: 1500,
        }
    }

    #[test]
    fn the_ipv6_address_fits_the_scope_of_the_group() {
        let interface = with_addresses(&["10.0.0.2", "fe80::1", "2001:db8::1"]);
        let towards = |text: &str| interface.address_towards(text.parse().unwrap()).unwrap();
        assert_eq!(towards("ff02::7"), "fe80::1".parse::<IpAddr>().unwrap());
        assert_eq!(towards("ff12::7"), "fe80::1".parse::<IpAddr>().unwrap());
        assert_eq!(towards("ff15::7"), "2001:db8::1".parse::<IpAddr>().unwrap());
        assert_eq!(towards("239.1.2.3"), "10.0.0.2".parse::<IpAddr>().unwrap());
    }

    #[test]
    fn an_interface_without_the_family_does_not_serve_the_group() {
        let interface = with_addresses(&["fe80::1"]);
        assert!(interface.serves("ff15::7".parse().unwrap()));
        assert!(!interface.serves("239.1.2.3".parse().unwrap()));
        let down = Interface { up: false, ..interface };
        assert!(!down.serves("ff15::7".parse().unwrap()));
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[test]
    fn the_loopback_interface_is_listed_with_its_address_index_and_mtu() {
        let all = interfaces().unwrap();
        let lo = all.iter().find(|interface| interface.loopback).expect("a loopback interface");
        assert!(lo.up && lo.index > 0 && lo.mtu >= 1280, "{lo:?}");
        assert_eq!(lo.ipv4(), Some(Ipv4Addr::LOCALHOST));
        assert!(all.is_sorted_by_key(|interface| interface.index));
    }
}
