//! Tells when the interfaces of this machine have changed, without asking them each time.

use std::io;

use socket2::{Domain, Protocol, Socket, Type};

const AF_NETLINK: i32 = 16;
const NETLINK_ROUTE: i32 = 0;
/// linux/rtnetlink.h: RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR.
const NEWS: u32 = 0x1 | 0x10 | 0x100;
/// Bursts of news are drained with so many calls at most; the rest wakes the reader again.
const READS_MAX: usize = 64;

/// Hears of every change of an interface or of its addresses (rtnetlink).
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) socket: Socket,
}

impl Watch {
    pub(crate) fn open() -> io::Result<Self> {
        let (domain, protocol) = (Domain::from(AF_NETLINK), Protocol::from(NETLINK_ROUTE));
        let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
        socket.set_nonblocking(true)?;
        // Port 0: the kernel chooses.
        let address = rustix::net::netlink::SocketAddrNetlink::new(0, NEWS);
        rustix::net::bind(&socket, &address)?;
        Ok(Self { socket })
    }

    /// Whether something has changed since this was asked last.
    pub(crate) fn has_changed(&self) -> bool {
        let mut buffer = [0_u8; 4096];
        let mut changed = false;
        for _ in 0..READS_MAX {
            match io::Read::read(&mut &self.socket, &mut buffer) {
                Ok(_) => changed = true,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // Such as news that found no room.
                Err(_) => changed = true,
            }
        }
        changed
    }
}
