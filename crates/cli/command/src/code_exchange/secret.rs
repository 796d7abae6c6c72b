//! What follows from an exchange: a proof, and a key that opens the grant.

use std::net::SocketAddr;

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use spake2::{Ed25519Group, Identity, Password, Spake2};

use crate::code_exchange::{code::Code, message::Exchange};

/// Longest name of a sender, bytes: a grant is one short datagram.
const NAME_MAX: usize = 64;

/// What a guest who knows the code is given.
#[derive(Clone, PartialEq, Eq)]
pub struct Grant {
    /// The key that seals the transfer, made for it alone.
    pub secret: [u8; 32],
    /// Where the transfer is.
    pub group: SocketAddr,
    /// What the sender is called.
    pub name: String,
}

impl std::fmt::Debug for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Grant of {} in {}", self.name, self.group)
    }
}

impl Grant {
    fn encode(&self) -> Vec<u8> {
        let mut end = self.name.len().min(NAME_MAX);
        while !self.name.is_char_boundary(end) {
            end -= 1;
        }
        let group = self.group.to_string();
        [&self.secret[..], &[group.len() as u8], group.as_bytes(), &self.name.as_bytes()[..end]]
            .concat()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (secret, rest) = bytes.split_first_chunk::<32>()?;
        let (len, rest) = rest.split_first()?;
        let (group, name) = rest.split_at_checked(usize::from(*len))?;
        Some(Self {
            secret: *secret,
            group: std::str::from_utf8(group).ok()?.parse().ok()?,
            name: String::from_utf8(name.to_vec()).ok()?,
        })
    }
}

/// A run of SPAKE2 is bound to these, beside the words: it is of use nowhere else.
fn names(code: &Code, host: [u8; 8], exchange: Exchange) -> (Identity, Identity) {
    let slot = code.slot().to_be_bytes();
    let of = |who: &[u8]| Identity::new(&[who, &slot[..], &host, &exchange].concat());
    (of(b"fanfare code 1 guest"), of(b"fanfare code 1 host"))
}

/// A guest's half of an exchange, before the other half is known.
pub(crate) struct Proposed(Spake2<Ed25519Group>);

impl Proposed {
    /// And what the host is sent.
    pub(crate) fn new(code: &Code, host: [u8; 8], exchange: Exchange) -> (Self, Vec<u8>) {
        let (guest, of_host) = names(code, host, exchange);
        let password = Password::new(code.password().as_bytes());
        let (state, share) = Spake2::start_a(&password, &guest, &of_host);
        (Self(state), share)
    }

    pub(crate) fn finish(self, share: &[u8]) -> Option<Agreed> {
        self.0.finish(share).ok().map(|key| Agreed::of(&key))
    }
}

/// Both halves, and what the guest is sent.
pub(crate) fn answer(
    code: &Code,
    host: [u8; 8],
    exchange: Exchange,
    share: &[u8],
) -> Option<(Agreed, Vec<u8>)> {
    let (guest, of_host) = names(code, host, exchange);
    let password = Password::new(code.password().as_bytes());
    let (state, answer) = Spake2::<Ed25519Group>::start_b(&password, &guest, &of_host);
    state.finish(share).ok().map(|key| (Agreed::of(&key), answer))
}

/// What both sides have in the end, if their words are the same.
#[derive(Clone)]
pub(crate) struct Agreed {
    proof: [u8; 32],
    seal: [u8; 16],
}

impl Agreed {
    fn of(key: &[u8]) -> Self {
        let proof = blake3::derive_key("fanfare code 1: the guest knows the words", key);
        let seal = blake3::derive_key("fanfare code 1: the grant", key);
        let mut short = [0; 16];
        short.copy_from_slice(&seal[..16]);
        Self { proof, seal: short }
    }

    /// What shows the host that the guest knows the words.
    pub(crate) fn proof(&self) -> [u8; 32] {
        self.proof
    }

    /// Compared in the same time, whatever it is.
    pub(crate) fn is_proved_by(&self, tag: [u8; 32]) -> bool {
        blake3::Hash::from(self.proof) == blake3::Hash::from(tag)
    }

    fn cipher(&self) -> Option<LessSafeKey> {
        UnboundKey::new(&AES_128_GCM, &self.seal).ok().map(LessSafeKey::new)
    }

    /// The key is of this exchange, and seals this one grant.
    pub(crate) fn seal(&self, grant: &Grant) -> Option<Vec<u8>> {
        let mut bytes = grant.encode();
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        self.cipher()?.seal_in_place_append_tag(nonce, Aad::empty(), &mut bytes).ok()?;
        Some(bytes)
    }

    /// That it opens shows that the host knows the words, too.
    pub(crate) fn open(&self, sealed: &[u8]) -> Option<Grant> {
        let mut bytes = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        Grant::parse(self.cipher()?.open_in_place(nonce, Aad::empty(), &mut bytes).ok()?)
    }
}
