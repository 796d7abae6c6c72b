//! Reads what concerns one command, as words of its command line; what cannot be is noted.

use std::any::TypeId;

use clap::{Arg, ArgAction, Command};
use fanfare_crypto::toml::{scalar, shown};
use toml::de::{DeTable, DeValue};

use super::{
    grammar::{Table, find, key_of},
    page::{Key, Page, Value, in_order},
};

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
    pub(super) words: Vec<String>,
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

/// Whether they ask for JSON.
pub(super) fn asks_for_json(settings: &[Setting]) -> bool {
    settings.iter().any(|setting| setting.id == "json" && !setting.words.is_empty())
}

/// Whether an entry above all tables is the groups of a node, or gateways, and no option of a command.
pub(super) fn are_tables(key: &Key<'_>, value: &Value<'_>) -> bool {
    match (key.get_ref().as_ref(), value.get_ref()) {
        ("gateway", _) | ("group", DeValue::Table(_)) => true,
        ("group", DeValue::Array(list)) => list.iter().all(|one| one.get_ref().is_table()),
        _ => false,
    }
}

/// Reads what concerns one command.
pub(super) struct Reader<'a> {
    pub(super) table: Table,
    pub(super) command: Command,
    pub(super) page: &'a Page<'a>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(table: Table, page: &'a Page<'a>) -> Self {
        Self { table, command: (table.command)(), page }
    }

    /// What is set, and the ids of what is set to something that cannot be.
    pub(super) fn read(&self, root: &DeTable<'_>) -> (Vec<Setting>, Vec<String>) {
        let own = root.get(self.table.name).and_then(|value| value.get_ref().as_table());
        let shared = Some(root).filter(|_| self.table.takes_shared);
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
                if are_tables(key, value) {
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
