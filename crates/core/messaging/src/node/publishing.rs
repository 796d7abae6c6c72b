//! Publishing: which message travels in its description, and what the session need not say beside it.

use super::GroupNode;
use crate::{
    age::Age,
    batch::Batch,
    description::{Description, Options},
    fnv,
    publisher::PublishError,
    source_log::{self, SourceLog},
    topic::Topic,
};
use fanfare_proto::{Bitrate, Duration, NewObject, ObjectKey, ObjectKind, Time, Turn};

/// Flushes behind the last message: announcements tell of it, too, for as long as anybody lacks it.
pub(super) const FLUSHES: u32 = 1;
/// The same where messages are wanted soon, on a link on which they cost nothing: the loss of the last one
/// and of two flushes is known by the next announcement only, one time in a million at 1 % loss.
const PROMPT_FLUSHES: u32 = 3;
const PROMPT_RATE: Bitrate = Bitrate::mbps(5);
/// But that takes seconds. Where no others pass anything on there is one more for each so many of the last message's bytes, up
/// to as many as without announcements: 1 % more.
const FLUSH_EACH: u64 = 4_800;
/// For each node known, if that is longer: all of them probe, and each probe costs more answers.
const PROBE_EACH: Duration = Duration::from_secs(12);
/// Then intervals begin with a part of that, where they grow from a GRTT on otherwise: half of all probes came before.
const PROBE_STEPS: u32 = 8;

/// What became of a message that was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// Its object.
    pub key: ObjectKey,
    /// It travels in its description. Otherwise its bytes must be readable under the key, through
    /// the storage, from now until the session tells that the object was purged.
    pub inline: bool,
}

impl GroupNode {
    /// Publishes a message. One that is short enough travels in its description; the bytes of any
    /// other must be in storage (see [`Published`]).
    ///
    /// # Errors
    /// The session does not take it, or there are too many topics.
    pub fn publish(
        &mut self,
        now: Time,
        topic: &Topic,
        content: &[u8],
        options: Options,
    ) -> Result<Published, PublishError> {
        // One datagram needs no hash: its checksum is enough.
        let plain = Options { hash: None, ..options };
        let inline = self.publisher.describe(topic, plain, (Some(content), None))?;
        let fits = inline.encode().len() <= self.segment_size;
        if fits && content.len() <= self.config.inline_max {
            let key = self.enqueue(now, &inline, 0)?;
            return Ok(Published { key, inline: true });
        }
        let key = self.publish_stored(now, topic, content.len() as u64, options)?;
        Ok(Published { key, inline: false })
    }

    /// Publishes a message of `size` bytes whose content is in storage.
    ///
    /// # Errors
    /// As [`Self::publish`].
    pub fn publish_stored(
        &mut self,
        now: Time,
        topic: &Topic,
        size: u64,
        options: Options,
    ) -> Result<ObjectKey, PublishError> {
        let message = self.publisher.describe(topic, options, (None, None))?;
        self.enqueue(now, &message, size)
    }

    /// Publishes several messages as one: in its description, or as bytes that must be in storage (see
    /// [`Published`]). `options` are those of the batch with the hash of its content. One message alone
    /// ([`Batch::only`]) is published as such.
    ///
    /// # Errors
    /// As [`Self::publish`].
    pub fn publish_batch(
        &mut self,
        now: Time,
        batch: &Batch,
        options: Options,
    ) -> Result<Published, PublishError> {
        let Batch { topic, content, messages, .. } = batch;
        let plain = Options { hash: None, ..options };
        if content.len() <= self.segment_size.min(self.config.inline_max) {
            let inline = self.publisher.describe(topic, plain, (Some(content), Some(*messages)))?;
            if inline.encode().len() <= self.segment_size {
                let key = self.enqueue(now, &inline, 0)?;
                return Ok(Published { key, inline: true });
            }
        }
        let message = self.publisher.describe(topic, options, (None, Some(*messages)))?;
        let key = self.enqueue(now, &message, content.len() as u64)?;
        Ok(Published { key, inline: false })
    }

    /// Its messages are published fast from now on, and are wanted soon: where only a few nodes are there,
    /// and all are group nodes, they are measured at once, and need not leave time to each other.
    pub fn set_prompt(&mut self, now: Time) {
        self.advance(now);
        self.prompt = true;
        self.call_as_newcomer();
        self.count_few();
    }

    pub(super) fn count_few(&mut self) {
        if self.prompt {
            let few = Some(self.members.len()).filter(|_| self.members.are_in_group());
            self.session.sender().set_few(few);
        }
    }

    /// What the session need not say, or rarely, as others are there now.
    fn spare_words(&mut self, size: u64) {
        if self.config.announces {
            let passed_on = self.members.is_passed_on(self.now);
            let probe_max = PROBE_EACH.saturating_mul(self.members.len() as u32);
            let probe_min =
                if probe_max > self.probe_max { probe_max / PROBE_STEPS } else { Duration::ZERO };
            let prompt = self.prompt;
            let mut sender = self.session.sender();
            let least =
                if prompt && sender.rate() >= PROMPT_RATE { PROMPT_FLUSHES } else { FLUSHES };
            sender.set_flushes_infos(!passed_on || least > FLUSHES);
            let flushes = u32::try_from(size / FLUSH_EACH).unwrap_or(u32::MAX);
            let most = if passed_on { FLUSHES } else { self.flushes_max.max(FLUSHES) };
            sender.set_flushes(flushes.clamp(least, most.max(least)));
            sender.set_probe_range(probe_min, probe_max.max(self.probe_max));
        }
    }

    fn enqueue(
        &mut self,
        now: Time,
        message: &Description,
        size: u64,
    ) -> Result<ObjectKey, PublishError> {
        self.advance(now);
        self.count_few();
        self.spare_words(size);
        let info = message.encode();
        let hash = fnv::hash(&info);
        let object = NewObject {
            kind: ObjectKind::Data,
            size,
            info: Some(info),
            pass: self.first_pass(size),
        };
        let turn = Turn { priority: message.options.priority, lane: lane_of(&message.topic) };
        let key = self.session.sender().enqueue_in_turn(self.now, object, turn);
        let key = key.map_err(PublishError::Session)?;
        let bytes = message.content.as_ref().map_or(size, |content| content.len() as u64);
        let age = Age { heard: self.now, then: Duration::ZERO };
        for replaced in self.publisher.on_published(message, (key, bytes), age) {
            self.session.sender().cancel(replaced.object);
        }
        let earlier = self.publisher.replace_earlier(message);
        self.drop_earlier(&earlier);
        let log = self.logs.entry(key.incarnation());
        let log = log.or_insert_with(|| SourceLog::new(key.object, 0));
        let index = log.on_heard(key.object);
        log.on_whole(index);
        log.set_content(index, source_log::content(key.object, hash));
        log.settle(index);
        if self.config.hears_itself {
            self.hear_own(key, bytes, message);
        }
        self.trickle.on_change(self.now, &mut self.rng);
        Ok(key)
    }
}

/// Messages of one topic keep their order: they have one lane. Two topics may share one (FNV-1a, 64
/// bits), which only keeps more in order.
fn lane_of(topic: &Topic) -> u64 {
    fnv::hash(topic.as_str().as_bytes())
}
