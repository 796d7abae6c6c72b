//! What a file sets; keys that mean nothing where they stand are noted.
//!
//! Above the first table stands what send and recv take; a table may say otherwise for its command.

use std::path::Path;

use crate::Failure;
use toml::de::DeTable;

pub(super) use super::reader::Setting;
use super::{
    file,
    grammar::{Grammar, Table, find, key_of, options_of},
    groups::{self, NodeTables},
    page::{Key, Page, note_unknown},
    reader::{Reader, are_tables, asks_for_json},
    trial,
};

/// What a file says for a command.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) settings: Vec<Setting>,
    /// A node's groups, whatever the command.
    pub(super) tables: NodeTables,
}

/// What a file sets for a command. Errors: all its mistakes, for whatever command, and whether it
/// asks for JSON.
pub(super) fn read(
    path: &Path,
    grammar: &Grammar,
    table: Table,
) -> Result<Contents, (Vec<Failure>, bool)> {
    let text = file::read("config", path).map_err(|failure| (vec![failure], false))?;
    let page = Page::new(path, &text);
    let (root, is_whole) = page.parse(&text);
    let (mut wanted, mut tables) = (Vec::new(), NodeTables::default());
    // What is broken hides keys: complaints about them would mislead.
    if is_whole {
        let readers = grammar.tables().map(|table| Reader::new(table, &page));
        note_strangers(root.get_ref(), &readers, &page);
        for reader in &readers {
            let (settings, refused) = reader.read(root.get_ref());
            trial::examine(&reader.table, &settings, refused, &page);
            if reader.table == table {
                wanted = settings;
            }
        }
        tables = groups::read(root.get_ref(), grammar, &page);
    }
    let failures = page.into_failures();
    if failures.is_empty() {
        return Ok(Contents { settings: wanted, tables });
    }
    Err((failures, asks_for_json(&wanted)))
}

/// Notes keys that mean nothing where they stand.
fn note_strangers(root: &DeTable<'_>, readers: &[Reader<'_>], page: &Page<'_>) {
    let takers = |word: &str| -> Vec<Table> {
        readers.iter().filter(|r| find(&r.command, word).is_some()).map(|r| r.table).collect()
    };
    let name = |key: &Key<'_>| format!("key ({})", key.get_ref());
    for (key, value) in root {
        if let Some(reader) = readers.iter().find(|r| r.table.name == key.get_ref()) {
            match value.get_ref().as_table() {
                Some(own) => note_strangers_of(reader, own, &takers),
                None => {
                    let why = format!(": must be a table. Write [{}]", key.get_ref());
                    page.note(value.span().start, &name(key), &why);
                }
            }
            continue;
        }
        if are_tables(key, value) {
            continue;
        }
        let all = takers(key.get_ref());
        let shared: Vec<Table> = all.iter().copied().filter(|t| t.takes_shared).collect();
        match if shared.is_empty() { &all[..] } else { &shared[..] } {
            [] => {
                let keys = readers.iter().flat_map(|r| options_of(&r.command).map(key_of));
                let tables = readers.iter().map(|r| r.table.name.to_owned());
                note_unknown(key, keys.chain(tables), page);
            }
            [only] => {
                let why = format!(": only {0} takes it. Put it below [{0}]", only.name);
                page.note(key.span().start, &name(key), &why);
            }
            [..] => {}
        }
    }
}

fn note_strangers_of(reader: &Reader<'_>, own: &DeTable<'_>, takers: &dyn Fn(&str) -> Vec<Table>) {
    for (key, _) in own {
        match takers(key.get_ref())[..] {
            [] => {
                note_unknown(key, options_of(&reader.command).map(key_of), reader.page);
            }
            ref some if some.contains(&reader.table) => {}
            [other, ..] => {
                let what = format!("key ({})", key.get_ref());
                let why = format!(": is an option of {0}. Put it below [{0}]", other.name);
                reader.page.note(key.span().start, &what, &why);
            }
        }
    }
}
