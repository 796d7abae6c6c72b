//! One life of a receiver, with its senders, in virtual time: the code that users run, but for
//! sockets and threads.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use crate::content::{pack, receipt::Reason};
use fanfare_node::disk::{
    directory::Directory,
    simulated::{Report, SimFs},
};
use fanfare_proto::{
    AckPolicy, Bitrate, Event, FirstPass, InstanceId, NewObject, NodeId, ObjectKey, ObjectKind,
    ReceiverConfig, RecvMeta, SenderConfig, Session, SessionConfig, Storage, StorageError, Time,
    rng::Rng,
};

use super::case::{Case, Weather};
use crate::{
    event::{Outbox, ReceiveEvent, TransferEvent},
    file_storage::{Backlog, FileStorage},
    ledger::{self, Ledger},
    receive::{ReceiveJob, ReceiveOptions},
    verify::Verifier,
};

/// Long segments, so that few datagrams tell a story.
const SEGMENT: u16 = 8192;
/// Whatever is to come has come by then.
const LIMIT: Duration = Duration::from_secs(200);

/// Datagrams of a life after which all are right: otherwise it would be given up.
const CORRUPTIBLE: u64 = 250;

/// What a life came to.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) held: Vec<Report>,
    pub(super) failed: Vec<Reason>,
    /// Bytes of a part that were right.
    pub(super) resumed: Vec<u64>,
    pub(super) mended: u64,
    /// Objects held and objects sent, manifests among them. A file is told once, whoever sends it.
    objects: (u64, u64),
}

impl Outcome {
    pub(super) fn is_complete(&self) -> bool {
        self.failed.is_empty() && self.is_settled()
    }

    fn is_settled(&self) -> bool {
        let (held, sent) = self.objects;
        held + self.failed.len() as u64 >= sent
    }
}

/// What senders read.
#[derive(Debug, Default)]
struct Shelf(BTreeMap<ObjectKey, Arc<Vec<u8>>>);

impl Storage for Shelf {
    fn open(&mut self, _: ObjectKey, _: ObjectKind, _: u64) -> Result<(), StorageError> {
        Err(StorageError::Refused)
    }

    fn write(&mut self, _: ObjectKey, _: u64, _: &[u8]) -> Result<(), StorageError> {
        Err(StorageError::Refused)
    }

    fn read(&mut self, key: ObjectKey, offset: u64, into: &mut [u8]) -> Result<(), StorageError> {
        let start = offset as usize;
        into.copy_from_slice(&self.0[&key][start..start + into.len()]);
        Ok(())
    }

    fn close(&mut self, _: ObjectKey, _: bool) {}
}

struct Sender {
    session: Session,
    shelf: Shelf,
    source: SocketAddr,
}

impl Sender {
    fn new(case: &Case, id: u32, rng: &mut Rng) -> Self {
        let sender = SenderConfig {
            instance_id: InstanceId(rng.next_u64() as u16),
            segment_size: SEGMENT,
            rate: Bitrate::from_bytes_per_second(1e9),
            ..SenderConfig::default()
        };
        let node_id = NodeId(id);
        let config = SessionConfig { node_id, sender: Some(sender), ..SessionConfig::default() };
        let mut session = Session::new(config, rng.next_u64(), Time::ZERO);
        let mut shelf = Shelf::default();
        let mut enqueue = |kind, content: &Arc<Vec<u8>>, info, pass| {
            let size = content.len() as u64;
            let object = NewObject { kind, size, info: Some(info), pass };
            let key = session.sender().enqueue(Time::ZERO, object).unwrap();
            shelf.0.insert(key, content.clone());
        };
        let whole = FirstPass::Whole;
        for file in case.files.iter().filter(|file| !file.packed) {
            if let Some(manifest) = file.manifest.as_ref().filter(|_| !case.plain) {
                enqueue(ObjectKind::Data, &Arc::new(manifest.body()), manifest.info(), whole);
            }
            enqueue(ObjectKind::File, &file.content, file.info(case.plain), whole);
        }
        for pack in &case.packs {
            enqueue(ObjectKind::Data, &pack.bytes, pack.info.clone(), pack.pass);
        }
        Self { session, shelf, source: SocketAddr::from(([10, 0, 0, id as u8], 6003)) }
    }
}

/// A receiver under way.
pub(super) struct Life<'a> {
    fs: &'a SimFs,
    senders: Vec<Sender>,
    now: Time,
    session: Session,
    storage: FileStorage,
    job: ReceiveJob,
    outbox: Outbox,
    events: std::sync::mpsc::Receiver<TransferEvent>,
    backlog: Backlog,
    datagrams: u64,
    keys: Vec<ObjectKey>,
    outcome: Outcome,
}

impl<'a> Life<'a> {
    pub(super) fn new(case: &Case, fs: &'a SimFs, rng: &mut Rng) -> Self {
        let directory = Arc::new(Directory::over(fs.root()));
        let backlog = Backlog::new(directory.clone());
        pack::recover(&directory);
        let mut storage = FileStorage::receiving_by(directory.clone(), None, backlog.syncer());
        let receiver = ReceiverConfig { ack: AckPolicy::Confirmed, ..ReceiverConfig::default() };
        let config = SessionConfig {
            node_id: NodeId(100),
            receiver: Some(receiver),
            ..SessionConfig::default()
        };
        let mut session = Session::new(config, rng.next_u64(), Time::ZERO);
        let options = ReceiveOptions { conflict: case.conflict, ..ReceiveOptions::default() };
        let ledger = ledger::share(Ledger::open(directory.clone()));
        storage.consult(ledger.clone());
        let verifier = Verifier::inline(directory.clone(), ledger.clone());
        let parts = storage.part_roots();
        let verified = (verifier, ledger);
        let job = ReceiveJob::start(Time::ZERO, &mut session, directory, verified, options, parts);
        let (to_application, events) = std::sync::mpsc::sync_channel(1 << 16);
        Self {
            fs,
            senders: (1..=case.senders).map(|id| Sender::new(case, id as u32, rng)).collect(),
            now: Time::ZERO,
            session,
            storage,
            job,
            outbox: Outbox::new(to_application),
            events,
            backlog,
            datagrams: 0,
            keys: Vec::new(),
            outcome: Outcome::default(),
        }
    }

    /// Runs until every file is held or has failed, or the user stops it.
    pub(super) fn run(
        mut self,
        weather: Weather,
        stopped_after: Option<u64>,
        rng: &mut Rng,
    ) -> Outcome {
        self.outcome.objects.1 =
            self.senders.iter().map(|sender| sender.shelf.0.len() as u64).sum();
        while !self.outcome.is_settled() && self.now < Time::ZERO + LIMIT {
            self.send(weather, rng);
            self.work(weather, rng);
            self.answer();
            self.outcome.objects.0 = self.job.objects_held();
            if stopped_after.is_some_and(|after| self.datagrams > after) {
                self.job.stop(self.now, &mut self.session, &mut self.storage);
                break;
            }
            let timers = self.senders.iter().map(|sender| sender.session.poll_timeout());
            let timers = timers.chain([self.session.poll_timeout()]).flatten().map(|(at, _)| at);
            let next = timers.chain(self.job.next_timeout()).min();
            let latest = self.now + Duration::from_secs(1);
            self.now = next.map_or(latest, |next| next.clamp(self.now, latest));
        }
        self.end()
    }

    /// As the driver ends: first who verifies, then the store.
    fn end(self) -> Outcome {
        drop(self.job);
        drop(self.storage);
        self.outcome
    }

    fn send(&mut self, weather: Weather, rng: &mut Rng) {
        let mut buffer = Vec::new();
        for number in 0..self.senders.len() {
            let sender = &mut self.senders[number];
            sender.session.handle_timeout(self.now, &mut sender.shelf);
            let transmit =
                sender.session.poll_transmit(self.now, 8, &mut buffer, &mut sender.shelf);
            let Some(transmit) = transmit else { continue };
            let meta = RecvMeta {
                source: sender.source,
                ecn: None,
                unicast: false,
                waited: Duration::ZERO,
            };
            for datagram in buffer.chunks_mut(transmit.segment_size) {
                self.datagrams += 1;
                let corruptible = datagram.len() > 1000 && self.datagrams < CORRUPTIBLE;
                if corruptible && rng.random_bool(weather.corruption) {
                    datagram[900] ^= 1;
                }
                if !rng.random_bool(weather.loss) {
                    self.session.handle_datagram(self.now, meta, datagram, &mut self.storage);
                }
            }
            self.react();
        }
    }

    fn work(&mut self, weather: Weather, rng: &mut Rng) {
        self.session.handle_timeout(self.now, &mut self.storage);
        self.react();
        if rng.random_bool(weather.syncing) {
            self.backlog.run_next();
        }
        if rng.random_bool(0.5) {
            self.job.on_wake(self.now, &mut self.session, &mut self.storage, &mut self.outbox);
            self.react();
        }
        self.job.on_timeout(self.now, &mut self.session, &mut self.storage, &mut self.outbox);
        self.tell();
    }

    fn react(&mut self) {
        while let Some(event) = self.session.poll_event() {
            if let Event::ObjectNew { key, .. } = event {
                self.keys.push(key);
            }
            let Self { job, session, storage, outbox, .. } = self;
            job.on_event(self.now, session, storage, &event, outbox);
            self.tell();
        }
        let receiver = self.session.receiver();
        let received = self.keys.iter().filter_map(|key| receiver.progress(*key)).sum();
        self.fs.with(|state| state.received = received);
    }

    fn answer(&mut self) {
        let mut buffer = Vec::new();
        let source = SocketAddr::from(([10, 0, 0, 100], 6003));
        let meta = RecvMeta { source, ecn: None, unicast: false, waited: Duration::ZERO };
        while let Some(transmit) =
            self.session.poll_transmit(self.now, 8, &mut buffer, &mut self.storage)
        {
            for datagram in buffer.chunks(transmit.segment_size) {
                for sender in &mut self.senders {
                    sender.session.handle_datagram(self.now, meta, datagram, &mut sender.shelf);
                }
            }
        }
    }

    /// What the application hears is what the world may rely on.
    fn tell(&mut self) {
        self.outbox.flush();
        for event in self.events.try_iter() {
            match event {
                TransferEvent::Receive(ReceiveEvent::File { placed, .. }) => {
                    let report = Report { name: placed.name.to_string(), hash: placed.hash };
                    self.fs.with(|state| state.reports.push(report.clone()));
                    self.outcome.held.push(report);
                }
                TransferEvent::Receive(ReceiveEvent::Failed { reason, .. }) => {
                    self.outcome.failed.push(reason);
                }
                TransferEvent::Receive(ReceiveEvent::Resumed { bytes, .. }) => {
                    self.outcome.resumed.push(bytes);
                }
                TransferEvent::Receive(ReceiveEvent::Mending { .. }) => self.outcome.mended += 1,
                _ => {}
            }
        }
    }
}
