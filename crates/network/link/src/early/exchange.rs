//! Datagrams that are sealed with one ticket, in both directions.

use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hkdf::{HKDF_SHA256, Salt as Extract},
};

use fanfare_crypto::Salt;

use super::{
    came::DATAGRAMS_MAX,
    ticket::{Id, Ticket},
};

/// First byte: the bit of QUIC is clear, and the low half is neither sealed NORM's nor a type of NORM.
pub(crate) const FIRST: u8 = 0xb7;
const REQUEST: u8 = 1;
const ANSWER: u8 = 2;
/// Bytes ahead of the sealed ones.
const HEAD: usize = 35;

/// Which end this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Dialling,
    Dialled,
}

impl Side {
    const fn kinds(self) -> (u8, u8) {
        match self {
            Self::Dialling => (REQUEST, ANSWER),
            Self::Dialled => (ANSWER, REQUEST),
        }
    }
}

/// What stands ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    kind: u8,
    pub(crate) id: Id,
    pub(crate) salt: Salt,
    number: u8,
}

impl Head {
    pub(crate) fn parse(datagram: &[u8]) -> Option<Self> {
        let (&[first, kind], rest) = datagram.split_first_chunk()?;
        let (id, rest) = rest.split_first_chunk()?;
        let (salt, rest) = rest.split_first_chunk()?;
        let known = first == FIRST && matches!(kind, REQUEST | ANSWER);
        let number = *rest.first().filter(|number| known && **number < DATAGRAMS_MAX)?;
        Some(Self { kind, id: *id, salt: *salt, number })
    }

    pub(crate) const fn is_request(self) -> bool {
        self.kind == REQUEST
    }

    fn bytes(self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        (bytes[0], bytes[1], bytes[HEAD - 1]) = (FIRST, self.kind, self.number);
        bytes[2..18].copy_from_slice(&self.id);
        bytes[18..34].copy_from_slice(&self.salt);
        bytes
    }
}

/// Both directions.
#[derive(Debug)]
pub(crate) struct Exchange {
    id: Id,
    salt: Salt,
    side: Side,
    out: LessSafeKey,
    inc: LessSafeKey,
    next: u8,
    /// Numbers that came, a bit each.
    seen: u64,
}

fn key(ticket: &Ticket, salt: &Salt, kind: u8) -> Option<LessSafeKey> {
    let prk = Extract::new(HKDF_SHA256, b"fanfare early 1").extract(&ticket.secret);
    let info = [&[kind][..], salt];
    let key = UnboundKey::from(prk.expand(&info, &AES_256_GCM).ok()?);
    Some(LessSafeKey::new(key))
}

/// No number is used twice with one key.
fn nonce(number: u8) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    bytes[NONCE_LEN - 1] = number;
    Nonce::assume_unique_for_key(bytes)
}

impl Exchange {
    pub(crate) fn new(ticket: &Ticket, salt: Salt, side: Side) -> Option<Self> {
        let (out, inc) = side.kinds();
        let (out, inc) = (key(ticket, &salt, out)?, key(ticket, &salt, inc)?);
        Some(Self { id: ticket.id, salt, side, out, inc, next: 0, seen: 0 })
    }

    /// Whether a datagram is of this exchange.
    pub(crate) fn is(&self, head: Head) -> bool {
        (self.id, self.salt) == (head.id, head.salt)
    }

    /// The next datagram; `None` when no more may be sent.
    pub(crate) fn seal(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let (kind, number) = (self.side.kinds().0, self.next);
        if number >= DATAGRAMS_MAX {
            return None;
        }
        self.next += 1;
        let head = Head { kind, id: self.id, salt: self.salt, number }.bytes();
        let mut sealed = bytes.to_vec();
        let aad = Aad::from(head);
        self.out.seal_in_place_append_tag(nonce(number), aad, &mut sealed).ok()?;
        Some([&head[..], &sealed].concat())
    }

    /// Whether this one has come before.
    pub(crate) fn has_seen(&self, head: Head) -> bool {
        head.kind == self.side.kinds().1 && self.is(head) && self.seen & (1 << head.number) != 0
    }

    /// What was in a datagram that comes for the first time.
    pub(crate) fn open(&mut self, head: Head, datagram: &[u8]) -> Option<Vec<u8>> {
        let bit = 1_u64 << head.number;
        if head.kind != self.side.kinds().1 || !self.is(head) || self.seen & bit != 0 {
            return None;
        }
        let (aad, mut sealed) = (Aad::from(head.bytes()), datagram.get(HEAD..)?.to_vec());
        let plain = self.inc.open_in_place(nonce(head.number), aad, &mut sealed).ok()?;
        self.seen |= bit;
        Some(plain.to_vec())
    }
}
