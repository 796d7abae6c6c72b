//! The task of one connection by norp: signalling, NORM, and the connection's bytes.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use fanfare_proto::{Destination, Time};
use tokio::{
    net::UdpSocket,
    sync::{mpsc, oneshot, watch},
    time::sleep_until,
};

use super::{
    ends::{Fate, Inner, Piece},
    hub::{Key, Norp},
    message::Message,
    request,
    signalling::{Signalling, Step},
    streams::{Broken, Got, Streams},
    turns::Turn,
};
use crate::proxy::code::Code;

/// Datagrams that are read or sent before something else has its turn.
const BATCH: usize = 64;
/// Largest datagram of a NORM session.
const DATAGRAM_MAX: usize = 9000;
/// NRL's norp forgets that something is to be read when that comes before it has heard that its reply
/// was heard. Only after that its own NORM speaks; or, when all it says is lost, it repeats its reply after
/// 2 s, the reply is heard again, and then it has heard that.
const NORP_DEAF: Duration = Duration::from_secs(3);
/// The first symbol of a stream is said again to norp after so long, and so often at most.
const FIRST_AGAIN: Duration = Duration::from_millis(200);
const FIRST_TIMES: u8 = 20;
/// Nothing was heard for so long: the other end is gone. An idle sender probes every 30 s at least.
const PERSIST: Duration = Duration::from_secs(90);

/// What the one who asks is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    Nothing,
    Heard,
    Answered(Vec<u8>),
    Silent,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) key: Key,
    pub(super) signalling: Signalling,
    pub(super) streams: Streams,
    pub(super) socket: UdpSocket,
    /// Where messages go.
    pub(super) peer: SocketAddr,
    pub(super) inbox: mpsc::Receiver<(Message, SocketAddr)>,
    pub(super) inner: Inner,
    pub(super) told: watch::Sender<Told>,
    /// Others who ask the same norp wait until this is given back.
    pub(super) turn: Option<Turn>,
    /// At the far side: the reply, once it is known.
    pub(super) answer: Option<oneshot::Receiver<Vec<u8>>>,
}

/// Where a connection stands.
#[derive(Debug)]
struct Stand {
    /// Where NORM goes.
    norm: Option<SocketAddr>,
    /// Written by the application, and not yet all in the stream.
    piece: Option<(Vec<u8>, usize)>,
    /// The application writes no more.
    finished: bool,
    /// Read from the stream, and not yet taken by the application.
    held: Option<Vec<u8>>,
    over: bool,
    heard: Instant,
    /// NRL's norp is at the far side.
    norp: bool,
    /// It may not read yet what is written before then.
    deaf: Option<Instant>,
    /// It has ended, and takes nothing any more.
    deserted: bool,
    /// It has begun with our stream.
    reads: bool,
    /// The first symbol of our stream, until it is known that norp has it.
    first: Option<First>,
}

/// NRL's receiver begins with a stream at its first symbol, and asks for nothing before. When that is lost
/// and nothing follows, as with a short request, nobody would ever say it again.
#[derive(Debug)]
struct First {
    datagram: Vec<u8>,
    next: Instant,
    left: u8,
}

/// What woke the task.
enum Woken {
    Mail(Message),
    Piece(Option<Piece>),
    Answer(Vec<u8>),
    Reset,
    Else,
}

impl Conversation {
    pub(super) async fn run(mut self, norp: Arc<Norp>) {
        let mut stand = Stand {
            norm: None,
            piece: None,
            finished: false,
            held: None,
            over: false,
            heard: Instant::now(),
            norp: false,
            deaf: None,
            deserted: false,
            reads: false,
            first: None,
        };
        let mut buffer = Vec::with_capacity(DATAGRAM_MAX);
        loop {
            let turned = self.turn(&norp, &mut stand, &mut buffer).await;
            if turned.is_err() || stand.heard.elapsed() > PERSIST {
                self.break_off(norp.clock().now(), &mut stand);
            }
            if stand.over && stand.held.is_none() && (stand.finished || !stand.deserted) {
                break;
            }
            match self.wait(&norp, &mut stand).await {
                Woken::Mail(message) => self.signalling.on_message(norp.clock().now(), &message),
                Woken::Answer(reply) => self.signalling.answer(norp.clock().now(), reply),
                Woken::Reset => self.break_off(norp.clock().now(), &mut stand),
                Woken::Piece(Some(Piece::Bytes(bytes))) => stand.piece = Some((bytes, 0)),
                Woken::Piece(Some(Piece::End)) => {
                    stand.finished = true;
                    self.streams.close();
                }
                // The application is gone without having ended.
                Woken::Piece(None) => {
                    stand.finished = true;
                    self.break_off(norp.clock().now(), &mut stand);
                }
                Woken::Else => {}
            }
        }
        norp.forget(self.key);
    }

    /// The connection cannot go on: the application and the other end are told.
    fn break_off(&mut self, now: Time, stand: &mut Stand) {
        (stand.held, stand.finished, self.turn) = (None, true, None);
        (stand.deaf, stand.first) = (None, None);
        self.inner.fate.send_if_modified(|fate| {
            let open = *fate == Fate::Open;
            *fate = if open { Fate::Reset } else { *fate };
            open
        });
        // Who reads is told by the end of the channel.
        self.inner.given = None;
        self.signalling.end(now);
        stand.heard = Instant::now();
    }

    /// Everything that can be done now.
    async fn turn(
        &mut self,
        norp: &Norp,
        stand: &mut Stand,
        buffer: &mut Vec<u8>,
    ) -> Result<(), Broken> {
        let now = norp.clock().now();
        self.signalling.on_timeout(now);
        let mut result = self.take_steps(norp, stand);
        while let Some(message) = self.signalling.poll_message() {
            norp.say(&message, self.peer).await;
        }
        self.hear(norp, stand, buffer);
        let reset = *self.inner.fate.borrow() == Fate::Reset;
        if stand.over && !stand.deserted || reset {
            return result;
        }
        result = result.and(self.streams.step(now));
        result = result.and(self.give(now, stand));
        if stand.deaf.is_some_and(|until| Instant::now() >= until) {
            (stand.deaf, self.turn) = (None, None);
        }
        let hears = stand.deaf.is_none();
        if let Some((bytes, done)) = stand.piece.as_mut().filter(|_| hears) {
            *done += self.streams.write(now, &bytes[*done..]);
            if *done == bytes.len() {
                stand.piece = None;
                if self.inner.written.is_empty() {
                    self.streams.flush(now);
                }
            }
        }
        if stand.deserted {
            // As TCP takes what is written to a connection that the other end has closed.
            stand.piece = None;
        }
        if self.streams.is_taken() || stand.deserted && stand.finished {
            self.inner.fate.send_replace(Fate::Taken);
            if self.inner.given.is_none() {
                self.signalling.end(now);
            }
        }
        self.send(now, stand, buffer);
        self.say_first(stand);
        result
    }

    fn take_steps(&mut self, norp: &Norp, stand: &mut Stand) -> Result<(), Broken> {
        let now = norp.clock().now();
        while let Some(step) = self.signalling.poll_step() {
            match step {
                Step::Heard { node, ports, round_trip, ours } => {
                    stand.norp = !ours && self.signalling.asks();
                    if ours {
                        norp.turns().is_ours(self.peer.ip());
                        self.turn = None;
                    }
                    stand.norm = Some(SocketAddr::new(self.peer.ip(), ports.1));
                    stand.heard = Instant::now();
                    self.told.send_replace(Told::Heard);
                    self.streams.begin(now, node, round_trip, norp.sending())?;
                }
                Step::Answered(reply) => {
                    let refused = request::code(&reply) != Code::Done;
                    stand.deaf = stand.norp.then(|| Instant::now() + NORP_DEAF);
                    self.told.send_replace(Told::Answered(reply));
                    if refused {
                        return Err(Broken);
                    }
                }
                Step::Silent => {
                    self.told.send_replace(Told::Silent);
                    stand.over = true;
                    return Err(Broken);
                }
                Step::Over => {
                    stand.over = true;
                    self.told.send_if_modified(|told| {
                        let waits = !matches!(told, Told::Answered(_));
                        *told = if waits { Told::Silent } else { told.clone() };
                        waits
                    });
                    // Read to its end, or given up.
                    if self.inner.given.is_some() {
                        return Err(Broken);
                    }
                    if *self.inner.fate.borrow() == Fate::Open && !stand.deserted {
                        self.inner.fate.send_replace(Fate::Reset);
                    }
                }
            }
        }
        Ok(())
    }

    /// NORM of the other end.
    fn hear(&mut self, norp: &Norp, stand: &mut Stand, buffer: &mut Vec<u8>) {
        for _ in 0..BATCH {
            buffer.clear();
            match self.socket.try_recv_buf_from(buffer) {
                Ok((_, from)) if from.ip() == self.peer.ip() => {
                    stand.heard = Instant::now();
                    if Streams::is_senders(buffer) {
                        stand.deaf = None;
                    } else {
                        // Its receiver has heard us: from now on its socket hears nobody else.
                        self.turn = None;
                    }
                    if Streams::shows_that_norp_reads(buffer) {
                        stand.first = None;
                        stand.reads = true;
                    }
                    let now = norp.clock().now();
                    self.streams.on_datagram(now, from, None, Duration::ZERO, buffer);
                }
                // Of another machine, or an error of an earlier datagram.
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(_) => {}
            }
        }
    }

    /// norp has ended its direction, so it has closed its connection: nothing that we say of NORM is of
    /// use. And it does harm: once norp has forgotten the session, it takes that for the next one's.
    fn end_with_norp(&mut self, now: Time, stand: &mut Stand) {
        (stand.norm, stand.deserted) = (None, true);
        (stand.deaf, stand.first) = (None, None);
        self.signalling.end(now);
    }

    /// What was read goes to the application.
    fn give(&mut self, now: Time, stand: &mut Stand) -> Result<(), Broken> {
        while let Some(given) = &self.inner.given {
            let bytes = match stand.held.take() {
                Some(bytes) => bytes,
                None => match self.streams.read(now)? {
                    Got::Bytes(bytes) => bytes,
                    Got::Nothing => return Ok(()),
                    Got::End => {
                        self.inner.given = None;
                        if stand.norp {
                            self.end_with_norp(now, stand);
                        }
                        return Ok(());
                    }
                },
            };
            match given.try_send(bytes) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(bytes)) => {
                    stand.held = Some(bytes);
                    return Ok(());
                }
                Err(mpsc::error::TrySendError::Closed(_)) => return Err(Broken),
            }
        }
        Ok(())
    }

    fn send(&mut self, now: Time, stand: &mut Stand, buffer: &mut Vec<u8>) {
        let Some(norm) = stand.norm else { return };
        for _ in 0..BATCH {
            buffer.clear();
            let Some(transmit) = self.streams.poll_transmit(now, buffer) else { return };
            let to = match transmit.destination {
                Destination::Group => norm,
                Destination::Peer(address) => address,
            };
            // What the socket does not take is lost, as on the way.
            let _ = self.socket.try_send_to(buffer, to);
            if stand.norp && !stand.reads && stand.first.is_none() && Streams::is_data(buffer) {
                let next = Instant::now() + FIRST_AGAIN;
                stand.first = Some(First { datagram: buffer.clone(), next, left: FIRST_TIMES });
            }
        }
    }

    /// Says the first symbol once more, if it is due.
    fn say_first(&self, stand: &mut Stand) {
        let (Some(first), Some(norm)) = (&mut stand.first, stand.norm) else { return };
        if Instant::now() >= first.next {
            let _ = self.socket.try_send_to(&first.datagram, norm);
            (first.next, first.left) = (first.next + FIRST_AGAIN, first.left - 1);
        }
        if first.left == 0 {
            (stand.first, stand.reads) = (None, true);
        }
    }

    async fn wait(&mut self, norp: &Norp, stand: &mut Stand) -> Woken {
        let clock = norp.clock();
        let now = clock.now();
        // What NORM would say is not sent when there is nobody to say it to.
        let streams = self.streams.next_timeout().filter(|_| stand.norm.is_some());
        let next = self.signalling.next_timeout().into_iter().chain(streams).min();
        let next = next.map_or_else(|| Instant::now() + PERSIST, |at| clock.instant(at.max(now)));
        let first = stand.first.as_ref().map(|first| first.next);
        let next = stand.deaf.into_iter().chain(first).fold(next, Ord::min);
        // Without an answer there is nobody yet who writes.
        let reads = stand.piece.is_none() && !stand.finished && self.answer.is_none();
        let room = self.inner.given.as_ref().filter(|_| stand.held.is_some());
        let room = async {
            match room {
                Some(given) => drop(given.reserve().await),
                None => std::future::pending().await,
            }
        };
        let answer = async {
            match &mut self.answer {
                Some(answer) => answer.await.ok(),
                None => std::future::pending().await,
            }
        };
        let woken = tokio::select! {
            Some((message, from)) = self.inbox.recv() => {
                self.peer = from;
                Woken::Mail(message)
            }
            _ = self.socket.readable() => Woken::Else,
            piece = self.inner.written.recv(), if reads => Woken::Piece(piece),
            () = room => Woken::Else,
            reply = answer => {
                let refusal = || request::reply(Code::General, None);
                Woken::Answer(reply.unwrap_or_else(refusal))
            }
            () = self.inner.reset.notified() => Woken::Reset,
            () = sleep_until(next.into()) => Woken::Else,
        };
        if matches!(woken, Woken::Answer(_)) {
            self.answer = None;
        }
        woken
    }
}
