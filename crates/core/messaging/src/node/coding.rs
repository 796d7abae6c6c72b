//! Sends coded packets: notes what is requested from a publisher that hears nobody, and answers it.

use super::{GroupNode, encapsulation::COMMAND, requests::asked_of};
use crate::{
    age,
    coding::coded_packet::{
        self, BLOCKS_MAX, Class, CodedPacket, Scope, TERMS_MAX, key_of, place_of, term_of,
    },
    frames::compact_info,
    frames::frame::{HEADER, Kind},
    frames::slice,
    repair::demand::{Part, Piece, Request, Wanted},
    repair::outstanding,
    repair::repairer::OriginTiming,
    repair::request_pool,
    source_log::id_of,
};
use alloc::{collections::BTreeMap, vec, vec::Vec};
use fanfare_fec::combine;
use fanfare_proto::{
    Duration, Incarnation, NodeId, ObjectKey, Retransmission, RunSet, SUM_SYMBOLS_MAX, Storage,
};
use fanfare_wire::{Message, Nack, ext::Extensions};

/// Windows that a subscriber leaves to others, whose sums serve one more.
const OTHERS_FIRST: u32 = 2;
/// Longest frame with symbols: one Ethernet frame holds it, behind IPv4 and UDP headers.
pub(super) const FRAME_MAX: usize = 1472;

impl GroupNode {
    /// Takes out of what a NACK asks what is answered with sums over several objects.
    pub(super) fn pool_requests(
        &mut self,
        nack: &Nack<'_>,
        requests: &mut BTreeMap<Wanted, Request>,
        timing: OriginTiming,
    ) {
        let incarnation = asked_of(nack);
        let infos = self.infos_asked(nack);
        let mut symbols = RunSet::default();
        requests.retain(|(key, part), request| match part {
            Part::Info => !self.is_short(*key),
            Part::Block(block) => {
                let held = self.session.receiver().held(*key, *block);
                let fits = held.is_some_and(|held| held.len <= SUM_SYMBOLS_MAX)
                    && *block < BLOCKS_MAX
                    && request.named > 0
                    && request.unnamed == 0;
                if let Some(log) = self.logs.get(&incarnation).filter(|_| fits) {
                    let first = term_of(key.object, *block, 0);
                    let base = Class::Symbol.number(log.index(key.object), first);
                    let names = request.names.iter();
                    names.for_each(|(first, end)| symbols.insert(base + first, base + end));
                }
                !fits
            }
        });
        let from = nack.feedback.source_id;
        self.ask_pool((incarnation, Class::Info), (from, infos), timing);
        self.ask_pool((incarnation, Class::Symbol), (from, symbols), timing);
        requests.extend(self.stuck(incarnation, from, timing));
    }

    /// A symbol requested in vain: who has it in a publisher's sum alone will pass that on. Gives it as a
    /// request where parity of its block is here.
    fn stuck(
        &mut self,
        incarnation: Incarnation,
        from: NodeId,
        timing: OriginTiming,
    ) -> Option<(Wanted, Request)> {
        let of = (incarnation, Class::Symbol);
        let pool = self.pools.get_mut(of)?;
        let term = pool.stuck(from)?;
        if self.kept.has(of, term as u32) {
            pool.lend(self.now + timing.draw(&mut self.rng), term);
        }
        let key = key_of(of, term as u32);
        let (block, symbol) = place_of(term as u32);
        let held = self.session.receiver().held(key, block)?;
        let here = held.kept.is_empty() || held.sources.contains(&symbol);
        let mut names = RunSet::default();
        names.insert(u64::from(symbol), u64::from(symbol) + 1);
        let request = Request { named: 1, names, ..Request::default() };
        (!here).then_some(((key, Part::Block(block)), request))
    }

    fn ask_pool(&mut self, of: Scope, (from, names): (NodeId, RunSet), timing: OriginTiming) {
        if names.iter().next().is_none() {
            return;
        }
        let horizon = self.horizon(of, timing);
        let Some(pool) = self.pools.entry(self.now, of) else {
            self.stats.demands_dropped += 1;
            return;
        };
        pool.on_request(
            self.now,
            (from, names),
            (horizon, timing.grtt, request_pool::gathering(timing)),
        );
        if pool.due.is_none() {
            self.plan(of, Duration::ZERO, timing);
        }
    }

    /// Of the newest object more may be on its way to whoever speaks now.
    fn horizon(&self, (incarnation, class): Scope, timing: OriginTiming) -> u64 {
        let Some(log) = self.logs.get(&incarnation) else { return 0 };
        let object = id_of(log.newest());
        let newest =
            self.cache.get(ObjectKey { sender: incarnation.0, instance: incarnation.1, object });
        let begun =
            newest.is_none_or(|cached| self.now.since(cached.first_heard) < timing.window());
        let end = log.newest() + u64::from(!begun);
        class.number(end, 0)
    }

    /// Somebody announces that it lacks this short message, of an origin that does not answer.
    pub(super) fn pool_lacking(
        &mut self,
        node: NodeId,
        incarnation: Incarnation,
        index: u64,
        timing: OriginTiming,
    ) {
        let of = (incarnation, Class::Info);
        let horizon = self.horizon(of, timing);
        let Some(pool) = self.pools.entry(self.now, of) else { return };
        let mut names = RunSet::default();
        names.insert(index, index + 1);
        pool.on_lacking(self.now, (node, &names), horizon);
        if pool.due.is_none() {
            self.plan(of, Duration::ZERO, timing);
        }
    }

    /// When this node answers, `later` than it would otherwise.
    pub(super) fn plan(&mut self, of: Scope, later: Duration, timing: OriginTiming) {
        let held = self.held_of(of);
        let asks = self.delivery.asks();
        if let Some(pool) = self.pools.get_mut(of) {
            let later = if asks { later + timing.window() * OTHERS_FIRST } else { later };
            pool.plan((self.now, self.now + later), &held, (timing, &mut self.rng));
        }
    }

    /// Of what is requested, what is here.
    fn held_of(&mut self, scope @ ((sender, instance), class): Scope) -> RunSet {
        let mut held = RunSet::default();
        let Some(pool) = self.pools.get_mut(scope) else { return held };
        let names = pool.names(self.now);
        let key = |index: u64| ObjectKey { sender, instance, object: id_of(index) };
        let each = names.iter().flat_map(|(first, end)| first..end);
        if class == Class::Info {
            each.filter(|index| self.is_short(key(*index))).for_each(|i| held.insert(i, i + 1));
            return held;
        }
        let mut at = None;
        let mut here = Vec::new();
        for term in each {
            if at != Some(term >> 8) {
                at = Some(term >> 8);
                let block = (term >> 8 & 0xff) as u32;
                let of_block = self.session.receiver().held(key(term >> 16), block);
                here = of_block.map_or(Vec::new(), |held| held.sources);
            }
            if here.binary_search(&((term & 0xff) as u16)).is_ok() {
                held.insert(term, term + 1);
            }
        }
        held
    }

    /// The bytes of a term, when it is here.
    pub(super) fn term(
        &mut self,
        scope: Scope,
        term: u32,
        storage: &mut dyn Storage,
    ) -> Option<Vec<u8>> {
        let key = key_of(scope, term);
        if scope.1 == Class::Info {
            return self
                .cache
                .get(key)
                .and_then(|cached| coded_packet::wrap(cached.info.as_ref()?));
        }
        let (block, symbol) = place_of(term);
        let held = self.session.receiver().held(key, block)?;
        held.sources.binary_search(&symbol).ok()?;
        let mut message = Vec::new();
        let retransmission = Retransmission::Symbol { block, symbol, has_info: false };
        if !self.session.receiver().retransmit(key, retransmission, storage, &mut message) {
            return None;
        }
        match Message::parse(&message) {
            Ok(Message::Data(data)) => Some(data.payload.to_vec()),
            _ => None,
        }
    }

    /// The next answer that is due.
    pub(super) fn poll_coded(&mut self, buf: &mut Vec<u8>, storage: &mut dyn Storage) -> bool {
        while self.repairer.may_send(self.now)
            && let Some(of) = self.pools.due(self.now)
        {
            let Some(pool) = self.pools.get_mut(of) else { return false };
            let lent = pool.take_lent(self.now);
            let answers = pool.due.is_some_and(|due| due <= self.now);
            if lent.is_some_and(|term| self.write_cached_sum(of, term, buf))
                || answers && self.write_answer(of, buf, storage)
            {
                self.stats.repairs_sent += 1;
                self.repairer.on_spent(buf.len());
                return true;
            }
            buf.clear();
            if let Some(pool) = self.pools.get_mut(of).filter(|_| answers) {
                pool.due = None;
            }
        }
        false
    }

    /// A sum of the publisher's with this term, as it came: of symbols, so that it tells no ages.
    fn write_cached_sum(&mut self, of: Scope, term: u64, buf: &mut Vec<u8>) -> bool {
        let Some((coded, sum)) = self.kept.take(of, term as u32 & of.1.mask()) else {
            return false;
        };
        let terms = self.terms_of_sum(&coded);
        let Some(pool) = self.pools.get_mut(of) else { return false };
        let coded = CodedPacket { known: pool.known(), sum: &sum, ..coded };
        pool.on_own_sum(self.now, &terms);
        self.write_coded(&coded, &[], buf);
        self.stats.sums_sent += 1;
        true
    }

    fn write_answer(&mut self, of: Scope, buf: &mut Vec<u8>, storage: &mut dyn Storage) -> bool {
        let held = self.held_of(of);
        let windows = self.windows(of, &held, storage);
        let Some(pool) = self.pools.get_mut(of) else { return false };
        let sent = match (pool.alone(&held), pool.best(self.now, &windows)) {
            (Some(term), _) => self.write_alone(of, term, (buf, storage)),
            (None, Some(best)) => match best.first_member(0).zip(best.iter().last()) {
                Some((first, (_, end))) if end - first == 1 => {
                    self.write_alone(of, first, (buf, storage))
                }
                _ => self.write_sum(of, best, (buf, storage)).then(|| best.clone()),
            },
            (None, None) => None,
        };
        let timing = self.timing_in(of.0);
        let (Some(sent), Some(pool)) = (sent, self.pools.get_mut(of)) else { return false };
        match sent.iter().next() {
            Some((first, end)) if outstanding::count(&sent) == 1 && end > first => {
                pool.on_term(first)
            }
            _ => pool.on_own_sum(self.now, &sent),
        }
        let next = pool.best(self.now, &windows).cloned().unwrap_or_default();
        pool.go_on(self.now, (&next, &held), (timing, &mut self.rng));
        true
    }

    /// What is held, in parts of as much as one frame can have a sum of. Only what is about as long as each other
    /// shares one, since a sum is as long as the longest.
    fn windows(&mut self, scope: Scope, held: &RunSet, storage: &mut dyn Storage) -> Vec<RunSet> {
        let class = scope.1;
        let (mut windows, mut current): (Vec<RunSet>, Vec<u32>) = (Vec::new(), Vec::new());
        let (mut window, mut longest, mut shortest) = (RunSet::default(), 0, 0);
        let mut oldest = Duration::ZERO;
        for term in held.iter().flat_map(|(first, end)| first..end) {
            let told = term as u32 & class.mask();
            let Some(bytes) = self.term(scope, told, storage).map(|bytes| bytes.len()) else {
                continue;
            };
            let age = self.age_of(scope, told);
            current.push(told);
            let (most, least) =
                (bytes.max(longest), if longest == 0 { bytes } else { bytes.min(shortest) });
            let ages = age::room_of_sum(oldest, age);
            let frame = COMMAND + ages + HEADER + coded_packet::overhead(&current) + most;
            let fits = current.len() <= TERMS_MAX
                && frame <= FRAME_MAX
                && (class == Class::Symbol || least * 2 > most);
            if current.len() == 1 || fits {
                (longest, shortest, oldest) = (most, least, oldest.max(age));
            } else {
                windows.push(core::mem::take(&mut window));
                current = vec![told];
                (longest, shortest, oldest) = (bytes, bytes, age);
            }
            window.insert(term, term + 1);
        }
        windows.push(window);
        windows
    }

    fn age_of(&self, scope: Scope, told: u32) -> Duration {
        let cached = self.cache.get(key_of(scope, told)).filter(|_| scope.1 == Class::Info);
        cached.map_or(Duration::ZERO, |cached| cached.age().at(self.now))
    }

    /// One term as it is.
    fn write_alone(
        &mut self,
        scope: Scope,
        term: u64,
        (buf, storage): (&mut Vec<u8>, &mut dyn Storage),
    ) -> Option<RunSet> {
        let key = key_of(scope, term as u32 & scope.1.mask());
        let written = match scope.1 {
            Class::Info => self.write_compact(key, buf),
            Class::Symbol => {
                let (block, symbol) = place_of(term as u32);
                let wanted = (key, Part::Block(block));
                let written = self.write_repair(wanted, &Piece::Symbol(symbol), (buf, storage));
                self.stats.repair_frames_sent += u64::from(written);
                self.stats.repair_bytes_sent += buf.len() as u64;
                written
            }
        };
        let mut alone = RunSet::default();
        alone.insert(term, term + 1);
        written.then_some(alone)
    }

    fn write_compact(&mut self, key: ObjectKey, buf: &mut Vec<u8>) -> bool {
        let Some(compact) = self.compact(key, true, None) else { return false };
        let age = self.cache.get(key).map_or(Duration::ZERO, |cached| cached.age().at(self.now));
        let area = age::extensions(&[age]);
        let kind = (Kind::CompactInfo, Extensions::parse(&area).unwrap_or_default());
        self.write_frame(
            kind,
            |envelope, out| compact_info::append(&[compact], envelope, out),
            buf,
        );
        self.stats.compact_frames_sent += 1;
        self.stats.compact_bytes_sent += buf.len() as u64;
        true
    }

    fn write_sum(
        &mut self,
        scope: Scope,
        window: &RunSet,
        (buf, storage): (&mut Vec<u8>, &mut dyn Storage),
    ) -> bool {
        let (incarnation, class) = scope;
        let terms = window.iter().flat_map(|(first, end)| first..end);
        let terms: Vec<u32> = terms.map(|term| term as u32 & class.mask()).collect();
        let bytes: Option<Vec<_>> =
            terms.iter().map(|term| self.term(scope, *term, storage)).collect();
        let summary = self.session.receiver().summary(incarnation);
        let Some(fec_id) = summary.map(|summary| summary.fec_id) else { return false };
        let Some(bytes) = bytes else { return false };
        let Some(pool) = self.pools.get_mut(scope) else { return false };
        let known = pool.known();
        let base = key_of(scope, 0);
        let seed = slice::seed(self.session.node_id(), base, class as u32).wrapping_add(known);
        let ages: Vec<Duration> = terms.iter().map(|term| self.age_of(scope, *term)).collect();
        let coded = CodedPacket { scope, fec_id, known, seed, terms, sum: &[] };
        self.write_combined(coded, (&bytes, &ages), buf);
        self.stats.sums_sent += 1;
        true
    }

    /// A sum of these bytes, of messages of these ages.
    pub(super) fn write_combined(
        &mut self,
        coded: CodedPacket<'_>,
        (bytes, ages): (&[Vec<u8>], &[Duration]),
        buf: &mut Vec<u8>,
    ) {
        let factor = |term: &u32| coded_packet::factor(coded.seed, *term);
        let factors: Vec<u8> = coded.terms.iter().map(factor).collect();
        let bytes: Vec<&[u8]> = bytes.iter().map(|bytes| &bytes[..]).collect();
        let mut sum = vec![0; bytes.iter().map(|bytes| bytes.len()).max().unwrap_or(0)];
        combine(&factors, &bytes, &mut [&mut sum]);
        self.write_coded(&CodedPacket { sum: &sum, ..coded }, ages, buf);
    }

    fn write_coded(&mut self, coded: &CodedPacket<'_>, ages: &[Duration], buf: &mut Vec<u8>) {
        let area = age::extensions_of_sum(ages);
        let kind = (Kind::CodedPacket, Extensions::parse(&area).unwrap_or_default());
        self.write_frame(kind, |_, out| coded.append(out), buf);
        self.stats.repair_frames_sent += 1;
        self.stats.repair_bytes_sent += buf.len() as u64;
    }
}
