//! Takes coded packets of others and solves them.

use super::GroupNode;
use crate::{
    age,
    coding::coded_packet::{
        self, BLOCKS_MAX, Class, CodedPacket, Scope, key_of, place_of, term_of,
    },
    coding::equations::Taken,
    coding::linear_system::Solved,
    description::Description,
    repair::demand::{Part, Piece, Wanted},
    repair::repairer::{OriginTiming, SymbolSource},
};
use alloc::{vec, vec::Vec};
use fanfare_fec::combine;
use fanfare_proto::{Duration, NodeId, ObjectKey, Retransmission, RunSet, SenderSummary, Storage};
use fanfare_wire::{Message, ext::Extensions};

impl GroupNode {
    /// Somebody answers for an origin with a sum over its objects.
    pub(super) fn on_coded(
        &mut self,
        from: NodeId,
        (coded, extensions): (&CodedPacket<'_>, &Extensions<'_>),
        storage: &mut dyn Storage,
    ) {
        self.stats.repairs_heard += 1;
        let scope @ (incarnation, class) = coded.scope;
        if !self.logs.contains_key(&incarnation) || incarnation.0 == self.session.node_id() {
            return;
        }
        let timing = self.timing_in(incarnation);
        // What its publisher sends ahead is no answer, and as likely to be missed by others as all that it says.
        let own = from == incarnation.0;
        match (own, self.answers_with_sums(incarnation) || class == Class::Symbol) {
            (true, true) => self.kept.keep(coded),
            (true, false) => self.on_own_answer(coded, timing),
            (false, _) => {
                self.repairer.on_left_to_others(self.now, incarnation, timing);
                self.note_sum(coded, timing);
            }
        }
        self.take_known(scope, storage);
        let Some((numbers, horizon)) = self.numbered(coded) else {
            self.stats.frames_refused += 1;
            return;
        };
        let mut factors = Vec::new();
        let mut rest = coded.sum.to_vec();
        for (term, number) in coded.terms.iter().zip(numbers) {
            let factor = coded_packet::factor(coded.seed, *term);
            match self.term(scope, *term, storage) {
                // It cannot be one of these terms, then.
                Some(bytes) if bytes.len() > rest.len() => {
                    self.stats.frames_refused += 1;
                    return;
                }
                Some(bytes) => {
                    let before = core::mem::replace(&mut rest, vec![0; coded.sum.len()]);
                    combine(&[1, factor], &[&before, &bytes], &mut [&mut rest]);
                }
                None => factors.push((number, factor)),
            }
        }
        let taken = self.equations.take(scope, (&factors, rest), horizon);
        self.stats.sums_dropped += self.equations.take_dropped();
        match taken {
            Taken::Known | Taken::Full => {}
            Taken::New(found) => {
                self.stats.repairs_useful += 1;
                let origin_timeout = self.awaited(incarnation, timing);
                self.requester.on_progress(self.now, incarnation, origin_timeout);
                let ages = |number: u64| {
                    let term = class.told(number);
                    let which = coded.terms.iter().position(|other| *other == term);
                    let terms = coded.terms.len();
                    which.map_or(Duration::ZERO, |which| age::told_of_sum(extensions, which, terms))
                };
                self.take_found(from, (scope, found), &ages, storage);
            }
        }
        let deaf =
            self.repairer.is_deaf(incarnation) || self.requester.is_silent(self.now, incarnation);
        self.ask(incarnation, deaf);
        if !own {
            self.plan(scope, timing.grtt, timing);
        }
    }

    /// A publisher that hears somebody answers: nobody else need for these.
    fn on_own_answer(&mut self, coded: &CodedPacket<'_>, timing: OriginTiming) {
        let (incarnation, _) = coded.scope;
        let origin_timeout = self.awaited(incarnation, timing);
        self.requester.on_heard(self.now, incarnation, origin_timeout);
        self.repairer.on_answer(self.now, incarnation);
        for term in &coded.terms {
            let wanted = (key_of(coded.scope, *term), Part::Info);
            self.on_piece(wanted, &Piece::Symbol(0), timing, SymbolSource::Origin);
        }
    }

    /// Who requested these terms has one of them.
    fn note_sum(&mut self, coded: &CodedPacket<'_>, timing: OriginTiming) {
        let scope @ (_, class) = coded.scope;
        let of = self.terms_of_sum(coded);
        if let Some(pool) = self.pools.get_mut(scope) {
            pool.on_sum(self.now, coded.known, &of);
        }
        // What was requested before the origin was known to be deaf is being answered.
        for term in &coded.terms {
            let key = key_of(scope, *term);
            let (block, symbol) = place_of(*term);
            let (part, symbol) = match class {
                Class::Info => (Part::Info, 0),
                Class::Symbol => (Part::Block(block), symbol),
            };
            if self.repairer.is_asked((key, part)) {
                self.on_piece((key, part), &Piece::Symbol(symbol), timing, SymbolSource::Repairer);
            }
        }
    }

    /// Its terms, numbered so that they do not wrap.
    pub(super) fn terms_of_sum(&self, coded: &CodedPacket<'_>) -> RunSet {
        let mut of = RunSet::default();
        let scope @ (incarnation, class) = coded.scope;
        let Some(log) = self.logs.get(&incarnation) else { return of };
        for term in &coded.terms {
            let number = class.number(log.index(key_of(scope, *term).object), *term);
            of.insert(number, number + 1);
        }
        of
    }

    /// Its terms in their order, numbered so that they do not wrap, and the least number in view. `None` where one is
    /// of what the publisher can have none of: an object far from all that is known of it, or a symbol that a block
    /// does not have.
    fn numbered(&mut self, coded: &CodedPacket<'_>) -> Option<(Vec<u64>, u64)> {
        let scope @ (incarnation, class) = coded.scope;
        let (first, last) = self.logs.get(&incarnation)?.view();
        let mut numbers = Vec::new();
        for term in &coded.terms {
            let key = key_of(scope, *term);
            let index = self.logs.get(&incarnation)?.index(key.object);
            if class == Class::Symbol {
                let (block, symbol) = place_of(*term);
                let held = self.session.receiver().held(key, block);
                held.is_none_or(|held| symbol < held.len).then_some(())?;
            }
            (index <= last).then_some(())?;
            numbers.push(class.number(index, *term));
        }
        Some((numbers, class.number(first, 0)))
    }

    /// Terms that may have been decoded since sums with them came.
    fn take_known(&mut self, scope: Scope, storage: &mut dyn Storage) {
        let recovered = self.session.stats().recovered;
        for number in self.equations.look(scope, recovered) {
            if let Some(bytes) = self.term(scope, scope.1.told(number), storage) {
                let found = self.equations.on_known(scope, number, &bytes);
                self.take_found(scope.0.0, (scope, found), &|_| Duration::ZERO, storage);
            }
        }
    }

    /// A term was heard by itself: of sums with it others may follow.
    pub(super) fn on_term(&mut self, (key, part): Wanted, symbol: u16, storage: &mut dyn Storage) {
        let (class, term) = match part {
            Part::Info => (Class::Info, u32::from(key.object.0)),
            Part::Block(block) if block < BLOCKS_MAX && symbol <= 0xff => {
                (Class::Symbol, term_of(key.object, block, symbol))
            }
            Part::Block(_) => return,
        };
        let Some(log) = self.logs.get(&key.incarnation()) else { return };
        let number = class.number(log.index(key.object), term);
        let scope = (key.incarnation(), class);
        if let Some(pool) = self.pools.get_mut(scope) {
            pool.on_term(number);
        }
        if self.equations.len(scope) > 0
            && let Some(bytes) = self.term(scope, term, storage)
        {
            let found = self.equations.on_known(scope, number, &bytes);
            self.take_found(key.sender, (scope, found), &|_| Duration::ZERO, storage);
        }
    }

    /// These follow: they are taken as if somebody had sent them.
    fn take_found(
        &mut self,
        from: NodeId,
        (scope, found): (Scope, Solved),
        age: &dyn Fn(u64) -> Duration,
        storage: &mut dyn Storage,
    ) {
        for (number, bytes) in found {
            let term = scope.1.told(number);
            let key = key_of(scope, term);
            let taken = match scope.1 {
                Class::Info => self.take_info(from, (key, &bytes), age(number), storage),
                Class::Symbol => self.take_symbol((key, term, &bytes), storage),
            };
            if !taken {
                // One of those that it followed from was wrong, and nobody knows which.
                self.stats.sums_dropped += 1 + self.equations.len(scope) as u64;
                self.equations.forget(scope);
            }
        }
    }

    fn take_info(
        &mut self,
        from: NodeId,
        (key, bytes): (ObjectKey, &[u8]),
        age: Duration,
        storage: &mut dyn Storage,
    ) -> bool {
        let Some(info) = coded_packet::unwrap(bytes) else { return false };
        let Some(summary) = self.session.receiver().summary(key.incarnation()) else {
            return false;
        };
        let summary = SenderSummary { newest: key.object, ..summary };
        let Some(description) = Description::decode(&info) else { return false };
        if description.content.is_none() {
            return self.take_description(key, (&info, age), storage);
        }
        let had = self.is_short(key);
        self.told = Some((key, age.max(self.age_of_next(key))));
        self.session.receiver().accept_info(self.now, &summary, &info, storage);
        self.take_events(storage);
        // Who lacks what is repaired by sums requests sums: many messages come at once of one.
        if !self.members.hears_nobody(key.sender) {
            self.pass_on_from(from, Some(key), had);
        }
        true
    }

    /// Of a message that has bytes besides.
    fn take_description(
        &mut self,
        key: ObjectKey,
        (content, age): (&[u8], Duration),
        storage: &mut dyn Storage,
    ) -> bool {
        let age = age.max(self.age_of_next(key));
        let (mut message, retransmission) = (Vec::new(), Retransmission::Info { content, age });
        if !self.session.receiver().retransmit(key, retransmission, storage, &mut message) {
            // Nothing is known of its form.
            return true;
        }
        let Ok(message) = Message::parse(&message) else { return true };
        self.told = Some((key, age));
        self.session.receiver().accept(self.now, &message, storage);
        self.take_events(storage);
        true
    }

    /// How old the publisher's next message is, as far as it is known here: this one is no younger.
    fn age_of_next(&self, key: ObjectKey) -> Duration {
        let Some(log) = self.logs.get(&key.incarnation()) else { return Duration::ZERO };
        let index = log.index(key.object);
        let later = self.cache.of(key).filter(|(_, cached)| cached.index > index);
        let next = later.min_by_key(|(_, cached)| cached.index);
        next.map_or(Duration::ZERO, |(_, cached)| cached.age().at(self.now))
    }

    fn take_symbol(
        &mut self,
        (key, term, bytes): (ObjectKey, u32, &[u8]),
        storage: &mut dyn Storage,
    ) -> bool {
        let (block, symbol) = place_of(term);
        let has_info = self.cache.get(key).is_some_and(|cached| cached.has_info);
        let mut message = Vec::new();
        let retransmission = Retransmission::Deduced { block, symbol, has_info, bytes };
        if !self.session.receiver().retransmit(key, retransmission, storage, &mut message) {
            // It is of no concern any more, or nothing is known of its form.
            return true;
        }
        let Ok(message) = Message::parse(&message) else { return true };
        self.session.receiver().accept(self.now, &message, storage);
        self.take_events(storage);
        true
    }
}
