//! Which parity symbols a repairer sends, so that two repairers do not send the same.
//!
//! The parity of a block is cut into slices. The origin counts up from 0, so the first slice is
//! left to the origin as long as there are others. Each repairer begins with a slice of its own,
//! computed from its id, the object and the block, and continues with the next slices.

use fanfare_proto::{NodeId, ObjectKey};

/// Symbols of a slice. A block of the default code (128 + 127) has 15 of them; most repairs need no
/// more than one.
const SLICE: u16 = 8;

/// The order in which `node` goes through the `parity` numbers of a block.
pub fn numbers(node: NodeId, key: ObjectKey, block: u32, parity: u16) -> impl Iterator<Item = u16> {
    let slices = parity.div_ceil(SLICE).max(1);
    let own =
        if slices > 1 { 1 + (mix(node, key, block) % u64::from(slices - 1)) as u16 } else { 0 };
    // The origin's slice comes last.
    let others = move |step: u16| match slices {
        1 => 0,
        _ => 1 + (own - 1 + step) % (slices - 1),
    };
    let order = (0..slices).map(move |step| if step + 1 == slices { 0 } else { others(step) });
    order.flat_map(move |slice| slice * SLICE..((slice + 1) * SLICE).min(parity))
}

/// Whether `node` is among the about `chosen` of `members` nodes that answer for a block: the same few
/// everywhere, and others for every block.
pub fn is_chosen(node: NodeId, key: ObjectKey, block: u32, chosen: u64, members: u64) -> bool {
    // A drawing of its own, beside the one for slices.
    mix(node, key, !block) % members.max(1) < chosen
}

/// Where in a list of `count` things `node` begins.
pub fn offset(node: NodeId, key: ObjectKey, block: u32, count: usize) -> usize {
    (mix(node, key, block) % count.max(1) as u64) as usize
}

/// Where `node` stands among those who may go first.
pub fn place(node: NodeId, key: ObjectKey) -> u64 {
    mix(node, key, 0)
}

/// The seed of `node`'s sums of parts of a block, before any other was heard.
pub fn seed(node: NodeId, key: ObjectKey, block: u32) -> u8 {
    mix(node, key, block) as u8
}

/// A digest of an object, and of what was digested before.
pub fn digest(node: NodeId, key: ObjectKey, before: u32) -> u32 {
    mix(node, key, before) as u32
}

/// splitmix64's last steps over all that it depends on.
fn mix(node: NodeId, key: ObjectKey, block: u32) -> u64 {
    let object =
        u64::from(key.sender.0) << 32 | u64::from(key.instance.0) << 16 | u64::from(key.object.0);
    let place = object ^ u64::from(block).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut z = place ^ u64::from(node.0).wrapping_mul(0xd6e8_feb8_6659_fd93);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{collections::BTreeSet, vec::Vec};
    use fanfare_proto::{InstanceId, ObjectTransportId};

    const KEY: ObjectKey =
        ObjectKey { sender: NodeId(1), instance: InstanceId(7), object: ObjectTransportId(3) };

    #[test]
    fn every_number_comes_once_and_the_origins_own_come_last() {
        for parity in [1, 7, 8, 9, 20, 127] {
            let order: Vec<u16> = numbers(NodeId(5), KEY, 2, parity).collect();
            let once: BTreeSet<u16> = order.iter().copied().collect();
            assert_eq!((order.len(), once.len()), (usize::from(parity), usize::from(parity)));
            if parity > SLICE {
                assert!(order[order.len() - 1] < SLICE && order[0] >= SLICE, "{parity}");
            }
        }
    }

    #[test]
    fn the_first_numbers_of_few_repairers_are_mostly_different() {
        let firsts: BTreeSet<u16> =
            (0..9).map(|n| numbers(NodeId(100 + n), KEY, 0, 127).next().unwrap()).collect();
        assert!(firsts.len() >= 6, "{firsts:?}");
    }

    #[test]
    fn about_as_many_are_chosen_as_should_be_and_others_for_every_block() {
        let chosen = |block, count| {
            (0..1000).filter(|n| is_chosen(NodeId(*n), KEY, block, count, 1000)).count()
        };
        assert!((1..=12).contains(&chosen(0, 4)) && (300..=500).contains(&chosen(0, 400)));
        assert_eq!(chosen(0, 1000), 1000);
        let both = |n: &u32| {
            is_chosen(NodeId(*n), KEY, 0, 100, 1000) && is_chosen(NodeId(*n), KEY, 1, 100, 1000)
        };
        assert!((0..1000).filter(both).count() < 40);
    }

    #[test]
    fn no_parity_is_no_numbers() {
        assert_eq!(numbers(NodeId(5), KEY, 2, 0).count(), 0);
    }
}
