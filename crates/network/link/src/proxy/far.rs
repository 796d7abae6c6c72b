//! The far side: connects to what the near side asks for, if the policy allows it.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::quinn::{RecvStream, SendStream};
use tokio::{net::TcpStream, time::timeout};

use crate::proxy::{
    code::Code,
    connect::{self, Failure},
    event::{Event, Listener},
    frame::{Open, Reply},
    limits::{Buckets, Exhaustion, Place, Places, Rate},
    norm::Handle,
    peering::Peering,
    pipe::{Reader, Writer, read_frame, write_frame},
    policy::Policy,
    relay::{Traffic, Upward, relay},
    resolve::Resolver,
};

/// A stream says within this time what it is for.
const OPEN_PATIENCE: Duration = Duration::from_secs(10);

/// How a far side behaves.
#[derive(Debug, Clone)]
pub struct FarOptions {
    /// This node's key: what began here does not come back.
    pub own: [u8; 32],
    /// What may be connected to.
    pub policy: Policy,
    /// How long to wait for an answer.
    pub connect_timeout: Duration,
    /// Connections of a peer at once.
    pub connections_max: usize,
    /// Of those, how many that are not answered yet.
    pub connecting_max: usize,
    /// File descriptors for the connections of all peers. With more, requests are refused.
    pub descriptors: usize,
    /// How often a peer may ask.
    pub rate: Rate,
    /// Listeners of this process: no destinations.
    pub own_listeners: Vec<SocketAddr>,
    /// Who is told.
    pub listener: Listener,
}

impl FarOptions {
    /// Closed, with the usual limits.
    #[must_use]
    pub fn new(own: [u8; 32]) -> Self {
        Self {
            own,
            policy: Policy::default(),
            connect_timeout: Duration::from_secs(15),
            connections_max: 10_000,
            connecting_max: 256,
            descriptors: usize::MAX,
            rate: Rate::default(),
            own_listeners: Vec::new(),
            listener: Listener::default(),
        }
    }
}

/// What all links of a node share.
#[derive(Debug)]
pub struct Far {
    options: FarOptions,
    policy: RwLock<Policy>,
    resolver: Resolver,
    ids: AtomicU64,
    all: Places,
    exhaustion: Exhaustion,
}

/// One peer.
#[derive(Debug)]
pub(crate) struct FarPeer {
    far: Arc<Far>,
    pub(crate) name: String,
    connections: Places,
    connecting: Places,
    bucket: Mutex<Buckets<()>>,
}

impl Far {
    /// With this policy.
    #[must_use]
    pub fn new(options: FarOptions) -> Arc<Self> {
        let policy = RwLock::new(options.policy.clone());
        Arc::new(Self {
            policy,
            resolver: Resolver::default(),
            ids: AtomicU64::new(0),
            all: Places::new(options.descriptors),
            exhaustion: Exhaustion::default(),
            options,
        })
    }

    /// Another policy from now on, for new connections.
    pub fn set_policy(&self, policy: Policy) {
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = policy;
    }

    pub(crate) fn policy(&self) -> Policy {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) const fn resolver(&self) -> &Resolver {
        &self.resolver
    }

    pub(crate) fn peer(self: &Arc<Self>, name: &str) -> Arc<FarPeer> {
        Arc::new(FarPeer {
            name: name.to_owned(),
            connections: Places::new(self.options.connections_max),
            connecting: Places::new(self.options.connecting_max),
            bucket: Mutex::new(Buckets::new(self.options.rate)),
            far: self.clone(),
        })
    }

    /// Serves a peer until its link ends.
    pub async fn serve(self: Arc<Self>, peering: Arc<Peering>) {
        let peer = self.peer(peering.link.name());
        let norm = tokio::spawn(peer.clone().accept_norm(peering.clone()));
        while let Some((send, recv)) = peering.link.accept().await {
            tokio::spawn(peer.clone().on_stream(peering.clone(), send, recv));
        }
        norm.abort();
    }
}

impl FarPeer {
    async fn on_stream(
        self: Arc<Self>,
        peering: Arc<Peering>,
        mut send: SendStream,
        mut recv: RecvStream,
    ) {
        let Ok(Ok(frame)) = timeout(OPEN_PATIENCE, read_frame(&mut recv)).await else { return };
        let Some(open) = Open::parse(&frame) else { return };
        if let Some(flow) = open.flow {
            return peering.flows.serve(&self.far, flow, (send, recv)).await;
        }
        let asked = Asked::new(&self);
        match self.connect(&open, asked.id, "quic").await {
            Err(failure) => {
                asked.tell_reply(failure);
                let _ = write_frame(&mut send, &Reply::failed(failure.code).to_bytes()).await;
                let _ = send.finish();
            }
            Ok((tcp, _place)) => {
                let bound = tcp.local_addr().unwrap_or_else(|_| ([0, 0, 0, 0], 0).into());
                asked.tell_reply(Code::Done.into());
                if write_frame(&mut send, &Reply::done(bound, 0).to_bytes()).await.is_err() {
                    return;
                }
                let (writer, reader) = (Writer::Quic(send), Reader::Quic(recv));
                let traffic = Traffic::default();
                let how = relay(tcp, Upward::default(), (writer, reader), &traffic).await;
                asked.tell_close(&traffic, how);
            }
        }
    }

    async fn accept_norm(self: Arc<Self>, peering: Arc<Peering>) {
        while let Some((handle, frame)) = peering.norm.accept().await {
            // Datagrams have streams of their own.
            match Open::parse(&frame).filter(|open| open.flow.is_none()) {
                Some(open) => drop(tokio::spawn(self.clone().on_norm(handle, open))),
                None => handle.reply(|_| Reply::failed(Code::General).to_bytes()),
            }
        }
    }

    async fn on_norm(self: Arc<Self>, handle: Handle, open: Open) {
        let asked = Asked::new(&self);
        match self.connect(&open, asked.id, "norm").await {
            Err(failure) => {
                asked.tell_reply(failure);
                handle.reply(|_| Reply::failed(failure.code).to_bytes());
                handle.forget();
            }
            Ok((tcp, _place)) => {
                let bound = tcp.local_addr().unwrap_or_else(|_| ([0, 0, 0, 0], 0).into());
                asked.tell_reply(Code::Done.into());
                handle.on_first_credit(open.credit);
                handle.reply(|credit| Reply::done(bound, credit).to_bytes());
                let (writer, reader) = (Writer::Norm(handle.clone()), Reader::Norm(handle));
                let traffic = Traffic::default();
                let how = relay(tcp, Upward::default(), (writer, reader), &traffic).await;
                asked.tell_close(&traffic, how);
            }
        }
    }

    /// A place for one more connection, unless the peer asks too often or has too many, or all together
    /// have.
    fn place(&self) -> Option<(Place, Place)> {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let own = bucket.take(Instant::now(), ()).then(|| self.connections.take()).flatten()?;
        let of_all = self.far.all.take();
        if of_all.is_none() {
            self.far.exhaustion.tell(&self.far.options.listener);
        }
        Some((own, of_all?))
    }

    pub(crate) async fn connect(
        &self,
        open: &Open,
        id: u64,
        carrier: &'static str,
    ) -> Result<(TcpStream, (Place, Place)), Failure> {
        let options = &self.far.options;
        let Some(destination) = open.destination() else { return Err(Code::General.into()) };
        options.listener.tell(Event::Open {
            id,
            client: self.name.clone(),
            destination: destination.clone(),
            peer: None,
            carrier,
        });
        if open.is_loop(&options.own) {
            return Err(Code::TimedOut.into());
        }
        let place = self.place().ok_or(Code::General)?;
        let _connecting = self.connecting.take().ok_or(Code::General)?;
        if self.is_own_listener(&destination) {
            return Err(Code::Refused.into());
        }
        let policy = self.far.policy();
        let patience = options.connect_timeout;
        let tcp =
            connect::connect(&destination, Some(&policy), &self.far.resolver, patience).await?;
        if let Ok(address) = tcp.peer_addr()
            && self.is_own_listener(&address.into())
        {
            return Err(Code::Refused.into());
        }
        Ok((tcp, place))
    }

    /// A proxy that connects to itself would go round in circles.
    fn is_own_listener(&self, destination: &crate::proxy::destination::Destination) -> bool {
        let crate::proxy::destination::Host::Address(ip) = destination.host else { return false };
        let listeners = &self.far.options.own_listeners;
        listeners.iter().any(|own| {
            own.port() == destination.port
                && (own.ip() == ip || own.ip().is_unspecified() && connect::is_own(ip))
        })
    }
}

/// A request, for events.
pub(crate) struct Asked {
    pub(crate) id: u64,
    listener: Listener,
    since: Instant,
}

impl Asked {
    pub(crate) fn new(peer: &FarPeer) -> Self {
        let id = peer.far.ids.fetch_add(1, Ordering::Relaxed) + 1;
        Self { id, listener: peer.far.options.listener.clone(), since: Instant::now() }
    }

    pub(crate) fn tell_reply(&self, failure: Failure) {
        let reason = failure.refusal.map(crate::proxy::policy::Refusal::name);
        self.listener.tell(Event::Reply { id: self.id, code: failure.code, reason });
    }

    pub(crate) fn tell_close(&self, traffic: &Traffic, how: crate::proxy::relay::How) {
        self.listener.tell(Event::Close {
            id: self.id,
            bytes_up: traffic.up.load(Ordering::Relaxed),
            bytes_down: traffic.down.load(Ordering::Relaxed),
            seconds: self.since.elapsed().as_secs_f64(),
            how,
        });
    }
}
