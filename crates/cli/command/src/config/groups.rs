//! `[[group]]`: the groups of one node.
//!
//! A group takes the options of `fanfare node`; what stands in `[node]` is for all of them.

use std::ffi::OsString;

use fanfare_crypto::toml::{scalar, shown};
use toml::de::DeTable;

use super::{
    gateways::GatewayReader,
    grammar::{Grammar, Named, find, key_of, options_of},
    page::{Page, Value, in_order, note_unknown},
    reader::{Reader, Setting, are_tables},
    trial,
};
use crate::config::{gateway_options as gateway, gateway_plan::GatewayPlan};

/// Groups of one node: each has threads, sockets and a cache of its own.
const GROUPS_MAX: usize = 16;
/// Longest name of a group, bytes.
const NAME_MAX: usize = 32;
/// What there is once for the whole node.
const OF_ALL: [&str; 4] = ["socket", "json", "quiet", "verbose"];
/// What a file says of a node's groups.
#[derive(Debug, Default)]
pub(super) struct NodeTables {
    pub(super) groups: Vec<GroupTable>,
    pub(super) gateways: Vec<GatewayPlan>,
}

/// A group as its table has it.
#[derive(Debug)]
pub(super) struct GroupTable {
    pub(super) name: String,
    pub(super) settings: Vec<Setting>,
    at: usize,
}

/// The tables; what is wrong with them is noted.
pub(super) fn read(root: &DeTable<'_>, grammar: &Grammar, page: &Page<'_>) -> NodeTables {
    let reader = Reader::new(grammar.node, page);
    let node = root.get("node").and_then(|value| value.get_ref().as_table());
    let tables = tables_of("group", root, page);
    if tables.len() > GROUPS_MAX {
        let why = format!(": more than {GROUPS_MAX}. Run another node for the others");
        page.note(tables[GROUPS_MAX].0, "group", &why);
        return NodeTables::default();
    }
    let mut groups: Vec<GroupTable> = Vec::new();
    for (at, own) in tables {
        note_strangers(own, &reader, page);
        let (settings, refused) = reader.read_levels([own].into_iter().chain(node));
        trial::examine(&grammar.node, &settings, refused, page);
        let name = name_of(own, at, &groups, page);
        groups.push(GroupTable { name, settings, at });
    }
    note_clashes(&groups, grammar, page);
    let mut gateways: Vec<GatewayPlan> = Vec::new();
    for (at, own) in tables_of("gateway", root, page) {
        let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        let Some(gateway) = GatewayReader { own, at, names: &names, page }.read(&gateways) else {
            continue;
        };
        for group in &gateway.groups {
            note_forgetful(&groups[*group], page);
        }
        gateways.push(gateway);
    }
    NodeTables { groups, gateways }
}

/// The tables of this name, and where each begins.
fn tables_of<'t, 'd>(
    name: &str,
    root: &'t DeTable<'d>,
    page: &Page<'_>,
) -> Vec<(usize, &'t DeTable<'d>)> {
    let found = in_order(root).into_iter().find(|(key, _)| key.get_ref() == name);
    let Some((_, value)) = found.filter(|(key, value)| are_tables(key, value)) else {
        return Vec::new();
    };
    let table = |value: &'t Value<'d>| Some((value.span().start, value.get_ref().as_table()?));
    let list = value.get_ref().as_array().and_then(|list| list.iter().map(table).collect());
    list.unwrap_or_else(|| {
        let why = format!(": must be tables. Write [[{name}]] above what is to be said of each");
        page.note(value.span().start, name, &why);
        Vec::new()
    })
}

fn note_strangers(own: &DeTable<'_>, reader: &Reader<'_>, page: &Page<'_>) {
    for (key, _) in in_order(own) {
        match find(&reader.command, key.get_ref()) {
            // The group's own.
            None if key.get_ref() == "name" => {}
            None => note_unknown(key, options_of(&reader.command).map(key_of), page),
            Some(arg) if OF_ALL.contains(&arg.get_id().as_str()) => {
                let what = format!("key ({})", key.get_ref());
                page.note(key.span().start, &what, ": is for the whole node. Put it below [node]");
            }
            Some(_) => {}
        }
    }
}

/// What a group is called; what is no name, or another's, is noted.
fn name_of(own: &DeTable<'_>, at: usize, others: &[GroupTable], page: &Page<'_>) -> String {
    let Some(value) = own.get("name") else {
        page.note(at, "group", ": has no name. Add name = \"radio\"");
        return String::new();
    };
    let name = scalar(value.get_ref()).unwrap_or_default();
    let what = format!("name ({})", shown(value.get_ref()));
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(is_letter) {
        let why =
            format!(": is not 1 to {NAME_MAX} of the letters a-z, A-Z, 0-9, '-', '_' and '.'");
        page.note(value.span().start, &what, &why);
    } else if let Some(other) = others.iter().find(|other| other.name == name) {
        let why = format!(": is that of the group at {}. Give another", page.place(other.at));
        page.note(value.span().start, &what, &why);
    }
    name.to_owned()
}

/// What only the groups together show: of each group that is right by itself.
fn note_clashes(groups: &[GroupTable], grammar: &Grammar, page: &Page<'_>) {
    let words = |group: &GroupTable| -> Vec<OsString> {
        let options = group.settings.iter().flat_map(Setting::options).map(OsString::from);
        ["fanfare", "node"].map(OsString::from).into_iter().chain(options).collect()
    };
    let named = |group: &GroupTable| Named { name: group.name.clone(), words: words(group) };
    let is_right = |(_, group): &(&GroupTable, Named)| (grammar.node.check)(&group.words).is_ok();
    let right = groups.iter().map(|group| (group, named(group))).filter(is_right);
    let (tables, named): (Vec<&GroupTable>, Vec<Named>) = right.unzip();
    for (number, failure) in (grammar.clashes)(&named) {
        let group = tables[number];
        let id = if failure.code == "cache.shared" { "cache_dir" } else { "group" };
        let setting = group.settings.iter().find(|setting| setting.id == id);
        match setting {
            Some(setting) => trial::note_at(setting.at, &setting.value, &failure, page),
            None => trial::note_at(group.at, "", &failure, page),
        }
    }
}

fn note_forgetful(group: &GroupTable, page: &Page<'_>) {
    let setting = |id: &str| group.settings.iter().find(|setting| setting.id == id);
    if let Some(id) = setting("node_id")
        && let Err(failure) = gateway::remembers(Some(&id.value), setting("cache_dir").is_some())
    {
        trial::note_at(id.at, &id.value, &failure, page);
    }
}
