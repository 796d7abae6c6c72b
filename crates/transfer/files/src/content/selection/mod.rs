//! Which files of a directory are sent, by patterns in the form of .gitignore, and files that a list
//! names.
//!
//! - `wildcard`: `*`, `?`, `[...]`; `pattern`: a line with its marks; `list`: names of files
//!
//! A path is judged from the top, as git does it: in a directory that is left out nothing is taken
//! back. What `include` names is taken all the same.

mod list;
mod pattern;
#[cfg(test)]
mod random_trees;
mod wildcard;

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use fanfare_udp::os::text::OsStrExt;

pub use list::parse_list;
use pattern::ChoicePattern;

/// The mark that editors of Windows put at the begin of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Which files of the directories that are named are sent. Default all.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    exclude: Arc<[ChoicePattern]>,
    include: Arc<[ChoicePattern]>,
}

/// A pattern that cannot be understood, or a file of patterns that cannot be read.
#[derive(Debug)]
pub struct SelectionError {
    /// The pattern, or the file.
    pub what: String,
    /// Why.
    pub why: String,
}

impl fmt::Display for SelectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pattern ({}): {}. Write it as in .gitignore", self.what, self.why)
    }
}

impl std::error::Error for SelectionError {}

impl Selection {
    /// Leaves out what git would leave out with `files` of patterns and `exclude`, but for what matches
    /// `include`. The last pattern that matches counts. A line in a file that can match nothing matches
    /// nothing.
    ///
    /// # Errors
    /// A file cannot be read, or a pattern that is given by itself can match nothing.
    pub fn new(
        files: &[PathBuf],
        exclude: &[String],
        include: &[String],
    ) -> Result<Self, SelectionError> {
        let mut patterns = Vec::new();
        for file in files {
            let text = fs::read(file).map_err(|error| SelectionError {
                what: file.display().to_string(),
                why: error.to_string(),
            })?;
            let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
            patterns.extend(text.split(|byte| *byte == b'\n').filter_map(ChoicePattern::of_line));
        }
        let whole = |text: &String, pattern: ChoicePattern| match pattern.defect() {
            Some(defect) => {
                Err(SelectionError { what: text.clone(), why: defect.text().to_owned() })
            }
            None => Ok(pattern),
        };
        for text in exclude {
            patterns.push(whole(text, ChoicePattern::parse(text.as_bytes()))?);
        }
        let include: Result<Arc<[ChoicePattern]>, SelectionError> = include
            .iter()
            .map(|text| whole(text, ChoicePattern::without_mark(text.as_bytes())))
            .collect();
        Ok(Self { exclude: patterns.into(), include: include? })
    }

    /// Whether what has this path below a directory that was named is sent.
    pub(crate) fn takes(&self, below: &Path, is_directory: bool) -> bool {
        if self.exclude.is_empty() {
            return true;
        }
        let parts: Vec<&[u8]> = below.iter().map(OsStrExt::as_bytes).collect();
        let path = &*parts.join(&b'/');
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        // Each directory on the way, and then the path itself.
        let mut ways: Vec<(&[u8], bool)> = slashes.map(|(at, _)| (&path[..at], true)).collect();
        ways.push((path, is_directory));
        let is_included = |(path, is_directory): &(&[u8], bool)| {
            self.include.iter().any(|pattern| pattern.matches(path, *is_directory))
        };
        // What is beneath it may be left out again.
        let from = ways.iter().rposition(is_included).map_or(0, |at| at + 1);
        !ways[from..].iter().any(|(path, is_directory)| self.leaves_out(path, *is_directory))
    }

    /// Whether there may be something to send beneath a directory that has this path.
    pub(crate) fn enters(&self, below: &Path) -> bool {
        !self.include.is_empty() || self.takes(below, true)
    }

    fn leaves_out(&self, path: &[u8], is_directory: bool) -> bool {
        let last = self.exclude.iter().rev().find(|pattern| pattern.matches(path, is_directory));
        last.is_some_and(|pattern| !pattern.takes_back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(exclude: &[&str], include: &[&str]) -> Result<Selection, SelectionError> {
        let lines =
            |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        Selection::new(&[], &lines(exclude), &lines(include))
    }

    fn taken(exclude: &[&str], include: &[&str], path: &str) -> bool {
        selection(exclude, include).unwrap().takes(Path::new(path), false)
    }

    #[test]
    fn patterns_mean_what_they_mean_in_gitignore() {
        assert!(!taken(&["*.o"], &[], "a/b.o") && taken(&["*.o"], &[], "a/b.c"));
        assert!(!taken(&["/target/"], &[], "target/x/y") && taken(&["/target/"], &[], "a/target"));
        assert!(!taken(&["a/**/z"], &[], "a/b/c/z"));
        assert!(taken(&[], &[], "anything"));
    }

    #[test]
    fn in_a_directory_that_is_left_out_nothing_is_taken_back() {
        assert!(!taken(&["*.log", "!keep.log", "/private/"], &[], "private/keep.log"));
        assert!(!taken(&["private", "!*.txt"], &[], "private/x.txt"));
        assert!(taken(&["*.log", "!keep.log", "/private/"], &[], "logs/keep.log"));
        assert!(taken(&["/*", "!/a"], &[], "a/b") && !taken(&["/*", "!/a/b"], &[], "a/b"));
        assert!(taken(&["**/"], &[], "top.txt") && !taken(&["**/"], &[], "logs/z"));
    }

    #[test]
    fn what_is_included_is_sent_even_from_a_directory_that_is_left_out() {
        assert!(taken(&["*.o"], &["keep.o"], "a/keep.o"));
        assert!(taken(&["logs/"], &["logs/today"], "logs/today/x"));
        assert!(taken(&["private/"], &["*.txt"], "private/x.txt"));
        // What is beneath it may be left out all the same.
        assert!(!taken(&["*.o"], &["keep/"], "keep/a.o"));
    }

    #[test]
    fn a_pattern_that_can_match_nothing_is_named() {
        for pattern in ["[/]", "a[", "b\\", "[[:x:]]"] {
            let error = selection(&[pattern], &[]).unwrap_err().to_string();
            assert!(error.contains(&format!("({pattern})")), "{error}");
            assert!(selection(&["a"], &[pattern]).is_err());
        }
    }
}
