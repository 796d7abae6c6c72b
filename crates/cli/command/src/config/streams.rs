//! `--streams FILE`: the options of several sendings, each in a table `[[stream]]`; what stands above
//! them is for all.

use std::{ffi::OsString, path::Path};

use crate::Failure;
use fanfare_crypto::toml::shown;
use toml::de::{DeTable, DeValue};

use super::{
    file,
    grammar::{Table, find, key_of, options_of},
    line::CommandLine,
    page::{Page, Value, in_order, note_unknown},
    reader::{Reader, Setting, asks_for_json},
    trial,
};

/// What there is once for the whole command.
const OF_ALL: [&str; 5] = ["total_rate", "memory", "json", "quiet", "verbose"];
/// A stream may have so many times the share of another.
const WEIGHT_MAX: u32 = 1000;

/// One stream of a file: the command line that would send it alone.
#[derive(Debug)]
pub struct StreamWords {
    /// With the options that all have.
    pub words: Vec<OsString>,
    /// Parts of the rate and the memory that it has.
    pub weight: u32,
    /// `streams.toml:12`.
    pub at: String,
}

/// What one table says.
struct StreamTable {
    settings: Vec<Setting>,
    weight: u32,
    at: String,
}

/// What the command line and its file of streams make together; at least one. Errors: all mistakes,
/// and whether the file asks for JSON.
pub(super) fn read(line: &CommandLine) -> Result<Vec<StreamWords>, (Vec<Failure>, bool)> {
    if line.given.iter().any(|id| id == "paths") {
        let text =
            "paths (on the command line): each stream has its own in the file. Leave them out";
        return Err((vec![Failure::usage("streams.invalid", text)], false));
    }
    let words = |StreamTable { mut settings, weight, at }: StreamTable| {
        line.leave_out_given(&mut settings);
        StreamWords { words: line.with(&settings), weight, at }
    };
    Ok(tables(&line.file, line.table)?.into_iter().map(words).collect())
}

/// At least one table. Errors: all mistakes, and whether the file asks for JSON.
fn tables(path: &Path, send: Table) -> Result<Vec<StreamTable>, (Vec<Failure>, bool)> {
    let text = file::read("streams", path).map_err(|failure| (vec![failure], false))?;
    let page = Page::new(path, &text);
    let (root, is_whole) = page.parse(&text);
    let mut tables = Vec::new();
    // What is broken hides keys: complaints about them would mislead.
    if is_whole {
        let (root, reader) = (root.get_ref(), Reader::new(send, &page));
        note_strangers(root, &reader, &["stream"], &page);
        for (at, own) in stream_tables(root, &page) {
            note_strangers(own, &reader, &["weight"], &page);
            note_of_all(own, &reader, &page);
            let (settings, refused) = reader.read_levels([own, root]);
            examine(path, &send, &settings, refused, at, &page);
            let weight = own.get("weight").map_or(1, |value| weight(value, &page));
            tables.push(StreamTable { settings, weight, at: page.place(at) });
        }
    }
    let json = tables.first().is_some_and(|table| asks_for_json(&table.settings));
    let failures = page.into_failures();
    if failures.is_empty() { Ok(tables) } else { Err((failures, json)) }
}

/// The tables, and where each begins.
fn stream_tables<'t, 'd>(root: &'t DeTable<'d>, page: &Page<'_>) -> Vec<(usize, &'t DeTable<'d>)> {
    let missing = ": is not there. Write [[stream]] above the options of each";
    let Some(value) = root.get("stream") else {
        page.note(0, "stream", missing);
        return Vec::new();
    };
    let list = value.get_ref().as_array().map(|list| list.iter());
    let table = |value: &'t Value<'d>| Some((value.span().start, value.get_ref().as_table()?));
    let tables: Option<Vec<_>> = list.and_then(|list| list.map(table).collect());
    let tables = tables.filter(|tables| !tables.is_empty());
    if tables.is_none() {
        let why = ": must be tables. Write [[stream]] above the options of each";
        page.note(value.span().start, "stream", why);
    }
    tables.unwrap_or_default()
}

/// Notes keys that are no options, but for `known`.
fn note_strangers(table: &DeTable<'_>, reader: &Reader<'_>, known: &[&str], page: &Page<'_>) {
    for (key, _) in in_order(table) {
        if known.contains(&key.get_ref().as_ref()) || find(&reader.command, key.get_ref()).is_some()
        {
            continue;
        }
        let options = options_of(&reader.command).map(key_of);
        note_unknown(key, options.chain(known.iter().map(|word| (*word).to_owned())), page);
    }
}

/// Notes what a stream cannot have for itself.
fn note_of_all(own: &DeTable<'_>, reader: &Reader<'_>, page: &Page<'_>) {
    for (key, _) in in_order(own) {
        let arg = find(&reader.command, key.get_ref());
        if arg.is_some_and(|arg| OF_ALL.contains(&arg.get_id().as_str())) {
            let what = format!("key ({})", key.get_ref());
            page.note(key.span().start, &what, ": is for all streams. Put it above the first");
        }
    }
}

/// Notes what is wrong with a stream's options, by themselves or together.
fn examine(
    path: &Path,
    send: &Table,
    settings: &[Setting],
    refused: Vec<String>,
    at: usize,
    page: &Page<'_>,
) {
    if !settings.iter().any(|setting| setting.id == "paths") && refused.is_empty() {
        page.note(at, "stream", ": has no files. Add paths = [\"FILE\"]");
    }
    let mut together = vec![Setting::option("streams", &path.display().to_string())];
    together.extend_from_slice(settings);
    trial::examine(send, &together, refused, page);
}

fn weight(value: &Value<'_>, page: &Page<'_>) -> u32 {
    let number = match value.get_ref() {
        DeValue::Integer(number) => number.as_str().parse().ok(),
        _ => None,
    };
    number.filter(|number| (1..=WEIGHT_MAX).contains(number)).unwrap_or_else(|| {
        let what = format!("weight ({})", shown(value.get_ref()));
        let why = format!(": not a number from 1 to {WEIGHT_MAX}. Give 2 for twice the share of 1");
        page.note(value.span().start, &what, &why);
        1
    })
}
