//! Sending and receiving files, as a driver drives it: a session, files, and jobs.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use fanfare_node::disk::placement::Conflict;
use fanfare_node::{
    engine::{Engine, SocketReport, Wrong},
    random_id,
};
use fanfare_proto::{Bitrate, Event, RecvMeta, Session, Time, Transmit};
use fanfare_udp::Endpoint;

use crate::{
    event::{Finished, Outbox, TransferEvent},
    file_storage::FileStorage,
    layered::LayeredListener,
    receive::ReceiveJob,
    send::{SendJob, Slow},
    streams::Stream,
};

/// What an application asks of a running node.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Command {
    /// Send at this rate from now on.
    Rate(Bitrate),
    /// Treat slow receivers so from now on.
    Slow(Slow),
    /// Treat files that are there already so from now on.
    Conflict(Conflict),
    /// Wait for nobody else.
    StartNow,
}

/// The engine.
#[derive(Debug)]
pub(crate) struct TransferEngine {
    pub(crate) session: Session,
    pub(crate) storage: FileStorage,
    pub(crate) send: Option<SendJob>,
    pub(crate) receive: Option<ReceiveJob>,
    /// What a receiver follows beside.
    pub(crate) layered: Option<LayeredListener>,
    /// It is one of several that share rate and memory.
    pub(crate) stream: Option<Stream>,
    pub(crate) overruns: Overruns,
}

/// How often the application is told of overruns.
const OVERRUNS_TOLD: Duration = Duration::from_secs(1);

/// What the system has dropped because it was not received in time.
#[derive(Debug, Default)]
pub(crate) struct Overruns {
    runs: u64,
    told: u64,
    next: Time,
}

impl Overruns {
    /// More of them, if they are to be told now.
    fn take(&mut self, now: Time) -> Option<u64> {
        if self.runs == self.told || now < self.next {
            return None;
        }
        (self.told, self.next) = (self.runs, now + OVERRUNS_TOLD);
        Some(self.runs)
    }
}

impl Engine for TransferEngine {
    type Command = Command;
    type Event = TransferEvent;
    type Report = Finished;

    fn handle_datagrams(&mut self, now: Time, meta: RecvMeta, run: &[u8], stride: usize) {
        self.session.handle_datagrams(now, meta, run, stride, &mut self.storage);
    }

    fn take_layered(
        &mut self,
        at: (Time, Duration),
        told: &fanfare_udp::RecvMeta,
        datagram: &[u8],
    ) -> bool {
        let Self { layered, storage, .. } = self;
        layered.as_mut().is_some_and(|layered| layered.on_datagram(at, told, datagram, storage))
    }

    fn on_other_ways(&mut self) {
        self.session.measure_anew();
    }

    fn on_short_path(&mut self) {
        self.session.sender().restart_congestion();
    }

    fn take_wrong(&mut self) -> Option<Wrong> {
        self.receive.as_mut().and_then(ReceiveJob::take_wrong)
    }

    fn knows_receiver(&self, address: IpAddr) -> bool {
        self.send.as_ref().is_none_or(|job| job.knows_receiver(address))
    }

    fn on_heard(&mut self, now: Time) -> bool {
        let Some(job) = &mut self.receive else { return false };
        job.on_heard(now);
        true
    }

    fn set_overruns(&mut self, overruns: u64) {
        self.overruns.runs = overruns;
        self.session.receiver().set_overruns(overruns);
    }

    fn set_behind(&mut self, behind: Duration) {
        self.session.receiver().set_behind(behind);
    }

    fn set_address(&mut self, address: SocketAddr) {
        self.session.set_address(address);
    }

    fn obey(&mut self, _now: Time, command: Command) {
        match command {
            Command::Rate(rate) => {
                if !self.stream.as_ref().is_some_and(|stream| stream.set_most(rate)) {
                    self.session.sender().set_rate(rate);
                }
            }
            Command::Slow(slow) => {
                if let Some(job) = &mut self.send {
                    job.set_slow(&mut self.session, slow);
                }
            }
            Command::StartNow => {
                if let Some(job) = &mut self.send {
                    job.start_now();
                }
            }
            Command::Conflict(conflict) => {
                if let Some(job) = &mut self.receive {
                    job.set_conflict(conflict);
                }
            }
        }
    }

    fn stop(&mut self, now: Time, endpoint: &mut Endpoint) {
        if let Some(job) = &mut self.send {
            job.stop(now, &mut self.session);
        }
        if let Some(job) = &mut self.receive {
            job.stop(now, &mut self.session, &mut self.storage);
        }
        if let Some(layered) = self.layered.take() {
            layered.stop(endpoint);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.session.handle_timeout(now, &mut self.storage);
    }

    fn react(&mut self, now: Time, endpoint: &mut Endpoint, outbox: &mut Outbox<TransferEvent>) {
        let Self { session, storage, send, receive, layered, stream, overruns } = self;
        outbox.push_all(overruns.take(now).map(|runs| TransferEvent::BufferOverrun { runs }));
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
                if let Some(job) = receive {
                    job.on_renamed(session);
                }
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
        if let Some(stream) = stream {
            stream.on_turn(now, session, storage);
        }
    }

    fn poll_transmit(&mut self, now: Time, max: usize, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.session.poll_transmit(now, max, buf, &mut self.storage)
    }

    fn next_timeout(&self) -> Option<Time> {
        let timers = [
            self.session.poll_timeout().map(|(at, _)| at),
            self.send.as_ref().and_then(SendJob::next_timeout),
            self.receive.as_ref().and_then(ReceiveJob::next_timeout),
            self.layered.as_ref().and_then(LayeredListener::next_timeout),
            self.stream.as_ref().and_then(Stream::next_timeout),
        ];
        timers.into_iter().flatten().min()
    }

    fn is_done(&self) -> bool {
        self.send.as_ref().is_none_or(SendJob::is_done)
            && self.receive.as_ref().is_none_or(ReceiveJob::is_done)
    }

    fn report(mut self, sockets: SocketReport) -> Finished {
        Finished {
            sent: self.send.take().map(|job| job.report(&mut self.session)),
            received: self.receive.take().map(|job| job.report()),
            stats: self.session.stats(),
            overruns: sockets.overruns,
            test_dropped: sockets.test_dropped,
        }
    }
}

/// Two nodes with one id: who has acknowledged something keeps it, since senders know it by that;
/// where neither has, the lower address does.
fn give_way(
    session: &mut Session,
    endpoint: &Endpoint,
    other: SocketAddr,
    acknowledged: bool,
) -> Option<TransferEvent> {
    let (id, own) = (session.node_id(), endpoint.local_addr().ok()?);
    let settled = session.stats().watermarks_acknowledged > 0;
    let gives_way = !settled && (acknowledged || own > other);
    let new = Some(random_id()).filter(|new| gives_way && session.set_node_id(*new));
    Some(TransferEvent::NodeIdTaken { id, own, other, new })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overruns_are_told_when_there_are_more_and_once_a_second_at_most() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut overruns = Overruns::default();
        assert_eq!(overruns.take(at(0)), None);
        overruns.runs = 3;
        assert_eq!((overruns.take(at(1)), overruns.take(at(2))), (Some(3), None));
        overruns.runs = 5;
        assert_eq!((overruns.take(at(900)), overruns.take(at(1001))), (None, Some(5)));
        assert_eq!(overruns.take(at(9000)), None);
    }
}
