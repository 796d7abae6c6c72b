//! The port of norp's signalling: one socket for all sessions, and whose each message is.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU16, Ordering},
    },
    time::Duration,
};

use crate::clock::Clock;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::{
    net::UdpSocket,
    sync::{mpsc, oneshot, watch},
    time::{sleep, timeout},
};

use super::{
    driver::{Conversation, Told},
    ends::{self, Reader, Writer},
    message::{Kind, Message},
    request,
    signalling::Signalling,
    streams::{Ends, Streams},
    turns::Turns,
};
use crate::proxy::{code::Code, destination::Destination, norm::Sending, policy::Rule};

/// Sessions at once.
const SESSIONS_MAX: usize = 4096;
/// Sessions that wait for the application.
const WAITING_MAX: usize = 256;
/// Messages that may wait for one session.
const MESSAGES_MAX: usize = 32;
/// Longest message, and one byte more, so that longer ones are seen.
const LONGEST: usize = 512;
/// After an error of the socket, which is that of an earlier datagram.
const PAUSE: Duration = Duration::from_millis(1);
/// Buffers of a NORM socket.
const SOCKET_BUFFER: usize = 4 << 20;

/// How norp is spoken.
#[derive(Debug, Clone)]
pub struct NorpOptions {
    /// Where its signalling is heard (norp: port 7001).
    pub listen: SocketAddr,
    /// Where its NORM is heard for those who ask (norp: port 7002).
    pub norm_port: u16,
    /// Who may speak: names and addresses.
    pub peers: Vec<(String, Rule)>,
    /// How this end sends.
    pub sending: Sending,
}

/// Somebody asks for a connection.
#[derive(Debug)]
pub struct Asking {
    /// Which peer.
    pub peer: String,
    /// Where to, or why not.
    pub to: Result<Destination, Code>,
    /// Takes the reply, as SOCKS5 has it.
    pub answer: oneshot::Sender<Vec<u8>>,
    /// To the peer.
    pub writer: Writer,
    /// From the peer.
    pub reader: Reader,
}

/// Whose session it is: this end's, or that of a peer's node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Own(u16),
    Of(IpAddr, u32, u16),
}

type Mail = mpsc::Sender<(Message, SocketAddr)>;

/// All sessions with norps.
#[derive(Debug)]
pub struct Norp {
    options: NorpOptions,
    socket: UdpSocket,
    /// This end's NORM node: a random number, not an address.
    node: u32,
    clock: Clock,
    next: AtomicU16,
    sessions: Mutex<HashMap<Key, (IpAddr, Mail)>>,
    turns: Turns,
    asking: mpsc::Sender<Asking>,
}

fn random() -> u64 {
    // The salt of a seal is as random as the system can.
    let salt = crate::seal::system_salt().unwrap_or_default();
    salt.iter().fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
}

impl Norp {
    /// Listens; those who ask come out of the receiver. It has to be called within a runtime of tokio.
    ///
    /// # Errors
    /// When the port cannot be had.
    pub async fn start(options: NorpOptions) -> io::Result<(Arc<Self>, mpsc::Receiver<Asking>)> {
        let socket = UdpSocket::bind(options.listen).await?;
        let (asking, asked) = mpsc::channel(WAITING_MAX);
        let chance = random();
        let norp = Arc::new(Self {
            socket,
            node: (chance as u32).max(2),
            clock: Clock::start(),
            next: AtomicU16::new((chance >> 32) as u16),
            sessions: Mutex::default(),
            turns: Turns::default(),
            asking,
            options,
        });
        tokio::spawn(hear(Arc::downgrade(&norp)));
        Ok((norp, asked))
    }

    /// Where it listens.
    ///
    /// # Errors
    /// As the socket.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    pub(super) const fn clock(&self) -> Clock {
        self.clock
    }

    pub(super) const fn sending(&self) -> Sending {
        self.options.sending
    }

    pub(super) const fn turns(&self) -> &Turns {
        &self.turns
    }

    pub(super) async fn say(&self, message: &Message, to: SocketAddr) {
        // A lost one is said again.
        let _ = self.socket.send_to(&message.to_bytes(), to).await;
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, HashMap<Key, (IpAddr, Mail)>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn forget(&self, key: Key) {
        self.sessions().remove(&key);
    }

    /// Takes a place for a session; none when there are too many.
    fn enter(&self, key: Key, ip: IpAddr) -> Option<mpsc::Receiver<(Message, SocketAddr)>> {
        let (mail, inbox) = mpsc::channel(MESSAGES_MAX);
        let mut sessions = self.sessions();
        if sessions.len() >= SESSIONS_MAX || sessions.contains_key(&key) {
            return None;
        }
        sessions.insert(key, (ip, mail));
        Some(inbox)
    }

    fn peer(&self, from: SocketAddr) -> Option<&str> {
        let ip = from.ip().to_canonical();
        let known = self.options.peers.iter().find(|(_, rule)| rule.covers(ip, from.port()));
        known.map(|(name, _)| name.as_str())
    }

    fn ends(&self, session: u16) -> Ends {
        Ends { node: self.node, session, seed: random() }
    }

    /// Asks the norp at `peer` for a connection. The first code is for a peer that does not answer
    /// within `heard`; the whole takes no longer than `patience`.
    ///
    /// # Errors
    /// None when nobody has heard it, or the code of the refusal.
    pub async fn ask(
        self: &Arc<Self>,
        peer: SocketAddr,
        to: &Destination,
        (heard, patience): (Duration, Duration),
    ) -> Result<(Writer, Reader), Option<Code>> {
        let failed = |_| Some(Code::General);
        let turn = timeout(heard, self.turns.wait(peer.ip())).await.map_err(|_| None)?;
        let session = self.next.fetch_add(1, Ordering::Relaxed);
        let any = SocketAddr::new(unspecified(peer.ip()), 0);
        let socket = norm_socket(any, None).map_err(failed)?;
        let port = socket.local_addr().map_err(failed)?.port();
        let key = Key::Own(session);
        let inbox = self.enter(key, peer.ip()).ok_or(Some(Code::General))?;
        let now = self.clock.now();
        let request = request::request(to);
        let signalling = Signalling::asking(now, session, self.node, (port, port), request);
        let (writer, reader, inner) = ends::pair();
        let (told, mut telling) = watch::channel(Told::Nothing);
        let conversation = Conversation {
            key,
            signalling,
            streams: Streams::new(now, self.ends(session)),
            socket,
            peer,
            inbox,
            inner,
            told,
            turn,
            answer: None,
        };
        tokio::spawn(conversation.run(self.clone()));
        let first = timeout(heard, telling.wait_for(|told| *told != Told::Nothing)).await;
        let first = first.ok().and_then(Result::ok).map(|told| told.clone());
        if matches!(first, None | Some(Told::Silent)) {
            writer.reset();
            return Err(None);
        }
        let answered = |told: &Told| matches!(told, Told::Answered(_) | Told::Silent);
        let answer = timeout(patience, telling.wait_for(answered)).await;
        let answer = answer.ok().and_then(Result::ok).map(|told| told.clone());
        match answer {
            Some(Told::Answered(reply)) => match request::code(&reply) {
                Code::Done => Ok((writer, reader)),
                code => Err(Some(code)),
            },
            _ => {
                writer.reset();
                Err(Some(Code::TimedOut))
            }
        }
    }

    fn on_message(self: &Arc<Self>, bytes: &[u8], from: SocketAddr) {
        let Some(message) = Message::parse(bytes) else { return };
        let Some(peer) = self.peer(from) else { return };
        let ip = from.ip().to_canonical();
        let theirs = Key::Of(ip, message.node, message.session);
        let key = match message.kind {
            Kind::Request | Kind::ReplyAck | Kind::OriginatorEnd => theirs,
            Kind::RequestAck | Kind::Reply | Kind::CorrespondentEnd => Key::Own(message.session),
            // Who has asked is found without a node (norp).
            Kind::EndAck if message.node == 0 => Key::Own(message.session),
            Kind::EndAck => theirs,
        };
        let known = self.sessions().get(&key).cloned();
        match (known, message.kind) {
            (Some((of, mail)), _) if of == ip => drop(mail.try_send((message, from))),
            (None, Kind::Request) => self.on_request(peer.to_owned(), key, message, from),
            (None, Kind::OriginatorEnd) => self.end_again(message.session, 0, from),
            (None, Kind::CorrespondentEnd) => self.end_again(message.session, self.node, from),
            _ => {}
        }
    }

    /// It is over here; the acknowledgement of that was lost.
    fn end_again(self: &Arc<Self>, session: u16, node: u32, to: SocketAddr) {
        let message = Message::short(Kind::EndAck, session, node);
        let _ = self.socket.try_send_to(&message.to_bytes(), to);
    }

    fn on_request(self: &Arc<Self>, peer: String, key: Key, message: Message, from: SocketAddr) {
        // Without a place it is dropped, and will be said again.
        let Ok(place) = self.asking.try_reserve() else { return };
        let local = SocketAddr::new(unspecified(from.ip()), self.options.norm_port);
        let source = SocketAddr::new(from.ip(), message.ports.0);
        let Ok(socket) = norm_socket(local, Some(source)) else { return };
        let Ok(bound) = socket.local_addr() else { return };
        let Some(inbox) = self.enter(key, from.ip().to_canonical()) else { return };
        let now = self.clock.now();
        let ports = (bound.port(), bound.port());
        let mut signalling = Signalling::asked(message.session, self.node, ports);
        signalling.on_message(now, &message);
        let (writer, reader, inner) = ends::pair();
        let (answer, answered) = oneshot::channel();
        let to = request::destination(&message.content);
        place.send(Asking { peer, to, answer, writer, reader });
        let conversation = Conversation {
            key,
            signalling,
            streams: Streams::new(now, self.ends(message.session)),
            socket,
            peer: from,
            inbox,
            inner,
            told: watch::channel(Told::Nothing).0,
            turn: None,
            answer: Some(answered),
        };
        tokio::spawn(conversation.run(self.clone()));
    }
}

async fn hear(norp: Weak<Norp>) {
    let mut buffer = [0; LONGEST];
    while let Some(norp) = norp.upgrade() {
        match norp.socket.recv_from(&mut buffer).await {
            Ok((len, from)) => norp.on_message(&buffer[..len], from),
            Err(_) => sleep(PAUSE).await,
        }
    }
}

fn unspecified(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::from([0; 4]),
        IpAddr::V6(_) => IpAddr::from([0; 16]),
    }
}

/// A socket for a session's NORM. Several have one port; each hears the peer's NORM that comes from
/// `source` only.
fn norm_socket(local: SocketAddr, source: Option<SocketAddr>) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
    if let Some(source) = source {
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(true)?;
        socket.bind(&local.into())?;
        socket.connect(&source.into())?;
    } else {
        socket.bind(&local.into())?;
    }
    socket.set_nonblocking(true)?;
    let socket = UdpSocket::from_std(socket.into())?;
    let options = SockRef::from(&socket);
    // With less there is more loss, and nothing else.
    let _ = options.set_recv_buffer_size(SOCKET_BUFFER);
    let _ = options.set_send_buffer_size(SOCKET_BUFFER);
    Ok(socket)
}
