//! A sender and its receivers in virtual time: real files, but neither sockets nor threads.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use crate::content::{
    receipt::About,
    source::{Packing, Sources},
};
use fanfare_node::disk::{directory::Directory, scratch::Scratch};
use fanfare_proto::{
    AckPolicy, Event, InstanceId, NodeId, ReceiverConfig, RecvMeta, SenderConfig, Session,
    SessionConfig, Time, rng::Rng,
};
use fanfare_wire::Message;

use super::{FILES, LIMIT, RATE, SEGMENT};
use crate::{
    event::{Outbox, ReceiveEvent, SendReport, TransferEvent},
    file_storage::{Backlog, FileStorage},
    ledger::{self, Ledger},
    receive::{REFUSED_AFTER, ReceiveJob, ReceiveOptions},
    send::{SendJob, SendOptions},
    verify::Verifier,
};

/// What sender and receivers have in common.
pub(super) struct Host<J> {
    pub(super) id: NodeId,
    pub(super) session: Session,
    pub(super) storage: FileStorage,
    pub(super) job: J,
    pub(super) outbox: Outbox,
    pub(super) events: std::sync::mpsc::Receiver<TransferEvent>,
    /// Where others hear it from.
    pub(super) address: SocketAddr,
}

fn address(id: NodeId) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, id.0 as u8], 6003))
}

impl<J> Host<J> {
    pub(super) fn meta(&self) -> RecvMeta {
        RecvMeta { source: self.address, ecn: None, unicast: false, waited: Duration::ZERO }
    }

    pub(super) fn hear(&mut self, now: Time, meta: RecvMeta, datagram: &[u8]) {
        self.session.handle_datagram(now, meta, datagram, &mut self.storage);
    }

    /// What it says now, as datagrams.
    pub(super) fn say(&mut self, now: Time) -> Vec<Vec<u8>> {
        let (mut said, mut buffer) = (Vec::new(), Vec::new());
        while let Some(transmit) =
            self.session.poll_transmit(now, 8, &mut buffer, &mut self.storage)
        {
            said.extend(buffer.chunks(transmit.segment_size).map(<[u8]>::to_vec));
        }
        said
    }
}

pub(super) struct World {
    pub(super) sender: Host<SendJob>,
    pub(super) receivers: Vec<Host<ReceiveJob>>,
    pub(super) told: Vec<Vec<ReceiveEvent>>,
    pub(super) now: Time,
    pub(super) files: usize,
    /// Nobody sleeps longer than this.
    pub(super) latest: Duration,
    /// Datagrams that the sender has sent.
    pub(super) sent: usize,
    /// What it has said in its last turn.
    pub(super) said: Vec<Vec<u8>>,
    /// Objects of which the next segment has a wrong byte when it arrives.
    pub(super) spoiled: Vec<u16>,
    /// What the receivers have said in their last turn, and where it came from.
    pub(super) answered: Vec<(SocketAddr, Vec<u8>)>,
    pub(super) loss: f64,
    pub(super) rng: Rng,
    // Last, so that everybody is done with them.
    pub(super) scratches: Vec<Scratch>,
}

impl World {
    pub(super) fn new(options: SendOptions, loss: f64, seed: u64) -> Self {
        Self { latest: Duration::from_millis(200), ..Self::of(FILES, options, loss, seed) }
    }

    /// A sender of so many small files, one object each. Verifying takes up to a millisecond.
    pub(super) fn of(files: usize, options: SendOptions, loss: f64, seed: u64) -> Self {
        let contents: Vec<Vec<u8>> = (0..files).map(|n| n.to_string().into_bytes()).collect();
        Self::with(&contents, options, loss, seed)
    }

    /// A sender of files with these contents.
    pub(super) fn with(contents: &[Vec<u8>], options: SendOptions, loss: f64, seed: u64) -> Self {
        let (scratch, files) = (Scratch::new(), contents.len());
        let paths: Vec<PathBuf> =
            (0..files).map(|n| scratch.path().join(format!("{n:03}"))).collect();
        for (path, content) in paths.iter().zip(contents) {
            std::fs::write(path, content).unwrap();
        }
        let sources = Sources::gather_with(&paths, "", Packing::Never, &mut |_| {}).unwrap();
        Self { files, ..Self::from(sources, scratch, options, loss, seed) }
    }

    /// A sender of these sources, which are in `scratch`.
    pub(super) fn from(
        sources: Sources,
        scratch: Scratch,
        options: SendOptions,
        loss: f64,
        seed: u64,
    ) -> Self {
        let (id, instance_id) = (NodeId(1), InstanceId(1));
        let mut sender = SenderConfig { instance_id, rate: RATE, ..SenderConfig::default() };
        sender.robust_factor = 5;
        sender.segment_size = SEGMENT;
        let config =
            SessionConfig { node_id: id, sender: Some(sender), ..SessionConfig::default() };
        let mut session = Session::new(config, seed, Time::ZERO);
        let (mut storage, about) = (FileStorage::default(), About::new(id, instance_id));
        let (to_application, events) = std::sync::mpsc::sync_channel(1 << 12);
        let mut outbox = Outbox::new(to_application);
        let (start, about) = (Time::ZERO, (about, SEGMENT, [7; 8]));
        let job =
            SendJob::start(start, &mut session, &mut storage, sources, options, about, &mut outbox);
        let sender =
            Host { id, session, storage, job: job.unwrap(), outbox, events, address: address(id) };
        let (receivers, told, scratches) = (Vec::new(), Vec::new(), vec![scratch]);
        let (now, rng) = (start, Rng::new(seed));
        let latest = Duration::from_millis(1);
        Self {
            sender,
            receivers,
            told,
            now,
            files: 0,
            latest,
            sent: 0,
            said: Vec::new(),
            spoiled: Vec::new(),
            answered: Vec::new(),
            loss,
            rng,
            scratches,
        }
    }

    pub(super) fn join(&mut self, silent: bool) {
        self.join_with(silent, ReceiveOptions::default());
    }

    pub(super) fn join_with(&mut self, silent: bool, options: ReceiveOptions) {
        self.join_in(Scratch::new(), silent, options);
    }

    /// A receiver that has something in its directory already.
    pub(super) fn join_in(&mut self, scratch: Scratch, silent: bool, options: ReceiveOptions) {
        let directory = Arc::new(Directory::open(scratch.path(), false).unwrap());
        let syncer = Backlog::new(directory.clone()).syncer();
        let storage = FileStorage::receiving_by(directory.clone(), None, syncer);
        let ack = AckPolicy::Confirmed;
        let refused_after = REFUSED_AFTER;
        let receiver = ReceiverConfig { ack, silent, refused_after, ..ReceiverConfig::default() };
        let id = NodeId(100 + self.receivers.len() as u32);
        let config =
            SessionConfig { node_id: id, receiver: Some(receiver), ..SessionConfig::default() };
        let mut session = Session::new(config, self.rng.next_u64(), self.now);
        let ledger = ledger::share(Ledger::open(directory.clone()));
        let verified = (Verifier::inline(directory.clone(), ledger.clone()), ledger);
        let options = ReceiveOptions { name: id.to_string(), ..options };
        let job =
            ReceiveJob::start(self.now, &mut session, directory, verified, options, Vec::new());
        let (to_application, events) = std::sync::mpsc::sync_channel(1 << 12);
        let outbox = Outbox::new(to_application);
        let address = address(id);
        self.receivers.push(Host { id, session, storage, job, outbox, events, address });
        self.told.push(Vec::new());
        self.scratches.push(scratch);
    }

    /// Until the sender has said so many datagrams, or is done.
    pub(super) fn run_until(&mut self, datagrams: usize) {
        while self.sent < datagrams && !self.sender.job.is_done() && self.now < LIMIT {
            self.send();
            self.receive();
            self.pass_time();
        }
    }

    pub(super) fn send(&mut self) {
        let Host { session, storage, job, outbox, .. } = &mut self.sender;
        session.handle_timeout(self.now, storage);
        while let Some(event) = session.poll_event() {
            job.on_event(self.now, session, storage, &event, outbox);
            if let Event::ObjectPurged { key } = event {
                fanfare_proto::Storage::close(storage, key, false);
            }
        }
        job.on_timeout(self.now, session, storage, outbox);
        let meta = self.sender.meta();
        self.said = self.sender.say(self.now);
        self.spoil();
        for datagram in &self.said {
            self.sent += 1;
            for receiver in &mut self.receivers {
                if !self.rng.random_bool(self.loss) {
                    receiver.hear(self.now, meta, datagram);
                }
            }
        }
        self.sender.outbox.flush();
        self.sender.events.try_iter().for_each(drop);
    }

    fn spoil(&mut self) {
        for datagram in &mut self.said {
            let Ok(Message::Data(data)) = Message::parse(datagram) else { continue };
            let object = data.object_transport_id.0;
            if let Some(at) = self.spoiled.iter().position(|spoiled| *spoiled == object) {
                self.spoiled.remove(at);
                datagram.iter_mut().next_back().into_iter().for_each(|byte| *byte ^= 1);
            }
        }
    }

    pub(super) fn receive(&mut self) {
        self.answered.clear();
        for at in 0..self.receivers.len() {
            let Host { session, storage, job, outbox, events, .. } = &mut self.receivers[at];
            session.handle_timeout(self.now, storage);
            job.on_wake(self.now, session, storage, outbox);
            while let Some(event) = session.poll_event() {
                job.on_event(self.now, session, storage, &event, outbox);
            }
            job.on_timeout(self.now, session, storage, outbox);
            outbox.flush();
            let told = events.try_iter().filter_map(|event| match event {
                TransferEvent::Receive(event) => Some(event),
                _ => None,
            });
            self.told[at].extend(told);
            let (meta, said) = (self.receivers[at].meta(), self.receivers[at].say(self.now));
            for datagram in said {
                self.sender.hear(self.now, meta, &datagram);
                self.answered.push((meta.source, datagram.clone()));
                for (other, receiver) in self.receivers.iter_mut().enumerate() {
                    if other != at {
                        receiver.hear(self.now, meta, &datagram);
                    }
                }
            }
        }
    }

    pub(super) fn pass_time(&mut self) {
        let sessions = self.receivers.iter().map(|receiver| &receiver.session);
        let sessions = sessions.chain([&self.sender.session]);
        let timers = sessions.filter_map(|session| session.poll_timeout()).map(|(at, _)| at);
        let next = timers.chain(self.sender.job.next_timeout()).min();
        // Verifying and answering take no time here, but time passes.
        let soonest = Duration::from_micros(100);
        self.now = next.unwrap_or(LIMIT).clamp(self.now + soonest, self.now + self.latest);
    }

    pub(super) fn report(&mut self) -> SendReport {
        assert!(self.sender.job.is_done(), "it ends");
        self.sender.job.report(&mut self.sender.session)
    }

    /// Everything is there, each file was told once, and nothing is said to be lacking.
    #[track_caller]
    pub(super) fn assert_complete(&self, receiver: usize) {
        let scratch = &self.scratches[1 + receiver];
        for n in 0..self.files {
            let content = std::fs::read_to_string(scratch.path().join(format!("{n:03}")));
            assert_eq!(content.ok(), Some(n.to_string()), "receiver {receiver}, file {n}");
        }
        let files = self.told[receiver].iter().filter(|e| matches!(e, ReceiveEvent::File { .. }));
        assert_eq!(files.count(), self.files);
        assert_eq!(self.receivers[receiver].job.report().failures, []);
        // Beside them are the ledger, and parts of another round: they go when the sender's farewell
        // has not been contradicted for two seconds.
        let names =
            std::fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let files = names.filter(|name| !name.to_string_lossy().starts_with(".fanfare"));
        assert_eq!(files.count(), self.files);
    }
}
