//! The one thread of a node: sockets, an engine behind them, and nobody else at them.
//!
//! One turn: take what arrived, tell the engine, let it react, send what may be sent, wait. Each
//! part does a bounded amount of work, so that none starves the others. `setup`: what it is made of.

mod setup;

use std::{io, sync::mpsc::Receiver, time::Duration};

use crate::serve::{AdmittedPath, SocketDoor, peek::mark};
use fanfare_proto::{Destination, RecvMeta, Time};
use fanfare_udp::{Change, Endpoint, Ready, Via};

use crate::{
    clock::Clock,
    engine::{Engine, SocketReport, Trouble},
    moderation::Moderation,
    outbox::Outbox,
    outgoing::{Outgoing, first},
    reading::Reading,
    sealed::{DatagramScope, Sealed},
    serving::{self, RunFate, Serving},
    stopper::Stopper,
    test_drop::TestDrop,
};

pub use setup::{Setup, Wiring};

/// Batches sent before looking at what arrived.
const BATCHES_PER_TURN: usize = 16;
/// How often it is looked at what the system has dropped: a call of the kernel each time.
const OVERRUNS_INTERVAL: Duration = Duration::from_millis(10);
/// Troubles that are told apart: a system that says another one each time must not fill memory.
const TROUBLES_MAX: usize = 16;
/// How often a slow application's events are offered again.
const OUTBOX_RETRY: Duration = Duration::from_millis(20);
/// While a batch is held back, pacing timers are in the past.
const HELD_LOOK: Duration = Duration::from_millis(2);
/// How often to look at the interface where the system does not tell that it has changed, or where what
/// came back could not be used at once.
const LOOK: Duration = Duration::from_secs(3);

/// Everything that the thread owns.
#[derive(Debug)]
struct Driver<E: Engine> {
    clock: Clock,
    engine: E,
    endpoint: Endpoint,
    outbox: Outbox<E::Event>,
    commands: Receiver<E::Command>,
    /// Somebody may want it to end.
    stopper: Stopper,
    /// What the last wait has found.
    ready: Ready,
    moderation: Moderation,
    outgoing: Outgoing,
    sealed: Sealed,
    serving: Serving,
    test_drop: TestDrop,
    reading: Reading,
    /// When to look next what the system has dropped.
    next_overruns: Time,
    /// When to look next for the interface; `None` where there is none to follow.
    next_look: Option<Time>,
    /// Longest message that comes through on all paths that were told as short.
    shortest: usize,
}

impl<E: Engine> Driver<E> {
    /// Runs until its engine is done, or it is stopped.
    fn run(mut self) -> E::Report {
        loop {
            if self.ready.readable() {
                self.receive_datagrams();
            } else {
                self.reading.on_empty(self.clock.now());
            }
            let now = self.clock.now();
            if self.ready.woken {
                self.obey(now);
            }
            self.engine.handle_timeout(now);
            self.engine.react(now, &mut self.endpoint, &mut self.outbox);
            self.sealed.advance(now, &self.endpoint);
            self.tell_not_opened(now);
            self.serve(now);
            self.transmit();
            self.engine.react(now, &mut self.endpoint, &mut self.outbox);
            self.outbox.flush();
            if self.engine.is_done() {
                return self.finish();
            }
            self.tell_reach(now);
            self.follow(now);
            self.wait();
        }
    }

    /// What was dropped because of keys.
    fn tell_not_opened(&mut self, now: Time) {
        while let Some(notice) = self.sealed.poll_notice(now) {
            let (code, mistake) = (notice.code(), notice.is_mistake());
            let text = notice.to_string();
            self.outbox.push(Trouble::NotOpened { code, text, mistake }.into());
        }
    }

    /// Which single hosts need copies, and which do not any more.
    fn tell_reach(&mut self, now: Time) {
        let engine = &self.engine;
        self.outgoing.fanout.admit(now, |ip| engine.knows_receiver(ip));
        while let Some(reach) = self.outgoing.fanout.poll_news(now) {
            let (code, text) = (reach.code(), reach.to_string());
            self.outbox.push(Trouble::Reach { code, text }.into());
        }
        while let Some(short) = self.sealed.poll_short_path() {
            if short.heard < self.shortest {
                self.shortest = short.heard;
                self.engine.on_short_path();
            }
            let text = short.to_string();
            self.outbox.push(Trouble::Reach { code: "reach.mtu", text }.into());
        }
    }

    /// Passes on to other receivers, and takes what they have passed on.
    fn serve(&mut self, now: Time) {
        let Self { engine, endpoint, sealed, serving, outgoing, outbox, .. } = self;
        while let Some(AdmittedPath { address, door }) =
            serving.poll_door().or_else(|| outgoing.fanout.poll_door())
        {
            endpoint.speak_by_machine(address, door == SocketDoor::Machine);
        }
        while let Some((to, message)) = outgoing.fanout.poll_message(now) {
            serving::say(now, endpoint, sealed, to, &message);
        }
        if outgoing.fanout.take_begun() {
            engine.on_other_ways();
        }
        while let Some((host, by)) = outgoing.fanout.poll_wrong() {
            let (host, by) = (host.ip(), by.ip());
            let text =
                format!("host {host} has passed on wrong bytes to {by}: it passes on no more");
            outbox.push(Trouble::Reach { code: "serve.wrong", text }.into());
        }
        while let Some(host) = serving.poll_stranger() {
            let own = endpoint.group().port();
            let text = format!(
                "host {host} sends to this machine alone, and for no session that was joined: nothing \
                 is taken from it. To receive from one NORM sender by unicast, give this machine's \
                 address and port as the group (port {own})"
            );
            outbox.push(Trouble::Reach { code: "reach.stranger", text }.into());
        }
        if let Some(host) = serving.poll_unanswered() {
            let text = format!(
                "host {host} sends to this host by its name (--to), and waits for an answer. A silent \
                 receiver gives none, and gets nothing. Start it without --silent, or send to the group"
            );
            outbox.push(Trouble::Reach { code: "reach.silent", text }.into());
        }
        while let Some(host) = serving.advance(now, endpoint, sealed, engine) {
            let text =
                format!("host {host} has passed on wrong bytes: nothing more is taken from it");
            outbox.push(Trouble::Reach { code: "serve.wrong", text }.into());
        }
    }

    /// Goes on where the interface is now.
    fn follow(&mut self, now: Time) {
        if self.next_look.is_none_or(|at| now < at && !self.ready.changed) {
            return;
        }
        self.next_look = Some(now + LOOK);
        let name = |endpoint: &Endpoint| {
            endpoint.interface().map(|interface| interface.name.clone()).unwrap_or_default()
        };
        let trouble = match self.endpoint.follow() {
            Ok(Change::None) => return,
            Ok(Change::Down) => Trouble::InterfaceDown(name(&self.endpoint)),
            Ok(Change::Up) => Trouble::InterfaceUp(name(&self.endpoint)),
            Ok(Change::Moved) => {
                self.outgoing.fanout.set_group(self.endpoint.group());
                self.serving.on_open(&self.endpoint);
                if let Ok(address) = self.endpoint.local_addr() {
                    self.engine.set_address(address);
                }
                Trouble::Rejoined(name(&self.endpoint))
            }
            Err(error) => {
                return self.complain(&io::Error::other(error.to_string()), Trouble::ReceiveFailed);
            }
        };
        // What is refused from now on is news.
        self.outgoing.troubles.clear();
        self.outbox.push(trouble.into());
    }

    fn receive_datagrams(&mut self) {
        let Self {
            clock,
            endpoint,
            engine,
            test_drop,
            ready,
            reading,
            outgoing,
            sealed,
            serving,
            ..
        } = self;
        let (mut heard, mut bytes_read, mut newest) = (false, 0, Duration::ZERO);
        let epoch = clock.epoch();
        let received = endpoint.receive_runs(*ready, |told, run, stride| {
            // What is done with a run takes time: the next one is heard later than this.
            let now = clock.now();
            let waited = reading.waited(now, told.waited);
            newest = waited;
            let meta = RecvMeta {
                source: told.source,
                ecn: told.ecn,
                unicast: matches!(told.via, Via::Unicast | Via::Direct),
                waited,
            };
            bytes_read += run.len();
            let whom =
                if told.is_to_all_hosts() { DatagramScope::AllHosts } else { DatagramScope::Group };
            test_drop.leave(run, stride, |bytes| {
                sealed.open_for(whom, now, told.source, bytes, stride, |bytes, stride| {
                    heard = true;
                    if meta.unicast {
                        outgoing.fanout.on_unicast(now, told.source, bytes, stride);
                    } else {
                        outgoing.fanout.on_heard(now, told.source, true);
                    }
                    let path =
                        AdmittedPath { address: told.source, door: serving::door_of(told.via) };
                    let told_here = outgoing.fanout.take(now, path, bytes, stride);
                    let taken = serving.take(now, told.via, meta, bytes, stride, engine);
                    if taken == RunFate::Yes || told_here {
                        return;
                    }
                    // What has to do with layers comes alone.
                    if bytes.len() <= stride && engine.take_layered((now, epoch), told, bytes) {
                        return;
                    }
                    engine.handle_datagrams(now, meta, bytes, stride);
                });
            });
        });
        let now = self.clock.now();
        match received {
            Ok(datagrams) if datagrams < fanfare_udp::TURN => self.reading.on_empty(now),
            Ok(_) => self.reading.on_more(now, newest),
            Err(error) => self.complain(&error, Trouble::ReceiveFailed),
        }
        if let Some(behind) = self.reading.take_news() {
            self.engine.set_behind(behind);
        }
        self.moderation.on_read(now, bytes_read);
        if heard && self.engine.on_heard(now) && now >= self.next_overruns {
            self.next_overruns = now + OVERRUNS_INTERVAL;
            self.engine.set_overruns(self.endpoint.overruns());
        }
    }

    fn obey(&mut self, now: Time) {
        self.stopper.waker().clear();
        while let Ok(command) = self.commands.try_recv() {
            self.engine.obey(now, command);
        }
        if self.stopper.take() {
            self.sealed.part();
            self.engine.stop(now, &mut self.endpoint);
        }
    }

    fn transmit(&mut self) {
        // What is sent to nobody would have to be repaired for everybody.
        if self.outgoing.unsent.is_none() && self.outgoing.fanout.waits(self.clock.now()) {
            return;
        }
        for _ in 0..BATCHES_PER_TURN {
            if self.outgoing.unsent.is_none() {
                // Messages are stamped with it: each batch has its own, as a call takes time.
                let now = self.clock.now();
                let Outgoing { segments, buffer, fanout, ends, piece, .. } = &mut self.outgoing;
                let polled = self.engine.poll_transmit(now, *segments, buffer);
                let Some(transmit) = polled else { return };
                *piece = 0;
                ends.clear();
                match transmit.destination {
                    Destination::Group => {
                        ends.extend(fanout.pieces(buffer, transmit.segment_size));
                        fanout.begin(now, first(buffer, transmit.segment_size), buffer.len());
                    }
                    Destination::Peer(address) => {
                        ends.push_back(buffer.len());
                        fanout.begin_for(address);
                    }
                }
                self.outgoing.unsent = Some((transmit, 0));
                self.sealed.begin();
            }
            if self.outgoing.is_held(self.clock.now()) {
                return;
            }
            if !self.send_unsent() {
                return;
            }
        }
    }

    /// The batch to one destination after another, piece by piece. False when the socket is full.
    fn send_unsent(&mut self) -> bool {
        let Some((transmit, mut start)) = self.outgoing.unsent.take() else { return true };
        let ecn = transmit.ecn;
        while let Some(end) = self.outgoing.ends.front().copied() {
            while let Some(to) = self.outgoing.fanout.next() {
                let Outgoing { fanout, buffer, piece, .. } = &mut self.outgoing;
                if let (true, Some(all)) = (fanout.is_shared(), buffer.get_mut(*piece..end)) {
                    mark(all, transmit.segment_size, fanout.is_given(to));
                }
                let bytes = self.outgoing.buffer.get(start..end).unwrap_or_default();
                let (now, size) = (self.clock.now(), transmit.segment_size);
                let sent = match bytes.is_empty() {
                    true => Ok(0),
                    false => self.sealed.send(now, &self.endpoint, to, size, ecn, bytes),
                };
                match sent {
                    Ok(sent) if sent < bytes.len() => {
                        self.outgoing.unsent = Some((transmit, start + sent));
                        return true;
                    }
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.outgoing.unsent = Some((transmit, start));
                        return false;
                    }
                    // To the protocol it is a loss like another. The user hears of it once.
                    Err(error) => self.complain(&explained(error), Trouble::SendRefused),
                }
                self.outgoing.fanout.on_sent();
                // Whoever is next gets it sealed anew: no number is used twice.
                self.sealed.begin();
                start = self.outgoing.piece;
            }
            let Outgoing { fanout, ends, piece, buffer, .. } = &mut self.outgoing;
            ends.pop_front();
            (*piece, start) = (end, end);
            if !ends.is_empty() {
                let rest = buffer.get(end..).unwrap_or_default();
                fanout.begin(self.clock.now(), first(rest, transmit.segment_size), 0);
            }
        }
        true
    }

    /// Says it once of each kind.
    fn complain(&mut self, error: &io::Error, trouble: fn(String) -> Trouble) {
        let trouble = trouble(error.to_string());
        if self.outgoing.troubles.len() < TROUBLES_MAX
            && self.outgoing.troubles.insert(trouble.clone())
        {
            self.outbox.push(trouble.into());
        }
    }

    fn wait(&mut self) {
        let now = self.clock.now();
        let outbox = self.outbox.is_waiting().then(|| now + OUTBOX_RETRY);
        let next = [self.engine.next_timeout(), outbox, self.next_look, self.sealed.next_timeout()];
        let held = self.outgoing.held.or(self.outgoing.fanout.begins());
        let serving = [self.serving.next_timeout(), self.outgoing.fanout.next_timeout(), held];
        let next = next.into_iter().chain(serving).flatten().min();
        let timeout = next.map(|at| at.since(now));
        let waker = Some(self.stopper.waker().as_fd());
        let waits = self.outgoing.unsent.is_some() && held.is_none();
        let timeout = if held.is_some() { timeout.map(|t| t.max(HELD_LOOK)) } else { timeout };
        let waited = if waits || self.serving.is_full() {
            // Pacing timers are in the past while a batch waits for room: others still count, but
            // the socket decides.
            let timeout = timeout.map_or(OUTBOX_RETRY, |t| t.max(Duration::from_millis(1)));
            self.endpoint.wait_for_space(Some(timeout), waker)
        } else if let Some(pause) = self.moderation.pause(now) {
            self.endpoint.pause(timeout.map_or(pause, |timeout| timeout.min(pause)), waker)
        } else {
            self.endpoint.wait(timeout, waker)
        };
        self.ready = waited.unwrap_or_else(|error| {
            self.complain(&error, Trouble::ReceiveFailed);
            // Whatever it is, the sockets tell.
            all_ready()
        });
    }

    fn finish(self) -> E::Report {
        let overruns = self.endpoint.overruns();
        let report =
            self.engine.report(SocketReport { overruns, test_dropped: self.test_drop.dropped });
        self.outbox.close();
        report
    }
}

/// Words for an error of a system that lets nothing out: on Linux a packet filter refuses so.
fn explained(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            io::Error::other(format!("{error}. A firewall on this machine lets no such packet out"))
        }
        _ => error,
    }
}

/// Everything is to be looked at.
fn all_ready() -> Ready {
    Ready { group: true, layers: true, unicast: true, woken: true, ..Ready::default() }
}
