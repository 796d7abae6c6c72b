//! Sealing and opening with the keys of one generation: AES-128-GCM, and AES-128-CCM with tags of 8
//! bytes in short form (RFC 6655). GCM's own tags must not be cut so short.

use aes::Aes128;
use ccm::{
    Ccm,
    aead::{AeadInPlace, KeyInit},
    consts::{U8, U13},
};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use crate::{packet::Form, schedule::Material};

type ShortCipher = Ccm<Aes128, U8, U13>;

/// Bytes of key ahead of those of the nonce.
const KEY: usize = 16;
const NONCE: usize = 12;
const NONCE_SHORT: usize = 13;

/// A tag did not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Forged;

enum Kind {
    Long(Box<LessSafeKey>),
    Short(Box<ShortCipher>),
}

/// The keys of one generation of one sender, or of its hellos.
pub(crate) struct Cipher {
    kind: Kind,
    iv: [u8; NONCE_SHORT],
}

impl std::fmt::Debug for Cipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cipher")
    }
}

impl Cipher {
    pub(crate) fn new(form: Form, material: &Material) -> Option<Self> {
        let (key, rest) = material.split_at(KEY);
        let kind = match form {
            Form::Long => {
                let key = UnboundKey::new(&AES_128_GCM, key).ok()?;
                Kind::Long(Box::new(LessSafeKey::new(key)))
            }
            Form::Short => Kind::Short(Box::new(ShortCipher::new_from_slice(key).ok()?)),
        };
        let mut iv = [0; NONCE_SHORT];
        iv.copy_from_slice(rest);
        Some(Self { kind, iv })
    }

    /// The number goes into the last 8 bytes of the nonce.
    fn nonce<const N: usize>(&self, number: u64) -> [u8; N] {
        let mut nonce = [0; N];
        nonce.copy_from_slice(&self.iv[..N]);
        let low = nonce[N - 8..].iter_mut().zip(number.to_be_bytes());
        low.for_each(|(byte, number)| *byte ^= number);
        nonce
    }

    /// Seals what is in `bytes` from `start` on, and appends the tag. The bytes from `head` to there
    /// are authenticated, with `context`.
    pub(crate) fn seal(
        &self,
        number: u64,
        context: &[u8; 8],
        bytes: &mut Vec<u8>,
        (head, start): (usize, usize),
    ) {
        let (ahead, plain) = bytes.split_at_mut(start);
        let aad = Associated::of(&ahead[head..], context);
        match &self.kind {
            Kind::Long(key) => {
                let nonce = Nonce::assume_unique_for_key(self.nonce::<NONCE>(number));
                let tag = key.seal_in_place_separate_tag(nonce, Aad::from(aad.bytes()), plain);
                // Fails for more than 64 GiB only.
                bytes.extend_from_slice(tag.as_ref().map_or(&[0; 16], AsRef::as_ref));
            }
            Kind::Short(cipher) => {
                let nonce = self.nonce::<NONCE_SHORT>(number).into();
                let tag = cipher.encrypt_in_place_detached(&nonce, aad.bytes(), plain);
                bytes.extend_from_slice(tag.as_ref().map_or(&[0; 8], |tag| &tag[..]));
            }
        }
    }

    /// Opens `sealed`, which ends with its tag, and appends what was in it to `out`.
    pub(crate) fn open(
        &self,
        number: u64,
        (head, context): (&[u8], &[u8; 8]),
        sealed: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Forged> {
        let (start, aad) = (out.len(), Associated::of(head, context));
        out.extend_from_slice(sealed);
        let opened = match &self.kind {
            Kind::Long(key) => {
                let nonce = Nonce::assume_unique_for_key(self.nonce::<NONCE>(number));
                let opened = key.open_in_place(nonce, Aad::from(aad.bytes()), &mut out[start..]);
                opened.map(|plain| plain.len()).map_err(|_| Forged)
            }
            Kind::Short(cipher) => {
                let nonce = self.nonce::<NONCE_SHORT>(number).into();
                let len = sealed.len().checked_sub(8).ok_or(Forged);
                len.and_then(|len| {
                    let (plain, tag) = out[start..].split_at_mut(len);
                    let tag = ccm::aead::generic_array::GenericArray::from_slice(tag);
                    let opened = cipher.decrypt_in_place_detached(&nonce, aad.bytes(), plain, tag);
                    opened.map(|()| len).map_err(|_| Forged)
                })
            }
        };
        out.truncate(start + opened.unwrap_or(0));
        opened.map(|_| ())
    }
}

/// What is authenticated but not sealed: up to 28 bytes of header, and the context.
struct Associated {
    bytes: [u8; 36],
    len: usize,
}

impl Associated {
    fn of(head: &[u8], context: &[u8; 8]) -> Self {
        let mut bytes = [0; 36];
        let len = head.len().min(28);
        bytes[..len].copy_from_slice(&head[..len]);
        bytes[len..len + 8].copy_from_slice(context);
        Self { bytes, len: len + 8 }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
