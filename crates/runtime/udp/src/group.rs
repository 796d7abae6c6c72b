//! One group's receiving socket: bound to the group's own address, joined on one interface.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, InterfaceIndexOrAddress, Protocol, Socket, Type};

use crate::config::EndpointConfig;
use crate::error::OpenError;
use crate::interface::{Interface, is_link_scope};
use crate::option;
use crate::receive::ReceiveSocket;

/// A quarter of a second at 1 Gbit/s: so long a busy machine keeps a receiver from its processor. Memory
/// is only taken by what waits.
const FORCED_BUFFER: usize = 32 << 20;

/// A socket that hears one group. Closing it leaves the group.
#[derive(Debug)]
pub(crate) struct GroupSocket {
    pub(crate) receive_socket: ReceiveSocket,
    pub(crate) group: SocketAddr,
}

impl GroupSocket {
    /// Opens, binds and joins. Being bound to the group's address, the socket hears nothing of
    /// other groups on the same port, as one bound to the port alone would.
    pub(crate) fn join(
        group: SocketAddr,
        interface: &Interface,
        config: &EndpointConfig,
    ) -> Result<Self, OpenError> {
        if !group.ip().is_multicast() {
            return Err(OpenError::NotMulticast { address: group.ip() });
        }
        let socket = open_shared(group, config)?;
        bind(&socket, bound_to(scoped(group, interface)))?;
        join(&socket, group.ip(), interface, config.source).map_err(|source| OpenError::Join {
            group: group.ip(),
            interface: interface.name.clone(),
            source,
        })?;
        Self::finish(socket, group, config)
    }

    /// Opens a socket bound to a unicast address of this machine, for itself alone.
    pub(crate) fn bind_unicast(
        address: SocketAddr,
        config: &EndpointConfig,
    ) -> Result<Self, OpenError> {
        let socket = open(address, config)?;
        bind(&socket, address)?;
        Self::finish(socket, address, config)
    }

    /// It hears a group, and not one address of this machine.
    pub(crate) fn is_group(&self) -> bool {
        self.group.ip().is_multicast()
    }

    fn finish(
        socket: Socket,
        group: SocketAddr,
        config: &EndpointConfig,
    ) -> Result<Self, OpenError> {
        Ok(Self {
            receive_socket: ReceiveSocket::timed(socket, config.gro, group.is_ipv6())?,
            group,
        })
    }
}

/// What the socket of a group is bound to: the group. Windows takes none of these; its sockets hear
/// only the groups that they have joined themselves, and beside them what is sent to this machine.
pub(crate) fn bound_to(group: SocketAddr) -> SocketAddr {
    if !cfg!(windows) {
        return group;
    }
    let any: IpAddr = match group {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    SocketAddr::new(any, group.port())
}

/// A socket that shares the port with others and hears what it has joined itself.
pub(crate) fn open_shared(group: SocketAddr, config: &EndpointConfig) -> Result<Socket, OpenError> {
    let socket = open(group, config)?;
    share_port(&socket)?;
    refuse_memberships_of_others(&socket, group)?;
    Ok(socket)
}

fn open(address: SocketAddr, config: &EndpointConfig) -> Result<Socket, OpenError> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))
        .map_err(|source| OpenError::Socket { source })?;
    configured("receive buffer", make_room(&socket, config))?;
    if address.is_ipv6() {
        configured("IPv6 only", socket.set_only_v6(true))?;
    }
    Ok(socket)
}

/// Makes room for data that comes while the program waits for its processor.
pub(crate) fn make_room(socket: &Socket, config: &EndpointConfig) -> io::Result<()> {
    socket.set_recv_buffer_size(config.receive_buffer)?;
    if config.receive_buffer >= EndpointConfig::default().receive_buffer {
        // Who may not has what the system gives anybody.
        let _ = option::force_receive_buffer(socket, config.receive_buffer.max(FORCED_BUFFER));
    }
    Ok(())
}

/// Several programs of one machine hear the same group: on Linux SO_REUSEADDR gives each its copy,
/// the BSDs ask for SO_REUSEPORT as well.
fn share_port(socket: &Socket) -> Result<(), OpenError> {
    configured("shared port", socket.set_reuse_address(true))?;
    #[cfg(not(any(target_os = "linux", target_os = "android", windows)))]
    configured("shared port", socket.set_reuse_port(true))?;
    Ok(())
}

/// Linux delivers a group to every socket of its port as soon as any program has joined it, on any
/// interface and from any source, unless told otherwise. Elsewhere, and where the socket library
/// does not offer it (Android), the binding to the group's address must do.
#[cfg(target_os = "linux")]
fn refuse_memberships_of_others(socket: &Socket, group: SocketAddr) -> Result<(), OpenError> {
    if group.is_ipv4() {
        let done = option::unless_unknown(socket.set_multicast_all_v4(false));
        return configured("own memberships only", done);
    }
    // Kernels before 4.20 do not know it for IPv6.
    let _ = socket.set_multicast_all_v6(false);
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn refuse_memberships_of_others(_: &Socket, _: SocketAddr) -> Result<(), OpenError> {
    Ok(())
}

pub(crate) fn bind(socket: &Socket, address: SocketAddr) -> Result<(), OpenError> {
    socket.bind(&address.into()).map_err(|source| OpenError::Bind { address, source })
}

pub(crate) fn join(
    socket: &Socket,
    group: IpAddr,
    interface: &Interface,
    source: Option<IpAddr>,
) -> io::Result<()> {
    match (group, source) {
        (IpAddr::V4(group), None) => {
            by_index_v4(interface, |on| socket.join_multicast_v4_n(&group, on))
        }
        (IpAddr::V4(group), Some(IpAddr::V4(source))) => {
            let own = interface.ipv4().ok_or(io::ErrorKind::AddrNotAvailable)?;
            socket.join_ssm_v4(&source, &group, &own)
        }
        (IpAddr::V6(group), None) => socket.join_multicast_v6(&group, interface.index),
        (IpAddr::V6(group), Some(IpAddr::V6(source))) => {
            option::join_source_v6(socket, &source, &group, interface.index)
        }
        _ => Err(io::Error::from(io::ErrorKind::InvalidInput)),
    }
}

/// Joins or leaves by the interface's index: two interfaces may have the same address. Wine understands
/// addresses alone.
fn by_index_v4(
    interface: &Interface,
    change: impl Fn(&InterfaceIndexOrAddress) -> io::Result<()>,
) -> io::Result<()> {
    match (change(&InterfaceIndexOrAddress::Index(interface.index)), interface.ipv4()) {
        (Err(_), Some(own)) if cfg!(windows) => change(&InterfaceIndexOrAddress::Address(own)),
        (done, _) => done,
    }
}

/// Takes one membership back; closing the socket takes all.
pub(crate) fn leave(
    socket: &Socket,
    group: IpAddr,
    interface: &Interface,
    source: Option<IpAddr>,
) -> io::Result<()> {
    match (group, source) {
        (IpAddr::V4(group), None) => {
            by_index_v4(interface, |on| socket.leave_multicast_v4_n(&group, on))
        }
        (IpAddr::V4(group), Some(IpAddr::V4(source))) => {
            let own = interface.ipv4().ok_or(io::ErrorKind::AddrNotAvailable)?;
            socket.leave_ssm_v4(&source, &group, &own)
        }
        // Of one source too: the last membership of a group goes with it.
        (IpAddr::V6(group), _) => socket.leave_multicast_v6(&group, interface.index),
        _ => Err(io::Error::from(io::ErrorKind::InvalidInput)),
    }
}

/// A link-local IPv6 address means nothing without its interface.
pub(crate) fn scoped(address: SocketAddr, interface: &Interface) -> SocketAddr {
    match address {
        SocketAddr::V6(mut v6) if v6.scope_id() == 0 && is_link_scope(v6.ip()) => {
            v6.set_scope_id(interface.index);
            SocketAddr::V6(v6)
        }
        other => other,
    }
}

fn configured(what: &'static str, result: io::Result<()>) -> Result<(), OpenError> {
    result.map_err(|source| OpenError::Configure { what, source })
}
