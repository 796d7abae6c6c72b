//! A node: one socket, its own key, and links to those that it knows.
//!
//! - `options`: how it is started, and what it dials; `dialling`: how it dials

mod dialling;
mod options;

pub use options::{NodeOptions, Peer};

use std::{
    collections::BTreeMap,
    io,
    net::{SocketAddr, UdpSocket},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use fanfare_crypto::PublicKey;
use quinn::{
    Connection, Endpoint, EndpointConfig, Incoming, ServerConfig, TransportConfig, VarInt,
};
use tokio::{
    sync::{Mutex, mpsc},
    time::timeout,
};

use crate::{
    association::{Association, SharedEarly},
    clock::Clock,
    early::{self, Came, Early, EarlyCounts, tickets},
    hello::{self, Instance, Lives},
    identity::{self, Peers, key_of},
    link::Link,
    lock::Locked,
    messages::outbox::OPEN_MAX,
    socket::{EarlyDatagram, Shared, unmapped},
};

/// Handshakes under way before addresses have to prove themselves (QUIC's Retry).
const HANDSHAKES_MAX: usize = 64;
/// A handshake ends within this time, or is given up.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Streams of an application that may be open at once: as many connections as a proxy takes.
const STREAMS_MAX: u32 = 20_000;
/// What may be on its way on one stream, and on all: four round trips of half a second at 16 Mbit/s.
const STREAM_WINDOW: u32 = 4 << 20;
const WINDOW: u32 = 256 << 20;
/// Bytes of datagrams that may wait: more would be old when they go.
const DATAGRAM_BUFFER: usize = 32 << 10;

#[derive(Debug)]
struct Inner {
    endpoint: Endpoint,
    shared: Arc<Shared>,
    options: NodeOptions,
    instance: Instance,
    lives: Arc<Lives>,
    clock: Clock,
    early: SharedEarly,
    links: Locked<BTreeMap<PublicKey, Link>>,
    fresh: Mutex<mpsc::UnboundedReceiver<Link>>,
    to_fresh: mpsc::UnboundedSender<Link>,
}

/// A node. Copies are the same node.
#[derive(Debug, Clone)]
pub struct Node(Arc<Inner>);

impl Node {
    /// Opens its socket and listens. It has to be called within a runtime of tokio.
    ///
    /// # Errors
    /// When the socket cannot be had, the file of tickets cannot be read, or the system has no
    /// randomness.
    pub fn start(options: NodeOptions) -> io::Result<Self> {
        let tickets = options.tickets.as_deref().map(tickets::Tickets::open).transpose()?;
        let early = Arc::new(Locked::new(Early::new(tickets.unwrap_or_default())));
        let (shared, came) = Shared::new(bind(options.listen)?)?;
        let transport = Arc::new(transport(&options));
        let tls = identity::server(&options.identity, options.peers.clone())?;
        let mut server = ServerConfig::with_crypto(tls);
        server.transport_config(transport);
        let mut config = EndpointConfig::default();
        // The first bit tells QUIC from NORM on this port.
        config.grease_quic_bit(false);
        let runtime = Arc::new(quinn::TokioRuntime);
        let endpoint =
            Endpoint::new_with_abstract_socket(config, Some(server), shared.clone(), runtime)?;
        let instance = fanfare_crypto::system_salt()
            .ok_or_else(|| io::Error::other("it has no random bytes to give"))?;
        let (to_fresh, fresh) = mpsc::unbounded_channel();
        let node = Self(Arc::new(Inner {
            endpoint,
            shared,
            options,
            instance,
            lives: Arc::new(Lives::new(instance)),
            clock: Clock::start(),
            early,
            links: Locked::default(),
            fresh: Mutex::new(fresh),
            to_fresh,
        }));
        tokio::spawn(node.clone().listen(came));
        Ok(node)
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.endpoint.local_addr()
    }

    /// This process: another one at each start.
    #[must_use]
    pub fn instance(&self) -> Instance {
        self.0.instance
    }

    /// Who may link to it.
    #[must_use]
    pub fn peers(&self) -> &Peers {
        &self.0.options.peers
    }

    /// Datagrams that were dropped: clear, from strangers, unknown, overrun.
    #[must_use]
    pub fn dropped(&self) -> [u64; 4] {
        let dropped = &self.0.shared.dropped;
        [&dropped.clear, &dropped.stranger, &dropped.unknown, &dropped.overrun]
            .map(|counter| counter.load(Ordering::Relaxed))
    }

    /// First packets: asked, taken, refused.
    #[must_use]
    pub fn early(&self) -> EarlyCounts {
        self.0.early.with(|early| early.counts)
    }

    /// A link to this peer, which is dialled until it answers, and whenever it is lost.
    #[must_use]
    pub fn dial(&self, peer: Peer) -> Link {
        self.0.options.peers.add(peer.key, &peer.name);
        let link = self.link_of(peer.key, &peer.name);
        link.0.untold.store(false, Ordering::Relaxed);
        tokio::spawn(self.clone().keep(link.clone(), peer.addresses));
        link
    }

    /// The next link that another node has begun.
    pub async fn accept(&self) -> Option<Link> {
        self.0.fresh.lock().await.recv().await
    }

    /// All links.
    #[must_use]
    pub fn links(&self) -> Vec<Link> {
        self.0.links.with(|links| links.values().cloned().collect())
    }

    /// Ends the links of those that are not among its peers any more.
    pub fn cut_removed(&self) {
        let peers = &self.0.options.peers;
        let removed: Vec<Link> = self.0.links.with(|links| {
            links.extract_if(.., |key, _| peers.name(key).is_none()).map(|(_, link)| link).collect()
        });
        for link in &removed {
            link.close();
            // Nothing of it is kept for later.
            link.0.give_up();
        }
    }

    /// Ends all links, tells the others, and waits until that has gone out.
    pub async fn close(&self) {
        self.links().iter().for_each(Link::close);
        self.0.endpoint.close(VarInt::from_u32(0), b"this node ends");
        let _ = timeout(Duration::from_secs(1), self.0.endpoint.wait_idle()).await;
    }

    /// The link with this key.
    fn link_of(&self, key: PublicKey, name: &str) -> Link {
        let inner = &self.0;
        inner.links.with(|links| {
            if let Some(link) = links.get(&key).filter(|l| !l.0.ended.load(Ordering::Relaxed)) {
                return link.clone();
            }
            let own = (inner.options.identity.public(), inner.lives.clone());
            let link = Link(Association::new(
                (key, name.to_owned()),
                own,
                (inner.shared.clone(), inner.early.clone()),
                inner.clock,
                (inner.options.patience, inner.options.measure),
            ));
            links.insert(key, link.clone());
            link
        })
    }

    async fn listen(self, mut early: mpsc::Receiver<EarlyDatagram>) {
        loop {
            let incoming = tokio::select! {
                incoming = self.0.endpoint.accept() => incoming,
                Some((source, datagram)) = early.recv() => {
                    self.on_early(source, &datagram);
                    continue;
                }
            };
            // The node has been closed.
            let Some(incoming) = incoming else { return };
            let open = self.0.endpoint.open_connections();
            let linked = self.0.links.with(|links| links.len());
            if open > linked + HANDSHAKES_MAX && incoming.may_retry() {
                let _ = incoming.retry();
                continue;
            }
            tokio::spawn(self.clone().welcome(incoming));
        }
    }

    async fn welcome(self, incoming: Incoming) {
        let Ok(connecting) = incoming.accept() else { return };
        let Ok(Ok(connection)) = timeout(HANDSHAKE, connecting).await else { return };
        let Some(key) = peer_key(&connection) else { return };
        let Some(name) = self.0.options.peers.name(&key) else { return };
        let link = self.link_of(key, &name);
        let greeted = timeout(HANDSHAKE, hello::accepted(&connection, || link.0.hello())).await;
        let Ok(Some((hellos, send, recv))) = greeted else { return };
        if link.0.attach(connection.clone(), hellos, (send, recv)) {
            self.begin(link);
        } else {
            // The end that dialled reads the answer, and closes it.
            let _ = timeout(HANDSHAKE, connection.closed()).await;
        }
    }

    /// Another node has begun this one, if the application does not know it yet.
    fn begin(&self, link: Link) {
        if !link.0.untold.swap(false, Ordering::Relaxed) {
            return;
        }
        let _ = self.0.to_fresh.send(link.clone());
        // It may have to dial, too: when this node moves.
        tokio::spawn(self.clone().keep(link, Vec::new()));
    }

    /// This came with a first packet, or in answer to one.
    fn on_early(&self, source: SocketAddr, datagram: &[u8]) {
        let now = self.0.clock.now();
        let came = self.0.early.with(|early| early.on_datagram(now, source, datagram));
        let Some(Came { peer, from, part }) = came else { return };
        // It may have been taken from the list since it had its ticket.
        let Some(name) = self.0.options.peers.name(&peer) else { return };
        let link = self.link_of(peer, &name);
        let taken = match from {
            early::Origin::First(hello) => link.0.meet(hello),
            early::Origin::Later(hello) => link.0.is_met(hello),
            early::Origin::Dialled => true,
        };
        if taken {
            link.0.on_early(&part);
            self.begin(link);
        }
    }
}

fn peer_key(connection: &Connection) -> Option<PublicKey> {
    let identity = connection.peer_identity()?;
    let chain = identity.downcast::<Vec<rustls::pki_types::CertificateDer<'static>>>().ok()?;
    key_of(chain.first()?)
}

/// Both families where the system has both.
fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    use socket2::{Domain, Protocol, Socket, Type};
    let open = |address: SocketAddr| {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            socket.set_only_v6(!address.ip().is_unspecified())?;
        }
        // 10 ms at 1 Gbit/s, and what a busy machine needs; the system may give less.
        let _ = socket.set_recv_buffer_size(4 << 20);
        let _ = socket.set_send_buffer_size(1 << 20);
        socket.bind(&address.into())?;
        Ok(UdpSocket::from(socket))
    };
    match open(address) {
        Err(_) if address.is_ipv6() && address.ip().is_unspecified() => {
            open(SocketAddr::from(([0, 0, 0, 0], address.port())))
        }
        other => other,
    }
}

fn transport(options: &NodeOptions) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .max_idle_timeout(options.patience.lost.try_into().ok())
        .keep_alive_interval(Some(options.patience.keep_alive))
        .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS_MAX + OPEN_MAX as u32))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(u64::from(STREAM_WINDOW) * 4)
        .datagram_send_buffer_size(DATAGRAM_BUFFER);
    options.control.install(&mut transport);
    transport
}

/// An address as people write it.
#[must_use]
pub fn plain_address(address: SocketAddr) -> SocketAddr {
    unmapped(address)
}
