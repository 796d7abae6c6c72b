//! A code as people read, say and type it.

use std::fmt;

use crate::code_exchange::words::{is_word, nearest, word};

/// Words of a code.
const WORDS: usize = 3;
/// Highest number of a code: one digit is quick to type, and few people of a network send at once.
const SLOTS: u16 = 9;

/// A number, and three words.
#[derive(Clone, PartialEq, Eq)]
pub struct Code {
    slot: u16,
    words: [String; WORDS],
}

/// Why a text is no code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodeError {
    /// It is not a number and three words with hyphens between.
    Shape,
    /// This word is none of the list; the other one is the nearest.
    Word(String, &'static str),
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape => {
                f.write_str("a code is a number and three words, such as 7-otter-granite-river")
            }
            Self::Word(word, near) => {
                write!(f, "'{word}' is no word of a code. Perhaps it is '{near}'")
            }
        }
    }
}

impl std::error::Error for CodeError {}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.slot, self.words.join("-"))
    }
}

/// The words do not get into a log by mistake.
impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Code {}", self.slot)
    }
}

impl Code {
    /// A code from random bytes; 0 as the first number means any.
    #[must_use]
    pub fn of_chance(random: [u8; 4]) -> Self {
        let [first, rest @ ..] = random;
        Self { slot: u16::from(first) % SLOTS + 1, words: rest.map(|byte| word(byte).to_owned()) }
    }

    /// Whether a text is meant as a code, right or mistyped: a number, and three words of letters.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        let mut parts = text.split('-');
        let number = parts.next().is_some_and(|part| part.parse::<u16>().is_ok());
        let words: Vec<&str> = parts.collect();
        let letters = |word: &&str| !word.is_empty() && word.chars().all(char::is_alphabetic);
        number && words.len() == WORDS && words.iter().all(letters)
    }

    /// Reads a code. Capital letters and spaces around it do no harm.
    ///
    /// # Errors
    /// What is wrong, and the word that was probably meant.
    pub fn parse(text: &str) -> Result<Self, CodeError> {
        let text = text.trim().to_lowercase();
        if !Self::is_meant(&text) {
            return Err(CodeError::Shape);
        }
        let mut parts = text.split('-');
        let slot = parts.next().and_then(|part| part.parse().ok()).ok_or(CodeError::Shape)?;
        let words: Vec<String> = parts.map(str::to_owned).collect();
        if let Some(wrong) = words.iter().find(|word| !is_word(word)) {
            return Err(CodeError::Word(wrong.clone(), nearest(wrong)));
        }
        Ok(Self { slot, words: words.try_into().map_err(|_| CodeError::Shape)? })
    }

    /// Its number, which everybody may know.
    #[must_use]
    pub fn slot(&self) -> u16 {
        self.slot
    }

    /// What nobody else may know.
    pub(crate) fn password(&self) -> String {
        self.words.join("-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_it_is_shown_whatever_the_case() {
        let code = Code::of_chance([6, 0, 128, 255]);
        let shown = code.to_string();
        assert!(shown.starts_with("7-"), "{shown}");
        assert_eq!(Code::parse(&shown), Ok(code.clone()));
        assert_eq!(Code::parse(&format!(" {} ", shown.to_uppercase())), Ok(code));
    }

    #[test]
    fn what_is_mistyped_is_named_and_a_directory_is_no_code() {
        let near = CodeError::Word("oter".into(), "otter");
        assert_eq!(Code::parse("7-oter-granite-river"), Err(near));
        for text in ["", "downloads", "7-otter", "otter-granite-river", "7-otter-granite-", "7"] {
            assert_eq!(Code::parse(text), Err(CodeError::Shape), "{text}");
            assert!(!Code::is_meant(text), "{text}");
        }
        assert!(Code::is_meant("7-oter-granite-river"));
        assert!(!Code::is_meant("2026-11-26-photos"));
    }

    #[test]
    fn the_words_are_not_in_what_is_logged() {
        assert_eq!(format!("{:?}", Code::parse("7-otter-granite-river").unwrap()), "Code 7");
    }
}
