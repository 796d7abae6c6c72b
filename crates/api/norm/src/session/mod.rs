//! A session: settings, sockets, objects, streams, acknowledgements.
//!
//! - [`settings`]: what a program has set
//! - `opening`, `sockets`: sockets; how sending and receiving begin and end
//! - `turn`: datagrams in and out, and time; `happenings`: what has happened becomes events
//! - [`object`], [`node`]: what handles name; `objects`: data and files
//! - `outgoing`, `incoming`: streams (`out_stream`, `in_stream`: what is kept of each); `store`: where
//!   bytes are
//! - `acking`, `watermarks`: who is asked, and what is told of it; `command`, `commands`: commands of the
//!   program to its receivers

pub(crate) mod acking;
mod command;
mod commands;
mod happenings;
mod in_stream;
mod incoming;
pub mod node;
pub mod object;
mod objects;
pub(crate) mod opening;
mod out_stream;
mod outgoing;
pub mod settings;
mod sockets;
pub(crate) mod store;
mod turn;
mod watermarks;

use std::{
    collections::{BTreeMap, HashMap},
    net::SocketAddr,
    path::PathBuf,
};

use fanfare_proto::{FeedbackPath, Nacking, NodeId, ObjectKey, SessionConfig, Time, rng::Rng};

use crate::{
    edge::heap::Hooks,
    handle::Handle,
    instance::desk::{Desk, Event},
    kinds::EventType,
    options::Options,
};

use acking::Acking;
use command::Command;
use object::Object;
use opening::Opening;
use settings::Settings;
use store::Store;

/// What a session knows of its sending side.
#[derive(Debug, Default)]
pub(crate) struct Sending {
    /// Told as sent when nothing is left to be sent: the object that was written last.
    armed: Handle,
    /// Objects that go once more: told as sent, too, when nothing is left to be sent.
    requeued: Vec<Handle>,
    /// An object was refused for want of room.
    refused: bool,
    /// Told as flushed when the flush ends.
    flushing: Handle,
    /// Streams that are to end.
    closing: Vec<Handle>,
    /// What the program was told.
    rate: f64,
    grtt: f64,
    /// Receivers have answered to congestion control.
    answered: bool,
}

/// The engine of one direction, its bytes and its objects. A session that hears itself has objects of
/// the same name in both.
#[derive(Debug)]
pub(crate) struct Half {
    pub(crate) proto: fanfare_proto::Session,
    pub(crate) store: Store,
    pub(crate) by_key: HashMap<ObjectKey, Handle>,
}

impl Half {
    fn new(config: SessionConfig, seed: u64, now: Time, store: Store) -> Self {
        let proto = fanfare_proto::Session::new(config, seed, now);
        Self { proto, store, by_key: HashMap::new() }
    }

    /// Gives an object a handle. Null when there are too many.
    pub(crate) fn enter(&mut self, desk: &mut Desk, object: Object) -> Handle {
        let key = object.key;
        let Some(handle) = desk.objects.insert(object) else { return Handle::NULL };
        self.by_key.insert(key, handle);
        handle
    }

    /// All objects end. What a program has retained keeps its bytes. `aborts`: the session that tells of
    /// each that was not whole; otherwise nothing is told any more.
    pub(crate) fn end_objects(&mut self, desk: &mut Desk, aborts: Option<Handle>) {
        for (key, handle) in std::mem::take(&mut self.by_key) {
            if let Some(object) = desk.objects.get_mut(handle) {
                object.body = self.store.remove(key).or(object.body.take());
            }
            desk.purge(|event| event.object == handle);
            let open = desk.objects.get(handle).filter(|object| object.live && !object.whole);
            if let Some((session, object)) = aborts.zip(open) {
                let (kind, node) = (EventType::RxObjectAborted, object.sender);
                desk.post(Event { kind, session, node, object: handle });
            }
            desk.end_object(handle);
        }
        self.store.clear();
    }
}

/// A session of an instance.
#[derive(Debug)]
pub struct Session {
    pub(crate) handle: Handle,
    pub(crate) user_data: usize,
    pub(crate) group: SocketAddr,
    pub(crate) node_id: NodeId,
    pub(crate) settings: Settings,
    /// Settings that a program cannot change.
    pub(crate) fixed: Options,
    pub(crate) sending: Half,
    pub(crate) receiving: Half,
    pub(crate) by_node: HashMap<NodeId, Handle>,
    pub(crate) acking: Acking,
    pub(crate) opening: Opening,
    pub(crate) tx: Sending,
    /// Bytes of a segment, and symbols of a block.
    pub(crate) block: (u16, u16),
    /// Objects of which something else is requested than of all.
    pub(crate) own_nacking: BTreeMap<ObjectKey, Nacking>,
    /// Objects received whole.
    pub(crate) completed: u32,
    pub(crate) timer: Option<Time>,
    command: Option<Command>,
    chance: Rng,
    /// Somebody was heard since events were looked at.
    news: bool,
}

impl Session {
    pub(crate) fn new(
        (group, node_id): (SocketAddr, NodeId),
        (seed, now): (u64, Time),
        (cache, hooks): (Option<PathBuf>, Hooks),
    ) -> Self {
        let config = SessionConfig {
            node_id,
            feedback: FeedbackPath::Group,
            unicast: !group.ip().is_multicast(),
            // The instance bounds what waits; what is dropped here would be lost without a word.
            events_max: usize::MAX,
            ..SessionConfig::default()
        };
        Self {
            handle: Handle::NULL,
            user_data: 0,
            group,
            node_id,
            settings: Settings::default(),
            fixed: Options::default(),
            sending: Half::new(config.clone(), seed, now, Store::default()),
            receiving: Half::new(config, !seed, now, Store::new(cache, hooks)),
            by_node: HashMap::new(),
            acking: Acking::default(),
            opening: Opening::default(),
            tx: Sending::default(),
            block: (0, 0),
            own_nacking: BTreeMap::new(),
            completed: 0,
            timer: None,
            command: None,
            chance: Rng::new(seed),
            news: false,
        }
    }

    /// Posts an event of this session.
    pub(crate) fn tell(&self, desk: &mut Desk, kind: EventType, node: Handle, object: Handle) {
        desk.post(Event { kind, session: self.handle, node, object });
    }

    /// Nobody can name this object any more.
    pub(crate) fn forget_object(&mut self, key: ObjectKey, handle: Handle) {
        for half in [&mut self.sending, &mut self.receiving] {
            if half.by_key.get(&key) == Some(&handle) {
                half.by_key.remove(&key);
            }
        }
        self.own_nacking.remove(&key);
    }

    /// What is requested of an object.
    pub(crate) fn nacking_of(&self, key: ObjectKey) -> Nacking {
        self.own_nacking.get(&key).copied().unwrap_or(self.settings.nacking)
    }

    /// Whether there is something that the thread has not looked at.
    pub(crate) fn has_news(&self) -> bool {
        self.opening.has_news()
    }
}
