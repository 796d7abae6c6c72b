//! A NORM session that carries spans both ways, sealed: without socket and clock.

use std::{collections::VecDeque, net::SocketAddr, time::Duration};

use fanfare_link::seal::{Moment, Seal};
use fanfare_proto::{
    Bitrate, CongestionControl, Ecn, Event, FeedbackPath, InstanceId, MemoryStorage, NewObject,
    NodeId, ObjectKey, ObjectKind, ReceiverConfig, RecvMeta, RollCalls, SenderConfig, Session,
    SessionConfig, Time, WatermarkOutcome,
};

use crate::mux::{Mux, Violation, span::SPAN_MAX};

/// Spans are made for so much of the rate ahead: what waits here waits before the line.
const AHEAD: Duration = Duration::from_millis(50);
/// Objects in view: what is sent in many round trips.
const OBJECTS: u16 = 8192;
/// Datagrams in one go.
const BATCH: usize = 16;
/// The timer of the driver has 1 ms, and a busy machine several.
const BURST: Duration = Duration::from_millis(5);
/// From one roll call to the next: what is lost is known by it.
const ROLL: Duration = Duration::from_secs(5);
/// Longest least interval of flushes on a link: a round trip is more.
const GRTT_LEAST: Duration = Duration::from_millis(5);
/// The other end by the session: where it is, only the link knows.
const THERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);

/// How a session sends.
#[derive(Debug, Clone, Copy)]
pub struct Sending {
    /// What decides the rate.
    pub control: CongestionControl,
    /// The most.
    pub limit: Bitrate,
}

impl Default for Sending {
    fn default() -> Self {
        Self { control: CongestionControl::Auto, limit: Bitrate::mbps(1000) }
    }
}

/// Of which session it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    /// 0 or 1: the other end has the other one.
    pub(crate) role: u64,
    /// This process, as NORM numbers it.
    pub(crate) instance: u16,
    pub(crate) round_trip: Duration,
    pub(crate) segment: u16,
    pub(crate) seed: u64,
}

/// Why all connections end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// A span could not be had any more.
    Lost,
    /// The other end does what it must not.
    Peer(Violation),
}

/// The session.
#[derive(Debug)]
pub(crate) struct Engine {
    session: Session,
    storage: MemoryStorage,
    seal: Seal,
    peer: NodeId,
    /// Not released yet, oldest first.
    kept: VecDeque<ObjectKey>,
    /// How many of them the watermark under way covers.
    marked: Option<usize>,
    enqueued: u64,
    plain: Vec<u8>,
    opened: Vec<u8>,
    segment: usize,
}

fn node(role: u64) -> NodeId {
    NodeId(1 + role as u32)
}

impl Engine {
    pub(crate) fn new(now: Time, ends: Ends, sending: Sending, seal: Seal) -> Self {
        let sender = SenderConfig {
            instance_id: InstanceId(ends.instance),
            segment_size: ends.segment,
            congestion: sending.control,
            rate: sending.limit,
            burst: BURST,
            group_size: 1,
            grtt_initial: ends.round_trip.max(GRTT_LEAST),
            cache_objects: usize::from(OBJECTS),
            ..SenderConfig::default()
        };
        let receiver = ReceiverConfig {
            objects_max: OBJECTS,
            object_size_max: SPAN_MAX as u64,
            senders_max: 2,
            ..ReceiverConfig::default()
        };
        let config = SessionConfig {
            node_id: node(ends.role),
            feedback: FeedbackPath::Sender,
            unicast: true,
            sender: Some(sender),
            receiver: Some(receiver),
            ..SessionConfig::default()
        };
        let mut session = Session::new(config, ends.seed, now);
        let (awaited, again) = (Some(1), 1);
        let calls = RollCalls { content: Vec::new(), interval: ROLL, awaited, again };
        session.sender().set_roll_call(Some(calls));
        session.receiver().set_status(vec![1], false);
        Self {
            session,
            storage: MemoryStorage::new(SPAN_MAX as u64),
            seal,
            peer: node(1 - ends.role),
            kept: VecDeque::new(),
            marked: None,
            enqueued: 0,
            plain: Vec::new(),
            opened: Vec::new(),
            segment: usize::from(ends.segment),
        }
    }

    /// Other keys from now on: the link has another connection.
    pub(crate) fn set_seal(&mut self, seal: Seal) {
        self.seal = seal;
    }

    /// Sealed datagrams came.
    pub(crate) fn on_sealed(
        &mut self,
        at: Moment,
        (run, stride): (&[u8], usize),
        ecn: Option<Ecn>,
        waited: Duration,
    ) {
        let meta = RecvMeta { source: THERE, ecn, unicast: true, waited };
        for datagram in run.chunks(stride.max(1)) {
            self.opened.clear();
            // What does not open is counted by the seal.
            let opened = self.seal.open(at, THERE, datagram, &mut self.opened);
            if opened.is_ok() && !self.opened.is_empty() {
                let storage = &mut self.storage;
                self.session.handle_datagram(at.now, meta, &self.opened, storage);
            }
        }
    }

    /// Time has passed, or something has happened: spans go to the connections and are made of them.
    pub(crate) fn step(&mut self, now: Time, mux: &mut Mux) -> Result<(), Broken> {
        self.session.handle_timeout(now, &mut self.storage);
        self.take_events(mux)?;
        self.make_spans(now, mux);
        self.mark();
        mux.set_round_trip(self.session.sender().grtt());
        Ok(())
    }

    fn take_events(&mut self, mux: &mut Mux) -> Result<(), Broken> {
        while let Some(event) = self.session.poll_event() {
            match event {
                Event::ObjectCompleted { key, .. } => {
                    if let Some(span) = self.storage.take(key) {
                        mux.on_span(&span).map_err(Broken::Peer)?;
                    }
                }
                Event::ObjectAborted { .. } | Event::ObjectsMissed { missed: 1.., .. } => {
                    return Err(Broken::Lost);
                }
                Event::ObjectPurged { key } => {
                    self.storage.take(key);
                }
                Event::WatermarkDone { outcomes } => {
                    let marked = self.marked.take().unwrap_or(0);
                    let all =
                        outcomes.iter().all(|(_, how)| *how == WatermarkOutcome::Acknowledged);
                    if all && !outcomes.is_empty() {
                        self.release(marked);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What the other end has is not kept.
    fn release(&mut self, count: usize) {
        for key in self.kept.drain(..count.min(self.kept.len())) {
            self.session.sender().release(key.object);
            self.storage.take(key);
        }
    }

    fn make_spans(&mut self, now: Time, mux: &mut Mux) {
        let ahead = self.session.sender().rate().bytes_in(AHEAD).max(self.segment as u64);
        // Whole segments: a short one at the end costs as many headers as a long one.
        let most = (ahead as usize).clamp(self.segment, SPAN_MAX) / self.segment * self.segment;
        while mux.has_data()
            && self.enqueued.saturating_sub(self.session.sender().progress()) < ahead
        {
            let Some(span) = mux.poll_span(now, most, self.segment) else { return };
            let size = span.len() as u64;
            let object = NewObject {
                kind: ObjectKind::Data,
                size,
                info: None,
                pass: fanfare_proto::FirstPass::Whole,
            };
            match self.session.sender().enqueue(now, object) {
                Ok(key) => {
                    self.storage.put(key, span);
                    self.kept.push_back(key);
                    self.enqueued += size;
                }
                // It cannot be: what is kept is bounded by the credit of all connections. If it were,
                // the connections of this span would hang, and their ends would time out.
                Err(_) => return,
            }
        }
    }

    /// Asks for an acknowledgement of what is not released, one at a time.
    fn mark(&mut self) {
        if self.marked.is_none() && !self.kept.is_empty() {
            self.marked = Some(self.kept.len());
            let peer = [self.peer];
            self.session.sender().set_watermark(&peer);
        }
    }

    /// Sealed datagrams to send: the length of each but the last, and their mark.
    pub(crate) fn poll_sealed(
        &mut self,
        at: Moment,
        sealed: &mut Vec<u8>,
    ) -> Option<(usize, Option<Ecn>)> {
        sealed.clear();
        let storage = &mut self.storage;
        let transmit = self.session.poll_transmit(at.now, BATCH, &mut self.plain, storage)?;
        for message in self.plain.chunks(transmit.segment_size.max(1)) {
            self.seal.seal(at, message, sealed);
        }
        Some((transmit.segment_size + self.seal.overhead(), transmit.ecn))
    }

    /// What the seal has to say beside messages: who it is.
    pub(crate) fn poll_hello(&mut self, at: Moment) -> Option<Vec<u8>> {
        if self.seal.needs_salt(at)
            && let Some(salt) = fanfare_link::seal::system_salt()
        {
            self.seal.renew(salt);
        }
        self.seal.poll(at).map(|(_, hello)| hello)
    }

    /// The hello that goes ahead of messages, if one is due.
    pub(crate) fn greet(&mut self, at: Moment) -> Option<Vec<u8>> {
        self.seal.greet(at, THERE)
    }

    /// When [`Self::step`] has something to do.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let session = self.session.poll_timeout().map(|(at, _)| at);
        [session, self.seal.next_timeout()].into_iter().flatten().min()
    }

    /// What the session has sent: datagrams, source, parity unasked, repairs.
    pub(crate) fn sent(&self) -> [u64; 4] {
        let stats = self.session.stats();
        let repairs = stats.parity_repair_sent + stats.explicit_repair_sent;
        [stats.datagrams_sent, stats.source_sent, stats.proactive_sent, repairs]
    }

    /// Rate, its reason, the round trip, and objects that are kept.
    pub(crate) fn status(&mut self) -> (Bitrate, String, Duration, usize) {
        let sender = self.session.sender();
        let reason = sender.rate_reason();
        let reason = format!("{reason:?}").to_lowercase();
        let reason = reason.split(['(', ' ']).next().unwrap_or_default().to_owned();
        (sender.rate(), reason, sender.grtt(), self.kept.len())
    }
}
