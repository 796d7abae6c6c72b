//! Sends proactive sums and parity of own messages when no request can be heard.

use super::{GroupNode, coding::FRAME_MAX, encapsulation::COMMAND};
use crate::{
    age,
    coding::coded_packet::{self, Class, CodedPacket, key_of, place_of, term_of},
    coding::proactive::SizeClass,
    frames::frame::HEADER,
    frames::slice,
};
use alloc::vec::Vec;
use fanfare_proto::{Duration, ObjectKey, SUM_SYMBOLS_MAX, Storage, Time, enqueue::FirstPass};
use fanfare_wire::FieldSize;

impl GroupNode {
    /// Whether nobody is there, as far as can be heard.
    fn is_alone(&self) -> bool {
        self.config.announces && !self.config.silent && self.members.len() == 0
    }

    /// Symbols of a message of this node's own, if they can be terms of sums: those of one block.
    fn terms_of(&self, size: u64) -> Option<u32> {
        let symbols = size.div_ceil(self.segment_size.max(1) as u64);
        let most = u64::from(self.fec.source.min(SUM_SYMBOLS_MAX));
        let frame = COMMAND + HEADER + coded_packet::overhead(&[u32::MAX - 1, u32::MAX]);
        let fits = self.fec.field == FieldSize::M8
            && symbols <= most
            && frame + self.segment_size <= FRAME_MAX;
        fits.then_some(symbols as u32)
    }

    /// How a message of so many bytes is sent: with parity, when it is to go ahead and sums cannot.
    pub(super) fn first_pass(&mut self, size: u64) -> FirstPass {
        if !self.is_alone() || self.terms_of(size).is_some() {
            return FirstPass::Whole;
        }
        let symbols = size.div_ceil(self.segment_size.max(1) as u64);
        match self.proactive.parity(self.now, (symbols, u64::from(self.fec.source))) {
            0 => FirstPass::Whole,
            parity => FirstPass::WithParity(parity),
        }
    }

    /// One of this node's own has been sent.
    pub(super) fn on_own_sent(&mut self, key: ObjectKey) {
        let Some(own) = self.publisher.get(key).filter(|_| self.is_alone()) else { return };
        let described = coded_packet::wrap(&own.message.encode()).map_or(0, |bytes| bytes.len());
        let (size, stored) = (own.size, own.message.content.is_none());
        let lane = if stored { SizeClass::Described } else { SizeClass::Short };
        self.proactive.on_sent(
            self.now,
            lane,
            core::iter::once((u32::from(key.object.0), described)),
        );
        if let Some(symbols) = self.terms_of(size).filter(|_| stored) {
            let segment = self.segment_size;
            let terms = (0..symbols).map(|symbol| (term_of(key.object, 0, symbol as u16), segment));
            self.proactive.on_sent(self.now, SizeClass::Symbols, terms);
        }
    }

    /// When the next sum is to go.
    pub(super) fn next_proactive(&self) -> Option<Time> {
        let (at, _) = self.proactive.next().filter(|_| self.is_alone())?;
        Some(at.max(self.session.next_turn()))
    }

    /// The next sum over own messages, within the sender's rate.
    pub(super) fn poll_proactive(&mut self, buf: &mut Vec<u8>, storage: &mut dyn Storage) -> bool {
        while self.next_proactive().is_some_and(|at| at <= self.now)
            && let Some((_, lane)) = self.proactive.next()
        {
            let terms = self.proactive_terms(lane);
            if terms.len() < 2 {
                self.proactive.clear(lane);
                continue;
            }
            let bytes: Result<Vec<_>, u32> =
                terms.iter().map(|term| self.own_term(lane, *term, storage).ok_or(*term)).collect();
            match bytes {
                Ok(bytes) => {
                    self.write_own_sum(lane, terms, &bytes, buf);
                    self.stats.proactive_sums_sent += 1;
                    self.session.sender().on_spoken(buf.len());
                    let longest = bytes.iter().map(Vec::len).max().unwrap_or(0);
                    self.proactive.on_sum(self.now, lane, longest);
                    return true;
                }
                Err(term) => {
                    let object = self.own_key(lane, term).object;
                    self.proactive.on_gone(object.0);
                }
            }
        }
        false
    }

    fn own_key(&self, lane: SizeClass, term: u32) -> ObjectKey {
        key_of((self.own_incarnation(), lane.class()), term)
    }

    fn age_of_own(&self, lane: SizeClass, term: u32) -> Duration {
        let own = self.publisher.get(self.own_key(lane, term));
        let own = own.filter(|_| lane.class() == Class::Info);
        own.map_or(Duration::ZERO, |own| own.age.at(self.now))
    }

    /// The newest, as many as one frame takes.
    fn proactive_terms(&self, lane: SizeClass) -> Vec<u32> {
        let (mut terms, mut longest, mut last) = (Vec::new(), 0, Duration::ZERO);
        for (term, bytes) in self.proactive.newest(lane) {
            let age = self.age_of_own(lane, term);
            last = if terms.is_empty() { age } else { last };
            longest = longest.max(bytes);
            terms.insert(0, term);
            let ages = age::room_of_sum(age, last);
            if COMMAND + ages + HEADER + coded_packet::overhead(&terms) + longest > FRAME_MAX {
                terms.remove(0);
                break;
            }
        }
        terms
    }

    pub(super) fn own_term(
        &self,
        lane: SizeClass,
        term: u32,
        storage: &mut dyn Storage,
    ) -> Option<Vec<u8>> {
        let key = self.own_key(lane, term);
        let own = self.publisher.get(key)?;
        if lane.class() == Class::Info {
            return coded_packet::wrap(&own.message.encode());
        }
        let segment = self.segment_size as u64;
        let first = u64::from(place_of(term).1) * segment;
        let len = own.size.checked_sub(first)?.min(segment);
        let mut bytes = Vec::new();
        storage.append(key, first, len as usize, &mut bytes).ok()?;
        Some(bytes)
    }

    pub(super) fn write_own_sum(
        &mut self,
        lane: SizeClass,
        terms: Vec<u32>,
        bytes: &[Vec<u8>],
        buf: &mut Vec<u8>,
    ) {
        let scope @ ((own, _), class) = (self.own_incarnation(), lane.class());
        let known = self.proactive.number();
        let seed = slice::seed(own, key_of(scope, 0), class as u32).wrapping_add(known);
        let ages: Vec<Duration> = terms.iter().map(|term| self.age_of_own(lane, *term)).collect();
        let fec_id = self.fec.id;
        let coded = CodedPacket { scope, fec_id, known, seed, terms, sum: &[] };
        self.write_combined(coded, (bytes, &ages), buf);
    }
}
