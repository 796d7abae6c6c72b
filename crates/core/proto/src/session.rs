//! A node's part in one group. It passes datagrams to the sender and the receiver, and asks them in
//! turn what to send.
//!
//! This file only dispatches. Every protocol rule is in a machine of `sender` or `receiver`.

use crate::{
    config::{FeedbackPath, SessionConfig},
    context::context,
    datagram::{Destination, RecvMeta, Transmit},
    event::{Event, EventQueue},
    id_conflict::IdConflicts,
    receiver::RemoteSenders,
    rng::Rng,
    sender::Sender,
    stats::{DropReason, Stats},
    storage::Storage,
    stray_sources::StraySources,
    time::{Duration, Time},
    timer::Timer,
};
use alloc::vec::Vec;
use core::net::SocketAddr;
use fanfare_wire::{AckKind, Data, DataBatch, Message, NodeId};

/// Longest batch of one [`Transmit`]: what fits in one UDP datagram, and so in one GSO call.
const BATCH_BYTES: usize = 65_000;

/// One node's part in one group.
#[derive(Debug)]
pub struct Session {
    pub(crate) node_id: NodeId,
    pub(crate) feedback: FeedbackPath,
    pub(crate) unicast: bool,
    /// What this node sends is heard by its own receiver, too.
    pub(crate) hears_itself: bool,
    pub(crate) now: Time,
    pub(crate) rng: Rng,
    pub(crate) sender: Option<Sender>,
    pub(crate) receiver: Option<RemoteSenders>,
    pub(crate) events: EventQueue,
    pub(crate) stats: Stats,
    id_conflicts: IdConflicts,
    strays: StraySources,
    /// A message that did not fit into the batch before.
    stash: Vec<u8>,
}

impl Session {
    /// Begins a session at `now`; `seed` seeds its random numbers.
    #[must_use]
    pub fn new(config: SessionConfig, seed: u64, now: Time) -> Self {
        let mut rng = Rng::new(seed);
        let SessionConfig { node_id, feedback, unicast, sender, receiver, events_max } = config;
        let sender = sender.map(|s| Sender::new(node_id, unicast, s, now, &mut rng));
        let receiver = receiver.map(|r| RemoteSenders::new(node_id, feedback, unicast, r));
        Self {
            node_id,
            feedback,
            unicast,
            hears_itself: false,
            now,
            rng,
            sender,
            receiver,
            events: EventQueue::new(events_max),
            stats: Stats::default(),
            id_conflicts: IdConflicts::default(),
            strays: StraySources::default(),
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
        self.hear(&meta, datagram, storage);
    }

    /// Datagrams that came together from one source: of `size` bytes each, the last one perhaps
    /// shorter. They do what each of them alone would do, for less.
    pub fn handle_datagrams(
        &mut self,
        now: Time,
        meta: RecvMeta,
        datagrams: &[u8],
        size: usize,
        storage: &mut dyn Storage,
    ) {
        self.advance(now);
        let mut rest = datagrams;
        loop {
            let first = &rest[..size.min(rest.len())];
            let heard = self.hear(&meta, first, storage);
            let taken = match heard {
                Some(Message::Data(data)) if rest.len() > first.len() => {
                    self.hear_batch(&meta, &data, DataBatch::behind(&data, rest, size), storage)
                }
                _ => 0,
            };
            rest = &rest[first.len() + taken * size..];
            if rest.is_empty() {
                return;
            }
        }
    }

    fn hear<'d>(
        &mut self,
        meta: &RecvMeta,
        datagram: &'d [u8],
        storage: &mut dyn Storage,
    ) -> Option<Message<'d>> {
        self.count_received(1, datagram.len());
        if !self.strays.admits(self.now, meta.source) {
            self.stats.drop(DropReason::Flood);
            return None;
        }
        let message = match Message::parse(datagram) {
            Ok(message) => message,
            Err(error) => {
                self.stats.malformed(error);
                self.strays.on_read(self.now, meta.source, false);
                return None;
            }
        };
        if message.source_id() == self.node_id && !self.hears_itself {
            self.hear_own_id(meta, &message);
            self.stats.drop(DropReason::Own);
            return None;
        }
        let before = self.stats.of_no_use();
        self.dispatch(meta, &message, datagram.len(), storage);
        let useful = self.stats.of_no_use() == before;
        self.strays.on_read(self.now, meta.source, useful);
        Some(message)
    }

    /// What follows `head`, which was heard. Returns how much of it is done with.
    fn hear_batch(
        &mut self,
        meta: &RecvMeta,
        head: &Data<'_>,
        row: DataBatch<'_>,
        storage: &mut dyn Storage,
    ) -> usize {
        let mut ctx = context!(self, storage);
        let receiver = self.receiver.as_mut();
        let taken = receiver.map_or(0, |receiver| receiver.on_batch(&mut ctx, meta, head, row));
        self.count_received(taken, taken * row.datagram_size());
        taken
    }

    fn count_received(&mut self, datagrams: usize, bytes: usize) {
        self.stats.datagrams_received += datagrams as u64;
        self.stats.bytes_received += bytes as u64;
    }

    fn hear_own_id(&mut self, meta: &RecvMeta, message: &Message<'_>) {
        let acknowledged =
            matches!(message, Message::Ack(ack) if matches!(ack.kind, AckKind::Flush(_)));
        if self.id_conflicts.hear(meta.source, acknowledged) {
            self.events.push(Event::NodeIdTaken { source: meta.source, acknowledged });
        }
    }

    /// Where this node's datagrams come from, as others see it: its id at another address is then
    /// told as [`Event::NodeIdTaken`].
    pub fn set_address(&mut self, own: SocketAddr) {
        self.id_conflicts.set_address(own);
    }

    /// Messages go by other ways from now on. What was measured of paths so far, as how near the others
    /// are, says nothing of these.
    pub fn measure_anew(&mut self) {
        if let Some(sender) = &mut self.sender {
            sender.measure_anew();
        }
        if let Some(receiver) = &mut self.receiver {
            receiver.measure_anew();
        }
    }

    /// Takes another id; false for a sender, whose id is part of what it has sent. Senders know a
    /// receiver by its id: one that has acknowledged something had better keep it.
    pub fn set_node_id(&mut self, node_id: NodeId) -> bool {
        if self.sender.is_some() {
            return false;
        }
        self.node_id = node_id;
        self.id_conflicts.clear();
        if let Some(receiver) = &mut self.receiver {
            receiver.set_node_id(node_id);
        }
        true
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
            ecn: self.sender.as_ref().and_then(Sender::ecn),
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
        sender.begin_batch();
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
            let room = (max - count).min(BATCH_BYTES.saturating_sub(buf.len()) / segment_size);
            let mut ctx = context!(self, storage);
            count += sender.poll_batch(&mut ctx, start, room, buf);
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

    /// When a message of the driver's own may go in the place of one of the sender's, so that both together keep
    /// to its rate.
    #[must_use]
    pub fn next_turn(&self) -> Time {
        self.sender.as_ref().map_or(Time::FAR_FUTURE, Sender::next_own)
    }

    /// How long the sender gathers requests before it answers them.
    #[must_use]
    pub fn gathering(&self) -> Duration {
        self.sender.as_ref().map_or(Duration::ZERO, Sender::gathering)
    }

    /// Counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut stats = self.stats;
        stats.events_dropped = self.events.dropped;
        stats
    }

    /// This node's id.
    #[must_use]
    pub fn node_id(&self) -> NodeId {
        self.node_id
    }

    /// A late clock counts as the last one seen.
    pub(crate) fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
    }
}
