//! Who a node is: an Ed25519 key pair of its own, and signatures with it.
//!
//! ```text
//! fanfare-identity 1
//! seed 0123456789abcdef...   (64 hexadecimal digits)
//! ```
//! A public key is written `ed25519:` and 64 hexadecimal digits.

use std::{fmt, str::FromStr};

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

use crate::{
    hex::to_hex,
    key::{KeyError, secret_of},
};

/// First line of an identity's file.
const HEAD: &str = "fanfare-identity 1";
/// How public keys begin.
const PREFIX: &str = "ed25519:";

/// Spaces ahead of what TLS 1.3 signs (RFC 8446, 4.4.3).
const TLS_PADDING: usize = 64;

/// Bytes of a signature.
pub type Signature = [u8; 64];

/// What is signed: nothing that is signed for one purpose is good for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A sender's announcement of an object.
    Object,
    /// A receiver's word that it holds what was sent.
    Receipt,
}

impl Purpose {
    const fn label(self) -> &'static [u8] {
        match self {
            Self::Object => b"fanfare object 1\n",
            Self::Receipt => b"fanfare receipt 1\n",
        }
    }

    fn message(self, bytes: &[u8]) -> Vec<u8> {
        [self.label(), bytes].concat()
    }
}

/// A node's own key pair.
pub struct Identity {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
    /// The session that what it signs belongs to.
    session: Option<String>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity {}", self.public())
    }
}

/// By which others know a node's signatures.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PublicKey(pub [u8; 32]);

impl Identity {
    /// Of 32 bytes that nobody else knows.
    ///
    /// # Panics
    /// Never: every seed gives a key pair.
    #[must_use]
    pub fn from_seed(seed: [u8; 32]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).expect("32 bytes are a seed");
        Self { seed, pair, session: None }
    }

    /// The same, to sign what is sent in this session alone: whoever has joined another one takes no such
    /// signature.
    #[must_use]
    pub fn in_session(&self, session: &str) -> Self {
        Self { session: Some(session.to_owned()), ..Self::from_seed(self.seed) }
    }

    /// The session that it signs for, if it was given one.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// A new one from the operating system; `None` where that has no randomness.
    #[must_use]
    pub fn generate() -> Option<Self> {
        let mut seed = [0; 32];
        let random = ring::rand::SystemRandom::new();
        ring::rand::SecureRandom::fill(&random, &mut seed).ok()?;
        Some(Self::from_seed(seed))
    }

    /// Reads its file.
    ///
    /// # Errors
    /// What is wrong with it; never a part of the seed.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let mut lines = text.lines().map(str::trim);
        let mut lines = lines.by_ref().filter(|line| !line.is_empty() && !line.starts_with('#'));
        match lines.next() {
            None => return Err(KeyError::Empty),
            Some(HEAD) => {}
            Some(line) if line.starts_with("fanfare-") => return Err(KeyError::Shared),
            Some(_) => return Err(KeyError::NotAKey),
        }
        let seed = lines.next().ok_or(KeyError::Truncated)?;
        let digits = seed.strip_prefix("seed ").ok_or(KeyError::Truncated)?;
        Ok(Self::from_seed(secret_of(digits.trim())?))
    }

    /// Its file.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!("{HEAD}\nseed {}\n", to_hex(&self.seed))
    }

    /// By which others know it.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.pair.public_key().as_ref().try_into().unwrap_or_default())
    }

    /// Signs what TLS 1.3 has an end of a handshake sign (RFC 8446, 4.4.3): it begins with 64 spaces,
    /// so that it is no message of a [`Purpose`]. `None` for anything else.
    #[must_use]
    pub fn sign_handshake(&self, message: &[u8]) -> Option<Signature> {
        let begins =
            message.len() > TLS_PADDING && message[..TLS_PADDING].iter().all(|b| *b == b' ');
        begins.then(|| self.pair.sign(message).as_ref().try_into().unwrap_or([0; 64]))
    }

    /// Signs these bytes for this purpose.
    #[must_use]
    pub fn sign(&self, purpose: Purpose, bytes: &[u8]) -> Signature {
        let signature = self.pair.sign(&purpose.message(bytes));
        signature.as_ref().try_into().unwrap_or([0; 64])
    }
}

impl PublicKey {
    /// Whether this key has signed these bytes for this purpose.
    #[must_use]
    pub fn verifies(&self, purpose: Purpose, bytes: &[u8], signature: &Signature) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, &self.0);
        key.verify(&purpose.message(bytes), signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", to_hex(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let digits = text.strip_prefix(PREFIX).ok_or(KeyError::NotPublic)?;
        secret_of(digits).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_rfc_8032() {
        // Test 1 of RFC 8032, 7.1, without a purpose: the pair is the same.
        let seed = secret_of("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
        let identity = Identity::from_seed(seed.unwrap());
        let public = "ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        assert_eq!(identity.public().to_string(), public);
        assert_eq!(public.parse(), Ok(identity.public()));
        assert_eq!(Identity::parse(&identity.to_text()).unwrap().public(), identity.public());
    }

    #[test]
    fn a_signature_is_good_for_its_bytes_its_purpose_and_its_key() {
        let (one, other) = (Identity::from_seed([1; 32]), Identity::from_seed([2; 32]));
        let signature = one.sign(Purpose::Object, b"bytes");
        let verifies = |key: &Identity, purpose, bytes: &[u8]| {
            key.public().verifies(purpose, bytes, &signature)
        };
        assert!(verifies(&one, Purpose::Object, b"bytes"));
        assert!(!verifies(&one, Purpose::Receipt, b"bytes"));
        assert!(!verifies(&one, Purpose::Object, b"bytez"));
        assert!(!verifies(&other, Purpose::Object, b"bytes"));
        assert!(!PublicKey([0xff; 32]).verifies(Purpose::Object, b"bytes", &signature));
    }

    #[test]
    fn a_handshake_is_signed_and_nothing_else_by_that_way() {
        let identity = Identity::from_seed([1; 32]);
        let message = [&[b' '; 64][..], b"TLS 1.3, server CertificateVerify\0hash"].concat();
        let signature = identity.sign_handshake(&message).unwrap();
        let key = identity.public();
        assert!(UnparsedPublicKey::new(&ED25519, &key.0).verify(&message, &signature).is_ok());
        assert_eq!(identity.sign_handshake(b"fanfare object 1\n and so on"), None);
        assert_eq!(identity.sign_handshake(&[b' '; 64]), None);
    }

    #[test]
    fn what_is_no_identity_is_refused() {
        let refused = |text: &str| Identity::parse(text).map(|_| ()).unwrap_err();
        assert_eq!(refused(""), KeyError::Empty);
        assert_eq!(refused("fanfare-key 1\nsecret 00"), KeyError::Shared);
        assert_eq!(refused("fanfare-identity 1\nseed 00"), KeyError::Length(2));
        assert_eq!("rsa:00".parse::<PublicKey>(), Err(KeyError::NotPublic));
    }
}
