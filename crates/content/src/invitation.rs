//! What a sender says when it calls the roll: CBOR map {0: version, 1: name, 2: objects, 3: bytes}.

use minicbor::{Decode, Encode};

const VERSION: u8 = 1;

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
}

impl Invitation {
    /// An invitation of the present format.
    #[must_use]
    pub fn new(name: &str, objects: u64, bytes: u64) -> Self {
        Self { version: VERSION, name: crate::receipt::printable(name), objects, bytes }
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
        invitation.name = crate::receipt::printable(&invitation.name);
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
}
