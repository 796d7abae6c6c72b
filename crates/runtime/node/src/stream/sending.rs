//! What the driver drives of a stream that is sent.

use std::{collections::BTreeSet, net::SocketAddr, sync::Arc, time::Duration};

use fanfare_proto::{
    Event, NodeId, ObjectKey, RecvMeta, Session, StreamPolicy, Time, Transmit, WatermarkOutcome,
};
use fanfare_udp::Endpoint;

use super::{
    audience::Audience,
    lives::Lives,
    mailbox::{Mail, Mailbox},
    options::Flush,
    receipt::{self, Receipt},
    report::{Outcome, SendReport, SendStatus, StreamEvent},
    rings::Rings,
};
use crate::{
    engine::{Engine, SocketReport},
    outbox::Outbox as Events,
};

/// Where everybody who answers counts, others have so long to answer after the first.
const GATHERING: Duration = Duration::from_millis(300);
/// A stream that waits for its receivers for so long is said to be stalled.
const STALL: Duration = Duration::from_secs(2);
/// Good-byes may take so long.
const FAREWELL: Duration = Duration::from_secs(2);
/// Repetitions of the last flush where nobody is asked to acknowledge.
const FLUSHES: u32 = 10;

type Outbox = Events<StreamEvent>;

/// What was chosen for a stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub(super) key: ObjectKey,
    pub(super) buffer: u64,
    pub(super) policy: StreamPolicy,
    pub(super) flush: Flush,
    pub(super) lifetime: Option<Duration>,
    pub(super) wait: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Receivers are waited for.
    Gathering {
        until: Time,
        first: Option<Time>,
    },
    Sending,
    /// The end is written; all are asked to acknowledge it.
    Closing,
    Leaving(Time),
    Done,
}

/// The engine.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) session: Session,
    pub(super) rings: Rings,
    audience: Audience,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) setting: Setting,
    phase: Phase,
    /// What was taken from the mailbox, and how far it has been written.
    pub(super) mail: Mail,
    pub(super) at: usize,
    pub(super) notes_done: usize,
    /// Bytes of a message that is too old, still to be passed over.
    pub(super) skip: usize,
    /// There was no room.
    pub(super) stuck: Option<Time>,
    stalled: bool,
    /// Since when bytes wait that do not fill a symbol.
    pub(super) waiting: Option<Time>,
    /// A watermark is under way; who has answered it.
    watermark: bool,
    answered: BTreeSet<NodeId>,
    /// The end is written.
    pub(super) closed: bool,
    pub(super) close_asked: bool,
    /// How long what was written is of use, and what is written now.
    pub(super) lives: Lives,
    pub(super) until: Option<Time>,
    pub(super) expired: u64,
}

impl Sending {
    pub(super) fn new(
        mut session: Session,
        rings: Rings,
        audience: Audience,
        mailbox: Arc<Mailbox>,
        setting: Setting,
    ) -> Self {
        let phase = match audience.is_wanted() {
            true => Phase::Gathering { until: Time::ZERO + setting.wait, first: None },
            false => Phase::Sending,
        };
        if !audience.is_wanted() {
            session.sender().set_flushes(FLUSHES);
        }
        Self {
            session,
            rings,
            audience,
            mailbox,
            setting,
            phase,
            mail: Mail::default(),
            at: 0,
            notes_done: 0,
            skip: 0,
            stuck: None,
            stalled: false,
            waiting: None,
            watermark: false,
            answered: BTreeSet::new(),
            closed: false,
            close_asked: false,
            lives: Lives::default(),
            until: None,
            expired: 0,
        }
    }

    fn on_event(&mut self, now: Time, event: Event, outbox: &mut Outbox) {
        match event {
            Event::StreamWritable { .. } => self.stuck = None,
            Event::ReceiverStatus { node, status } if status.starts_with(&receipt::LEAVING) => {
                if self.audience.on_gone(node, Outcome::Left) {
                    let name = self.audience.name(node);
                    self.session.sender().evict(node);
                    outbox.push(StreamEvent::Left { node, name });
                }
                self.leave_if_alone(now);
            }
            Event::ReceiverStatus { node, status } => {
                let own = self.setting.key.sender;
                let name = match receipt::taken_of(&status) {
                    Some((by, name)) if by != own => {
                        return self.on_taken(now, node, name, by, outbox);
                    }
                    Some((_, name)) => Some(name),
                    None => receipt::name_of(&status),
                };
                let Some(name) = name else { return };
                if self.audience.on_name(node, &name) {
                    if let Phase::Gathering { first, .. } = &mut self.phase {
                        first.get_or_insert(now);
                    }
                    if self.watermark {
                        self.session.sender().add_acking_node(node);
                    }
                    outbox.push(StreamEvent::Receiver { node, name });
                }
            }
            Event::WatermarkAck { node, app, .. } => {
                self.answered.insert(node);
                if self.phase == Phase::Closing {
                    self.audience.on_end(node, Receipt::decode(&app));
                }
            }
            Event::WatermarkDone { outcomes } => self.on_watermark_done(now, &outcomes, outbox),
            _ => {}
        }
    }

    /// It reads the stream of another sender. Before this one has begun, another receiver of that name may
    /// still come.
    fn on_taken(&mut self, now: Time, node: NodeId, name: String, by: NodeId, outbox: &mut Outbox) {
        if self.audience.on_taken(node, &name) {
            self.session.sender().evict(node);
            outbox.push(StreamEvent::Taken { node, name, by });
        }
        self.leave_if_alone(now);
    }

    fn on_watermark_done(
        &mut self,
        now: Time,
        outcomes: &[(NodeId, WatermarkOutcome)],
        outbox: &mut Outbox,
    ) {
        self.watermark = false;
        let silent = outcomes.iter().filter(|(_, o)| *o == WatermarkOutcome::Unanswered);
        let silent: Vec<NodeId> = silent.map(|(node, _)| *node).collect();
        for node in &silent {
            self.audience.on_gone(*node, Outcome::Silent);
            self.session.sender().evict(*node);
            let name = self.audience.name(*node);
            outbox.push(StreamEvent::GivenUp { node: *node, name });
        }
        if !silent.is_empty() {
            // All others have it.
            self.session.sender().release_stream(self.setting.key.object);
        }
        if self.phase == Phase::Closing {
            self.leave(now);
        }
        self.leave_if_alone(now);
    }

    /// Nobody is left who counts.
    fn leave_if_alone(&mut self, now: Time) {
        let gathering = matches!(self.phase, Phase::Gathering { .. });
        if self.audience.is_wanted() && !gathering && self.audience.open().is_empty() {
            self.leave(now);
        }
    }

    fn leave(&mut self, now: Time) {
        if matches!(self.phase, Phase::Leaving(_) | Phase::Done) {
            return;
        }
        self.mailbox.end();
        self.session.sender().set_roll_call(None);
        // Held, it takes leave at once: whoever counts is settled.
        self.session.sender().hold(true);
        self.session.sender().end();
        self.phase = Phase::Leaving(now + FAREWELL);
    }

    /// Goes on from phase to phase.
    fn advance(&mut self, now: Time, outbox: &mut Outbox) {
        match self.phase {
            Phase::Gathering { until, first } => {
                let anyone = self.audience.awaited().is_none();
                let gathered = first.is_some_and(|first| first + GATHERING <= now);
                let complete = if anyone { gathered } else { self.audience.is_complete() };
                if complete || now >= until {
                    let receivers = self.audience.len();
                    outbox.push(StreamEvent::Started { receivers });
                    if receivers == 0 {
                        return self.leave(now);
                    }
                    self.session.sender().hold(false);
                    self.phase = Phase::Sending;
                }
            }
            Phase::Sending if self.closed && self.audience.is_wanted() => {
                if !self.watermark {
                    self.set_watermark();
                    self.phase = Phase::Closing;
                }
            }
            Phase::Sending if self.closed && self.session.sender().is_idle() => self.leave(now),
            Phase::Sending | Phase::Closing | Phase::Done => {}
            Phase::Leaving(until) => {
                if self.session.sender().is_idle() || now >= until {
                    self.phase = Phase::Done;
                }
            }
        }
    }

    fn set_watermark(&mut self) {
        let open = self.audience.open();
        self.answered.clear();
        self.watermark = !open.is_empty();
        self.session.sender().set_watermark(&open);
    }

    /// Where bytes stay until all have them, word of that is wanted for each half of the buffer.
    fn ask(&mut self) {
        let wants = self.setting.policy == StreamPolicy::Lossless || self.audience.is_wanted();
        if !wants || self.watermark || self.closed || self.phase != Phase::Sending {
            return;
        }
        let progress = self.session.sender().stream_progress(self.setting.key.object);
        let Some(progress) = progress else { return };
        let waiting = progress.packed - progress.released;
        if waiting * 2 >= self.setting.buffer || self.stuck.is_some() && waiting > 0 {
            self.set_watermark();
        }
    }

    /// Says so when it waits for receivers.
    fn tell(&mut self, now: Time, outbox: &mut Outbox) {
        let stalled = self.stuck.filter(|since| now.since(*since) >= STALL);
        if stalled.is_some() && !self.stalled && self.phase == Phase::Sending {
            self.stalled = true;
            let open = self.audience.open();
            let waited = open.iter().filter(|node| !self.answered.contains(node));
            let receivers = waited.map(|node| self.audience.name(*node)).collect();
            outbox.push(StreamEvent::Stalled { receivers });
        } else if self.stalled && stalled.is_none() {
            self.stalled = false;
            outbox.push(StreamEvent::Resumed);
        }
        let sender = self.session.sender();
        let progress = sender.stream_progress(self.setting.key.object).unwrap_or_default();
        self.mailbox.set_status(SendStatus {
            progress,
            receivers: self.audience.open().len(),
            stalled: stalled.map(|since| now.since(since)),
            rate: sender.rate(),
        });
    }
}

impl Engine for Sending {
    type Command = ();
    type Event = StreamEvent;
    type Report = SendReport;

    fn handle_datagrams(&mut self, now: Time, meta: RecvMeta, run: &[u8], stride: usize) {
        self.session.handle_datagrams(now, meta, run, stride, &mut self.rings);
    }

    fn on_heard(&mut self, _: Time) -> bool {
        false
    }

    fn set_overruns(&mut self, _: u64) {}

    fn set_behind(&mut self, _: Duration) {}

    fn set_address(&mut self, address: SocketAddr) {
        self.session.set_address(address);
    }

    fn obey(&mut self, _: Time, (): ()) {}

    fn stop(&mut self, now: Time, _: &mut Endpoint) {
        self.leave(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.session.handle_timeout(now, &mut self.rings);
    }

    fn react(&mut self, now: Time, _: &mut Endpoint, outbox: &mut Outbox) {
        while let Some(event) = self.session.poll_event() {
            self.on_event(now, event, outbox);
        }
        if !matches!(self.phase, Phase::Leaving(_) | Phase::Done) {
            self.pump(now);
            self.flush_waiting(now);
            self.expire(now);
            self.ask();
        }
        self.advance(now, outbox);
        self.tell(now, outbox);
    }

    fn poll_transmit(&mut self, now: Time, max: usize, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.session.poll_transmit(now, max, buf, &mut self.rings)
    }

    fn next_timeout(&self) -> Option<Time> {
        let session = self.session.poll_timeout().map(|(at, _)| at);
        let phase = match self.phase {
            Phase::Gathering { until, first } => {
                Some(first.map_or(until, |first| until.min(first + GATHERING)))
            }
            Phase::Leaving(until) => Some(until),
            Phase::Sending | Phase::Closing | Phase::Done => None,
        };
        let flush = match (self.setting.flush, self.waiting) {
            (Flush::After(time), Some(since)) => Some(since + time),
            _ => None,
        };
        let stall = self.stuck.filter(|_| !self.stalled).map(|since| since + STALL);
        let old = self.lives.next();
        [session, phase, flush, stall, old].into_iter().flatten().min()
    }

    fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    fn report(mut self, _: SocketReport) -> SendReport {
        self.mailbox.end();
        let progress = self.session.sender().stream_progress(self.setting.key.object);
        let bytes = progress.map_or(0, |progress| progress.written);
        SendReport {
            bytes,
            receivers: self.audience.outcomes(bytes),
            missing: self.audience.missing(),
            expired: self.expired,
            stats: self.session.stats(),
        }
    }
}
