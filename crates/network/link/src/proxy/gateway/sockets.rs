//! Sockets that have other machines' addresses: what a gateway accepts and answers with.

use std::{
    io::{self, IoSliceMut},
    net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6},
    os::fd::AsRawFd as _,
};

use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::{
    io::Interest,
    net::{TcpListener, UdpSocket},
};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// A datagram that was on its way to another machine.
#[derive(Debug, Clone, Copy)]
pub struct Caught {
    /// Its length.
    pub len: usize,
    /// Who sent it.
    pub from: SocketAddr,
    /// Whom it is for.
    pub to: SocketAddr,
}

fn transparent(address: SocketAddr, kind: Type, protocol: Protocol) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind, Some(protocol))?;
    match address {
        SocketAddr::V4(_) => socket.set_ip_transparent_v4(true)?,
        SocketAddr::V6(_) => {
            socket.set_only_v6(true)?;
            socket.set_ip_transparent_v6(true)?;
        }
    }
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// A listener for TCP; what it accepts has the destination as its local address.
///
/// # Errors
/// Without the right (CAP_NET_ADMIN), or when the port is taken.
pub fn tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = transparent(address, Type::STREAM, Protocol::TCP)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// A socket for datagrams; [`receive`] tells whom they are for.
///
/// # Errors
/// Without the right (CAP_NET_ADMIN), or when the port is taken.
pub fn udp(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = transparent(address, Type::DGRAM, Protocol::UDP)?;
    match address {
        SocketAddr::V4(_) => setsockopt(&socket, sockopt::Ipv4OrigDstAddr, &true)?,
        SocketAddr::V6(_) => setsockopt(&socket, sockopt::Ipv6OrigDstAddr, &true)?,
    }
    socket.bind(&address.into())?;
    UdpSocket::from_std(socket.into())
}

/// A socket that sends datagrams in the name of this address.
///
/// # Errors
/// Without the right (CAP_NET_ADMIN), or without descriptors.
pub fn in_the_name_of(address: SocketAddr) -> io::Result<std::net::UdpSocket> {
    let socket = transparent(address, Type::DGRAM, Protocol::UDP)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// The next datagram. One without its destination is an error of this system.
///
/// # Errors
/// As the socket.
pub async fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<Caught> {
    socket.async_io(Interest::READABLE, || receive_now(socket, buffer)).await
}

fn receive_now(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<Caught> {
    let mut parts = [IoSliceMut::new(buffer)];
    let mut space = nix::cmsg_space!(nix::libc::sockaddr_in6);
    let flags = MsgFlags::empty();
    let message =
        recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    let lacking = || io::Error::other("a datagram came without its destination");
    let from = message.address.as_ref().and_then(address).ok_or_else(lacking)?;
    let mut to = None;
    for control in message.cmsgs()? {
        to = to.or(match control {
            ControlMessageOwned::Ipv4OrigDstAddr(found) => {
                let ip = u32::from_be(found.sin_addr.s_addr);
                Some(SocketAddr::new(IpAddr::V4(ip.into()), u16::from_be(found.sin_port)))
            }
            ControlMessageOwned::Ipv6OrigDstAddr(found) => {
                let ip = IpAddr::V6(found.sin6_addr.s6_addr.into());
                Some(SocketAddr::new(ip, u16::from_be(found.sin6_port)))
            }
            _ => None,
        });
    }
    Ok(Caught { len: message.bytes, from, to: to.ok_or_else(lacking)? })
}

fn address(found: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = found.as_sockaddr_in().map(|v4| SocketAddr::V4(SocketAddrV4::from(*v4)));
    v4.or_else(|| found.as_sockaddr_in6().map(|v6| SocketAddr::V6(SocketAddrV6::from(*v6))))
}
