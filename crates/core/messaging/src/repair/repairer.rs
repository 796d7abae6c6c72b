//! Repairs for origins that do not answer: which of several repairers answers, when, and with what.
//!
//! A request belongs to the origin for as long as an answer takes ([`OriginTimeout`]). After that
//! the repairers wait a random time. Those that have the whole block wait less, and the first to
//! send suppresses the others ([`Demand`] counts what is heard). Each sends parity symbols of a
//! slice of its own.

use crate::{
    frames::slice,
    repair::carried_rate::CarriedRate,
    repair::demand::{Demand, Part, Piece, Request, Wanted},
    repair::origin_timeout::OriginTimeout,
    repair::symbol_choice::choose,
    repair::token_bucket::TokenBucket,
    stats::GroupStats,
};
use alloc::{collections::BTreeMap, vec::Vec};
use core::cmp::Reverse;
use fanfare_proto::{
    Bitrate, Duration, HeldBlock, Incarnation, NodeId, ObjectKey, Time, TimerQueue, backoff,
    rng::Rng,
};

/// Requests kept at once.
const DEMANDS_MAX: usize = 4096;
/// Requests are remembered so long: those that have been answered for what was sent already, others since who still
/// lacks something asks again.
const MEMORY: Duration = Duration::from_secs(60);
/// When all are open, a place is looked for again after so long: each look is at all of them.
const FULL_FOR: Duration = Duration::from_secs(1);
/// Nodes that answer in a first round of requests: some may hold nothing of it, and everyone who waits
/// but misses the answer answers again. Twice as many with every round more.
const ANSWERING: u64 = 3;
/// Origins whose answers are watched.
const ORIGINS_MAX: usize = 1024;

/// What an origin's header says, for reckoning times.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OriginTiming {
    pub(crate) grtt: Duration,
    pub(crate) backoff: u8,
    /// Nodes that may want to speak.
    pub(crate) group: u32,
    /// Other nodes known.
    pub(crate) members: u32,
}

impl OriginTiming {
    pub(crate) fn window(&self) -> Duration {
        self.grtt * u32::from(self.backoff.max(1))
    }
    pub(crate) fn draw(&self, rng: &mut Rng) -> Duration {
        backoff::random_backoff(self.window(), self.group, rng)
    }
}

/// Who was heard to send a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SymbolSource {
    Origin,
    Repairer,
    /// Unasked: it says nothing of the origin.
    Relay,
    Own,
}

/// The repairing machine.
#[derive(Debug)]
pub(crate) struct Repairer {
    node: NodeId,
    demands: BTreeMap<Wanted, Demand>,
    /// When those of them are to be answered that are open and have a time: few, of many remembered.
    waiting: TimerQueue<Wanted, Time>,
    origins: BTreeMap<Incarnation, OriginTimeout>,
    /// When this node asked an origin itself.
    own_requests: BTreeMap<Incarnation, Time>,
    /// All places are taken until then: it is not looked for one before.
    full: Time,
    /// Rate that the medium carries, where that is followed.
    carried: Option<CarriedRate>,
    budget: TokenBucket,
}

impl Repairer {
    /// It sends at no more than this rate, and at no more than its part of what the medium carries.
    pub(crate) fn new(node: NodeId, now: Time, rate: Bitrate) -> Self {
        let mut carried = CarriedRate::new(now, rate);
        let budget = TokenBucket::new(now, carried.for_repairs(now));
        Self::of(node, now, Some(carried), budget)
    }

    /// It sends at this rate, whatever the medium carries.
    pub(crate) fn fixed(node: NodeId, now: Time, rate: Bitrate) -> Self {
        Self::of(node, now, None, TokenBucket::new(now, rate))
    }

    fn of(node: NodeId, now: Time, carried: Option<CarriedRate>, budget: TokenBucket) -> Self {
        let (demands, origins) = (BTreeMap::new(), BTreeMap::new());
        let (waiting, own_requests) = (TimerQueue::default(), BTreeMap::new());
        Self { node, demands, waiting, origins, own_requests, full: now, carried, budget }
    }

    /// Requests kept.
    pub(crate) fn len(&self) -> usize {
        self.demands.len()
    }

    pub(crate) fn is_deaf(&self, origin: Incarnation) -> bool {
        self.origins.get(&origin).is_some_and(OriginTimeout::is_deaf)
    }

    /// A NACK requests something that is here, in whole or in part: `lacking` is what is not, in percent.
    pub(crate) fn on_request(
        &mut self,
        now: Time,
        wanted: Wanted,
        (request, lacking): (&Request, u8),
        timing: OriginTiming,
        (rng, stats): (&mut Rng, &mut GroupStats),
    ) {
        if !self.demands.contains_key(&wanted) && !self.make_place(now) {
            stats.demands_dropped += 1;
            return;
        }
        let origin_timeout = self.origins.get(&wanted.0.incarnation()).copied().unwrap_or_default();
        let demand = self.demands.entry(wanted).or_insert_with(|| Demand::new(now));
        let was_open = demand.is_open();
        demand.on_request(now, request, timing.grtt);
        stats.demands += u64::from(!was_open && demand.is_open());
        // What could not be answered before may be requested otherwise now.
        let round = demand.round(now, timing.grtt * (u32::from(timing.backoff) + 1));
        let chosen = ANSWERING << (round - 1).min(32);
        let block = match wanted.1 {
            Part::Info => u32::MAX,
            Part::Block(block) => block,
        };
        let members = u64::from(timing.members) + 1;
        let answers = slice::is_chosen(self.node, wanted.0, block, chosen, members);
        if answers && demand.is_open() && (!was_open || demand.due.is_none()) {
            let grace = OriginTimeout::grace(timing.grtt, timing.backoff);
            // Parity serves all who ask; who holds less lets those speak first who hold more.
            let later = match lacking {
                0 => Duration::ZERO,
                _ => timing.window() * (50 + u32::from(lacking)) / 100,
            };
            let until = if demand.unheard { now } else { origin_timeout.until(now, grace) };
            demand.due = Some(until + later + timing.draw(rng));
        }
        self.note(wanted);
    }

    /// Keeps the list of those that wait.
    fn note(&mut self, wanted: Wanted) {
        let open = self.demands.get(&wanted).filter(|demand| demand.is_open());
        self.waiting.set(wanted, open.and_then(|demand| demand.due));
    }

    /// Room for one more: what was requested or answered long ago is dropped, and of what has been answered the oldest.
    fn make_place(&mut self, now: Time) -> bool {
        if self.demands.len() < DEMANDS_MAX || now < self.full {
            return self.demands.len() < DEMANDS_MAX;
        }
        let old = self.demands.iter().filter(|(_, d)| now.since(d.touched()) >= MEMORY);
        let old: Vec<Wanted> = old.map(|(wanted, _)| *wanted).collect();
        let mut gone = old;
        if gone.is_empty() {
            let answered = self.demands.iter().filter(|(_, demand)| !demand.is_open());
            let mut answered: Vec<(Time, Wanted)> =
                answered.map(|(wanted, demand)| (demand.touched(), *wanted)).collect();
            answered.sort_unstable();
            gone = answered.into_iter().take(DEMANDS_MAX / 16).map(|(_, wanted)| wanted).collect();
        }
        gone.into_iter().for_each(|wanted| self.give_up(wanted));
        if self.demands.len() >= DEMANDS_MAX {
            self.full = now + FULL_FOR;
        }
        self.demands.len() < DEMANDS_MAX
    }

    /// A symbol of something (of a block of `len`) was heard.
    pub(crate) fn on_symbol(
        &mut self,
        now: Time,
        (wanted, piece, len): (Wanted, &Piece, u16),
        symbol_source: SymbolSource,
        timing: OriginTiming,
        rng: &mut Rng,
    ) {
        let origin = wanted.0.incarnation();
        let Some(demand) = self.demands.get_mut(&wanted) else {
            // Others heard a request that we did not, and the origin did not answer it.
            if symbol_source == SymbolSource::Repairer {
                self.on_left_to_others(now, origin, timing);
            }
            return;
        };
        let was_open = demand.is_open();
        match piece {
            Piece::Symbol(symbol) => demand.on_symbol(now, *symbol, len),
            Piece::Sum { before, of, .. } => demand.on_sum(now, *before, of),
        }
        if !was_open {
            return;
        }
        // Somebody is at it: it is left to it for as long as it goes on.
        if symbol_source != SymbolSource::Own {
            // Parity means that it has the whole block, and no need of us.
            let parity = matches!(piece, Piece::Symbol(symbol) if *symbol >= len);
            if symbol_source == SymbolSource::Repairer && parity {
                demand.leave();
            }
            let goes_on = demand.is_open() && demand.due.is_some();
            demand.due = goes_on.then(|| now + timing.grtt + timing.draw(rng));
        }
        let asked = demand.asked;
        self.note(wanted);
        match symbol_source {
            SymbolSource::Origin => self.origin_timeout(origin).on_answer(now),
            SymbolSource::Repairer | SymbolSource::Own => {
                self.origin_timeout(origin).on_unanswered(now, asked)
            }
            SymbolSource::Relay => {}
        }
    }

    /// The whole block is here now: what is open of it is answered with parity, which serves all.
    pub(crate) fn on_whole(
        &mut self,
        now: Time,
        wanted: Wanted,
        timing: OriginTiming,
        rng: &mut Rng,
    ) {
        if let Some(demand) = self.demands.get_mut(&wanted)
            && demand.is_open()
            && demand.served.is_some()
        {
            demand.due = Some(now + timing.draw(rng));
            self.note(wanted);
        }
    }

    fn origin_timeout(&mut self, origin: Incarnation) -> &mut OriginTimeout {
        if !self.origins.contains_key(&origin) && self.origins.len() >= ORIGINS_MAX {
            // It is learned again within two requests.
            let oldest =
                self.origins.iter().min_by_key(|(_, origin_timeout)| origin_timeout.touched());
            let oldest = oldest.map(|(origin, _)| *origin);
            oldest.map(|oldest| self.origins.remove(&oldest));
        }
        self.origins.entry(origin).or_default()
    }

    /// Whether something of it is open.
    pub(crate) fn is_asked(&self, wanted: Wanted) -> bool {
        self.demands.contains_key(&wanted)
    }

    /// The origin sent something that it had sent before.
    pub(crate) fn on_answer(&mut self, now: Time, origin: Incarnation) {
        self.own_requests.remove(&origin);
        self.origin_timeout(origin).on_answer(now);
    }

    /// This node asks the origin; it has not answered the last time, when this was long ago enough.
    pub(crate) fn on_own_request(&mut self, now: Time, origin: Incarnation, timing: OriginTiming) {
        let answer = timing.grtt * (u32::from(timing.backoff) + 1);
        match self.own_requests.get(&origin).copied() {
            Some(asked) if now.since(asked) >= answer => {
                self.origin_timeout(origin).on_unanswered(now, asked);
                self.own_requests.insert(origin, now);
            }
            Some(_) => {}
            None => {
                if self.own_requests.len() >= ORIGINS_MAX {
                    let oldest = self.own_requests.iter().min_by_key(|(_, asked)| **asked);
                    let oldest = oldest.map(|(origin, _)| *origin);
                    oldest.map(|oldest| self.own_requests.remove(&oldest));
                }
                self.own_requests.insert(origin, now);
            }
        }
    }

    /// The next symbol to send now, where [`Self::may_send`]. `held` tells what of a block is here.
    pub(crate) fn poll<R: Ord>(
        &mut self,
        now: Time,
        timing: impl Fn(Incarnation) -> OriginTiming,
        mut held: impl FnMut(ObjectKey, u32) -> Option<HeldBlock>,
        rank: impl Fn(ObjectKey) -> R,
        rng: &mut Rng,
    ) -> Option<(Wanted, Piece, u16)> {
        loop {
            let wanted = self.first_due(now, &rank)?;
            let timing = timing(wanted.0.incarnation());
            let origin_timeout =
                self.origins.get(&wanted.0.incarnation()).copied().unwrap_or_default();
            let grace = OriginTimeout::grace(timing.grtt, timing.backoff);
            let demand = self.demands.get_mut(&wanted)?;
            let until = origin_timeout.until(demand.asked, grace);
            if until > now && !demand.unheard {
                demand.due = Some(until + timing.draw(rng));
                self.note(wanted);
                continue;
            }
            let (piece, len) = match wanted.1 {
                Part::Info => (Some(Piece::Symbol(0)), 1),
                Part::Block(block) => match held(wanted.0, block) {
                    Some(held) if !held.is_whole() && demand.is_left(now, timing.window()) => {
                        demand.due =
                            demand.served.map(|at| at + timing.window() + timing.draw(rng));
                        self.note(wanted);
                        continue;
                    }
                    Some(held) => (choose(self.node, (wanted.0, block), demand, &held), held.len),
                    None => (None, 0),
                },
            };
            match piece {
                Some(piece) => return Some((wanted, piece, len)),
                None => {
                    demand.due = None;
                    self.note(wanted);
                }
            }
        }
    }

    /// Of what is due, that of the highest rank, then what has been due longest: each repairer drew times of its own, so
    /// that two that speak at once are at different blocks.
    fn first_due<R: Ord>(&self, now: Time, rank: &impl Fn(ObjectKey) -> R) -> Option<Wanted> {
        let due = self.waiting.iter().take_while(|(due, _)| *due <= now);
        let first = due.max_by_key(|(due, wanted)| (rank(wanted.0), Reverse((*due, *wanted))));
        first.map(|(_, wanted)| wanted)
    }

    /// What [`Self::poll`] gave has been sent.
    pub(crate) fn on_sent(
        &mut self,
        now: Time,
        (wanted, piece, len): (Wanted, &Piece, u16),
        bytes: usize,
        (timing, rng): (OriginTiming, &mut Rng),
    ) {
        self.budget.on_sent(bytes);
        self.on_symbol(now, (wanted, piece, len), SymbolSource::Own, timing, rng);
    }

    /// An answer that is none of its own has been sent.
    pub(crate) fn on_spent(&mut self, bytes: usize) {
        self.budget.on_sent(bytes);
    }

    /// A datagram of so many bytes arrived; `shared` says that it is a repair or a request, which share a part of the
    /// medium with what is sent here.
    pub(crate) fn on_arrived(&mut self, now: Time, bytes: usize, shared: bool) {
        let Some(carried) = &mut self.carried else { return };
        carried.on_arrived(now, bytes);
        if shared {
            self.budget.on_others(now, bytes);
        }
    }

    /// A publisher, or this node, says at which rate it may send.
    pub(crate) fn on_told_rate(&mut self, now: Time, rate: Bitrate) {
        if let Some(carried) = &mut self.carried {
            carried.on_told(now, rate);
        }
    }

    /// The rate at which it may send now.
    pub(crate) fn rate(&self) -> Bitrate {
        self.budget.rate()
    }

    /// Others answer for an origin what this node has not heard anybody ask.
    pub(crate) fn on_left_to_others(
        &mut self,
        now: Time,
        origin: Incarnation,
        timing: OriginTiming,
    ) {
        let grace = OriginTimeout::grace(timing.grtt, timing.backoff);
        let asked = Time::from_nanos(now.as_nanos().saturating_sub(grace.as_nanos() as u64));
        self.origin_timeout(origin).on_unanswered(now, asked);
    }

    /// Whether the budget allows something more now.
    pub(crate) fn may_send(&mut self, now: Time) -> bool {
        if let Some(carried) = &mut self.carried {
            self.budget.set_rate(now, carried.for_repairs(now));
        }
        self.budget.allows(now)
    }
    /// When it does.
    pub(crate) fn next_allowed(&self) -> Time {
        self.budget.next()
    }

    /// Something was forwarded without a request: whoever asked for it has it, too.
    pub(crate) fn on_relayed(
        &mut self,
        now: Time,
        wanted: Wanted,
        bytes: usize,
        (timing, rng): (OriginTiming, &mut Rng),
    ) {
        self.budget.on_sent(bytes);
        self.on_symbol(now, (wanted, &Piece::Symbol(0), 1), SymbolSource::Relay, timing, rng);
    }

    /// It could not be sent after all.
    pub(crate) fn give_up(&mut self, wanted: Wanted) {
        self.demands.remove(&wanted);
        self.note(wanted);
    }

    /// Nothing more of this object can be given.
    pub(crate) fn forget(&mut self, key: ObjectKey) {
        let of_it = (key, Part::Info)..=(key, Part::Block(u32::MAX));
        let gone: Vec<Wanted> = self.demands.range(of_it).map(|(wanted, _)| *wanted).collect();
        gone.into_iter().for_each(|wanted| self.give_up(wanted));
    }

    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let (due, _) = self.waiting.first()?;
        Some(due.max(self.budget.next()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_proto::{InstanceId, ObjectTransportId, RunSet};

    const KEY: ObjectKey =
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(0) };
    const BLOCK: Wanted = (KEY, Part::Block(0));
    const TIMING: OriginTiming =
        OriginTiming { grtt: Duration::from_millis(100), backoff: 4, group: 10, members: 2 };

    /// Stands for a sum among symbols.
    const SUM: u16 = u16::MAX;

    struct World {
        repairer: Repairer,
        rng: Rng,
        stats: GroupStats,
        held: HeldBlock,
    }

    impl World {
        fn new(node: u32, sources: &[u16]) -> Self {
            let rate = Bitrate::kbps(1_000_000);
            let repairer = Repairer::new(NodeId(node), Time::ZERO, rate);
            let (rng, stats) = (Rng::new(u64::from(node)), GroupStats::default());
            let sources = sources.to_vec();
            let held = HeldBlock { len: 10, parity: 16, sources, kept: Vec::new() };
            Self { repairer, rng, stats, held }
        }
        fn whole(node: u32) -> Self {
            Self::new(node, &(0..10).collect::<Vec<_>>())
        }
        fn ask(&mut self, now: Time, unnamed: u16, names: &[u16]) {
            let mut set = RunSet::default();
            names.iter().for_each(|&n| set.insert(u64::from(n), u64::from(n) + 1));
            let named = names.len() as u16;
            let request = Request { unnamed, names: set, named, ..Request::default() };
            let lacking = self.held.lacking();
            let chance = (&mut self.rng, &mut self.stats);
            self.repairer.on_request(now, BLOCK, (&request, lacking), TIMING, chance);
        }
        fn hear(&mut self, now: Time, symbol: u16, symbol_source: SymbolSource) {
            let heard = (BLOCK, &Piece::Symbol(symbol), 10);
            self.repairer.on_symbol(now, heard, symbol_source, TIMING, &mut self.rng);
        }
        /// Symbols sent up to `until`, and when the first went.
        fn run(&mut self, until: Time) -> (Vec<u16>, Option<Time>) {
            let (mut sent, mut first) = (Vec::new(), None);
            while let Some(now) = self.repairer.next_timeout().filter(|now| *now <= until) {
                let held = self.held.clone();
                let take = |_, _| Some(held.clone());
                if !self.repairer.may_send(now) {
                    continue;
                }
                let what = self.repairer.poll(now, |_| TIMING, take, |_| 0, &mut self.rng);
                let Some((wanted, piece, len)) = what else { continue };
                let what = (wanted, &piece, len);
                self.repairer.on_sent(now, what, 100, (TIMING, &mut self.rng));
                first = first.or(Some(now));
                sent.push(match piece {
                    Piece::Symbol(symbol) => symbol,
                    Piece::Sum { .. } => SUM,
                });
            }
            (sent, first)
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn while_the_origin_answers_nothing_is_sent() {
        let mut world = World::whole(2);
        world.ask(at(0), 2, &[]);
        world.hear(at(600), 10, SymbolSource::Origin);
        world.hear(at(610), 11, SymbolSource::Origin);
        assert_eq!(world.run(at(60_000)), (Vec::new(), None));
    }

    #[test]
    fn an_origin_that_does_not_answer_is_replaced_after_its_timeout_and_later_at_once() {
        let mut world = World::whole(2);
        let mut waited = Vec::new();
        for round in 0..4 {
            let asked = at(round * 10_000);
            world.ask(asked, 2, &[]);
            let (sent, first) = world.run(asked + Duration::from_secs(9));
            assert!(sent.len() == 2 && sent.iter().all(|symbol| *symbol >= 10), "{sent:?}");
            waited.push(first.unwrap().since(asked).as_millis());
        }
        assert!(waited[0] >= 1400 && waited[1] >= 1400, "{waited:?}");
        assert!(waited[2] <= 400 && waited[3] <= 400, "{waited:?}");
    }

    #[test]
    fn a_repairer_that_hears_another_sends_only_what_is_left() {
        let mut world = World::whole(2);
        world.ask(at(0), 0, &[1, 2, 3]);
        world.hear(at(750), 1, SymbolSource::Repairer);
        world.hear(at(760), 2, SymbolSource::Repairer);
        let (sent, first) = world.run(at(60_000));
        assert!(sent.len() == 1 && sent[0] >= 10, "{sent:?}");
        assert!(first.unwrap() >= at(860));
    }

    #[test]
    fn a_repairer_that_hears_anothers_parity_waits_for_a_new_request() {
        let mut world = World::whole(2);
        world.ask(at(0), 3, &[]);
        world.hear(at(750), 18, SymbolSource::Repairer);
        assert_eq!(world.run(at(60_000)).0, []);
        world.ask(at(61_000), 1, &[]);
        let (sent, _) = world.run(at(90_000));
        assert!(sent.len() == 1 && sent[0] != 18);
    }

    #[test]
    fn in_a_large_group_few_answer_at_first_and_more_with_every_round() {
        let rounds = |node| {
            let mut world = World::whole(node);
            let timing = OriginTiming { members: 1000, ..TIMING };
            let mut round = 0;
            while world.repairer.waiting.first().is_none() {
                round += 1;
                let request = Request { unnamed: 1, ..Request::default() };
                let chance = (&mut world.rng, &mut world.stats);
                let now = at(round * 1000);
                world.repairer.on_request(now, BLOCK, (&request, 0), timing, chance);
            }
            round
        };
        let rounds: Vec<u64> = (2..102).map(rounds).collect();
        assert!(rounds.iter().filter(|round| **round == 1).count() <= 3, "{rounds:?}");
        assert!(rounds.iter().all(|round| *round <= 10), "{rounds:?}");
    }

    #[test]
    fn a_repairer_without_the_named_symbols_forwards_unheard_parity() {
        let mut world = World::new(2, &[0, 1, 2]);
        world.held.kept = Vec::from([4, 5]);
        world.ask(at(0), 0, &[7, 8]);
        world.hear(at(10), 14, SymbolSource::Origin);
        assert_eq!(world.run(at(60_000)).0, [15]);
    }

    #[test]
    fn a_repairer_with_a_part_sends_as_many_sums_as_it_has_named_symbols() {
        let mut world = World::new(2, &[1, 3, 5, 7]);
        world.ask(at(0), 0, &[2, 3, 7]);
        let (sent, first) = world.run(at(60_000));
        assert_eq!(sent, [SUM, SUM]);
        assert!(first.unwrap() >= at(1600), "who holds all goes first");
        world.ask(at(70_000), 4, &[]);
        assert_eq!(world.run(at(80_000)).0, []);
    }

    #[test]
    fn a_repairer_with_a_part_serves_the_requester_that_lacks_least_first() {
        // Too many symbols for a sum: they go by name.
        let mut world = World::new(2, &[1, 3, 5, 107]);
        world.held.len = 200;
        world.ask(at(0), 0, &[1, 3, 5, 107]);
        world.ask(at(0), 0, &[5]);
        let (sent, _) = world.run(at(60_000));
        assert!(sent.len() == 4 && sent[0] == 5 && !sent.contains(&SUM), "{sent:?}");
    }

    #[test]
    fn a_repairer_sends_parity_for_what_named_symbols_leave_open() {
        let mut world = World::new(2, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
        world.ask(at(0), 0, &[9]);
        world.ask(at(0), 0, &[1, 5, 7]);
        world.hear(at(700), 9, SymbolSource::Repairer);
        world.held.sources.push(9);
        world.repairer.on_whole(at(700), BLOCK, TIMING, &mut world.rng);
        let (sent, first) = world.run(at(60_000));
        assert!(sent.len() == 3 && sent.iter().all(|symbol| *symbol >= 10), "{sent:?}");
        assert!(first.unwrap() <= at(1800), "{first:?}");
    }

    #[test]
    fn a_requested_whole_block_is_sent_as_it_is() {
        let mut world = World::whole(3);
        world.ask(at(0), 0, &(0..10).collect::<Vec<_>>());
        let (mut sent, _) = world.run(at(60_000));
        sent.sort_unstable();
        assert_eq!(sent, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn two_repairers_that_speak_at_once_send_different_parity() {
        let sent: Vec<Vec<u16>> = (2..4)
            .map(|node| {
                let mut world = World::whole(node);
                world.ask(at(0), 3, &[]);
                world.run(at(60_000)).0
            })
            .collect();
        assert_eq!((sent[0].len(), sent[1].len()), (3, 3));
        // With two slices there is one to share; with the usual 15 there rarely is.
        let mut other = World::whole(3);
        other.held.parity = 127;
        other.ask(at(0), 3, &[]);
        assert!(other.run(at(60_000)).0.iter().all(|symbol| !sent[0].contains(symbol)));
    }

    #[test]
    fn more_requests_than_can_be_kept_are_dropped_and_counted() {
        let mut world = World::whole(2);
        for block in 0..=DEMANDS_MAX as u32 {
            let request = Request { unnamed: 1, ..Request::default() };
            let chance = (&mut world.rng, &mut world.stats);
            let wanted = (KEY, Part::Block(block));
            world.repairer.on_request(at(0), wanted, (&request, 0), TIMING, chance);
        }
        assert_eq!(world.stats.demands_dropped, 1);
        // Open ones do not stay for ever.
        let request = Request { unnamed: 1, ..Request::default() };
        let mut ask = |now, block| {
            let chance = (&mut world.rng, &mut world.stats);
            let wanted = (KEY, Part::Block(block));
            world.repairer.on_request(now, wanted, (&request, 0), TIMING, chance);
            world.repairer.len()
        };
        assert_eq!((ask(at(59_000), 1 << 20), ask(at(60_000), 1 << 20)), (DEMANDS_MAX, 1));
    }
}
