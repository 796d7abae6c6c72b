//! Sending files: from the roll call to a receipt from everybody.
//!
//! - `options`: what is wanted
//! - `gathering`: who must have answered before data flows
//! - `peers`: the receivers and how it stands with each; `pace`: how fast each goes on
//! - `queue`: objects with the core and to come; `carousel`: once more
//! - `acknowledgement`: what they say, and the receipts
//! - `slow`: who gets less than the others, and what is done about it
//! - `stalls`: who holds up a stream; `unproved`, `resigned`: who is not waited for any more
//! - `report`: what is told of it; `limits`: what limited the rate; `losses`: shares lost over the whole
//!
//! A [`SendJob`] lives in the driver's thread and has no clock and no socket of its own.

mod acknowledgement;
mod carousel;
mod gathering;
mod limits;
mod losses;
mod options;
mod pace;
mod peers;
mod queue;
mod report;
mod resigned;
#[cfg(test)]
mod rounds;
mod slow;
mod stalls;
mod unproved;

use std::{net::IpAddr, time::Duration};

use crate::content::{
    invitation::Invitation,
    receipt::{About, proof::Nonce},
    source::Sources,
};
use crate::event::Outbox;
use fanfare_node::Waker;
use fanfare_proto::{Event, NodeId, RollCalls, Session, Time, congestion::Reason};
use gathering::{Decision, Gathering};
pub use gathering::{Expect, StartWait};
use limits::Limits;
use losses::TransferLosses;
use options::check_announcements;
pub use options::{EnqueueFailed, SendOptions};
use peers::Peers;
use queue::{Economy, Queue, Resuming};
use resigned::Resigned;
pub use slow::Slow;
use slow::SlowReceivers;
use stalls::Stalls;
use unproved::Unproved;

use crate::{
    event::{Outcome, SendEnd, SendEvent, SlowVerdict, TransferEvent},
    file_storage::FileStorage,
};

/// The roll is called this often while nothing else is to be done, and while data flows.
const ROLL_GATHERING: Duration = Duration::from_millis(500);
const ROLL_SENDING: Duration = Duration::from_secs(2);
/// So many receivers are asked each time how far they are: of thirty, each one every two seconds.
const ASKED_AGAIN: u32 = 32;
/// After giving a receiver up, which loses much: time to tell it, more often, before leaving.
const NOTICE: Duration = Duration::from_secs(1);
/// Progress is told this often.
const PROGRESS: Duration = Duration::from_millis(200);
/// How far each receiver is, this often.
const PROGRESS_OF_EACH: Duration = Duration::from_secs(1);
/// A sender that looks so much too late did not run: its disk was busy, or it was stopped.
const PAUSE_MIN: Duration = Duration::from_secs(5);
/// Longest good-bye.
const FAREWELL: Duration = Duration::from_secs(2);
/// Longest good-bye when the user is waiting.
const FAREWELL_STOPPED: Duration = Duration::from_millis(1200);

#[derive(Debug)]
enum Phase {
    Gathering(Gathering),
    Sending,
    /// Saying good-bye until then at the latest.
    Leaving(SendEnd, Time),
    Done(SendEnd),
}

/// One sending, as a machine driven by the session's events.
#[derive(Debug)]
pub(crate) struct SendJob {
    options: SendOptions,
    about: About,
    phase: Phase,
    queue: Queue,
    peers: Peers,
    started: Time,
    /// Since when it has been running without a pause of its own: in a pause it hears nobody.
    resumed: Time,
    ended: Option<Time>,
    next_progress: Time,
    next_of_each: Time,
    limits: Limits,
    losses: TransferLosses,
    slow: SlowReceivers,
    stalls: Stalls,
    unproved: Unproved,
    resigned: Resigned,
    /// Time at which everything had been sent, or one was last served that has shown that it hears it.
    served: Time,
    /// Nobody else is waited for: only strangers come any more.
    closed: bool,
    /// Not leaving before.
    stay: Option<Time>,
    segment_size: u64,
}

impl SendJob {
    /// Begins: the roll is called; one-way, the first objects are enqueued.
    pub(crate) fn start(
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        sources: Sources,
        options: SendOptions,
        (about, segment_size, nonce): (About, u16, Nonce),
        out: &mut Outbox,
    ) -> Result<Self, EnqueueFailed> {
        let signs = options.identity.is_some();
        check_announcements(&sources, segment_size, (options.carousel, signs))?;
        let gathering = match options.start {
            Some(start) => Gathering::by(now, start),
            None => Gathering::new(now, options.wait),
        };
        let phase = if options.one_way { Phase::Sending } else { Phase::Gathering(gathering) };
        let mut job = Self {
            about,
            phase,
            queue: Queue::new(sources, options.carousel, options.one_way),
            peers: Peers::default(),
            started: now,
            resumed: now,
            ended: None,
            next_progress: now,
            next_of_each: now,
            limits: Limits::default(),
            losses: TransferLosses::default(),
            slow: SlowReceivers::new(options.slow),
            stalls: Stalls::default(),
            unproved: Unproved::default(),
            resigned: Resigned::default(),
            served: now,
            closed: false,
            stay: None,
            segment_size: u64::from(segment_size),
            options,
        };
        job.queue.set_nonce(nonce);
        job.queue.set_identity(job.options.identity.clone());
        session.sender().hold(!job.options.one_way);
        if matches!(job.options.expect, Expect::Names(_)) {
            session.sender().heed_only_named();
        }
        session.sender().set_tail(job.slow.tail());
        job.call_roll(session, ROLL_GATHERING);
        job.tell_waiting(out);
        // Otherwise it depends on who answers how they are sent.
        if job.options.one_way {
            job.queue.set_economy(Economy { sync: job.options.sync, ..Economy::default() });
            let filled = job.queue.fill(now, session, storage, &|_| false);
            filled.map_err(|(path, error)| EnqueueFailed { path, error })?;
        }
        Ok(job)
    }

    fn call_roll(&self, session: &mut Session, interval: Duration) {
        if !self.options.one_way {
            let invitation =
                Invitation::new(&self.options.name, self.queue.files, self.queue.bytes);
            let invitation = match self.queue.stream_name() {
                Some(name) => invitation.to_stream(name, self.options.place),
                None => invitation,
            };
            let awaited = self.options.expect.count().and_then(|count| u32::try_from(count).ok());
            let again = if interval == ROLL_SENDING { ASKED_AGAIN } else { 0 };
            let calls = RollCalls { content: invitation.encode(), interval, awaited, again };
            session.sender().set_roll_call(Some(calls));
        }
    }

    /// An event of the session.
    pub(crate) fn on_event(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        event: &Event,
        out: &mut Outbox,
    ) {
        match event {
            Event::ReceiverNew { node, source } => {
                let is_new = self.peers.on_heard(*node, *source);
                self.on_receiver(now, session, *node, is_new);
            }
            Event::ReceiverStatus { node, status } => {
                self.on_status(now, session, *node, status, out);
            }
            Event::WatermarkAck { node, app, .. } => {
                self.on_acknowledged(now, session, *node, app, out);
            }
            Event::WatermarkDone { outcomes } => {
                self.on_watermark_done(now, outcomes);
                self.queue.shed(session);
            }
            Event::ObjectSent { key } => {
                let sent = self.queue.file_of(key.object).map(|file| SendEvent::Sent {
                    name: file.name.clone(),
                    bytes: file.size,
                    packed: file.packed(),
                });
                out.push_all(sent.map(TransferEvent::Send));
                self.queue.on_object_sent(*key, session);
            }
            _ => {}
        }
        self.advance(now, session, storage, out);
    }

    fn on_receiver(&mut self, now: Time, session: &mut Session, node: NodeId, is_new: bool) {
        if !is_new {
            return;
        }
        match &mut self.phase {
            Phase::Gathering(gathering) => {
                gathering.on_answer(now, session.sender().answered_by().unwrap_or(now));
            }
            // It cannot have what has gone, and what would be the use of the rest?
            Phase::Sending if self.queue.has_shed() => {
                self.peers.settle(now, node, Outcome::Partial { held: 0, failures: [].into() });
            }
            Phase::Sending if self.closed => self.peers.settle(now, node, Outcome::Unproved),
            Phase::Sending if !self.options.one_way => session.sender().add_acking_node(node),
            Phase::Sending | Phase::Leaving(..) | Phase::Done(_) => {}
        }
    }

    /// Whether a receiver that this is for has answered from there.
    pub(crate) fn knows_receiver(&self, address: IpAddr) -> bool {
        let names = match &self.options.expect {
            Expect::Names(names) => Some(names.as_slice()),
            _ => None,
        };
        self.peers.are_at(address, names)
    }

    /// Time has passed.
    pub(crate) fn on_timeout(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        out: &mut Outbox,
    ) {
        // A receiver's first sign of life and its name come in one message but two events: by now
        // both have been seen.
        for view in self.peers.take_changed() {
            out.push(TransferEvent::Send(SendEvent::Receiver(view)));
            self.tell_waiting(out);
        }
        self.advance(now, session, storage, out);
        if now >= self.next_progress && matches!(self.phase, Phase::Sending) {
            if now.since(self.next_progress) >= PAUSE_MIN {
                self.resumed = now;
            }
            self.next_progress = now + PROGRESS;
            self.judge(now, session, out);
            self.judge_stalls(now, session, out);
            self.judge_strangers(now, session);
            if self.is_nobody_there(now, session) {
                self.peers.settle_rest(now, &Outcome::Unanswered);
                return self.leave(now, session, SendEnd::Partial);
            }
            let reports = self.open_reports(session);
            self.losses.count(session.stats().bytes_sent, &reports);
            let progress = self.progress(now, session);
            self.limits.on_limit(&progress.limit);
            out.push(TransferEvent::Send(SendEvent::Progress(progress)));
            if now >= self.next_of_each {
                self.next_of_each = now + PROGRESS_OF_EACH;
                let of_each = self.progress_of_each(session);
                out.push(TransferEvent::Send(SendEvent::Receivers(of_each)));
            }
        }
    }

    /// Whether everybody that is still served has been silent for as long as that is borne, so that the
    /// rate has come down to almost nothing. Under a fixed rate the end comes soon enough.
    fn is_nobody_there(&self, now: Time, session: &mut Session) -> bool {
        if self.options.one_way || session.sender().rate_reason() != Reason::NoFeedback {
            return false;
        }
        let since = self.started.max(self.resumed) + self.options.wait;
        let heard = self.open_reports(session).iter().map(|report| report.heard).max();
        heard.is_some_and(|heard| now >= since.max(heard + self.options.wait))
    }

    /// Anybody can say that he is a receiver at work, under ever new names. Who has never shown that he hears this
    /// transfer is waited for as long as others are served, and `wait` more.
    fn judge_strangers(&mut self, now: Time, session: &mut Session) {
        let all_sent = self.queue.is_last_watermark() && self.queue.is_passed();
        if !all_sent || self.queue.nonce().is_none() || self.peers.has_open_proved() {
            self.served = now;
        }
        if now < self.served + self.options.wait {
            return;
        }
        self.closed = true;
        for node in self.peers.open() {
            session.sender().remove_acking_node(node);
            self.peers.settle(now, node, Outcome::Unproved);
        }
    }

    /// Waits for nobody who is not there.
    pub(crate) fn start_now(&mut self) {
        if let Phase::Gathering(gathering) = &mut self.phase {
            gathering.start_now();
        }
    }

    /// Treats slow receivers so from now on.
    pub(crate) fn set_slow(&mut self, session: &mut Session, slow: Slow) {
        self.slow.set_policy(slow);
        session.sender().set_tail(self.slow.tail());
    }

    /// Drops who holds up a stream.
    fn judge_stalls(&mut self, now: Time, session: &mut Session, out: &mut Outbox) {
        if !self.queue.is_held_up() {
            return;
        }
        for node in self.stalls.stalled(now, self.slow.policy(), &self.peers.open()) {
            self.evict(now, session, node);
            let (receiver, verdict) = (self.peers.view(node), SlowVerdict::Evicted);
            let rate = Default::default();
            out.push(TransferEvent::Send(SendEvent::Slow { receiver, verdict, rate }));
        }
    }

    /// Puts slow receivers out, and tells who is deferred.
    fn judge(&mut self, now: Time, session: &mut Session, out: &mut Outbox) {
        let pace = (session.sender().rate(), session.sender().rate_reason().node());
        let reports = self.open_reports(session);
        for (node, verdict, rate) in self.slow.judge(pace, &reports) {
            if verdict == SlowVerdict::Evicted {
                self.evict(now, session, node);
            }
            let receiver = self.peers.view(node);
            out.push(TransferEvent::Send(SendEvent::Slow { receiver, verdict, rate }));
        }
    }

    fn evict(&mut self, now: Time, session: &mut Session, node: NodeId) {
        session.sender().evict(node);
        self.peers.settle(now, node, Outcome::Evicted);
        self.stay = Some(now + NOTICE);
        self.call_roll(session, ROLL_GATHERING);
    }

    /// Begins to read, if what is sent is a stream.
    pub(crate) fn start_feed(&mut self, waker: Waker) -> std::io::Result<()> {
        self.queue.start_feed(waker)
    }

    /// Does what may be done now.
    fn advance(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        out: &mut Outbox,
    ) {
        while let Some(key) = storage.take_unreadable() {
            self.queue.withdraw(key, session);
        }
        match &mut self.phase {
            Phase::Gathering(gathering) => {
                match gathering.decide(now, &self.options.expect, self.peers.names()) {
                    Decision::Wait => {}
                    Decision::Start => self.begin(now, session, out),
                    Decision::NobodyAnswered => self.leave(now, session, SendEnd::NobodyAnswered),
                }
            }
            Phase::Sending => self.continue_sending(now, session, storage, out),
            Phase::Leaving(end, until) => {
                if now >= *until || session.sender().is_idle() {
                    self.ended.get_or_insert(now);
                    self.phase = Phase::Done(*end);
                }
            }
            Phase::Done(_) => {}
        }
    }

    fn begin(&mut self, now: Time, session: &mut Session, out: &mut Outbox) {
        self.phase = Phase::Sending;
        self.started = now;
        let mut known = self.queue.tops();
        known.retain(|top| self.peers.all_have_top(top));
        let (manifests, sync) = (self.peers.has_ours(), self.options.sync);
        self.queue.set_economy(Economy { manifests, sync, known });
        self.call_roll(session, ROLL_SENDING);
        session.sender().hold(false);
        if self.options.expect == Expect::Anyone {
            // Whose answer was lost answers the next call, which goes with the first data.
            self.stay = session.sender().answered_by();
        }
        let receivers = self.peers.len();
        out.push(TransferEvent::Send(SendEvent::Started { receivers }));
    }

    fn continue_sending(
        &mut self,
        now: Time,
        session: &mut Session,
        storage: &mut FileStorage,
        out: &mut Outbox,
    ) {
        // An object that the code cannot cut; names and sizes were checked before the start.
        let (queue, peers) = (&mut self.queue, &self.peers);
        if let Err((path, _)) = queue.fill(now, session, storage, &|root| peers.all_have(root)) {
            self.queue.changed.push(path);
            return self.leave(now, session, SendEnd::Partial);
        }
        for path in self.queue.take_again() {
            out.push(TransferEvent::Send(SendEvent::SourceChanged(path)));
        }
        for Resuming { key, name, root } in self.queue.take_resuming() {
            // Where all have the whole of it, nothing is resumed.
            if self.peers.has_part(&root) {
                out.push(TransferEvent::Send(SendEvent::Resuming { object: key.object.0, name }));
            }
        }
        if self.queue.is_broken() {
            self.peers.settle_rest(now, &Outcome::Interrupted);
            return self.leave(now, session, SendEnd::Partial);
        }
        for node in self.slow.newly_finished(&self.peers) {
            session.sender().finish(node);
        }
        let open = self.peers.open();
        if self.queue.wants_watermark() {
            session.sender().set_watermark(&open);
            self.queue.on_watermark_set();
            self.stalls.on_watermark(now);
        }
        // What has changed may be sent again, or is named.
        let nothing_left = self.queue.total == 0 && !self.queue.reads_again();
        let nobody_left = (open.is_empty() && !self.options.one_way) || nothing_left;
        let all_sent = self.options.one_way && self.queue.is_passed() && session.sender().is_idle();
        let over = nobody_left || all_sent || (self.queue.is_followed() && open.is_empty());
        self.stay = self.stay.filter(|stay| now < *stay);
        if over && self.stay.is_none() && !nobody_left && self.queue.check_again() {
            return;
        }
        if over && self.stay.is_none() {
            let end = self.end();
            self.leave(now, session, end);
        }
    }

    /// As a whole.
    fn end(&self) -> SendEnd {
        let complete = self.peers.complete();
        let expected = match &self.options.expect {
            _ if self.options.one_way => true,
            Expect::Anyone => complete == self.peers.len(),
            Expect::Count(count) => complete >= *count,
            Expect::Names(names) => self.peers.are_complete(names),
            Expect::Hosts(hosts) => complete >= hosts.len(),
        };
        if expected { SendEnd::Complete } else { SendEnd::Partial }
    }

    fn leave(&mut self, now: Time, session: &mut Session, end: SendEnd) {
        let farewell = if end == SendEnd::Interrupted { FAREWELL_STOPPED } else { FAREWELL };
        self.queue.check_all();
        self.ended = Some(now);
        session.sender().set_roll_call(None);
        // Held, the core takes leave at once: everybody heard of is settled, and one-way the last
        // flush has ended.
        session.sender().hold(true);
        session.sender().end();
        self.phase = Phase::Leaving(end, now + farewell);
    }

    /// The user wants to stop: receivers are told.
    pub(crate) fn stop(&mut self, now: Time, session: &mut Session) {
        if matches!(self.phase, Phase::Gathering(_) | Phase::Sending) {
            self.peers.settle_rest(now, &Outcome::Interrupted);
            for object in &self.queue.sent {
                session.sender().cancel(object.key.object);
            }
            self.leave(now, session, SendEnd::Interrupted);
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done(_))
    }

    /// When [`Self::on_timeout`] has something to do.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        match &self.phase {
            Phase::Gathering(gathering) => gathering.next_timeout(),
            Phase::Sending => {
                Some(self.stay.map_or(self.next_progress, |stay| stay.min(self.next_progress)))
            }
            Phase::Leaving(_, until) => Some(*until),
            Phase::Done(_) => None,
        }
    }
}
