//! The objects that can be sent or repaired, in the order of enqueueing.
//!
//! An object's ordinal counts all objects of this sender and never wraps. Its low 16 bits are the
//! object transport id.

use super::line::{Line, Place};
use crate::{
    sender::object::{LONG_REPAIR, TransmitObject},
    time::{Duration, Time},
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use fanfare_wire::{ObjectTransportId, ext::ExtTurn};

/// Ordinal of the first object: id 0, with room below for ids that never were.
const FIRST: u64 = 1 << 32;
/// Widest window of ids that serial arithmetic can order.
const OBJECTS_LIMIT: usize = 32767;
/// This part of the objects is kept however long they are: of a few long ones each may still be wanted.
const FEW: usize = 8;
/// What overtakes another goes before repairs, too, where so many messages hold it: they delay it by
/// more than it delays them.
const SHORT_TURN: u64 = 4;

/// What an id stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sender) enum Found {
    /// In the cache, with its ordinal.
    Cached(u64),
    /// Purged, cancelled, or before the first.
    Gone,
    /// Not enqueued yet.
    Unknown,
}

/// The sender's objects.
#[derive(Debug)]
pub(in crate::sender) struct Cache {
    objects: BTreeMap<u64, TransmitObject>,
    next: u64,
    max: usize,
    /// Of all objects.
    bytes: u64,
    bytes_max: u64,
    /// Objects whose pass is under way or to come, and how many passes each has had.
    new: BTreeMap<u64, u32>,
    /// The same by passes, then ordinal: a carousel goes round all objects before it begins again,
    /// and what was never sent goes first.
    candidates: BTreeSet<(u32, u64)>,
    /// In which order those go that were never sent.
    line: Line,
    /// The last of which anything was sent without a request.
    furthest: u64,
    /// Objects with repairs to be sent.
    repairs: BTreeSet<u64>,
    /// Those of them of which more than whole blocks is wanted.
    urgent: BTreeSet<u64>,
    /// The last that came while nothing new waited.
    prompt: Option<u64>,
    /// An object found no room: purge as soon as one may go.
    wanted: bool,
}

impl Cache {
    /// For `max` objects, those beyond a [`FEW`]th of them within `bytes_max`.
    pub(in crate::sender) fn new(max: usize, bytes_max: u64) -> Self {
        Self {
            objects: BTreeMap::new(),
            next: FIRST,
            max: max.clamp(1, OBJECTS_LIMIT),
            bytes: 0,
            bytes_max,
            new: BTreeMap::new(),
            candidates: BTreeSet::new(),
            line: Line::default(),
            furthest: 0,
            repairs: BTreeSet::new(),
            urgent: BTreeSet::new(),
            prompt: None,
            wanted: false,
        }
    }

    /// Id of the object to be enqueued next.
    pub(in crate::sender) fn next_id(&self) -> ObjectTransportId {
        ObjectTransportId(self.next as u16)
    }

    /// The ordinal of the object to be enqueued next.
    pub(in crate::sender) fn next_ordinal(&self) -> u64 {
        self.next
    }

    /// Takes an object in, under [`Self::next_id`]. The caller has made room.
    pub(in crate::sender) fn push(&mut self, object: TransmitObject) {
        self.bytes = self.bytes.saturating_add(object.size());
        if self.new.is_empty() {
            self.prompt = Some(self.next);
        }
        self.objects.insert(self.next, object);
        self.refresh(self.next);
        self.next += 1;
        self.wanted = false;
    }

    /// The next object gets this id; those that are passed over are gone.
    pub(in crate::sender) fn skip_to(&mut self, id: ObjectTransportId) {
        self.next += u64::from(id.0.wrapping_sub(self.next as u16));
    }

    pub(in crate::sender) fn is_full(&self) -> bool {
        let many = self.objects.len() > self.max / FEW && self.bytes > self.bytes_max;
        many || self.objects.len() >= self.max
    }

    /// Other bounds from now on.
    pub(in crate::sender) fn set_bounds(&mut self, max: usize, bytes_max: u64) {
        (self.max, self.bytes_max) = (max.clamp(1, OBJECTS_LIMIT), bytes_max);
    }

    /// Whether the oldest idle object may give way now.
    pub(in crate::sender) fn has_idle(&self, now: Time, quiet: Duration) -> bool {
        self.next_room(quiet).is_some_and(|(at, _)| at <= now)
    }

    pub(in crate::sender) fn len(&self) -> usize {
        self.objects.len()
    }

    fn ordinal(&self, id: ObjectTransportId) -> u64 {
        let steps = i64::from(self.next_id().distance_to(id));
        self.next.saturating_add_signed(steps)
    }

    pub(in crate::sender) fn find(&self, id: ObjectTransportId) -> Found {
        match self.ordinal(id) {
            ordinal if ordinal >= self.next => Found::Unknown,
            ordinal if self.objects.contains_key(&ordinal) => Found::Cached(ordinal),
            _ => Found::Gone,
        }
    }

    pub(in crate::sender) fn get(&self, ordinal: u64) -> Option<&TransmitObject> {
        self.objects.get(&ordinal)
    }

    pub(in crate::sender) fn get_mut(&mut self, ordinal: u64) -> Option<&mut TransmitObject> {
        self.objects.get_mut(&ordinal)
    }

    /// The cached objects with ids `first` to `last`, both included.
    pub(in crate::sender) fn range(
        &self,
        first: ObjectTransportId,
        last: ObjectTransportId,
    ) -> impl Iterator<Item = (u64, &TransmitObject)> {
        let (first, last) = (self.ordinal(first), self.ordinal(last));
        self.objects.range(first..=last.max(first)).map(|(ordinal, object)| (*ordinal, object))
    }

    /// Ids enqueued so far that are gone, from `first` up to the newest object.
    pub(in crate::sender) fn is_hole(&self, id: ObjectTransportId) -> bool {
        let lowest = self.objects.first_key_value().map_or(self.next, |(ordinal, _)| *ordinal);
        self.find(id) == Found::Gone && self.ordinal(id) > lowest
    }

    /// The earliest object that can be repaired; the next to come when there is none.
    pub(in crate::sender) fn earliest(&self) -> (ObjectTransportId, Option<&TransmitObject>) {
        match self.objects.first_key_value() {
            Some((ordinal, object)) => (ObjectTransportId(*ordinal as u16), Some(object)),
            None => (self.next_id(), None),
        }
    }

    /// The newest object.
    pub(in crate::sender) fn newest(&self) -> Option<(u64, &TransmitObject)> {
        self.objects.last_key_value().map(|(ordinal, object)| (*ordinal, object))
    }

    /// The newest object of which anything has been sent.
    pub(in crate::sender) fn newest_begun(&self) -> Option<u64> {
        let begun = |(_, object): &(&u64, &TransmitObject)| object.has_begun();
        self.objects.iter().rev().find(begun).map(|(ordinal, _)| *ordinal)
    }

    pub(in crate::sender) fn has_new(&self) -> bool {
        !self.new.is_empty()
    }

    /// Whether the first pass of an object is under way or to come.
    pub(in crate::sender) fn has_first_pass(&self) -> bool {
        self.candidates.first().is_some_and(|(passes, _)| *passes == 0)
    }

    /// Whether no more than `bytes` of first passes are to come.
    pub(in crate::sender) fn first_passes_end_within(&self, mut bytes: u64) -> bool {
        let first = self.candidates.iter().take_while(|(passes, _)| *passes == 0);
        let mut left =
            first.filter_map(|(_, ordinal)| Some(self.objects.get(ordinal)?.bytes_left()));
        left.all(|left| bytes.checked_sub(left).map(|rest| bytes = rest).is_some())
    }

    pub(in crate::sender) fn has_repair(&self) -> bool {
        !self.repairs.is_empty()
    }

    /// What is new and goes next.
    pub(in crate::sender) fn first_new(&self) -> Option<u64> {
        let &(passes, oldest) = self.candidates.first()?;
        let segment = || self.objects.get(&oldest).map(|object| object.partition.segment_size);
        match passes {
            0 => self.line.next(oldest, u64::from(segment().unwrap_or(1))).or(Some(oldest)),
            _ => Some(oldest),
        }
    }

    fn place(&self, ordinal: u64) -> Option<Place> {
        self.objects.get(&ordinal).map(TransmitObject::place)
    }

    /// So many bytes of a pass over this object go out.
    pub(in crate::sender) fn on_new_sent(&mut self, ordinal: u64, bytes: usize) {
        if self.new.get(&ordinal) != Some(&0) {
            return;
        }
        self.furthest = self.furthest.max(ordinal);
        let sent = (ordinal, self.place(ordinal));
        let oldest = self.candidates.first().map(|(_, oldest)| (*oldest, self.place(*oldest)));
        self.line.on_sent(bytes as u64, sent, oldest);
    }

    /// What a message of this object says of turns; nothing where none was overtaken. Objects are
    /// said to be open rather than sent where not all of it can be said.
    pub(in crate::sender) fn turns(&self, ordinal: u64) -> impl Iterator<Item = ExtTurn> {
        let ahead = self.furthest > ordinal && self.new.get(&ordinal) == Some(&0);
        let upper = if ahead { self.furthest } else { ordinal };
        let open = self.candidates.range(..=(0, upper)).map(|(_, open)| *open);
        let mut runs = [None; ExtTurn::MAX];
        let most = if ahead { ExtTurn::MAX - 1 } else { ExtTurn::MAX };
        let mut count = 0;
        for open in open.filter(|open| *open != ordinal) {
            match runs[..count].last_mut() {
                Some(Some((_, last))) if count == most || *last + 1 == open => *last = open,
                _ => {
                    runs[count] = Some((open, open));
                    count += 1;
                }
            }
        }
        let open = runs.into_iter().flatten().map(|(first, last): (u64, u64)| ExtTurn::Open {
            first: ObjectTransportId(first as u16),
            count: (last - first + 1).min(u64::from(u8::MAX)) as u8,
        });
        let reach = ExtTurn::Reach(ObjectTransportId(upper as u16));
        open.chain(ahead.then_some(reach))
    }

    /// Whether what goes next overtakes others, and is short.
    fn is_short_turn(&self, first: u64) -> bool {
        let oldest = self.candidates.first().is_some_and(|(_, oldest)| *oldest == first);
        let short = |object: &TransmitObject| {
            object.place().left <= SHORT_TURN * u64::from(object.partition.segment_size)
        };
        !oldest && self.objects.get(&first).is_some_and(short)
    }

    /// Whether what waits to be sent first is one message that came while nothing waited: it goes before repairs, however
    /// many were requested. Of a sender that always has more to send none is such a one.
    ///
    /// One that overtakes another does as well.
    pub(in crate::sender) fn is_prompt(&self) -> bool {
        let Some(first) = self.first_new() else { return false };
        let empty = |object: &TransmitObject| object.partition.object_size == 0;
        let prompt = self.prompt == Some(first) && self.objects.get(&first).is_some_and(empty);
        prompt || self.is_short_turn(first)
    }

    pub(in crate::sender) fn first_repair(&self) -> Option<u64> {
        let lowest = self.repairs.first().copied()?;
        let long = self.objects.get(&lowest).is_some_and(TransmitObject::has_long_repair);
        let urgent = self.urgent.first().copied();
        Some(urgent.filter(|_| long || self.repairs.len() > LONG_REPAIR as usize).unwrap_or(lowest))
    }

    /// Objects without bytes whose NORM_INFO was requested, oldest first.
    pub(in crate::sender) fn info_repairs(&self) -> impl Iterator<Item = ObjectTransportId> + '_ {
        let objects = self.urgent.iter().filter_map(|ordinal| self.objects.get(ordinal));
        objects.filter(|object| object.repairs_info_alone()).map(|object| object.key.object)
    }

    /// It is said otherwise.
    pub(in crate::sender) fn take_info_repair(&mut self, now: Time, id: ObjectTransportId) {
        let Found::Cached(ordinal) = self.find(id) else { return };
        let object = self.objects.get_mut(&ordinal).filter(|object| object.repairs_info_alone());
        if let Some(object) = object {
            object.on_info_said(now);
            self.refresh(ordinal);
        }
    }

    /// It is to be said as it is.
    pub(in crate::sender) fn give_info_repair(&mut self, id: ObjectTransportId) {
        let Found::Cached(ordinal) = self.find(id) else { return };
        if let Some(object) = self.objects.get_mut(&ordinal) {
            object.repair_info();
            self.refresh(ordinal);
        }
    }

    /// Whether everything up to and including `ordinal` was sent and repaired as asked.
    pub(in crate::sender) fn is_past(&self, ordinal: u64) -> bool {
        let after = |first: Option<&u64>| first.is_none_or(|first| *first > ordinal);
        after(self.new.first_key_value().map(|(first, _)| first)) && after(self.repairs.first())
    }

    /// The same of the first `until` symbols of the stream `ordinal`, and of all objects before it.
    pub(in crate::sender) fn is_past_symbols(&self, ordinal: u64, until: u64) -> bool {
        let from = |first: Option<&u64>| first.is_none_or(|first| *first >= ordinal);
        from(self.new.first_key_value().map(|(first, _)| first))
            && from(self.repairs.first())
            && self.objects.get(&ordinal).is_some_and(|object| object.is_past_symbols(until))
    }

    /// Notes what `ordinal` has to send, after a change.
    pub(in crate::sender) fn refresh(&mut self, ordinal: u64) {
        let object = self.objects.get(&ordinal);
        let passes = object.filter(|object| object.has_new()).map(TransmitObject::passes);
        let repair = object.is_some_and(TransmitObject::has_repair);
        let urgent = object.is_some_and(TransmitObject::has_urgent_repair);
        self.next_message(ordinal, passes);
        for (set, pending) in [(&mut self.repairs, repair), (&mut self.urgent, urgent)] {
            if pending {
                set.insert(ordinal);
            } else {
                set.remove(&ordinal);
            }
        }
    }

    /// Puts an object where its next pass has its turn, or takes it from there.
    fn next_message(&mut self, ordinal: u64, passes: Option<u32>) {
        if self.new.get(&ordinal).copied() == passes {
            return;
        }
        if let Some(before) = self.new.remove(&ordinal) {
            self.candidates.remove(&(before, ordinal));
            self.line.remove(ordinal);
        }
        if let Some(passes) = passes {
            self.new.insert(ordinal, passes);
            self.candidates.insert((passes, ordinal));
        }
        if passes == Some(0) {
            let Self { line, objects, .. } = self;
            line.insert(ordinal, |other| objects.get(&other).map(TransmitObject::place));
        }
    }

    /// Takes an object out.
    pub(in crate::sender) fn remove(&mut self, ordinal: u64) -> Option<TransmitObject> {
        let object = self.objects.remove(&ordinal);
        self.bytes -= object.as_ref().map_or(0, TransmitObject::size);
        self.refresh(ordinal);
        object
    }

    /// A flush has ended: what it covered ages from now on.
    pub(in crate::sender) fn on_flushed(&mut self, now: Time) {
        for object in self.objects.values_mut().filter(|object| object.sent.is_some()) {
            object.flushed.get_or_insert(now);
        }
    }

    /// Makes room for one object if one may go: the oldest that is idle and has been neither sent
    /// nor requested within `quiet`. When none may go yet, one goes as soon as it may.
    pub(in crate::sender) fn make_room(
        &mut self,
        now: Time,
        quiet: Duration,
    ) -> Option<TransmitObject> {
        self.wanted = true;
        self.purge_for_room(now, quiet)
    }

    fn purge_for_room(&mut self, now: Time, quiet: Duration) -> Option<TransmitObject> {
        let (at, ordinal) = self.next_room(quiet).filter(|_| self.wanted && self.is_full())?;
        (at <= now).then(|| self.remove(ordinal)).flatten()
    }

    /// When the oldest idle object has been quiet long enough.
    fn next_room(&self, quiet: Duration) -> Option<(Time, u64)> {
        let idle = |(_, object): &(&u64, &TransmitObject)| {
            object.sent.is_some() && !object.has_new() && !object.has_repair()
        };
        self.objects.iter().find(idle).map(|(ordinal, object)| (object.active + quiet, *ordinal))
    }

    /// Takes out what need not be kept any more.
    pub(in crate::sender) fn purge(
        &mut self,
        now: Time,
        quiet: Duration,
        window: Duration,
    ) -> Vec<TransmitObject> {
        let mut purged: Vec<_> = self.purge_for_room(now, quiet).into_iter().collect();
        while let Some((at, ordinal)) = self.next_expiry(quiet, window)
            && at <= now
        {
            purged.extend(self.remove(ordinal));
        }
        purged
    }

    fn next_expiry(&self, quiet: Duration, window: Duration) -> Option<(Time, u64)> {
        // Objects are flushed in order, but for a repaired one, whose clock starts again: looking
        // at the oldest alone may keep others a little longer, never shorter.
        let (ordinal, object) = self.objects.first_key_value()?;
        let idle = !object.has_new() && !object.has_repair();
        let flushed = object.flushed.filter(|_| idle)?;
        Some(((flushed + window).max(object.active + quiet), *ordinal))
    }

    pub(in crate::sender) fn next_timeout(
        &self,
        quiet: Duration,
        window: Duration,
    ) -> Option<Time> {
        let room = self.next_room(quiet).filter(|_| self.wanted && self.is_full());
        [room, self.next_expiry(quiet, window)].into_iter().flatten().map(|(at, _)| at).min()
    }
}

#[cfg(test)]
pub(in crate::sender) mod tests {
    use super::*;
    use crate::{
        sender::coding::{Coding, tests::coding},
        storage::{ObjectKey, ObjectKind},
    };
    use fanfare_wire::{InstanceId, NodeId};

    pub(in crate::sender) fn cache(coding: &Coding, sizes: &[u64], now: Time) -> Cache {
        let mut cache = Cache::new(4, u64::MAX);
        for size in sizes {
            let object = cache.next_id();
            let key = ObjectKey { sender: NodeId(1), instance: InstanceId(1), object };
            let partition = coding.partition(*size).unwrap();
            cache.push(TransmitObject::new(now, key, ObjectKind::Data, partition, None));
        }
        cache
    }

    /// So many objects that are all INFO.
    pub(in crate::sender) fn described(coding: &Coding, count: usize) -> Cache {
        let mut cache = Cache::new(4, u64::MAX);
        for _ in 0..count {
            let object = cache.next_id();
            let key = ObjectKey { sender: NodeId(1), instance: InstanceId(1), object };
            let partition = coding.partition(0).unwrap();
            let info = Some(alloc::vec![1]);
            cache.push(TransmitObject::new(Time::ZERO, key, ObjectKind::Data, partition, info));
        }
        cache
    }

    fn sent(cache: &mut Cache, coding: &Coding, now: Time) {
        while let Some(ordinal) = cache.first_new() {
            let object = cache.get_mut(ordinal).unwrap();
            while object.pop_new(coding).is_some() {}
            object.on_sent(now);
            cache.refresh(ordinal);
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn many_objects_are_kept_within_their_bytes_and_few_however_long_they_are() {
        let coding = coding(4, 2, 0);
        let mut cache = Cache::new(16, 25);
        let mut full = Vec::new();
        for size in [20, 10, 10, 0] {
            full.push(cache.is_full());
            let object = cache.next_id();
            let key = ObjectKey { sender: NodeId(1), instance: InstanceId(1), object };
            let partition = coding.partition(size).unwrap();
            cache.push(TransmitObject::new(Time::ZERO, key, ObjectKind::Data, partition, None));
        }
        assert_eq!(full, [false, false, false, true]);
        let Found::Cached(first) = cache.find(ObjectTransportId(0)) else { panic!() };
        cache.remove(first);
        assert!(!cache.is_full());
    }

    #[test]
    fn serial_arithmetic_tells_cached_ids_from_purged_and_from_unknown_ones() {
        let coding = coding(4, 2, 0);
        let mut cache = cache(&coding, &[10, 10, 10], Time::ZERO);
        let Found::Cached(middle) = cache.find(ObjectTransportId(1)) else { panic!() };
        cache.remove(middle);
        assert_eq!(cache.find(ObjectTransportId(1)), Found::Gone);
        assert_eq!(cache.find(ObjectTransportId(3)), Found::Unknown);
        assert_eq!(cache.find(ObjectTransportId(0xffff)), Found::Gone);
        assert!(cache.is_hole(ObjectTransportId(1)) && !cache.is_hole(ObjectTransportId(0xffff)));
    }

    #[test]
    fn later_rounds_of_a_carousel_are_not_a_first_pass() {
        let coding = coding(4, 2, 0);
        let mut cache = cache(&coding, &[10, 10], Time::ZERO);
        assert!(cache.has_first_pass());
        sent(&mut cache, &coding, Time::ZERO);
        let Found::Cached(first) = cache.find(ObjectTransportId(0)) else { panic!() };
        cache.get_mut(first).unwrap().requeue();
        cache.refresh(first);
        assert!(cache.has_new() && !cache.has_first_pass());
    }

    #[test]
    fn a_carousel_repeats_all_objects_and_takes_new_ones() {
        let coding = coding(4, 2, 0);
        let mut cache = cache(&coding, &[10, 10], Time::ZERO);
        for id in 0..2 {
            let Found::Cached(ordinal) = cache.find(ObjectTransportId(id)) else { panic!() };
            (0..2).for_each(|_| cache.get_mut(ordinal).unwrap().requeue());
        }
        let mut order = Vec::new();
        while let Some(ordinal) = cache.first_new() {
            let object = cache.get_mut(ordinal).unwrap();
            order.push(object.key.object.0);
            assert!(object.pop_new(&coding).is_some());
            object.on_sent(Time::ZERO);
            cache.refresh(ordinal);
            if order.len() == 3 {
                let id = cache.next_id();
                let key = ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: id };
                let partition = coding.partition(10).unwrap();
                cache.push(TransmitObject::new(Time::ZERO, key, ObjectKind::Data, partition, None));
            }
        }
        assert_eq!(order, [0, 1, 0, 2, 1, 0, 1]);
        assert!(cache.is_past(u64::MAX) && cache.candidates.is_empty());
    }

    #[test]
    fn only_an_idle_object_is_purged_and_only_when_its_time_has_come() {
        let coding = coding(4, 2, 0);
        let mut cache = cache(&coding, &[10, 10, 10, 10], Time::ZERO);
        assert!(cache.make_room(Time::ZERO, SECOND).is_none(), "nothing was sent yet");
        sent(&mut cache, &coding, Time::ZERO);
        assert_eq!(cache.next_timeout(SECOND, SECOND), Some(Time::ZERO + SECOND));
        let purged = cache.purge(Time::ZERO + SECOND, SECOND, SECOND);
        assert_eq!(purged.len(), 1);
        assert_eq!(purged[0].key.object, ObjectTransportId(0));
        assert_eq!(cache.next_timeout(SECOND, SECOND), None);
    }

    #[test]
    fn an_object_leaves_when_its_repair_window_has_passed_since_its_flush() {
        let coding = coding(4, 2, 0);
        let mut cache = cache(&coding, &[10, 10], Time::ZERO);
        sent(&mut cache, &coding, Time::ZERO);
        cache.on_flushed(Time::ZERO + SECOND);
        let end = Time::ZERO + SECOND + SECOND;
        assert_eq!(cache.next_timeout(SECOND, SECOND), Some(end));
        assert_eq!(cache.purge(end, SECOND, SECOND).len(), 2);
    }
}
