//! FNV-1a with 64 bits: a short, quick hash. Anybody can make two inputs that have the same one.

/// The hash of these bytes.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x100_0000_01b3;
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
    bytes.iter().fold(OFFSET, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the algorithm's authors (draft-eastlake-fnv, appendix C).
    #[test]
    fn known_words_have_the_published_hashes() {
        assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
