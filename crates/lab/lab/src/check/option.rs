//! Socket options of a measurement that no safe crate of ours sets.

use libc::{SO_RCVBUFFORCE, SOL_SOCKET, SOL_UDP, UDP_GRO, UDP_SEGMENT, c_int, setsockopt};
use rustix::ioctl::{Getter, ioctl};
use std::{
    io,
    os::fd::{AsFd, AsRawFd as _},
};

/// linux/sockios.h: SIOCGSTAMPNS, the time of the datagram that was received last.
const RECEIVED_AT: u32 = 0x8907;

/// When the kernel was handed the datagram that was received last, nanoseconds since the epoch.
pub(crate) fn received_at(socket: &impl AsFd) -> io::Result<i64> {
    // SAFETY: SIOCGSTAMPNS writes a `struct timespec`, on 64-bit machines two 64-bit numbers.
    let [seconds, nanos] = unsafe { ioctl(socket, Getter::<RECEIVED_AT, [i64; 2]>::new()) }?;
    Ok(seconds * 1_000_000_000 + nanos)
}

/// Room for this many bytes, whatever the system's limit is.
pub(crate) fn buffer(socket: &impl AsFd, bytes: usize) -> io::Result<()> {
    set(socket, SOL_SOCKET, SO_RCVBUFFORCE, bytes)
}
/// What is sent in one call is cut into datagrams of this size.
pub(crate) fn send_segments(socket: &impl AsFd, bytes: usize) -> io::Result<()> {
    set(socket, SOL_UDP, UDP_SEGMENT, bytes)
}
/// Datagrams that came together are received together.
pub(crate) fn receive_joined(socket: &impl AsFd) -> io::Result<()> {
    set(socket, SOL_UDP, UDP_GRO, 1)
}

fn set(socket: &impl AsFd, level: c_int, name: c_int, value: usize) -> io::Result<()> {
    let value = c_int::try_from(value).unwrap_or(c_int::MAX);
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the descriptor is borrowed, so open; the value is one int, as all three options take,
    // and it is readable during the call.
    let result = unsafe {
        setsockopt(fd, level, name, (&raw const value).cast(), size_of::<c_int>() as u32)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
