//! One UDP socket for QUIC and for sealed NORM: datagrams are told apart by their first byte.

use std::{
    collections::HashMap,
    fmt,
    future::poll_fn,
    io,
    net::{IpAddr, SocketAddr, UdpSocket},
    pin::Pin,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Instant,
};

use fanfare_proto::Ecn;
use quinn::{
    AsyncUdpSocket, Runtime as _, UdpPoller,
    udp::{EcnCodepoint, RecvMeta, Transmit},
};
use tokio::{runtime::Handle, sync::mpsc};

use crate::{
    clock::Clock,
    copies::{self, Copies},
    demux::{Content, content},
    lock::Locked,
};

/// Runs of datagrams that may wait for a NORM session: at 100 Mbit/s half a second.
const WAITING_MAX: usize = 4096;

/// Datagrams of first packets that may wait.
const EARLY_MAX: usize = 256;

/// A datagram that came with a first packet, and where from.
pub(crate) type EarlyDatagram = (SocketAddr, Vec<u8>);

/// Sealed datagrams that came together.
#[derive(Debug)]
pub struct Sealed {
    /// When they were read.
    pub at: Instant,
    /// Where from.
    pub source: SocketAddr,
    /// Their mark.
    pub ecn: Option<Ecn>,
    /// One behind the other.
    pub run: Vec<u8>,
    /// Bytes of each but the last.
    pub stride: usize,
}

/// What was dropped.
#[derive(Debug, Default)]
pub struct Dropped {
    /// NORM that was not sealed.
    pub clear: AtomicU64,
    /// Sealed, from nobody that is linked.
    pub stranger: AtomicU64,
    /// Neither QUIC nor NORM.
    pub unknown: AtomicU64,
    /// The session, or who keeps tickets, did not keep up.
    pub overrun: AtomicU64,
}

/// The socket.
pub(crate) struct Shared {
    inner: Arc<dyn AsyncUdpSocket>,
    /// IPv4 addresses are written in the form of IPv6.
    mapped: bool,
    routes: RwLock<HashMap<SocketAddr, mpsc::Sender<Sealed>>>,
    early: mpsc::Sender<EarlyDatagram>,
    clock: Clock,
    copies: Arc<Locked<Copies>>,
    runtime: Handle,
    pub(crate) dropped: Dropped,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared {:?}", self.inner.local_addr())
    }
}

impl Shared {
    /// Datagrams of first packets come out beside it.
    pub(crate) fn new(socket: UdpSocket) -> io::Result<(Arc<Self>, mpsc::Receiver<EarlyDatagram>)> {
        let (early, came) = mpsc::channel(EARLY_MAX);
        let inner = quinn::TokioRuntime.wrap_udp_socket(socket)?;
        let mapped = inner.local_addr()?.is_ipv6();
        let (routes, dropped) = (RwLock::default(), Dropped::default());
        let (clock, copies) = (Clock::start(), Arc::default());
        let runtime = Handle::current();
        let shared = Self { inner, mapped, routes, early, clock, copies, runtime, dropped };
        Ok((Arc::new(shared), came))
    }

    /// Sealed datagrams from there come out here, until the other end is dropped.
    pub(crate) fn route(&self, from: SocketAddr) -> mpsc::Receiver<Sealed> {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        routes.retain(|_, known| !known.is_closed());
        routes.insert(from, sender);
        receiver
    }

    /// What came from `old` comes from `new` from now on.
    pub(crate) fn reroute(&self, old: SocketAddr, new: SocketAddr) {
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = routes.remove(&old) {
            routes.insert(new, sender);
        }
    }

    /// Sends this as soon as the socket takes it: one that was just opened does not at first.
    pub(crate) fn send_soon(self: &Arc<Self>, to: SocketAddr, datagram: Vec<u8>) {
        let full = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
        let sent = self.send(to, datagram.len(), None, &datagram);
        if !sent.is_err_and(|error| full(&error)) {
            return;
        }
        let shared = self.clone();
        self.runtime.spawn(async move {
            let mut poller = shared.inner.clone().create_io_poller();
            while poll_fn(|cx| poller.as_mut().poll_writable(cx)).await.is_ok() {
                let sent = shared.send(to, datagram.len(), None, &datagram);
                if !sent.is_err_and(|error| full(&error)) {
                    return;
                }
            }
        });
    }

    /// Sends copies of a short datagram after a while, as of those of a handshake.
    pub(crate) fn send_copies(self: &Arc<Self>, to: SocketAddr, datagram: Vec<u8>) {
        if datagram.len() > copies::SHORT {
            return;
        }
        let (shared, now) = (self.clone(), self.clock.now());
        self.runtime.spawn(async move {
            for after in copies::AFTER {
                tokio::time::sleep_until(shared.clock.instant(now + after).into()).await;
                let _ = shared.send(to, datagram.len(), None, &datagram);
            }
        });
    }

    /// Sends datagrams of `size` bytes each, the last may be shorter.
    pub(crate) fn send(
        &self,
        to: SocketAddr,
        size: usize,
        ecn: Option<Ecn>,
        bytes: &[u8],
    ) -> io::Result<()> {
        let ecn = ecn.map(|ecn| match ecn {
            Ecn::Ect0 => EcnCodepoint::Ect0,
            Ecn::Ect1 => EcnCodepoint::Ect1,
            Ecn::Ce => EcnCodepoint::Ce,
        });
        let segments = self.inner.max_transmit_segments().max(1);
        for part in bytes.chunks(size.max(1) * segments) {
            let segment_size = (part.len() > size).then_some(size);
            let destination = match to.ip() {
                IpAddr::V4(v4) if self.mapped => (v4.to_ipv6_mapped(), to.port()).into(),
                _ => to,
            };
            let transmit =
                Transmit { destination, ecn, contents: part, segment_size, src_ip: None };
            self.inner.try_send(&transmit)?;
        }
        Ok(())
    }

    /// Sends a datagram of a handshake again soon, as [`copies`] says.
    fn copy(&self, transmit: &Transmit<'_>) {
        let (now, to) = (self.clock.now(), unmapped(transmit.destination));
        let wanted = self.copies.with(|copies| copies.on_sent(now, to, transmit.contents));
        if !wanted {
            return;
        }
        let (inner, handshakes, clock) = (self.inner.clone(), self.copies.clone(), self.clock);
        let (destination, ecn) = (transmit.destination, transmit.ecn);
        let (contents, segment_size) = (transmit.contents.to_vec(), transmit.segment_size);
        let src_ip = transmit.src_ip;
        self.runtime.spawn(async move {
            for after in copies::AFTER {
                tokio::time::sleep_until(clock.instant(now + after).into()).await;
                let may = |copies: &mut Copies| copies.may_copy(clock.now(), to, contents.len());
                if handshakes.with(may) {
                    let contents = &contents[..];
                    let again = Transmit { destination, ecn, contents, segment_size, src_ip };
                    // It is a copy: where the socket is full, there is something better to send.
                    let _ = inner.try_send(&again);
                }
            }
        });
    }

    /// Gives away what is not QUIC, and leaves the rest at the front. How long that is.
    fn sort(&self, buf: &mut [u8], meta: &RecvMeta) -> usize {
        let stride = meta.stride.max(1);
        let whole = &buf[..meta.len];
        if content(whole) == Content::Quic {
            let (now, from) = (self.clock.now(), unmapped(meta.addr));
            if !self.copies.with(|copies| copies.on_received(now, from, whole)) {
                return 0;
            }
        }
        if whole.chunks(stride).all(|datagram| content(datagram) == Content::Quic) {
            return meta.len;
        }
        let mut run = Vec::new();
        let mut kept = 0;
        for start in (0..meta.len).step_by(stride) {
            let end = (start + stride).min(meta.len);
            match content(&buf[start..end]) {
                Content::Quic => {
                    buf.copy_within(start..end, kept);
                    kept += end - start;
                }
                Content::Sealed => run.extend_from_slice(&buf[start..end]),
                Content::Early => {
                    let datagram = (unmapped(meta.addr), buf[start..end].to_vec());
                    if self.early.try_send(datagram).is_err() {
                        count(&self.dropped.overrun);
                    }
                }
                Content::Clear => count(&self.dropped.clear),
                Content::Unknown => count(&self.dropped.unknown),
            }
        }
        if !run.is_empty() {
            self.give(meta, run, stride);
        }
        kept
    }

    fn give(&self, meta: &RecvMeta, run: Vec<u8>, stride: usize) {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        let source = unmapped(meta.addr);
        let Some(route) = routes.get(&source) else { return count(&self.dropped.stranger) };
        let ecn = meta.ecn.map(|ecn| match ecn {
            EcnCodepoint::Ect0 => Ecn::Ect0,
            EcnCodepoint::Ect1 => Ecn::Ect1,
            EcnCodepoint::Ce => Ecn::Ce,
        });
        let sealed = Sealed { at: Instant::now(), source, ecn, run, stride };
        if route.try_send(sealed).is_err() {
            count(&self.dropped.overrun);
        }
    }
}

/// A socket of both families calls IPv4 addresses otherwise.
pub(crate) fn unmapped(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl AsyncUdpSocket for Shared {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.inner.clone().create_io_poller()
    }
    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.inner.try_send(transmit)?;
        self.copy(transmit);
        Ok(())
    }
    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [io::IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let messages = ready!(self.inner.poll_recv(cx, bufs, meta))?;
        for (buf, meta) in bufs.iter_mut().zip(meta.iter_mut()).take(messages) {
            // QUIC reads nothing where nothing is left.
            meta.len = self.sort(buf, meta);
        }
        Poll::Ready(Ok(messages))
    }
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }
    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }
    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }
    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}
