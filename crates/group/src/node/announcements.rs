//! What nodes say they hold: this one, and others; what differs there from what is here is asked for, told, or answered.

use super::{GroupNode, frames::COMMAND};
use crate::{
    demand::{Part, Request},
    event::Event,
    frame::{HEADER, Kind},
    source_log::SourceLog,
    state::{HEARD_MAX, Holding, State},
};
use alloc::vec::Vec;
use core::ops::Bound;
use fanfare_proto::{NodeId, ObjectKey, Rumour, Storage};
use fanfare_wire::ObjectTransportId;
use fanfare_wire::ext::Extensions;

/// Objects heeded that one announcement lacks of one publisher.
const LACKING_MAX: usize = 32;
/// Short announcements from one long one to the next, each half as long. A node that is new, or asks, gets a long one at
/// once; the next of these is for who is far behind, or knows an earlier life of a publisher.
pub(super) const SHORTS_MAX: u32 = 7;

impl GroupNode {
    /// An announcement that is due.
    pub(super) fn poll_state(&mut self, buf: &mut Vec<u8>) -> bool {
        let Self { trickle, holders, members, rng, now, .. } = self;
        let unheard = || holders.unheard(members.all().map(|(node, _)| node));
        let insists = || !unheard().is_empty();
        if !self.config.announces || !trickle.poll(*now, insists, || members.absence(*now), rng) {
            return false;
        }
        let mut called = unheard();
        called.extend(self.unread.take());
        if let Some(left) = self.rolls.checked_sub(1) {
            self.rolls = left;
            called.insert(0, NodeId::ANY);
        }
        let room = self.config.frame_max.saturating_sub(COMMAND + HEADER);
        let origins = self.origins_in_turn();
        let holdings: Vec<_> = origins.iter().filter_map(|origin| self.holding(*origin)).collect();
        let asks = self.delivery.asks();
        let hears = self.members.name(self.now, HEARD_MAX);
        let counted = hears.iter().filter(|hearing| hearing.counts).count();
        let hears_all = counted < HEARD_MAX;
        let short = self.shorts < SHORTS_MAX && !holdings.is_empty();
        self.shorts = if short { self.shorts + 1 } else { 0 };
        let state = State { asks, hears, hears_all, called, holdings, short, ..State::default() };
        let mut content = Vec::new();
        let spoken = state.append(room, &mut content);
        if let Some(last) = spoken.checked_sub(1).and_then(|last| state.holdings.get(last)) {
            self.spoken_of = last.rumour.sender;
        }
        let kind = (Kind::State, Extensions::default());
        let content = |_, out: &mut Vec<u8>| out.extend_from_slice(&content);
        match short {
            true => self.write_frame(kind, content, buf),
            false => self.write_command(kind, content, buf),
        }
        // Beyond its rate a sender's link may have no room for it: what queues up there tells a longer round trip.
        self.session.sender().on_spoken(buf.len());
        self.stats.states_sent += 1;
        self.stats.state_bytes_sent += buf.len() as u64;
        true
    }

    /// Publishers known, from the one that is next.
    fn origins_in_turn(&self) -> Vec<NodeId> {
        let after = self.logs.range((Bound::Excluded(self.spoken_of), Bound::Unbounded));
        let before = self.logs.range(..=self.spoken_of);
        after.chain(before).map(|(origin, _)| *origin).collect()
    }

    /// What is announced of a publisher; nothing where its newest object lies before all that concerns us.
    fn holding(&mut self, origin: NodeId) -> Option<Holding> {
        let rumour = self.rumour(origin)?;
        let log = self.logs.get(&origin).filter(|log| log.instance == rumour.instance)?;
        let newest = Some(log.index(rumour.newest)).filter(|newest| *newest >= log.floor())?;
        Some(Holding::of(rumour, (log.floor(), newest), log.whole(), log.settled()))
    }

    /// Somebody says what it holds: what it has and we lack is asked for; what we have and it lacks
    /// is told soon.
    pub(super) fn on_state(&mut self, from: NodeId, state: &State, storage: &mut dyn Storage) {
        self.stats.states_heard += 1;
        self.members.on_hears(from, (&state.hears, state.hears_all), &mut self.events);
        let is_called = |node: NodeId| state.called.contains(&node);
        let own = self.session.node_id();
        let is_heard = state.hears.iter().any(|hearing| hearing.node == own);
        if is_called(own) || is_called(NodeId::ANY) && !is_heard {
            self.shorts = SHORTS_MAX;
            self.trickle.on_call(self.now, &mut self.rng);
        }
        if state.unread {
            self.unread = Some(from).filter(|_| state.unknown).or(self.unread);
            return;
        }
        self.note_standing(from, state);
        let mut differs = false;
        for holding in &state.holdings {
            differs |= self.on_holding(from, holding, state.asks, storage);
        }
        match differs {
            true => self.trickle.on_change(self.now, &mut self.rng),
            false => self.trickle.on_consistent(),
        }
    }

    /// What it says of this node's own messages, or by saying nothing.
    fn note_standing(&mut self, from: NodeId, state: &State) {
        let own = self.session.node_id();
        let Some(log) = self.logs.get(&own).filter(|_| self.holders.watches()) else { return };
        let told = state.holdings.iter().find(|holding| {
            holding.rumour.sender == own && holding.rumour.instance == log.instance
        });
        let sets = told.map(|holding| {
            let newest = log.index(holding.rumour.newest);
            let first = if state.short { holding.spoken_of(newest).0 } else { 0 };
            (first, holding.held(newest), holding.settled(newest))
        });
        let new = self.holders.on_state(from, state.asks, sets.as_ref());
        let events = new.into_iter();
        self.events.extend(events.map(|(key, standing)| Event::Standing {
            key,
            node: from,
            standing,
        }));
    }

    /// `node` announces, and says nothing of holding these objects, which are here. Of short messages
    /// this is as good as a request. Whether there are others.
    fn on_lacking(&mut self, node: NodeId, rumour: &Rumour, lacking: Vec<u64>) -> bool {
        if lacking.is_empty() {
            return false;
        }
        let (origin, instance) = (rumour.sender, rumour.instance);
        let unheard = self.members.is_unheard(origin, node);
        let serves = self.config.repairs && !self.config.silent;
        let timing = self.timing_of(rumour.grtt, rumour.backoff, rumour.gsize);
        let mut others = false;
        for index in lacking {
            let object = ObjectTransportId((index & 0xffff) as u16);
            let key = ObjectKey { sender: origin, instance, object };
            let short = self.cache.get(key).is_some_and(|cached| cached.whole && cached.size == 0);
            if !short || !serves {
                others = true;
                continue;
            }
            if self.members.hears_nobody(origin) {
                self.pool_lacking(node, origin, index, timing);
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
        let rumour = &holding.rumour;
        let origin = rumour.sender;
        let ours = self.delivery.asks() && !self.config.silent;
        let Some(log) = self.logs.get(&origin) else { return self.hear_of_more(rumour, storage) };
        if log.instance != rumour.instance {
            return false;
        }
        let newest = log.index(rumour.newest);
        let has_more = ours && lacks_of(log, holding, newest);
        let lacking = if asks { beyond(log, holding, newest) } else { Vec::new() };
        let has_less = self.on_lacking(from, rumour, lacking);
        if has_more {
            self.hear_of_more(rumour, storage);
        }
        has_more || has_less
    }

    /// Somebody near has more of a publisher: whether that is asked for.
    pub(super) fn hear_of_more(&mut self, rumour: &Rumour, storage: &mut dyn Storage) -> bool {
        let origin = rumour.sender;
        let asks = self.delivery.asks() && !self.config.silent;
        if !asks || origin == self.session.node_id() {
            return false;
        }
        let Some(log) = self.logs.get(&origin) else {
            self.session.receiver().hear_of(self.now, rumour, storage);
            return true;
        };
        if log.instance != rumour.instance {
            return false;
        }
        // Also when its newest is here: what others tell of it does not say that there is something before it.
        if log.index(rumour.newest) >= log.newest() {
            self.session.receiver().hear_of(self.now, rumour, storage);
        }
        if self.asker.is_silent(self.now, origin) || self.repairer.is_deaf(origin) {
            let timing = self.timing_of(rumour.grtt, rumour.backoff, rumour.gsize);
            let patience = self.awaited(origin, timing);
            self.asker.on_promise(self.now, origin, patience);
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
