//! Datagrams to single hosts beside those to a group: what a member hears of them, and from whom.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use crate::{
    config::{Awaited, EndpointConfig, HeardHosts},
    group::{bind, open_shared},
    interface::Interface,
    local_bus::{self, LocalBus, PassedOn},
    receive::{Buffers, ReceiveSocket, RecvMeta, TURN, Via, cut, is_one_host},
    wait,
};
use rustix::fd::AsFd as _;

/// Time for which a full socket is waited for: a millisecond at 10 Mbit/s takes a full packet away.
const ROOM_WAIT: Duration = Duration::from_millis(2);

/// The sockets that hear what is sent to this machine's own addresses, at the group's port, and what other
/// programs of the machine have heard there.
#[derive(Debug)]
pub(crate) struct DirectSocket {
    pub(crate) receive_socket: ReceiveSocket,
    pub(crate) bus: Option<LocalBus>,
    /// The one interface that is listened to, and the one source, where they were given.
    interface: Option<Interface>,
    source: Option<IpAddr>,
    heard_hosts: HeardHosts,
}

impl DirectSocket {
    /// Opens them. `None` where another program has the port to itself, or where the interface to
    /// listen to is not there yet: the group is heard all the same.
    pub(crate) fn open(config: &EndpointConfig, interface: Option<&Interface>) -> Option<Self> {
        let waits = matches!(config.awaited, Some(Awaited::Named(_)));
        if config.only_interface && waits {
            return None;
        }
        let mut address = config.group;
        address.set_ip(match config.group {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        });
        let socket = open_shared(config.group, config).ok()?;
        bind(&socket, address).ok()?;
        if let (IpAddr::V6(_), Some(interface)) = (config.group.ip(), interface) {
            // Linux gives no datagram to all nodes to a socket that is not among them.
            let _ = socket.join_multicast_v6(&crate::address::ALL_NODES, interface.index);
        }
        // It tells the address and the interface that a datagram came to.
        let receive_socket = ReceiveSocket::new(socket, config.gro).ok()?;
        let interface = interface.filter(|_| config.only_interface).cloned();
        let bus = LocalBus::open(config.group.port(), config.token).ok();
        let heard_hosts = config.heard_hosts.clone();
        Some(Self { receive_socket, bus, interface, source: config.source, heard_hosts })
    }

    /// Sends segments from the port that it hears at, one call for each; how many bytes went out.
    pub(crate) fn send(
        &self,
        to: SocketAddr,
        segment_size: usize,
        bytes: &[u8],
    ) -> io::Result<usize> {
        let mut sent = 0;
        for segment in bytes.chunks(segment_size.max(1)) {
            let socket = &self.receive_socket.socket;
            let result = match socket.send_to(segment, &to.into()) {
                // Nobody else waits for room in this socket.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait::wait_for_room(socket.as_fd(), ROOM_WAIT)?;
                    socket.send_to(segment, &to.into())
                }
                result => result,
            };
            match result {
                Ok(length) => sent += length,
                // What went out is reported first, the error by the next call.
                Err(_) if sent > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    /// Gives `each` what has come and is to be heard; how many datagrams there were.
    pub(crate) fn drain(
        &mut self,
        buffers: &mut Buffers,
        mut each: impl FnMut(&RecvMeta, &[u8], usize),
    ) -> io::Result<usize> {
        let Self { receive_socket, bus, interface, source, heard_hosts } = self;
        let takes = |meta: &RecvMeta| {
            heard_hosts.has(meta.source.ip()) && hears(interface.as_ref(), *source, meta)
        };
        let mut take = |meta: &RecvMeta, run: &[u8], stride: usize| {
            // What programs pass on to each other comes by the bus.
            if local_bus::is_one(run) {
                return;
            }
            if let (Some(bus), Some(destination)) = (bus.as_mut(), meta.destination)
                && is_one_host(destination)
            {
                let (source, interface) = (meta.source, meta.interface.unwrap_or(0));
                cut(run, stride, |datagram| {
                    bus.pass(&PassedOn { source, destination, interface, datagram });
                });
            }
            if takes(meta) {
                each(meta, run, stride);
            }
        };
        let mut count = buffers.drain(receive_socket, Via::Direct, &mut take)?;
        if let Some(bus) = bus.as_ref() {
            count += bus.drain(TURN, |passed| {
                let meta = RecvMeta {
                    source: passed.source,
                    destination: Some(passed.destination),
                    interface: Some(passed.interface),
                    ecn: None,
                    via: Via::Direct,
                    waited: Duration::ZERO,
                    received: None,
                };
                if takes(&meta) {
                    each(&meta, passed.datagram, passed.datagram.len().max(1));
                }
            })?;
        }
        Ok(count)
    }
}

/// True if a datagram is for one that listens to this interface and this source, if they are given. What a
/// program of this machine sends to an address of the interface comes in by the loopback interface.
pub(crate) fn hears(
    interface: Option<&Interface>,
    source: Option<IpAddr>,
    meta: &RecvMeta,
) -> bool {
    if source.is_some_and(|source| source != meta.source.ip()) {
        return false;
    }
    let Some(interface) = interface else { return true };
    let own = meta.destination.is_some_and(|to| interface.addresses.contains(&to));
    own || meta.interface == Some(interface.index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Endpoint;
    use crate::follow::loopback_interface;

    fn config(last: u8, port: u16) -> EndpointConfig {
        let group = SocketAddr::new(Ipv4Addr::new(239, 255, 42, last).into(), port);
        let interface = Some(loopback_interface(group.ip()).unwrap());
        EndpointConfig {
            group,
            interface,
            direct: true,
            token: u64::from(last),
            ..EndpointConfig::default()
        }
    }
    fn hears(config: EndpointConfig) -> Endpoint {
        Endpoint::open(&EndpointConfig { hears_direct: true, ..config }).unwrap()
    }
    fn heard(endpoint: &mut Endpoint) -> Vec<(SocketAddr, usize)> {
        let mut all = Vec::new();
        endpoint.receive(|meta, bytes| all.push((meta.source, bytes.len()))).unwrap();
        all
    }
    fn free_port() -> u16 {
        let free = std::net::UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        free.local_addr().unwrap().port()
    }

    #[test]
    fn who_sends_to_hosts_takes_nothing_from_a_receiver_on_the_same_machine() {
        let port = free_port();
        let mut receiver = hears(config(23, port));
        let mut sender = Endpoint::open(&config(24, port)).unwrap();
        sender.send(SocketAddr::from(([127, 0, 0, 1], port)), 100, None, &[7; 100]).unwrap();
        assert_eq!((heard(&mut receiver).len(), heard(&mut sender).len()), (1, 0));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_peer_is_spoken_to_from_the_port_that_it_has_asked_and_others_from_the_endpoints_own() {
        let port = free_port();
        let mut endpoint = hears(config(31, port));
        let own = endpoint.local_addr().unwrap().port();
        let peers = [0, 1].map(|_| std::net::UdpSocket::bind(("127.0.0.1", 0)).unwrap());
        let [asked, other] = [&peers[0], &peers[1]].map(|peer| peer.local_addr().unwrap());
        endpoint.speak_by_machine(asked, true);
        endpoint.speak_by_machine(asked, true);
        let from = |peer: &std::net::UdpSocket| {
            let mut bytes = [0; 100];
            let (len, source) = peer.recv_from(&mut bytes).unwrap();
            (source.port(), len)
        };
        for (peer, to, port) in [(&peers[0], asked, port), (&peers[1], other, own)] {
            assert_eq!(endpoint.send(to, 30, None, &[7; 70]).unwrap(), 70);
            assert_eq!([(); 3].map(|()| from(peer)), [(port, 30), (port, 30), (port, 10)]);
        }
        endpoint.speak_by_machine(asked, false);
        endpoint.send(asked, 30, None, &[7; 9]).unwrap();
        assert_eq!(from(&peers[0]), (own, 9));
    }

    #[test]
    fn of_too_many_peers_of_the_machines_port_the_oldest_gives_way() {
        let mut endpoint = hears(config(32, free_port()));
        let peer = |number: u16| SocketAddr::from(([127, 0, 0, 1], number));
        (1..=257).for_each(|number| endpoint.speak_by_machine(peer(number), true));
        assert_eq!(endpoint.by_machine.len(), 256);
        assert!(!endpoint.by_machine.contains(&peer(1)) && endpoint.by_machine.contains(&peer(2)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn all_programs_of_a_machine_hear_what_is_sent_to_it_each_once_and_from_whom() {
        let port = free_port();
        let mut all = [1, 2, 3].map(|last| hears(config(last, port)));
        let sender = Endpoint::open(&config(9, port)).unwrap();
        let own = sender.transmitter.receive_socket.socket.local_addr().unwrap();
        let own = SocketAddr::from(([127, 0, 0, 1], own.as_socket().unwrap().port()));
        sender.send(SocketAddr::from(([127, 0, 0, 1], port)), 100, None, &[7; 100]).unwrap();
        // Whichever has it passes it on when it reads.
        let mut counts = [0; 3];
        for _ in 0..2 {
            for (count, endpoint) in counts.iter_mut().zip(&mut all) {
                let heard = heard(endpoint);
                assert!(heard.iter().all(|one| *one == (own, 100)), "{heard:?}");
                *count += heard.len();
            }
        }
        assert_eq!(counts, [1; 3]);
    }

    #[test]
    fn a_source_and_an_interface_hold_for_what_is_sent_to_this_machine_alone() {
        let lo = loopback_interface(Ipv4Addr::LOCALHOST.into()).unwrap();
        let meta = RecvMeta {
            source: "10.0.0.9:4000".parse().unwrap(),
            destination: Some("10.0.0.2".parse().unwrap()),
            interface: Some(lo.index + 7),
            ecn: None,
            via: Via::Direct,
            waited: Duration::ZERO,
            received: None,
        };
        let source = |text: &str| Some(text.parse().unwrap());
        assert!(super::hears(None, None, &meta) && super::hears(None, source("10.0.0.9"), &meta));
        assert!(!super::hears(None, source("10.0.0.8"), &meta));
        assert!(!super::hears(Some(&lo), None, &meta), "it came in by another");
        let here = RecvMeta { interface: Some(lo.index), ..meta };
        assert!(super::hears(Some(&lo), None, &here));
        let own = RecvMeta { destination: lo.addresses.first().copied(), ..meta };
        assert!(super::hears(Some(&lo), None, &own), "an address of the interface");
    }
}
