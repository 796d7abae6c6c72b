//! No block is repaired more than once in a round trip, whoever asks how often.
//!
//! What was just sent cannot have been heard by who asks now. So when as many repairs of a block as it
//! has source symbols went out within one GRTT, requests for it count no more until that time has
//! passed: honest receivers then ask for what they still lack, and a flood of requests gets nothing.

use crate::sender::{cache::Cache, demand::Demand, in_flight::BlockInFlight};
use alloc::{collections::BTreeMap, vec::Vec};

/// Blocks of which so much was sent, by object and block: `sent` is what went out within a GRTT.
pub(in crate::sender) fn repaired(
    sent: &BTreeMap<(u64, u32), BlockInFlight>,
    cache: &Cache,
) -> Vec<(u64, u32)> {
    let whole = |((ordinal, block), sent): (&(u64, u32), &BlockInFlight)| {
        let source = usize::from(cache.get(*ordinal)?.block_len(*block));
        let symbols = usize::from(sent.parity) + sent.sources.len();
        (symbols >= source.max(1)).then_some((*ordinal, *block))
    };
    sent.iter().filter_map(whole).collect()
}

/// What is left of a demand without these blocks.
pub(in crate::sender) fn without(demand: &Demand, blocks: &[(u64, u32)], cache: &Cache) -> Demand {
    let mut left = demand.clone();
    for (ordinal, block) in blocks {
        let Some(wanted) = left.objects.get_mut(ordinal) else { continue };
        if core::mem::take(&mut wanted.whole)
            && let Some(object) = cache.get(*ordinal)
        {
            wanted.blocks.insert(object.low(), object.blocks_sent());
        }
        wanted.blocks.remove(*block);
        wanted.symbols.remove(block);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        sender::{
            block::BlockDemand, cache::tests::cache, coding::tests::coding, demand::ObjectDemand,
        },
        time::Time,
    };

    fn sent(parity: u16, sources: &[u16]) -> BlockInFlight {
        BlockInFlight { parity, sources: sources.iter().copied().collect() }
    }

    #[test]
    fn a_block_of_which_as_much_was_sent_as_it_has_is_not_sent_again() {
        // Blocks of four symbols of ten bytes.
        let coding = coding(4, 4, 0);
        let cache = cache(&coding, &[120], Time::ZERO);
        let (ordinal, _) = cache.newest().unwrap();
        let went = [((ordinal, 0), sent(4, &[])), ((ordinal, 1), sent(1, &[0, 2, 3]))].into();
        assert_eq!(repaired(&went, &cache), [(ordinal, 0), (ordinal, 1)]);
        let mut object = ObjectDemand { info: true, ..ObjectDemand::default() };
        for block in 0..3 {
            object.symbols.insert(block, BlockDemand::named(0..2));
        }
        let demand = Demand { objects: [(ordinal, object)].into() };
        let left = without(&demand, &repaired(&went, &cache), &cache);
        assert_eq!(left.objects[&ordinal].symbols.keys().collect::<Vec<_>>(), [&2]);
        assert!(left.objects[&ordinal].info);
    }

    #[test]
    fn what_was_repaired_in_part_is_repaired_further() {
        let coding = coding(4, 4, 0);
        let cache = cache(&coding, &[120], Time::ZERO);
        let (ordinal, _) = cache.newest().unwrap();
        let went = [((ordinal, 0), sent(3, &[])), ((ordinal, 1), sent(1, &[0]))].into();
        assert!(repaired(&went, &cache).is_empty());
    }
}
