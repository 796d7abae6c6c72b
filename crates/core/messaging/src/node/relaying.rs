//! Forwards short messages to nodes that their publisher does not reach.

use super::GroupNode;
use crate::{
    age,
    cache::Cached,
    frames::compact_info::{self, CompactInfo, Reference, SameTopic},
    frames::frame::Kind,
    repair::demand::{Part, Piece},
    topic::Topic,
};
use alloc::vec::Vec;
use fanfare_proto::{Duration, NodeId, ObjectKey, ObjectTransportId, SenderSummary, Storage};
use fanfare_wire::ext::{ExtAge, Extensions};

/// A topic is not told where an object of at most so many before had it, as of who publishes on some by turns (each is
/// looked up),
const LIKE_MAX: u8 = 32;
/// which has been here for so long: two of the shortest intervals of announcements, after which others have it or know
/// that they lack it.
const KNOWN_AFTER: Duration = Duration::from_secs(5);

impl GroupNode {
    /// Whether it is a whole message that travels in its description.
    pub(super) fn is_short(&self, key: ObjectKey) -> bool {
        let short = |cached: &Cached| cached.whole && cached.size == 0;
        self.cache.get(key).is_some_and(|cached| short(cached) && cached.description.is_some())
    }

    /// `from` sent it: those who do not hear that node, but this one, may have it from here.
    pub(super) fn pass_on_from(&mut self, from: NodeId, key: Option<ObjectKey>, had: bool) {
        let relays = self.config.relays && self.config.repairs && !self.config.silent;
        let Some(key) = key.filter(|key| relays && self.is_short(*key)) else { return };
        let timing = self.timing_in(key.incarnation());
        // Whoever hears a publisher had it from there, unless it has begun another instance.
        let mut senders: Vec<_> =
            Some(key.sender).filter(|_| !self.is_past(key.incarnation())).into_iter().collect();
        senders.extend(Some(from).filter(|from| *from != key.sender));
        let Self { relay, members, rng, now, .. } = self;
        let coverage = |senders: &[NodeId]| members.coverage(*now, senders, key);
        if had {
            return relay.on_again(*now, (key, from), &coverage, (timing, rng));
        }
        relay.on_new(*now, (key, senders), &coverage, (timing, rng));
    }

    /// Short messages of others that may go now, requested and not, as many as one datagram takes.
    pub(super) fn poll_compact(&mut self, buf: &mut Vec<u8>) -> bool {
        let mut headers = self.frame_headers();
        let mut room = self.config.frame_max.saturating_sub(headers);
        let (mut compacts, mut ages, mut aged) = (Vec::new(), Vec::new(), 0);
        if !self.repairer.may_send(self.now) {
            return false;
        }
        // What shares a datagram with another costs little: it does not wait for the budget again.
        while let Some(compact) = self.next_compact() {
            let age =
                self.cache.get(compact.key()).map_or(Duration::ZERO, |c| c.age().at(self.now));
            let extension = if age::is_told(age) { ExtAge::LEN } else { 0 };
            let bytes = compact.room() + extension;
            if (bytes > room || aged >= age::AGED_MAX) && !compacts.is_empty() {
                break;
            }
            room = room.saturating_sub(bytes);
            aged += usize::from(extension > 0);
            // The first one pays for what they have in common.
            self.on_compact_sent(&compact, bytes + core::mem::take(&mut headers));
            compacts.push(compact);
            ages.push(age);
        }
        if compacts.is_empty() {
            return false;
        }
        let area = age::extensions(&ages);
        let kind = (Kind::CompactInfo, Extensions::parse(&area).unwrap_or_default());
        self.write_frame(kind, |envelope, out| compact_info::append(&compacts, envelope, out), buf);
        self.stats.compact_frames_sent += 1;
        self.stats.compact_bytes_sent += buf.len() as u64;
        true
    }

    /// The next of them. It stays the next one until it is told to be sent.
    fn next_compact(&mut self) -> Option<CompactInfo> {
        let asked = self.next_repair().map(|((key, part), ..)| (key, part));
        let asked = asked.filter(|(key, part)| *part == Part::Info && self.is_short(*key));
        if let Some((key, _)) = asked {
            let like = self.like(key).filter(|like| self.is_likely_known(key, *like));
            return self.compact(key, true, like);
        }
        while let Some(key) = self.relay.due(self.now) {
            let like = self.like(key);
            match self.compact(key, false, like) {
                Some(compact) => return Some(compact),
                None => self.relay.forget(key),
            }
        }
        None
    }

    pub(super) fn compact(
        &mut self,
        key: ObjectKey,
        asked: bool,
        like: Option<SameTopic>,
    ) -> Option<CompactInfo> {
        let summary = self.session.receiver().summary(key.incarnation())?;
        let info = self.cache.get(key)?.info.as_ref()?;
        CompactInfo::new(asked, SenderSummary { newest: key.object, ..summary }, info, like)
    }

    /// Whether who requests an object is likely to have this one before it: nobody requests that, and it is the first
    /// answer.
    fn is_likely_known(&self, key: ObjectKey, like: SameTopic) -> bool {
        let before = self.described_before(key, like.before);
        let asked = |before| self.repairer.is_asked((before, Part::Info));
        self.retold.get(&key).is_none() && before.is_some_and(|(before, _)| !asked(before))
    }

    /// An object of the same topic before it that others have had time to get.
    fn like(&mut self, key: ObjectKey) -> Option<SameTopic> {
        // Who is named for it must not be taken for another.
        self.referred(Reference::of(key.sender, key.instance))?;
        let (topic, number) = self.described(key)?;
        let like = |before| {
            let (object, (of, last)) = self.described_before(key, before)?;
            let known = self.now.since(self.cache.get(object)?.first_heard) >= KNOWN_AFTER;
            let counted = last.checked_add(1) == Some(number);
            (known && of == topic).then_some(SameTopic { before, counted })
        };
        (1..=LIKE_MAX).find_map(like)
    }

    /// Its topic and number.
    fn described(&self, key: ObjectKey) -> Option<(&Topic, u64)> {
        let description = self.cache.get(key)?.description.as_ref()?;
        Some((&description.topic, description.number))
    }

    /// The object so many before, where it is here, its topic and number. The log says whether it is that one: ids
    /// begin again after 65,536.
    fn described_before(&self, key: ObjectKey, before: u8) -> Option<(ObjectKey, (&Topic, u64))> {
        let object = ObjectTransportId(key.object.0.wrapping_sub(u16::from(before)));
        let log = self.logs.get(&key.incarnation())?;
        let index = log.index(key.object).checked_sub(u64::from(before))?;
        let here = log.index(object) == index && log.whole().contains(index);
        let key = ObjectKey { object, ..key };
        Some((key, self.described(key).filter(|_| here)?))
    }

    /// A short message that somebody tells, as its publisher would have; `None` where it has the topic of one
    /// that is not here.
    pub(super) fn told_info(
        &mut self,
        compact: &CompactInfo,
        storage: &mut dyn Storage,
    ) -> Option<Vec<u8>> {
        let key = compact.key();
        let known = compact.like.and_then(|like| self.described_before(key, like.before));
        let info = compact.info(known.map(|(_, described)| described));
        // Who has it already needs no topic.
        let info = info.or_else(|| self.cache.get(key).and_then(|cached| cached.info.clone()));
        if info.is_none() {
            self.stats.topics_unknown += 1;
            self.on_newer_reported(&compact.summary, storage);
        }
        info
    }

    fn on_compact_sent(&mut self, compact: &CompactInfo, bytes: usize) {
        let key = compact.key();
        let wanted = (key, Part::Info);
        let timing = self.timing_in(key.incarnation());
        self.relay.forget(key);
        let chance = (timing, &mut self.rng);
        if compact.asked {
            if compact.like.is_some() {
                self.retold.entry(&key, || ());
            }
            self.stats.repairs_sent += 1;
            self.repairer.on_sent(self.now, (wanted, &Piece::Symbol(0), 1), bytes, chance);
        } else {
            self.stats.relays_sent += 1;
            self.repairer.on_relayed(self.now, wanted, bytes, chance);
        }
    }
}
