//! A node's part in one group: who gets a datagram, who speaks next.
//!
//! Dispatch only: every protocol rule lives in a machine of [`crate::sender`] or
//! [`crate::receiver`].

use crate::{
    config::SessionConfig,
    context::Context,
    event::{Event, EventQueue},
    rate::Bitrate,
    receiver::RemoteSenders,
    rng::Rng,
    sender::Sender,
    stats::{DropReason, Stats},
    storage::{ObjectKey, ObjectKind, Storage},
    time::{Duration, Time},
};
use alloc::vec::Vec;
use core::net::SocketAddr;
use fanfare_wire::{Message, NodeId, ObjectTransportId};

/// Longest batch of one [`Transmit`]: what fits in one UDP datagram, and so in one GSO call.
const BATCH_BYTES: usize = 65_000;

/// Explicit congestion notification mark (RFC 3168).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
    /// Congestion experienced.
    Ce,
}

/// What the driver knows of a received datagram besides its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecvMeta {
    /// Where it came from.
    pub source: SocketAddr,
    /// Its ECN mark.
    pub ecn: Option<Ecn>,
    /// It was sent to this node alone, not to the group.
    pub unicast: bool,
}

/// Where a batch goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// The session's group (or the one receiver of a unicast session).
    Group,
    /// One node, at the address its datagrams come from.
    Peer(SocketAddr),
}

/// One or more datagrams in the caller's buffer, ready for one system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Transmit {
    /// Where to.
    pub destination: Destination,
    /// Bytes of each datagram but the last, which may be shorter.
    pub segment_size: usize,
    /// Mark to send with.
    pub ecn: Option<Ecn>,
}

/// Why a session wants to be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The next message may go.
    Pace,
    /// Repair requests have been collected long enough.
    RepairAggregate,
    /// Repair requests count again.
    RepairHoldoff,
    /// The next CMD(FLUSH), or the next request for acknowledgement.
    Flush,
    /// The next CMD(CC).
    Probe,
    /// The next roll call.
    RollCall,
    /// An object leaves the cache.
    Cache,
    /// A NACK may be due.
    NackBackoff,
    /// NACKing may begin again.
    NackHoldoff,
    /// A sender has been silent.
    Inactivity,
    /// An acknowledgement or status is due.
    AckBackoff,
    /// Congestion control feedback is due.
    CcFeedback,
}

/// An object to be sent.
#[derive(Debug, Clone)]
pub struct NewObject {
    /// What kind.
    pub kind: ObjectKind,
    /// Bytes; zero is legal.
    pub size: u64,
    /// NORM_INFO; at most one segment. `None` sends no INFO.
    pub info: Option<Vec<u8>>,
}

/// Why an object was not taken.
#[allow(missing_docs, reason = "each variant's doc names its fields")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnqueueError {
    /// The session does not send.
    NotASender,
    /// The object needs more than 48 bits of size, or more blocks than can be numbered.
    TooLarge { size: u64, max: u64 },
    /// INFO is longer than a segment.
    InfoTooLong { bytes: usize, max: usize },
    /// The cache is full of objects that are still being sent or repaired. Try again after an
    /// [`Event::ObjectPurged`].
    CacheFull { objects: usize },
}

impl core::fmt::Display for EnqueueError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NotASender => write!(f, "this session has no sender"),
            Self::TooLarge { size, max } => write!(f, "object of {size} bytes, at most {max} fit"),
            Self::InfoTooLong { bytes, max } => {
                write!(f, "info of {bytes} bytes, one segment holds {max}")
            }
            Self::CacheFull { objects } => write!(f, "{objects} objects are still in transit"),
        }
    }
}

impl core::error::Error for EnqueueError {}

/// One node's part in one group.
#[derive(Debug)]
pub struct Session {
    node_id: NodeId,
    now: Time,
    rng: Rng,
    sender: Option<Sender>,
    receiver: Option<RemoteSenders>,
    events: EventQueue,
    stats: Stats,
    /// A message that did not fit into the batch before.
    stash: Vec<u8>,
}

macro_rules! context {
    ($session:ident, $storage:ident) => {
        Context {
            now: $session.now,
            rng: &mut $session.rng,
            storage: $storage,
            events: &mut $session.events,
            stats: &mut $session.stats,
        }
    };
}

impl Session {
    /// Begins a session at `now`; all its chance comes from `seed`.
    #[must_use]
    pub fn new(config: SessionConfig, seed: u64, now: Time) -> Self {
        let mut rng = Rng::new(seed);
        let SessionConfig { node_id, feedback, unicast, sender, receiver, events_max } = config;
        let sender = sender.map(|s| Sender::new(node_id, unicast, s, now, &mut rng));
        let receiver = receiver.map(|r| RemoteSenders::new(node_id, feedback, unicast, r));
        Self {
            node_id,
            now,
            rng,
            sender,
            receiver,
            events: EventQueue::new(events_max),
            stats: Stats::default(),
            stash: Vec::new(),
        }
    }

    /// A datagram arrived.
    pub fn handle_datagram(
        &mut self,
        now: Time,
        meta: RecvMeta,
        datagram: &[u8],
        storage: &mut dyn Storage,
    ) {
        self.advance(now);
        self.stats.datagrams_received += 1;
        self.stats.bytes_received += datagram.len() as u64;
        let message = match Message::parse(datagram) {
            Ok(message) => message,
            Err(error) => return self.stats.malformed(error),
        };
        if message.source_id() == self.node_id {
            return self.stats.drop(DropReason::Own);
        }
        self.dispatch(&meta, &message, datagram.len(), storage);
    }

    fn dispatch(
        &mut self,
        meta: &RecvMeta,
        message: &Message<'_>,
        bytes: usize,
        storage: &mut dyn Storage,
    ) {
        let mut ctx = context!(self, storage);
        match message {
            Message::Info(_) | Message::Data(_) | Message::Cmd(_) => match &mut self.receiver {
                Some(receiver) => receiver.on_sender_message(&mut ctx, meta, message, bytes),
                None => ctx.stats.drop(DropReason::NoRole),
            },
            Message::Nack(nack) => {
                if nack.feedback.server_id != self.node_id {
                    if let Some(receiver) = &mut self.receiver {
                        receiver.on_overheard_nack(&mut ctx, nack);
                    }
                } else if let Some(sender) = &mut self.sender {
                    sender.on_nack(&mut ctx, meta, nack);
                }
            }
            Message::Ack(ack) => {
                if ack.feedback.server_id != self.node_id {
                    if let Some(receiver) = &mut self.receiver {
                        receiver.on_overheard_ack(&mut ctx, ack);
                    }
                } else if let Some(sender) = &mut self.sender {
                    sender.on_ack(&mut ctx, meta, ack);
                }
            }
            Message::Report(_) => ctx.stats.drop(DropReason::NoRole),
        }
    }

    /// The time that [`Self::poll_timeout`] named has come. Calling it early or late does no harm.
    pub fn handle_timeout(&mut self, now: Time, storage: &mut dyn Storage) {
        self.advance(now);
        let mut ctx = context!(self, storage);
        if let Some(receiver) = &mut self.receiver {
            receiver.on_timeout(&mut ctx);
        }
        if let Some(sender) = &mut self.sender {
            sender.on_timeout(&mut ctx);
        }
    }

    /// Fills `buf` (cleared first) with up to `max_datagrams` datagrams that may go now.
    pub fn poll_transmit(
        &mut self,
        now: Time,
        max_datagrams: usize,
        buf: &mut Vec<u8>,
        storage: &mut dyn Storage,
    ) -> Option<Transmit> {
        self.advance(now);
        buf.clear();
        if let Some(destination) = self.poll_feedback(buf, storage) {
            self.count_sent(1, buf.len());
            return Some(Transmit { destination, segment_size: buf.len(), ecn: None });
        }
        let (segment_size, datagrams) = self.fill_batch(max_datagrams.max(1), buf, storage);
        self.count_sent(datagrams, buf.len());
        (datagrams > 0).then_some(Transmit {
            destination: Destination::Group,
            segment_size,
            ecn: None,
        })
    }

    fn poll_feedback(
        &mut self,
        buf: &mut Vec<u8>,
        storage: &mut dyn Storage,
    ) -> Option<Destination> {
        let mut ctx = context!(self, storage);
        self.receiver.as_mut()?.poll_message(&mut ctx, buf)
    }

    /// Gathers sender messages of one size; a shorter one closes the batch, a longer one waits.
    fn fill_batch(
        &mut self,
        max: usize,
        buf: &mut Vec<u8>,
        storage: &mut dyn Storage,
    ) -> (usize, usize) {
        let Some(sender) = &mut self.sender else { return (0, 0) };
        buf.append(&mut self.stash);
        let (mut segment_size, mut count) = (buf.len(), usize::from(!buf.is_empty()));
        while count < max && buf.len() + segment_size <= BATCH_BYTES {
            let start = buf.len();
            let mut ctx = context!(self, storage);
            if !sender.poll_message(&mut ctx, buf) {
                break;
            }
            let bytes = buf.len() - start;
            if count == 0 {
                segment_size = bytes;
            } else if bytes > segment_size {
                self.stash.extend_from_slice(&buf[start..]);
                buf.truncate(start);
                break;
            }
            count += 1;
            if bytes < segment_size {
                break;
            }
        }
        (segment_size, count)
    }

    fn count_sent(&mut self, datagrams: usize, bytes: usize) {
        self.stats.datagrams_sent += datagrams as u64;
        self.stats.bytes_sent += bytes as u64;
    }

    /// The next thing the driver should know.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// When to call [`Self::handle_timeout`] (and [`Self::poll_transmit`]) next, and why.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Time, Timer)> {
        let stash = (!self.stash.is_empty()).then_some((self.now, Timer::Pace));
        let sender = self.sender.as_ref().and_then(Sender::next_timeout);
        let receiver = self.receiver.as_ref().and_then(RemoteSenders::next_timeout);
        [stash, sender, receiver].into_iter().flatten().min()
    }

    /// Counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats { events_dropped: self.events.dropped, ..self.stats }
    }

    /// This node's id.
    #[must_use]
    pub fn node_id(&self) -> NodeId {
        self.node_id
    }

    /// Commands to the sending side.
    pub fn sender(&mut self) -> SenderHandle<'_> {
        SenderHandle { session: self }
    }

    /// Commands to the receiving side.
    pub fn receiver(&mut self) -> ReceiverHandle<'_> {
        ReceiverHandle { session: self }
    }

    /// A late clock counts as the last one seen.
    fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
    }
}

/// Commands to the sending side. All are without effect in a session that does not send.
#[derive(Debug)]
pub struct SenderHandle<'a> {
    session: &'a mut Session,
}

impl SenderHandle<'_> {
    fn with<R>(&mut self, run: impl FnOnce(&mut Sender, Time) -> R) -> Option<R> {
        let now = self.session.now;
        self.session.sender.as_mut().map(|sender| run(sender, now))
    }

    /// Takes an object for sending. Its bytes must be readable under the returned key, through the
    /// storage, from now until [`Event::ObjectPurged`].
    pub fn enqueue(&mut self, now: Time, object: NewObject) -> Result<ObjectKey, EnqueueError> {
        self.session.advance(now);
        let (now, session) = (self.session.now, &mut *self.session);
        let sender = session.sender.as_mut().ok_or(EnqueueError::NotASender)?;
        sender.enqueue(now, object, &mut session.events)
    }

    /// Sends an object that is still cached once more, from its start (carousel). False when it is
    /// no longer there.
    pub fn requeue(&mut self, object: ObjectTransportId) -> bool {
        self.with(|s, now| s.requeue(now, object)).unwrap_or(false)
    }

    /// Withdraws an object: no more of it is sent, NACKs for it are answered with SQUELCH.
    pub fn cancel(&mut self, object: ObjectTransportId) -> bool {
        let (now, session) = (self.session.now, &mut *self.session);
        session.sender.as_mut().is_some_and(|s| s.cancel(now, object, &mut session.events))
    }

    /// Asks `nodes` to acknowledge everything up to the end of the last object enqueued so far, once
    /// it has been sent. Replaces a watermark under way. Answers come as events.
    pub fn set_watermark(&mut self, nodes: &[NodeId]) {
        self.with(|s, now| s.set_watermark(now, nodes));
    }

    /// Asks one more node to acknowledge the present watermark (or the next one).
    pub fn add_acking_node(&mut self, node: NodeId) {
        self.with(|s, now| s.add_acking_node(now, node));
    }

    /// No longer asks `node`.
    pub fn remove_acking_node(&mut self, node: NodeId) {
        self.with(|s, now| s.remove_acking_node(now, node));
    }

    /// Calls the roll: every `interval`, CMD(APPLICATION) with `content` asks all receivers of ours
    /// that are not yet known to answer with their status. `None` stops. Receivers that have
    /// answered are named in the call, so that they keep silent.
    pub fn set_roll_call(&mut self, call: Option<(Vec<u8>, Duration)>) {
        self.with(|s, now| s.set_roll_call(now, call));
    }

    /// Sets the rate (a cap, for controllers with a mind of their own).
    pub fn set_rate(&mut self, rate: Bitrate) {
        self.with(|s, now| s.set_rate(now, rate));
    }

    /// The rate at present.
    #[must_use]
    pub fn rate(&self) -> Bitrate {
        self.session.sender.as_ref().map(Sender::rate).unwrap_or_default()
    }

    /// The GRTT at present, as advertised.
    #[must_use]
    pub fn grtt(&self) -> Duration {
        self.session.sender.as_ref().map(Sender::grtt).unwrap_or_default()
    }

    /// Holds data back (probes and roll calls still go), or lets it go.
    pub fn hold(&mut self, hold: bool) {
        self.with(|s, now| s.hold(now, hold));
    }

    /// Says good-bye: CMD(EOT), a few times. Nothing else is sent afterwards.
    pub fn end(&mut self) {
        self.with(Sender::end);
    }

    /// Whether all that was enqueued has been sent, repaired as asked, flushed, and said good-bye.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.session.sender.as_ref().is_none_or(Sender::is_idle)
    }

    /// Source bytes of the first pass sent so far, over all objects.
    #[must_use]
    pub fn progress(&self) -> u64 {
        self.session.sender.as_ref().map_or(0, Sender::progress)
    }

    /// What is known of each receiver heard so far.
    #[must_use]
    pub fn receivers(&self) -> Vec<ReceiverReport> {
        self.session.sender.as_ref().map(Sender::receivers).unwrap_or_default()
    }
}

/// What a sender knows of one receiver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReceiverReport {
    /// Who.
    pub node: NodeId,
    /// Where its feedback comes from.
    pub source: SocketAddr,
    /// Its RTT, once measured.
    pub rtt: Option<Duration>,
    /// Loss event fraction it reported last.
    pub loss: f64,
    /// NACKs heard from it.
    pub nacks: u64,
    /// When it was last heard.
    pub heard: Time,
}

/// Commands to the receiving side. All are without effect in a session that does not receive.
#[derive(Debug)]
pub struct ReceiverHandle<'a> {
    session: &'a mut Session,
}

impl ReceiverHandle<'_> {
    /// With [`crate::AckPolicy::Confirmed`]: the driver holds this object, verified, for good.
    /// Watermarks may now be acknowledged past it.
    pub fn confirm(&mut self, key: ObjectKey) {
        if let Some(receiver) = &mut self.session.receiver {
            receiver.confirm(key);
        }
    }

    /// Bytes to carry in every acknowledgement of a watermark to `sender` (NRL's APP_ACK), at most
    /// 960; a longer content is refused with false.
    pub fn set_ack_content(&mut self, sender: NodeId, content: Vec<u8>) -> bool {
        self.session.receiver.as_mut().is_some_and(|r| r.set_ack_content(sender, content))
    }

    /// What to answer when the roll is called, at most 960 bytes. Also sent once now, to every
    /// sender in view, when `announce` is set: for news that cannot wait, such as a failure.
    pub fn set_status(&mut self, status: Vec<u8>, announce: bool) -> bool {
        let session = &mut *self.session;
        let (now, rng) = (session.now, &mut session.rng);
        session.receiver.as_mut().is_some_and(|r| r.set_status(now, rng, status, announce))
    }

    /// Gives an object up: no more of it is asked for, storage is closed.
    pub fn cancel(&mut self, key: ObjectKey, storage: &mut dyn Storage) {
        let session = &mut *self.session;
        let mut ctx = context!(session, storage);
        if let Some(receiver) = &mut session.receiver {
            receiver.cancel(&mut ctx, key);
        }
    }

    /// Bytes of `key` received or recovered so far.
    #[must_use]
    pub fn progress(&self, key: ObjectKey) -> Option<u64> {
        self.session.receiver.as_ref().and_then(|r| r.progress(key))
    }

    /// Loss event fraction seen from `sender`.
    #[must_use]
    pub fn loss(&self, sender: NodeId) -> Option<f64> {
        self.session.receiver.as_ref().and_then(|r| r.loss(sender))
    }
}
