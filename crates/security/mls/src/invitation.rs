//! What somebody needs who is to join: a line to type, paste, or read out.

use std::{fmt, net::SocketAddr, str::FromStr};

use fanfare_crypto::Key;

/// How a code begins.
const HEAD: &str = "fanfare-join-1";
/// Letters that are not mistaken for each other (RFC 4648 base 32, in small letters).
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Bytes of the secret: nobody guesses it while the invitation stands, or ever.
const SECRET: usize = 16;

/// Where to ask, and the secret by which the one who invited knows who asks.
#[derive(Clone, PartialEq, Eq)]
pub struct Invitation {
    /// The group and port at which members meet.
    pub group: SocketAddr,
    secret: [u8; SECRET],
}

impl fmt::Debug for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invitation to {}", self.group)
    }
}

/// Why a code is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvitationError {
    /// It does not begin as one, or has not all its parts.
    NotACode,
    /// Its address cannot be read.
    Address,
    /// A letter is wrong or missing.
    Mistyped,
}

impl fmt::Display for InvitationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotACode => "it is no code of 'fanfare group invite'",
            Self::Address => "the address in it cannot be read",
            Self::Mistyped => "a letter of it is wrong or missing",
        })
    }
}

impl std::error::Error for InvitationError {}

impl Invitation {
    /// To the group that meets here.
    #[must_use]
    pub fn new(group: SocketAddr) -> Option<Self> {
        let mut secret = [0; SECRET];
        let random = ring::rand::SystemRandom::new();
        ring::rand::SecureRandom::fill(&random, &mut secret).ok()?;
        Some(Self { group, secret })
    }

    /// What seals the talk of who invites and who joins.
    #[must_use]
    pub fn key(&self) -> Key {
        let mut context = ring::digest::Context::new(&ring::digest::SHA256);
        context.update(b"fanfare invitation 1");
        context.update(&self.secret);
        let digest = context.finish();
        Key::from_secret(digest.as_ref().first_chunk().copied().unwrap_or_default(), 0)
    }

    fn check(&self) -> [u8; 2] {
        let mut context = ring::digest::Context::new(&ring::digest::SHA256);
        context.update(self.group.to_string().as_bytes());
        context.update(&self.secret);
        context.finish().as_ref().first_chunk().copied().unwrap_or_default()
    }
}

impl fmt::Display for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: Vec<u8> = self.secret.into_iter().chain(self.check()).collect();
        write!(f, "{HEAD}/{}/{}", self.group, encoded(&bytes))
    }
}

impl FromStr for Invitation {
    type Err = InvitationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.trim().split('/');
        let (head, group, code) = (parts.next(), parts.next(), parts.next());
        let (Some(HEAD), Some(group), Some(code), None) = (head, group, code, parts.next()) else {
            return Err(InvitationError::NotACode);
        };
        let group = group.parse().map_err(|_| InvitationError::Address)?;
        let bytes = decoded(code).ok_or(InvitationError::Mistyped)?;
        let (secret, check) = bytes.split_at_checked(SECRET).ok_or(InvitationError::Mistyped)?;
        let secret = secret.try_into().map_err(|_| InvitationError::Mistyped)?;
        let invitation = Self { group, secret };
        (invitation.check() == check).then_some(invitation).ok_or(InvitationError::Mistyped)
    }
}

fn encoded(bytes: &[u8]) -> String {
    let (mut text, mut bits, mut held) = (String::new(), 0u32, 0u32);
    for byte in bytes {
        held = held << 8 | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(char::from(LETTERS[(held >> bits & 31) as usize]));
        }
    }
    if bits > 0 {
        text.push(char::from(LETTERS[(held << (5 - bits) & 31) as usize]));
    }
    text
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0u32);
    for letter in text.bytes() {
        let letter = letter.to_ascii_lowercase();
        let value = LETTERS.iter().position(|known| *known == letter)? as u32;
        held = held << 5 | value;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    // What is left over of the last letter is nothing.
    (held & ((1 << bits) - 1) == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_comes_back_and_with_any_letter_changed_it_is_refused() {
        for group in ["239.255.42.9:6009", "[ff15::9]:6009"] {
            let invitation = Invitation::new(group.parse().unwrap()).unwrap();
            let code = invitation.to_string();
            assert_eq!(code.parse(), Ok(invitation.clone()), "{code}");
            assert_eq!(code.to_string().len(), HEAD.len() + group.len() + 2 + 29);
            let secret = code.rfind('/').unwrap() + 1;
            for at in secret..code.len() {
                let mut letters = code.clone().into_bytes();
                letters[at] = if letters[at] == b'a' { b'b' } else { b'a' };
                let changed = String::from_utf8(letters).unwrap();
                assert!(changed.parse::<Invitation>().is_err(), "{changed}");
            }
            assert!(code[..code.len() - 1].parse::<Invitation>().is_err());
        }
        assert_eq!("hello".parse::<Invitation>(), Err(InvitationError::NotACode));
    }

    #[test]
    fn each_invitation_has_a_key_of_its_own() {
        let group = "239.255.42.9:6009".parse().unwrap();
        let key = || Invitation::new(group).unwrap().key();
        assert_ne!(key(), key());
    }
}
