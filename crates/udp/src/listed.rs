//! Lists interfaces where there is no netlink.

use std::{collections::BTreeMap, io, net::IpAddr};

use getifaddrs::{Address, InterfaceFlags};

use crate::interface::Interface;

/// The system's list has no lengths: this is what Ethernet and Wi-Fi take.
const USUAL_MTU: u32 = 1500;

/// All interfaces with their addresses, ordered by index.
pub(crate) fn interfaces() -> io::Result<Vec<Interface>> {
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
