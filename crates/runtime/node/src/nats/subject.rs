//! Topics as subjects, and back: `/` parts levels there, `.` here; `+` is `*`, `#` is `>`.
//!
//! What a level may have and a token may not is written `%` and two hexadecimal digits, and so is `%`
//! itself; a lone `%` is an empty level. So each topic has one subject of its own, and comes back from
//! it as it was. A subject that no topic has (`a/b`, `a+`, `a%`) does not cross.

use std::fmt;

use crate::messaging::{Filter, Topic};

/// Longest pattern, bytes: a server refuses a line of its protocol above 4096 (`max_control_line`).
const PATTERN_MAX: usize = 2048;

/// Why a text is no subject or pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectError {
    text: String,
    why: &'static str,
}

impl fmt::Display for SubjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, why } = self;
        write!(f, "subject ({text:?}): {why}. Write a.b, a.*.c or a.>")
    }
}

impl std::error::Error for SubjectError {}

/// Which subjects are wanted: `hq.*.orders`, `hq.>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern(String);

impl Pattern {
    /// Checks a pattern.
    ///
    /// # Errors
    /// Empty or too long, with an empty token, white space or control characters, or with a wildcard
    /// where none can be.
    pub fn new(text: &str) -> Result<Self, SubjectError> {
        let wrong = |why| Err(SubjectError { text: text.to_owned(), why });
        if text.is_empty() || text.len() > PATTERN_MAX {
            return wrong("is empty, or longer than 2048 bytes");
        }
        if text.chars().any(|c| c.is_control() || c == ' ') {
            return wrong("has a space or a control character");
        }
        let mut tokens = text.split('.').peekable();
        while let Some(token) = tokens.next() {
            if token.is_empty() {
                return wrong("has an empty token");
            }
            if token == ">" && tokens.peek().is_some() || token.len() > 1 && token.contains('>') {
                return wrong("has > before its end");
            }
            if token.len() > 1 && token.contains('*') {
                return wrong("has * beside other characters");
            }
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether `subject` is among those chosen.
    #[must_use]
    pub fn matches(&self, subject: &str) -> bool {
        let (mut wanted, mut have) = (self.0.split('.'), subject.split('.'));
        loop {
            match (wanted.next(), have.next()) {
                (Some(">"), Some(_)) | (None, None) => return true,
                (Some("*"), Some(_)) => {}
                (Some(token), Some(other)) if token == other => {}
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

/// How topics become subjects.
#[derive(Debug, Clone, Default)]
pub struct Subjects {
    /// Begins each subject, with its dot; empty for none.
    prefix: String,
}

impl Subjects {
    /// Subjects that begin with `prefix`, if there is one.
    ///
    /// # Errors
    /// It is no subject.
    pub fn below(prefix: Option<&str>) -> Result<Self, SubjectError> {
        let Some(prefix) = prefix else { return Ok(Self::default()) };
        Pattern::new(prefix)?;
        if prefix.contains(['*', '>']) {
            let why = "has a wildcard, and is to begin subjects";
            return Err(SubjectError { text: prefix.to_owned(), why });
        }
        Ok(Self { prefix: format!("{prefix}.") })
    }

    /// The subject of a topic.
    #[must_use]
    pub fn of(&self, topic: &Topic) -> String {
        self.written(topic.as_str(), token)
    }

    /// The topic of a subject, if one has it.
    #[must_use]
    pub fn topic(&self, subject: &str) -> Option<Topic> {
        let own = subject.strip_prefix(&self.prefix)?;
        let levels: Option<Vec<String>> = own.split('.').map(level).collect();
        let topic = Topic::new(&levels?.join("/")).ok()?;
        // What would not come back is no topic's: `a%41` is how nobody writes `aA`.
        (self.of(&topic) == subject).then_some(topic)
    }

    /// Patterns of the subjects of the topics that a filter chooses. `a/#` is `a` and what is below.
    #[must_use]
    pub fn patterns(&self, filter: &Filter) -> Vec<Pattern> {
        let text = filter.as_str();
        let wild = |level: &str| match level {
            "+" => "*".to_owned(),
            "#" => ">".to_owned(),
            level => token(level),
        };
        let above = text.strip_suffix("/#").map(|above| Pattern(self.written(above, wild)));
        above.into_iter().chain([Pattern(self.written(text, wild))]).collect()
    }

    /// The filter of the topics of the subjects that a pattern chooses; `a.>` is `a/#`, which chooses `a`
    /// as well. None where no filter does.
    #[must_use]
    pub fn filter(&self, pattern: &Pattern) -> Option<Filter> {
        let own = pattern.as_str().strip_prefix(&self.prefix)?;
        let levels = own.split('.').map(|token| match token {
            "*" => Some("+".to_owned()),
            ">" => Some("#".to_owned()),
            token => level(token).filter(|level| !level.contains(['+', '#', '/'])),
        });
        Filter::new(&levels.collect::<Option<Vec<_>>>()?.join("/")).ok()
    }

    fn written(&self, topic: &str, write: impl Fn(&str) -> String) -> String {
        let tokens: Vec<String> = topic.split('/').map(write).collect();
        let own = tokens.join(".");
        // Subjects that begin so are the server's own ($SYS, $JS).
        match own.strip_prefix('$').filter(|_| self.prefix.is_empty()) {
            Some(rest) => format!("%24{rest}"),
            None => format!("{}{own}", self.prefix),
        }
    }
}

fn token(level: &str) -> String {
    if level.is_empty() {
        return "%".to_owned();
    }
    let mut token = String::new();
    for c in level.chars() {
        match c {
            '.' | '*' | '>' | '%' | ' ' => token.push_str(&format!("%{:02X}", u32::from(c))),
            c => token.push(c),
        }
    }
    token
}

fn level(token: &str) -> Option<String> {
    if token == "%" {
        return Some(String::new());
    }
    let mut parts = token.split('%');
    let mut level = parts.next()?.to_owned();
    for part in parts {
        let code = u8::from_str_radix(part.get(..2)?, 16).ok()?;
        level.push(char::from(code));
        level.push_str(&part[2..]);
    }
    Some(level)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subjects(prefix: Option<&str>) -> Subjects {
        Subjects::below(prefix).unwrap()
    }
    fn subject(text: &str) -> String {
        subjects(None).of(&Topic::new(text).unwrap())
    }

    #[test]
    fn every_topic_has_a_subject_of_its_own_and_comes_back_from_it() {
        let topics = [
            "a",
            "a/b",
            "a//b",
            "/",
            "a/",
            "a.b/c",
            "a b",
            "50%/x",
            "%",
            "%25",
            "a*/>b",
            "$SYS/x",
            "x/$y",
            "größe/ß",
            "%24SYS/x",
        ];
        let mut seen = std::collections::BTreeSet::new();
        for prefix in [None, Some("site.one")] {
            let subjects = subjects(prefix);
            for text in topics {
                let topic = Topic::new(text).unwrap();
                let subject = subjects.of(&topic);
                assert!(Pattern::new(&subject).is_ok(), "{subject}");
                assert!(
                    !subject.starts_with('$') && !subject.contains(['*', '>', ' ']),
                    "{subject}"
                );
                assert_eq!(subjects.topic(&subject), Some(topic), "{subject}");
                assert!(seen.insert(subject));
            }
        }
        assert_eq!(subject("a.b//c d"), "a%2Eb.%.c%20d");
        assert_eq!(subject("$SYS/x"), "%24SYS.x");
    }

    #[test]
    fn a_subject_that_no_topic_has_does_not_cross() {
        let subjects = subjects(None);
        for text in
            ["a/b", "a+", "#", "a%", "a%4", "a%41", "a%2e", "a..b", "$SYS.x", "a%FF", "%00", ""]
        {
            assert_eq!(subjects.topic(text), None, "{text}");
        }
        assert_eq!(self::subjects(Some("p")).topic("q.a"), None);
        assert_eq!(self::subjects(Some("p")).topic("p"), None);
    }

    #[test]
    fn filters_and_patterns_choose_the_same() {
        let filters = ["a/#", "+/b", "#", "a", "a/+/#", "a.b/#"];
        let topics = ["a", "a/b", "a/b/c", "b/b", "a.b", "a.b/c", "b"];
        for prefix in [None, Some("p.q")] {
            let subjects = subjects(prefix);
            for text in filters {
                let filter = Filter::new(text).unwrap();
                let patterns = subjects.patterns(&filter);
                for topic in topics.map(|topic| Topic::new(topic).unwrap()) {
                    let subject = subjects.of(&topic);
                    let chosen = patterns.iter().any(|pattern| pattern.matches(&subject));
                    assert_eq!(chosen, filter.matches(&topic), "{text} {topic}");
                }
                assert_eq!(subjects.filter(patterns.last().unwrap()), Some(filter), "{text}");
            }
        }
    }

    #[test]
    fn patterns_that_a_server_would_refuse_are_refused_with_the_reason() {
        let cases = [
            ("", "is empty"),
            ("a..b", "has an empty token"),
            (".a", "has an empty token"),
            ("a b", "has a space"),
            ("a.>.b", "has > before its end"),
            ("a>", "has > before its end"),
            ("a*.b", "has * beside other characters"),
        ];
        for (text, why) in cases {
            let error = Pattern::new(text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        assert!(Subjects::below(Some("a.*")).unwrap_err().to_string().contains("wildcard"));
    }
}
