//! `[[group]]` and `[[gateway]]`: the groups of one node, and what it carries between them.
//!
//! A group takes the options of `fanfare node`; what stands in `[node]` is for all of them.

use std::collections::BTreeMap;

use clap::Parser;
use fanfare_node::{
    messaging::{Filter, GatewayConfig, GroupIndex, Route},
    proto::Bitrate,
};
use fanfare_sim::scenario::{nearest, scalar, shown};
use toml::de::{DeTable, DeValue};

use super::{
    CommandLine, Refusal,
    options::{Table, find, key_of, options_of},
    settings::{Key, Page, Reader, Setting, Value, in_order, note_unknown},
    trial,
};
use crate::{
    Cli, Command,
    exit::Failure,
    gateway, group_args,
    member::{self, NodeArgs},
    units,
};

/// Groups of one node: each has threads, sockets and a cache of its own.
const GROUPS_MAX: usize = 16;
/// Longest name of a group, bytes.
const NAME_MAX: usize = 32;
/// What there is once for the whole node.
const OF_ALL: [&str; 4] = ["socket", "json", "quiet", "verbose"];
/// What a gateway takes.
const GATEWAY_KEYS: [&str; 5] = ["groups", "topics", "rates", "standby", "learn"];

/// What a file says of a node's groups.
#[derive(Debug, Default)]
pub(super) struct NodeTables {
    groups: Vec<GroupTable>,
    gateways: Vec<GatewaySettings>,
}

#[derive(Debug)]
struct GroupTable {
    name: String,
    settings: Vec<Setting>,
    at: usize,
}

/// A group of a node.
#[derive(Debug)]
pub(crate) struct GroupSettings {
    pub(crate) name: String,
    pub(crate) args: NodeArgs,
}

/// A gateway between groups of a node.
#[derive(Debug, Clone)]
pub(crate) struct GatewaySettings {
    /// Its groups' places among the node's; each is a side.
    pub(crate) groups: Vec<usize>,
    /// What leaves each of them.
    topics: Vec<Vec<Filter>>,
    /// Most that each of the others brings to each of them.
    rates: Vec<Bitrate>,
    pub(crate) times: GatewayConfig,
}

impl GatewaySettings {
    /// What crosses, each way.
    pub(crate) fn routes(&self) -> Vec<Route> {
        let mut routes = Vec::new();
        for (from, filters) in self.topics.iter().enumerate().filter(|(_, all)| !all.is_empty()) {
            for (to, rate) in self.rates.iter().enumerate().filter(|(to, _)| *to != from) {
                let (from, to) = (GroupIndex(from as u8), GroupIndex(to as u8));
                routes.push(Route { from, to, filters: filters.clone(), rate: *rate });
            }
        }
        routes
    }
}

impl NodeTables {
    /// With what the command line says: it wins over the file in each group.
    pub(super) fn complete(
        self,
        line: &CommandLine,
    ) -> Result<(Vec<GroupSettings>, Vec<GatewaySettings>), Refusal> {
        let mut groups = Vec::new();
        for GroupTable { name, mut settings, .. } in self.groups {
            line.leave_out_given(&mut settings);
            let cli = Cli::try_parse_from(line.with(&settings)).map_err(Refusal::Line)?;
            if let Command::Node(args) = cli.command {
                groups.push(GroupSettings { name, args });
            }
        }
        Ok((groups, self.gateways))
    }
}

/// Whether an entry above all tables is the groups of a node, or gateways, and no option of a command.
pub(super) fn are_tables(key: &Key<'_>, value: &Value<'_>) -> bool {
    match (key.get_ref().as_ref(), value.get_ref()) {
        ("gateway", _) | ("group", DeValue::Table(_)) => true,
        ("group", DeValue::Array(list)) => list.iter().all(|one| one.get_ref().is_table()),
        _ => false,
    }
}

/// The tables; what is wrong with them is noted.
pub(super) fn read(root: &DeTable<'_>, page: &Page<'_>) -> NodeTables {
    let reader = Reader::new(Table::Node, page);
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
        trial::examine(Table::Node, &settings, refused, page);
        let name = name_of(own, at, &groups, page);
        groups.push(GroupTable { name, settings, at });
    }
    note_clashes(&groups, page);
    let mut gateways: Vec<GatewaySettings> = Vec::new();
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
fn note_clashes(groups: &[GroupTable], page: &Page<'_>) {
    let parsed: Vec<(&GroupTable, NodeArgs)> =
        groups.iter().filter_map(|group| Some((group, parse(group)?))).collect();
    let named: Vec<(&str, &NodeArgs)> =
        parsed.iter().map(|(group, args)| (group.name.as_str(), args)).collect();
    for (number, failure) in member::clashes(&named) {
        let group = parsed[number].0;
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

/// `None` where it has mistakes of its own.
fn parse(group: &GroupTable) -> Option<NodeArgs> {
    let options = group.settings.iter().flat_map(Setting::options).map(String::as_str);
    match Cli::try_parse_from(["fanfare", "node"].into_iter().chain(options)).ok()?.command {
        Command::Node(args) if args.plan().is_ok() => Some(args),
        _ => None,
    }
}

/// Reads one gateway.
struct GatewayReader<'a, 't, 'd> {
    own: &'t DeTable<'d>,
    at: usize,
    names: &'a [&'a str],
    page: &'a Page<'a>,
}

impl<'t, 'd> GatewayReader<'_, 't, 'd> {
    fn read(&self, others: &[GatewaySettings]) -> Option<GatewaySettings> {
        self.note_strangers();
        let groups = self.groups(others)?;
        let topics = self.by_group("topics", &groups, |_, list| {
            list.iter().map(|text| group_args::filter(text)).collect::<Result<Vec<Filter>, _>>()
        });
        let rates = self.by_group("rates", &groups, |key, list| match list {
            [one] => units::rate_of(key, one),
            _ => Err(Failure::usage("rate.invalid", format!("{key}: must be one rate"))),
        });
        let all = Filter::new("#").into_iter().collect::<Vec<_>>();
        let topics = groups.iter().map(|group| topics.get(group).unwrap_or(&all).clone());
        let usual = units::rate_of("rates", gateway::RATE).ok()?;
        let rates = groups.iter().map(|group| *rates.get(group).unwrap_or(&usual));
        let (topics, rates) = (topics.collect(), rates.collect());
        let times = self.times()?;
        Some(GatewaySettings { groups, topics, rates, times })
    }

    fn note_strangers(&self) {
        for (key, _) in in_order(self.own) {
            if GATEWAY_KEYS.contains(&key.get_ref().as_ref()) {
                continue;
            }
            let hint = match nearest(key.get_ref(), GATEWAY_KEYS) {
                Some(near) => format!(", did you mean '{near}'?"),
                None => format!(": a gateway takes {}", GATEWAY_KEYS.join(", ")),
            };
            self.page.note(key.span().start, &format!("unknown key '{}'", key.get_ref()), &hint);
        }
    }

    /// Those that it joins.
    fn groups(&self, others: &[GatewaySettings]) -> Option<Vec<usize>> {
        let Some(value) = self.own.get("groups") else {
            let why = ": names no groups. Add groups = [\"radio\", \"overlay\"]";
            self.page.note(self.at, "gateway", why);
            return None;
        };
        let names = texts(value.get_ref()).filter(|names| names.len() > 1);
        let Some(names) = names else {
            let why = ": must be names of two groups or more. Write [\"radio\", \"overlay\"]";
            self.page.note(value.span().start, "groups", why);
            return None;
        };
        let mut groups = Vec::new();
        for name in names {
            let why = match self.names.iter().position(|group| *group == name) {
                None => format!(": no group is called so. {}", self.known()),
                Some(group) if groups.contains(&group) => ": is named twice. Leave one out".into(),
                Some(group) if others.iter().any(|other| other.groups.contains(&group)) => {
                    ": is in another gateway, too; messages would not go from one to the other. Name all \
                     groups in one gateway"
                        .into()
                }
                Some(group) => {
                    groups.push(group);
                    continue;
                }
            };
            self.page.note(value.span().start, &format!("groups ({name})"), &why);
            return None;
        }
        Some(groups)
    }

    fn known(&self) -> String {
        format!("There are: {}", self.names.join(", "))
    }

    /// A value for all groups, or a table of one for each that is named.
    fn by_group<T: Clone>(
        &self,
        key: &str,
        groups: &[usize],
        understand: impl Fn(&str, &[&str]) -> Result<T, Failure>,
    ) -> BTreeMap<usize, T> {
        let mut all = BTreeMap::new();
        let Some(value) = self.own.get(key) else { return all };
        let one = |value: &Value<'_>| -> Option<T> {
            let at = value.span().start;
            let Some(list) = texts(value.get_ref()) else {
                self.page.note(at, key, ": must be text, a list of texts, or a table by group");
                return None;
            };
            let understood = understand(key, &list);
            understood.map_err(|why| trial::note_at(at, &list.join(", "), &why, self.page)).ok()
        };
        let Some(table) = value.get_ref().as_table() else {
            if let Some(value) = one(value) {
                all.extend(groups.iter().map(|group| (*group, value.clone())));
            }
            return all;
        };
        for (name, value) in in_order(table) {
            let group = self.names.iter().position(|known| *known == name.get_ref());
            match group.filter(|group| groups.contains(group)) {
                Some(group) => all.extend(one(value).map(|value| (group, value))),
                None => {
                    let what = format!("{key} ({})", name.get_ref());
                    self.page.note(
                        name.span().start,
                        &what,
                        ": no group of this gateway is called so",
                    );
                }
            }
        }
        all
    }

    fn times(&self) -> Option<GatewayConfig> {
        let text = |key: &str, default| match self.own.get(key).map(|value| value.get_ref()) {
            None => default,
            Some(value) => scalar(value).unwrap_or_default().to_owned(),
        };
        let (standby, learn) = (
            text("standby", gateway::STANDBY.to_owned()),
            text("learn", gateway::LEARN.to_owned()),
        );
        let times = gateway::times(&standby, &learn);
        let note = |why: Failure| {
            let key = if why.text.starts_with("standby") { "standby" } else { "learn" };
            let value = if key == "standby" { &standby } else { &learn };
            let at = self.own.get(key).map_or(self.at, |value| value.span().start);
            trial::note_at(at, value, &why, self.page);
        };
        times.map_err(note).ok()
    }
}

/// One text, or a list of them.
fn texts<'v>(value: &'v DeValue<'_>) -> Option<Vec<&'v str>> {
    match value {
        DeValue::Array(list) => list.iter().map(|one| scalar(one.get_ref())).collect(),
        other => Some(vec![scalar(other)?]),
    }
}
