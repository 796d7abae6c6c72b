//! The hashes of a file's groups, by which a part of a file can be trusted or mended.
//!
//! A group is a BLAKE3 subtree of 2^n bytes, 64 KiB at least; its hash is the subtree's chaining
//! value. Merged, the hashes of all groups give the file's own BLAKE3 hash, its root: a manifest
//! that merges to an announced root needs no trust of its own. A file of up to 1 MiB has none.
//!
//! It travels as a data object right before its file: the hashes one after the other, and as
//! NORM_INFO
//! ```text
//! NUL | CBOR map {0: version, 1: "manifest", 2: root, 3: size, 4: log2 of bytes in a group,
//!                 5: some groups are all zeros, 7, 14, 30, 31: as in an announcement}
//! ```
//! with a check behind it, as in an announcement.
//!
//! where 5 says that a bit for each group follows the hashes, lowest first, set where the group is
//! all zeros: it need not travel, and becomes a hole. Like all that is held from before, it is
//! claimed and then hashed.
//!
//! Whoever takes NORM_INFO for a name sees an empty one. On disk it is that and the hashes.

pub mod unit;

use std::{num::NonZero, ops::Range, thread::available_parallelism};

use blake3::{
    Hasher,
    hazmat::{ChainingValue, HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root},
};
use fanfare_crypto::{Identity, PublicKey, Purpose};
use minicbor::{Decode, Encode};

use crate::content::{
    announcement::{ObjectMark, Turn, check_of, is_right},
    receipt::proof::Nonce,
};

const VERSION: u8 = 1;
const KIND: &str = "manifest";
/// The smallest group: 64 KiB. One segment that lacks in it costs all of it after an interruption,
/// and there are many such on a line with loss; the hashes are 0.05 % of the file.
const GROUP_LOG2_MIN: u8 = 16;
/// A file of so many bytes has no manifest: it is soon sent again.
pub const WITHOUT_MAX: u64 = 1 << 20;
/// Objects have at most 2^48 bytes.
const GROUP_LOG2_MAX: u8 = 47;
/// Most groups: even, and their hashes together at most 256 KiB. A larger file has larger groups.
const GROUPS_MAX: usize = 8192;
/// Longest manifest, bytes: hashes, and a bit for each.
pub const MANIFEST_MAX: u64 = (GROUPS_MAX * HASH + GROUPS_MAX / 8) as u64;
const HASH: usize = 32;
/// Zeros to be hashed at once: enough for BLAKE3's widest kernel, and they stay in the processor's cache.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
/// So many bytes are worth a thread: a few milliseconds of hashing.
const THREAD_BYTES: u64 = 16 << 20;

/// Hashes of the groups of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    head: Head,
    groups: Vec<ChainingValue>,
    /// Which groups are all zeros; empty when none is.
    zeros: Vec<bool>,
}

/// What a manifest says of itself ahead of its hashes.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Head {
    #[n(0)]
    version: u8,
    #[n(1)]
    kind: String,
    #[cbor(n(2), with = "minicbor::bytes")]
    root: [u8; 32],
    #[n(3)]
    size: u64,
    #[n(4)]
    group_log2: u8,
    #[n(5)]
    zeros: Option<bool>,
    /// Which object of a carousel it is.
    #[n(14)]
    pub turn: Option<Turn>,
    /// The number of this sending: see [`crate::content::receipt::proof`].
    #[cbor(n(30), with = "minicbor::bytes")]
    pub nonce: Option<Nonce>,
    /// Who has signed it, as an announcement is signed.
    #[cbor(n(31), with = "minicbor::bytes")]
    pub signer: Option<[u8; 32]>,
    /// The session that it was signed for, as an announcement.
    #[n(32)]
    pub session: Option<String>,
    /// The object that it announces, as in an announcement.
    #[n(7)]
    pub of: Option<ObjectMark>,
}

/// Sending that a manifest is announced in.
#[derive(Debug, Clone, Copy, Default)]
pub struct ManifestContext {
    /// Place in a carousel.
    pub turn: Option<Turn>,
    /// Number of this sending.
    pub nonce: Option<Nonce>,
    /// The object that it is sent as.
    pub of: Option<ObjectMark>,
}

impl Head {
    /// BLAKE3 hash of the file that the manifest is of.
    #[must_use]
    pub fn root(&self) -> [u8; 32] {
        self.root
    }

    /// Reads NORM_INFO; `None` when it announces no manifest that this program understands.
    #[must_use]
    pub fn parse(info: &[u8]) -> Option<Self> {
        let mut decoder = minicbor::Decoder::new(info.strip_prefix(&[0])?);
        let head: Self = decoder.decode().ok()?;
        let behind = info.len() - 1 - decoder.position();
        let known = head.version == VERSION
            && head.kind == KIND
            && is_right(info, behind, head.signer.is_some());
        let log2 = (GROUP_LOG2_MIN..=GROUP_LOG2_MAX).contains(&head.group_log2);
        (known && log2 && (2..=GROUPS_MAX as u64).contains(&head.count())).then_some(head)
    }

    /// Whose signature stands below this NORM_INFO, if it is right.
    #[must_use]
    pub fn signer(info: &[u8], session: &str) -> Option<PublicKey> {
        let head = Self::parse(info)?;
        let key = PublicKey(head.signer?);
        if head.session.is_some_and(|signed| signed != session) {
            return None;
        }
        let (signed, signature) = info.split_last_chunk()?;
        key.verifies(Purpose::Object, signed, signature).then_some(key)
    }

    /// Groups.
    fn count(&self) -> u64 {
        self.size.div_ceil(1 << self.group_log2)
    }

    /// Bytes of the hashes.
    #[must_use]
    pub fn body_len(&self) -> u64 {
        let bits = if self.zeros == Some(true) { self.count().div_ceil(8) } else { 0 };
        self.count() * HASH as u64 + bits
    }
}

impl Manifest {
    /// From the hashes as they came; `None` unless they merge to the root.
    #[must_use]
    pub fn from_body(head: Head, body: &[u8]) -> Option<Self> {
        if body.len() as u64 != head.body_len() {
            return None;
        }
        let count = usize::try_from(head.count()).ok()?;
        let (hashes, bits) = body.split_at_checked(count * HASH)?;
        let groups: Vec<ChainingValue> = hashes.as_chunks::<HASH>().0.to_vec();
        let has_bits = !bits.is_empty();
        let zeros = (0..count).filter(|_| has_bits).map(|n| bits[n / 8] >> (n % 8) & 1 == 1);
        let zeros = zeros.collect();
        (merge_all(&groups)? == head.root).then_some(Self { head, groups, zeros })
    }

    /// The NORM_INFO that announces it.
    #[must_use]
    pub fn info(&self) -> Vec<u8> {
        self.info_in(ManifestContext::default(), None)
    }

    /// The same as it is sent.
    #[must_use]
    pub fn info_in(&self, context: ManifestContext, identity: Option<&Identity>) -> Vec<u8> {
        let mut info = vec![0];
        // Writing into memory cannot fail.
        let signer = identity.map(|identity| identity.public().0);
        let session = identity.and_then(Identity::session).map(str::to_owned);
        let ManifestContext { turn, nonce, of } = context;
        let head = Head { turn, nonce, of, signer, session, ..self.head.clone() };
        let _ = minicbor::encode(&head, &mut info);
        let check = check_of(&info);
        info.extend(check);
        if let Some(identity) = identity {
            info.extend(identity.sign(Purpose::Object, &info));
        }
        info
    }

    /// The bytes of its object.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        let mut body = self.groups.concat();
        let bits = self
            .zeros
            .chunks(8)
            .map(|bits| bits.iter().rev().fold(0, |byte, is_zero| byte << 1 | u8::from(*is_zero)));
        body.extend(bits);
        body
    }

    /// Runs of bytes (offset, length) that are all zeros, as far as it says so.
    #[must_use]
    pub fn zero_runs(&self) -> Vec<(u64, u64)> {
        self.runs(self.zeros.iter().enumerate().filter(|(_, zero)| **zero).map(|(n, _)| n))
    }

    /// How it stands on disk: length of the head, head, hashes.
    #[must_use]
    pub fn to_disk(&self) -> Vec<u8> {
        let info = self.info();
        let len = info.len() as u32;
        [&len.to_be_bytes()[..], &info, &self.body()].concat()
    }

    /// Reads what [`Self::to_disk`] wrote; `None` when anything of it is not as it was.
    #[must_use]
    pub fn from_disk(bytes: &[u8]) -> Option<Self> {
        let (len, rest) = bytes.split_at_checked(4)?;
        let len = u32::from_be_bytes(len.try_into().ok()?);
        let (info, body) = rest.split_at_checked(usize::try_from(len).ok()?)?;
        Self::from_body(Head::parse(info)?, body)
    }

    /// The file's hash.
    #[must_use]
    pub fn root(&self) -> [u8; 32] {
        self.head.root
    }

    /// The file's bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.head.size
    }

    /// Runs of bytes (offset, length) whose hashes are not those of `other`, the same file as found.
    #[must_use]
    pub fn wrong(&self, other: &Self) -> Vec<(u64, u64)> {
        if other.head.size != self.head.size || other.head.group_log2 != self.head.group_log2 {
            return vec![(0, self.head.size)];
        }
        let pairs = self.groups.iter().zip(&other.groups).enumerate();
        self.runs(pairs.filter(|(_, (a, b))| a != b).map(|(number, _)| number))
    }

    /// Groups.
    pub fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// Where a group begins, and its length.
    pub fn group(&self, number: usize) -> (u64, u64) {
        let group = 1_u64 << self.head.group_log2;
        let start = number as u64 * group;
        (start, group.min(self.head.size - start))
    }

    /// Whether it says that a group is all zeros.
    pub fn is_zero(&self, number: usize) -> bool {
        self.zeros.get(number) == Some(&true)
    }

    /// Whether these are the bytes of a group.
    pub fn is_group(&self, number: usize, bytes: &[u8]) -> bool {
        let mut hasher = Hasher::new();
        hasher.set_input_offset(self.group(number).0);
        hasher.update(bytes);
        self.groups.get(number) == Some(&hasher.finalize_non_root())
    }

    /// Groups, neighbours joined, as (offset, length).
    pub fn runs(&self, numbers: impl Iterator<Item = usize>) -> Vec<(u64, u64)> {
        let group = 1 << self.head.group_log2;
        let mut runs: Vec<Range<u64>> = Vec::new();
        for number in numbers {
            let start = number as u64 * group;
            let end = (start + group).min(self.head.size);
            match runs.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => runs.push(start..end),
            }
        }
        runs.into_iter().map(|run| (run.start, run.end - run.start)).collect()
    }
}

/// The root of a tree whose leaves are `groups`; `None` for fewer than two.
fn merge_all(groups: &[ChainingValue]) -> Option<[u8; 32]> {
    if groups.len() < 2 {
        return None;
    }
    let (left, right) = groups.split_at(left_len(groups.len()));
    let root = merge_subtrees_root(&merge(left), &merge(right), Mode::Hash);
    Some(root.into())
}

fn merge(groups: &[ChainingValue]) -> ChainingValue {
    match groups {
        [] => [0; HASH],
        [one] => *one,
        more => {
            let (left, right) = more.split_at(left_len(more.len()));
            merge_subtrees_non_root(&merge(left), &merge(right), Mode::Hash)
        }
    }
}

/// The left half of a tree is the largest power of two that leaves something for the right.
fn left_len(len: usize) -> usize {
    len.next_power_of_two() / 2
}

/// Hashes a file and its groups in one go, of whatever length it turns out to be.
#[derive(Debug)]
pub struct GroupHasher {
    group_log2: u8,
    hasher: Hasher,
    groups: Vec<ChainingValue>,
    /// Which of them are all zeros.
    zeros: Vec<bool>,
    /// The group under way is, so far.
    is_zero: bool,
}

impl Default for GroupHasher {
    fn default() -> Self {
        Self {
            group_log2: GROUP_LOG2_MIN,
            hasher: Hasher::new(),
            groups: Vec::new(),
            zeros: Vec::new(),
            is_zero: true,
        }
    }
}

impl GroupHasher {
    /// The next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = self.group() - self.hasher.count();
            if room == 0 {
                self.close_group();
                continue;
            }
            let take = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
            let (now, later) = bytes.split_at(take);
            self.hasher.update(now);
            self.is_zero = self.is_zero && is_zero(now);
            bytes = later;
        }
    }

    /// The next `len` bytes, all zeros. All processors share whole groups of them. BLAKE3 numbers each kilobyte, so
    /// that zeros have another hash wherever they stand: it has to be made each time.
    pub fn update_zeros(&mut self, mut len: u64) {
        while len > 0 {
            let (group, within) = (self.group(), self.hasher.count());
            if within == group {
                self.close_group();
                continue;
            }
            let first = self.groups.len();
            // The last group of a file is closed by its end.
            let whole = ((len - 1) / group).min((GROUPS_MAX - first) as u64) as usize;
            if within > 0 || whole == 0 {
                let take = len.min(group - within).min(ZEROS.len() as u64);
                self.update(&ZEROS[..take as usize]);
                len -= take;
                continue;
            }
            self.groups.extend(groups_of_zeros(first, whole, group));
            self.zeros.resize(self.groups.len(), true);
            self.begin_group();
            len -= whole as u64 * group;
        }
    }

    /// Bytes so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.groups.len() as u64 * self.group() + self.hasher.count()
    }

    fn group(&self) -> u64 {
        1 << self.group_log2
    }

    /// Only called with more bytes to come.
    fn close_group(&mut self) {
        self.groups.push(self.hasher.finalize_non_root());
        self.zeros.push(std::mem::replace(&mut self.is_zero, true));
        self.begin_group();
    }

    fn begin_group(&mut self) {
        if self.groups.len() == GROUPS_MAX {
            let pair = |pair: &[ChainingValue]| merge(pair);
            self.groups = self.groups.chunks(2).map(pair).collect();
            let both = |pair: &[bool]| pair.iter().all(|zero| *zero);
            self.zeros = self.zeros.chunks(2).map(both).collect();
            self.group_log2 += 1;
        }
        self.hasher = Hasher::new();
        self.hasher.set_input_offset(self.groups.len() as u64 * self.group());
    }

    /// Root, size, and a manifest of a file that is long enough to have one.
    #[must_use]
    pub fn finish(mut self) -> ([u8; 32], u64, Option<Manifest>) {
        let size = self.count();
        if self.groups.is_empty() {
            return (self.hasher.finalize().into(), size, None);
        }
        self.groups.push(self.hasher.finalize_non_root());
        self.zeros.push(self.is_zero);
        if size <= WITHOUT_MAX {
            return (merge_all(&self.groups).unwrap_or_default(), size, None);
        }
        let any = self.zeros.contains(&true);
        let zeros = if any { self.zeros } else { Vec::new() };
        let root = merge_all(&self.groups).unwrap_or_default();
        let head = Head {
            version: VERSION,
            kind: KIND.to_owned(),
            root,
            size,
            group_log2: self.group_log2,
            zeros: any.then_some(true),
            turn: None,
            nonce: None,
            signer: None,
            session: None,
            of: None,
        };
        (root, size, Some(Manifest { head, groups: self.groups, zeros }))
    }
}

/// Chaining values of `count` groups of `group` bytes, all zeros, from the `first`th on.
fn groups_of_zeros(first: usize, count: usize, group: u64) -> Vec<ChainingValue> {
    let of = |number: usize| {
        let mut hasher = Hasher::new();
        hasher.set_input_offset(number as u64 * group);
        while hasher.count() < group {
            let take = (group - hasher.count()).min(ZEROS.len() as u64);
            hasher.update(&ZEROS[..take as usize]);
        }
        hasher.finalize_non_root()
    };
    let processors = available_parallelism().map_or(1, NonZero::get);
    let each = count.div_ceil(processors).max(THREAD_BYTES.div_ceil(group) as usize);
    let mut values = vec![[0; HASH]; count];
    std::thread::scope(|scope| {
        let mut shares =
            values.chunks_mut(each).enumerate().map(|(n, share)| (first + n * each, share));
        let own = shares.next();
        let fill = |first: usize, share: &mut [ChainingValue]| {
            (first..).zip(share).for_each(|(number, value)| *value = of(number));
        };
        for (first, share) in shares {
            scope.spawn(move || fill(first, share));
        }
        own.into_iter().for_each(|(first, share)| fill(first, share));
    });
    values
}

/// Looks at 4 KiB at a time, without a branch within them.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    bytes.chunks(4096).all(|chunk| chunk.iter().fold(0, |all, byte| all | byte) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;
    const GROUP: usize = 1 << GROUP_LOG2_MIN;

    fn content(len: usize) -> Vec<u8> {
        (0..len).map(|n| (n % 251) as u8 ^ (n >> 16) as u8).collect()
    }

    fn hash(bytes: &[u8]) -> ([u8; 32], u64, Option<Manifest>) {
        let mut hasher = GroupHasher::default();
        bytes.chunks(70_001).for_each(|chunk| hasher.update(chunk));
        hasher.finish()
    }

    #[test]
    fn the_root_is_the_blake3_hash_of_the_file_at_any_length() {
        for len in [0, 1, MIB - 1, MIB, MIB + 1, 2 * MIB, 2 * MIB + 1, 3 * MIB, 5 * MIB + 77] {
            let bytes = content(len);
            let (root, size, manifest) = hash(&bytes);
            assert_eq!((root, size), (*blake3::hash(&bytes).as_bytes(), len as u64), "{len}");
            assert_eq!(manifest.is_some(), len > MIB, "{len}");
        }
    }

    #[test]
    fn groups_double_so_that_a_manifest_stays_within_its_bound() {
        let mut hasher = GroupHasher::default();
        let mut whole = Hasher::new();
        // Starting late in the row of groups spares the test gigabytes.
        let group = content(GROUP);
        for _ in 0..3 {
            hasher.update(&group);
            whole.update(&group);
        }
        hasher.close_group();
        hasher.groups.push(hasher.groups[0]);
        let before = hasher.groups.clone();
        hasher.groups.extend(vec![[7; 32]; GROUPS_MAX - before.len() - 1]);
        hasher.zeros = vec![false; GROUPS_MAX - 1];
        hasher.hasher = Hasher::new();
        hasher.hasher.set_input_offset((GROUPS_MAX as u64 - 1) * GROUP as u64);
        hasher.update(&group);
        hasher.update(&[1]);
        assert_eq!((hasher.groups.len(), hasher.group_log2), (GROUPS_MAX / 2, 17));
        assert_eq!(hasher.groups[0], merge(&before[..2]));
        assert_eq!(hasher.count(), ((GROUPS_MAX * GROUP) + 1) as u64);
    }

    #[test]
    fn zeros_that_are_counted_hash_as_zeros_that_are_read() {
        // Across the doubling of groups, too.
        for (before, zeros, behind) in [
            (0, 5 * MIB, 0),
            (1, 3 * MIB, 1),
            (70_000, GROUP, 70_000),
            (5, (GROUPS_MAX - 1) * GROUP, GROUP),
            (GROUP, GROUPS_MAX * GROUP + 3, 9),
        ] {
            let (mut counted, mut read) = (GroupHasher::default(), GroupHasher::default());
            for hasher in [&mut counted, &mut read] {
                hasher.update(&content(before));
            }
            counted.update_zeros(zeros as u64);
            let block = vec![0; MIB];
            let mut left = zeros;
            while left > 0 {
                let take = left.min(MIB);
                read.update(&block[..take]);
                left -= take;
            }
            for hasher in [&mut counted, &mut read] {
                hasher.update(&content(behind));
            }
            assert_eq!(counted.count(), (before + zeros + behind) as u64);
            assert_eq!(counted.finish(), read.finish(), "{before}, {zeros}, {behind}");
        }
    }

    #[test]
    fn a_manifest_comes_back_from_the_wire_and_from_disk() {
        let manifest = hash(&content(3 * MIB + 5)).2.unwrap();
        let head = Head::parse(&manifest.info()).unwrap();
        assert_eq!(head.body_len(), 49 * 32);
        assert_eq!(Manifest::from_body(head, &manifest.body()), Some(manifest.clone()));
        assert_eq!(Manifest::from_disk(&manifest.to_disk()), Some(manifest));
    }

    #[test]
    fn a_manifest_that_does_not_merge_to_its_root_is_refused() {
        let manifest = hash(&content(3 * MIB + 5)).2.unwrap();
        let whole = manifest.to_disk();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            let read = Manifest::from_disk(&bytes);
            // The size may change within the last group; root and hashes may not.
            assert!(
                read.is_none_or(|m| m.groups == manifest.groups && m.root() == manifest.root())
            );
        }
        assert!((0..whole.len()).all(|cut| Manifest::from_disk(&whole[..cut]).is_none()));
    }

    #[test]
    fn wrong_groups_are_named_and_neighbours_joined() {
        let mut bytes = content(5 * MIB + 10);
        let right = hash(&bytes).2.unwrap();
        for at in [MIB, MIB + GROUP, 3 * MIB - 1, 5 * MIB + 9] {
            bytes[at] ^= 1;
        }
        let found = hash(&bytes).2.unwrap();
        let mib = MIB as u64;
        let group = GROUP as u64;
        let wrong = [(mib, 2 * group), (3 * mib - group, group), (5 * mib, 10)];
        assert_eq!(right.wrong(&found), wrong);
        assert_eq!(right.wrong(&right), []);
        let shorter = hash(&bytes[..4 * MIB]).2.unwrap();
        assert_eq!(right.wrong(&shorter), [(0, 5 * mib + 10)]);
    }

    #[test]
    fn groups_of_zeros_are_named_and_come_back_from_the_wire() {
        let mut bytes = vec![0; 21 * GROUP + 5];
        bytes[3 * GROUP] = 1;
        bytes[8 * GROUP - 1] = 1;
        let manifest = hash(&bytes).2.unwrap();
        let group = GROUP as u64;
        let runs = [(0, 3 * group), (4 * group, 3 * group), (8 * group, 13 * group + 5)];
        assert_eq!(manifest.zero_runs(), runs);
        let head = Head::parse(&manifest.info()).unwrap();
        assert_eq!(head.body_len(), 22 * 32 + 3);
        assert_eq!(Manifest::from_body(head.clone(), &manifest.body()), Some(manifest.clone()));
        assert_eq!(Manifest::from_disk(&manifest.to_disk()), Some(manifest.clone()));
        assert_eq!(Manifest::from_body(head, &manifest.body()[..22 * 32]), None);
        assert!(hash(&content(3 * MIB)).2.unwrap().zero_runs().is_empty());
    }

    #[test]
    fn what_announces_something_else_is_no_manifest() {
        assert_eq!(Head::parse(b"\0\xa0"), None);
        assert_eq!(Head::parse(b"name\0\xa0"), None);
        let mut rng = fanfare_proto::rng::Rng::new(3);
        let info = hash(&content(2 * MIB)).2.unwrap().info();
        for _ in 0..10_000 {
            let mut bytes = info.clone();
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.next_u64() as u8;
            let _ = Head::parse(&bytes);
        }
    }
}
