//! What others request from an origin, and what this node may answer of it.

use super::{GroupNode, timing};
use crate::{
    frames::nack::NACK_MAX,
    repair::demand::{Part, Request, Wanted},
    repair::outstanding::count,
};
use alloc::{collections::BTreeMap, vec::Vec};
use fanfare_proto::{Incarnation, NodeId, ObjectKey, RunSet};
use fanfare_wire::{Nack, ObjectTransportId, RepairForm, RepairItem, RepairLevel};

/// Items heeded in one NACK: as many as one that tells all has.
const ITEMS_MAX: usize = NACK_MAX / 8;
/// Objects and blocks looked at for one NACK, when its items name whole objects; repeats count.
const WANTED_MAX: usize = 4096;
/// Ids walked through for the ranges of one NACK: each that there is once.
const IDS_MAX: usize = 1 << 16;

/// What may still be looked at for a NACK.
pub(super) struct Allowance {
    pub(super) items: usize,
    pub(super) wanted: usize,
    pub(super) ids: usize,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { items: ITEMS_MAX, wanted: WANTED_MAX, ids: IDS_MAX }
    }
}

impl Allowance {
    /// Takes one of them; `false` when there is none.
    fn take(left: &mut usize) -> bool {
        let any = *left > 0;
        *left = left.saturating_sub(1);
        any
    }
}

impl GroupNode {
    /// Somebody asks an origin. If that is another node, this one may answer.
    pub(super) fn on_nack(&mut self, nack: &Nack<'_>) {
        let feedback = &nack.feedback;
        let incarnation = asked_of(nack);
        let known = self.logs.contains_key(&incarnation);
        if known && incarnation == self.own_incarnation() {
            return self.on_own_request(nack);
        }
        if !known || !self.config.repairs || self.config.silent {
            return;
        }
        let Some(summary) = self.summary(incarnation) else { return };
        let timing = timing(self.members.len(), summary.grtt, summary.backoff, summary.gsize);
        let unheard = self.does_not_answer(incarnation, feedback.source_id);
        let mut requests = self.requests(nack, &mut Allowance::default());
        if self.answers_with_sums(incarnation) {
            self.pool_requests(nack, &mut requests, timing);
        }
        for (wanted, request) in requests {
            let request = Request { unheard, from: Some(feedback.source_id), ..request };
            let lacking = match wanted.1 {
                Part::Info => 0,
                Part::Block(block) => match self.session.receiver().held(wanted.0, block) {
                    Some(held) if !held.sources.is_empty() => held.lacking(),
                    _ => continue,
                },
            };
            self.cache.on_used(self.now, wanted.0);
            let chance = (&mut self.rng, &mut self.stats);
            self.repairer.on_request(self.now, wanted, (&request, lacking), timing, chance);
        }
    }

    /// Whether it is known that a publisher does not answer this node: it does not hear it, or is in another instance.
    pub(super) fn does_not_answer(&mut self, incarnation: Incarnation, node: NodeId) -> bool {
        self.is_past(incarnation) || self.members.is_unheard(incarnation.0, node)
    }

    /// What a NACK requests, as far as anything of it is here.
    pub(super) fn requests(
        &mut self,
        nack: &Nack<'_>,
        left: &mut Allowance,
    ) -> BTreeMap<Wanted, Request> {
        let mut asked = BTreeMap::new();
        for request in nack.requests.iter() {
            let erasures = request.form == RepairForm::Erasures;
            for (first, last) in request.ranges() {
                if !Allowance::take(&mut left.items) || left.wanted == 0 {
                    return asked;
                }
                let range = (&first, &last, erasures);
                self.request(nack, request.level, range, (&mut asked, left));
            }
        }
        asked
    }

    fn request(
        &mut self,
        nack: &Nack<'_>,
        level: RepairLevel,
        (first, last, erasures): (&RepairItem, &RepairItem, bool),
        (asked, left): (&mut BTreeMap<Wanted, Request>, &mut Allowance),
    ) {
        for key in self.objects_between(nack, first, last, &mut left.ids) {
            if !Allowance::take(&mut left.wanted) {
                return;
            }
            let Some(cached) = self.cache.get(key) else { continue };
            let (info_here, has_info) = (cached.info.is_some(), cached.has_info);
            let all = level.has(RepairLevel::OBJECT);
            if (all && has_info || level.has(RepairLevel::INFO)) && info_here {
                let request = Request { unnamed: 1, info: true, ..Request::default() };
                asked.insert((key, Part::Info), request);
            }
            let receiver = self.session.receiver();
            let (Some(blocks), Some(field)) = (receiver.blocks(key), receiver.field(key)) else {
                continue;
            };
            let (a, b) = (first.id(field), last.id(field));
            if level.has(RepairLevel::SEGMENT) {
                let Some(held) = receiver.held(key, a.block.0) else { continue };
                let entry = asked.entry((key, Part::Block(a.block.0))).or_default();
                match erasures {
                    true => entry.unnamed = entry.unnamed.max(a.symbol.0.min(held.len)),
                    false => add_symbols(entry, (a.symbol.0, b.symbol.0), held.len),
                }
            } else if all || level.has(RepairLevel::BLOCK) {
                let (low, high) = if all { (0, u32::MAX) } else { (a.block.0, b.block.0) };
                let high = high.min(blocks.saturating_sub(1));
                for block in low..=high {
                    if !Allowance::take(&mut left.wanted) {
                        return;
                    }
                    let Some(held) = receiver.held(key, block) else { continue };
                    let entry = asked.entry((key, Part::Block(block))).or_default();
                    add_symbols(entry, (0, held.len.saturating_sub(1)), held.len);
                }
            }
        }
    }

    /// Objects whose descriptions it requests, also of those that nothing is known of here.
    pub(super) fn infos_asked(&self, nack: &Nack<'_>) -> RunSet {
        let mut asked = RunSet::default();
        let Some(log) = self.logs.get(&asked_of(nack)) else { return asked };
        let asks =
            |level: RepairLevel| level.has(RepairLevel::INFO) || level.has(RepairLevel::OBJECT);
        let requests = nack.requests.iter().filter(|request| asks(request.level));
        let ranges = requests.flat_map(|request| request.ranges().collect::<Vec<_>>());
        let mut left = WANTED_MAX as u64;
        for (first, last) in ranges.take(ITEMS_MAX) {
            let first = log.index(first.object_transport_id);
            let end = log.index(last.object_transport_id).saturating_add(1);
            let end = end.min(first.saturating_add(left)).max(first);
            left -= end - first;
            asked.insert(first, end);
        }
        asked
    }

    /// Objects of the origin within a range that something is known of.
    fn objects_between(
        &self,
        nack: &Nack<'_>,
        first: &RepairItem,
        last: &RepairItem,
        ids: &mut usize,
    ) -> Vec<ObjectKey> {
        let incarnation = asked_of(nack);
        let Some(log) = self.logs.get(&incarnation) else { return Vec::new() };
        let object = first.object_transport_id;
        let key = ObjectKey { sender: incarnation.0, instance: incarnation.1, object };
        if first.object_transport_id == last.object_transport_id {
            return Vec::from([key]);
        }
        if log.index(object) > log.index(last.object_transport_id) {
            return Vec::new();
        }
        let span = last.object_transport_id.0.wrapping_sub(object.0);
        let steps = (0..=span).take_while(|_| Allowance::take(ids));
        let all = steps.map(|step| ObjectTransportId(object.0.wrapping_add(step)));
        let all = all.map(|object| ObjectKey { object, ..key });
        all.filter(|key| self.cache.get(*key).is_some()).collect()
    }
}

/// Who is asked, in which instance.
pub(super) fn asked_of(nack: &Nack<'_>) -> Incarnation {
    (nack.feedback.server_id, nack.feedback.instance_id)
}

/// Symbols `first..=last` of a block of `len`: source symbols by name, parity by number.
fn add_symbols(request: &mut Request, (first, last): (u16, u16), len: u16) {
    let end = u32::from(last) + 1;
    let named_end = end.min(u32::from(len));
    if u32::from(first) < named_end {
        request.names.insert(u64::from(first), u64::from(named_end));
        request.named = count(&request.names);
    }
    // Nobody lacks more than a block has: who requests the same parity again and again gets no more.
    let parity = end.saturating_sub(u32::from(first.max(len))).min(u32::from(len)) as u16;
    request.unnamed = request.unnamed.saturating_add(parity).min(len);
}
