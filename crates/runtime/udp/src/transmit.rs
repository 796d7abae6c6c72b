//! Sending: many equal segments in one call where the kernel cuts them, and one call for each
//! elsewhere.
//!
//! Segment size and traffic class are set as socket options when they change, and not with each
//! call: the traffic class that quinn-udp sets with each call has only the ECN bits and would erase
//! the DSCP.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use socket2::{Domain, Protocol, Socket, Type};

use crate::config::EndpointConfig;
use crate::error::OpenError;
use crate::group::make_room;
use crate::interface::Interface;
use crate::option;
use crate::receive::ReceiveSocket;
use fanfare_wire::units::Ecn;

/// Most segments that one system call sends (UDP_MAX_SEGMENTS of Linux before 6.9, the smaller).
pub const MAX_GSO_SEGMENTS: usize = 64;
/// Largest super-packet: 65535 less the larger of the IP headers and the UDP header.
const MAX_SUPER_PACKET: usize = 65_535 - 40 - 8;

/// EIO and EINVAL, the ways in which drivers and routes without segmentation refuse it.
const SEGMENTATION_REFUSALS: [i32; 2] = [5, 22];

/// The socket from which everything is sent.
#[derive(Debug)]
pub(crate) struct Transmitter {
    pub(crate) receive_socket: ReceiveSocket,
    segmentation: AtomicBool,
    dscp: AtomicU8,
    settings: Mutex<Settings>,
}

/// What the socket is set to now, so that only changes cost a call.
#[derive(Debug)]
struct Settings {
    segment_size: u16,
    traffic_class: u8,
}

impl Transmitter {
    /// Opens the socket on `local` with a port of the system's choice.
    pub(crate) fn open(
        config: &EndpointConfig,
        interface: Option<&Interface>,
        local: SocketAddr,
    ) -> Result<Self, OpenError> {
        let socket =
            Socket::new(Domain::for_address(config.group), Type::DGRAM, Some(Protocol::UDP))
                .map_err(|source| OpenError::Socket { source })?;
        configure(&socket, config, interface)?;
        if config.shared_port {
            socket
                .set_reuse_address(true)
                .map_err(|source| OpenError::Configure { what: "shared port", source })?;
        }
        socket.bind(&local.into()).map_err(|source| OpenError::Bind { address: local, source })?;
        // What is sent to this host alone comes here: when it came says what its delay was.
        let receive_socket = match config.hears_direct {
            true => ReceiveSocket::timed(socket, config.gro, config.group.is_ipv6())?,
            false => ReceiveSocket::new(socket, config.gro)?,
        };
        let segmentation =
            option::SEGMENTS && config.gso && receive_socket.state.max_gso_segments() > 1;
        let traffic_class = config.dscp << 2;
        set_traffic_class(&receive_socket.socket, local.ip(), traffic_class)
            .map_err(|source| OpenError::Configure { what: "DSCP", source })?;
        Ok(Self {
            receive_socket,
            segmentation: AtomicBool::new(segmentation),
            dscp: AtomicU8::new(config.dscp),
            settings: Mutex::new(Settings { segment_size: 0, traffic_class }),
        })
    }

    /// Segments of this size that one system call takes; 1 without segmentation by the kernel.
    pub(crate) fn segments_per_call(&self, segment_size: usize) -> usize {
        if !self.segmentation.load(Ordering::Relaxed) {
            return 1;
        }
        (MAX_SUPER_PACKET / segment_size.max(1)).clamp(1, MAX_GSO_SEGMENTS)
    }

    /// Another traffic class from the next datagram on: its upper six bits.
    pub(crate) fn set_dscp(&self, dscp: u8) {
        self.dscp.store(dscp & 63, Ordering::Relaxed);
    }

    /// See [`crate::Endpoint::send`].
    pub(crate) fn send(
        &self,
        to: SocketAddr,
        segment_size: usize,
        ecn: Option<Ecn>,
        bytes: &[u8],
    ) -> io::Result<usize> {
        assert!(segment_size > 0, "a segment has at least one byte");
        let mut settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        self.mark(&mut settings, to.ip(), ecn)?;
        let mut sent = 0;
        loop {
            let run = self.segments_per_call(segment_size) * segment_size;
            let end = (sent + run).min(bytes.len());
            match self.send_run(&mut settings, to, segment_size, &bytes[sent..end]) {
                Ok(length) => sent += length,
                // As with `write`: what went out is reported first, the error by the next call.
                Err(_) if sent > 0 => return Ok(sent),
                Err(error) => return Err(error),
            }
            if sent == bytes.len() {
                return Ok(sent);
            }
        }
    }

    /// One call's worth; less of it where the kernel turns out not to cut segments.
    fn send_run(
        &self,
        settings: &mut Settings,
        to: SocketAddr,
        segment_size: usize,
        run: &[u8],
    ) -> io::Result<usize> {
        if run.len() <= segment_size {
            return self.send_single(settings, to, run);
        }
        match self.send_segmented(settings, to, segment_size, run) {
            Err(error) if is_refusal(&error) => {}
            result => return result,
        }
        // The same errors come from a segment too long for the link or a bad address: segmentation
        // is only to blame if the segment alone goes through.
        let length = self.send_single(settings, to, &run[..segment_size])?;
        self.segmentation.store(false, Ordering::Relaxed);
        Ok(length)
    }

    fn send_segmented(
        &self,
        settings: &mut Settings,
        to: SocketAddr,
        segment_size: usize,
        run: &[u8],
    ) -> io::Result<usize> {
        // A run has two segments or more and fits 64 KiB, so the size fits too.
        let size = u16::try_from(segment_size).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.set_segment_size(settings, size)?;
        self.send_call(to, run)
    }

    fn send_single(
        &self,
        settings: &mut Settings,
        to: SocketAddr,
        datagram: &[u8],
    ) -> io::Result<usize> {
        // With a size set, a longer datagram would be cut, and a shorter one refused on any route
        // that cannot segment or whose links are too small for that size.
        self.set_segment_size(settings, 0)?;
        self.send_call(to, datagram)
    }

    fn send_call(&self, to: SocketAddr, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.receive_socket.socket.send_to(bytes, &to.into()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn set_segment_size(&self, settings: &mut Settings, size: u16) -> io::Result<()> {
        if settings.segment_size != size {
            option::set_segment_size(&self.receive_socket.socket, size)?;
            settings.segment_size = size;
        }
        Ok(())
    }

    fn mark(&self, settings: &mut Settings, to: IpAddr, ecn: Option<Ecn>) -> io::Result<()> {
        let dscp = self.dscp.load(Ordering::Relaxed);
        let traffic_class = dscp << 2 | ecn.map_or(0, Ecn::bits);
        if settings.traffic_class != traffic_class {
            set_traffic_class(&self.receive_socket.socket, to, traffic_class)?;
            settings.traffic_class = traffic_class;
        }
        Ok(())
    }
}

fn is_refusal(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|number| SEGMENTATION_REFUSALS.contains(&number))
}

#[cfg(not(windows))]
fn set_traffic_class(socket: &Socket, family: IpAddr, traffic_class: u8) -> io::Result<()> {
    match family {
        IpAddr::V4(_) => socket.set_tos_v4(u32::from(traffic_class)),
        IpAddr::V6(_) => socket.set_tclass_v6(u32::from(traffic_class)),
    }
}

/// Windows marks datagrams by its own policies alone: a DSCP is refused, and ECN marks are left out,
/// which receivers take for a sender that knows none.
#[cfg(windows)]
fn set_traffic_class(_: &Socket, _: IpAddr, traffic_class: u8) -> io::Result<()> {
    if traffic_class >> 2 == 0 { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
}

fn configure(
    socket: &Socket,
    config: &EndpointConfig,
    interface: Option<&Interface>,
) -> Result<(), OpenError> {
    let set = |what, result: io::Result<()>| {
        result.map_err(|source| OpenError::Configure { what, source })
    };
    set("send buffer", socket.set_send_buffer_size(config.send_buffer))?;
    // What is sent to this host alone comes here as data; elsewhere it is feedback, which is little.
    let room = match config.hears_direct {
        true => make_room(socket, config),
        false => socket.set_recv_buffer_size(config.receive_buffer),
    };
    set("receive buffer", room)?;
    if config.group.is_ipv6() {
        set("IPv6 only", socket.set_only_v6(true))?;
    }
    let Some(interface) = interface.filter(|_| config.group.ip().is_multicast()) else {
        return Ok(());
    };
    let hops = u32::from(config.ttl);
    if config.group.is_ipv4() {
        set("interface", set_interface_v4(socket, interface))?;
        set("TTL", socket.set_multicast_ttl_v4(hops))?;
        set("loopback", socket.set_multicast_loop_v4(config.loopback))
    } else {
        set("interface", socket.set_multicast_if_v6(interface.index))?;
        set("hop limit", socket.set_multicast_hops_v6(hops))?;
        set("loopback", socket.set_multicast_loop_v6(config.loopback))
    }
}

/// By index where possible: two interfaces may have the same address.
fn set_interface_v4(socket: &Socket, interface: &Interface) -> io::Result<()> {
    let address = interface.ipv4().ok_or(io::ErrorKind::AddrNotAvailable)?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return Ok(rustix::net::sockopt::set_ip_multicast_if_with_ifindex(
        socket,
        &std::net::Ipv4Addr::UNSPECIFIED,
        &address,
        interface.index,
    )?);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    socket.set_multicast_if_v4(&address)
}

#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod tests {
    use super::*;
    use crate::config::Role;
    use crate::endpoint::Endpoint;

    fn unicast_pair() -> (Endpoint, Transmitter) {
        let port = std::net::UdpSocket::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
        let config = EndpointConfig { group: port, ..EndpointConfig::default() };
        let receiver = Endpoint::open(&config).unwrap();
        let config = EndpointConfig { role: Role::Sender, ..config };
        let local = SocketAddr::new(port.ip(), 0);
        (receiver, Transmitter::open(&config, None, local).unwrap())
    }

    fn lengths(receiver: &mut Endpoint) -> Vec<usize> {
        let mut lengths = Vec::new();
        receiver.receive(|_, bytes| lengths.push(bytes.len())).unwrap();
        lengths
    }

    #[test]
    fn where_segmentation_is_refused_every_datagram_still_goes_out_once() {
        let (mut receiver, transmitter) = unicast_pair();
        option::refuse_segmentation(&transmitter.receive_socket.socket).unwrap();
        assert_eq!(transmitter.segments_per_call(1000), 64);
        let sent = transmitter.send(receiver.group(), 1000, None, &[1; 4500]).unwrap();
        assert_eq!((sent, lengths(&mut receiver)), (4500, vec![1000, 1000, 1000, 1000, 500]));
        assert_eq!(transmitter.segments_per_call(1000), 1);
    }

    #[test]
    fn options_are_set_only_when_they_change() {
        let (mut receiver, transmitter) = unicast_pair();
        let group = receiver.group();
        for (bytes, size_after) in [(300, 100), (250, 100), (50, 0), (101, 100)] {
            transmitter.send(group, 100, None, &vec![1; bytes]).unwrap();
            assert_eq!(transmitter.settings.lock().unwrap().segment_size, size_after);
        }
        transmitter.send(group, 500, Some(Ecn::Ce), &[1; 500]).unwrap();
        let settings = transmitter.settings.lock().unwrap();
        assert_eq!((settings.segment_size, settings.traffic_class), (0, Ecn::Ce.bits()));
        assert_eq!(lengths(&mut receiver).iter().sum::<usize>(), 300 + 250 + 50 + 101 + 500);
    }
}
