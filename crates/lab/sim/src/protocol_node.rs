//! The protocol on a host: a session, or a group node around one.

use fanfare_messaging::{Event as GroupEvent, GroupNode, GroupStats};
use fanfare_proto::{Event, RecvMeta, Session, SessionConfig, Stats, Storage, Time, Transmit};

use crate::plan::GroupPlan;

/// Either, driven alike.
#[derive(Debug)]
pub(crate) enum ProtocolNode {
    Plain(Box<Session>),
    Group(Box<GroupNode>),
}

/// What either tells.
pub(crate) enum ProtocolEvent {
    Session(Event),
    Group(GroupEvent),
}

impl ProtocolNode {
    pub(crate) fn new(
        config: SessionConfig,
        group: Option<&GroupPlan>,
        seed: u64,
        now: Time,
    ) -> Self {
        let Some(plan) = group else {
            return Self::Plain(Box::new(Session::new(config, seed, now)));
        };
        let mut node = GroupNode::new(plan.config, config, seed, now);
        plan.subscriptions.iter().for_each(|subscription| {
            node.subscribe(now, subscription.clone());
        });
        Self::Group(Box::new(node))
    }
    pub(crate) fn session(&mut self) -> &mut Session {
        match self {
            Self::Plain(session) => session,
            Self::Group(node) => node.session(),
        }
    }
    pub(crate) fn group(&mut self) -> Option<&mut GroupNode> {
        match self {
            Self::Plain(_) => None,
            Self::Group(node) => Some(node),
        }
    }
    pub(crate) fn group_ref(&self) -> Option<&GroupNode> {
        match self {
            Self::Plain(_) => None,
            Self::Group(node) => Some(node),
        }
    }
    pub(crate) fn stats(&self) -> Stats {
        match self {
            Self::Plain(session) => session.stats(),
            Self::Group(node) => node.session_stats(),
        }
    }
    pub(crate) fn group_stats(&self) -> Option<GroupStats> {
        match self {
            Self::Plain(_) => None,
            Self::Group(node) => Some(node.stats()),
        }
    }
    pub(crate) fn handle_datagram(
        &mut self,
        now: Time,
        meta: RecvMeta,
        bytes: &[u8],
        storage: &mut dyn Storage,
    ) {
        match self {
            Self::Plain(session) => session.handle_datagram(now, meta, bytes, storage),
            Self::Group(node) => node.handle_datagram(now, meta, bytes, storage),
        }
    }
    pub(crate) fn handle_timeout(&mut self, now: Time, storage: &mut dyn Storage) {
        match self {
            Self::Plain(session) => session.handle_timeout(now, storage),
            Self::Group(node) => node.handle_timeout(now, storage),
        }
    }
    /// When it wants to be woken, and why, for who reads it.
    pub(crate) fn poll_timeout(&self) -> Option<(Time, String)> {
        match self {
            Self::Plain(session) => session.poll_timeout().map(|(at, t)| (at, format!("{t:?}"))),
            Self::Group(node) => node.poll_timeout().map(|(at, w)| (at, format!("{w:?}"))),
        }
    }
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        match self {
            Self::Plain(session) => session.poll_timeout().map(|(at, _)| at),
            Self::Group(node) => node.poll_timeout().map(|(at, _)| at),
        }
    }
    pub(crate) fn poll_transmit(
        &mut self,
        now: Time,
        max: usize,
        buf: &mut Vec<u8>,
        storage: &mut dyn Storage,
    ) -> Option<Transmit> {
        match self {
            Self::Plain(session) => session.poll_transmit(now, max, buf, storage),
            Self::Group(node) => node.poll_transmit(now, max, buf, storage),
        }
    }
    pub(crate) fn poll_event(&mut self) -> Option<ProtocolEvent> {
        match self {
            Self::Plain(session) => session.poll_event().map(ProtocolEvent::Session),
            Self::Group(node) => node.poll_event().map(|event| match event {
                GroupEvent::Session(event) => ProtocolEvent::Session(event),
                event => ProtocolEvent::Group(event),
            }),
        }
    }
}
