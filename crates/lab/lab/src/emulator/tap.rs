//! A TAP device: an Ethernet interface whose cable ends in this process.
//!
//! It is opened with `IFF_VNET_HDR`. A small header before each frame says whether the frame is a
//! super-packet: many UDP datagrams of one size that the kernel leaves to the device to cut
//! (UDP_SEGMENT). The kernel also takes such super-packets from us (UDP_GRO). At high rates this
//! matters more than anything else, because the cost is per frame and not per byte.

use crate::system::privileges::TUN;
use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
    ioctl::{IntegerSetter, Setter, ioctl, opcode},
};
use std::{
    ffi::{c_int, c_uint},
    io::{self, IoSlice},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

// linux/if_tun.h.
const TUNSETIFF: u32 = opcode::write::<c_int>(b'T', 202);
const TUNSETOFFLOAD: u32 = opcode::write::<c_uint>(b'T', 208);
const IFF_TAP: i16 = 0x0002;
const IFF_NO_PI: i16 = 0x1000;
const IFF_VNET_HDR: i16 = 0x4000;
/// Checksums are left to the device.
const TUN_F_CSUM: usize = 0x01;
/// So is the cutting of UDP over IPv4, and over IPv6 (since Linux 6.2; one cannot be had alone).
const TUN_F_USO: usize = 0x20 | 0x40;

/// linux/if.h: `struct ifreq`, of which TUNSETIFF reads name and flags.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: i16,
    unused: [u8; 22],
}

/// One end of an Ethernet cable.
#[derive(Debug)]
pub(crate) struct Tap {
    fd: OwnedFd,
    super_packets: bool,
}

impl Tap {
    /// Makes the interface in the namespace of the calling thread; it is gone when dropped.
    pub(crate) fn open(name: &str) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = open(TUN, flags, Mode::empty())?;
        let mut request = InterfaceRequest {
            name: [0; 16],
            flags: IFF_TAP | IFF_NO_PI | IFF_VNET_HDR,
            unused: [0; 22],
        };
        let length = name.len().min(request.name.len() - 1);
        request.name[..length].copy_from_slice(&name.as_bytes()[..length]);
        // SAFETY: TUNSETIFF reads a `struct ifreq`, whose layout `InterfaceRequest` has, and keeps
        // no pointer to it.
        unsafe { ioctl(&fd, Setter::<TUNSETIFF, InterfaceRequest>::new(request)) }?;
        let super_packets = offload(&fd, TUN_F_CSUM | TUN_F_USO).is_ok();
        if !super_packets {
            offload(&fd, TUN_F_CSUM)?;
        }
        Ok(Self { fd, super_packets })
    }

    /// Whether it takes and gives super-packets.
    pub(crate) fn takes_super_packets(&self) -> bool {
        self.super_packets
    }
    /// The next frame, its header before it; `None` when there is none.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(&self.fd, buffer) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
    /// Hands one frame, its header before it, to the host.
    pub(crate) fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        rustix::io::writev(&self.fd, parts)?;
        Ok(())
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn offload(fd: &OwnedFd, features: usize) -> Result<(), Errno> {
    // SAFETY: TUNSETOFFLOAD takes the features themselves in place of a pointer.
    unsafe { ioctl(fd, IntegerSetter::<TUNSETOFFLOAD>::new_usize(features)) }
}
