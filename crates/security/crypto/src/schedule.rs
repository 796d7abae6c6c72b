//! Keys from keys, by HKDF-SHA256.
//!
//! ```text
//! epoch secret  = Expand(Extract("fanfare seal 1", secret), "epoch" | epoch)
//! key id        = Expand(epoch secret, "key id")
//! hello         = Expand(epoch secret, "hello" | salt)
//! chain 0       = Expand(epoch secret, "sender" | slot | salt)
//! chain n + 1   = Expand(chain n, "next")
//! generation n  = Expand(chain n, "packet"), in short form Expand(chain n, "short")
//! ```
//! A sender's salt is new at each start, and its packet numbers never go back: so no key is used twice
//! with one number, even where a machine crashes or is copied.

use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt as Extract};

use crate::{
    Salt,
    key::{Key, KeyId},
};

/// 16 bytes of key and 12 of nonce; or 13, for the short form.
pub(crate) type Material = [u8; 29];

/// Length of what is derived.
struct Bytes(usize);

impl KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

/// Never fails: everything asked for is far shorter than HKDF's limit.
fn expand<const N: usize>(prk: &Prk, info: &[&[u8]]) -> [u8; N] {
    let mut out = [0; N];
    if let Ok(okm) = prk.expand(info, Bytes(N)) {
        let _ = okm.fill(&mut out);
    }
    out
}

/// What is derived of one key file.
#[derive(Clone)]
pub(crate) struct Epoch {
    prk: Prk,
    pub(crate) id: KeyId,
    /// Low 8 bits of the epoch.
    pub(crate) low: u8,
}

impl std::fmt::Debug for Epoch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Epoch {}", self.id)
    }
}

impl Epoch {
    pub(crate) fn of(key: &Key) -> Self {
        let extracted = Extract::new(HKDF_SHA256, b"fanfare seal 1").extract(key.secret());
        let secret: [u8; 32] = expand(&extracted, &[b"epoch", &key.epoch().to_be_bytes()]);
        let prk = Prk::new_less_safe(HKDF_SHA256, &secret);
        let id = KeyId(expand(&prk, &[b"key id"]));
        Self { prk, id, low: key.epoch() as u8 }
    }

    pub(crate) fn fingerprint(&self) -> [u8; 16] {
        expand(&self.prk, &[b"fingerprint"])
    }

    /// For the hellos of one start of a sender.
    pub(crate) fn hello(&self, salt: &Salt) -> Material {
        expand(&self.prk, &[b"hello", salt])
    }

    pub(crate) fn chain(&self, slot: u16, salt: &Salt) -> Chain {
        Chain(expand(&self.prk, &[b"sender", &slot.to_be_bytes(), salt]))
    }
}

/// From which the keys of one generation come, and the next chain: never the one before.
#[derive(Clone)]
pub(crate) struct Chain([u8; 32]);

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Chain")
    }
}

impl Chain {
    fn expand<const N: usize>(&self, label: &[u8]) -> [u8; N] {
        expand(&Prk::new_less_safe(HKDF_SHA256, &self.0), &[label])
    }

    pub(crate) fn next(&self) -> Self {
        Self(self.expand(b"next"))
    }

    /// So many generations on.
    pub(crate) fn after(mut self, generations: u32) -> Self {
        (0..generations).for_each(|_| self = self.next());
        self
    }

    pub(crate) fn packet(&self) -> Material {
        self.expand(b"packet")
    }

    pub(crate) fn short(&self) -> Material {
        self.expand(b"short")
    }
}
