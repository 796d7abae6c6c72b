//! The words of codes: 256 English ones, none of which is the beginning of another.
//!
//! Three of 256 are 24 bits. Two of 2,048 would be 22, and a list of so many has rare words in it.

use std::sync::LazyLock;

/// Sorted.
pub(crate) static WORDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut words: Vec<&str> = include_str!("words.txt").split_whitespace().collect();
    words.sort_unstable();
    words
});

/// The word of this byte.
pub(crate) fn word(byte: u8) -> &'static str {
    WORDS[usize::from(byte)]
}

/// Whether it is one.
pub(crate) fn is_word(text: &str) -> bool {
    WORDS.binary_search(&text).is_ok()
}

/// The word that was probably meant: the one with the fewest letters to change.
pub(crate) fn nearest(text: &str) -> &'static str {
    WORDS.iter().min_by_key(|word| distance(text, word)).copied().unwrap_or_default()
}

/// Letters to put in, to leave out or to change (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_256_words_and_none_begins_another() {
        assert_eq!(WORDS.len(), 256);
        for pair in WORDS.windows(2) {
            assert!(!pair[1].starts_with(pair[0]), "{pair:?}");
        }
        assert!(WORDS.iter().all(|word| word.chars().all(|c| c.is_ascii_lowercase())));
    }

    #[test]
    fn a_mistyped_word_has_a_nearest_one() {
        assert_eq!(nearest("oter"), "otter");
        assert_eq!(nearest("granit"), "granite");
        assert_eq!(nearest("rivver"), "river");
    }
}
