//! Topics and the filters that select them, by MQTT's rules (OASIS MQTT 5.0, 4.7): levels are
//! separated by `/`, `+` stands for one level, `#` for all that follow.

use alloc::string::String;
use core::fmt;

/// Longest topic and filter, bytes. Ours: a description with it must leave most of the smallest
/// usual segment (512 bytes) to the message.
pub const TOPIC_MAX: usize = 200;

/// What a message is about: `convoy/2/position`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Topic(String);

/// Which topics are wanted: `convoy/+/position`, `convoy/#`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Filter(String);

/// Why a text is no topic, or no filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TopicError {
    /// It has no characters.
    Empty,
    /// It has more than [`TOPIC_MAX`] bytes; how many.
    TooLong(usize),
    /// It has a control character; the text.
    Control(String),
    /// A topic has `+` or `#`; the text.
    Wildcard(String),
    /// A filter has `+` or `#` beside other characters of a level, or `#` before the end; the text.
    Misplaced(String),
}

impl fmt::Display for TopicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "topic (\"\"): is empty. Name at least one level"),
            Self::TooLong(bytes) => write!(
                f,
                "topic ({bytes} bytes): is longer than {TOPIC_MAX} bytes. Use shorter levels"
            ),
            Self::Control(text) => {
                write!(f, "topic ({text:?}): has a control character. Leave it out")
            }
            Self::Wildcard(text) => write!(
                f,
                "topic ({text}): has a wildcard, which only subscriptions may. Publish to one topic"
            ),
            Self::Misplaced(text) => write!(
                f,
                "filter ({text}): + and # stand for whole levels, and # only for the last ones. \
                 Write a/+/b or a/#"
            ),
        }
    }
}

impl core::error::Error for TopicError {}

fn check(text: &str) -> Result<(), TopicError> {
    if text.is_empty() {
        return Err(TopicError::Empty);
    }
    if text.len() > TOPIC_MAX {
        return Err(TopicError::TooLong(text.len()));
    }
    if text.chars().any(char::is_control) {
        return Err(TopicError::Control(text.into()));
    }
    Ok(())
}

impl Topic {
    /// Checks a topic.
    ///
    /// # Errors
    /// Empty, too long, with control characters, or with wildcards.
    pub fn new(text: &str) -> Result<Self, TopicError> {
        check(text)?;
        if text.contains(['+', '#']) {
            return Err(TopicError::Wildcard(text.into()));
        }
        Ok(Self(text.into()))
    }
    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Filter {
    /// Checks a filter.
    ///
    /// # Errors
    /// Empty, too long, with control characters, or with a wildcard where none can be.
    pub fn new(text: &str) -> Result<Self, TopicError> {
        check(text)?;
        let mut levels = text.split('/').peekable();
        while let Some(level) = levels.next() {
            let last = levels.peek().is_none();
            let whole = level == "+" || level == "#" && last;
            if !whole && level.contains(['+', '#']) {
                return Err(TopicError::Misplaced(text.into()));
            }
        }
        Ok(Self(text.into()))
    }

    /// Whether `topic` is among those chosen. `a/#` chooses `a` as well.
    #[must_use]
    pub fn matches(&self, topic: &Topic) -> bool {
        let (mut wanted, mut have) = (self.0.split('/'), topic.0.split('/'));
        loop {
            match (wanted.next(), have.next()) {
                (Some("#"), _) => return true,
                (Some("+"), Some(_)) => {}
                (Some(level), Some(other)) if level == other => {}
                (None, None) => return true,
                _ => return false,
            }
        }
    }
    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, string::ToString};

    fn chosen(filter: &str, topics: &[&str]) -> Vec<bool> {
        let filter = Filter::new(filter).unwrap();
        topics.iter().map(|topic| filter.matches(&Topic::new(topic).unwrap())).collect()
    }
    use alloc::vec::Vec;

    #[test]
    fn a_plus_stands_for_exactly_one_level() {
        let topics = ["a/b/c", "a/x/c", "a/c", "a/b/b/c", "a//c"];
        assert_eq!(chosen("a/+/c", &topics), [true, true, false, false, true]);
    }

    #[test]
    fn a_hash_stands_for_the_rest_and_for_no_rest() {
        assert_eq!(chosen("a/#", &["a", "a/b", "a/b/c", "ab"]), [true, true, true, false]);
        assert_eq!(chosen("#", &["a", "/", "a/b"]), [true; 3]);
    }

    #[test]
    fn without_wildcards_only_the_same_topic_is_chosen() {
        assert_eq!(chosen("a/b", &["a/b", "a", "a/b/c", "a/B"]), [true, false, false, false]);
    }

    #[test]
    fn wildcards_beside_other_characters_are_refused() {
        for text in ["a+", "a/#/b", "#a", "a/+b/c"] {
            assert_eq!(Filter::new(text), Err(TopicError::Misplaced(text.to_string())));
        }
        assert_eq!(Topic::new("a/+"), Err(TopicError::Wildcard("a/+".to_string())));
    }

    #[test]
    fn empty_long_and_controlling_texts_are_refused_with_the_reason() {
        assert_eq!(Topic::new(""), Err(TopicError::Empty));
        let long = "x".repeat(TOPIC_MAX + 1);
        assert_eq!(Filter::new(&long), Err(TopicError::TooLong(201)));
        let error = Topic::new("a/\u{7}").unwrap_err();
        assert_eq!(
            format!("{error}"),
            r#"topic ("a/\u{7}"): has a control character. Leave it out"#
        );
    }
}
