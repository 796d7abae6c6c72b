//! Which files of a directory are sent, by patterns in the form of .gitignore, and files that a list
//! names.

use std::{
    fmt,
    path::{Component, Path, PathBuf},
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

/// Which files of the directories that are named are sent. Default all.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    patterns: Option<Gitignore>,
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
    /// Leaves out what matches `files` of patterns and `exclude`, but for what matches `include`. The
    /// last pattern that matches counts.
    ///
    /// # Errors
    /// A pattern or a file of patterns is wrong.
    pub fn new(
        files: &[PathBuf],
        exclude: &[String],
        include: &[String],
    ) -> Result<Self, SelectionError> {
        if files.is_empty() && exclude.is_empty() && include.is_empty() {
            return Ok(Self::default());
        }
        let mut builder = GitignoreBuilder::new("");
        let wrong = |what: String| {
            move |error: ignore::Error| SelectionError { what, why: error.to_string() }
        };
        for file in files {
            if let Some(error) = builder.add(file) {
                return Err(wrong(file.display().to_string())(error));
            }
        }
        let lines = exclude.iter().cloned().chain(include.iter().map(|line| format!("!{line}")));
        for line in lines {
            builder.add_line(None, &line).map_err(wrong(line.clone()))?;
        }
        let patterns = builder.build().map_err(wrong("all together".to_owned()))?;
        Ok(Self { patterns: Some(patterns) })
    }

    /// Whether what has this path below a directory that was named is sent.
    pub(crate) fn takes(&self, below: &Path, is_directory: bool) -> bool {
        let Some(patterns) = &self.patterns else { return true };
        !matches!(patterns.matched_path_or_any_parents(below, is_directory), Match::Ignore(_))
    }
}

/// The paths of a list: one in each line, or with a NUL after each. Each is relative, and leads
/// nowhere above where it begins.
///
/// # Errors
/// A path is absolute, leads upwards, or is not UTF-8; it is given back.
pub fn parse_list(list: &[u8]) -> Result<Vec<PathBuf>, String> {
    let end = if list.contains(&0) { 0 } else { b'\n' };
    let parts = list.split(|byte| *byte == end).filter(|part| !part.is_empty());
    let path = |part: &[u8]| {
        let text =
            std::str::from_utf8(part).map_err(|_| String::from_utf8_lossy(part).into_owned())?;
        let path: PathBuf =
            Path::new(text).components().filter(|part| *part != Component::CurDir).collect();
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if plain && path != Path::new("") { Ok(path) } else { Err(text.to_owned()) }
    };
    parts.map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(exclude: &[&str], include: &[&str], path: &str) -> bool {
        let lines =
            |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        let selection = Selection::new(&[], &lines(exclude), &lines(include)).unwrap();
        selection.takes(Path::new(path), false)
    }

    #[test]
    fn patterns_mean_what_they_mean_in_gitignore() {
        assert!(!taken(&["*.o"], &[], "a/b.o") && taken(&["*.o"], &[], "a/b.c"));
        assert!(!taken(&["/target/"], &[], "target/x/y") && taken(&["/target/"], &[], "a/target"));
        assert!(!taken(&["a/**/z"], &[], "a/b/c/z"));
        assert!(taken(&["*.o"], &["keep.o"], "a/keep.o"));
        assert!(taken(&["logs/"], &["logs/today"], "logs/today"));
        assert!(taken(&[], &[], "anything"));
    }

    #[test]
    fn a_pattern_that_cannot_be_is_named() {
        let error = Selection::new(&[], &["[z-a]".to_owned()], &[]).unwrap_err();
        assert!(error.to_string().contains("([z-a])"), "{error}");
    }

    #[test]
    fn a_list_has_lines_or_nul_and_leads_nowhere_else() {
        let paths = |list: &[u8]| parse_list(list).map(|all| all.len());
        assert_eq!(paths(b"a\nb c/d\n\n./e\n"), Ok(3));
        assert_eq!(paths(b"a\nb\0c\0"), Ok(2));
        assert_eq!(paths(b"ok\n../x\n"), Err("../x".to_owned()));
        assert_eq!(paths(b"/etc/passwd"), Err("/etc/passwd".to_owned()));
    }
}
