//! Who may use a listener: users with passwords, a line each.
//!
//! ```text
//! # comment
//! anna argon2id 00112233445566778899aabbccddeeff 3f...   (salt and hash, hexadecimal)
//! ```

use std::{collections::BTreeMap, fmt};

use crate::seal::hex::{from_hex, to_hex};
use argon2::{Algorithm, Argon2, Params, Version};

/// Memory in KiB, passes and lanes: the least that RFC 9106 and OWASP suggest, as each connection
/// costs it once.
const COST: (u32, u32, u32) = (19 * 1024, 2, 1);
const SALT: usize = 16;
const HASH: usize = 32;
const METHOD: &str = "argon2id";

/// The users of a file.
#[derive(Debug, Clone, Default)]
pub struct Users {
    known: BTreeMap<Vec<u8>, ([u8; SALT], [u8; HASH])>,
}

/// The line that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsersError(usize);

impl fmt::Display for UsersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} is not: NAME {METHOD} SALT HASH", self.0)
    }
}

impl std::error::Error for UsersError {}

fn hash(password: &[u8], salt: &[u8; SALT]) -> Option<[u8; HASH]> {
    let (memory, passes, lanes) = COST;
    let params = Params::new(memory, passes, lanes, Some(HASH)).ok()?;
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let mut hash = [0; HASH];
    argon2.hash_password_into(password, salt, &mut hash).ok()?;
    Some(hash)
}

impl Users {
    /// Reads a file.
    ///
    /// # Errors
    /// The first line that is wrong.
    pub fn parse(text: &str) -> Result<Self, UsersError> {
        let mut known = BTreeMap::new();
        for (n, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                [] => {}
                [first, ..] if first.starts_with('#') => {}
                [name, METHOD, salt, hash] => {
                    let (salt, hash) =
                        from_hex(salt).zip(from_hex(hash)).ok_or(UsersError(n + 1))?;
                    known.insert(name.as_bytes().to_vec(), (salt, hash));
                }
                _ => return Err(UsersError(n + 1)),
            }
        }
        Ok(Self { known })
    }

    /// A line for a user.
    #[must_use]
    pub fn line(name: &str, password: &[u8], salt: [u8; SALT]) -> Option<String> {
        let hash = hash(password, &salt)?;
        Some(format!("{name} {METHOD} {} {}", to_hex(&salt), to_hex(&hash)))
    }

    /// Whether this is a user's password. It takes as long for users that are not known.
    #[must_use]
    pub fn check(&self, name: &[u8], password: &[u8]) -> bool {
        let known = self.known.get(name);
        let (salt, right) = known.copied().unwrap_or(([0; SALT], [0; HASH]));
        let Some(hash) = hash(password, &salt) else { return false };
        let differs = hash.iter().zip(right).fold(0, |all, (a, b)| all | (a ^ b));
        differs == 0 && known.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_checked_against_their_hashes() {
        let line = Users::line("anna", b"secret", [7; SALT]).unwrap();
        let users = Users::parse(&format!("# users\n\n{line}\n")).unwrap();
        assert!(users.check(b"anna", b"secret"));
        assert!(!users.check(b"anna", b"Secret") && !users.check(b"otto", b"secret"));
        assert_eq!(Users::parse("anna secret").unwrap_err(), UsersError(1));
        assert_eq!(Users::parse("# x\nanna argon2id zz 00").unwrap_err(), UsersError(2));
    }
}
