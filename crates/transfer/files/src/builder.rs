//! What a transfer is to do, and how its thread is started.

use std::{
    path::PathBuf,
    sync::{Arc, mpsc::sync_channel},
};

use crate::content::{
    pack,
    receipt::{About, proof::Nonce},
    source::Sources,
};
use fanfare_node::disk::directory::Directory;
use fanfare_node::{Clock, Network, Outbox, Waker, driver::Setup, segment};
use fanfare_proto::{AckPolicy, NodeId, Session, rng::Rng};
use fanfare_udp::{Awaited, Endpoint};

use crate::{
    engine::{Overruns, TransferEngine},
    file_storage::{FileStorage, WINDOW, discard_parts},
    layered::LayeredListener,
    ledger::{self, Ledger},
    receive::{REFUSED_AFTER, ReceiveJob, ReceiveOptions, SenderFilter},
    send::{SendJob, SendOptions},
    stream::{nowhere::nowhere, target::Sink, writer::Destination},
    streams::{Stream, block_bytes},
    transfer::Transfer,
    transfer_error::TransferError,
    verify::Verifier,
};

/// Events that the channel to the application holds.
pub(crate) const EVENTS: usize = 4096;

/// Says what a [`Transfer`] is to do. Begin with [`Transfer::over`].
#[derive(Debug)]
pub struct TransferBuilder {
    pub(crate) network: Network,
    send: Option<(Sources, SendOptions)>,
    receive: Option<(PathBuf, ReceiveOptions)>,
    /// It is one of several that share.
    stream: Option<Stream>,
}

impl TransferBuilder {
    pub(crate) fn new(network: Network) -> Self {
        Self { network, send: None, receive: None, stream: None }
    }

    /// Send these files.
    #[must_use]
    pub fn send(mut self, sources: Sources, options: SendOptions) -> Self {
        self.send = Some((sources, options));
        self
    }

    /// Receive files into this directory.
    #[must_use]
    pub fn receive(mut self, directory: impl Into<PathBuf>, options: ReceiveOptions) -> Self {
        self.receive = Some((directory.into(), options));
        self
    }

    pub(crate) fn stream(mut self, stream: Stream) -> Self {
        self.stream = Some(stream);
        self
    }

    /// Refuses what can be refused without opening anything: see [`Network::check`].
    ///
    /// # Errors
    /// What was refused, and why.
    pub fn check(&self) -> Result<(), TransferError> {
        Ok(self.network.check()?)
    }

    /// Bytes that sending holds at least: a window to read through, a block of the longest segments
    /// that there may be, and a symbol of its parity.
    #[must_use]
    pub fn memory_least(&self) -> usize {
        let longest = self.network.segment_longest();
        WINDOW + block_bytes(longest, self.network.sender().fec.source)
    }

    /// Opens files and sockets and starts the node's thread. Nothing is sent before everything
    /// that this machine can refuse has been asked for.
    ///
    /// # Errors
    /// What this machine refuses: the directory, files, the interface, sockets, threads.
    pub fn start(mut self) -> Result<Transfer, TransferError> {
        if self.send.is_none() && self.receive.is_none() {
            return Err(TransferError::NothingToDo);
        }
        let sink = match self.receive.as_ref().and_then(|(_, options)| options.to.as_ref()) {
            Some(target) => Some(target.open()?),
            None => None,
        };
        let directory = match &self.receive {
            Some((_, ReceiveOptions { to: Some(target), .. })) => {
                Some(nowhere(target.free().unwrap_or(u64::MAX))?)
            }
            Some((path, options)) => Some(Arc::new(Directory::open(path, options.create_dirs)?)),
            None => None,
        };
        if let Some((_, options)) = &self.send {
            self.network.check()?;
            self.network = match options.one_way {
                true => self.network.unanswered(),
                false => self.network.find_deaf(),
            };
            if !options.one_way && self.receive.is_none() {
                self.network = self.network.let_in();
            }
        }
        if let Some((_, options)) = &self.receive {
            self.network = match options.from {
                SenderFilter::Node(id) => self.network.only_sender(id),
                SenderFilter::Address(address) => self.network.only_address(address),
                SenderFilter::Any | SenderFilter::Name(_) | SenderFilter::Key(_) => self.network,
            };
        }
        let endpoint = self.network.open_endpoint(self.receive.is_some())?;
        self.network.choose_segment(&endpoint);
        let (id, _, seed) = self.network.choose();
        let mut config = self.network.session_config();
        config.sender = config.sender.filter(|_| self.send.is_some());
        config.receiver = config.receiver.filter(|_| self.receive.is_some());
        if let Some(receiver) = &mut config.receiver {
            // Not before files are on disk.
            receiver.ack = AckPolicy::Confirmed;
            receiver.refused_after = REFUSED_AFTER;
        }
        let clock = Clock::start();
        let session = Session::new(config, seed, clock.now());
        self.run(clock, session, endpoint, (directory, sink), (id, seed))
    }

    /// What earlier lives have left.
    fn clear_up(&self, directory: Option<&Arc<Directory>>) {
        let (Some(directory), Some((_, options))) = (directory, &self.receive) else { return };
        pack::recover(directory);
        if options.discard_parts {
            discard_parts(directory);
            directory.remove(&ledger::file_name());
        }
    }

    fn storage(&self, directory: Option<&Arc<Directory>>, only_streams: bool) -> FileStorage {
        let (Some(directory), Some((_, options))) = (directory, &self.receive) else {
            return FileStorage::default();
        };
        let mut storage = FileStorage::receiving(directory.clone(), options.from.node());
        match only_streams {
            true => storage.take_only_streams(),
            false => storage.limit_parts(options.part_limits),
        }
        storage
    }

    fn run(
        self,
        clock: Clock,
        mut session: Session,
        endpoint: Endpoint,
        (directory, sink): (Option<Arc<Directory>>, Option<Sink>),
        (id, seed): (NodeId, u64),
    ) -> Result<Transfer, TransferError> {
        let (waker, wiring) = (Waker::new()?, self.network.wiring(seed)?);
        self.clear_up(directory.as_ref());
        let mut storage = self.storage(directory.as_ref(), sink.is_some());
        let now = clock.now();
        let receive = match (self.receive, directory) {
            (Some((_, options)), Some(directory)) => {
                let parts = storage.part_roots();
                let ledger = ledger::share(Ledger::open(directory.clone()));
                storage.consult(ledger.clone());
                let verifier = Verifier::start(directory.clone(), ledger.clone(), waker.clone())?;
                let verifier = (verifier, ledger);
                let streams = match sink {
                    Some(sink) => Destination::Target(Some(sink)),
                    None => Destination::Directory(directory.clone()),
                };
                if streams.may_hold() {
                    session.receiver().ask_info_first();
                }
                let mut job =
                    ReceiveJob::start(now, &mut session, directory, verifier, options, parts);
                job.write_streams(streams, waker.clone());
                job.listen_in(self.network.session_name());
                job.wake_by(waker.clone());
                Some(job)
            }
            _ => None,
        };
        let sender = self.network.sender();
        let about = (About::new(id, sender.instance_id), sender.segment_size, nonce(id, seed));
        let (to_driver, commands) = sync_channel(16);
        let (to_application, events) = sync_channel(EVENTS);
        let mut outbox = Outbox::new(to_application);
        let session_name = self.network.session_name();
        let mut start_sending = |sources: Sources, mut options: SendOptions| {
            let signer = options.identity.as_ref();
            options.identity = signer.map(|one| Arc::new(one.in_session(&session_name)));
            SendJob::start(now, &mut session, &mut storage, sources, options, about, &mut outbox)
        };
        let mut send = self
            .send
            .map(|(sources, options)| start_sending(sources, options))
            .transpose()
            .map_err(TransferError::Enqueue)?;
        if let Some(send) = &mut send {
            send.start_feed(waker.clone())?;
        }
        let mut stream = self.stream;
        if let Some(stream) = &mut stream {
            stream.attach(waker.clone(), sender, &mut session, &mut storage);
        }
        if let Ok(address) = endpoint.local_addr() {
            session.set_address(address);
        }
        let (group, awaited) = (endpoint.group(), awaited(&endpoint));
        let interface = endpoint.interface().cloned();
        let hears_layers = receive.is_some() && group.ip().is_multicast();
        let silent = self.network.receiver().silent;
        let layered = hears_layers.then(|| LayeredListener::new(id, group, !seed, silent));
        let overruns = Overruns::default();
        let setup = Setup {
            clock,
            engine: TransferEngine { session, storage, send, receive, layered, stream, overruns },
            endpoint,
            outbox,
            commands,
            waker,
            wiring,
            message_size: usize::from(sender.segment_size) + segment::HEADER_MAX,
        };
        let (thread, stopper) = setup.start("fanfare-node")?;
        let (commands, events, thread) = (to_driver, Some(events), Some(thread));
        Ok(Transfer { id, group, interface, awaited, stopper, commands, events, thread })
    }
}

/// Tells this sending from all others.
fn nonce(id: NodeId, seed: u64) -> Nonce {
    Rng::new(seed ^ u64::from(id.0)).next_u64().to_be_bytes()
}

/// The interface of this name is not up yet.
fn awaited(endpoint: &Endpoint) -> Option<String> {
    match endpoint.awaited() {
        Some(Awaited::Named(name)) => Some(name.clone()),
        Some(Awaited::Any) | None => None,
    }
}
