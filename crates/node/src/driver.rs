//! The one thread of a node: sockets, session, files and jobs, and nobody else at them.
//!
//! One turn: take what arrived, tell the session, let the jobs react, send what may be sent, wait.
//! Each part does a bounded amount of work, so that none starves the others.

use std::{collections::BTreeSet, io, net::SocketAddr, sync::mpsc::Receiver, time::Duration};

use fanfare_proto::{
    Bitrate, Destination, Ecn, Event, RecvMeta, Session, Time, Transmit, rng::Rng,
};
use fanfare_udp::{Endpoint, Ready, Via};

use crate::{
    builder::random_id,
    clock::Clock,
    event::{Finished, NodeEvent},
    file_storage::FileStorage,
    layered::LayeredListener,
    outbox::Outbox,
    placement::Conflict,
    receive::ReceiveJob,
    send::{SendJob, Slow},
    waker::Waker,
};

/// Batches sent before looking at what arrived.
const BATCHES_PER_TURN: usize = 16;
/// How often it is looked at what the system has dropped: a call of the kernel each time.
const OVERRUNS_INTERVAL: Duration = Duration::from_millis(10);
/// How often a slow application's events are offered again.
const OUTBOX_RETRY: Duration = Duration::from_millis(20);

/// What an application asks of a running node.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Command {
    /// Tell the others, keep what is there, and end.
    Stop,
    /// Send at this rate from now on.
    SetRate(Bitrate),
    /// Treat slow receivers so from now on.
    SetSlow(Slow),
    /// Treat files that are there already so from now on.
    SetConflict(Conflict),
}

/// Everything that the thread owns.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) clock: Clock,
    pub(crate) session: Session,
    pub(crate) endpoint: Endpoint,
    pub(crate) storage: FileStorage,
    pub(crate) send: Option<SendJob>,
    pub(crate) receive: Option<ReceiveJob>,
    pub(crate) layered: Option<LayeredListener>,
    pub(crate) outbox: Outbox,
    pub(crate) commands: Receiver<Command>,
    pub(crate) waker: Waker,
    /// What the last wait has found.
    pub(crate) ready: Ready,
    pub(crate) outgoing: Outgoing,
    pub(crate) test_drop: TestDrop,
    /// When to look next what the system has dropped.
    pub(crate) next_overruns: Time,
}

/// Batches on their way to the socket.
#[derive(Debug)]
pub(crate) struct Outgoing {
    group: SocketAddr,
    segments: usize,
    buffer: Vec<u8>,
    /// What the socket has not taken yet: a batch in `buffer`, from this byte on.
    unsent: Option<(Transmit, usize)>,
    refusals: BTreeSet<String>,
}

/// Loss on purpose, for tests and demonstrations.
#[derive(Debug)]
pub(crate) struct TestDrop {
    probability: f64,
    rng: Rng,
    dropped: u64,
}

impl TestDrop {
    pub(crate) fn new(probability: f64, seed: u64) -> Self {
        Self { probability, rng: Rng::new(seed), dropped: 0 }
    }

    /// Gives `each` what is left of a run of datagrams, in pieces as long as can be.
    fn leave(&mut self, run: &[u8], stride: usize, mut each: impl FnMut(&[u8])) {
        let (mut from, mut at) = (0, 0);
        while self.probability > 0.0 && at < run.len() {
            let end = (at + stride).min(run.len());
            if self.takes() {
                if from < at {
                    each(&run[from..at]);
                }
                from = end;
            }
            at = end;
        }
        if from < run.len() || run.is_empty() {
            each(&run[from..]);
        }
    }

    fn takes(&mut self) -> bool {
        let takes = self.probability > 0.0 && self.rng.chance(self.probability);
        self.dropped += u64::from(takes);
        takes
    }
}

impl Outgoing {
    /// `segment_size`: of a full message, which decides how many go in one system call.
    pub(crate) fn new(endpoint: &Endpoint, segment_size: usize) -> Self {
        Self {
            group: endpoint.group(),
            segments: endpoint.max_gso_segments(segment_size),
            buffer: Vec::new(),
            unsent: None,
            refusals: BTreeSet::new(),
        }
    }
}

impl Driver {
    /// Runs until every job is done, or it is stopped.
    pub(crate) fn run(mut self) -> Finished {
        loop {
            let now = self.clock.now();
            if self.ready.readable() {
                self.receive_datagrams(now);
            }
            let now = self.clock.now();
            if self.ready.woken {
                self.obey(now);
            }
            self.session.handle_timeout(now, &mut self.storage);
            self.run_jobs(now);
            self.transmit(now);
            self.run_jobs(now);
            self.outbox.flush();
            if self.is_done() {
                return self.finish();
            }
            self.wait();
        }
    }

    fn receive_datagrams(&mut self, now: Time) {
        let Self { endpoint, session, storage, test_drop, ready, layered, .. } = self;
        let mut heard = false;
        let epoch = self.clock.epoch();
        let received = endpoint.receive_runs(*ready, |told, run, stride| {
            let meta = RecvMeta {
                source: told.source,
                ecn: told.ecn.map(ecn_of),
                unicast: told.via == Via::Unicast,
                waited: told.waited,
            };
            test_drop.leave(run, stride, |bytes| {
                heard = true;
                // What has to do with layers comes alone.
                if bytes.len() <= stride
                    && let Some(layered) = layered
                    && layered.on_datagram((now, epoch), told, bytes, storage)
                {
                    return;
                }
                session.handle_datagrams(now, meta, bytes, stride, storage);
            });
        });
        if let Err(error) = received {
            self.complain(&error);
        }
        if let Some(job) = self.receive.as_mut().filter(|_| heard) {
            job.on_heard(now);
            if now >= self.next_overruns {
                self.next_overruns = now + OVERRUNS_INTERVAL;
                self.session.receiver().set_overruns(self.endpoint.overruns());
            }
        }
    }

    fn obey(&mut self, now: Time) {
        self.waker.clear();
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Stop => {
                    if let Some(job) = &mut self.send {
                        job.stop(now, &mut self.session);
                    }
                    if let Some(job) = &mut self.receive {
                        job.stop(now, &mut self.session, &mut self.storage);
                    }
                    if let Some(layered) = self.layered.take() {
                        layered.stop(&mut self.endpoint);
                    }
                }
                Command::SetRate(rate) => self.session.sender().set_rate(rate),
                Command::SetSlow(slow) => {
                    if let Some(job) = &mut self.send {
                        job.set_slow(slow);
                    }
                }
                Command::SetConflict(conflict) => {
                    if let Some(job) = &mut self.receive {
                        job.set_conflict(conflict);
                    }
                }
            }
        }
    }

    fn run_jobs(&mut self, now: Time) {
        let Self { session, storage, send, receive, layered, outbox, endpoint, .. } = self;
        if let Some(job) = receive {
            job.on_wake(now, session, storage, outbox);
            if let Some(layered) = layered {
                layered.advance(now, (session, storage), endpoint, job, outbox);
            }
        }
        while let Some(event) = session.poll_event() {
            if let Some(job) = send {
                job.on_event(now, session, storage, &event, outbox);
            }
            if let Some(job) = receive {
                job.on_event(now, session, storage, &event, outbox);
            }
            if let Event::NodeIdTaken { source, acknowledged } = event {
                outbox.push_all(give_way(session, endpoint, source, acknowledged));
            }
            if let Event::ObjectPurged { key } = event {
                // Withdrawn objects leave no other trace.
                fanfare_proto::Storage::close(storage, key, false);
            }
        }
        if let Some(job) = send {
            job.on_timeout(now, session, storage, outbox);
        }
        if let Some(job) = receive {
            job.on_timeout(now, session, storage, outbox);
        }
    }

    fn transmit(&mut self, now: Time) {
        for _ in 0..BATCHES_PER_TURN {
            if self.outgoing.unsent.is_none() {
                let Outgoing { segments, buffer, .. } = &mut self.outgoing;
                let polled = self.session.poll_transmit(now, *segments, buffer, &mut self.storage);
                let Some(transmit) = polled else { return };
                self.outgoing.unsent = Some((transmit, 0));
            }
            if !self.send_unsent() {
                return;
            }
        }
    }

    /// False when the socket is full.
    fn send_unsent(&mut self) -> bool {
        let Some((transmit, start)) = self.outgoing.unsent.take() else { return true };
        let to = match transmit.destination {
            Destination::Group => self.outgoing.group,
            Destination::Peer(address) => address,
        };
        let bytes = &self.outgoing.buffer[start..];
        if bytes.is_empty() {
            return true;
        }
        let ecn = transmit.ecn.map(udp_ecn_of);
        match self.endpoint.send(to, transmit.segment_size, ecn, bytes) {
            Ok(sent) if sent < bytes.len() => {
                self.outgoing.unsent = Some((transmit, start + sent));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.outgoing.unsent = Some((transmit, start));
                return false;
            }
            // To the protocol it is a loss like another. The user hears of it once.
            Err(error) => self.complain(&error),
        }
        true
    }

    fn complain(&mut self, error: &io::Error) {
        let why = error.to_string();
        if self.outgoing.refusals.len() < 16 && self.outgoing.refusals.insert(why.clone()) {
            self.outbox.push(NodeEvent::SendRefused { why });
        }
    }

    fn is_done(&self) -> bool {
        self.send.as_ref().is_none_or(SendJob::is_done)
            && self.receive.as_ref().is_none_or(ReceiveJob::is_done)
    }

    fn wait(&mut self) {
        let now = self.clock.now();
        let timers = [
            self.session.poll_timeout().map(|(at, _)| at),
            self.send.as_ref().and_then(SendJob::next_timeout),
            self.receive.as_ref().and_then(ReceiveJob::next_timeout),
            self.layered.as_ref().and_then(LayeredListener::next_timeout),
            self.outbox.is_waiting().then(|| now + OUTBOX_RETRY),
        ];
        let next = timers.into_iter().flatten().min();
        let timeout = next.map(|at| at.since(now));
        let waker = Some(self.waker.as_fd());
        let waited = if self.outgoing.unsent.is_some() {
            // Pacing timers are in the past while a batch waits for room: others still count, but
            // the socket decides.
            let timeout = timeout.map_or(OUTBOX_RETRY, |t| t.max(Duration::from_millis(1)));
            self.endpoint.wait_for_space(Some(timeout), waker)
        } else {
            self.endpoint.wait(timeout, waker)
        };
        self.ready = waited.unwrap_or_else(|error| {
            self.complain(&error);
            // Whatever it is, the sockets tell.
            Ready { group: true, layers: true, unicast: true, writable: false, woken: true }
        });
    }

    fn finish(mut self) -> Finished {
        let sent = self.send.take().map(|job| job.report(&mut self.session));
        let received = self.receive.take().map(|job| job.report());
        let finished = Finished {
            sent,
            received,
            stats: self.session.stats(),
            overruns: self.endpoint.overruns(),
            test_dropped: self.test_drop.dropped,
        };
        drop(self.storage);
        self.outbox.close();
        finished
    }
}

/// Two nodes with one id: who has acknowledged something keeps it, since senders know it by that;
/// where neither has, the lower address does.
fn give_way(
    session: &mut Session,
    endpoint: &Endpoint,
    other: SocketAddr,
    acknowledged: bool,
) -> Option<NodeEvent> {
    let (id, own) = (session.node_id(), endpoint.local_addr().ok()?);
    let settled = session.stats().watermarks_acknowledged > 0;
    let gives_way = !settled && (acknowledged || own > other);
    let new = Some(random_id()).filter(|new| gives_way && session.set_node_id(*new));
    Some(NodeEvent::NodeIdTaken { id, own, other, new })
}

fn ecn_of(ecn: fanfare_udp::Ecn) -> Ecn {
    match ecn {
        fanfare_udp::Ecn::Ect0 => Ecn::Ect0,
        fanfare_udp::Ecn::Ect1 => Ecn::Ect1,
        fanfare_udp::Ecn::Ce => Ecn::Ce,
    }
}

fn udp_ecn_of(ecn: Ecn) -> fanfare_udp::Ecn {
    match ecn {
        Ecn::Ect0 => fanfare_udp::Ecn::Ect0,
        Ecn::Ect1 => fanfare_udp::Ecn::Ect1,
        Ecn::Ce => fanfare_udp::Ecn::Ce,
    }
}
