//! How a member of a group is made: where it takes part, with what concerns groups.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, mpsc::sync_channel},
};

use fanfare_crypto::policy::Policy;
use fanfare_messaging::{GroupConfig, GroupNode, OBJECTS_IN_VIEW, SENDERS_IN_VIEW};
use fanfare_proto::{AckPolicy, InstanceId, ReceiverConfig, SessionConfig, TailPolicy};
use fanfare_udp::{Awaited, Endpoint};

use super::{
    Group, GroupEvents, GroupHandle,
    checker::Checker,
    engine::GroupEngine,
    event::GroupEvent,
    intake::intake,
    keeper::{Identity, Keeper, Kept, Opened},
    publishing::Publishing,
    revival::revive,
    sieve::Sieve,
    store::{Durable, MessageStore},
};
use crate::{
    chance::{random, random_id},
    clock::Clock,
    driver::Setup,
    join_error::JoinError,
    network::Network,
    outbox::Outbox,
    segment,
    waker::Waker,
};

/// Events that the channel to the application holds; how many messages are among them, gates say.
const EVENTS: usize = 256;
/// A repair is so much longer than the message that it passes on: header of the command, and of ours.
const REPAIR_HEADER: u16 = 22;

/// What concerns groups.
#[derive(Debug, Clone)]
pub struct GroupOptions {
    /// Limits and intervals of the node.
    pub config: GroupConfig,
    /// Longest message that is published or taken, bytes. Default 1 GiB.
    pub message_max: u64,
    /// Messages outlive the process in this directory. This node's id does not: each start is another
    /// life. Default none.
    pub cache_dir: Option<PathBuf>,
    /// It may publish. Default true; without it nothing but feedback and repairs is sent.
    pub publishes: bool,
    /// Who may publish what. Default everybody everything.
    pub policy: Option<Arc<Policy>>,
    /// Nodes that its messages do not wait for: they get much less than the others, and are repaired
    /// afterwards. Default none: the rate follows the slowest.
    pub tail: Option<TailPolicy>,
    /// What its monitor calls this node, if it has one.
    pub name: String,
}

impl Default for GroupOptions {
    fn default() -> Self {
        let config = GroupConfig { verifies: true, greets: true, ..GroupConfig::default() };
        Self {
            config,
            message_max: 1 << 30,
            cache_dir: None,
            publishes: true,
            policy: None,
            tail: None,
            name: String::new(),
        }
    }
}

type Parted = (Option<Durable>, Option<Kept>, Vec<GroupEvent>);

/// What writes, what was there, and what the application should know of that.
fn parted(opened: Option<Opened>) -> Parted {
    let Some(opened) = opened else { return (None, None, Vec::new()) };
    let Opened { keeper, files, kept, damage, .. } = opened;
    let news = damage.map(GroupEvent::Damaged);
    (Some(Durable { keeper, files }), Some(kept), news.into_iter().collect())
}

impl Network {
    /// Makes a member of the group, and starts its thread.
    ///
    /// # Errors
    /// What this machine refuses: interface, sockets, threads.
    pub fn join(mut self, options: GroupOptions) -> Result<Group, JoinError> {
        self.beside += REPAIR_HEADER;
        self.check()?;
        let endpoint = self.open_endpoint(true)?;
        self.choose_segment(&endpoint);
        let seed = self.seed.unwrap_or_else(random);
        let wiring = self.wiring(seed)?;
        let (clock, waker) = (Clock::start(), Waker::new()?);
        let opened = self.open_cache(&options, &waker)?;
        let session = self.group_session(&options);
        let (id, segment_size) = (session.node_id, self.sender.segment_size);
        let now = clock.now();
        let mut config = options.config;
        config.frame_max = config.frame_max.min(usize::from(segment_size));
        config.one_source = self.endpoint.source.is_some();
        let mut node = GroupNode::new(config, session, seed, now);
        node.set_name(&options.name);
        node.session().sender().set_tail(options.tail);
        if let Ok(address) = endpoint.local_addr() {
            node.session().set_address(address);
        }
        let (durable, left, news) = parted(opened);
        let files = durable.as_ref().map(|durable: &Durable| durable.files.clone());
        let mut store = MessageStore::new(id, config.cache_bytes, options.message_max, durable);
        if let (Some(left), Some(files)) = (left, &files) {
            node.set_former_ids(now, left.lives.iter().copied());
            revive(now, &mut node, &mut store, files, left);
        }
        let checker = Checker::start(waker.clone())?;
        let (intake, reader) = intake(waker.clone());
        let publishing = Publishing::new(now, reader, options.config.cache_bytes / 2);
        let limits = (segment_size, options.message_max);
        let mut engine = GroupEngine::new(node, store, checker, publishing, limits);
        engine.news = news;
        engine.sieve = options.policy.clone().map(|policy| Sieve::new(policy, id));
        let (commands, to_obey) = sync_channel(16);
        let (to_application, events) = sync_channel(EVENTS);
        let (address, interface) = (endpoint.group(), endpoint.interface().cloned());
        let awaited = awaited(&endpoint);
        let setup = Setup {
            clock,
            engine,
            message_size: usize::from(segment_size + REPAIR_HEADER) + segment::HEADER_MAX,
            endpoint,
            outbox: Outbox::with_room(to_application, EVENTS * 4),
            commands: to_obey,
            waker,
            wiring,
        };
        let (thread, stopper) = setup.start("fanfare-group")?;
        let (thread, message_max) = (Some(thread), options.message_max);
        let events = Some(GroupEvents::new(events));
        let handle = GroupHandle { id, address, message_max, files, stopper, commands, intake };
        Ok(Group { handle, interface, awaited, events, thread })
    }

    /// The durable cache. What it holds of this node's own stays what earlier lives have said. A directory
    /// may have been copied to other machines, or set back. So nothing in it may name what this life is
    /// going to say.
    fn open_cache(
        &mut self,
        options: &GroupOptions,
        waker: &Waker,
    ) -> Result<Option<Opened>, JoinError> {
        let Some(path) = &options.cache_dir else { return Ok(None) };
        let node = self.node_id.unwrap_or_else(random_id);
        let instance = self.instance_id.unwrap_or_else(|| InstanceId(random() as u16));
        let opened = Keeper::open(path, Identity { node, instance }, waker.clone())?;
        let new = new_life(Identity { node, instance }, &opened.kept, || random() as u16);
        self.node_id = Some(new.node);
        self.instance_id = Some(new.instance);
        Ok(Some(opened))
    }

    fn group_session(&mut self, options: &GroupOptions) -> SessionConfig {
        let mut session = self.session_config();
        let mut sender = self.sender.clone();
        sender.cache_objects = usize::from(OBJECTS_IN_VIEW);
        sender.cache_bytes = options.config.cache_bytes;
        session.sender = options.publishes.then_some(sender);
        session.receiver = Some(ReceiverConfig {
            ack: AckPolicy::Received,
            objects_max: OBJECTS_IN_VIEW,
            senders_max: self.receiver.senders_max.max(SENDERS_IN_VIEW),
            object_size_max: options.message_max,
            ..self.receiver.clone()
        });
        session
    }
}

/// A life of which nothing is kept, `wanted` if that is none.
fn new_life(wanted: Identity, kept: &Kept, mut draw: impl FnMut() -> u16) -> Identity {
    let own = kept.records.iter().filter(|(key, _)| key.sender == wanted.node);
    let lives: BTreeSet<InstanceId> = own.map(|(key, _)| key.instance).collect();
    let mut life = wanted;
    // Lives are far fewer than ids: those that are kept have a message each.
    while lives.contains(&life.instance) && lives.len() < usize::from(u16::MAX) {
        life.instance = InstanceId(draw());
    }
    life
}

/// The interface of this name is not up yet.
fn awaited(endpoint: &Endpoint) -> Option<String> {
    match endpoint.awaited() {
        Some(Awaited::Named(name)) => Some(name.clone()),
        Some(Awaited::Any) | None => None,
    }
}
