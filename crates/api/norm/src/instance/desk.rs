//! Everything that events name: nodes, objects, and the queue of events itself.

use std::{
    collections::{HashSet, VecDeque},
    io,
    os::fd::{AsFd as _, AsRawFd as _, OwnedFd},
};

use fanfare_proto::ObjectKey;
use rustix::event::{EventfdFlags, eventfd};

use crate::{
    handle::{Handle, Kind},
    kinds::EventType,
    session::{node::Node, object::Object},
    slab::Slab,
};

/// Events that wait before the instance stops reading its sockets: whoever never fetches an event loses
/// datagrams, not events.
pub(crate) const EVENTS_MAX: usize = 16_384;

/// What a program is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub kind: EventType,
    /// In which session.
    pub session: Handle,
    /// Which remote node is concerned.
    pub node: Handle,
    /// Which object is concerned.
    pub object: Handle,
}

impl Event {
    /// The one that says that there will be no more.
    pub const END: Self = Self {
        kind: EventType::Invalid,
        session: Handle::NULL,
        node: Handle::NULL,
        object: Handle::NULL,
    };

    /// Of this kind one that waits says as much as several.
    fn merges(&self) -> Option<(EventType, Handle)> {
        let subject = if self.object.is_null() { self.session } else { self.object };
        match self.kind {
            EventType::RxObjectUpdated
            | EventType::TxQueueEmpty
            | EventType::TxQueueVacancy
            | EventType::TxRateChanged
            | EventType::SendError => Some((self.kind, subject)),
            EventType::GrttUpdated if self.node.is_null() => Some((self.kind, subject)),
            _ => None,
        }
    }
}

/// Nodes, objects and events of an instance.
#[derive(Debug)]
pub struct Desk {
    pub(crate) nodes: Slab<Node>,
    pub(crate) objects: Slab<Object>,
    queue: VecDeque<Event>,
    merged: HashSet<(EventType, Handle)>,
    /// Readable exactly while events wait.
    descriptor: OwnedFd,
    /// The event that the program looks at.
    current: Option<Event>,
    /// Objects that are gone: their sessions may forget them.
    pub(crate) graves: Vec<(Handle, ObjectKey, Handle)>,
    /// Nodes that are gone.
    pub(crate) left: Vec<(Handle, Handle)>,
}

impl Desk {
    /// # Errors
    /// When the system gives no descriptor.
    pub(crate) fn new(instance: usize) -> io::Result<Self> {
        Ok(Self {
            nodes: Slab::new(Kind::Node, instance),
            objects: Slab::new(Kind::Object, instance),
            queue: VecDeque::new(),
            merged: HashSet::new(),
            descriptor: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            current: None,
            graves: Vec::new(),
            left: Vec::new(),
        })
    }

    pub(crate) fn descriptor(&self) -> i32 {
        self.descriptor.as_fd().as_raw_fd()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.queue.len() >= EVENTS_MAX
    }

    /// Makes the descriptor say what the queue is.
    fn show(&self, was_empty: bool) {
        match (was_empty, self.queue.is_empty()) {
            // It cannot be full: it counts to 1.
            (true, false) => drop(rustix::io::write(&self.descriptor, &1_u64.to_ne_bytes())),
            (false, true) => drop(rustix::io::read(&self.descriptor, &mut [0; 8])),
            _ => {}
        }
    }

    /// Tells the program.
    pub(crate) fn post(&mut self, event: Event) {
        if event.merges().is_some_and(|merged| !self.merged.insert(merged)) {
            return;
        }
        self.hold(event, 1);
        let was_empty = self.queue.is_empty();
        self.queue.push_back(event);
        self.show(was_empty);
    }

    fn hold(&mut self, event: Event, one: i32) {
        let count = |events: &mut u32| *events = events.saturating_add_signed(one);
        if let Some(node) = self.nodes.get_mut(event.node) {
            count(&mut node.holds.events);
        }
        if let Some(object) = self.objects.get_mut(event.object) {
            count(&mut object.holds.events);
        }
    }

    fn let_go(&mut self, event: Event) {
        self.hold(event, -1);
        self.reap_object(event.object);
        self.reap_node(event.node);
    }

    /// The program has done with the event that it fetched last.
    pub(crate) fn release_current(&mut self) {
        if let Some(event) = self.current.take() {
            self.let_go(event);
        }
    }

    /// The next event for the program.
    pub(crate) fn fetch(&mut self) -> Option<Event> {
        let event = self.queue.pop_front()?;
        self.show(false);
        if let Some(merged) = event.merges() {
            self.merged.remove(&merged);
        }
        if event != Event::END {
            self.current = Some(event);
        }
        Some(event)
    }

    /// Takes events back that the program has not fetched.
    pub(crate) fn purge(&mut self, which: impl Fn(&Event) -> bool) {
        let (gone, kept): (VecDeque<Event>, _) = self.queue.drain(..).partition(which);
        let was_empty = kept.is_empty() && gone.is_empty();
        self.queue = kept;
        self.show(was_empty);
        for event in gone {
            if let Some(merged) = event.merges() {
                self.merged.remove(&merged);
            }
            self.let_go(event);
        }
    }

    /// Forgets an object that nobody can name any more.
    pub(crate) fn reap_object(&mut self, handle: Handle) {
        let free = |object: &Object| !object.live && object.holds.is_free();
        if self.objects.get(handle).is_some_and(free)
            && let Some(object) = self.objects.remove(handle)
        {
            self.graves.push((object.session, object.key, handle));
        }
    }

    /// The same of a node.
    pub(crate) fn reap_node(&mut self, handle: Handle) {
        let free = |node: &Node| !node.live && node.holds.is_free();
        if self.nodes.get(handle).is_some_and(free)
            && let Some(node) = self.nodes.remove(handle)
        {
            self.left.push((node.session, handle));
        }
    }

    /// The engine has done with an object.
    pub(crate) fn end_object(&mut self, handle: Handle) {
        if let Some(object) = self.objects.get_mut(handle) {
            object.live = false;
        }
        self.reap_object(handle);
    }

    /// The engine has done with a node.
    pub(crate) fn end_node(&mut self, handle: Handle) {
        if let Some(node) = self.nodes.get_mut(handle) {
            node.live = false;
        }
        self.reap_node(handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventType) -> Event {
        Event { kind, ..Event::END }
    }

    fn is_readable(desk: &Desk) -> bool {
        let mut fds = [rustix::event::PollFd::new(&desk.descriptor, rustix::event::PollFlags::IN)];
        let now = rustix::event::Timespec::default();
        rustix::event::poll(&mut fds, Some(&now)).unwrap() == 1
    }

    #[test]
    fn the_descriptor_is_readable_exactly_while_events_wait() {
        let mut desk = Desk::new(0).unwrap();
        assert!(!is_readable(&desk));
        desk.post(event(EventType::UserTimeout));
        desk.post(event(EventType::CcActive));
        assert!(is_readable(&desk));
        desk.purge(|event| event.kind == EventType::UserTimeout);
        assert!(is_readable(&desk));
        assert_eq!(desk.fetch(), Some(event(EventType::CcActive)));
        assert!(!is_readable(&desk) && desk.fetch().is_none());
        desk.post(event(EventType::CcActive));
        desk.purge(|_| true);
        desk.purge(|_| true);
        assert!(!is_readable(&desk));
    }

    #[test]
    fn an_update_that_waits_says_as_much_as_two() {
        let mut desk = Desk::new(0).unwrap();
        desk.post(event(EventType::RxObjectUpdated));
        desk.post(event(EventType::RxObjectUpdated));
        assert!(desk.fetch().is_some() && desk.fetch().is_none());
        desk.post(event(EventType::RxObjectUpdated));
        assert!(desk.fetch().is_some());
    }
}
