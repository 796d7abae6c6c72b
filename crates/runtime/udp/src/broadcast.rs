//! Reaching all hosts of the link where multicast does not.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::{address::ALL_NODES, endpoint::Endpoint, group::scoped};

impl Endpoint {
    /// The address of all hosts of its link, at the group's port, and lets this endpoint send there. IPv4:
    /// broadcast (RFC 919). `None` for a unicast address, for sending over any interface, on the loopback
    /// interface, and where the system refuses.
    #[must_use]
    pub fn broadcast(&self) -> Option<SocketAddr> {
        let group = self.group();
        let interface = self.interface().filter(|interface| !interface.loopback)?;
        if !group.ip().is_multicast() || self.config.direct {
            return None;
        }
        let all: IpAddr = match group {
            SocketAddr::V4(_) => Ipv4Addr::BROADCAST.into(),
            SocketAddr::V6(_) => ALL_NODES.into(),
        };
        if group.is_ipv4() {
            self.transmitter.receive_socket.socket.set_broadcast(true).ok()?;
        }
        Some(scoped(SocketAddr::new(all, group.port()), interface))
    }
}

#[cfg(test)]
mod tests {
    use crate::{config::EndpointConfig, endpoint::Endpoint, follow::loopback_interface};

    #[test]
    fn on_this_machine_alone_nobody_has_to_be_reached_so() {
        let group = EndpointConfig::default().group;
        let interface = Some(loopback_interface(group.ip()).unwrap());
        let config = EndpointConfig { interface, ..EndpointConfig::default() };
        assert_eq!(Endpoint::open(&config).unwrap().broadcast(), None);
    }
}
