//! Sets of numbers in few bytes, for numbers that mostly follow each other.
//!
//! ```text
//! groups (8)
//! | per group: its first number, of all but the first group less the last number before it (varint)
//! |            | bytes of the bitmap (8) | bitmap, the first number its highest bit
//! ```

use crate::message::frames::varint::{self, array, put, split, take};
use alloc::vec::Vec;

/// Numbers of a group: a bitmap of 16 bytes, of which less than half are 0 as long as gaps are short.
const GROUP: u32 = 128;
/// From so many numbers that are not in it a new group takes fewer bytes.
const GAP: u32 = 24;

/// Numbers that share a bitmap.
fn groups(terms: &[u32]) -> Vec<&[u32]> {
    let mut groups = Vec::new();
    let mut start = 0;
    for at in 1..=terms.len() {
        let ends = at == terms.len()
            || terms[at].wrapping_sub(terms[start]) >= GROUP
            || terms[at].wrapping_sub(terms[at - 1]) > GAP;
        if ends {
            groups.push(&terms[start..at]);
            start = at;
        }
    }
    groups
}

/// Appends them, in their order: each is more than the one before, modulo 2^32.
pub fn append(terms: &[u32], out: &mut Vec<u8>) {
    let groups = groups(terms);
    out.push(groups.len() as u8);
    let mut last = 0;
    for group in groups {
        let Some((&first, &end)) = group.first().zip(group.last()) else { continue };
        put(u64::from(first.wrapping_sub(last)), out);
        let bytes = end.wrapping_sub(first) as usize / 8 + 1;
        out.push(bytes as u8);
        let start = out.len();
        out.resize(start + bytes, 0);
        for term in group {
            let bit = term.wrapping_sub(first) as usize;
            out[start + bit / 8] |= 0x80 >> (bit % 8);
        }
        last = end;
    }
}

/// Bytes that takes.
pub fn len(terms: &[u32]) -> usize {
    let mut last = 0;
    let groups = groups(terms).into_iter().map(|group| {
        let (first, end) = (group[0], group[group.len() - 1]);
        let step = u32::wrapping_sub(first, core::mem::replace(&mut last, end));
        varint::len(u64::from(step)) + 1 + end.wrapping_sub(first) as usize / 8 + 1
    });
    1 + groups.sum::<usize>()
}

/// How many of them, from the first, take no more than so many bytes, and no more groups than can be counted.
pub fn within(terms: &[u32], room: usize) -> usize {
    let (mut last, mut bytes, mut count) = (0, 1, 0);
    for group in groups(terms).into_iter().take(usize::from(u8::MAX)) {
        let step = u64::from(u32::wrapping_sub(group[0], last));
        let left = room.saturating_sub(bytes + varint::len(step) + 1).min(GROUP as usize / 8);
        let end = left as u32 * 8;
        let fit = group.iter().filter(|term| term.wrapping_sub(group[0]) < end).count();
        count += fit;
        if fit < group.len() {
            break;
        }
        last = group[fit - 1];
        bytes += varint::len(step) + 1 + last.wrapping_sub(group[0]) as usize / 8 + 1;
    }
    count
}

/// Takes up to `max` of them off the front; `None` when they contradict themselves. What is beyond `mask` has
/// wrapped.
pub fn parse(bytes: &mut &[u8], mask: u32, max: usize) -> Option<Vec<u32>> {
    let [groups] = array(bytes)?;
    let mut terms: Vec<u32> = Vec::new();
    for _ in 0..groups {
        let step = u32::try_from(take(bytes)?).ok()?;
        let first = match terms.last() {
            None => step,
            Some(_) if step == 0 => return None,
            Some(last) => last.wrapping_add(step),
        };
        let [length] = array(bytes)?;
        let bitmap = split(bytes, usize::from(length))?;
        let set = |bit: &u32| bitmap[*bit as usize / 8] << (bit % 8) & 0x80 != 0;
        let bits = (0..u32::from(length) * 8).filter(set);
        terms.extend(bits.map(|bit| first.wrapping_add(bit) & mask));
        if terms.len() > max {
            return None;
        }
    }
    Some(terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn bytes(terms: &[u32]) -> Vec<u8> {
        let mut out = Vec::new();
        append(terms, &mut out);
        out
    }

    #[test]
    fn golden_bytes_of_two_runs_that_are_far_apart() {
        let terms = [0x0005_0003, 0x0005_0004, 0x0005_000d, 0x0006_0000];
        let golden = [2, 0x83, 0x80, 0x14, 2, 0xc0, 0x20, 0xf3, 0xff, 3, 1, 0x80];
        assert_eq!(bytes(&terms), golden);
        assert_eq!(parse(&mut &golden[..], u32::MAX, 4), Some(terms.to_vec()));
    }

    #[test]
    fn more_than_there_may_be_and_what_ends_within_are_refused() {
        let good = bytes(&[1, 2, 300]);
        assert_eq!(parse(&mut &good[..], u32::MAX, 2), None);
        assert!((0..good.len()).all(|end| parse(&mut &good[..end], u32::MAX, 9).is_none()));
        assert_eq!(parse(&mut &[0][..], u32::MAX, 9), Some(vec![]));
    }

    #[test]
    fn of_more_groups_than_can_be_counted_the_first_are_told() {
        let far: Vec<u32> = (0..300).map(|n| n * 1000).collect();
        assert_eq!((within(&far, usize::MAX), within(&far, 1), within(&[], 0)), (255, 0, 0));
    }

    proptest! {
        #[test]
        fn any_numbers_come_back_in_as_many_bytes_as_were_reckoned(
            terms in proptest::collection::btree_set(any::<u32>(), 1..60), start: u32, dense: bool
        ) {
            let place = |term: u32| if dense { start % 0xff00 + term % 500 } else { term };
            let terms: alloc::collections::BTreeSet<u32> = terms.into_iter().map(place).collect();
            let terms: Vec<u32> = terms.into_iter().collect();
            let bytes = bytes(&terms);
            prop_assert_eq!(bytes.len(), len(&terms));
            prop_assert_eq!(within(&terms, bytes.len()), terms.len());
            for room in 1..bytes.len() {
                let fit = within(&terms, room);
                prop_assert!(fit < terms.len());
                prop_assert!(fit == 0 || len(&terms[..fit]) <= room && len(&terms[..=fit]) > room);
            }
            prop_assert_eq!(parse(&mut &bytes[..], u32::MAX, terms.len()), Some(terms));
        }
    }
}
