//! Messages of [`super::MessageSender`]s on their way into the session: as many as go together at once,
//! and no faster than the session sends and subscribers follow.

use std::{
    collections::BTreeSet,
    sync::{Arc, mpsc::SyncSender},
};

use fanfare_messaging::{
    Batch, Batcher, Options, PublishError, batch::messages, batcher::BATCH_MAX,
};
use fanfare_proto::{EnqueueError, NodeId, ObjectKey, Time};

use super::{
    GroupError,
    body::{Body, Content, hash_of},
    engine::GroupEngine,
    fates::Watch,
    flow::Flow,
    intake::{IntakeReader, Line},
};

/// Objects that the session has and has not sent: while it sends one, the next are there.
const UNSENT_MAX: usize = 8;
/// Bytes taken before it is looked at what has arrived.
const TURN: usize = 4 * BATCH_MAX;
/// A batch on a slow link is what goes in so many milliseconds.
const SLOW_LINK_MS: u64 = 2;
/// What a description has beside its topic and its content, at most, where messages go together.
const DESCRIPTION: usize = 40;

/// What is on its way.
#[derive(Debug)]
pub(crate) struct Publishing {
    reader: IntakeReader,
    batcher: Batcher,
    /// Of the messages in the batcher.
    line: Option<Arc<Line>>,
    /// The session has no room for it.
    held: Option<Batch>,
    pub(crate) flow: Flow,
    unsent: BTreeSet<ObjectKey>,
    /// Who waits until everything is on its way.
    flushes: Vec<SyncSender<()>>,
    /// There is more to take at once, as of when.
    more: Option<Time>,
}

impl Publishing {
    pub(crate) fn new(now: Time, reader: IntakeReader, bytes_max: u64) -> Self {
        Self {
            reader,
            batcher: Batcher::new(now),
            line: None,
            held: None,
            flow: Flow::new(now, bytes_max),
            unsent: BTreeSet::new(),
            flushes: Vec::new(),
            more: None,
        }
    }

    /// Somebody wants everything to be on its way.
    pub(crate) fn begin_flush(&mut self, reply: SyncSender<()>) {
        self.flushes.push(reply);
    }

    fn is_drained(&self) -> bool {
        self.held.is_none() && self.batcher.waiting() == 0 && self.reader.bytes() == 0
    }

    /// It has been sent once. False when it is none of these.
    pub(crate) fn on_sent(&mut self, key: ObjectKey) -> bool {
        self.unsent.remove(&key)
    }

    /// It can no longer be repaired.
    pub(crate) fn on_gone(&mut self, key: ObjectKey) {
        self.unsent.remove(&key);
        self.flow.on_gone(key);
    }

    pub(crate) fn on_left(&mut self, node: NodeId) {
        self.flow.on_left(node);
    }

    /// When to look again, where nothing else wakes.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let flow = self.flow.next_timeout();
        let linger = self.batcher.lingers_until();
        [self.more, flow, linger].into_iter().flatten().min()
    }
}

impl GroupEngine {
    /// Publishes what has come from programs, as far as there is room. Gives whether that was all.
    pub(super) fn take_messages(&mut self, now: Time) -> bool {
        let bytes_max = self.batch_bytes();
        self.publishing.batcher.set_bytes_max(bytes_max);
        self.publishing.more = None;
        let mut taken = 0;
        while self.publish_ready(now) && self.has_room(now) {
            let publishing = &mut self.publishing;
            let flushes = !publishing.flushes.is_empty();
            let lingers = publishing.batcher.lingers(now) && !flushes;
            let wanted = if lingers { bytes_max } else { 1 };
            if !publishing.reader.has(wanted) {
                if flushes {
                    self.conclude_flushes(now);
                }
                return true;
            }
            if taken >= TURN {
                publishing.more = Some(now);
                return false;
            }
            taken += self.take_chunk(now);
        }
        self.publishing.reader.look_later();
        false
    }

    /// Bytes of a batch at the present rate: of one datagram at least.
    fn batch_bytes(&mut self) -> usize {
        let topic = self.publishing.line.as_ref().map_or(0, |line| line.topic.as_str().len());
        let sender = self.node.session().sender();
        let bytes = sender.rate().as_bps() / 8_000 * SLOW_LINK_MS;
        let one = (self.segment_size as usize).saturating_sub(DESCRIPTION + topic);
        usize::try_from(bytes).unwrap_or(BATCH_MAX).clamp(one.min(BATCH_MAX), BATCH_MAX)
    }

    fn has_room(&self, now: Time) -> bool {
        self.publishing.unsent.len() < UNSENT_MAX && self.publishing.flow.has_room(now)
    }

    fn take_chunk(&mut self, now: Time) -> usize {
        let Some(chunk) = self.publishing.reader.take() else { return 0 };
        let same = self.publishing.line.as_ref().is_some_and(|line| Arc::ptr_eq(line, &chunk.line));
        if !same {
            // What one line says of its messages does not hold for another's.
            self.publishing.batcher.flush();
            self.publish_ready(now);
        }
        let Publishing { batcher, line, reader, .. } = &mut self.publishing;
        let Line { topic, options, .. } = &*chunk.line;
        messages(&chunk.content).for_each(|message| batcher.add(topic, options, message));
        let bytes = chunk.content.len();
        *line = Some(chunk.line);
        reader.give_back(chunk.content);
        bytes
    }

    fn conclude_flushes(&mut self, now: Time) {
        self.publishing.batcher.flush();
        if self.publish_ready(now) && self.publishing.is_drained() {
            for reply in self.publishing.flushes.drain(..) {
                // Who asked may have gone away.
                let _ = reply.try_send(());
            }
        }
    }

    /// Publishes the batches that are due. False when the session has no room for one.
    fn publish_ready(&mut self, now: Time) -> bool {
        loop {
            let publishing = &mut self.publishing;
            let next = publishing.held.take().or_else(|| publishing.batcher.poll(now));
            let Some(batch) = next else { return true };
            let Some(line) = publishing.line.clone() else { return true };
            match self.publish_batch(now, &batch, line.watch) {
                Ok(()) => {}
                Err(GroupError::Publish(PublishError::Session(EnqueueError::CacheFull {
                    ..
                }))) => {
                    self.publishing.held = Some(batch);
                    return false;
                }
                Err(error) => line.fail(error),
            }
        }
    }

    fn publish_batch(&mut self, now: Time, batch: &Batch, watch: Watch) -> Result<(), GroupError> {
        let Batch { topic, content, messages: count, options } = batch;
        let bytes: u64 = messages(content).map(|message| message.len() as u64).sum();
        let key = match batch.only() {
            Some(message) => {
                let body = Body::new(message.to_vec());
                self.publish_body(now, (topic, options), &body, None)?
            }
            None => {
                let options = self.with_hash(options, topic.as_str().len(), content);
                let published = self.node.publish_batch(now, batch, options);
                let published = published.map_err(GroupError::Publish)?;
                let content = Content::Memory(Arc::new(content.clone()));
                if !published.inline {
                    self.store.put(published.key, content, None);
                }
                let size = if published.inline { 0 } else { batch.content.len() as u64 };
                self.keep_own(published.key, size, || options.hash.unwrap_or_default())?;
                published.key
            }
        };
        self.publishing.unsent.insert(key);
        self.follow(now, key, watch, (*count, bytes));
        Ok(())
    }

    /// With the hash of these bytes, unless they surely travel in the description.
    pub(super) fn with_hash(&self, options: &Options, topic: usize, bytes: &[u8]) -> Options {
        let inline = bytes.len() + topic + DESCRIPTION <= self.segment_size as usize;
        let hash = || hash_of(bytes);
        Options { hash: (!inline).then(hash), ..*options }
    }
}
