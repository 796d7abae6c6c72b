//! Announcements of what nodes have: this node's own, and those of others. Differences are
//! requested, told, or repaired.

use super::{GroupNode, encapsulation::COMMAND, greeting, shorts::SHORTS_MAX};
use crate::{
    event::Event,
    frames::frame::{HEADER, Kind},
    membership::holders::{Holders, HoldingClaim, Standing},
    membership::members::Members,
    membership::state::{CALLED_MAX, HEARD_MAX, Holding, State},
    membership::trickle::Absence,
    repair::demand::{Part, Request},
    source_log::{SourceLog, id_of},
};
use alloc::{collections::BTreeMap, vec::Vec};
use core::{cmp::Reverse, ops::Bound};
use fanfare_proto::{Incarnation, InstanceId, NodeId, ObjectKey, SenderSummary, Storage, Time};
use fanfare_wire::ext::{ExtFormer, ExtHeld, Extensions};

/// Objects heeded that one announcement lacks of one publisher.
const LACKING_MAX: usize = 32;
/// While nodes are missing, announcements of all that are there may take this part of what repairs may: in a company of 24
/// vehicles on 600 kbit/s that is less than they take anyway.
const ABSENCE_SHARE: u32 = 100;
/// Instances of a publisher that are in view.
const INSTANCES_MAX: usize = 4;
/// Of IP and UDP, which an announcement costs, too.
const HEADERS: usize = 28;

impl GroupNode {
    /// An announcement that is due.
    pub(super) fn poll_state(&mut self, buf: &mut Vec<u8>) -> bool {
        if !self.config.announces || !self.is_announcement_due() {
            return false;
        }
        let mut called = self.call();
        self.on_greeted();
        let formers = self.former_ids.named(self.now);
        called.extend_from_slice(formers);
        let mut area = Vec::new();
        if !formers.is_empty() {
            ExtFormer::append(formers, &mut area);
            let again = self.former_ids.on_named(self.now);
            again.into_iter().for_each(|at| self.trickle.plan(at));
        }
        let digests = (INSTANCES_MAX * self.callers.len()).min(ExtHeld::MAX);
        let held = if self.callers.is_empty() { 0 } else { ExtHeld::length(digests) };
        let beside = area.len() + held;
        let room = self.config.frame_max.saturating_sub(COMMAND + HEADER + beside);
        let (short, holdings) = match self.shorts < SHORTS_MAX {
            true => Some(self.holdings(true)).filter(|current| !current.is_empty()),
            false => None,
        }
        .map_or_else(|| (false, self.holdings(false)), |current| (true, current));
        let asks = self.delivery.asks();
        let hears = self.members.name(self.now, HEARD_MAX);
        let counted = hears.iter().filter(|hearing| hearing.counts).count();
        let hears_all = counted < HEARD_MAX;
        self.shorts = if short { self.shorts + 1 } else { 0 };
        let one_source = self.config.one_source;
        let state = State {
            asks,
            hears,
            hears_all,
            one_source,
            called,
            holdings,
            short,
            ..State::default()
        };
        let mut content = Vec::new();
        let spoken = state.append(room, &mut content);
        if let Some(last) = spoken.checked_sub(1).and_then(|last| state.holdings.get(last)) {
            self.spoken_of = last.summary.sender;
        }
        // What finds no room makes it long.
        if !State::is_short(&content) && !self.callers.is_empty() {
            ExtHeld::append(&self.digests(&content), &mut area);
            self.callers.clear();
        }
        let kind = (Kind::State, Extensions::parse(&area).unwrap_or_default());
        let content = |_, out: &mut Vec<u8>| out.extend_from_slice(&content);
        match short {
            true => self.write_frame(kind, content, buf),
            false => self.write_command(kind, content, buf),
        }
        // Beyond its rate a sender's link may have no room for it: what queues up there tells a longer round trip.
        self.session.sender().on_spoken(buf.len());
        self.flood.on_announced();
        self.stats.states_sent += 1;
        self.stats.state_bytes_sent += buf.len() as u64;
        true
    }

    /// Digests of what those hold that called on this node: of what this announcement says of them.
    fn digests(&self, announcement: &[u8]) -> Vec<(NodeId, u32)> {
        if self.callers.is_empty() {
            return Vec::new();
        }
        let Some(told) = State::parse(announcement, &mut |_| None) else { return Vec::new() };
        let digest = |holding: &Holding| {
            let log = self.logs.get(&holding.summary.incarnation())?;
            let newest = log.index(holding.summary.newest);
            Some((holding.summary.sender, log.digest(&holding.held(newest), newest)?))
        };
        // Which instance one is of follows from its place: what comes after one that is not known is not told.
        let of_one = |caller: &NodeId| {
            let caller = *caller;
            told.holdings.iter().filter(move |h| h.summary.sender == caller).map_while(digest)
        };
        let mut digests: Vec<(NodeId, u32)> = self.callers.iter().flat_map(of_one).collect();
        digests.truncate((INSTANCES_MAX * self.callers.len()).min(ExtHeld::MAX));
        digests
    }

    /// It is the last occasion: those of whom something came last may still want to know what is held of theirs.
    pub(super) fn answer_all(&mut self) {
        let mut heard: BTreeMap<NodeId, Time> = BTreeMap::new();
        for (key, cached) in self.cache.whole() {
            let last = heard.entry(key.sender).or_default();
            *last = (*last).max(cached.first_heard);
        }
        let mut heard: Vec<(NodeId, Time)> = heard.into_iter().collect();
        heard.sort_by_key(|(_, last)| Reverse(*last));
        for (node, _) in heard {
            self.note_caller(node);
        }
    }

    fn note_caller(&mut self, node: NodeId) {
        if self.callers.len() < ExtHeld::MAX && !self.callers.contains(&node) {
            self.callers.push(node);
        }
    }

    fn is_announcement_due(&mut self) -> bool {
        let here = u32::try_from(self.members.len() + 1).unwrap_or(u32::MAX);
        let rate = self.repairer.rate();
        let Self { trickle, holders, members, rng, now, rolls, stats, .. } = self;
        let insists = || !unheard(holders, members, *rolls).is_empty();
        let absence = || {
            let bytes = HEADERS + (stats.state_bytes_sent / stats.states_sent.max(1)) as usize;
            let spared = rate.time_for(bytes) * ABSENCE_SHARE;
            members.absence(*now).map(|away| Absence { away, here, spared })
        };
        trickle.poll(*now, insists, absence, rng)
    }

    /// Who is to announce soon.
    fn call(&mut self) -> Vec<NodeId> {
        let mut called = unheard(&self.holders, &self.members, self.rolls);
        // Those that find no room have it the next time.
        let turn = called.partition_point(|node| *node <= self.called);
        called.rotate_left(turn);
        called.truncate(CALLED_MAX - 2 - ExtFormer::MAX);
        self.called = called.last().copied().unwrap_or(NodeId::NONE);
        self.members.on_called(&called, self.rolls > 0);
        called.extend(self.unread.take());
        if let Some(left) = self.rolls.checked_sub(1) {
            self.rolls = left;
            called.insert(0, NodeId::ANY);
        }
        called
    }

    /// What is announced of publishers known, from the one that is next, of each the instance that it is in first, or that alone.
    fn holdings(&mut self, current: bool) -> Vec<Holding> {
        let last = (self.spoken_of, InstanceId(u16::MAX));
        let after = self.logs.range((Bound::Excluded(last), Bound::Unbounded));
        let incarnations =
            after.chain(self.logs.range(..=last)).map(|(incarnation, _)| *incarnation);
        let mut incarnations: Vec<(Incarnation, bool)> = incarnations
            .collect::<Vec<_>>()
            .into_iter()
            .map(|incarnation| (incarnation, self.is_past(incarnation)))
            .collect();
        incarnations.retain(|(_, past)| !(current && *past));
        for of_one in incarnations.chunk_by_mut(|((one, _), _), ((other, _), _)| one == other) {
            of_one.sort_by_key(|(_, past)| *past);
        }
        incarnations.into_iter().filter_map(|(incarnation, _)| self.holding(incarnation)).collect()
    }

    /// What is announced of an instance; nothing where its newest object lies before all that concerns us.
    pub(super) fn holding(&mut self, incarnation: Incarnation) -> Option<Holding> {
        let summary = self.summary(incarnation)?;
        let log = self.logs.get(&incarnation)?;
        let newest = Some(log.index(summary.newest)).filter(|newest| *newest >= log.floor())?;
        Some(Holding::of(summary, (log.floor(), newest), log.whole(), log.settled()))
    }

    /// Somebody says what it holds: what it has and we lack is requested; what we have and it lacks
    /// is told soon.
    pub(super) fn on_state(
        &mut self,
        from: NodeId,
        state: &State,
        extensions: &Extensions<'_>,
        storage: &mut dyn Storage,
    ) {
        self.stats.states_heard += 1;
        if state.one_source && !self.members.hears_one_source(from) {
            self.former_ids.on_newcomer(self.now);
        }
        self.members.on_one_source(from, state.one_source);
        self.members.on_hears(from, (&state.hears, state.hears_all), &mut self.events);
        let is_called = |node: NodeId| state.called.contains(&node);
        let own = self.session.node_id();
        let is_heard = state.hears.iter().any(|hearing| hearing.node == own);
        if is_called(own) || is_called(NodeId::ANY) && !is_heard {
            self.shorts = SHORTS_MAX;
            self.note_caller(from);
            match self.config.greets {
                true if greeting::is_greeting(state) => self.welcome(),
                true if greeting::is_newcomer(state) => self.announce_to_newcomer(),
                _ => self.on_call_of(from),
            }
        }
        if !state.short {
            self.members.on_long(from, extensions.held().is_some());
        }
        if state.unread {
            self.unread = Some(from).filter(|_| state.unknown).or(self.unread);
            return;
        }
        self.note_standing(from, state, extensions.held());
        let mut differs = false;
        let mut before = None;
        for holding in &state.holdings {
            differs |= self.on_holding(from, holding, state.asks, storage);
            let incarnation = holding.summary.incarnation();
            // Of each node the instance that it is in comes first.
            if before.replace(incarnation.0) != Some(incarnation.0) && self.heeds(incarnation.0) {
                self.session.receiver().hear_of_incarnation(incarnation);
            }
        }
        match differs {
            true => self.trickle.on_change(self.now, &mut self.rng),
            false => self.trickle.on_consistent(),
        }
    }

    /// What it says of this node's own messages, or by saying nothing.
    fn note_standing(&mut self, from: NodeId, state: &State, named: Option<ExtHeld<'_>>) {
        let own = self.own_incarnation();
        let is_concerned = self.members.knows(from) && !self.members.listens_elsewhere(from);
        let counts = self.holders.watches() && is_concerned;
        let Some(log) = self.logs.get(&own).filter(|_| counts) else { return };
        let told = state.holdings.iter().find(|holding| holding.summary.incarnation() == own);
        let of_own = state.holdings.iter().filter(|holding| holding.summary.sender == own.0);
        let place = of_own.map(|h| h.summary.incarnation()).position(|of| of == own).unwrap_or(0);
        let mut is_foreign = false;
        let told = told.map(|told| {
            let newest = log.index(told.summary.newest);
            let first = if state.short { told.spoken_of(newest).0 } else { 0 };
            let held = told.held(newest);
            let named = named.and_then(|named| named.digests_of(own.0).nth(place));
            let right = named.and_then(|_| log.digest(&held, newest));
            let is_known = right.is_some() && newest <= log.newest();
            // What is said by numbers alone holds of whoever has said nothing else, and reads none of this.
            let by_number = self.members.names_numbers_alone(from);
            let is_ours = by_number || is_known && named == right;
            let first = if by_number { first } else { first.max(SourceLog::digested(newest)) };
            is_foreign = named.is_some() && !is_ours && (is_known || newest > log.newest());
            let holding = match (is_ours, is_foreign) {
                (true, _) => Some(Standing::Holds),
                (_, true) => Some(Standing::Lacks),
                _ => None,
            };
            HoldingClaim { first, held, settled: told.settled(newest), holding }
        });
        let new = self.holders.on_state(from, state.asks, told.as_ref());
        if is_foreign && !core::mem::replace(&mut self.has_twin, true) {
            self.events.push_back(Event::Twin { node: from });
        }
        let events = new.into_iter();
        self.events.extend(events.map(|(key, standing)| Event::Standing {
            key,
            node: from,
            standing,
        }));
    }

    /// `node` announces, and says nothing of holding these objects, which are here. Of short messages
    /// this is as good as a request. Whether there are others.
    fn on_lacking(&mut self, node: NodeId, summary: &SenderSummary, lacking: Vec<u64>) -> bool {
        if lacking.is_empty() {
            return false;
        }
        let incarnation @ (sender, instance) = summary.incarnation();
        let unheard = self.does_not_answer(incarnation, node);
        let serves = self.config.repairs && !self.config.silent;
        let timing = self.timing_of(summary.grtt, summary.backoff, summary.gsize);
        let mut others = false;
        for index in lacking {
            let object = id_of(index);
            let key = ObjectKey { sender, instance, object };
            let short = self.cache.get(key).is_some_and(|cached| cached.whole && cached.size == 0);
            if !short || !serves {
                others = true;
                continue;
            }
            if self.members.hears_nobody(sender) && !self.is_past(incarnation) {
                self.pool_lacking(node, incarnation, index, timing);
                continue;
            }
            let request = Request { unnamed: 1, info: true, unheard, ..Request::default() };
            let chance = (&mut self.rng, &mut self.stats);
            let wanted = (key, Part::Info);
            self.repairer.on_request(self.now, wanted, (&request, 0), timing, chance);
        }
        others
    }

    /// Whether it differs from what is here.
    fn on_holding(
        &mut self,
        from: NodeId,
        holding: &Holding,
        asks: bool,
        storage: &mut dyn Storage,
    ) -> bool {
        let summary = &holding.summary;
        if !self.heeds(summary.sender) {
            return false;
        }
        let ours = self.delivery.asks() && !self.config.silent;
        let Some(log) = self.logs.get(&summary.incarnation()) else {
            return self.on_newer_reported(summary, storage);
        };
        let newest = log.index(summary.newest);
        let has_more = ours && lacks_of(log, holding, newest);
        let lacking = if asks { beyond(log, holding, newest) } else { Vec::new() };
        let has_less = self.on_lacking(from, summary, lacking);
        if has_more {
            self.on_newer_reported(summary, storage);
        }
        has_more || has_less
    }

    /// Somebody near has more of a publisher: whether that is requested.
    pub(super) fn on_newer_reported(
        &mut self,
        summary: &SenderSummary,
        storage: &mut dyn Storage,
    ) -> bool {
        let incarnation = summary.incarnation();
        let asks = self.delivery.asks() && !self.config.silent;
        let own = incarnation.0 == self.session.node_id();
        if !asks || own || !self.heeds(incarnation.0) {
            return false;
        }
        let Some(log) = self.logs.get(&incarnation) else {
            self.foretold.entry(&incarnation, || summary.newest);
            self.session.receiver().hear_of(self.now, summary, storage);
            return true;
        };
        // Also when its newest is here: what others tell of it does not say that there is something before it.
        if log.index(summary.newest) >= log.newest() {
            self.session.receiver().hear_of(self.now, summary, storage);
        }
        if self.requester.is_silent(self.now, incarnation) || self.repairer.is_deaf(incarnation) {
            let timing = self.timing_of(summary.grtt, summary.backoff, summary.gsize);
            let origin_timeout = self.awaited(incarnation, timing);
            self.requester.on_promise(self.now, incarnation, origin_timeout);
        }
        true
    }
}

/// Whether something that it holds is not settled here. Where all that it speaks of is, as mostly, its
/// gaps need not be looked at.
fn lacks_of(log: &SourceLog, holding: &Holding, newest: u64) -> bool {
    let lacks = |first: u64, end| log.settled().gaps(first.max(log.floor()), end).next().is_some();
    let (first, end) = holding.spoken_of(newest);
    lacks(first, end) && holding.held(newest).iter().any(|(first, end)| lacks(first, end))
}

/// What is here, of what it speaks of or newer, that it lacks: the newest of it.
fn beyond(log: &SourceLog, holding: &Holding, newest: u64) -> Vec<u64> {
    let (told, _) = holding.spoken_of(newest);
    let lacking = holding.lacking(newest);
    let here = lacking.flat_map(|(first, end)| log.whole().within(first.max(told), end));
    here.flat_map(|(first, end)| (first..end).rev()).take(LACKING_MAX).collect()
}

/// Those that have not said how they stand to what is watched: while all are called, also who is heard, and so is not
/// called with the others, but has said only what plain nodes say, too.
fn unheard(holders: &Holders, members: &Members, rolls: u32) -> Vec<NodeId> {
    let is_asked = |node: &NodeId| {
        (rolls > 0 || members.is_in_group(*node)) && !members.listens_elsewhere(*node)
    };
    holders.unheard(members.all().map(|(node, _)| node).filter(is_asked))
}
