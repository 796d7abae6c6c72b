//! What the driver drives of a stream that is received.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use blake3::Hasher;
use fanfare_proto::{
    AbortReason, Event, ObjectKey, ObjectKind, RecvMeta, Session, StreamRead, Time, Transmit,
};
use fanfare_udp::Endpoint;

use super::{
    delivery::{Delivery, Item},
    framing::Framing,
    options::ReceiveOptions,
    receipt::{self, Announcement, Receipt},
    report::{ReceiveReport, StreamEvent},
    rings::Rings,
};
use crate::{
    engine::{Engine, SocketReport},
    outbox::Outbox as Events,
};

/// Bytes that are read of the stream at once.
const CHUNK: usize = 256 << 10;
/// A sender that has been told everything says good-bye within this time of its last word, or does not
/// say it at all, as NRL's.
const LINGER: Duration = Duration::from_secs(3);

/// So long to say that nothing more is read.
const LEAVE: Duration = Duration::from_millis(300);
/// Number of times that it is said meanwhile: one message may be lost, and a sender of a lossless stream waits for
/// who has gone without a word.
const LEAVE_SAID: u32 = 3;

type Outbox = Events<StreamEvent>;

/// The engine.
#[derive(Debug)]
pub(super) struct Receiving {
    session: Session,
    rings: Rings,
    delivery: Arc<Delivery>,
    /// Name by which senders know it.
    name: String,
    key: Option<ObjectKey>,
    /// There may be something to be read.
    readable: bool,
    /// A gap holds something back since then; longest that it may.
    held_since: Option<Time>,
    lifetime: Option<Duration>,
    /// What is here behind a gap is handed over, too.
    unordered: bool,
    hasher: Option<Hasher>,
    /// Position of the first byte read.
    first: Option<u64>,
    lost: u64,
    length: Option<u64>,
    receipt: Option<Receipt>,
    /// Something was heard last.
    heard: Time,
    /// The sender was told.
    told: Option<Time>,
    sender_gone: bool,
    /// The sender is told that nothing more is read.
    leaving: Option<Time>,
    leave_said: Option<Time>,
    stopped: bool,
}

impl Receiving {
    pub(super) fn new(
        session: Session,
        rings: Rings,
        delivery: Arc<Delivery>,
        options: &ReceiveOptions,
    ) -> Self {
        Self {
            session,
            rings,
            delivery,
            name: options.name.clone(),
            key: None,
            readable: false,
            held_since: None,
            lifetime: options.lifetime,
            unordered: options.unordered,
            hasher: options.hash.then(Hasher::new),
            first: None,
            lost: 0,
            length: None,
            receipt: None,
            heard: Time::ZERO,
            told: None,
            sender_gone: false,
            leaving: None,
            leave_said: None,
            stopped: false,
        }
    }

    fn on_event(&mut self, event: Event, outbox: &mut Outbox) {
        match event {
            Event::ObjectNew { key, kind: ObjectKind::Stream, has_info, .. } => match self.key {
                None => {
                    self.key = Some(key);
                    if !has_info {
                        self.delivery.push(Item::Framing(Framing::Raw));
                    }
                    self.readable = true;
                    self.say_taken(key);
                    outbox.push(StreamEvent::Begun { sender: key.sender, source: None });
                }
                Some(ours) if ours == key => {}
                // It receives one stream; the sender of another may count on it.
                Some(ours) => {
                    self.session.receiver().cancel(key, &mut self.rings);
                    self.say_taken(ours);
                }
            },
            Event::ObjectInfo { key, info } if self.key == Some(key) => {
                let said = Announcement::decode(&info);
                self.lifetime = self.lifetime.or(said.as_ref().and_then(|said| said.lifetime()));
                let framing = said.as_ref().and_then(|said| said.framing());
                self.delivery.push(Item::Framing(framing.unwrap_or(Framing::Raw)));
            }
            Event::StreamReadable { key } if self.key == Some(key) => self.readable = true,
            Event::ObjectAborted { key, reason } if self.key == Some(key) => {
                self.delivery.push(Item::Broken(why(reason).to_owned()));
            }
            Event::SenderEnded { sender } if self.key.is_some_and(|key| key.sender == sender) => {
                self.sender_gone = true;
            }
            _ => {}
        }
    }

    /// Hands over what is here, as far as there is room.
    fn pump(&mut self, now: Time) {
        let Some(key) = self.key else { return };
        while self.readable && self.length.is_none() && self.delivery.has_room() {
            let mut bytes = Vec::new();
            let mut receiver = self.session.receiver();
            match receiver.read_stream(now, key, CHUNK, &mut self.rings, &mut bytes) {
                StreamRead::Data { offset, msg_start, .. } => {
                    self.first.get_or_insert(offset);
                    self.held_since = None;
                    if let Some(hasher) = &mut self.hasher {
                        hasher.update(&bytes);
                    }
                    self.delivery.push(Item::Bytes { bytes, offset, msg_start });
                }
                StreamRead::Gap { from, to } => {
                    self.lost += to - from;
                    self.delivery.push(Item::Gap { from, to });
                }
                StreamRead::Empty => self.wait_for_gap(now, key),
                StreamRead::End { offset } => {
                    self.length = Some(offset);
                    self.delivery.push(Item::End { length: offset });
                }
                StreamRead::Gone => self.readable = false,
            }
        }
        if self.unordered {
            self.pump_early(now, key);
        }
    }

    /// Hands over what is here behind a gap, as far as there is room.
    fn pump_early(&mut self, now: Time, key: ObjectKey) {
        while self.length.is_none() && self.delivery.has_room() {
            let mut bytes = Vec::new();
            let mut receiver = self.session.receiver();
            let read = receiver.read_stream_early(now, key, CHUNK, &mut self.rings, &mut bytes);
            let StreamRead::Data { offset, msg_start, .. } = read else { return };
            if !bytes.is_empty() {
                self.delivery.push(Item::Early { bytes, offset, msg_start });
            }
        }
    }

    /// Nothing more can be read. What is missing is not waited for longer than its lifetime.
    fn wait_for_gap(&mut self, now: Time, key: ObjectKey) {
        self.readable = false;
        let Some(lifetime) = self.lifetime else { return };
        let since = *self.held_since.get_or_insert(now);
        if since + lifetime <= now {
            self.held_since = None;
            self.readable = self.session.receiver().skip_stream_gap(key);
        }
    }

    fn receipt(&self, length: u64) -> Receipt {
        let hash = self.hasher.as_ref().map_or([0; 32], |hasher| *hasher.finalize().as_bytes());
        Receipt { first: self.first.unwrap_or(0), length, lost: self.lost, hash }
    }

    /// The application reads no further: the sender is told, so that it does not wait.
    fn leave(&mut self, now: Time) {
        if !self.delivery.is_closed() || self.told.is_some() {
            return;
        }
        let at = *self.leaving.get_or_insert(now);
        // Also before the stream has begun: its sender may know this receiver by the roll call.
        if self.leave_said.is_none_or(|said| said + LEAVE / LEAVE_SAID <= now) {
            self.leave_said = Some(now);
            self.session.receiver().set_status(receipt::LEAVING.to_vec(), true);
        }
        self.stopped |= at + LEAVE <= now;
    }

    /// Senders are told whose stream this is, unless they are told that it leaves: a stream that is heard of
    /// later than that changes nothing.
    fn say_taken(&mut self, key: ObjectKey) {
        if self.leaving.is_none() {
            let taken = receipt::taken_status(key.sender, &self.name);
            self.session.receiver().set_status(taken, true);
        }
    }

    /// The application has kept everything: the sender is told.
    fn tell(&mut self, now: Time) {
        let (Some(key), Some(length), None) = (self.key, self.length, self.told) else { return };
        if !self.delivery.is_finished() {
            return;
        }
        let receipt = self.receipt(length);
        self.receipt = Some(receipt);
        let mut receiver = self.session.receiver();
        receiver.set_ack_content(key.incarnation(), receipt.encode());
        receiver.finish_stream(now, key, &mut self.rings);
        self.told = Some(now);
    }

    /// When the sender is not waited for any longer.
    fn lingers_until(&self, told: Time) -> Time {
        self.heard.max(told) + LINGER
    }
}

fn why(reason: AbortReason) -> &'static str {
    match reason {
        AbortReason::SenderGone => "its sender has left",
        AbortReason::Squelched => "its sender no longer has it",
        AbortReason::Storage(_) => "it needs more memory than there is for it",
        AbortReason::Window => "its sender has gone on to others",
        AbortReason::Unsent => "it was not its sender's",
        AbortReason::Cancelled => "it was given up",
    }
}

impl Engine for Receiving {
    type Command = ();
    type Event = StreamEvent;
    type Report = ReceiveReport;

    fn handle_datagrams(&mut self, now: Time, meta: RecvMeta, run: &[u8], stride: usize) {
        self.session.handle_datagrams(now, meta, run, stride, &mut self.rings);
    }

    fn on_heard(&mut self, now: Time) -> bool {
        self.heard = now;
        true
    }

    fn set_overruns(&mut self, overruns: u64) {
        self.session.receiver().set_overruns(overruns);
    }

    fn set_behind(&mut self, behind: Duration) {
        self.session.receiver().set_behind(behind);
    }

    fn set_address(&mut self, address: SocketAddr) {
        self.session.set_address(address);
    }

    fn obey(&mut self, _: Time, (): ()) {}

    fn stop(&mut self, _: Time, _: &mut Endpoint) {
        self.stopped = true;
    }

    fn handle_timeout(&mut self, now: Time) {
        self.session.handle_timeout(now, &mut self.rings);
        if let Some((since, lifetime)) = self.held_since.zip(self.lifetime) {
            self.readable |= since + lifetime <= now;
        }
    }

    fn react(&mut self, now: Time, _: &mut Endpoint, outbox: &mut Outbox) {
        while let Some(event) = self.session.poll_event() {
            self.on_event(event, outbox);
        }
        self.pump(now);
        self.tell(now);
        self.leave(now);
        if let Some(told) = self.told {
            self.stopped |= self.sender_gone || self.lingers_until(told) <= now;
        }
    }

    fn poll_transmit(&mut self, now: Time, max: usize, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.session.poll_transmit(now, max, buf, &mut self.rings)
    }

    fn next_timeout(&self) -> Option<Time> {
        let session = self.session.poll_timeout().map(|(at, _)| at);
        let gap = self.held_since.zip(self.lifetime).map(|(since, lifetime)| since + lifetime);
        let linger = self.told.map(|told| self.lingers_until(told));
        let leave = self.leave_said.map(|said| said + LEAVE / LEAVE_SAID);
        [session, gap, linger, leave].into_iter().flatten().min()
    }

    fn is_done(&self) -> bool {
        self.stopped
    }

    fn report(self, sockets: SocketReport) -> ReceiveReport {
        self.delivery.end();
        let stats = self.session.stats();
        ReceiveReport { receipt: self.receipt, stats, overruns: sockets.overruns }
    }
}
