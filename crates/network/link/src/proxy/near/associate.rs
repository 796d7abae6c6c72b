//! UDP ASSOCIATE: a socket for one client's datagrams, as long as its TCP connection lasts.

use std::{
    collections::HashMap, net::SocketAddr, sync::Arc, sync::atomic::Ordering, time::Duration,
};

use crate::quinn::{RecvStream, SendStream};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpStream, UdpSocket},
    sync::mpsc,
    time::timeout,
};

use super::{Near, front::Style};
use crate::proxy::{
    code::Code,
    destination::Destination,
    event::Event,
    frame::{Open, Reply},
    peering::Peering,
    pipe::{read_frame, write_frame},
    route::Via,
    socks5,
};

/// The far side answers within this time.
const PATIENCE: Duration = Duration::from_secs(10);
/// Largest datagram of UDP.
const DATAGRAM_MAX: usize = 65_535;
/// Answers of all peers that may wait for the client.
const WAITING_MAX: usize = 256;

/// A flow to one peer.
pub(super) struct Flow {
    peering: Arc<Peering>,
    number: u64,
    /// The flow is over when these are dropped.
    _stream: (SendStream, RecvStream),
    answers: tokio::task::JoinHandle<()>,
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.answers.abort();
        self.peering.flows.end_near(self.number);
    }
}

impl Flow {
    /// Sends a datagram to the far side.
    pub(super) fn send(&self, to: &Destination, bytes: &[u8]) {
        self.peering.flows.send_to_far(self.number, to, bytes);
    }
}

impl Near {
    pub(super) async fn associate(
        self: Arc<Self>,
        mut tcp: TcpStream,
        client: SocketAddr,
        from: Option<SocketAddr>,
    ) {
        let Ok(own) = tcp.local_addr() else { return };
        let Some(_place) = self.associations.take() else {
            self.refuse_datagram(client, "too_many_associations");
            return self.turn_down(&mut tcp, Style::Socks, Code::General).await;
        };
        let Ok(socket) = UdpSocket::bind((own.ip(), 0)).await else {
            return self.turn_down(&mut tcp, Style::Socks, Code::General).await;
        };
        let bound = socket.local_addr().ok();
        if tcp.write_all(&socks5::reply(Code::Done, bound)).await.is_err() {
            return;
        }
        let mut gone = [0];
        tokio::select! {
            // The client says nothing more; its connection ends the relay.
            _ = tcp.read(&mut gone) => {}
            () = self.relay_datagrams(&socket, client, from) => {}
        }
    }

    async fn relay_datagrams(
        &self,
        socket: &UdpSocket,
        client: SocketAddr,
        from: Option<SocketAddr>,
    ) {
        // A request that names another machine than the one that asks is not believed.
        let mut known = from.filter(|from| from.ip() == client.ip());
        let mut flows: HashMap<String, Option<Flow>> = HashMap::new();
        let (to_client, mut answers) = mpsc::channel::<Vec<u8>>(WAITING_MAX);
        let mut buffer = vec![0; DATAGRAM_MAX];
        loop {
            tokio::select! {
                received = socket.recv_from(&mut buffer) => {
                    let Ok((len, source)) = received else { continue };
                    let expected = known.map_or(source.ip() == client.ip(), |known| known == source);
                    if !expected {
                        self.refuse_datagram(source, "foreign_datagram");
                        continue;
                    }
                    known = Some(source);
                    self.pass_on(&buffer[..len], source, &mut flows, &to_client).await;
                }
                Some(answer) = answers.recv() => {
                    if let Some(known) = known {
                        // A datagram may be lost.
                        let _ = socket.send_to(&answer, known).await;
                    }
                }
            }
        }
    }

    fn refuse_datagram(&self, client: SocketAddr, reason: &'static str) {
        self.options.listener.tell(Event::Refused { client, reason });
    }

    async fn pass_on(
        &self,
        datagram: &[u8],
        source: SocketAddr,
        flows: &mut HashMap<String, Option<Flow>>,
        to_client: &mpsc::Sender<Vec<u8>>,
    ) {
        let (to, bytes) = match socks5::datagram(datagram) {
            Ok(read) => read,
            Err(socks5::DatagramError::Fragment) => {
                return self.refuse_datagram(source, "fragment");
            }
            Err(socks5::DatagramError::Malformed) => {
                return self.refuse_datagram(source, "bad_datagram");
            }
        };
        // Datagrams do not go directly: who wants that needs no proxy.
        let Via::Peer(name) = self.options.routes.of(&to) else {
            return self.refuse_datagram(source, "no_peer_for_datagram");
        };
        if !flows.contains_key(name) {
            let to_client = to_client.clone();
            let deliver = move |from, bytes: &[u8]| {
                // Unreliable: a slow client loses some.
                let _ = to_client.try_send(socks5::to_datagram(from, bytes));
            };
            let flow = self.begin(name, source, &to, deliver).await;
            flows.insert(name.clone(), flow);
        }
        if let Some(Some(flow)) = flows.get(name) {
            flow.send(&to, bytes);
        }
    }

    /// A flow of this client by this peer; answers are delivered until it is dropped.
    pub(super) async fn begin(
        &self,
        name: &str,
        source: SocketAddr,
        to: &Destination,
        deliver: impl Fn(SocketAddr, &[u8]) + Send + 'static,
    ) -> Option<Flow> {
        let peering = self.peer(name)?;
        let number = self.ids.fetch_add(1, Ordering::Relaxed) + 1;
        self.options.listener.tell(Event::Open {
            id: number,
            client: source.to_string(),
            destination: to.clone(),
            peer: Some(name.to_owned()),
            carrier: "datagram",
        });
        let asked = timeout(PATIENCE, async {
            let attached = peering.link.connected(self.options.wait_link).await?;
            let (mut send, mut recv) = peering.link.open(&attached).await.ok()?;
            let open = Open::relay(&self.options.own, number).to_bytes();
            write_frame(&mut send, &open).await.ok()?;
            let reply = Reply::parse(&read_frame(&mut recv).await.ok()?)?;
            (reply.code() == Code::Done).then_some((send, recv))
        });
        let stream = asked.await.ok().flatten()?;
        let mut incoming = peering.flows.begin_near(number)?;
        let answers = tokio::spawn(async move {
            while let Some((from, bytes)) = incoming.recv().await {
                deliver(from, &bytes);
            }
        });
        Some(Flow { peering, number, _stream: stream, answers })
    }
}
