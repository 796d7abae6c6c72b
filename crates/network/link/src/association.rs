//! What this node shares with one other, over as many connections as it takes.
//!
//! - `attached`: a connection in use; `begun`: one that is not yet; `early`: first packets
//! - `measuring`: the narrowest link, by trains

mod attached;
mod begun;
mod early;
mod measuring;

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use fanfare_crypto::PublicKey;
use quinn::{Connection, RecvStream, SendStream, Side, VarInt};
use tokio::{
    sync::{Mutex, Notify, broadcast, mpsc, watch},
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::{
    clock::Clock,
    control,
    event::Event,
    hello::{Acquaintance, Hello, Lives, Met},
    kind,
    liveness::{Change, Liveness, Patience},
    lock::Locked,
    messages::carrier::{self, Mail},
    socket::{Shared, unmapped},
    trains::{Capacity, Trains},
};

pub use attached::Attached;
use begun::Begun;
pub(crate) use early::SharedEarly;

/// Another connection has taken its place.
const REPLACED: VarInt = VarInt::from_u32(1);
/// The application has ended the link, or the process itself.
pub const ENDED: VarInt = VarInt::from_u32(0);
/// How often it is looked whether the other end is heard, and from where.
const LOOK: Duration = Duration::from_millis(100);
/// Streams and datagrams of the application that it may leave unfetched.
const STREAMS_MAX: usize = 1024;
const DATAGRAMS_MAX: usize = 4096;
/// A stream must say within this time what it is for.
const KIND_PATIENCE: Duration = Duration::from_secs(10);
/// When both ends dial at once, the connection of the lesser key stays if the other is so young.
const AT_ONCE: Duration = Duration::from_secs(5);
/// Events that a slow application may leave unread.
const EVENTS_MAX: usize = 256;

/// Everything that outlives a connection.
#[derive(Debug)]
pub(crate) struct Association {
    pub(crate) key: PublicKey,
    pub(crate) name: String,
    pub(crate) shared: Arc<Shared>,
    pub(crate) mail: Arc<Mail>,
    pub(crate) patience: Patience,
    pub(crate) clock: Clock,
    own: PublicKey,
    who: Locked<Acquaintance>,
    pub(crate) current: watch::Sender<Option<Attached>>,
    pub(crate) events: broadcast::Sender<Event>,
    pub(crate) streams: Mutex<mpsc::Receiver<(SendStream, RecvStream)>>,
    to_streams: mpsc::Sender<(SendStream, RecvStream)>,
    pub(crate) datagrams: Mutex<mpsc::Receiver<Vec<u8>>>,
    to_datagrams: mpsc::Sender<Vec<u8>>,
    epochs: AtomicU32,
    pub(crate) ended: AtomicBool,
    /// The application has not been told of it.
    pub(crate) untold: AtomicBool,
    /// Look now where the other end is, and dial it.
    pub(crate) seek: Notify,
    /// Where it was heard last.
    pub(crate) last_address: Locked<Option<SocketAddr>>,
    pub(crate) quiet: AtomicBool,
    /// The narrowest link towards this end, and from it as the other end says.
    pub(crate) trains: Locked<Trains>,
    pub(crate) told: Locked<Option<Capacity>>,
    pub(crate) measure: Option<Duration>,
    early: SharedEarly,
    /// Where this end dials at present.
    dialling: Locked<Option<SocketAddr>>,
    /// The connection over which messages go before it is in use.
    pub(crate) begun: Begun,
}

impl Association {
    pub(crate) fn new(
        (key, name): (PublicKey, String),
        (own, lives): (PublicKey, Arc<Lives>),
        (shared, early): (Arc<Shared>, SharedEarly),
        clock: Clock,
        (patience, measure): (Patience, Option<Duration>),
    ) -> Arc<Self> {
        let (to_streams, streams) = mpsc::channel(STREAMS_MAX);
        let (to_datagrams, datagrams) = mpsc::channel(DATAGRAMS_MAX);
        Arc::new(Self {
            key,
            name,
            shared,
            mail: Mail::new(clock),
            patience,
            clock,
            own,
            who: Locked::new(Acquaintance::new(lives)),
            current: watch::Sender::new(None),
            events: broadcast::Sender::new(EVENTS_MAX),
            streams: Mutex::new(streams),
            to_streams,
            datagrams: Mutex::new(datagrams),
            to_datagrams,
            epochs: AtomicU32::new(0),
            ended: AtomicBool::new(false),
            untold: AtomicBool::new(true),
            seek: Notify::new(),
            last_address: Locked::default(),
            quiet: AtomicBool::new(false),
            trains: Locked::default(),
            told: Locked::default(),
            measure,
            early,
            dialling: Locked::default(),
            begun: Begun::default(),
        })
    }

    /// What this end says first.
    pub(crate) fn hello(&self) -> Hello {
        self.who.with(|who| who.hello())
    }

    pub(crate) fn tell(&self, event: Event) {
        // Nobody may be listening.
        let _ = self.events.send(event);
    }

    /// Whether a new connection is to take the place of the one in use: when both ends have dialled at
    /// the same time, they must choose the same one.
    fn prefers(&self, new: &Connection) -> bool {
        let now = self.clock.now();
        let borrowed = self.current.borrow();
        let Some(old) = borrowed.as_ref().filter(|old| old.connection.close_reason().is_none())
        else {
            return true;
        };
        if now.since(old.since) > AT_ONCE || old.connection.side() == new.side() {
            return true;
        }
        let own_is_less = self.own < self.key;
        (new.side() == Side::Client) == own_is_less
    }

    /// Sends messages over a connection whose other end has not answered yet, unless there is another one:
    /// over one that is only quiet they may still arrive.
    pub(crate) fn begin(&self, connection: &Connection) {
        let may_go = || self.current.borrow().is_none() && !self.ended.load(Ordering::Relaxed);
        self.begun.begin(&self.mail, connection, may_go);
    }

    /// This connection does not come into use.
    pub(crate) fn abandon(&self, connection: &Connection) {
        self.begun.abandon(&self.mail, connection);
    }

    /// Takes a connection whose ends have said hello. False when another one is kept.
    pub(crate) fn attach(
        self: &Arc<Self>,
        connection: Connection,
        (own, theirs): (Hello, Hello),
        control: (SendStream, RecvStream),
    ) -> bool {
        let client = connection.side() == Side::Client;
        if self.ended.load(Ordering::Relaxed) || !self.prefers(&connection) {
            connection.close(REPLACED, b"another connection is in use");
            return false;
        }
        match self.who.with(|who| match client {
            true => who.on_answer(own, theirs),
            false => who.on_dialled(own, theirs),
        }) {
            Met::Same => {}
            Met::Another => self.restart(),
            Met::Gone => {
                self.forget();
                self.tell(Event::Restarted);
                return false;
            }
            Met::Void => return false,
        }
        let resumed = own.resumes(theirs);
        let address = unmapped(connection.remote_address());
        let (validated, validated_here) = watch::channel(address);
        let instances =
            if client { [own.instance, theirs.instance] } else { [theirs.instance, own.instance] };
        let attached = Attached {
            connection: connection.clone(),
            epoch: self.epochs.fetch_add(1, Ordering::Relaxed) + 1,
            resumed,
            instances,
            address: validated_here,
            since: self.clock.now(),
        };
        self.draw(&attached);
        let put = || self.current.send_replace(Some(attached));
        let (old, carrier) = self.begun.take_over(&self.mail, &connection, put);
        if let Some(old) = old {
            old.connection.close(REPLACED, b"another connection is in use");
        }
        self.last_address.with(|last| *last = Some(address));
        self.quiet.store(false, Ordering::Relaxed);
        let round_trip = connection.rtt();
        self.tell(Event::Connected { address, resumed, round_trip });
        tokio::spawn(self.clone().serve(connection, validated, control, carrier));
        true
    }

    /// Everything that happens on a connection, until it is closed.
    async fn serve(
        self: Arc<Self>,
        connection: Connection,
        validated: watch::Sender<SocketAddr>,
        (send, recv): (SendStream, RecvStream),
        carrier: JoinHandle<()>,
    ) {
        let pongs = Arc::new(Notify::new());
        let probe = control::Probe::new(send, pongs.clone());
        let tasks = [
            carrier,
            tokio::spawn(self.clone().accept_streams(connection.clone())),
            tokio::spawn(self.clone().accept_datagrams(connection.clone())),
            tokio::spawn(control::answer(recv, probe.clone())),
            tokio::spawn(self.clone().send_trains(connection.clone())),
            tokio::spawn(self.clone().watch(connection.clone(), validated, probe)),
        ];
        let reason = connection.closed().await;
        tasks.iter().for_each(JoinHandle::abort);
        let is_mine = |current: &Option<Attached>| {
            current.as_ref().is_some_and(|c| c.connection.stable_id() == connection.stable_id())
        };
        let was_mine = self.current.send_if_modified(|current| {
            let mine = is_mine(current);
            if mine {
                *current = None;
            }
            mine
        });
        if was_mine {
            self.mail.outbox.with(|outbox| outbox.on_connection_lost());
            self.tell(Event::Lost(reason.to_string()));
            self.seek.notify_one();
        }
    }

    async fn accept_streams(self: Arc<Self>, connection: Connection) {
        while let Ok((send, mut recv)) = connection.accept_bi().await {
            let association = self.clone();
            tokio::spawn(async move {
                let mut kind = [0];
                let read = timeout(KIND_PATIENCE, recv.read_exact(&mut kind)).await;
                if !matches!(read, Ok(Ok(()))) {
                    return;
                }
                match kind[0] {
                    kind::STREAM_MESSAGE => {
                        carrier::on_stream(&association.mail, send, recv).await;
                    }
                    kind::STREAM_APPLICATION => {
                        let _ = association.to_streams.send((send, recv)).await;
                    }
                    _ => {}
                }
            });
        }
    }

    async fn accept_datagrams(self: Arc<Self>, connection: Connection) {
        while let Ok(datagram) = connection.read_datagram().await {
            match datagram.split_first() {
                Some((&kind::DATAGRAM_MESSAGE, rest)) => {
                    carrier::on_datagram(&self.mail, connection.rtt(), rest);
                }
                Some((&kind::DATAGRAM_APPLICATION, rest)) => {
                    // Unreliable: a slow application loses some.
                    let _ = self.to_datagrams.try_send(rest.to_vec());
                }
                Some((&kind::DATAGRAM_TRAIN, rest)) => self.on_train(&connection, rest),
                Some((&kind::DATAGRAM_REPORT, rest)) => {
                    let capacity = Capacity::parse(rest);
                    self.told.with(|told| *told = capacity.or(*told));
                }
                _ => {}
            }
        }
    }

    /// Whether the other end is heard, and where it is; where this end is.
    async fn watch(
        self: Arc<Self>,
        connection: Connection,
        validated: watch::Sender<SocketAddr>,
        probe: control::Probe,
    ) {
        let mut liveness = Liveness::new(self.patience, self.clock.now());
        let mut own = control::own_address(*validated.borrow());
        loop {
            sleep(LOOK).await;
            let received = connection.stats().udp_rx.datagrams;
            match liveness.look(self.clock.now(), received) {
                Some(Change::Quiet) => {
                    self.quiet.store(true, Ordering::Relaxed);
                    self.tell(Event::Quiet);
                    self.seek.notify_one();
                }
                Some(Change::Heard(after)) => {
                    self.quiet.store(false, Ordering::Relaxed);
                    self.tell(Event::Heard(after));
                }
                None => {}
            }
            let (from, to) = (*validated.borrow(), unmapped(connection.remote_address()));
            if from != to && probe.answers().await {
                // Only now: whoever answers there has the keys of this connection.
                self.shared.reroute(from, to);
                self.last_address.with(|last| *last = Some(to));
                validated.send_replace(to);
                self.tell(Event::Moved { from, to });
            }
            let now = control::own_address(to);
            if now.is_some() && now != own {
                own = now;
                self.on_own_address(&connection, &probe).await;
            }
        }
    }

    /// This end has another address: the other one hears of it by the next packet. An end that was
    /// dialled may not move by QUIC's rules: it dials itself.
    async fn on_own_address(&self, connection: &Connection, probe: &control::Probe) {
        match connection.side() {
            Side::Client => probe.send().await,
            Side::Server => {
                self.quiet.store(true, Ordering::Relaxed);
                self.seek.notify_one();
            }
        }
    }

    /// There is no connection, or nothing is heard over it.
    pub(crate) fn needs_connection(&self) -> bool {
        self.current.borrow().is_none() || self.quiet.load(Ordering::Relaxed)
    }

    /// No connection came for so long that nothing is kept.
    pub(crate) fn give_up(&self) {
        self.forget();
        self.tell(Event::Ended);
    }

    /// This end begins anew, and is another one to the other end.
    fn forget(&self) {
        self.who.with(Acquaintance::forget);
        self.begin_anew();
    }

    /// Everything of before is over, and the connection that it went over.
    fn begin_anew(&self) {
        if let Some(old) = self.current.send_replace(None) {
            old.connection.close(REPLACED, b"the link begins anew");
        }
        self.mail.outbox.with(|outbox| outbox.on_restart());
        self.mail.inbox.with(|inbox| inbox.on_restart());
    }
}
