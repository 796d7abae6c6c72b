//! What is behind the lock of an instance.

use std::{path::PathBuf, thread::ThreadId};

use fanfare_proto::Time;

use crate::{
    edge::heap::Hooks,
    handle::{Handle, Kind},
    options::Options,
    session::Session,
    slab::Slab,
};

use super::desk::Desk;

/// How far an instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Running,
    /// Its thread pauses.
    Stopped,
    /// Its thread ends.
    Destroyed,
}

/// Sessions, what events name, and settings.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) place: usize,
    pub(crate) sessions: Slab<Session>,
    pub(crate) desk: Desk,
    pub(crate) phase: Phase,
    pub(crate) options: Options,
    /// Where received files go.
    pub(crate) cache: Option<PathBuf>,
    pub(crate) hooks: Hooks,
    /// The thread sleeps until then.
    pub(crate) asleep: Option<Time>,
    suspension: Option<(ThreadId, u32)>,
}

impl State {
    pub(crate) fn new(place: usize, desk: Desk, options: Options) -> Self {
        Self {
            place,
            sessions: Slab::new(Kind::Session, place),
            desk,
            phase: Phase::Running,
            options,
            cache: None,
            hooks: Hooks::default(),
            asleep: None,
            suspension: None,
        }
    }

    /// Another thread holds the instance.
    pub(crate) fn is_suspended_for(&self, thread: ThreadId) -> bool {
        self.suspension.is_some_and(|(owner, _)| owner != thread)
    }

    pub(crate) fn suspend(&mut self, thread: ThreadId) -> bool {
        let depth = self.suspension.map_or(0, |(_, depth)| depth);
        self.suspension = Some((thread, depth.saturating_add(1)));
        true
    }

    /// True when nobody holds it any more.
    pub(crate) fn resume(&mut self, thread: ThreadId) -> bool {
        match self.suspension {
            Some((owner, depth)) if owner == thread => {
                self.suspension = (depth > 1).then_some((owner, depth - 1));
                self.suspension.is_none()
            }
            _ => false,
        }
    }

    pub(crate) fn end_suspension(&mut self) {
        self.suspension = None;
    }

    /// Sessions forget what nobody can name any more.
    pub(crate) fn bury(&mut self) {
        for (session, key, object) in std::mem::take(&mut self.desk.graves) {
            if let Some(session) = self.sessions.get_mut(session) {
                session.forget_object(key, object);
            }
        }
        for (session, node) in std::mem::take(&mut self.desk.left) {
            if let Some(session) = self.sessions.get_mut(session) {
                session.by_node.retain(|_, known| *known != node);
            }
        }
    }

    /// Whether the thread has to be woken for something at `at`.
    pub(crate) fn take_sleep(&mut self, at: Time) -> bool {
        self.asleep.take_if(|until| *until > at).is_some()
    }

    /// Ends a session with its events; what the program has retained stays.
    pub(crate) fn destroy_session(&mut self, handle: Handle) -> bool {
        let Some(mut session) = self.sessions.remove(handle) else { return false };
        self.desk.purge(|event| event.session == handle);
        session.sending.end_objects(&mut self.desk, None);
        session.receiving.end_objects(&mut self.desk, None);
        let objects = self.desk.objects.iter().filter(|(_, object)| object.session == handle);
        let objects: Vec<Handle> = objects.map(|(object, _)| object).collect();
        objects.into_iter().for_each(|object| self.desk.end_object(object));
        let nodes = self.desk.nodes.iter().filter(|(_, node)| node.session == handle);
        let nodes: Vec<Handle> = nodes.map(|(node, _)| node).collect();
        nodes.into_iter().for_each(|node| self.desk.end_node(node));
        self.bury();
        true
    }
}
