//! What a sender says of a file in its NORM_INFO.
//!
//! ```text
//! relative name, UTF-8 | NUL | CBOR map {0: version, 1: size, 2: BLAKE3 root, 3: mode, 4: mtime,
//!                                        5: read it where you believe to have it,
//!                                        6: nanoseconds of mtime}
//!                        NUL | CBOR map {0: version, 1: size, 2: BLAKE3 root, 5: as above,
//!                              8: "pack", 9: files,
//!                              10: [bytes of the head, its BLAKE3 hash], 11: sent on demand}
//!                        NUL | CBOR map {0: version, 1: size, 2: BLAKE3 root, 8: "listing",
//!                              12: [objects sent before it, digest of what holds them all]}
//! ```
//! A tree is announced as a listing is, with kind "tree" and, under 9, the links in it.
//! A piece of a stream has kind "piece" and `20`: see [`Piece`].
//!
//! What is sent again because it changed has one more, `15: object`: the id of the one in whose place
//! it comes.
//!
//! Where a listing comes after it, it has one more, `16: true`.
//!
//! In a carousel of more objects than can be kept, both have one more,
//! `14: [place in the round, objects in a round, rounds to come]`: there an object comes under
//! another id in each round.
//!
//! All have `30`, 8 random bytes of this sending, where an acknowledgement is wanted; and `31`, the
//! sender's public key, where 64 bytes after the map are its signature of everything before them.
//!
//! All that are sent by NORM have `7`, four bytes of BLAKE3 of the object's node id, instance and object id:
//! what others turn into the announcement of another object is none.
//!
//! Four bytes of BLAKE3 of all before them follow the map, and a signature follows those: a bit that others
//! have turned on the way gives no wrong name, time or length.
//!
//! The name comes first and alone is enough, so that NRL's receivers name the file rightly and
//! NRL's senders, which give only a name, are understood.

use fanfare_crypto::{Identity, PublicKey, Purpose};
use fanfare_node::disk::{
    Mtime,
    name::{shown, text_of},
};
use fanfare_proto::ObjectKey;
use minicbor::{Decode, Encode};

use crate::content::receipt::proof::Nonce;
pub use crate::content::stream::piece::Piece;

/// Format of [`Details`] that this program writes and reads.
const VERSION: u8 = 1;

/// Bytes that tell whether all before them came as they were sent. One of four billion changes is not seen.
const CHECK: usize = 4;
/// Bytes of a signature: see [`PublicKey::verifies`].
const SIGNATURE: usize = 64;

pub(crate) fn check_of(bytes: &[u8]) -> [u8; CHECK] {
    blake3::hash(bytes).as_bytes().first_chunk().copied().unwrap_or_default()
}

/// True if all of NORM_INFO came as it was sent. `behind`: bytes behind its map, of which the last are a
/// signature where it is signed.
pub(crate) fn is_right(info: &[u8], behind: usize, is_signed: bool) -> bool {
    let signature = if is_signed { SIGNATURE } else { 0 };
    let checked = info.len().checked_sub(signature + CHECK);
    match behind.checked_sub(signature) {
        // Nothing tells, as from the first builds of 0.1.0.
        Some(0) => true,
        Some(CHECK) => checked.is_some_and(|checked| ends_with_check(info, checked)),
        _ => false,
    }
}

/// True if the check behind the first `checked` bytes is theirs.
fn ends_with_check(info: &[u8], checked: usize) -> bool {
    info.split_at_checked(checked)
        .is_some_and(|(checked, behind)| behind.starts_with(&check_of(checked)))
}

/// True if NORM_INFO has the shape of what a sender of ours announces, and was changed on the way. What later
/// versions announce was not.
#[must_use]
pub fn is_changed(info: &[u8]) -> bool {
    let map = info.iter().position(|byte| *byte == 0).and_then(|at| info.get(at + 1));
    let is_ours = map.is_some_and(|byte| (0xa0..=0xbf).contains(byte));
    let ends = [CHECK, CHECK + SIGNATURE].map(|behind| info.len().checked_sub(behind));
    is_ours && !ends.into_iter().flatten().any(|checked| ends_with_check(info, checked))
}

/// A file as its sender announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// The name, as it came. Not to be used as a path before [`fanfare_node::disk::name::SafeName::parse`].
    pub name: Vec<u8>,
    /// What a sender of ours adds; `None` from a plain NORM sender.
    pub details: Option<Details>,
}

/// What a sender of ours says of a file besides its name.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Details {
    #[n(0)]
    version: u8,
    /// Bytes.
    #[n(1)]
    pub size: u64,
    /// BLAKE3 hash of the content.
    #[cbor(n(2), with = "minicbor::bytes")]
    pub root: [u8; 32],
    /// Unix permission bits.
    #[n(3)]
    pub mode: Option<u32>,
    /// Time of last change, seconds since 1970.
    #[n(4)]
    pub mtime: Option<i64>,
    /// Nanoseconds of that time beyond its second.
    #[n(6)]
    pub mtime_ns: Option<u32>,
    /// Where a receiver believes that it has it, it is to read it and make sure.
    #[n(5)]
    read: Option<bool>,
    /// What kind of object it is; `None`: one file.
    #[n(8)]
    pub kind: Option<String>,
    /// Files in it, if it is a pack.
    #[n(9)]
    pub files: Option<u64>,
    /// What is ahead of the files, if it is a pack.
    #[n(10)]
    pub head: Option<PackHead>,
    /// It is sent only as far as it is asked for.
    #[n(11)]
    pub on_demand: Option<bool>,
    /// What was sent before it, if it is a listing.
    #[n(12)]
    pub follows: Option<Follows>,
    /// Which object of a carousel it is.
    #[n(14)]
    pub turn: Option<Turn>,
    /// The object in whose place it is sent: what that was made of has changed.
    #[n(15)]
    pub instead: Option<u16>,
    /// A listing comes after it: what stands in the way of its name may go by that.
    #[n(16)]
    pub listed: Option<bool>,
    /// What of a stream it is, if it is a piece of one.
    #[n(20)]
    pub piece: Option<Piece>,
    /// The number of this sending: see [`crate::content::receipt::proof`].
    #[cbor(n(30), with = "minicbor::bytes")]
    pub nonce: Option<Nonce>,
    /// Who has signed it: the last 64 bytes of NORM_INFO are the signature of all before them.
    #[cbor(n(31), with = "minicbor::bytes")]
    pub signer: Option<[u8; 32]>,
    /// The session that it was signed for: group and port. `None` from version 0.1.0.
    #[n(32)]
    pub session: Option<String>,
    /// The object that it announces. `None` from version 0.1.0.
    #[n(7)]
    pub of: Option<ObjectMark>,
}

/// Hash of what tells an object from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(transparent)]
pub struct ObjectMark(#[n(0)] u32);

impl ObjectMark {
    /// The longest that there is, to reckon with before it is known.
    pub const LONGEST: Self = Self(u32::MAX);

    /// The mark of this object.
    #[must_use]
    pub fn of(key: ObjectKey) -> Self {
        let (sender, instance) = (key.sender.0.to_be_bytes(), key.instance.0.to_be_bytes());
        let object = key.object.0.to_be_bytes();
        Self(u32::from_be_bytes(check_of(&[&sender[..], &instance, &object].concat())))
    }
}

/// Which object of a carousel it is, whatever its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Turn {
    /// Its place in each round.
    #[n(0)]
    pub place: u64,
    /// Objects in a round.
    #[n(1)]
    pub objects: u64,
    /// Rounds to come after this one.
    #[n(2)]
    pub rounds: u32,
}

/// All that was sent before a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Follows {
    /// Objects.
    #[n(0)]
    pub objects: u64,
    /// Digest of what a receiver holds that has them all.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub digest: [u8; 32],
}

/// What of a pack tells which files it is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct PackHead {
    /// Its length.
    #[n(0)]
    pub bytes: u64,
    /// Its BLAKE3 hash.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub hash: [u8; 32],
}

/// The kind of an object that holds many files.
const PACK: &str = "pack";
/// The kind of an object that says what is in the directories that were sent.
const LISTING: &str = "listing";
/// The kind of an object that says what directories are beside their files.
const TREE: &str = "tree";
/// The kind of an object that is a piece of a stream.
const PIECE: &str = "piece";

impl Details {
    /// Details in the present format.
    #[must_use]
    pub fn new(size: u64, root: [u8; 32], mode: Option<u32>, mtime: Option<i64>) -> Self {
        Self {
            version: VERSION,
            size,
            root,
            mode,
            mtime,
            mtime_ns: None,
            read: None,
            kind: None,
            files: None,
            head: None,
            on_demand: None,
            follows: None,
            turn: None,
            instead: None,
            listed: None,
            piece: None,
            nonce: None,
            signer: None,
            session: None,
            of: None,
        }
    }

    /// Details of a piece of a stream.
    #[must_use]
    pub fn of_piece(size: u64, root: [u8; 32], piece: Piece) -> Self {
        let kind = Some(PIECE.to_owned());
        Self { kind, piece: Some(piece), ..Self::new(size, root, None, None) }
    }

    /// Details of a pack of so many files.
    #[must_use]
    pub fn of_pack(size: u64, root: [u8; 32], files: u64, head: PackHead) -> Self {
        let kind = Some(PACK.to_owned());
        Self { kind, files: Some(files), head: Some(head), ..Self::new(size, root, None, None) }
    }

    /// Details of a listing, sent after all others; what those are is known last.
    #[must_use]
    pub fn of_listing(size: u64, root: [u8; 32], follows: Option<Follows>) -> Self {
        Self { kind: Some(LISTING.to_owned()), follows, ..Self::new(size, root, None, None) }
    }

    /// Details of a tree with so many links, sent after all others.
    #[must_use]
    pub fn of_tree(size: u64, root: [u8; 32], links: u64, follows: Option<Follows>) -> Self {
        let (kind, files) = (Some(TREE.to_owned()), Some(links));
        Self { kind, files, follows, ..Self::new(size, root, None, None) }
    }

    /// The head of a pack, when that says which of it is asked for.
    #[must_use]
    pub fn pack_head(&self) -> Option<PackHead> {
        self.head.filter(|_| self.is_pack())
    }

    /// The same, to be read where a receiver believes that it has it.
    #[must_use]
    pub fn to_be_read(self) -> Self {
        Self { read: Some(true), ..self }
    }

    /// Whether it is to be read even where a receiver believes that it has it.
    #[must_use]
    pub fn asks_to_read(&self) -> bool {
        self.read == Some(true)
    }

    /// With the nanoseconds of its time.
    #[must_use]
    pub fn at_nanoseconds(self, nanoseconds: u32) -> Self {
        Self { mtime_ns: Some(nanoseconds), ..self }
    }

    /// The time of last change, if one is announced.
    #[must_use]
    pub fn changed_at(&self) -> Option<Mtime> {
        // A receiver gives the system no more than a second.
        let nanoseconds = self.mtime_ns.filter(|ns| *ns < 1_000_000_000).unwrap_or(0);
        self.mtime.map(|seconds| Mtime { seconds, nanoseconds })
    }

    /// Whether it is a pack.
    #[must_use]
    pub fn is_pack(&self) -> bool {
        self.kind.as_deref() == Some(PACK)
    }

    /// What of a stream it is, if it is a piece of one.
    #[must_use]
    pub fn as_piece(&self) -> Option<&Piece> {
        self.piece.as_ref().filter(|_| self.kind.as_deref() == Some(PIECE))
    }

    /// Whether it is a tree.
    #[must_use]
    pub fn is_tree(&self) -> bool {
        self.kind.as_deref() == Some(TREE)
    }

    /// Whether it is sent after everything else, and says what was sent before it.
    #[must_use]
    pub fn comes_last(&self) -> bool {
        self.is_listing() || self.is_tree()
    }

    /// Whether it is of a kind that this program does not know: a later one's.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        let known = [PACK, LISTING, TREE, PIECE];
        self.kind.as_deref().is_some_and(|kind| !known.contains(&kind))
    }

    /// Whether it is a listing.
    #[must_use]
    pub fn is_listing(&self) -> bool {
        self.kind.as_deref() == Some(LISTING)
    }
}

impl Announcement {
    /// The bytes of NORM_INFO.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut info = self.name.clone();
        if let Some(details) = &self.details {
            info.push(0);
            // Writing into memory cannot fail; a plain name is what would be left if it did.
            let _ = minicbor::encode(details, &mut info);
            let check = check_of(&info);
            info.extend(check);
        }
        info
    }

    /// The same, signed.
    #[must_use]
    pub fn encode_signed(&self, identity: &Identity) -> Vec<u8> {
        let mut signed = self.clone();
        if let Some(details) = &mut signed.details {
            details.signer = Some(identity.public().0);
            details.session = identity.session().map(str::to_owned);
        }
        let mut info = signed.encode();
        info.extend(identity.sign(Purpose::Object, &info));
        info
    }

    /// Signer of this NORM_INFO, if the signature below it is right, and is for this session. What was signed
    /// for another one, and is sent here by somebody else, is signed by nobody.
    #[must_use]
    pub fn signer(info: &[u8], session: &str) -> Option<PublicKey> {
        let details = Self::parse(info).details?;
        let key = PublicKey(details.signer?);
        if details.session.is_some_and(|signed| signed != session) {
            return None;
        }
        let (signed, signature) = info.split_last_chunk()?;
        key.verifies(Purpose::Object, signed, signature).then_some(key)
    }

    /// The name as it may be shown on a terminal; `None` when there is none. A listing is called
    /// that.
    #[must_use]
    pub fn shown_name(&self) -> Option<String> {
        if let Some(details) = self.details.as_ref().filter(|details| details.comes_last()) {
            return details.kind.clone();
        }
        (!self.name.is_empty()).then(|| shown(&text_of(&self.name)))
    }

    /// Reads NORM_INFO. Never fails: what is not ours is a plain name. Details of an unknown version, and
    /// those that were changed on the way, are left out.
    #[must_use]
    pub fn parse(info: &[u8]) -> Self {
        let mut halves = info.splitn(2, |byte| *byte == 0);
        let name = halves.next().unwrap_or_default().to_vec();
        let details = halves.next().and_then(|map| Self::details(info, map));
        Self { name, details: details.filter(|details| details.version == VERSION) }
    }

    /// The details in `map`, with which `info` ends, if they are as they were sent.
    fn details(info: &[u8], map: &[u8]) -> Option<Details> {
        let mut decoder = minicbor::Decoder::new(map);
        let details: Details = decoder.decode().ok()?;
        let behind = map.len() - decoder.position();
        is_right(info, behind, details.signer.is_some()).then_some(details)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "239.255.42.1:6003";

    fn announced() -> Announcement {
        let details = Details::new(1 << 40, [7; 32], Some(0o644), Some(-5)).at_nanoseconds(9);
        Announcement { name: b"dir/file.txt".to_vec(), details: Some(details) }
    }

    #[test]
    fn an_announcement_comes_back_as_it_was() {
        assert_eq!(Announcement::parse(&announced().encode()), announced());
        let bare = Announcement {
            name: b"x".to_vec(),
            details: Some(Details::new(0, [0; 32], None, None)),
        };
        assert_eq!(Announcement::parse(&bare.encode()), bare);
    }

    #[test]
    fn what_was_signed_for_another_session_is_signed_by_nobody_here() {
        let identity = Identity::from_seed([3; 32]);
        for (session, right) in [(HERE, true), ("239.255.42.2:6003", false), ("unicast", false)] {
            let info = announced().encode_signed(&identity.in_session(session));
            let signer = right.then_some(identity.public());
            assert_eq!(Announcement::signer(&info, HERE), signer, "{session}");
        }
        // As version 0.1.0 signed.
        let info = announced().encode_signed(&identity);
        assert_eq!(Announcement::signer(&info, HERE), Some(identity.public()));
    }

    #[test]
    fn a_signed_announcement_reads_as_before_and_nothing_in_it_can_be_changed() {
        let identity = Identity::from_seed([1; 32]);
        let info = announced().encode_signed(&identity);
        assert_eq!(Announcement::parse(&info).name, announced().name);
        assert_eq!(Announcement::parse(&info).details.unwrap().root, [7; 32]);
        assert_eq!(Announcement::signer(&info, HERE), Some(identity.public()));
        assert_eq!(Announcement::signer(&announced().encode(), HERE), None);
        for bit in 0..info.len() * 8 {
            let mut changed = info.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Announcement::signer(&changed, HERE), None, "bit {bit}");
        }
    }

    #[test]
    fn a_pack_has_no_name_for_a_reader_of_c_strings() {
        let details = Some(Details::of_pack(
            1 << 22,
            [7; 32],
            4096,
            PackHead { bytes: 80_000, hash: [8; 32] },
        ));
        let pack = Announcement { name: Vec::new(), details };
        assert_eq!(pack.encode()[0], 0);
        let back = Announcement::parse(&pack.encode());
        assert!(back.details.as_ref().unwrap().is_pack());
        assert_eq!((back, pack.shown_name()), (pack, None));
        assert!(!announced().details.unwrap().is_pack());
    }

    #[test]
    fn the_announcement_of_a_listing_fits_into_the_shortest_segment() {
        let follows = Some(Follows { objects: u32::MAX.into(), digest: [7; 32] });
        let mut details = Details::of_listing(1 << 27, [8; 32], follows).to_be_read();
        details.turn =
            Some(Turn { place: u32::MAX.into(), objects: u32::MAX.into(), rounds: 1000 });
        let listing = Announcement { name: Vec::new(), details: Some(details) };
        let info = listing.encode();
        assert!(info.len() <= 128 && info[0] == 0, "{}", info.len());
        let back = Announcement::parse(&info);
        assert_eq!((back.shown_name().as_deref(), &back), (Some("listing"), &listing));
        assert!(back.details.is_some_and(|d| d.is_listing() && !d.is_pack()));
    }

    #[test]
    fn the_announcement_of_a_tree_fits_into_the_shortest_segment() {
        let follows = Some(Follows { objects: u32::MAX.into(), digest: [7; 32] });
        let mut details = Details::of_tree(1 << 27, [8; 32], 1 << 20, follows).to_be_read();
        details.turn =
            Some(Turn { place: u32::MAX.into(), objects: u32::MAX.into(), rounds: 1000 });
        let tree = Announcement { name: Vec::new(), details: Some(details) };
        let info = tree.encode();
        assert!(info.len() <= 128, "{}", info.len());
        let back = Announcement::parse(&info);
        assert_eq!((back.shown_name().as_deref(), &back), (Some("tree"), &tree));
        let is = back.details.unwrap();
        assert!(is.is_tree() && !is.is_listing() && !is.is_unknown());
    }

    #[test]
    fn every_bit_that_is_turned_shows_and_what_is_right_or_of_others_does_not() {
        let right = announced().encode();
        let signed = announced().encode_signed(&Identity::from_seed([1; 32]));
        assert!(!is_changed(&right) && !is_changed(&signed));
        assert!(!is_changed(b"readme.txt") && !is_changed(b"") && !is_changed(b"name\0"));
        let name = announced().name.len();
        for info in [&right, &signed[..signed.len() - SIGNATURE]] {
            for bit in 0..info.len() * 8 {
                let mut changed = info.to_vec();
                changed[bit / 8] ^= 1 << (bit % 8);
                // The NUL and the type of the map tell that it is one of ours.
                let is_shape = (name..name + 2).contains(&(bit / 8));
                assert!(is_changed(&changed) || is_shape, "bit {bit}");
                assert_eq!(Announcement::parse(&changed).details, None, "bit {bit}");
            }
        }
    }

    #[test]
    fn objects_that_differ_in_a_bit_of_their_key_have_other_marks() {
        use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};
        let key =
            ObjectKey { sender: NodeId(7), instance: InstanceId(8), object: ObjectTransportId(9) };
        let marks: std::collections::BTreeSet<u32> = (0..64)
            .map(|bit| {
                let (long, short) = (1_u32.checked_shl(bit).unwrap_or(0), |from: u32| {
                    bit.checked_sub(from).and_then(|bit| 1_u16.checked_shl(bit)).unwrap_or(0)
                });
                ObjectMark::of(ObjectKey {
                    sender: NodeId(key.sender.0 ^ long),
                    instance: InstanceId(key.instance.0 ^ short(32)),
                    object: ObjectTransportId(key.object.0 ^ short(48)),
                })
                .0
            })
            .chain([ObjectMark::of(key).0])
            .collect();
        assert_eq!(marks.len(), 65);
    }

    #[test]
    fn a_sender_may_ask_that_what_is_there_is_read() {
        let mut asking = announced();
        asking.details = asking.details.map(Details::to_be_read);
        let back = Announcement::parse(&asking.encode()).details.unwrap();
        assert!(back.asks_to_read() && !announced().details.unwrap().asks_to_read());
    }

    #[test]
    fn a_plain_name_without_nul_is_understood() {
        let plain = Announcement::parse(b"readme.txt");
        assert_eq!(plain, Announcement { name: b"readme.txt".to_vec(), details: None });
        assert_eq!(plain.encode(), b"readme.txt");
    }

    #[test]
    fn a_truncated_announcement_keeps_its_name_and_loses_its_details() {
        let whole = announced().encode();
        // Without its last four bytes it is one of a sender that knows no check.
        for cut in (12..whole.len()).filter(|cut| *cut != whole.len() - CHECK) {
            let parsed = Announcement::parse(&whole[..cut]);
            assert_eq!((parsed.name.as_slice(), parsed.details), (&b"dir/file.txt"[..], None));
        }
    }

    #[test]
    fn no_bit_of_an_announcement_can_be_turned_without_its_details_being_lost() {
        let signed = announced().encode_signed(&Identity::from_seed([1; 32]));
        let piece = Details::of_pack(9, [1; 32], 3, PackHead { bytes: 8, hash: [2; 32] });
        let pack = Announcement { name: Vec::new(), details: Some(piece) }.encode();
        for (info, signature) in [(announced().encode(), 0), (signed, SIGNATURE), (pack, 0)] {
            assert!(Announcement::parse(&info).details.is_some());
            for bit in 0..(info.len() - signature) * 8 {
                let mut changed = info.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Announcement::parse(&changed).details, None, "bit {bit}");
            }
        }
        let mut early = announced().encode();
        early.truncate(early.len() - CHECK);
        assert_eq!(Announcement::parse(&early), announced(), "from a sender that knows no check");
    }

    #[test]
    fn hostile_bytes_give_no_details_and_no_panic() {
        let hostile: [&[u8]; 6] = [
            b"",
            b"\0",
            b"a\0\xff\xff",
            b"a\0\xbf\x00",
            b"a\0\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
            b"a\0\xa3\x00\x01\x01\x00\x02\x5b\x7f\xff\xff\xff\xff\xff\xff\xff",
        ];
        assert!(hostile.iter().all(|info| Announcement::parse(info).details.is_none()));
        let mut next = fanfare_proto::rng::Rng::new(1);
        for _ in 0..10_000 {
            let mut info = announced().encode();
            let at = next.below(info.len() as u64) as usize;
            info[at] = next.next_u64() as u8;
            let _ = Announcement::parse(&info);
        }
    }

    #[test]
    fn details_of_a_later_version_are_left_out() {
        let mut later = announced();
        later.details.as_mut().unwrap().version = 2;
        assert_eq!(Announcement::parse(&later.encode()).details, None);
    }
}
