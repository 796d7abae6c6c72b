//! A key from words that people can say.
//!
//! Weaker than a key file: who records one packet can try words for as long as he likes. Argon2id
//! makes each try cost memory and time.

use argon2::{Algorithm, Argon2, Params, Version};

use crate::key::Key;

/// 256 MiB and three passes: about a second of a core. Four times the memory that RFC 9106 asks of
/// machines with little, as it is done once at a start.
const MEMORY_KIB: u32 = 256 * 1024;
const PASSES: u32 = 3;
/// Shorter ones are tried in no time whatever each try costs.
const SHORTEST: usize = 12;

/// Why words are no passphrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassphraseError {
    /// There is none.
    Empty,
    /// It has less than twelve characters.
    Short(usize),
    /// This machine has not enough memory for it.
    Memory,
}

impl std::fmt::Display for PassphraseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::Short(characters) => {
                write!(f, "it has {characters} characters, and at least {SHORTEST} are needed")
            }
            Self::Memory => f.write_str("256 MiB of memory are needed for it"),
        }
    }
}

impl std::error::Error for PassphraseError {}

/// The key that belongs to these words in the group of this name. Takes about a second.
///
/// # Errors
/// They are too few, or there is too little memory.
pub fn key_from(words: &str, group: &str, epoch: u32) -> Result<Key, PassphraseError> {
    let words = words.trim();
    match words.chars().count() {
        0 => return Err(PassphraseError::Empty),
        count if count < SHORTEST => return Err(PassphraseError::Short(count)),
        _ => {}
    }
    stretch(words, group, (MEMORY_KIB, PASSES)).map(|secret| Key::from_secret(secret, epoch))
}

fn stretch(
    words: &str,
    group: &str,
    (memory, passes): (u32, u32),
) -> Result<[u8; 32], PassphraseError> {
    let params = Params::new(memory, passes, 1, Some(32)).map_err(|_| PassphraseError::Memory)?;
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    // Everybody has to come to the same key: the group takes the place of a random salt.
    let salt = format!("fanfare passphrase {group}");
    let mut secret = [0; 32];
    let stretched = argon2.hash_password_into(words.as_bytes(), salt.as_bytes(), &mut secret);
    stretched.map_err(|_| PassphraseError::Memory).map(|()| secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_and_few_characters_are_no_passphrase() {
        let refused = |words| key_from(words, "g", 0).unwrap_err();
        assert_eq!(refused("  "), PassphraseError::Empty);
        assert_eq!(refused("short words"), PassphraseError::Short(11));
    }

    #[test]
    fn the_same_words_make_another_key_in_another_group() {
        let cheap = |group| stretch("correct horse battery", group, (64, 1)).unwrap();
        assert_eq!(cheap("a"), cheap("a"));
        assert_ne!(cheap("a"), cheap("b"));
    }
}
