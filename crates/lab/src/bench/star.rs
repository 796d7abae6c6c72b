//! A bridge, and a host for the sender and for each receiver: the kernel's own switch, by which
//! super-packets travel whole.

use crate::{error::LabError, host::Host, namespace::Namespace};
use std::fs;

/// Hosts around a bridge; gone when dropped.
#[derive(Debug)]
pub(super) struct Star {
    hosts: Vec<Host>,
    // After the hosts, whose cables end in it.
    hub: Namespace,
}

impl Star {
    /// One sender, and so many receivers.
    pub(super) fn up(receivers: usize, mtu: usize) -> Result<Self, LabError> {
        let stem = Namespace::stem();
        let hub = Namespace::add(&stem, "b")?;
        // Without a querier a bridge that snoops forgets who listens.
        hub.batch(&format!(
            "link set lo up\n\
             link add bridge type bridge mcast_snooping 0\n\
             link set dev bridge mtu {mtu} up\n"
        ))?;
        let make = |number| Host::plug(&stem, number, receivers + 1, &hub, mtu);
        let hosts = (0..=receivers).map(make).collect::<Result<_, _>>()?;
        Ok(Self { hosts, hub })
    }
    pub(super) fn sender(&self) -> &Host {
        &self.hosts[0]
    }
    pub(super) fn receivers(&self) -> &[Host] {
        &self.hosts[1..]
    }
    /// Runs something that sees the bridge's ends of all cables.
    pub(super) fn at_hub<T: Send>(&self, inside: impl FnOnce() -> T + Send) -> Result<T, LabError> {
        self.hub.enter(inside)
    }
}

/// Bytes that the sender has put on its cable. To be called at the hub.
pub(super) fn bytes_sent() -> u64 {
    let table = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    received(&table, &Host::socket_of(0)).unwrap_or(0)
}

/// The first number after an interface's name: bytes received.
fn received(table: &str, interface: &str) -> Option<u64> {
    let of_it =
        |line: &'_ str| line.trim().strip_prefix(interface)?.strip_prefix(':').map(str::to_owned);
    table.lines().find_map(of_it)?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_an_interface_are_told_from_those_of_one_with_a_longer_name() {
        let table = "Inter-| Receive\n  port10: 7 1 0\n   port1:  912 3 0 0\n";
        assert_eq!(received(table, "port1"), Some(912));
        assert_eq!(received(table, "port2"), None);
    }
}
