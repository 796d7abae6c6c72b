//! What is wrong in a file, each with its line.

use core::{cell::RefCell, fmt};

/// Something wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Its line, from 1.
    pub line: usize,
    /// `<what> (<value>): <why>. <what to do>`.
    pub text: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

/// All mistakes found so far in a file.
#[derive(Debug)]
pub struct Mistakes<'a> {
    text: &'a str,
    found: RefCell<Vec<(usize, String)>>,
}

impl<'a> Mistakes<'a> {
    /// None yet in this text.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { text, found: RefCell::default() }
    }
    /// The line, from 1, of a byte of the file.
    #[must_use]
    pub fn line(&self, at: usize) -> usize {
        1 + self.text.bytes().take(at).filter(|b| *b == b'\n').count()
    }
    /// Notes one at a byte of the file.
    pub fn note(&self, at: usize, text: impl Into<String>) {
        self.found.borrow_mut().push((at, text.into()));
    }
    /// All of them, in the order of the file.
    #[must_use]
    pub fn into_list(self) -> Vec<Mistake> {
        let mut found = self.found.take();
        found.sort();
        found.dedup();
        found.into_iter().map(|(at, text)| Mistake { line: self.line(at), text }).collect()
    }
}
