//! The groups of a layered session: many memberships on few sockets.
//!
//! With a socket for each group ([`crate::Endpoint::join`]) there would be a hundred descriptors to
//! check for each packet, and packets would come in the order of sockets and not of arrival. So the
//! sockets here are bound to the port alone and have as many memberships as the system allows
//! (Linux: `net.ipv4.igmp_max_memberships`, 20). Each packet says which layer it is of. If another
//! program has bound the port at an address of this machine, each group gets a socket after all.
//! Each datagram comes with the kernel's time of arrival, which packet pairs need, so nothing is
//! coalesced.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::config::EndpointConfig;
use crate::error::OpenError;
use crate::group;
use crate::interface::Interface;
use crate::receive::ReceiveSocket;

/// A session has at most 128 layers: who asks for more sockets than that means no session.
const SOCKETS_MAX: usize = 128;

/// A socket and the groups that it hears.
#[derive(Debug)]
struct Members {
    receive_socket: ReceiveSocket,
    port: u16,
    groups: Vec<IpAddr>,
    /// It is bound to its one group.
    single: bool,
}

/// All groups of layers that an endpoint hears.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    sockets: Vec<Members>,
    past_overruns: u64,
}

impl Layers {
    /// Hears one more.
    pub(crate) fn join(
        &mut self,
        group: SocketAddr,
        interface: &Interface,
        config: &EndpointConfig,
    ) -> Result<(), OpenError> {
        if !group.ip().is_multicast() {
            return Err(OpenError::NotMulticast { address: group.ip() });
        }
        let port = group.port();
        let known =
            |members: &Members| members.port == port && members.groups.contains(&group.ip());
        if self.sockets.iter().any(known) {
            return Ok(());
        }
        let open = |members: &&mut Members| members.port == port && !members.single;
        for members in self.sockets.iter_mut().filter(open) {
            match members.join(group.ip(), interface, config) {
                Ok(()) => return Ok(()),
                // It has as many as it may.
                Err(_) if !members.groups.is_empty() => {}
                Err(source) => return Err(refused(group, interface, source)),
            }
        }
        let any = Members::open(group, interface, config, false);
        let mut members = any.or_else(|_| Members::open(group, interface, config, true))?;
        let joined = members.join(group.ip(), interface, config);
        joined.map_err(|source| refused(group, interface, source))?;
        if self.sockets.len() >= SOCKETS_MAX {
            let source = io::Error::other("too many sockets for one session");
            return Err(refused(group, interface, source));
        }
        self.sockets.push(members);
        Ok(())
    }

    /// Stops hearing one. What has come of it already may still be received.
    pub(crate) fn leave(
        &mut self,
        group: SocketAddr,
        interface: &Interface,
        config: &EndpointConfig,
    ) {
        for members in self.sockets.iter_mut().filter(|members| members.port == group.port()) {
            let Some(at) = members.groups.iter().position(|joined| *joined == group.ip()) else {
                continue;
            };
            members.groups.swap_remove(at);
            // What cannot be left is not heard of any more: the session has left it.
            let _ =
                group::leave(&members.receive_socket.socket, group.ip(), interface, config.source);
        }
        let (gone, kept) = std::mem::take(&mut self.sockets)
            .into_iter()
            .partition(|members: &Members| members.groups.is_empty());
        self.sockets = kept;
        self.past_overruns +=
            gone.iter().map(|members| members.receive_socket.drops()).sum::<u64>();
    }

    /// Those that are heard.
    pub(crate) fn groups(&self) -> impl Iterator<Item = SocketAddr> {
        self.sockets.iter().flat_map(|members| {
            members.groups.iter().map(|group| SocketAddr::new(*group, members.port))
        })
    }

    pub(crate) fn inlets(&self) -> impl Iterator<Item = &ReceiveSocket> {
        self.sockets.iter().map(|members| &members.receive_socket)
    }
    pub(crate) fn overruns(&self) -> u64 {
        self.past_overruns
            + self.sockets.iter().map(|members| members.receive_socket.drops()).sum::<u64>()
    }
}

impl Members {
    fn open(
        group: SocketAddr,
        interface: &Interface,
        config: &EndpointConfig,
        single: bool,
    ) -> Result<Self, OpenError> {
        let any: IpAddr = match group.ip() {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = group::open_shared(group, config)?;
        let any = SocketAddr::new(any, group.port());
        let own = || group::bound_to(group::scoped(group, interface));
        group::bind(&socket, if single { own() } else { any })?;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        crate::filter::multicast_only(&socket, group.is_ipv6(), interface.index)
            .map_err(|source| OpenError::Configure { what: "groups only", source })?;
        let receive_socket = ReceiveSocket::timed(socket, false, group.is_ipv6())?;
        Ok(Self { receive_socket, port: group.port(), groups: Vec::new(), single })
    }

    fn join(
        &mut self,
        group: IpAddr,
        interface: &Interface,
        config: &EndpointConfig,
    ) -> io::Result<()> {
        group::join(&self.receive_socket.socket, group, interface, config.source)?;
        self.groups.push(group);
        Ok(())
    }
}

fn refused(group: SocketAddr, interface: &Interface, source: io::Error) -> OpenError {
    OpenError::Join { group: group.ip(), interface: interface.name.clone(), source }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::config::Role;
    use crate::endpoint::Endpoint;
    use crate::receive::Via;
    use std::time::Duration;

    fn endpoint(role: Role, port: u16) -> Endpoint {
        let group = SocketAddr::new(Ipv4Addr::new(239, 255, 77, 0).into(), port);
        let interface = crate::choose_interface(group.ip(), Some("lo")).unwrap();
        let interface = Some(interface);
        Endpoint::open(&EndpointConfig { group, role, interface, ..EndpointConfig::default() })
            .unwrap()
    }
    fn layer(port: u16, number: u8) -> SocketAddr {
        SocketAddr::new(Ipv4Addr::new(239, 255, 77, number).into(), port)
    }
    /// What comes of one datagram to each of 60 layers: its first byte, and when.
    fn heard(receiver: &mut Endpoint, sender: &Endpoint, port: u16) -> Vec<(u8, Duration)> {
        for number in 1..=60 {
            sender.send(layer(port, number), 100, None, &[number; 100]).unwrap();
        }
        let mut heard = Vec::new();
        // Loopback has delivered by the time that a send returns.
        while receiver.wait(Some(Duration::ZERO), None).unwrap().layers {
            receiver
                .receive(|meta, bytes| {
                    assert_eq!(meta.via, Via::Layers);
                    heard.push((bytes[0], meta.received.unwrap()));
                })
                .unwrap();
        }
        heard.sort_unstable();
        heard
    }

    #[test]
    fn many_layers_are_heard_by_few_sockets_and_only_while_they_are_joined() {
        let port = 26_871;
        let (mut receiver, sender) = (endpoint(Role::Member, port), endpoint(Role::Sender, port));
        (1..=50).for_each(|number| receiver.join_layer(layer(port, number)).unwrap());
        assert!((1..=5).contains(&receiver.layer_sockets()), "{}", receiver.layer_sockets());
        let numbers =
            |heard: Vec<(u8, Duration)>| -> Vec<u8> { heard.iter().map(|h| h.0).collect() };
        assert_eq!(numbers(heard(&mut receiver, &sender, port)), (1..=50).collect::<Vec<u8>>());
        (11..=50).for_each(|number| receiver.leave_layer(layer(port, number)));
        assert_eq!(numbers(heard(&mut receiver, &sender, port)), (1..=10).collect::<Vec<u8>>());
        (1..=10).for_each(|number| receiver.leave_layer(layer(port, number)));
        assert_eq!(receiver.layer_sockets(), 0);
    }

    #[test]
    fn nothing_that_is_sent_to_this_machine_alone_comes_by_a_layer_or_is_kept_from_the_one_it_is_for()
     {
        let port = 26_873;
        let group = SocketAddr::new(Ipv4Addr::new(239, 255, 77, 0).into(), port);
        let interface = crate::choose_interface(group.ip(), Some("lo")).unwrap();
        let config = EndpointConfig {
            group,
            interface: Some(interface),
            direct: true,
            hears_direct: true,
            ..EndpointConfig::default()
        };
        let (mut receiver, sender) =
            (Endpoint::open(&config).unwrap(), endpoint(Role::Sender, port));
        receiver.join_layer(layer(port, 1)).unwrap();
        sender.send(layer(port, 1), 100, None, &[1; 100]).unwrap();
        sender.send(SocketAddr::from(([127, 0, 0, 1], port)), 100, None, &[2; 100]).unwrap();
        let mut heard = Vec::new();
        receiver.receive(|meta, bytes| heard.push((meta.via, bytes[0]))).unwrap();
        heard.sort_unstable_by_key(|one| one.1);
        assert_eq!(heard, [(Via::Layers, 1), (Via::Direct, 2)]);
    }

    #[test]
    fn where_another_program_has_the_port_each_layer_has_a_socket() {
        let other = std::net::UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let port = other.local_addr().unwrap().port();
        let (mut receiver, sender) = (endpoint(Role::Member, port), endpoint(Role::Sender, port));
        (1..=30).for_each(|number| receiver.join_layer(layer(port, number)).unwrap());
        assert_eq!((receiver.layer_sockets(), heard(&mut receiver, &sender, port).len()), (30, 30));
        (1..=30).for_each(|number| receiver.leave_layer(layer(port, number)));
        assert_eq!(receiver.layer_sockets(), 0);
    }

    #[test]
    fn each_datagram_comes_with_the_time_at_which_the_kernel_got_it() {
        let port = 26_872;
        let (mut receiver, sender) = (endpoint(Role::Member, port), endpoint(Role::Sender, port));
        receiver.join_layer(layer(port, 7)).unwrap();
        let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let start = now();
        let heard = heard(&mut receiver, &sender, port);
        let between = start..=now();
        assert!(heard.len() == 1 && between.contains(&heard[0].1), "{between:?} {heard:?}");
    }
}
