//! When data left the sender's host: the first full packet that the hub sees.

use super::star::Star;
use crate::{
    error::LabError,
    peer::DATA_MIN,
    wait::{self, WakeEvent},
};
use rustix::fd::AsFd as _;
use socket2::{Domain, Protocol, Socket, Type};
use std::{
    io,
    mem::MaybeUninit,
    time::{Duration, Instant},
};

/// linux/if_ether.h: every frame, also those that a bridge takes for itself.
const ETH_P_ALL: u16 = 0x0003;
/// Nobody waits longer for the first packet of a transfer that is over.
const LONG: Duration = Duration::from_secs(3600);

/// Watches the hub, until it has seen data.
#[derive(Debug)]
pub(super) struct FirstPacket(Socket);

impl FirstPacket {
    /// From now on.
    pub(super) fn watch(star: &Star) -> Result<Self, LabError> {
        let opened = star.at_hub(|| -> io::Result<Socket> {
            let protocol = Protocol::from(i32::from(ETH_P_ALL.to_be()));
            let socket = Socket::new(Domain::PACKET, Type::RAW, Some(protocol))?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        })?;
        opened.map(Self).map_err(|error| LabError::system("bench (packet socket)", &error))
    }

    /// When the first packet with data came by; nothing if it is over before.
    pub(super) fn wait(self, over: &WakeEvent) -> Option<Instant> {
        loop {
            wait::for_any(&[self.0.as_fd(), over.as_fd()], LONG);
            if self.sees_data() {
                return Some(Instant::now());
            }
            if over.is_rung() {
                return None;
            }
        }
    }

    /// Whether one of the frames that wait is long enough.
    fn sees_data(&self) -> bool {
        // With this flag a frame's length is told, however little of it there is room for.
        let next = || self.0.recv_with_flags(&mut [MaybeUninit::uninit()], libc::MSG_TRUNC);
        std::iter::from_fn(|| next().ok()).any(|length| length >= DATA_MIN)
    }
}
