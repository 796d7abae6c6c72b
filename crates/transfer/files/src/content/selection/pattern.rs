//! One line of .gitignore.

use super::wildcard::{Defect, PathWildcard};

/// What has a meaning in a pattern.
const SPECIAL: &[u8] = b"*?[\\";

/// One pattern, with what its marks say.
#[derive(Debug, Clone)]
pub(super) struct ChoicePattern {
    /// It takes back what an earlier one leaves out: `!` at the begin.
    pub(super) takes_back: bool,
    /// It is for directories alone: a slash at the end.
    only_directories: bool,
    place: Place,
}

/// Where a pattern is looked for.
#[derive(Debug, Clone)]
enum Place {
    /// In the last part of a path: it has no slash.
    LastPart(PathWildcard),
    /// In the whole path: the bytes that it begins with, and the rest.
    Whole(Vec<u8>, PathWildcard),
    /// Nowhere.
    Nowhere(Defect),
}

impl ChoicePattern {
    /// A line of a file; `None` where it has no pattern.
    pub(super) fn of_line(line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = without_last_spaces(line);
        if line.is_empty() || line.starts_with(b"#") { None } else { Some(Self::parse(line)) }
    }

    /// A pattern as it stands, with its marks.
    pub(super) fn parse(text: &[u8]) -> Self {
        match text.strip_prefix(b"!") {
            Some(text) => Self { takes_back: true, ..Self::without_mark(text) },
            None => Self::without_mark(text),
        }
    }

    /// A pattern that has no `!` in front of it.
    pub(super) fn without_mark(text: &[u8]) -> Self {
        let (text, only_directories) = match text.strip_suffix(b"/") {
            Some(text) => (text, true),
            None => (text, false),
        };
        let place = match text.contains(&b'/') {
            false => PathWildcard::parse(text).map(Place::LastPart),
            true => {
                let text = text.strip_prefix(b"/").unwrap_or(text);
                let plain = text.iter().take_while(|byte| !SPECIAL.contains(byte)).count();
                // As git does it, the rest stands for itself: two stars there lead through directories.
                let (begin, rest) = text.split_at(plain);
                PathWildcard::parse(rest).map(|rest| Place::Whole(begin.to_vec(), rest))
            }
        };
        let place = place.unwrap_or_else(Place::Nowhere);
        Self { takes_back: false, only_directories, place }
    }

    /// Why it can match nothing.
    pub(super) fn defect(&self) -> Option<Defect> {
        match self.place {
            Place::Nowhere(defect) => Some(defect),
            _ => None,
        }
    }

    /// Whether it names this path below the directory that the patterns are for.
    pub(super) fn matches(&self, path: &[u8], is_directory: bool) -> bool {
        if self.only_directories && !is_directory {
            return false;
        }
        match &self.place {
            Place::LastPart(wildcard) => {
                let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
                wildcard.matches(last)
            }
            Place::Whole(begin, rest) => {
                path.strip_prefix(begin.as_slice()).is_some_and(|path| rest.matches(path))
            }
            Place::Nowhere(_) => false,
        }
    }
}

/// Spaces at the end do not count, but for one that a backslash stands before.
fn without_last_spaces(line: &[u8]) -> &[u8] {
    let (mut end, mut at) = (0, 0);
    while at < line.len() {
        match line[at] {
            b' ' => at += 1,
            b'\\' => {
                at += 2;
                end = at;
            }
            _ => {
                at += 1;
                end = at;
            }
        }
    }
    &line[..end.min(line.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_may_say_nothing_and_its_marks_may_be_escaped() {
        let matches = |line: &str, path: &str| {
            ChoicePattern::of_line(line.as_bytes())
                .is_some_and(|it| it.matches(path.as_bytes(), false))
        };
        assert!(
            ChoicePattern::of_line(b"# a").is_none() && ChoicePattern::of_line(b"   ").is_none()
        );
        assert!(matches("\\#a", "#a") && matches("\\!a", "!a") && matches("a  \r", "a"));
        assert!(matches("a\\ ", "a ") && !matches("a ", "a ") && !matches("a/", "a"));
        assert!(ChoicePattern::of_line(b"!a").unwrap().takes_back);
    }

    #[test]
    fn a_slash_in_it_binds_a_pattern_to_the_top() {
        let matches = |text: &str, path: &str| {
            ChoicePattern::parse(text.as_bytes()).matches(path.as_bytes(), true)
        };
        assert!(matches("a", "x/a") && !matches("/a", "x/a") && matches("/a", "a"));
        assert!(matches("x/a/", "x/a") && !matches("x/a", "y/x/a") && matches("a/", "x/a"));
    }
}
