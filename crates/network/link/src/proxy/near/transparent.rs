//! A gateway's connections and datagrams: they were on their way to another machine.

use std::{
    collections::{HashMap, hash_map::Entry},
    io,
    net::{SocketAddr, UdpSocket as StdSocket},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    net::{TcpListener, UdpSocket},
    sync::mpsc,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{EXHAUSTED, Front, Near};
use crate::proxy::{
    destination::Destination,
    event::Event,
    gateway::sockets::{self, Caught},
    route::Via,
};

/// A flow without a datagram for so long is over, as at the far side.
const IDLE: Duration = Duration::from_secs(120);
/// Machines and ports inside that may have flows at once.
const FLOWS_MAX: usize = 1024;
/// Datagrams of one flow that may wait while it is set up.
const WAITING_MAX: usize = 64;
/// Sockets for answers, one for each machine outside that answers. Beyond, all are made anew.
const ANSWERING_MAX: usize = 512;
/// Largest datagram of UDP.
const DATAGRAM_MAX: usize = 65_535;
/// How often it is looked whether the link is there.
const LOOK: Duration = Duration::from_millis(200);

/// Where a gateway listens.
#[derive(Debug, Clone)]
pub struct GatewayListen {
    /// On loopback, one for each family that is taken.
    pub addresses: Vec<SocketAddr>,
    /// For TCP.
    pub tcp: bool,
    /// For UDP.
    pub udp: bool,
}

type Flows = HashMap<(SocketAddr, String), mpsc::Sender<(Destination, Vec<u8>)>>;

impl Near {
    /// Takes what the kernel brings while some peer is there; told is when it begins and when it stops.
    /// Packets of new connections are forwarded by the kernel meanwhile, or refused by its rules.
    ///
    /// # Errors
    /// When the sockets cannot be had: no right (CAP_NET_ADMIN), or the port is taken.
    pub async fn gateway(
        self: &Arc<Self>,
        listen: GatewayListen,
        told: impl Fn(bool),
    ) -> io::Result<()> {
        loop {
            self.until(true).await;
            let mut work = JoinSet::new();
            for &address in &listen.addresses {
                if listen.tcp {
                    let listener = sockets::tcp(address)?;
                    work.spawn(self.clone().take_connections(listener));
                }
                if listen.udp {
                    let socket = sockets::udp(address)?;
                    work.spawn(self.clone().take_datagrams(socket));
                }
            }
            told(true);
            self.until(false).await;
            // The listeners are closed; connections that are there go on.
            work.shutdown().await;
            told(false);
        }
    }

    /// Waits until some peer answers, or none does.
    async fn until(&self, there: bool) {
        while self.some_peer_answers() != there {
            sleep(LOOK).await;
        }
    }

    fn some_peer_answers(&self) -> bool {
        let peers = self.peers.read().unwrap_or_else(PoisonError::into_inner);
        peers.values().any(|peering| {
            let status = peering.link().status();
            status.connected && !status.quiet
        })
    }

    async fn take_connections(self: Arc<Self>, listener: TcpListener) {
        let own = listener.local_addr().ok();
        loop {
            let (tcp, client) = self.accepted(&listener).await;
            match tcp.local_addr().ok() == own {
                // Somebody on this machine who knows the port: there is no destination.
                true => self.refuse_caught(client, "not_redirected"),
                false => self.clone().welcome(tcp, client, &Front::Transparent),
            }
        }
    }

    fn refuse_caught(&self, client: SocketAddr, reason: &'static str) {
        self.options.listener.tell(Event::Refused { client, reason });
    }

    async fn take_datagrams(self: Arc<Self>, socket: UdpSocket) {
        let own = socket.local_addr().ok();
        let answering = Arc::new(Answering::default());
        let (mut flows, mut buffer) = (Flows::new(), vec![0; DATAGRAM_MAX]);
        let mut running = JoinSet::new();
        loop {
            let Ok(caught) = sockets::receive(&socket, &mut buffer).await else {
                sleep(EXHAUSTED).await;
                continue;
            };
            while running.try_join_next().is_some() {}
            if Some(caught.to) == own {
                self.refuse_caught(caught.from, "not_redirected");
                continue;
            }
            if !self.may_use(&Front::Transparent, caught.from) {
                self.refuse_caught(caught.from, "client_not_allowed");
                continue;
            }
            let to = Destination::from(caught.to);
            let Via::Peer(name) = self.options.routes.of(&to) else {
                self.refuse_caught(caught.from, "no_peer_for_datagram");
                continue;
            };
            let key = (caught.from, name.clone());
            if flows.get(&key).is_none_or(mpsc::Sender::is_closed) {
                flows.retain(|_, flow| !flow.is_closed());
                if flows.len() >= FLOWS_MAX {
                    self.refuse_caught(caught.from, "too_many_flows");
                    continue;
                }
                let (sender, waiting) = mpsc::channel(WAITING_MAX);
                flows.insert(key.clone(), sender);
                let flow = (caught, key.1.clone());
                running.spawn(self.clone().carry_datagrams(flow, waiting, answering.clone()));
            }
            if let Some(flow) = flows.get(&key) {
                // Unreliable: what comes faster than the flow is set up is lost.
                let _ = flow.try_send((to, buffer[..caught.len].to_vec()));
            }
        }
    }

    /// One client's flow to one peer, until nothing comes for a while.
    async fn carry_datagrams(
        self: Arc<Self>,
        (first, peer): (Caught, String),
        mut waiting: mpsc::Receiver<(Destination, Vec<u8>)>,
        answering: Arc<Answering>,
    ) {
        let client = first.from;
        let deliver = move |from, bytes: &[u8]| answering.send(from, client, bytes);
        let flow = self.begin(&peer, client, &Destination::from(first.to), deliver).await;
        let Some(flow) = flow else { return };
        while let Ok(Some((to, bytes))) = timeout(IDLE, waiting.recv()).await {
            flow.send(&to, &bytes);
        }
    }
}

/// Sockets that answer in the name of machines outside.
#[derive(Debug, Default)]
struct Answering(Mutex<HashMap<SocketAddr, StdSocket>>);

impl Answering {
    /// Sends an answer; a datagram may be lost.
    fn send(&self, from: SocketAddr, client: SocketAddr, bytes: &[u8]) {
        let mut sockets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sockets.len() >= ANSWERING_MAX && !sockets.contains_key(&from) {
            sockets.clear();
        }
        let socket = match sockets.entry(from) {
            Entry::Occupied(socket) => socket.into_mut(),
            Entry::Vacant(vacant) => {
                let Ok(socket) = sockets::in_the_name_of(from) else { return };
                vacant.insert(socket)
            }
        };
        let _ = socket.send_to(bytes, client);
    }
}
