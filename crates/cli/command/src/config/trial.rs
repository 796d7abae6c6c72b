//! Which settings are wrong, by themselves or beside the others: the command itself is asked.
//!
//! It tells one failure at a time. The setting at fault is one without which it would tell another
//! or none; it is left out then and the command is asked again, until it has nothing to say. So an
//! option that is new is examined, too.

use std::ffi::OsString;

use crate::Failure;

use super::{
    grammar::{Table, key_of, options_of},
    page::Page,
    reader::Setting,
};

/// Notes every setting that is wrong. `refused` are ids of what was noted before.
pub(super) fn examine(table: &Table, settings: &[Setting], refused: Vec<String>, page: &Page<'_>) {
    let command = (table.command)();
    let key_of =
        |id: &String| options_of(&command).find(|arg| arg.get_id() == id.as_str()).map(key_of);
    let mut wrong: Vec<String> = refused.iter().filter_map(key_of).collect();
    let mut left: Vec<&Setting> = settings.iter().collect();
    while let Err(failure) = attempt(table, &left) {
        let Some(at) = at_fault(table, &left, &failure) else {
            page.note(0, table.name, &format!(": {}", failure.text));
            return;
        };
        let setting = left.remove(at);
        // What is asked for is there, but wrong: that has been told.
        if !wrong.iter().any(|key| names(&failure.text, key)) {
            note(setting, &failure, page);
        }
        wrong.push(setting.key.clone());
    }
}

/// What the command says to these options alone.
fn attempt(table: &Table, settings: &[&Setting]) -> Result<(), Failure> {
    let words = ["fanfare", table.name].into_iter().map(OsString::from);
    let options = settings.iter().flat_map(|setting| setting.options()).map(OsString::from);
    let mut places: Vec<OsString> =
        settings.iter().flat_map(|setting| setting.places()).map(OsString::from).collect();
    if places.is_empty() {
        // Given on the command line, then.
        places.extend(table.place.map(OsString::from));
    }
    let words = words.chain(options).chain(["--".into()]).chain(places);
    (table.check)(&words.collect::<Vec<_>>())
}

/// Which of them is at fault: of several, the one that the failure begins with.
fn at_fault(table: &Table, settings: &[&Setting], failure: &Failure) -> Option<usize> {
    let without = |leave: usize| {
        let mut others = settings.to_vec();
        others.remove(leave);
        attempt(table, &others)
    };
    let matters = |at: &usize| without(*at).err().is_none_or(|other| other.text != failure.text);
    let at_fault: Vec<usize> = (0..settings.len()).filter(matters).collect();
    let is_named = |at: &&usize| begins_with(&failure.text, &settings[**at].key);
    at_fault.iter().find(is_named).or(at_fault.first()).copied()
}

/// Whether a failure is about this option: `node id (0): …`, `cc: …`.
fn begins_with(text: &str, key: &str) -> bool {
    let rest = |key: &str| text.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', ':']));
    rest(key) || rest(&key.replace('-', " "))
}

/// Whether a failure speaks of this option: `Add --min-rate RATE`.
fn names(text: &str, key: &str) -> bool {
    let option = format!("--{key}");
    text.match_indices(&option).any(|(at, _)| {
        let next = text[at + option.len()..].chars().next();
        !next.is_some_and(|c| c.is_alphanumeric() || c == '-')
    })
}

/// Notes it with its place: behind the value, or behind the name when the value is not told.
fn note(setting: &Setting, failure: &Failure, page: &Page<'_>) {
    note_at(setting.at, &setting.value, failure, page);
}

/// The same of a value that is no setting.
pub(super) fn note_at(at: usize, value: &str, failure: &Failure, page: &Page<'_>) {
    let value = format!("({value})");
    let text = failure.text.as_str();
    let (what, why) = match text.find(&value) {
        Some(at) => text.split_at(at + value.len()),
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    page.note(at, what, why);
}
