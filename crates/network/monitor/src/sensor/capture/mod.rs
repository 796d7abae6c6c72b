//! Packets of an interface: their headers, and nothing of their content.
//!
//! - `filter`: what the kernel copies of each packet; `ring`: the memory in which it does so
//! - `rights`: what this process may no longer do once its sockets are open

mod filter;
mod rights;
mod ring;

use std::{
    fs, io,
    os::fd::{AsFd, BorrowedFd},
};

use fanfare_wire::units::{Duration, Time};

pub use rights::give_up_rights;

use crate::sensor::{
    copies::Place,
    dissect::{Frame, LinkType},
};
use ring::Ring;

/// Types of interfaces whose frames begin as Ethernet's do: it, and loopback (linux/if_arp.h).
pub const ETHERNET: u32 = 1;
const LOOPBACK: u32 = 772;
/// Those whose packets have nothing before IP: tun and WireGuard, and raw IP of modems.
const BARE: [u32; 2] = [65_534, 519];
/// Those with something before it that the kernel takes off: PPP, IP in IP of both versions, IPv6 in IPv4,
/// GRE over both.
const WRAPPED: [u32; 6] = [512, 768, 769, 776, 778, 823];

/// Whether an interface of this type (linux/if_arp.h) is a tunnel, whose packets are IP at once.
#[must_use]
pub fn is_tunnel(kind: u32) -> bool {
    BARE.contains(&kind) || WRAPPED.contains(&kind)
}

/// Where packets are taken from.
#[derive(Debug)]
pub struct Capture {
    ring: Ring,
    /// On loopback each packet is seen going out and coming in.
    skips_outgoing: bool,
    index: u32,
    link: LinkType,
    name: String,
}

/// Packets that the kernel has counted since this was asked last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// All of them.
    pub packets: u64,
    /// Those for which there was no room.
    pub dropped: u64,
}

/// Why there is no capture.
#[derive(Debug)]
pub enum CaptureError {
    /// There is no such interface.
    Unknown(String),
    /// It has another kind of frames.
    Kind(String, u32),
    /// The right CAP_NET_RAW is missing.
    Right(String),
    /// The system refuses.
    System(String, io::Error),
}

impl std::fmt::Display for CaptureError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(name) => {
                write!(f, "interface ({name}): is not there. 'ip link' names those that are")
            }
            Self::Kind(name, kind) => write!(
                f,
                "interface ({name}): has frames of kind {kind}, and only those of Ethernet (1), loopback \
                 (772) and tunnels of IP (512, 519, 768, 769, 776, 778, 823, 65534) are read. Name \
                 another interface"
            ),
            Self::Right(name) => write!(
                f,
                "interface ({name}): packets may not be seen. The sensor needs CAP_NET_RAW: run it \
                 with sudo or from a service, or with --without-packets"
            ),
            Self::System(name, error) => {
                write!(f, "interface ({name}): packets cannot be seen ({error})")
            }
        }
    }
}

impl std::error::Error for CaptureError {}

impl Capture {
    /// Begins to take packets of the interface `name`, in memory of about `memory` bytes. `ports` carry NORM.
    pub fn open(name: &str, memory: usize, ports: &[u16]) -> Result<Self, CaptureError> {
        let unknown = || CaptureError::Unknown(name.to_owned());
        if name.is_empty() || name.contains('/') || name.starts_with('.') {
            return Err(unknown());
        }
        let read = |file: &str| fs::read_to_string(format!("/sys/class/net/{name}/{file}"));
        let number = |file: &str| -> Option<u32> { read(file).ok()?.trim().parse().ok() };
        let index = number("ifindex").ok_or_else(unknown)?;
        let kind = number("type").ok_or_else(unknown)?;
        if kind != ETHERNET && kind != LOOPBACK && !is_tunnel(kind) {
            return Err(CaptureError::Kind(name.to_owned(), kind));
        }
        let (link, filter) = if is_tunnel(kind) {
            (LinkType::Raw, filter::headers_of_ip(ports))
        } else {
            (LinkType::Ethernet, filter::headers_only(ports))
        };
        let opened = Ring::open(index, memory, &filter, WRAPPED.contains(&kind));
        let ring = opened.map_err(|error| match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => CaptureError::Right(name.to_owned()),
            _ => CaptureError::System(name.to_owned(), error),
        })?;
        Ok(Self { ring, skips_outgoing: kind == LOOPBACK, index, link, name: name.to_owned() })
    }

    /// Its interface.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// With what its frames begin.
    #[must_use]
    pub fn link(&self) -> LinkType {
        self.link
    }

    /// Hands over what has come.
    pub fn take(&mut self, mut each: impl FnMut(Place, Frame<'_>)) -> usize {
        let (skips_outgoing, interface) = (self.skips_outgoing, self.index);
        self.ring.take(|raw| {
            if skips_outgoing && raw.outgoing {
                return;
            }
            let at = Time::ZERO.plus(Duration::new(u64::from(raw.seconds), raw.nanos));
            let (bytes, length, segment) = (raw.bytes, raw.length, raw.segment);
            let place = Place { interface, outgoing: Some(raw.outgoing) };
            each(place, Frame { at, bytes, length, segment });
        })
    }

    /// What the kernel has counted since the last time.
    pub fn counted(&mut self) -> io::Result<Counted> {
        let (packets, dropped) = self.ring.counted()?;
        Ok(Counted { packets: packets.into(), dropped: dropped.into() })
    }
}

impl AsFd for Capture {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }
}
