//! Socket options that no safe crate of ours sets. All unsafe code of this crate is here.
//!
//! On systems other than Linux and Android each function returns that there is nothing to switch
//! off, or nothing available.

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use linux::*;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) use plain::*;

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux {
    use libc::{
        AF_INET6, IP_MTU_DISCOVER, IP_PKTINFO, IP_PMTUDISC_DONT, IPPROTO_IP, IPPROTO_IPV6,
        IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DONT, IPV6_RECVPKTINFO, SO_RCVBUFFORCE, SO_TIMESTAMPNS,
        SOL_SOCKET, SOL_UDP, UDP_GRO, UDP_SEGMENT, c_int, getsockopt, setsockopt, sockaddr_storage,
    };
    use std::io;
    use std::net::Ipv6Addr;
    use std::os::fd::{AsFd, AsRawFd};

    /// The kernel cuts and joins datagrams.
    pub(crate) const SEGMENTS: bool = true;

    // linux/asm-generic/socket.h and linux/sock_diag.h: SK_MEMINFO_DROPS is the last of
    // SK_MEMINFO_VARS. linux/in.h has the last. `libc` names none of them for every target.
    const SO_MEMINFO: c_int = 55;
    const MEMINFO_DROPS: usize = 8;
    const MEMINFO_VARS: usize = 9;
    const MCAST_JOIN_SOURCE_GROUP: c_int = 46;
    const SOCKADDR_STORAGE_LEN: usize = size_of::<sockaddr_storage>();

    /// Only for options whose value holds no pointers: all the ones named in this module.
    fn set(socket: &impl AsFd, level: c_int, name: c_int, value: &[u8]) -> io::Result<()> {
        let fd = socket.as_fd().as_raw_fd();
        // SAFETY: the descriptor is borrowed, so open; `value` is readable for its whole length,
        // which is all the kernel reads, and the options above carry no pointers.
        let result =
            unsafe { setsockopt(fd, level, name, value.as_ptr().cast(), value.len() as u32) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn set_int(socket: &impl AsFd, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
        set(socket, level, name, &value.to_ne_bytes())
    }

    /// Stops the kernel from adding a receive time to each datagram. With it, quinn-udp 0.6.3 has
    /// too little room for control messages and the ECN mark of coalesced datagrams is lost.
    pub(crate) fn stop_receive_timestamps(socket: &impl AsFd) -> io::Result<()> {
        unless_unknown(set_int(socket, SOL_SOCKET, SO_TIMESTAMPNS, 0))
    }

    /// Fragments longer datagrams than the link takes, which quinn-udp has switched off.
    pub(crate) fn let_fragment(socket: &impl AsFd, ipv6: bool) -> io::Result<()> {
        match ipv6 {
            false => set_int(socket, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT),
            true => set_int(socket, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DONT),
        }
    }

    /// Systems that only speak as Linux does (qemu-user, gVisor) lack some options; what works without
    /// them goes on.
    pub(crate) fn unless_unknown(done: io::Result<()>) -> io::Result<()> {
        done.or_else(|error| match error.raw_os_error() {
            Some(libc::ENOPROTOOPT) => Ok(()),
            _ => Err(error),
        })
    }

    /// Leaves room for the receive time among quinn-udp's control messages, on a socket whose datagrams'
    /// destination is known: mark, run and time take 80 bytes of its 96, the destination another 32.
    pub(crate) fn time_instead_of_destination(socket: &impl AsFd, ipv6: bool) -> io::Result<()> {
        match ipv6 {
            true => set_int(socket, IPPROTO_IPV6, IPV6_RECVPKTINFO, 0),
            false => set_int(socket, IPPROTO_IP, IP_PKTINFO, 0),
        }?;
        unless_unknown(set_int(socket, SOL_SOCKET, SO_TIMESTAMPNS, 1))
    }

    /// Stops the kernel from handing over several datagrams as one (UDP_GRO).
    pub(crate) fn stop_coalescing(socket: &impl AsFd) -> io::Result<()> {
        set_int(socket, SOL_UDP, UDP_GRO, 0)
    }

    /// Lets the kernel cut what is sent into datagrams of this many bytes (UDP_SEGMENT); 0 for not.
    pub(crate) fn set_segment_size(socket: &impl AsFd, bytes: u16) -> io::Result<()> {
        set_int(socket, SOL_UDP, UDP_SEGMENT, c_int::from(bytes))
    }

    /// Room for this many received bytes, whatever the system's limit is; for administrators alone
    /// (CAP_NET_ADMIN).
    pub(crate) fn force_receive_buffer(socket: &impl AsFd, bytes: usize) -> io::Result<()> {
        let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        set_int(socket, SOL_SOCKET, SO_RCVBUFFORCE, bytes)
    }

    /// Makes Linux refuse segmentation on an IPv4 socket with EINVAL, as some drivers do: it does so
    /// without checksums (SO_NO_CHECK).
    #[cfg(test)]
    pub(crate) fn refuse_segmentation(socket: &impl AsFd) -> io::Result<()> {
        set_int(socket, SOL_SOCKET, libc::SO_NO_CHECK, 1)
    }

    /// Datagrams or coalesced runs this socket dropped, for want of buffer or for a bad checksum; wraps at 2^32.
    pub(crate) fn drops(socket: &impl AsFd) -> Option<u32> {
        let mut values = [0_u32; MEMINFO_VARS];
        let mut length = size_of_val(&values) as u32;
        let fd = socket.as_fd().as_raw_fd();
        // SAFETY: the descriptor is borrowed, so open; `values` is writable for `length` bytes,
        // the kernel writes no more than that, and any bytes are valid integers.
        let result = unsafe {
            getsockopt(fd, SOL_SOCKET, SO_MEMINFO, values.as_mut_ptr().cast(), &mut length)
        };
        // Kernels before 4.12 have no SO_MEMINFO, and a shorter answer has no drops.
        (result == 0 && length as usize == size_of_val(&values)).then_some(values[MEMINFO_DROPS])
    }

    /// Joins an IPv6 group for one source only (RFC 3678 section 5.1.2, `group_source_req`).
    pub(crate) fn join_source_v6(
        socket: &impl AsFd,
        source: &Ipv6Addr,
        group: &Ipv6Addr,
        interface: u32,
    ) -> io::Result<()> {
        // The structure is an index, padding up to a pointer's alignment, and two addresses.
        let mut request = Vec::with_capacity(8 + 2 * SOCKADDR_STORAGE_LEN);
        request.extend(interface.to_ne_bytes());
        request.resize(align_of::<usize>().max(4), 0);
        for address in [group, source] {
            request.extend(sockaddr_in6(address));
        }
        set(socket, IPPROTO_IPV6, MCAST_JOIN_SOURCE_GROUP, &request)
    }

    /// Family, port 0, flow 0, address, scope 0.
    fn sockaddr_in6(address: &Ipv6Addr) -> [u8; SOCKADDR_STORAGE_LEN] {
        let mut storage = [0; SOCKADDR_STORAGE_LEN];
        storage[..2].copy_from_slice(&(AF_INET6 as u16).to_ne_bytes());
        storage[8..24].copy_from_slice(&address.octets());
        storage
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod plain {
    use rustix::fd::AsFd;
    use std::io;
    use std::net::Ipv6Addr;

    /// Windows could, by an option of its own: one call for each datagram does it everywhere.
    pub(crate) const SEGMENTS: bool = false;

    pub(crate) fn stop_receive_timestamps(_: &impl AsFd) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn time_instead_of_destination(_: &impl AsFd, _: bool) -> io::Result<()> {
        Ok(())
    }

    /// Windows goes on: a run is cut by the length that comes with it.
    pub(crate) fn stop_coalescing(_: &impl AsFd) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn let_fragment(_: &impl AsFd, _: bool) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn force_receive_buffer(_: &impl AsFd, _: usize) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    pub(crate) fn set_segment_size(_: &impl AsFd, _: u16) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    pub(crate) fn drops(_: &impl AsFd) -> Option<u32> {
        None
    }

    pub(crate) fn join_source_v6(
        _: &impl AsFd,
        _: &Ipv6Addr,
        _: &Ipv6Addr,
        _: u32,
    ) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}
