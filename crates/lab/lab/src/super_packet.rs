//! Super-packets to a group, paced or not, counted at the receivers: what a network or a kernel
//! carries without a protocol.

use crate::check::option;
use socket2::{Domain, Socket, Type};
use std::{
    io::{self, Read as _},
    net::{Ipv4Addr, SocketAddr},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

/// A receiver that hears nothing looks this often whether it is over.
const LOOK: Duration = Duration::from_millis(50);

/// A group, and how its packets are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SuperPackets {
    pub(crate) group: Ipv4Addr,
    pub(crate) port: u16,
    /// UDP payload, bytes.
    pub(crate) segment: usize,
    /// Of one call: 16 bits of length bound it.
    pub(crate) segments: usize,
    /// Bytes that may wait at a receiver.
    pub(crate) buffer: usize,
}

impl SuperPackets {
    /// A socket of the host with this address that gets them joined.
    pub(crate) fn listen(self, own: Ipv4Addr) -> io::Result<Socket> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
        option::buffer(&socket, self.buffer)?;
        option::receive_joined(&socket)?;
        socket.bind(&SocketAddr::from((self.group, self.port)).into())?;
        socket.join_multicast_v4(&self.group, &own)?;
        socket.set_read_timeout(Some(LOOK))?;
        Ok(socket)
    }

    /// A socket of the host with this address that sends what it is given in segments.
    pub(crate) fn talk(self, own: Ipv4Addr) -> io::Result<Socket> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
        socket.bind(&SocketAddr::from((own, 0)).into())?;
        socket.set_multicast_if_v4(&own)?;
        socket.set_multicast_loop_v4(false)?;
        socket.connect(&SocketAddr::from((self.group, self.port)).into())?;
        option::send_segments(&socket, self.segment)?;
        Ok(socket)
    }

    /// The content of one call.
    pub(crate) fn content(self) -> Vec<u8> {
        vec![0x5a; self.segment * self.segments]
    }
}

/// Counts bytes until it is over.
pub(crate) fn count(mut socket: Socket, over: &AtomicBool) -> u64 {
    let (mut buffer, mut bytes) = (vec![0; 1 << 16], 0);
    while !over.load(Ordering::SeqCst) {
        bytes += socket.read(&mut buffer).unwrap_or(0) as u64;
    }
    bytes
}
