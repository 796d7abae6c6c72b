//! Many roots in few bytes: which files a receiver has whole, as it tells senders.
//!
//! A Bloom filter over the first 8 bytes of BLAKE3 roots. It never forgets a root, and takes one in
//! 300 of the others for one of its own (12 bits each, 8 probes): the sender then announces a file
//! without sending it unasked, and whoever lacks it asks. Nothing is ever trusted because of it.

/// Bits for each root, and how many of them are looked at: 0.3 % of mistakes.
const BITS_PER_ROOT: usize = 12;
const PROBES: u64 = 8;
/// A set smaller than this mistakes too much.
const BYTES_MIN: usize = 32;
/// Most roots in a set: with them it has 576 bytes, and a status keeps room for other things.
pub const ROOTS_MAX: usize = 384;

/// The beginning of a root, by which it is told.
pub type RootStart = [u8; 8];

/// The first 8 bytes of a root.
pub fn start(root: &[u8; 32]) -> RootStart {
    root.first_chunk().copied().unwrap_or_default()
}

/// The bytes that stand for the first [`ROOTS_MAX`] of `roots`; none for none.
pub fn encode(roots: &[RootStart]) -> Vec<u8> {
    let roots = &roots[..roots.len().min(ROOTS_MAX)];
    if roots.is_empty() {
        return Vec::new();
    }
    let mut set = vec![0; (roots.len() * BITS_PER_ROOT).div_ceil(8).max(BYTES_MIN)];
    for root in roots {
        probes(root, set.len()).for_each(|bit| set[bit / 8] |= 1 << (bit % 8));
    }
    set
}

/// Whether `root` is in the set, or seems to be.
pub fn contains(set: &[u8], root: &RootStart) -> bool {
    set.len() >= BYTES_MIN && probes(root, set.len()).all(|bit| set[bit / 8] >> (bit % 8) & 1 == 1)
}

/// Which bits stand for a root. A root is a hash: its two halves are the two hashes needed.
fn probes(root: &RootStart, bytes: usize) -> impl Iterator<Item = usize> {
    let number = u64::from_be_bytes(*root);
    let (first, step) = (number >> 32, (number & 0xffff_ffff) | 1);
    let bits = bytes as u64 * 8;
    (0..PROBES).map(move |n| ((first + n * step) % bits) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(number: u32) -> RootStart {
        start(blake3::hash(&number.to_be_bytes()).as_bytes())
    }

    #[test]
    fn every_root_is_found_and_hardly_any_other() {
        for count in [1, 5, 100, 384] {
            let roots: Vec<RootStart> = (0..count).map(root).collect();
            let set = encode(&roots);
            assert!(set.len() <= 576);
            assert!(roots.iter().all(|root| contains(&set, root)));
            let mistakes = (1000..11_000).filter(|n| contains(&set, &root(*n))).count();
            assert!(mistakes < 100, "{mistakes} of 10,000 with {count} roots");
        }
    }

    #[test]
    fn an_empty_set_and_one_too_short_to_be_ours_hold_nothing() {
        assert_eq!(encode(&[]), Vec::<u8>::new());
        assert!(!contains(&[], &root(1)) && !contains(&[0xff; 31], &root(1)));
    }

    #[test]
    fn roots_beyond_the_bound_are_left_out() {
        let roots: Vec<RootStart> = (0..1000).map(root).collect();
        assert_eq!(encode(&roots), encode(&roots[..ROOTS_MAX]));
    }
}
