//! Reads a table of a scenario file. Every mistake is noted with its line, and reading goes on.

use super::units;
use core::{cell::RefCell, fmt, ops::RangeInclusive};
use fanfare_crypto::toml::{Mistakes, scalar, shown, suggest};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// One table: asked for its keys, then for those that nobody asked for.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    /// What it is called: `link`, `scenario`.
    pub(crate) name: &'a str,
    /// Where it begins.
    pub(crate) at: usize,
    table: &'a DeTable<'a>,
    asked: RefCell<Vec<&'static str>>,
    pub(crate) mistakes: &'a Mistakes<'a>,
}

/// A value of a file and where it stands.
pub(crate) type Placed<T> = (T, usize);

impl<'a> Fields<'a> {
    pub(crate) fn new(
        name: &'a str,
        at: usize,
        table: &'a DeTable<'a>,
        mistakes: &'a Mistakes<'a>,
    ) -> Self {
        Self { name, at, table, asked: RefCell::default(), mistakes }
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.asked.borrow_mut().push(key);
        self.table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }
    pub(crate) fn has(&self, key: &'static str) -> bool {
        self.get(key).is_some()
    }
    /// Notes that something is wrong with a key's value.
    pub(crate) fn wrong(&self, key: &str, value: &Spanned<DeValue<'_>>, why: impl fmt::Display) {
        let shown = shown(value.get_ref());
        let text = format!("{}.{key} ({shown}): {why}", self.name);
        self.mistakes.note(value.span().start, text);
    }
    /// Notes that a key is missing unless there is a value.
    pub(crate) fn need<T>(&self, key: &'static str, value: Option<T>, example: &str) -> Option<T> {
        if value.is_none() && !self.has(key) {
            let text = format!("{} ({key}): is missing. Write {key} = {example}", self.name);
            self.mistakes.note(self.at, text);
        }
        value
    }

    /// A value with a unit: text, or a bare number.
    pub(crate) fn read<T>(
        &self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.get(key)?;
        let read = scalar(value.get_ref()).map_or_else(
            || Err(format!("a {} does not belong here", value.get_ref().type_str())),
            parse,
        );
        read.map_err(|why| self.wrong(key, value, why)).ok()
    }
    pub(crate) fn count(&self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        self.read(key, |text| units::count(text, range.clone()))
    }
    pub(crate) fn text(&self, key: &'static str) -> Option<&'a str> {
        let value = self.get(key)?;
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.wrong(key, value, "must be text. Put it in quotes");
        }
        text
    }
    pub(crate) fn flag(&self, key: &'static str) -> Option<bool> {
        let value = self.get(key)?;
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            self.wrong(key, value, "must be true or false");
        }
        flag
    }
    /// One of these words.
    pub(crate) fn choice<T: Copy>(&self, key: &'static str, of: &[(&str, T)]) -> Option<T> {
        let word = self.text(key)?;
        let found = of.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
        if let (None, Some(value)) = (found, self.get(key)) {
            let hint = suggest(word, of.iter().map(|(name, _)| *name));
            self.wrong(key, value, format!("is not known. {hint}"));
        }
        found
    }
    /// A word, or a list of words.
    pub(crate) fn words(&self, key: &'static str) -> Option<Vec<Placed<&'a str>>> {
        let value = self.get(key)?;
        let one = |value: &'a Spanned<DeValue<'a>>| {
            let word = value.get_ref().as_str();
            if word.is_none() {
                self.wrong(key, value, "must be text. Put it in quotes");
            }
            word.map(|word| (word, value.span().start))
        };
        Some(match value.get_ref().as_array() {
            Some(list) => list.iter().filter_map(one).collect(),
            None => one(value).into_iter().collect(),
        })
    }
    /// A value with a unit, or a list of them.
    pub(crate) fn list<T>(
        &self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Vec<T> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let one = |value: &Spanned<DeValue<'_>>| {
            let text = scalar(value.get_ref()).ok_or_else(|| String::from("is not a value"));
            text.and_then(&parse).map_err(|why| self.wrong(key, value, why)).ok()
        };
        match value.get_ref().as_array() {
            Some(list) => list.iter().filter_map(one).collect(),
            None => one(value).into_iter().collect(),
        }
    }
    /// A table inside.
    pub(crate) fn table(&self, key: &'static str) -> Option<Self> {
        let value = self.get(key)?;
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.wrong(key, value, format!("must be a table such as {key} = {{ … }}"));
        }
        table.map(|table| Fields::new(key, value.span().start, table, self.mistakes))
    }

    /// All keys and values in the order of the file, for a table whose keys are names.
    pub(crate) fn entries(&self) -> Vec<(&'a str, &'a Spanned<DeValue<'a>>)> {
        let mut entries: Vec<_> = self.table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries.into_iter().map(|(key, value)| (&**key.get_ref(), value)).collect()
    }
    /// A list of tables: `[[key]]`.
    pub(crate) fn tables(&self, key: &'static str) -> Vec<Self> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let table = |entry: &'a Spanned<DeValue<'a>>| {
            let table = entry.get_ref().as_table()?;
            Some(Fields::new(key, entry.span().start, table, self.mistakes))
        };
        let list: Option<Vec<Fields<'a>>> =
            value.get_ref().as_array().and_then(|list| list.iter().map(table).collect());
        if list.is_none() {
            self.wrong(key, value, format!("must be a list. Write [[{key}]]"));
        }
        list.unwrap_or_default()
    }

    /// Notes the keys that nobody asked for.
    pub(crate) fn finish(&self) {
        let asked = self.asked.borrow();
        for (key, _) in self.table {
            let word: &str = key.get_ref();
            if !asked.contains(&word) {
                let hint = suggest(word, asked.iter().copied());
                let text = format!("{} ({word}): has no such key. {hint}", self.name);
                self.mistakes.note(key.span().start, text);
            }
        }
    }
}
