//! The near side: listeners for SOCKS5, HTTP and fixed destinations.
//!
//! - `front`: what a client says, until it is known where it wants to go
//! - `asking`: which way that is, and asking the far side
//! - `known`: destinations that are likely to take a connection
//! - `associate`: datagrams of SOCKS5
//! - `transparent`: what a gateway takes

mod asking;
mod associate;
mod front;
mod known;
mod transparent;

pub use known::Optimism;
pub use transparent::GatewayListen;

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    time::sleep,
};

use known::Known;

use crate::proxy::{
    connect,
    destination::Destination,
    event::{Event, Listener},
    limits::{Exhaustion, Places, PlacesOfEach, is_exhausted},
    norp::Norp,
    peering::Peering,
    policy::{Policy, Rule},
    resolve::Resolver,
    route::{Routes, Via},
    users::Users,
};

/// How long to wait when there are no file descriptors left.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// What a listener speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Front {
    /// SOCKS5.
    Socks,
    /// HTTP: CONNECT, and plain requests.
    Http,
    /// Nothing: every connection goes there.
    Forward(Destination),
    /// Nothing: every connection goes where it was going. Clients are other machines.
    Transparent,
}

/// What becomes of a connection when its peer does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fallback {
    /// It is refused.
    #[default]
    Refuse,
    /// It goes directly.
    Direct,
}

/// What carries the bytes of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Carrier {
    /// One NORM session for all of them.
    #[default]
    Norm,
    /// A stream of the link's QUIC connection each.
    Quic,
}

impl Carrier {
    /// Its stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Norm => "norm",
            Self::Quic => "quic",
        }
    }
}

/// How a near side behaves.
#[derive(Debug)]
pub struct NearOptions {
    /// This node's key.
    pub own: [u8; 32],
    /// Which way destinations go.
    pub routes: Routes,
    /// What carries connections.
    pub carrier: Carrier,
    /// When a peer does not answer.
    pub fallback: Fallback,
    /// Who may use the listeners; none: who can reach them.
    pub users: Option<Users>,
    /// From where; none: loopback only.
    pub allow_from: Vec<Rule>,
    /// How long a request waits for a link that is not there.
    pub wait_link: Duration,
    /// How long it waits for the far side's answer.
    pub connect_timeout: Duration,
    /// When a client is told that it is connected.
    pub optimism: Optimism,
    /// The round trip of a long road: over a shorter one a destination that is known does not count.
    pub long_road: Duration,
    /// Connections of a client, and of all clients.
    pub connections_max: (usize, usize),
    /// Requests that may wait for a link that is not there: with more, all would be late.
    pub waiting_max: usize,
    /// Relays of datagrams at once, of all clients.
    pub associations_max: usize,
    /// File descriptors for connections. When they are used up, new clients wait until others end.
    pub descriptors: usize,
    /// Who is told.
    pub listener: Listener,
}

impl NearOptions {
    /// Everything that no rule is about goes this way.
    #[must_use]
    pub fn new(own: [u8; 32], default: Via) -> Self {
        Self {
            own,
            routes: Routes::new(Vec::new(), default),
            carrier: Carrier::default(),
            fallback: Fallback::default(),
            users: None,
            allow_from: Vec::new(),
            wait_link: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(15),
            optimism: Optimism::default(),
            long_road: known::ROAD_MIN,
            connections_max: (1024, 10_000),
            waiting_max: 256,
            associations_max: 256,
            descriptors: usize::MAX,
            listener: Listener::default(),
        }
    }
}

/// A near side.
#[derive(Debug)]
pub struct Near {
    options: NearOptions,
    peers: RwLock<HashMap<String, Arc<Peering>>>,
    /// NRL's norps, and where they are.
    norps: RwLock<HashMap<String, (Arc<Norp>, SocketAddr)>>,
    resolver: Resolver,
    /// What may be connected to directly: nothing inside this machine.
    direct: Policy,
    ids: AtomicU64,
    each: PlacesOfEach<IpAddr>,
    all: Places,
    waiting: Places,
    associations: Places,
    exhaustion: Exhaustion,
    /// By the peer's name.
    known: Mutex<Known<(String, Destination)>>,
}

impl Near {
    /// Without listeners and peers at first.
    #[must_use]
    pub fn new(options: NearOptions) -> Arc<Self> {
        let (each, all) = options.connections_max;
        let direct = Policy { allow: "any".parse().into_iter().collect(), deny: Vec::new() };
        Arc::new(Self {
            each: PlacesOfEach::new(each),
            all: Places::new(all),
            waiting: Places::new(options.waiting_max),
            associations: Places::new(options.associations_max),
            exhaustion: Exhaustion::default(),
            known: Mutex::default(),
            direct,
            peers: RwLock::default(),
            norps: RwLock::default(),
            resolver: Resolver::default(),
            ids: AtomicU64::new(0),
            options,
        })
    }

    /// Connections may go by this peer.
    pub fn add(&self, peering: Arc<Peering>) {
        let mut peers = self.peers.write().unwrap_or_else(PoisonError::into_inner);
        peers.insert(peering.link().name().to_owned(), peering);
    }

    /// Connections may go by this norp of NRL's.
    pub fn add_norp(&self, name: &str, norp: Arc<Norp>, at: SocketAddr) {
        let mut norps = self.norps.write().unwrap_or_else(PoisonError::into_inner);
        norps.insert(name.to_owned(), (norp, at));
    }

    fn norp(&self, name: &str) -> Option<(Arc<Norp>, SocketAddr)> {
        self.norps.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Connections at present.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.all.taken()
    }

    /// Requests so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.ids.load(Ordering::Relaxed)
    }

    /// Listens there; where that is.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub async fn listen(
        self: &Arc<Self>,
        address: SocketAddr,
        front: Front,
    ) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        tokio::spawn(self.clone().accept(listener, front));
        Ok(bound)
    }

    async fn accept(self: Arc<Self>, listener: TcpListener, front: Front) {
        loop {
            let (tcp, client) = self.accepted(&listener).await;
            self.clone().welcome(tcp, client, &front);
        }
    }

    /// The next client. Without file descriptors it waits until connections that end give some back.
    async fn accepted(&self, listener: &TcpListener) -> (TcpStream, SocketAddr) {
        loop {
            // Some are kept free: names are looked up with them, and direct connections made.
            let mut exhausted = self.all.taken() >= self.options.descriptors;
            if !exhausted {
                match listener.accept().await {
                    Ok(accepted) => return accepted,
                    Err(error) => exhausted = is_exhausted(&error),
                }
            }
            if exhausted {
                self.exhaustion.tell(&self.options.listener);
            }
            sleep(EXHAUSTED).await;
        }
    }

    fn welcome(self: Arc<Self>, tcp: TcpStream, client: SocketAddr, front: &Front) {
        let refused = |reason| self.options.listener.tell(Event::Refused { client, reason });
        if !self.may_use(front, client) {
            return refused("client_not_allowed");
        }
        let ip = client.ip().to_canonical();
        let Some(place) = self.all.take() else { return refused("too_many_connections") };
        let Some(own) = self.each.take(ip) else { return refused("too_many_of_client") };
        connect::prepare(&tcp);
        let front = front.clone();
        tokio::spawn(async move {
            self.serve(tcp, client, front).await;
            drop((place, own));
        });
    }

    /// Whether a client may come from there.
    fn may_use(&self, front: &Front, client: SocketAddr) -> bool {
        let (ip, rules) = (client.ip().to_canonical(), &self.options.allow_from);
        let listed = rules.iter().any(|rule| rule.covers(ip, client.port()));
        // With passwords anybody may try, unless places are listed, too. A gateway's rules in the
        // kernel say whose packets it gets.
        let open =
            rules.is_empty() && (self.options.users.is_some() || *front == Front::Transparent);
        listed || open || ip.is_loopback()
    }

    fn peer(&self, name: &str) -> Option<Arc<Peering>> {
        self.peers.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}
