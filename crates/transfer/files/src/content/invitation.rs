//! Invitation that a sender makes when it calls the roll: CBOR map {0: version, 1: name, 2: objects, 3: bytes,
//! 4: name of the stream, 5: [chain, place]}. The last two are left out where there are none.

use minicbor::{Decode, Encode};

const VERSION: u8 = 1;

/// A longer name of a stream goes as its hash: a roll call has to fit into one datagram, beside the
/// names of receivers. The shortest segment that is common, 512 bytes, has room for this.
const STREAM_NAME_MAX: usize = 96;

/// A place in a chain of streams that are sent one after the other, such as the partitions of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub struct ChainPlace {
    /// Tells the chain from all others.
    #[n(0)]
    pub chain: u64,
    /// The first stream has place 1.
    #[n(1)]
    pub place: u32,
}

/// What a sender is about to send.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Invitation {
    #[n(0)]
    version: u8,
    /// The sender's name.
    #[n(1)]
    pub name: String,
    /// Objects to come.
    #[n(2)]
    pub objects: u64,
    /// Their bytes.
    #[n(3)]
    pub bytes: u64,
    /// The name of the stream to come, as [`stream_label`] makes it; none for files.
    #[n(4)]
    pub stream: Option<String>,
    /// The place of that stream in its chain, if it belongs to one.
    #[n(5)]
    pub place: Option<ChainPlace>,
}

/// The name of a stream as it is said and compared: itself, or its hash where it is long.
#[must_use]
pub fn stream_label(name: &str) -> String {
    let printable = crate::content::receipt::printable(name);
    if name.len() <= STREAM_NAME_MAX && printable == name {
        return printable;
    }
    format!("blake3:{}", &blake3::hash(name.as_bytes()).to_hex()[..32])
}

impl Invitation {
    /// An invitation of the present format.
    #[must_use]
    pub fn new(name: &str, objects: u64, bytes: u64) -> Self {
        let name = crate::content::receipt::printable(name);
        Self { version: VERSION, name, objects, bytes, stream: None, place: None }
    }

    /// The same for a stream of this name, at this place of a chain.
    #[must_use]
    pub fn to_stream(self, name: &str, place: Option<ChainPlace>) -> Self {
        Self { stream: Some(stream_label(name)), place, ..self }
    }

    /// The bytes that travel.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let _ = minicbor::encode(self, &mut bytes);
        bytes
    }

    /// `None` when it is none of ours, or of a later format.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut invitation: Self = minicbor::decode(bytes).ok()?;
        invitation.name = crate::content::receipt::printable(&invitation.name);
        (invitation.version == VERSION).then_some(invitation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invitation_comes_back_as_it_was_and_a_part_of_it_does_not() {
        let invitation = Invitation::new("host", 3, 1 << 40);
        let bytes = invitation.encode();
        assert_eq!(Invitation::parse(&bytes), Some(invitation));
        assert!((0..bytes.len()).all(|cut| Invitation::parse(&bytes[..cut]).is_none()));
    }

    #[test]
    fn an_invitation_to_a_stream_says_its_name_and_its_place() {
        let place = ChainPlace { chain: u64::MAX, place: 3 };
        let invitation = Invitation::new("host", 1, 0).to_stream("d1p3.img", Some(place));
        let bytes = invitation.encode();
        let parsed = Invitation::parse(&bytes).unwrap();
        assert_eq!(parsed, invitation);
        assert_eq!((parsed.stream.as_deref(), parsed.place), (Some("d1p3.img"), Some(place)));
        assert!((0..bytes.len()).all(|cut| Invitation::parse(&bytes[..cut]).is_none()));
    }

    #[test]
    fn an_invitation_of_an_older_version_is_read() {
        // {0: 1, 1: "a", 2: 3, 3: 4}, as before there were names of streams.
        let old = [0xa4, 0, 1, 1, 0x61, b'a', 2, 3, 3, 4];
        assert_eq!(Invitation::parse(&old), Some(Invitation::new("a", 3, 4)));
        assert_eq!(Invitation::new("a", 3, 4).encode(), old);
    }

    #[test]
    fn long_names_of_streams_stay_different_and_short() {
        let long = |last: char| stream_label(&format!("{}{last}", "x".repeat(300)));
        assert_ne!(long('a'), long('b'));
        assert!(long('a').len() <= STREAM_NAME_MAX);
        assert_ne!(stream_label("a\nb"), stream_label("a\tb"));
        assert_eq!(stream_label("sda1"), "sda1");
    }
}
