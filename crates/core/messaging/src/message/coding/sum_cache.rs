//! Proactive sums of publishers, as they arrived. When another node requests a term that this node
//! has only in such a sum, it forwards the sum. The requester may have all other terms of it.

use crate::message::coding::coded_packet::{CodedPacket, Scope};
use alloc::{collections::VecDeque, vec::Vec};

/// Sums kept, of all publishers: a hundred thousand bytes at most.
const KEPT_MAX: usize = 64;
/// A longer one would not be forwarded: no publisher of this version sends one.
const SUM_MAX: usize = 1472;

/// The last of them.
#[derive(Debug, Default)]
pub struct SumCache {
    sums: VecDeque<(CodedPacket<'static>, Vec<u8>)>,
}

impl SumCache {
    /// One was heard of its publisher.
    pub fn keep(&mut self, coded: &CodedPacket<'_>) {
        if coded.sum.len() > SUM_MAX {
            return;
        }
        if self.sums.len() >= KEPT_MAX {
            self.sums.pop_front();
        }
        let CodedPacket { scope, fec_id, known, seed, ref terms, sum } = *coded;
        let bare = CodedPacket { scope, fec_id, known, seed, terms: terms.clone(), sum: &[] };
        self.sums.push_back((bare, sum.to_vec()));
    }

    /// Whether one has this term.
    pub fn has(&self, scope: Scope, term: u32) -> bool {
        self.position(scope, term).is_some()
    }

    /// Takes out the first that has this term, and its sum.
    pub fn take(&mut self, scope: Scope, term: u32) -> Option<(CodedPacket<'static>, Vec<u8>)> {
        let at = self.position(scope, term)?;
        self.sums.remove(at)
    }

    fn position(&self, scope: Scope, term: u32) -> Option<usize> {
        let has = |coded: &CodedPacket<'_>| coded.scope == scope && coded.terms.contains(&term);
        self.sums.iter().position(|(coded, _)| has(coded))
    }

    /// They are of no use any more.
    pub fn forget(&mut self, scope: Scope) {
        self.sums.retain(|(coded, _)| coded.scope != scope);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::coding::coded_packet::Class;
    use alloc::vec;
    use fanfare_proto::{InstanceId, NodeId};
    use fanfare_wire::FecId;

    const SCOPE: Scope = ((NodeId(1), InstanceId(2)), Class::Symbol);

    fn coded(seed: u8, terms: &[u32]) -> CodedPacket<'static> {
        let (fec_id, terms) = (FecId::ReedSolomon8, terms.to_vec());
        CodedPacket { scope: SCOPE, fec_id, known: 0, seed, terms, sum: b"abc" }
    }

    #[test]
    fn each_sum_is_forwarded_once_and_the_oldest_is_dropped() {
        let mut kept = SumCache::default();
        kept.keep(&coded(1, &[5, 6]));
        kept.keep(&coded(2, &[6, 7]));
        assert!(kept.has(SCOPE, 5) && !kept.has(SCOPE, 8));
        let seeds = [6, 6, 6].map(|term| Some(kept.take(SCOPE, term)?.0.seed));
        assert_eq!(seeds, [Some(1), Some(2), None]);
        (0..=KEPT_MAX as u32).for_each(|n| kept.keep(&coded(0, &[n, 1000])));
        assert!(!kept.has(SCOPE, 0) && kept.has(SCOPE, 1));
        assert_eq!(kept.take(SCOPE, 1000).map(|(_, sum)| sum), Some(vec![b'a', b'b', b'c']));
        kept.forget(SCOPE);
        assert!(!kept.has(SCOPE, 1000));
    }
}
