//! How an endpoint is opened.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::{error::OpenError, interface::Interface};

/// What an endpoint hears beside the answers to its own datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// The group, or its own unicast address. NORM senders belong here too: they hear the NACKs
    /// that receivers send to the group.
    #[default]
    Member,
    /// Nothing: no group is joined. For one-way sending, and for a sender to one unicast receiver
    /// that may run on the same machine.
    Sender,
}

/// Hosts whose datagrams to this machine alone are heard. Multicast does not leave the link by itself, and strangers
/// from everywhere should not be heard because of this either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeardHosts {
    /// Neighbours and private networks (RFC 1918, 3927, 4193, 4291, 6598), and these hosts: somebody has named them.
    Near(Vec<IpAddr>),
    /// Everybody: what comes is sealed, and what does not open is not taken.
    Everybody,
}

impl Default for HeardHosts {
    fn default() -> Self {
        Self::Near(Vec::new())
    }
}

impl HeardHosts {
    /// Hears this host, too.
    pub fn add(&mut self, host: IpAddr) {
        if let Self::Near(named) = self
            && !named.contains(&host)
        {
            named.push(host);
        }
    }

    /// True if this host is heard. An IPv4 address in an IPv6 one is that host.
    #[must_use]
    pub fn has(&self, host: IpAddr) -> bool {
        match self {
            Self::Near(named) => {
                is_private_host(host)
                    || named.iter().any(|one| one.to_canonical() == host.to_canonical())
            }
            Self::Everybody => true,
        }
    }
}

/// True for neighbours, private and shared networks, and this machine (RFC 1918, 3927, 4193, 4291, 6598).
#[must_use]
pub fn is_private_host(host: IpAddr) -> bool {
    match host.to_canonical() {
        IpAddr::V4(ip) => {
            let [first, second, ..] = ip.octets();
            let shared = first == 100 && (64..128).contains(&second);
            ip.is_private() || ip.is_loopback() || ip.is_link_local() || shared
        }
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unicast_link_local() || ip.is_unique_local(),
    }
}

/// How to open an [`crate::Endpoint`].
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// The multicast group, or one receiver's unicast address, with the port. Default
    /// 239.255.42.1:6003.
    pub group: SocketAddr,
    /// What to hear. Default the group.
    pub role: Role,
    /// The interface to join on and send from; `None` chooses as [`crate::choose_interface`] does for a
    /// group, and leaves it to the routing table for a unicast address. Default none.
    pub interface: Option<Interface>,
    /// `interface` is the loopback interface only until this one is there: [`crate::Endpoint::follow`] goes
    /// there. Default none.
    pub awaited: Option<Awaited>,
    /// Hear the group from this sender only (source-specific multicast, RFC 4607). Default none.
    pub source: Option<IpAddr>,
    /// Routers plus one that a multicast datagram may pass; 0 keeps it on this machine, 1 on the
    /// link. Unicast feedback keeps the system's own value. Default 1.
    pub ttl: u8,
    /// Whether members on this machine hear what is sent from it, this endpoint included. The
    /// loopback interface returns everything either way. Default true.
    pub loopback: bool,
    /// Whether this endpoint hears on a group what it has sent itself. Default true; false saves a
    /// sender the work of a receiver, where the system can tell (Linux), and its group's drops are
    /// no longer counted, since what is kept from it counts as dropped.
    pub own: bool,
    /// Whether datagrams go to single hosts, too, over any interface: sending is from all addresses of
    /// this machine then. Without effect for a unicast address. Default false.
    pub direct: bool,
    /// Whether a [`Role::Member`] also hears what is sent to this machine's own addresses at the
    /// group's port, from neighbours and private networks. Of several on one machine all hear it.
    /// Without effect for a unicast address. Default false.
    pub hears_direct: bool,
    /// Hosts whose datagrams to this machine's own addresses are heard with [`Self::hears_direct`]. Default
    /// those of neighbours and private networks.
    pub heard_hosts: HeardHosts,
    /// True if what is sent to this machine's own addresses counts only where it comes in by
    /// `interface`: somebody chose that interface. Default false.
    pub only_interface: bool,
    /// Number that tells this endpoint from others of the machine: random. Default 0.
    pub token: u64,
    /// Where a [`Role::Member`] of a unicast address listens, instead of at that address. Default there.
    pub listen: Option<SocketAddr>,
    /// The port that everything is sent from; 0 leaves it to the system. Default 0.
    pub sending_port: u16,
    /// Whether other sockets of this machine may have the sending port, too. Of several the last one
    /// hears what no [`crate::Endpoint::aim`] has given to another. Default false.
    pub shared_port: bool,
    /// Upper six bits of the traffic class (RFC 2474), 0 to 63. Default 0.
    pub dscp: u8,
    /// Bytes asked for each receiving socket; the system may give less (Linux:
    /// `net.core.rmem_max`), or more where it lets this user (Linux, CAP_NET_ADMIN: 32 MiB at
    /// least, unless less than the default is asked for). Default 4 MiB, 30 ms at 1 Gbit/s.
    pub receive_buffer: usize,
    /// Bytes asked for the sending socket. Default 1 MiB; less makes `send` block earlier.
    pub send_buffer: usize,
    /// Let the kernel cut segments (UDP_SEGMENT). Default true; false costs about ten times the
    /// processor time at full speed and is for packet loss tests and broken drivers.
    pub gso: bool,
    /// Let the kernel join datagrams (UDP_GRO). Default true; cost of false as with `gso`.
    pub gro: bool,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            group: SocketAddr::new(Ipv4Addr::new(239, 255, 42, 1).into(), 6003),
            role: Role::Member,
            interface: None,
            awaited: None,
            source: None,
            ttl: 1,
            loopback: true,
            own: true,
            direct: false,
            hears_direct: false,
            heard_hosts: HeardHosts::default(),
            only_interface: false,
            token: 0,
            listen: None,
            sending_port: 0,
            shared_port: false,
            dscp: 0,
            receive_buffer: 4 << 20,
            send_buffer: 1 << 20,
            gso: true,
            gro: true,
        }
    }
}

/// Whether an endpoint can be opened so, as far as that is known before.
pub(crate) fn check(config: &EndpointConfig) -> Result<(), OpenError> {
    if config.dscp > 63 {
        return Err(OpenError::Dscp { dscp: config.dscp });
    }
    let group = config.group.ip();
    match config.source {
        Some(source)
            if source.is_multicast()
                || source.is_ipv4() != group.is_ipv4()
                || !group.is_multicast() =>
        {
            Err(OpenError::Source { source, group })
        }
        _ => Ok(()),
    }
}

/// What an endpoint on the loopback interface waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// Any other interface that serves the group. Until then members on this machine are heard.
    Any,
    /// The interface of this name or address. Until then nothing is heard.
    Named(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_and_private_networks_are_near_and_the_internet_is_not() {
        let near = |text: &str| is_private_host(text.parse().unwrap());
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

    #[test]
    fn a_host_that_was_named_is_heard_and_with_keys_everybody_is() {
        let host = |text: &str| -> IpAddr { text.parse().unwrap() };
        let mut hosts = HeardHosts::default();
        assert!(hosts.has(host("10.0.0.1")) && !hosts.has(host("198.51.100.1")));
        hosts.add(host("198.51.100.1"));
        assert!(hosts.has(host("198.51.100.1")) && hosts.has(host("::ffff:198.51.100.1")));
        assert!(!hosts.has(host("198.51.100.2")));
        assert!(HeardHosts::Everybody.has(host("198.51.100.2")));
    }
}
