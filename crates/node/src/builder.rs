//! What a node is to do and where, and what stands against it.

use std::{
    hash::{BuildHasher, RandomState},
    net::IpAddr,
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool, mpsc::sync_channel},
};

use fanfare_proto::{
    AckPolicy, FeedbackPath, InstanceId, NodeId, ReceiverConfig, SenderConfig, Session,
    SessionConfig,
};
use fanfare_udp::{Endpoint, EndpointConfig, GroupSpec, Ready, choose_interface, endpoint::Role};

use crate::{
    build_error::BuildError,
    clock::Clock,
    directory::Directory,
    driver::{Driver, Outgoing, TestDrop},
    file_storage::{FileStorage, WINDOW, discard_parts},
    layered::LayeredListener,
    ledger::{self, Ledger},
    moderation::Moderation,
    node::{Node, Stopper},
    outbox::Outbox,
    pack,
    reading::Reading,
    receipt::About,
    receive::{ReceiveJob, ReceiveOptions},
    segment,
    send::{SendJob, SendOptions},
    source::Sources,
    streams::{Stream, block_bytes},
    transfer::{Overruns, Transfer},
    verify::Verifier,
    waker::Waker,
};

/// Events that the channel to the application holds.
pub(crate) const EVENTS: usize = 4096;
/// Shortest segment that is worth having; it holds the announcement of a file.
const SEGMENT_MIN: u32 = 128;

/// Whether a segment follows the link's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// It is as configured, or refused.
    Given,
    /// It may be shorter.
    Shorter,
    /// It may be longer, too.
    Any,
}

/// Says what a [`Node`] is to do and where. Begin with [`Node::builder`].
#[derive(Debug)]
pub struct NodeBuilder {
    pub(crate) endpoint: EndpointConfig,
    pub(crate) interface: Option<String>,
    pub(crate) node_id: Option<NodeId>,
    pub(crate) instance_id: Option<InstanceId>,
    feedback: FeedbackPath,
    pub(crate) sender: SenderConfig,
    pub(crate) receiver: ReceiverConfig,
    send: Option<(Sources, SendOptions)>,
    receive: Option<(PathBuf, ReceiveOptions)>,
    pub(crate) test_drop: f64,
    pub(crate) seed: Option<u64>,
    fit: Fit,
    /// Bytes of other headers beside those of a message.
    pub(crate) beside: u16,
    /// It is one of several that share.
    stream: Option<Stream>,
}

impl NodeBuilder {
    pub(crate) fn new() -> Self {
        Self {
            endpoint: EndpointConfig::default(),
            interface: None,
            node_id: None,
            instance_id: None,
            feedback: FeedbackPath::default(),
            sender: SenderConfig::default(),
            receiver: ReceiverConfig { ack: AckPolicy::Confirmed, ..ReceiverConfig::default() },
            send: None,
            receive: None,
            test_drop: 0.0,
            seed: None,
            fit: Fit::Given,
            beside: 0,
            stream: None,
        }
    }

    /// The group, with interface and node id where they are part of it. A unicast address makes a
    /// session with one receiver.
    #[must_use]
    pub fn group(mut self, spec: GroupSpec) -> Self {
        self.endpoint.group = spec.group;
        self.interface = spec.interface.or(self.interface);
        self.node_id = spec.node_id.map(NodeId).or(self.node_id);
        self
    }

    /// The interface, by name or address. Default: the only one, or the one of the route.
    #[must_use]
    pub fn interface(mut self, interface: &str) -> Self {
        self.interface = Some(interface.to_owned());
        self
    }

    /// Hear this source only (source-specific multicast).
    #[must_use]
    pub fn source(mut self, source: IpAddr) -> Self {
        self.endpoint.source = Some(source);
        self
    }

    /// Routers to pass plus one. Default 1: the link.
    #[must_use]
    pub fn ttl(mut self, ttl: u8) -> Self {
        self.endpoint.ttl = ttl;
        self
    }

    /// Whether nodes on this machine hear it. Default true.
    #[must_use]
    pub fn loopback(mut self, loopback: bool) -> Self {
        self.endpoint.loopback = loopback;
        self
    }

    /// Whether the kernel cuts segments. Default true.
    #[must_use]
    pub fn gso(mut self, gso: bool) -> Self {
        self.endpoint.gso = gso;
        self
    }

    /// Bytes asked for each socket that receives; the system may give less. Default 4 MiB, and 32 MiB
    /// where this user may have more than the system's limit.
    #[must_use]
    pub fn receive_buffer(mut self, bytes: usize) -> Self {
        self.endpoint.receive_buffer = bytes;
        self
    }

    /// This node's id. Default random.
    #[must_use]
    pub fn node_id(mut self, id: NodeId) -> Self {
        self.node_id = Some(id);
        self
    }

    /// Which life of the sender this is. Default random.
    #[must_use]
    pub fn instance_id(mut self, id: InstanceId) -> Self {
        self.instance_id = Some(id);
        self
    }

    /// Where a receiver's feedback goes. Default to the group.
    #[must_use]
    pub fn feedback(mut self, feedback: FeedbackPath) -> Self {
        self.feedback = feedback;
        self
    }

    /// How to send; its instance id is chosen by the node.
    #[must_use]
    pub fn sender_config(mut self, config: SenderConfig) -> Self {
        self.sender = config;
        self
    }

    /// Take another segment than configured: shorter where the link's packets ask for it, instead of
    /// refusing; longer where they and receivers take it, up to 8192 bytes, as long as no router is
    /// to be passed.
    #[must_use]
    pub fn fit_segment(mut self) -> Self {
        self.fit = Fit::Any;
        self
    }

    /// Take a shorter segment than configured where the link's packets ask for it, instead of refusing:
    /// for groups, whose other members may be on links with shorter packets than this one's.
    #[must_use]
    pub fn shorten_segment(mut self) -> Self {
        self.fit = Fit::Shorter;
        self
    }

    /// How to receive. Acknowledgements always wait until files are on disk.
    #[must_use]
    pub fn receiver_config(mut self, config: ReceiverConfig) -> Self {
        self.receiver = ReceiverConfig { ack: AckPolicy::Confirmed, ..config };
        self
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

    /// Lose received datagrams with this probability. For tests and demonstrations.
    #[must_use]
    pub fn test_drop(mut self, probability: f64) -> Self {
        self.test_drop = probability;
        self
    }

    /// Where all of the node's chance comes from. Default random.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    pub(crate) fn stream(mut self, stream: Stream) -> Self {
        self.stream = Some(stream);
        self
    }

    /// Bytes that sending holds at least: a window to read through, a block of the longest segments
    /// that there may be, and a symbol of its parity.
    #[must_use]
    pub fn memory_least(&self) -> usize {
        let config = &self.sender;
        let longest = match self.fit {
            Fit::Any => config.segment_size.max(ReceiverConfig::default().segment_size_max),
            Fit::Given | Fit::Shorter => config.segment_size,
        };
        WINDOW + block_bytes(longest, config.fec.source)
    }

    /// Opens files and sockets and starts the node's thread. Nothing is sent before everything
    /// that this machine can refuse has been asked for.
    pub fn build(mut self) -> Result<Node, BuildError> {
        if self.send.is_none() && self.receive.is_none() {
            return Err(BuildError::NothingToDo);
        }
        let directory = match &self.receive {
            Some((path, options)) => Some(Arc::new(Directory::open(path, options.create_dirs)?)),
            None => None,
        };
        if self.send.is_some() {
            self.check()?;
        }
        let endpoint = self.open_endpoint(self.receive.is_some())?;
        self.choose_segment(&endpoint);
        let seed = self.seed.unwrap_or_else(random);
        let config = self.session_config();
        let id = config.node_id;
        let clock = Clock::start();
        let session = Session::new(config, seed, clock.now());
        self.start(clock, session, endpoint, directory, (id, seed))
    }

    pub(crate) fn open_endpoint(&mut self, receives: bool) -> Result<Endpoint, BuildError> {
        let group = self.endpoint.group.ip();
        let unicast = !group.is_multicast();
        if !unicast {
            self.endpoint.interface = Some(choose_interface(group, self.interface.as_deref())?);
        }
        let hears = receives || !unicast;
        self.endpoint.role = if hears { Role::Member } else { Role::Sender };
        self.endpoint.own = receives;
        Ok(Endpoint::open(&self.endpoint)?)
    }

    /// Refuses what can be refused without opening anything: an unusable interface, a segment too
    /// long for its packets or for receivers.
    pub fn check(&self) -> Result<(), BuildError> {
        let group = self.endpoint.group.ip();
        if !group.is_multicast() {
            return Ok(());
        }
        let interface = choose_interface(group, self.interface.as_deref())?;
        let segment = self.sender.segment_size;
        let max = segment::longest(&interface, group).saturating_sub(u32::from(self.beside));
        if u32::from(segment) > max && !(self.fit != Fit::Given && max >= SEGMENT_MIN) {
            return Err(BuildError::SegmentTooLong { segment, mtu: interface.mtu, max });
        }
        let max = ReceiverConfig::default().segment_size_max;
        if segment > max { Err(BuildError::SegmentRefused { segment, max }) } else { Ok(()) }
    }

    pub(crate) fn choose_segment(&mut self, endpoint: &Endpoint) {
        let Some(interface) = endpoint.interface() else { return };
        let (wanted, ttl) = (self.sender.segment_size, self.endpoint.ttl);
        let group = endpoint.group().ip();
        self.sender.segment_size = match self.fit {
            Fit::Given => wanted,
            Fit::Shorter => segment::shortened(wanted, interface, group, self.beside),
            Fit::Any => segment::fitting(wanted, interface, group, ttl),
        };
    }

    pub(crate) fn session_config(&mut self) -> SessionConfig {
        let id = self.node_id.unwrap_or_else(random_id);
        let instance = self.instance_id.unwrap_or_else(|| InstanceId(random() as u16));
        self.sender.instance_id = instance;
        SessionConfig {
            node_id: id,
            feedback: self.feedback,
            unicast: !self.endpoint.group.ip().is_multicast(),
            sender: self.send.is_some().then(|| self.sender.clone()),
            receiver: self.receive.is_some().then(|| self.receiver.clone()),
            ..SessionConfig::default()
        }
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

    fn start(
        self,
        clock: Clock,
        mut session: Session,
        endpoint: Endpoint,
        directory: Option<Arc<Directory>>,
        (id, seed): (NodeId, u64),
    ) -> Result<Node, BuildError> {
        let waker = Waker::new()?;
        self.clear_up(directory.as_ref());
        let from = self.receive.as_ref().and_then(|(_, options)| options.from);
        let mut storage = match &directory {
            Some(directory) => FileStorage::receiving(directory.clone(), from),
            None => FileStorage::default(),
        };
        let now = clock.now();
        let receive = match (self.receive, directory) {
            (Some((_, options)), Some(directory)) => {
                let parts = storage.part_roots();
                let ledger = ledger::share(Ledger::open(directory.clone()));
                storage.consult(ledger.clone());
                let verifier = Verifier::start(directory.clone(), ledger.clone(), waker.clone())?;
                let verifier = (verifier, ledger);
                let mut job =
                    ReceiveJob::start(now, &mut session, directory, verifier, options, parts);
                job.wake_by(waker.clone());
                Some(job)
            }
            _ => None,
        };
        let about = (About::new(id, self.sender.instance_id), self.sender.segment_size);
        let (to_driver, commands) = sync_channel(16);
        let (to_application, events) = sync_channel(EVENTS);
        let mut outbox = Outbox::new(to_application);
        let start_sending = |(sources, options)| {
            SendJob::start(now, &mut session, &mut storage, sources, options, about, &mut outbox)
        };
        let send = self.send.map(start_sending).transpose().map_err(BuildError::Enqueue)?;
        let mut stream = self.stream;
        if let Some(stream) = &mut stream {
            stream.attach(waker.clone(), &self.sender, &mut session, &mut storage);
        }
        if let Ok(address) = endpoint.local_addr() {
            session.set_address(address);
        }
        let (group, interface) = (endpoint.group(), endpoint.interface().cloned());
        let hears_layers = receive.is_some() && group.ip().is_multicast();
        let silent = self.receiver.silent;
        let layered = hears_layers.then(|| LayeredListener::new(id, group, !seed, silent));
        let (stop, overruns) = (Arc::new(AtomicBool::new(false)), Overruns::default());
        let driver = Driver {
            clock,
            engine: Transfer { session, storage, send, receive, layered, stream, overruns },
            outbox,
            commands,
            stop: stop.clone(),
            ready: Ready { group: true, layers: true, unicast: true, writable: false, woken: true },
            moderation: Moderation::new(endpoint.receive_room(), now),
            waker: waker.clone(),
            outgoing: Outgoing::new(
                &endpoint,
                usize::from(self.sender.segment_size) + segment::HEADER_MAX,
            ),
            endpoint,
            // Another sequence than the session's, from the same seed.
            test_drop: TestDrop::new(self.test_drop, !seed),
            reading: Reading::new(now),
            next_overruns: now,
            next_look: group.ip().is_multicast().then_some(now),
        };
        let thread = std::thread::Builder::new().name("fanfare-node".into());
        let thread = thread.spawn(move || driver.run())?;
        let stopper = Stopper { stop, waker };
        let (commands, events, thread) = (to_driver, Some(events), Some(thread));
        Ok(Node { id, group, interface, stopper, commands, events, thread })
    }
}

/// Never NONE (0) nor ANY (all ones).
pub(crate) fn random_id() -> NodeId {
    NodeId(1 + (random() % 0xffff_fffe) as u32)
}

/// 64 bits that no other run has: the standard library seeds its hashes from the system.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
