//! A file while it is read: where things stand, and what is wrong there.

use std::path::Path;

use crate::Failure;
use fanfare_crypto::toml::{Mistakes, nearest};
use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

pub(super) type Key<'a> = Spanned<DeString<'a>>;
pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// A file while it is read.
#[derive(Debug)]
pub(super) struct Page<'a> {
    path: &'a Path,
    mistakes: Mistakes<'a>,
}

impl<'a> Page<'a> {
    pub(super) fn new(path: &'a Path, text: &'a str) -> Self {
        Self { path, mistakes: Mistakes::new(text) }
    }
    /// What it holds, and whether all of it is TOML; what is not is noted.
    pub(super) fn parse<'t>(&self, text: &'t str) -> (Spanned<DeTable<'t>>, bool) {
        let (root, broken) = DeTable::parse_recoverable(text);
        for error in &broken {
            let at = error.span().map_or(0, |span| span.start);
            self.note(at, "TOML", &format!(": {}. Mend the file", error.message()));
        }
        (root, broken.is_empty())
    }
    /// Why it cannot be used, mistake by mistake.
    pub(super) fn into_failures(self) -> Vec<Failure> {
        let mistakes = self.mistakes.into_list().into_iter();
        mistakes.map(|m| Failure::usage("config.invalid", m.text)).collect()
    }
    /// `fanfare.toml:12`.
    pub(super) fn place(&self, at: usize) -> String {
        format!("{}:{}", self.path.display(), self.mistakes.line(at))
    }
    /// Notes that something is wrong there.
    pub(super) fn note(&self, at: usize, what: &str, why: &str) {
        self.mistakes.note(at, format!("{what} at {}{why}", self.place(at)));
    }
}

/// The table's entries as they stand in the file.
pub(super) fn in_order<'t, 'a>(table: &'t DeTable<'a>) -> Vec<(&'t Key<'a>, &'t Value<'a>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// Notes a key that nothing is called.
pub(super) fn note_unknown(key: &Key<'_>, known: impl Iterator<Item = String>, page: &Page<'_>) {
    let known: Vec<String> = known.collect();
    let word = key.get_ref().replace('_', "-");
    let hint = match nearest(&word, known.iter().map(String::as_str)) {
        Some(near) => format!(", did you mean '{near}'?"),
        None => String::from(": no option is called so. See --help of send, recv and node"),
    };
    page.note(key.span().start, &format!("unknown key '{}'", key.get_ref()), &hint);
}
