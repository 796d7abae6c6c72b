//! Receiving: takes batches from the kernel and cuts them into datagrams without copying.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, SystemTime};

use quinn_udp::{BATCH_SIZE, UdpSocketState};
use socket2::Socket;

use crate::ecn::mark_of;
use crate::error::OpenError;
use crate::option;
use fanfare_wire::units::Ecn;

/// Largest UDP payload, and largest run of datagrams that the kernel coalesces, in bytes.
const BUFFER_LEN: usize = 64 * 1024;
/// Buffers per call where each can hold a whole run of datagrams: enough to amortise the call, few
/// enough to stay in a second-level cache.
const COALESCED_BUFFERS: usize = 8;
/// Datagrams after which one socket lets the others have their turn: who got fewer from a read has
/// emptied it. A batch is not cut short, so
/// one call may pass it by up to 8 runs of 64.
pub const TURN: usize = 512;

/// Nothing waits longer in a socket of ours that is read at all: more is a clock that has been set.
const WAITED_MAX: Duration = Duration::from_secs(1);

/// By which of the endpoint's sockets a datagram came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// The socket bound to this group, or to the endpoint's own unicast address given as a group.
    Group(SocketAddr),
    /// The sending socket: somebody answered what was sent from it.
    Unicast,
    /// The socket for datagrams to this machine alone, at the group's port
    /// ([`crate::EndpointConfig::hears_direct`]).
    Direct,
    /// A socket that hears groups of layers.
    Layers,
}

/// What is known of a datagram beside its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvMeta {
    /// Who sent it.
    pub source: SocketAddr,
    /// The address it was sent to, where the system tells.
    pub destination: Option<IpAddr>,
    /// The index of the interface that it came in by, where the system tells.
    pub interface: Option<u32>,
    /// Its congestion mark; `None` is "not ECN-capable".
    pub ecn: Option<Ecn>,
    /// By which socket it came.
    pub via: Via,
    /// How long it has waited to be read, as far as the system tells.
    pub waited: Duration,
    /// When the kernel got it, since 1970 by the system's clock, where it tells: of layers, on Linux.
    pub received: Option<Duration>,
}

impl RecvMeta {
    /// True if it went to all hosts of the link, of whatever group they are.
    #[must_use]
    pub fn is_to_all_hosts(&self) -> bool {
        self.via == Via::Direct && self.destination.is_some_and(|to| !is_one_host(to))
    }
}

/// True if a datagram that went there has reached one socket alone.
pub(crate) fn is_one_host(destination: IpAddr) -> bool {
    match destination {
        IpAddr::V4(ip) => !ip.is_multicast() && !ip.is_broadcast() && ip.octets()[3] != 255,
        IpAddr::V6(ip) => !ip.is_multicast(),
    }
}

/// A socket prepared for batched receiving with marks and destinations.
#[derive(Debug)]
pub(crate) struct ReceiveSocket {
    pub(crate) socket: Socket,
    pub(crate) state: UdpSocketState,
}

impl ReceiveSocket {
    /// Takes a bound socket and switches on what receiving needs.
    pub(crate) fn new(socket: Socket, coalesce: bool) -> Result<Self, OpenError> {
        let state = UdpSocketState::new((&socket).into())
            .map_err(|source| OpenError::Configure { what: "receive metadata", source })?;
        option::stop_receive_timestamps(&socket)
            .map_err(|source| OpenError::Configure { what: "receive timestamps", source })?;
        Self::coalescing(socket, state, coalesce)
    }

    /// The same for a socket bound to the one address that its datagrams are sent to: it tells when
    /// they arrived instead.
    pub(crate) fn timed(socket: Socket, coalesce: bool, ipv6: bool) -> Result<Self, OpenError> {
        let state = UdpSocketState::new((&socket).into())
            .map_err(|source| OpenError::Configure { what: "receive metadata", source })?;
        option::time_instead_of_destination(&socket, ipv6)
            .map_err(|source| OpenError::Configure { what: "receive timestamps", source })?;
        Self::coalescing(socket, state, coalesce)
    }

    fn coalescing(
        socket: Socket,
        state: UdpSocketState,
        coalesce: bool,
    ) -> Result<Self, OpenError> {
        if !coalesce && state.gro_segments() > 1 {
            option::stop_coalescing(&socket)
                .map_err(|source| OpenError::Configure { what: "GRO", source })?;
        }
        Ok(Self { socket, state })
    }

    /// Datagrams, or coalesced runs, the system dropped before we could read them.
    pub(crate) fn drops(&self) -> u64 {
        option::drops(&self.socket).map_or(0, u64::from)
    }
}

/// Memory for one batch, reused by every call. Pages never written to cost nothing.
#[derive(Debug)]
pub(crate) struct Buffers {
    memory: Vec<u8>,
    count: usize,
}

impl Buffers {
    pub(crate) fn new(coalesce: bool) -> Self {
        let count = if coalesce { COALESCED_BUFFERS.min(BATCH_SIZE) } else { BATCH_SIZE };
        Self { memory: vec![0; count * BUFFER_LEN], count }
    }

    /// Gives one turn's worth of runs of datagrams from `receive_socket` to `each`, with the length of all
    /// but the last of a run; returns how many datagrams there were.
    pub(crate) fn drain(
        &mut self,
        receive_socket: &ReceiveSocket,
        via: Via,
        each: &mut impl FnMut(&RecvMeta, &[u8], usize),
    ) -> io::Result<usize> {
        let mut datagrams = 0;
        while datagrams < TURN {
            let mut metas = [quinn_udp::RecvMeta::default(); BATCH_SIZE];
            let filled = match self.fill(receive_socket, &mut metas) {
                Ok(filled) => filled,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // An ICMP answer to something sent earlier; the socket is as good as before.
                Err(error) if is_answer_to_sending(&error) => continue,
                // What was delivered is not taken back; a lasting error comes again.
                Err(_) if datagrams > 0 => break,
                Err(error) => return Err(error),
            };
            let buffers = self.memory.chunks_exact(BUFFER_LEN);
            for (meta, buffer) in metas[..filled].iter().zip(buffers) {
                // What is done with each takes time: the clock is read for each.
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
                datagrams += run(meta, (via, now.unwrap_or_default()), buffer, each);
            }
            if filled < self.count {
                break;
            }
        }
        Ok(datagrams)
    }

    fn fill(
        &mut self,
        receive_socket: &ReceiveSocket,
        metas: &mut [quinn_udp::RecvMeta; BATCH_SIZE],
    ) -> io::Result<usize> {
        let mut chunks = self.memory.chunks_exact_mut(BUFFER_LEN);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
        receive_socket.state.recv((&receive_socket.socket).into(), &mut slices[..self.count], metas)
    }
}

fn is_answer_to_sending(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
    )
}

/// Hands a run of coalesced datagrams over; returns how many it has.
fn run(
    meta: &quinn_udp::RecvMeta,
    (via, now): (Via, Duration),
    buffer: &[u8],
    each: &mut impl FnMut(&RecvMeta, &[u8], usize),
) -> usize {
    let bound = match via {
        Via::Group(group) => Some(group.ip()),
        Via::Unicast | Via::Direct | Via::Layers => None,
    };
    let waited = meta.timestamp.map_or(Duration::ZERO, |came| now.saturating_sub(came));
    let ours = RecvMeta {
        source: meta.addr,
        destination: meta.dst_ip.or(bound),
        interface: meta.interface_index,
        ecn: meta.ecn.map(mark_of),
        via,
        waited: waited.min(WAITED_MAX),
        received: meta.timestamp,
    };
    let stride = meta.stride.max(1);
    each(&ours, &buffer[..meta.len], stride);
    meta.len.div_ceil(stride).max(1)
}

/// Cuts a run by its stride. An empty datagram is one, too.
pub(crate) fn cut(run: &[u8], stride: usize, mut each: impl FnMut(&[u8])) {
    if run.is_empty() {
        each(run);
    }
    run.chunks(stride).for_each(each);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends one run of 20 marked segments to a bare inlet; returns what the kernel handed over.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn receive_run(address: &str, ecn: Option<Ecn>) -> quinn_udp::RecvMeta {
        use crate::config::{EndpointConfig, Role};
        use crate::endpoint::Endpoint;

        let socket = std::net::UdpSocket::bind((address, 0)).unwrap();
        let group = socket.local_addr().unwrap();
        let receive_socket = ReceiveSocket::timed(socket.into(), true, group.is_ipv6()).unwrap();
        let config = EndpointConfig { group, role: Role::Sender, ..EndpointConfig::default() };
        let sender = Endpoint::open(&config).unwrap();
        assert_eq!(sender.send(group, 1000, ecn, &[7; 19_500]).unwrap(), 19_500);
        let timeout = Some(Duration::from_secs(5));
        let fd = std::os::fd::AsFd::as_fd(&receive_socket.socket);
        let none = (std::iter::empty(), std::iter::empty());
        assert!(crate::wait::wait((fd, false), None, None, none, timeout).unwrap().unicast);
        let mut metas = [quinn_udp::RecvMeta::default(); BATCH_SIZE];
        let filled = Buffers::new(true).fill(&receive_socket, &mut metas).unwrap();
        assert_eq!(filled, 1, "loopback hands over the run as one");
        metas[0]
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[test]
    fn the_ecn_mark_survives_a_coalesced_receive() {
        for address in ["127.0.0.1", "::1"] {
            let timed = receive_run(address, Some(Ecn::Ect0));
            assert!(timed.timestamp.is_some(), "{address}: with its time");
            for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                let meta = receive_run(address, Some(ecn));
                assert_eq!((meta.len, meta.stride), (19_500, 1000), "{address}: coalesced");
                assert_eq!(meta.ecn.map(mark_of), Some(ecn), "{address}");
            }
            assert_eq!(receive_run(address, None).ecn, None, "{address}");
        }
    }

    #[test]
    fn a_run_is_cut_by_its_stride_with_a_short_last_datagram() {
        let mut meta = quinn_udp::RecvMeta::default();
        (meta.len, meta.stride) = (7, 3);
        let mut seen = Vec::new();
        let count =
            run(&meta, (Via::Unicast, Duration::ZERO), b"abcdefgh", &mut |_, bytes, stride| {
                cut(bytes, stride, |datagram| seen.push(datagram.to_vec()));
            });
        assert_eq!(count, 3);
        assert_eq!(seen, [&b"abc"[..], b"def", b"g"]);
    }

    #[test]
    fn an_empty_datagram_is_one_datagram() {
        let meta = quinn_udp::RecvMeta::default();
        let mut seen = 0;
        let count = run(&meta, (Via::Unicast, Duration::ZERO), b"abc", &mut |_, bytes, stride| {
            cut(bytes, stride, |datagram| seen += 1 + datagram.len());
        });
        assert_eq!((count, seen), (1, 1));
    }
}
