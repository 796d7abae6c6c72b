//! A NORM session that carries spans both ways, sealed: without socket and clock.

use std::{net::SocketAddr, time::Duration};

use crate::seal::{Moment, Seal};
use fanfare_proto::{
    AbortReason, Bitrate, CongestionControl, Ecn, Event, FeedbackPath, FirstPass, InstanceId,
    MemoryStorage, NewObject, NodeId, ObjectKind, ReceiverConfig, RecvMeta, RollCalls,
    SenderConfig, Session, SessionConfig, Time, WatermarkOutcome, congestion::Reason,
};

use super::{
    fit::{SEGMENT, SEGMENT_LEAST, Unacknowledged},
    kept::Kept,
    warm::{WARM_UP, WarmUp},
};
use crate::proxy::mux::{Mux, Span, Violation, span::SPAN_MAX};

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
    /// Bytes of filling at most, by which a new session learns the rate.
    pub warm_up: u64,
}

impl Default for Sending {
    fn default() -> Self {
        Self { control: CongestionControl::Auto, limit: Bitrate::mbps(1000), warm_up: WARM_UP }
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
    kept: Kept,
    enqueued: u64,
    warm: WarmUp,
    plain: Vec<u8>,
    opened: Vec<u8>,
    /// Of objects that begin now.
    segment: u16,
}

fn node(role: u64) -> NodeId {
    NodeId(1 + role as u32)
}

impl Engine {
    pub(crate) fn new(now: Time, ends: Ends, sending: Sending, seal: Seal) -> Self {
        let sender = SenderConfig {
            instance_id: InstanceId(ends.instance),
            // The rate begins with ten of these in a round trip, and on most paths they are as long.
            segment_size: SEGMENT,
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
        session.sender().set_segment_size(SEGMENT_LEAST);
        session.sender().set_roll_call(Some(calls));
        session.receiver().set_status(vec![1], false);
        Self {
            session,
            storage: MemoryStorage::new(SPAN_MAX as u64),
            seal,
            peer: node(1 - ends.role),
            kept: Kept::new(),
            enqueued: 0,
            warm: WarmUp::new(sending.warm_up),
            plain: Vec::new(),
            opened: Vec::new(),
            segment: SEGMENT_LEAST,
        }
    }

    /// Other keys from now on: the link has another connection.
    pub(crate) fn set_seal(&mut self, now: Time, seal: Seal) {
        self.seal = seal;
        self.kept.on_new_path(now);
    }

    /// Spans that are made from now on have segments of this size.
    pub(crate) fn set_segment(&mut self, segment: u16) {
        if segment != self.segment {
            self.segment = segment;
            self.session.sender().set_segment_size(segment);
        }
    }

    /// What is not acknowledged.
    pub(crate) fn unacknowledged(&self) -> Option<Unacknowledged> {
        self.kept.unacknowledged()
    }

    /// Nothing is acknowledged, since segments are too long for the path. The other end may have some
    /// of these spans already; it does not mind to get their bytes twice.
    pub(crate) fn begin_anew(&mut self, now: Time) {
        self.session.sender().cancel_watermark();
        // What is known of the path is of one that is no more: its rate has fallen to next to nothing.
        self.session.sender().restart_congestion();
        let spans: Vec<Vec<u8>> = (self.kept.take_all().into_iter())
            .filter_map(|key| {
                self.session.sender().cancel(key.object);
                self.storage.take(key)
            })
            .collect();
        self.enqueued = self.session.sender().progress();
        for bytes in spans {
            self.enqueue(now, Span { bytes, awaited: false });
        }
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
        self.take_events(now, mux)?;
        self.make_spans(now, mux);
        self.mark();
        mux.set_round_trip(self.session.sender().grtt());
        Ok(())
    }

    fn take_events(&mut self, now: Time, mux: &mut Mux) -> Result<(), Broken> {
        while let Some(event) = self.session.poll_event() {
            match event {
                Event::ObjectCompleted { key, .. } => {
                    if let Some(span) = self.storage.take(key) {
                        mux.on_span(&span).map_err(Broken::Peer)?;
                    }
                }
                // Its bytes come in another one.
                Event::ObjectAborted { key, reason: AbortReason::Squelched } => {
                    self.storage.take(key);
                }
                Event::ObjectAborted { .. } | Event::ObjectsMissed { missed: 1.., .. } => {
                    return Err(Broken::Lost);
                }
                Event::ObjectPurged { key } => {
                    self.storage.take(key);
                    if self.kept.has(key) {
                        return Err(Broken::Lost);
                    }
                }
                Event::WatermarkDone { outcomes } => {
                    let all =
                        outcomes.iter().all(|(_, how)| *how == WatermarkOutcome::Acknowledged);
                    self.release(now, all && !outcomes.is_empty());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What the other end has is not kept.
    fn release(&mut self, now: Time, all: bool) {
        for key in self.kept.on_answer(now, all) {
            self.session.sender().release(key.object);
            self.storage.take(key);
        }
    }

    fn make_spans(&mut self, now: Time, mux: &mut Mux) {
        let segment = usize::from(self.segment);
        let ahead = self.session.sender().rate().bytes_in(AHEAD).max(segment as u64);
        // Whole segments: a short one at the end costs as many headers as a long one.
        let most = (ahead as usize).clamp(segment, SPAN_MAX) / segment * segment;
        while self.enqueued.saturating_sub(self.session.sender().progress()) < ahead {
            let span = match mux.has_data() {
                true => mux.poll_span(now, most, segment),
                false => {
                    let reason = self.session.sender().rate_reason();
                    let is_known = !matches!(reason, Reason::Start | Reason::NoFeedback);
                    let filling = self.warm.poll(now, most, is_known);
                    filling.map(|bytes| Span { bytes, awaited: false })
                }
            };
            let Some(span) = span else { return };
            if !self.enqueue(now, span) {
                return;
            }
        }
    }

    /// False when there is no room. It cannot be: what is kept is bounded by the credit of all
    /// connections. If it were, those of this span would hang, and their ends would time out.
    fn enqueue(&mut self, now: Time, Span { bytes, awaited }: Span) -> bool {
        let size = bytes.len() as u64;
        let pass = if awaited { FirstPass::Awaited } else { FirstPass::Whole };
        let object = NewObject { kind: ObjectKind::Data, size, info: None, pass };
        let Ok(key) = self.session.sender().enqueue(now, object) else { return false };
        self.storage.put(key, bytes);
        self.kept.push(now, key, self.segment);
        self.enqueued += size;
        true
    }

    /// Asks for an acknowledgement of what is not released, one at a time.
    fn mark(&mut self) {
        if self.kept.mark() {
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
            && let Some(salt) = crate::seal::system_salt()
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
