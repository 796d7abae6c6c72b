//! What the members of a group share: 32 random bytes and a number, the epoch.
//!
//! ```text
//! fanfare-key 1
//! epoch 3
//! secret 0123456789abcdef...   (64 hexadecimal digits)
//! ```
//! Lines that begin with `#` and empty lines are ignored. Who leaves the group must not know the next
//! secret: a new file takes its place, with another secret and a higher epoch.

use std::fmt;

use crate::{
    hex::{from_hex, to_hex},
    schedule::Epoch,
};

/// First line of a key file.
const HEAD: &str = "fanfare-key 1";

/// A secret that all members have.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    secret: [u8; 32],
    epoch: u32,
}

/// Tells keys apart without giving them away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId(pub [u8; 4]);

/// Why a text is no key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyError {
    /// There is nothing in it.
    Empty,
    /// It is a key of another kind: one that signs.
    OtherKind,
    /// It is a key of another kind: one that a group shares.
    Shared,
    /// It is no public key.
    NotPublic,
    /// Its first line is not that of a key.
    NotAKey,
    /// It ends before its secret.
    Truncated,
    /// Its secret has so many hexadecimal digits.
    Length(usize),
    /// This is no hexadecimal digit, or no number.
    Malformed(&'static str),
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::OtherKind => f.write_str("it is a key that signs, not one that a group shares"),
            Self::Shared => f.write_str("it is a key that a group shares, not one that signs"),
            Self::NotPublic => f.write_str("a public key begins with 'ed25519:'"),
            Self::NotAKey => f.write_str("it is no key of fanfare"),
            Self::Truncated => f.write_str("it ends before its secret"),
            Self::Length(digits) => {
                write!(f, "its secret has {digits} hexadecimal digits instead of 64")
            }
            Self::Malformed(what) => write!(f, "its {what} cannot be read"),
        }
    }
}

impl std::error::Error for KeyError {}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key {} epoch {}", self.id(), self.epoch)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Key {
    /// From 32 bytes that nobody else knows.
    #[must_use]
    pub const fn from_secret(secret: [u8; 32], epoch: u32) -> Self {
        Self { secret, epoch }
    }

    /// A new one from the operating system; `None` where that has no randomness.
    #[must_use]
    pub fn generate(epoch: u32) -> Option<Self> {
        let mut secret = [0; 32];
        let random = ring::rand::SystemRandom::new();
        ring::rand::SecureRandom::fill(&random, &mut secret).ok()?;
        Some(Self { secret, epoch })
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// What is wrong with it; never a part of the secret.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let mut lines = text.lines().map(str::trim);
        let mut lines = lines.by_ref().filter(|line| !line.is_empty() && !line.starts_with('#'));
        match lines.next() {
            None => return Err(KeyError::Empty),
            Some(HEAD) => {}
            Some(line) if line.starts_with("fanfare-") => return Err(KeyError::OtherKind),
            Some(_) => return Err(KeyError::NotAKey),
        }
        let (mut epoch, mut secret) = (0, None);
        for line in lines {
            match line.split_once(char::is_whitespace) {
                Some(("epoch", number)) => {
                    epoch = number.trim().parse().map_err(|_| KeyError::Malformed("epoch"))?;
                }
                Some(("secret", digits)) => secret = Some(secret_of(digits.trim())?),
                _ if "secret".starts_with(line) || "epoch".starts_with(line) => {
                    return Err(KeyError::Truncated);
                }
                _ => return Err(KeyError::Malformed("third line")),
            }
        }
        let secret = secret.ok_or(KeyError::Truncated)?;
        Ok(Self { secret, epoch })
    }

    /// The key file.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!("{HEAD}\nepoch {}\nsecret {}\n", self.epoch, to_hex(&self.secret))
    }

    /// Number and secret in one line, for an environment variable.
    #[must_use]
    pub fn to_line(&self) -> String {
        format!("{}:{}", self.epoch, to_hex(&self.secret))
    }

    /// The secret.
    #[must_use]
    pub(crate) const fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// Which of the group's keys it is.
    #[must_use]
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Its number for packets and people.
    #[must_use]
    pub fn id(&self) -> KeyId {
        Epoch::of(self).id
    }

    /// 128 bits that two people can compare, in groups of four digits.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let bytes = Epoch::of(self).fingerprint();
        let pair = |pair: &[u8]| pair.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        bytes.chunks(2).map(pair).collect::<Vec<_>>().join(":")
    }
}

/// 32 bytes, as they stand in a file of a key.
pub(crate) fn secret_of(digits: &str) -> Result<[u8; 32], KeyError> {
    if digits.len() != 64 {
        return Err(KeyError::Length(digits.len()));
    }
    from_hex(digits).ok_or(KeyError::Malformed("secret"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_comes_back_as_it_was() {
        let key = Key::from_secret([0xa5; 32], 7);
        assert_eq!(Key::parse(&key.to_text()), Ok(key.clone()));
        assert_eq!(Key::parse(&format!("# of the lab\n\n{}", key.to_text())), Ok(key));
    }

    #[test]
    fn a_file_that_is_no_key_is_refused_with_the_reason_and_without_the_secret() {
        let text = Key::from_secret([0xa5; 32], 7).to_text();
        let refused = |text: &str| Key::parse(text).unwrap_err();
        assert_eq!(refused(""), KeyError::Empty);
        assert_eq!(refused("-----BEGIN OPENSSH PRIVATE KEY-----"), KeyError::NotAKey);
        assert_eq!(refused("fanfare-identity 1\nseed 00"), KeyError::OtherKind);
        assert_eq!(refused("fanfare-key 1\nepoch 7\nsecr"), KeyError::Truncated);
        assert_eq!(refused("fanfare-key 1\nepoch 7\n"), KeyError::Truncated);
        assert_eq!(refused(&text[..text.len() - 3]), KeyError::Length(62));
        assert_eq!(refused(&text.replace("a5", "g5")), KeyError::Malformed("secret"));
        for cut in 0..text.len() - 1 {
            let error = refused(&text[..cut]).to_string();
            assert!(!error.contains("a5a5"), "{error}");
        }
    }

    #[test]
    fn another_epoch_is_another_key() {
        let (one, two) = (Key::from_secret([1; 32], 1), Key::from_secret([1; 32], 2));
        assert_ne!(one.id(), two.id());
        assert_ne!(one.fingerprint(), two.fingerprint());
        assert_eq!(one.fingerprint().len(), 39);
        assert!(!format!("{one:?}").contains("0101"), "a key does not show its secret");
    }
}
