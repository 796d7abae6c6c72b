//! Sending a file over layers: the same whoever listens, for as long as it was said.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use crate::content::read_at::ReadAt;
use fanfare_fec::fountain::Shape;
use fanfare_node::{Clock, Sealed, Stopper};
use fanfare_proto::{
    Bitrate, InstanceId, NodeId, Time,
    congestion::layered::{Description, Header, LayeredSource, Outgoing, RttRequest, SourceConfig},
};
use fanfare_udp::{Endpoint, Ready};
use fanfare_wire::{
    Ack, AckKind, Alc, GroupSize, Message, QuantizedRtt, Sequence, cmd::Application,
    ext::Extensions, header::SenderFields,
};

use super::{
    content::Content, delivery_session::DeliverySession, delivery_table::DeliveryTable, packet,
};
use crate::event::{
    Finished, Limit, Outbox, SendEnd, SendEvent, SendProgress, SendReport, TransferEvent,
};

/// Progress is told this often.
const PROGRESS: Duration = Duration::from_millis(200);
/// Packets sent before looking at what arrived.
const PACKETS_PER_TURN: usize = 64;
/// The last word, which says that nothing more comes, is said so often.
const FAREWELLS: usize = 3;
/// The longest that a full socket is waited for before the packet counts as lost.
const FULL: Duration = Duration::from_millis(20);
/// A GRTT for whoever reads the command as NORM's: half a second, RFC 5740's first guess.
const GRTT: QuantizedRtt = QuantizedRtt(0x9d);

/// What is sent, and as whose.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) shape: Shape,
    pub(super) file: Arc<dyn ReadAt>,
    pub(super) info: Vec<u8>,
    pub(super) config: SourceConfig,
    pub(super) lasting: Duration,
    pub(super) id: (NodeId, InstanceId),
    pub(super) seed: u64,
}

/// The sender's thread.
#[derive(Debug)]
pub(super) struct LayeredSender {
    plan: Plan,
    clock: Clock,
    endpoint: Endpoint,
    sealed: Sealed,
    stopper: Stopper,
    outbox: Outbox,
    source: LayeredSource,
    session: DeliverySession,
    /// Packets on their way: of one length, to one group.
    batch: Vec<u8>,
    batch_to: SocketAddr,
    sequence: u16,
    started: Time,
    ends: Time,
    next_progress: Time,
    payload: u64,
    wire: u64,
    ready: Ready,
    refused: Option<String>,
    stopped: bool,
}

impl LayeredSender {
    /// Reads and encodes the file: that may take a while.
    pub(super) fn prepare(
        plan: Plan,
        clock: Clock,
        (endpoint, sealed): (Endpoint, Sealed),
        (stopper, outbox): (Stopper, Outbox),
    ) -> io::Result<Self> {
        let content = Content::prepare(plan.shape, Arc::clone(&plan.file))?;
        let now = clock.now();
        let source = LayeredSource::new(plan.config.clone(), plan.seed, now);
        let source = source.map_err(|why| io::Error::other(format!("layers: {why:?}")))?;
        let layers = plan.config.scheme.layers();
        let (layers, base) = layers.map_or((0, 0.0), |layers| (layers.count(), layers.sum(1)));
        let (shape, ends) = (&plan.shape, now + plan.lasting);
        let headers = packet::headers(plan.config.group.ip());
        let expires = clock.epoch() + ends.since(Time::ZERO);
        let table = DeliveryTable::new(now, (&plan.name, shape), expires, (base, headers));
        let number = (plan.seed >> 32) as u32;
        Ok(Self {
            session: DeliverySession::new(number, (shape, layers), content, table),
            clock,
            batch_to: endpoint.group(),
            endpoint,
            sealed,
            stopper,
            outbox,
            source,
            batch: Vec::new(),
            sequence: 0,
            started: now,
            ends,
            next_progress: now,
            payload: 0,
            wire: 0,
            ready: Ready::default(),
            refused: None,
            stopped: false,
            plan,
        })
    }

    /// Runs until its time is over, or it is stopped.
    pub(super) fn run(mut self) -> Finished {
        self.outbox.push(TransferEvent::Send(SendEvent::Started { receivers: 0 }));
        while !self.stopped && self.clock.now() < self.ends {
            if self.ready.readable() {
                self.receive();
            }
            if self.ready.woken {
                self.stopper.waker().clear();
                self.stopped |= self.stopper.is_asked();
            }
            self.sealed.advance(self.clock.now(), &self.endpoint);
            self.send_due();
            self.tell_progress();
            self.outbox.flush();
            self.wait();
        }
        self.say_good_bye();
        self.finish()
    }

    fn receive(&mut self) {
        let (now, source, node) = (self.clock.now(), &mut self.source, self.plan.id);
        let sealed = &mut self.sealed;
        let received = self.endpoint.receive(|told, bytes| {
            sealed.open(now, told.source, bytes, bytes.len(), |bytes, _| {
                if let Ok(Message::Ack(Ack { feedback, kind, .. })) = Message::parse(bytes)
                    && let AckKind::Application(RttRequest::ACK_TYPE, content) = kind
                    && (feedback.server_id, feedback.instance_id) == node
                    && let Some(question) = RttRequest::from_bytes(content)
                {
                    source.on_rtt_request(now, question);
                }
            });
        });
        if let Err(error) = received {
            self.complain(&error);
        }
    }

    fn send_due(&mut self) {
        for _ in 0..PACKETS_PER_TURN {
            let now = self.clock.now();
            let Some((channel, outgoing)) = self.source.poll_packet(now) else { break };
            match outgoing {
                Outgoing::Announcement(header, announcement) => {
                    let mut bytes = Vec::new();
                    announcement.encode(&mut bytes);
                    self.flush();
                    self.describe(header, &bytes);
                    self.send_table(now);
                }
                Outgoing::Data(header) => {
                    let group = packet::group_of(self.plan.config.group, channel);
                    let Some(group) = group else { continue };
                    self.append(group, header);
                    if !header.first_of_pair {
                        self.flush();
                    }
                }
            }
        }
        self.flush();
    }

    fn append(&mut self, group: SocketAddr, header: Header) {
        if self.batch_to != group {
            self.flush();
            self.batch_to = group;
        }
        match self.session.append(header, &mut self.batch) {
            Ok(payload) => self.payload += payload as u64,
            Err(error) => {
                // The file has become shorter: what it was cannot be sent any more.
                self.stopped = true;
                self.complain(&error);
            }
        }
    }

    /// Tells FLUTE receivers what this is. It takes its place in the lowest layer's rate.
    fn send_table(&mut self, now: Time) {
        let first = self.plan.config.group;
        for packet in self.session.poll_table(now).unwrap_or_default() {
            self.source.on_extra(packet.len() + packet::headers(first.ip()));
            self.send(first, packet.len(), &packet);
        }
    }

    fn describe(&mut self, header: Header, announcement: &[u8]) {
        let (mut content, mut bytes) = (Vec::new(), Vec::new());
        let (session, shape) = (self.session.number(), self.plan.shape);
        let info = &self.plan.info[..];
        Description { header, session, shape, info, announcement }.encode(&mut content);
        self.sequence = self.sequence.wrapping_add(1);
        let sender = SenderFields {
            sequence: Sequence(self.sequence),
            source_id: self.plan.id.0,
            instance_id: self.plan.id.1,
            grtt: GRTT,
            backoff: 0,
            gsize: GroupSize(0),
        };
        let extensions = Extensions::default();
        Application { sender, extensions, content: &content }.encode(&mut bytes);
        self.send(self.endpoint.group(), bytes.len(), &bytes);
    }

    fn flush(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        if !batch.is_empty() {
            let packet = usize::from(self.plan.shape.symbol()) + Alc::HEADER;
            self.send(self.batch_to, packet, &batch);
        }
        self.batch = batch;
        self.batch.clear();
    }

    /// What a full socket does not take in time is lost, as it would be on the way.
    fn send(&mut self, to: SocketAddr, size: usize, bytes: &[u8]) {
        let (mut start, now) = (0, self.clock.now());
        self.sealed.begin();
        for attempt in 0..2 {
            match self.sealed.send(now, &self.endpoint, to, size, None, &bytes[start..]) {
                Ok(sent) => start += sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return self.complain(&error),
            }
            if start == bytes.len() {
                break;
            }
            if attempt == 0 {
                let _ = self.endpoint.wait_for_space(Some(FULL), None);
            }
        }
        self.wire += start as u64;
    }

    /// Said once.
    fn complain(&mut self, error: &io::Error) {
        let why = error.to_string();
        if self.refused.as_ref() != Some(&why) {
            self.refused = Some(why.clone());
            self.outbox.push(TransferEvent::SendRefused { why });
        }
    }

    fn wait(&mut self) {
        let now = self.clock.now();
        let next = self.source.next_timeout().min(self.ends).min(self.next_progress);
        let waited = self.endpoint.wait(Some(next.since(now)), Some(self.stopper.waker().as_fd()));
        self.ready = waited.unwrap_or(Ready { unicast: true, woken: true, ..Ready::default() });
    }

    fn say_good_bye(&mut self) {
        let last = self.session.last();
        (0..FAREWELLS).for_each(|_| self.send(self.plan.config.group, last.len(), &last));
    }

    fn tell_progress(&mut self) {
        let now = self.clock.now();
        if now < self.next_progress {
            return;
        }
        self.next_progress = now + PROGRESS;
        let size = self.plan.shape.object();
        let layers = self.plan.config.scheme.layers();
        let rate = layers.map_or(0.0, |layers| layers.sum(usize::MAX));
        self.outbox.push(TransferEvent::Send(SendEvent::Progress(SendProgress {
            sent_bytes: self.payload.min(size),
            total_bytes: size,
            rate: Bitrate::bps(rate as u64),
            repair_bytes: self.payload.saturating_sub(size),
            wire_bytes: self.wire,
            lossiest: None,
            limit: Limit::set(),
            complete: 0,
            receivers: 0,
        })));
    }

    fn finish(self) -> Finished {
        let size = self.plan.shape.object();
        let report = SendReport {
            end: if self.stopped { SendEnd::Interrupted } else { SendEnd::Complete },
            receivers: Vec::new(),
            missing: Vec::new(),
            expected: None,
            changed: Vec::new(),
            broken: None,
            objects: 1,
            bytes: size,
            repair_bytes: self.payload.saturating_sub(size),
            limit: Some(Limit::set()),
            elapsed: self.clock.now().since(self.started),
        };
        let mut finished = Finished { sent: Some(report), ..Finished::default() };
        finished.stats.bytes_sent = self.wire;
        finished.overruns = self.endpoint.overruns();
        self.outbox.close();
        finished
    }
}
