//! A group's node as a driver drives it, with the bytes of its messages.

use std::{collections::VecDeque, net::SocketAddr, time::Duration};

use fanfare_messaging::{ContentHash, Event, GroupNode, Options, Ordering, PublishError, Topic};
use fanfare_proto::{
    AbortReason, EnqueueError, Event as SessionEvent, ObjectKey, RecvMeta, Time, Transmit,
};
use fanfare_udp::Endpoint;

use super::command::Command;
use super::command::Publication;
use super::{
    GroupError,
    body::Body,
    checker::Checker,
    event::{GroupEvent, GroupReport, GroupStatus, Losses},
    fates::{Fates, Watch},
    handover::Handover,
    monitored::monitored,
    publishing::Publishing,
    refusals::Refusals,
    sieve::Sieve,
    store::MessageStore,
};
use crate::{
    engine::{Engine, SocketReport},
    outbox::Outbox,
};

/// Longest for the good-bye.
const FAREWELL: Duration = Duration::from_millis(300);
/// Publications that wait for room in the session; their publishers wait as well. More than a node has clients (256)
/// and gateways: each of them has one at a time, and none is to be refused for others.
const WAITING_MAX: usize = 512;

/// The engine.
#[derive(Debug)]
pub(crate) struct GroupEngine {
    pub(crate) node: GroupNode,
    pub(crate) store: MessageStore,
    pub(crate) checker: Checker,
    pub(crate) segment_size: u64,
    /// From before it ran.
    pub(crate) news: Vec<GroupEvent>,
    pub(super) handover: Handover,
    fates: Fates,
    pub(super) publishing: Publishing,
    refusals: Refusals,
    /// What may come in, where there is a policy.
    pub(super) sieve: Option<Sieve>,
    /// As of the last turn.
    losses: Losses,
    waiting: VecDeque<Publication>,
    ending: Option<Time>,
    done: bool,
}

impl GroupEngine {
    pub(crate) fn new(
        node: GroupNode,
        store: MessageStore,
        checker: Checker,
        publishing: Publishing,
        (segment_size, message_max): (u16, u64),
    ) -> Self {
        Self {
            node,
            store,
            checker,
            segment_size: u64::from(segment_size),
            news: Vec::new(),
            handover: Handover::default(),
            fates: Fates::default(),
            publishing,
            refusals: Refusals::new(message_max),
            sieve: None,
            losses: Losses::default(),
            waiting: VecDeque::new(),
            ending: None,
            done: false,
        }
    }

    fn status(&mut self) -> GroupStatus {
        let session = self.node.session();
        let (node, rate) = (session.node_id(), session.sender().rate());
        let (members, own, kept) = (self.node.members(), self.node.own_count(), self.node.kept());
        let (group, session) = (self.node.stats(), self.node.session_stats());
        let (listeners_elsewhere, losses) = (self.node.listeners_elsewhere(), self.losses);
        GroupStatus { node, rate, members, listeners_elsewhere, own, kept, losses, group, session }
    }

    fn publish_waiting(&mut self, now: Time) {
        // What was published before goes before.
        if self.waiting.is_empty() || !self.take_messages(now) {
            return;
        }
        while let Some(publication) = self.next_waiting(now) {
            let result = self.publish(now, &publication);
            if let Err(GroupError::Publish(full)) = &result
                && let PublishError::Session(EnqueueError::CacheFull { .. }) = full
            {
                self.waiting.push_front(publication);
                return;
            }
            // Who asked may have gone away; the message has not.
            let _ = publication.reply.try_send(result);
        }
    }

    /// The first that may go. Where members are to catch up first, what is more urgent than usual, and what is not
    /// to wait for them, goes before the others.
    fn next_waiting(&mut self, now: Time) -> Option<Publication> {
        let has_room = self.publishing.flow.has_room(now);
        let may_go = |one: &Publication| has_room || !one.waits_for_members();
        let at = self.waiting.iter().position(may_go)?;
        self.waiting.remove(at)
    }

    fn publish(&mut self, now: Time, publication: &Publication) -> Result<ObjectKey, GroupError> {
        let Publication { topic, body, options, watch, file, .. } = publication;
        let key = self.publish_body(now, (topic, options), body, file.clone())?;
        self.follow(now, key, *watch, (1, body.len()));
        Ok(key)
    }

    /// A message of its own object; `file`: where its bytes are in the durable cache.
    pub(super) fn publish_body(
        &mut self,
        now: Time,
        (topic, options): (&Topic, &Options),
        body: &Body,
        file: Option<String>,
    ) -> Result<ObjectKey, GroupError> {
        let short = body.bytes().filter(|bytes| bytes.len() as u64 <= self.segment_size);
        let (key, inline) = match short {
            Some(bytes) => {
                let options = self.with_hash(options, topic.as_str().len(), bytes);
                let published = self.node.publish(now, topic, bytes, options);
                let published = published.map_err(GroupError::Publish)?;
                (published.key, published.inline)
            }
            None => {
                let options = Options { hash: Some(body.hash()), ..*options };
                let stored = self.node.publish_stored(now, topic, body.len(), options);
                (stored.map_err(GroupError::Publish)?, false)
            }
        };
        if !inline {
            self.store.put(key, body.content.clone(), file);
        }
        self.keep_own(key, if inline { 0 } else { body.len() }, || body.hash())?;
        Ok(key)
    }

    /// Follows messages of one object as far as their publisher wants.
    pub(super) fn follow(&mut self, now: Time, key: ObjectKey, watch: Watch, messages: (u32, u64)) {
        if watch.is_told() {
            self.fates.begin(key, messages);
        }
        if watch.is_paced() {
            self.node.watch(key);
            self.publishing.flow.on_published(now, key, messages.1);
        }
    }

    /// Before anything of it is sent it is on disk: its number must not stand for another message
    /// in the next life.
    pub(super) fn keep_own(
        &mut self,
        key: ObjectKey,
        size: u64,
        hash: impl FnOnce() -> ContentHash,
    ) -> Result<(), GroupError> {
        if !self.store.is_durable() {
            return Ok(());
        }
        let Some(message) = self.node.own(key) else { return Ok(()) };
        let number = (message.topic.as_str().to_owned(), message.next_number());
        let description = message.encode();
        self.store.keep_own(key, (size, hash()), description, number).map_err(|why| {
            self.node.session().sender().cancel(key.object);
            GroupError::NotDurable(why)
        })
    }

    /// Another's message is here for good.
    fn on_whole(&mut self, key: ObjectKey, size: u64) {
        if !self.store.is_durable() {
            return;
        }
        // A message in its description has no bytes besides.
        let hash = self.node.hash(key).unwrap_or_default();
        if let Some(info) = self.node.info_message(key, &mut self.store) {
            self.store.keep(key, (size, hash), info);
        }
    }

    /// Whether another's message has the bytes that it should have.
    fn on_verdict(&mut self, now: Time, key: ObjectKey, right: bool) {
        if !right {
            self.store.on_wrong(key);
        }
        self.node.verdict(now, key, right, &mut self.store);
    }

    fn on_event(
        &mut self,
        now: Time,
        event: Event,
        endpoint: &Endpoint,
        outbox: &mut Outbox<GroupEvent>,
    ) {
        match event {
            Event::Message(delivered) => {
                let what = (&delivered.description, delivered.size);
                let sieve = self.sieve.as_mut();
                if sieve.is_some_and(|sieve| sieve.on_message(now, delivered.key, what).is_err()) {
                    return;
                }
                if let Some(permit) = self.handover.on_message(&delivered, outbox.has_room()) {
                    self.give(delivered, permit, outbox);
                }
            }
            Event::Released { key } => {
                self.store.remove(key);
                self.handover.on_gone(key);
            }
            Event::Verify { key, size, hash } => {
                let content = self.store.get(key);
                let verdict = content
                    .map_or(Some(false), |content| self.checker.check(key, (content, size), hash));
                if let Some(right) = verdict {
                    self.on_verdict(now, key, right);
                }
            }
            Event::Whole { key, size } => self.on_whole(key, size),
            Event::Standing { key, node, standing } => {
                self.publishing.flow.on_standing(now, key, node, standing);
                self.fates.on_standing(key, node, standing);
            }
            Event::Joined { node } => outbox.push(GroupEvent::Joined { node }),
            Event::Left { node } => {
                self.publishing.on_left(node);
                outbox.push(GroupEvent::Left { node });
            }
            Event::Twin { node } => {
                let id = self.node.session().node_id();
                outbox.push(GroupEvent::Twin { id, node });
            }
            Event::HearsUs { node, hears } => outbox.push(GroupEvent::HearsUs { node, hears }),
            Event::Session(event) => self.on_session_event(event, endpoint, outbox),
        }
    }

    fn on_session_event(
        &mut self,
        event: SessionEvent,
        endpoint: &Endpoint,
        outbox: &mut Outbox<GroupEvent>,
    ) {
        match event {
            SessionEvent::ObjectSent { key } => {
                let many = self.publishing.on_sent(key);
                if !self.fates.on_sent(key) && !many {
                    outbox.push(GroupEvent::Sent { key });
                }
            }
            SessionEvent::ObjectPurged { key } => {
                self.publishing.on_gone(key);
                self.fates.on_gone(key);
                self.handover.on_gone(key);
            }
            SessionEvent::ObjectTooLong { key, size, info } => {
                self.refusals.on_too_long(key, size, info.as_deref());
            }
            SessionEvent::ObjectAborted { key, reason: AbortReason::Storage(reason) } => {
                self.losses.unkept += 1;
                let too_long = self.refusals.take(key);
                outbox.push(GroupEvent::Lost { key, reason, too_long });
            }
            SessionEvent::NodeIdTaken { source: other, .. } => {
                let id = self.node.session().node_id();
                let taken = endpoint.local_addr().ok();
                let taken = taken.map(|own| GroupEvent::NodeIdTaken { id, own, other });
                outbox.push_all(taken);
            }
            _ => {}
        }
    }
}

impl Engine for GroupEngine {
    type Command = Command;
    type Event = GroupEvent;
    type Report = GroupReport;

    fn handle_datagrams(&mut self, now: Time, meta: RecvMeta, run: &[u8], stride: usize) {
        // Each may be for another machine of the node.
        for datagram in run.chunks(stride.max(1)) {
            let sieve = self.sieve.as_mut();
            if sieve.is_some_and(|sieve| !sieve.admits(meta.source, datagram)) {
                continue;
            }
            self.node.handle_datagram(now, meta, datagram, &mut self.store);
        }
    }

    fn on_heard(&mut self, _now: Time) -> bool {
        true
    }

    fn set_overruns(&mut self, overruns: u64) {
        self.node.session().receiver().set_overruns(overruns);
    }

    fn on_short_path(&mut self) {
        self.node.session().sender().restart_congestion();
    }

    fn set_behind(&mut self, behind: Duration) {
        self.node.session().receiver().set_behind(behind);
    }

    fn set_address(&mut self, address: SocketAddr) {
        self.node.session().set_address(address);
        self.node.on_moved();
    }

    fn obey(&mut self, now: Time, command: Command) {
        // Nobody waits for an answer who has gone away.
        match command {
            Command::Publish(publication) if self.waiting.len() >= WAITING_MAX => {
                let full = EnqueueError::CacheFull { objects: WAITING_MAX };
                let full = GroupError::Publish(PublishError::Session(full));
                let _ = publication.reply.try_send(Err(full));
            }
            Command::Publish(publication) => {
                self.waiting.push_back(*publication);
                self.publish_waiting(now);
            }
            Command::Subscribe(subscription, gate, reply) => {
                let latest = subscription.ordering == Ordering::Latest;
                let id = self.node.subscribe(now, subscription);
                gate.into_iter().for_each(|gate| self.handover.begin(id, gate, latest));
                let _ = reply.try_send(id);
            }
            Command::Unsubscribe(id, reply) => {
                self.handover.end(id);
                let _ = reply.try_send(self.node.unsubscribe(id));
            }
            Command::Fates(reply) => {
                let _ = reply.try_send(self.fates.poll());
            }
            Command::AskStandings => self.node.ask_standings(now),
            Command::Cancel(tag, reply) => {
                let _ = reply.try_send(self.node.cancel(tag));
            }
            Command::Hasten => self.node.set_prompt(now),
            Command::Flush(reply) => {
                self.publishing.begin_flush(reply);
                self.take_messages(now);
            }
            Command::Status(reply) => {
                let _ = reply.try_send(self.status());
            }
            Command::Monitored(reply) => {
                let _ = reply.try_send(monitored(&self.node).map(Box::new));
            }
            Command::SetHostFacts(facts) => self.node.set_host_facts(facts),
            Command::SetCeiling(most) => self.node.session().sender().set_ceiling(most),
        }
    }

    fn stop(&mut self, now: Time, _: &mut Endpoint) {
        self.take_messages(now);
        self.node.leave(now);
        self.ending.get_or_insert(now + FAREWELL);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.take_messages(now);
        if self.publishing.flow.poll_ask(now) {
            self.node.ask_standings(now);
        }
        self.node.handle_timeout(now, &mut self.store);
        let idle = self.node.session().sender().is_idle();
        self.done = self.ending.is_some_and(|end| idle || now >= end);
    }

    fn react(&mut self, now: Time, endpoint: &mut Endpoint, outbox: &mut Outbox<GroupEvent>) {
        while let Some((key, right)) = self.checker.poll() {
            self.on_verdict(now, key, right);
        }
        while let Some(event) = self.node.poll_event() {
            self.on_event(now, event, endpoint, outbox);
        }
        // Who wants to know asks for all that is known.
        while self.node.poll_monitor().is_some() {}
        self.publish_waiting(now);
        self.hand_over(outbox);
        self.losses.dropped = self.handover.dropped();
        let session = self.node.session_stats();
        self.losses.events = outbox.lost() + self.fates.dropped() + session.events_dropped;
        outbox.push_all(self.news.drain(..));
        while let Some(event) = self.store.poll_news() {
            outbox.push(event);
        }
    }

    fn poll_transmit(&mut self, now: Time, max: usize, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.node.poll_transmit(now, max, buf, &mut self.store)
    }

    fn next_timeout(&self) -> Option<Time> {
        let node = self.node.poll_timeout().map(|(at, _)| at);
        [node, self.ending, self.publishing.next_timeout()].into_iter().flatten().min()
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn report(self, sockets: SocketReport) -> GroupReport {
        let (group, session) = (self.node.stats(), self.node.session_stats());
        GroupReport { group, session, losses: self.losses, overruns: sockets.overruns }
    }
}
