//! Coded packets: sums over several objects of a publisher, either of symbols of different blocks
//! or of descriptions with the content in them. Two receivers that lack different messages each get
//! their own from one datagram.
//!
//! ```text
//! publisher (32) | instance (16) | how (8) | known (8) | seed (8) | terms, see `bitmap` | the sum
//! how: 01 of source symbols, else of descriptions; 0c encoding id: 5, 2 or 129
//! term: of a description its object; of a symbol object (16) | block (8) | symbol (8)
//! factor of a term t with seed x: 1 + z4 mod 255, all modulo 2^64:
//!      z1 = (2^32 x + t) * 0x9e3779b97f4a7c15, z2 = (z1 ^ z1 >> 30) * 0xbf58476d1ce4e5b9
//!      z3 = (z2 ^ z2 >> 27) * 0x94d049bb133111eb, z4 = z3 ^ z3 >> 31
//! ```
//!
//! `known` is the number of coded packets that the sending node knew of before. A description
//! counts as the check of what follows (32 bits), its length (16), and its bytes after "FG" and
//! the version.

use crate::message::{
    description::PREFIX,
    frames::bitmap,
    frames::compact_info::CODES,
    frames::varint::{array, split},
};
use alloc::vec::Vec;
use fanfare_proto::{Incarnation, NodeId, ObjectKey, ObjectTransportId};
use fanfare_wire::{FecId, InstanceId};

/// The id of the object with this number.
#[must_use]
pub fn id_of(index: u64) -> ObjectTransportId {
    ObjectTransportId((index & 0xffff) as u16)
}

const SYMBOLS: u8 = 0x01;
const CODE_SHIFT: u8 = 2;
const KNOWN: u8 = 0x0d;
/// Terms of one sum: who has them all but one has what it lacks, and the sums that two need of terms
/// of which they lack many are so many more.
pub const TERMS_MAX: usize = 96;

/// Whose objects, and what of them: all terms of one sum are of one.
pub type Scope = (Incarnation, Class);

/// What the terms are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Descriptions.
    Info,
    /// Source symbols.
    Symbol,
}

impl Class {
    /// Of a term's number, which does not wrap, those bits that are told.
    pub fn mask(self) -> u32 {
        match self {
            Self::Info => 0xffff,
            Self::Symbol => u32::MAX,
        }
    }

    /// A term as it is told, from its number.
    pub fn told(self, number: u64) -> u32 {
        number as u32 & self.mask()
    }

    /// The number of a term, as it is told, whose object has this index.
    pub fn number(self, index: u64, told: u32) -> u64 {
        match self {
            Self::Info => index,
            Self::Symbol => index << 16 | u64::from(told & 0xffff),
        }
    }
}

/// Blocks of an object that can be in sums: there are 8 bits for them.
pub const BLOCKS_MAX: u32 = 256;

/// Whose term it is.
pub fn key_of(((sender, instance), class): Scope, term: u32) -> ObjectKey {
    let object = match class {
        Class::Info => id_of(term.into()),
        Class::Symbol => id_of((term >> 16).into()),
    };
    ObjectKey { sender, instance, object }
}

/// The term of a symbol.
pub fn term_of(object: ObjectTransportId, block: u32, symbol: u16) -> u32 {
    u32::from(object.0) << 16 | (block & 0xff) << 8 | u32::from(symbol & 0xff)
}

/// Block and symbol of a symbol's term.
pub fn place_of(term: u32) -> (u32, u16) {
    (term >> 8 & 0xff, (term & 0xff) as u16)
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodedPacket<'a> {
    /// What it is a sum of.
    pub scope: Scope,
    /// How the publisher codes.
    pub fec_id: FecId,
    /// Mixtures that its speaker knew of before.
    pub known: u8,
    /// Decides the factors.
    pub seed: u8,
    /// In the order of sending; none twice.
    pub terms: Vec<u32>,
    /// The sum itself.
    pub sum: &'a [u8],
}

impl<'a> CodedPacket<'a> {
    /// Appends it, as a frame's content.
    pub fn append(&self, out: &mut Vec<u8>) {
        let ((publisher, instance), class) = self.scope;
        out.extend_from_slice(&publisher.0.to_be_bytes());
        out.extend_from_slice(&instance.0.to_be_bytes());
        let code = CODES.iter().position(|id| *id == self.fec_id).unwrap_or(0) as u8;
        let class = if class == Class::Symbol { SYMBOLS } else { 0 };
        out.extend([class | code << CODE_SHIFT, self.known, self.seed]);
        bitmap::append(&self.terms, out);
        out.extend_from_slice(self.sum);
    }

    /// Reads a frame's content; `None` when it contradicts itself.
    pub fn parse(mut bytes: &'a [u8]) -> Option<Self> {
        let publisher = NodeId(u32::from_be_bytes(array(&mut bytes)?));
        let instance = InstanceId(u16::from_be_bytes(array(&mut bytes)?));
        let [how, known, seed] = array(&mut bytes)?;
        let fec_id = *CODES.get(usize::from(how >> CODE_SHIFT))?;
        let class = if how & SYMBOLS == 0 { Class::Info } else { Class::Symbol };
        let terms = bitmap::parse(&mut bytes, class.mask(), TERMS_MAX)?;
        let mut sorted = terms.clone();
        sorted.sort_unstable();
        let once = sorted.windows(2).all(|pair| pair[0] != pair[1]);
        let fits = how & !KNOWN == 0 && once && terms.len() >= 2 && !bytes.is_empty();
        let scope = ((publisher, instance), class);
        let coded = Self { scope, fec_id, known, seed, terms, sum: bytes };
        fits.then_some(coded)
    }
}

/// Bytes of what comes before the terms.
const FIXED: usize = 4 + 2 + 1 + 1 + 1;

/// Bytes of a frame's content beside the sum of these terms.
pub fn overhead(terms: &[u32]) -> usize {
    FIXED + bitmap::len(terms)
}

/// The factor of a term: never zero. splitmix64's last steps over seed and term.
pub fn factor(seed: u8, term: u32) -> u8 {
    let mut z = (u64::from(seed) << 32 | u64::from(term)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ z >> 31) % 255) as u8 + 1
}

/// Bytes that a description has as a term, beside those behind "FG" and the version.
const ENVELOPE: usize = 4 + 2;

/// A description as a term. `None` of what is none.
pub fn wrap(info: &[u8]) -> Option<Vec<u8>> {
    let rest = info.strip_prefix(&PREFIX)?;
    let mut bytes = Vec::with_capacity(ENVELOPE + rest.len());
    bytes.extend_from_slice(&check(rest).to_be_bytes());
    bytes.extend_from_slice(&u16::try_from(rest.len()).ok()?.to_be_bytes());
    bytes.extend_from_slice(rest);
    Some(bytes)
}

/// The description, when it is one that somebody wrapped: a sum of wrong ones is none.
pub fn unwrap(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let expected = u32::from_be_bytes(array(&mut bytes)?);
    let length = u16::from_be_bytes(array(&mut bytes)?);
    let rest = split(&mut bytes, usize::from(length))?;
    let empty = bytes.iter().all(|byte| *byte == 0);
    (empty && check(rest) == expected).then(|| [&PREFIX, rest].concat())
}

/// FNV-1a, 32 bits: not linear, so that of a sum of wrong descriptions it is wrong, too.
fn check(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn coded(class: Class, terms: &[u32]) -> CodedPacket<'static> {
        CodedPacket {
            scope: ((NodeId(0x0a00_0001), InstanceId(0x1234)), class),
            fec_id: FecId::ReedSolomonM,
            known: 3,
            seed: 9,
            terms: terms.to_vec(),
            sum: b"xyz",
        }
    }
    fn bytes(coded: &CodedPacket<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        coded.append(&mut out);
        out
    }

    #[test]
    fn golden_bytes_of_a_sum_of_three_descriptions_and_of_symbols_of_two_objects() {
        let infos = coded(Class::Info, &[300, 301, 310]);
        let fixed = [0x0a, 0, 0, 1, 0x12, 0x34];
        let golden = [&fixed[..], &[0x04, 3, 9, 1, 0xac, 2, 2, 0xc0, 0x20], b"xyz"].concat();
        assert_eq!(bytes(&infos), golden);
        let symbols = coded(Class::Symbol, &[0x2_0000, 0x2_0003, 0x3_0101]);
        let golden =
            [&fixed[..], &[0x05, 3, 9, 2, 0x80, 0x80, 8, 1, 0x90, 0xfe, 0x81, 4, 1, 0x80], b"xyz"];
        assert_eq!(bytes(&symbols), golden.concat());
        for sum in [infos, symbols] {
            assert_eq!(CodedPacket::parse(&bytes(&sum)), Some(sum));
        }
    }

    #[test]
    fn numbers_go_on_where_object_ids_wrap() {
        let sum = coded(Class::Info, &[0xfffe, 0xffff, 0, 2]);
        assert_eq!(CodedPacket::parse(&bytes(&sum)), Some(sum));
    }

    #[test]
    fn a_sum_of_one_of_too_many_of_one_twice_or_without_bytes_is_refused() {
        let refused = |sum: &CodedPacket<'_>| CodedPacket::parse(&bytes(sum)).is_none();
        assert!(refused(&coded(Class::Info, &[5])));
        let many: Vec<u32> = (0..TERMS_MAX as u32 + 1).collect();
        assert!(refused(&coded(Class::Info, &many)));
        assert!(!refused(&coded(Class::Info, &many[1..])));
        assert!(refused(&CodedPacket { sum: b"", ..coded(Class::Info, &[1, 2]) }));
        let good = bytes(&coded(Class::Info, &[1, 2]));
        assert!((0..good.len() - 2).all(|length| CodedPacket::parse(&good[..length]).is_none()));
        // Another group that goes back to the first one's terms by way of the wrap.
        let twice = [&good[..9], &[2, 1, 1, 0xc0, 0xff, 0xff, 3, 1, 0xc0], b"xyz"].concat();
        assert_eq!(CodedPacket::parse(&twice), None);
    }

    #[test]
    fn a_description_comes_back_from_its_term_with_padding_and_a_wrong_one_does_not() {
        let info = [&PREFIX[..], b"abc"].concat();
        let mut term = wrap(&info).unwrap();
        assert_eq!(term.len(), ENVELOPE + 3);
        term.extend([0; 5]);
        assert_eq!(unwrap(&term), Some(info));
        for byte in 0..term.len() {
            let mut wrong = term.clone();
            wrong[byte] ^= 0x10;
            assert_eq!(unwrap(&wrong), None, "{byte}");
        }
        assert_eq!(wrap(b"holiday.jpg"), None);
    }

    proptest! {
        #[test]
        fn any_terms_come_back(
            steps in proptest::collection::vec(1..400_u32, 2..TERMS_MAX), first: u32, symbols: bool
        ) {
            let class = if symbols { Class::Symbol } else { Class::Info };
            let most = if symbols { u32::MAX } else { 0xffff };
            let terms: Vec<u32> = steps.iter().scan(first & most, |at, step| {
                *at = at.wrapping_add(*step) & most;
                Some(*at)
            }).collect();
            let coded = coded(class, &terms);
            let written = bytes(&coded);
            prop_assert_eq!(written.len(), overhead(&terms) + 3);
            prop_assert_eq!(CodedPacket::parse(&written), Some(coded));
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            CodedPacket::parse(&bytes);
            unwrap(&bytes);
        }
    }
}
