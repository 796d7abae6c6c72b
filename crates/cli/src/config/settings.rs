//! What a file sets, as words of the command line; keys and types that cannot be are noted.
//!
//! Above the first table stands what send and recv take; a table may say otherwise for its command.

use std::{any::TypeId, path::Path};

use clap::{Arg, ArgAction, Command};
use fanfare_toml::{Mistakes, nearest, scalar, shown};
use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use super::{
    file,
    groups::{self, NodeTables},
    options::{Table, find, key_of, options_of},
    trial,
};
use fanfare_command::Failure;

/// One key of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// Its name in clap.
    pub(super) id: String,
    /// Its name in files and, after two hyphens, on the command line.
    pub(super) key: String,
    /// Its value, in short.
    pub(super) value: String,
    /// What would say the same on the command line.
    words: Vec<String>,
    /// Whether that has its meaning by its place.
    is_place: bool,
    /// Where the value begins in the file.
    pub(super) at: usize,
}

impl Setting {
    /// As if a file said so.
    pub(super) fn option(key: &str, value: &str) -> Self {
        let words = vec![format!("--{key}={value}")];
        let (key, value) = (key.to_owned(), value.to_owned());
        Self { id: key.clone(), key, value, words, is_place: false, at: 0 }
    }
    /// Words that may stand anywhere.
    pub(super) fn options(&self) -> &[String] {
        if self.is_place { &[] } else { &self.words }
    }
    /// Words that stand after the options.
    pub(super) fn places(&self) -> &[String] {
        if self.is_place { &self.words } else { &[] }
    }
    /// Whether it says the same as another; where it stands does not matter.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        (&self.id, &self.words) == (&other.id, &other.words)
    }
}

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

/// What a file says for a command.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) settings: Vec<Setting>,
    /// A node's groups, whatever the command.
    pub(super) tables: NodeTables,
}

/// What a file sets for a command. Errors: all its mistakes, for whatever command, and whether it
/// asks for JSON.
pub(super) fn read(path: &Path, table: Table) -> Result<Contents, (Vec<Failure>, bool)> {
    let text = file::read("config", path).map_err(|failure| (vec![failure], false))?;
    let page = Page::new(path, &text);
    let (root, is_whole) = page.parse(&text);
    let (mut wanted, mut tables) = (Vec::new(), NodeTables::default());
    // What is broken hides keys: complaints about them would mislead.
    if is_whole {
        let readers = Table::ALL.map(|table| Reader::new(table, &page));
        note_strangers(root.get_ref(), &readers, &page);
        for reader in &readers {
            let (settings, refused) = reader.read(root.get_ref());
            trial::examine(reader.table, &settings, refused, &page);
            if reader.table == table {
                wanted = settings;
            }
        }
        tables = groups::read(root.get_ref(), &page);
    }
    let failures = page.into_failures();
    if failures.is_empty() {
        return Ok(Contents { settings: wanted, tables });
    }
    Err((failures, asks_for_json(&wanted)))
}

/// Whether they ask for JSON.
pub(super) fn asks_for_json(settings: &[Setting]) -> bool {
    settings.iter().any(|setting| setting.id == "json" && !setting.words.is_empty())
}

pub(super) type Key<'a> = Spanned<DeString<'a>>;
pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// Reads what concerns one command.
pub(super) struct Reader<'a> {
    table: Table,
    pub(super) command: Command,
    page: &'a Page<'a>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(table: Table, page: &'a Page<'a>) -> Self {
        Self { table, command: table.command(), page }
    }

    /// What is set, and the ids of what is set to something that cannot be.
    fn read(&self, root: &DeTable<'_>) -> (Vec<Setting>, Vec<String>) {
        let own = root.get(self.table.name()).and_then(|value| value.get_ref().as_table());
        let shared = Some(root).filter(|_| self.table.takes_shared());
        self.read_levels(own.into_iter().chain(shared))
    }

    /// The same of tables of which each wins over the next.
    pub(super) fn read_levels<'t, 'd: 't>(
        &self,
        levels: impl IntoIterator<Item = &'t DeTable<'d>>,
    ) -> (Vec<Setting>, Vec<String>) {
        let (mut settings, mut refused) = (Vec::new(), Vec::new());
        let mut decided: Vec<&str> = Vec::new();
        for level in levels {
            let mut here: Vec<&str> = Vec::new();
            for (key, value) in in_order(level) {
                if groups::are_tables(key, value) {
                    continue;
                }
                let Some(arg) = find(&self.command, key.get_ref()) else { continue };
                let id = arg.get_id().as_str();
                if here.contains(&id) {
                    let why =
                        format!(": means '{}', as one above does. Leave one out", key_of(arg));
                    self.page.note(key.span().start, &format!("key ({})", key.get_ref()), &why);
                    continue;
                }
                here.push(id);
                match self.setting(arg, value) {
                    // The table has said already what is to be.
                    _ if decided.contains(&id) => {}
                    Some(setting) => settings.push(setting),
                    None => refused.push(id.to_owned()),
                }
            }
            decided.append(&mut here);
        }
        (settings, refused)
    }

    fn setting(&self, arg: &Arg, value: &Value<'_>) -> Option<Setting> {
        let (key, at, shown) = (key_of(arg), value.span().start, shown(value.get_ref()));
        match words(arg, value.get_ref()) {
            Ok(words) => {
                let (id, is_place) = (arg.get_id().to_string(), arg.is_positional());
                Some(Setting { id, key, value: shown, words, is_place, at })
            }
            Err(why) => {
                self.page.note(at, &format!("{key} ({shown})"), &format!(": {why}"));
                None
            }
        }
    }
}

/// The table's entries as they stand in the file.
pub(super) fn in_order<'t, 'a>(table: &'t DeTable<'a>) -> Vec<(&'t Key<'a>, &'t Value<'a>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// Notes keys that mean nothing where they stand.
fn note_strangers(root: &DeTable<'_>, readers: &[Reader<'_>], page: &Page<'_>) {
    let takers = |word: &str| -> Vec<Table> {
        readers.iter().filter(|r| find(&r.command, word).is_some()).map(|r| r.table).collect()
    };
    let name = |key: &Key<'_>| format!("key ({})", key.get_ref());
    for (key, value) in root {
        if let Some(reader) = readers.iter().find(|r| r.table.name() == key.get_ref()) {
            match value.get_ref().as_table() {
                Some(own) => note_strangers_of(reader, own, &takers),
                None => {
                    let why = format!(": must be a table. Write [{}]", key.get_ref());
                    page.note(value.span().start, &name(key), &why);
                }
            }
            continue;
        }
        if groups::are_tables(key, value) {
            continue;
        }
        let all = takers(key.get_ref());
        let shared: Vec<Table> = all.iter().copied().filter(|t| t.takes_shared()).collect();
        match if shared.is_empty() { &all[..] } else { &shared[..] } {
            [] => {
                let keys = readers.iter().flat_map(|r| options_of(&r.command).map(key_of));
                let tables = Table::ALL.map(|table| table.name().to_owned());
                note_unknown(key, keys.chain(tables), page);
            }
            [only] => {
                let why = format!(": only {0} takes it. Put it below [{0}]", only.name());
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
                let why = format!(": is an option of {0}. Put it below [{0}]", other.name());
                reader.page.note(key.span().start, &what, &why);
            }
        }
    }
}

pub(super) fn note_unknown(key: &Key<'_>, known: impl Iterator<Item = String>, page: &Page<'_>) {
    let known: Vec<String> = known.collect();
    let word = key.get_ref().replace('_', "-");
    let hint = match nearest(&word, known.iter().map(String::as_str)) {
        Some(near) => format!(", did you mean '{near}'?"),
        None => String::from(": no option is called so. See --help of send, recv and node"),
    };
    page.note(key.span().start, &format!("unknown key '{}'", key.get_ref()), &hint);
}

/// A value as words of the command line. Errors: what it should be.
fn words(arg: &Arg, value: &DeValue<'_>) -> Result<Vec<String>, &'static str> {
    let key = key_of(arg);
    let word = |text: &str| {
        if arg.is_positional() { text.to_owned() } else { format!("--{key}={text}") }
    };
    let takes_bool = arg.get_value_parser().type_id() == TypeId::of::<bool>();
    match (arg.get_action(), value) {
        (ArgAction::SetTrue, DeValue::Boolean(true)) => Ok(vec![format!("--{key}")]),
        (ArgAction::SetTrue, DeValue::Boolean(false)) => Ok(Vec::new()),
        (ArgAction::Set, DeValue::Boolean(flag)) if takes_bool => Ok(vec![word(&flag.to_string())]),
        (ArgAction::SetTrue, _) => Err("must be true or false"),
        (ArgAction::Set, _) if takes_bool => Err("must be true or false"),
        (ArgAction::Count, _) => {
            let count = scalar(value).and_then(|text| text.parse::<u8>().ok());
            let count = count.ok_or("not a number from 0 to 255. Write how many times it holds")?;
            Ok(vec![format!("--{key}"); usize::from(count)])
        }
        (ArgAction::Append, DeValue::Array(list)) => list
            .iter()
            .map(|value| scalar(value.get_ref()).map(word))
            .collect::<Option<_>>()
            .ok_or("must be a list of texts. Put each in quotes"),
        _ => match scalar(value) {
            Some(text) => Ok(vec![word(text)]),
            None => Err("must be text or a number. Put text in quotes"),
        },
    }
}
