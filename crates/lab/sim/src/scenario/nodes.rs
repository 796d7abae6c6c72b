//! `[[node]]`: the nodes.

use super::{
    fields::{Fields, Placed},
    units,
};
use crate::{
    network::Host,
    place::{Place, Router},
};
use fanfare_crypto::toml::{Mistakes, suggest};
use fanfare_proto::Duration;

/// Most nodes: more than any run is made for, and fewer than numbers of places.
const NODES_MAX: u64 = 10_000;

/// A node as the file names it.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) group: u8,
    pub(super) start: Duration,
    pub(super) crashes: Vec<Duration>,
    pub(super) restarts: Vec<Duration>,
    pub(super) drift_ppm: i32,
    /// Where the file says so.
    pub(super) at: usize,
    /// Whether a flow of ours begins or ends there, a program runs there, or the file says so: then
    /// it is a host, else a router.
    pub(super) is_host: bool,
}

/// All nodes.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub(super) list: Vec<Node>,
    groups: Vec<String>,
    /// Names of which there are none: `count = 0`.
    none_of: Vec<String>,
}

impl Nodes {
    /// Reads one `[[node]]`; `count = 3` makes name1, name2 and name3 of it, and a star in `group`
    /// their numbers, so that each has a group of its own.
    pub(super) fn read(&mut self, fields: &Fields<'_>) {
        let name = fields.need("name", fields.text("name"), "\"sender\"");
        let count = fields.count("count", 0..=NODES_MAX);
        let group = fields.text("group").unwrap_or_default();
        let mut crashes = fields.list("crash", units::time);
        crashes.extend(fields.read("stop", units::time));
        let node = Node {
            name: String::new(),
            group: 0,
            start: fields.read("start", units::time).unwrap_or_default(),
            crashes,
            restarts: fields.list("restart", units::time),
            drift_ppm: fields.read("drift", units::drift).unwrap_or_default(),
            at: fields.at,
            is_host: fields.flag("host").unwrap_or(false),
        };
        fields.finish();
        let Some(name) = name else { return };
        let names: Vec<String> = match count {
            Some(count) => (1..=count).map(|n| format!("{name}{n}")).collect(),
            None => vec![name.to_owned()],
        };
        if self.list.len() + names.len() > NODES_MAX as usize {
            let text = format!("node.name ({name}): makes more than {NODES_MAX} nodes. Use fewer");
            fields.mistakes.note(fields.at, text);
            return;
        }
        if names.is_empty() {
            self.none_of.push(name.to_owned());
        }
        for (name, number) in names.into_iter().zip(1..) {
            let group = self.group(fields, &group.replace('*', &format!("{number}")));
            if name.contains('*') || self.list.iter().any(|node| node.name == name) {
                let why = "is taken or has a *. Give every node a name of its own";
                fields.mistakes.note(fields.at, format!("node.name ({name}): {why}"));
            } else {
                self.list.push(Node { name, group, ..node.clone() });
            }
        }
    }

    /// Groups are numbered as they come.
    fn group(&mut self, fields: &Fields<'_>, name: &str) -> u8 {
        let known = self.groups.iter().position(|group| group == name);
        let number = known.unwrap_or_else(|| {
            self.groups.push(name.to_owned());
            self.groups.len() - 1
        });
        u8::try_from(number).unwrap_or_else(|_| {
            let text = format!("node.group ({name}): is the 257th. Use at most 256 groups");
            fields.mistakes.note(fields.at, text);
            0
        })
    }

    /// The nodes that a word means: a name, or the beginning of names and a `*`.
    pub(super) fn find(&self, (word, at): Placed<&str>, mistakes: &Mistakes<'_>) -> Vec<usize> {
        let fits = |node: &Node| match word.strip_suffix('*') {
            Some(beginning) => node.name.starts_with(beginning),
            None => node.name == word,
        };
        let found: Vec<usize> = (0..self.list.len()).filter(|n| fits(&self.list[*n])).collect();
        let none = |name: &String| {
            word.strip_suffix('*').is_some_and(|beginning| name.starts_with(beginning))
        };
        if found.is_empty() && !self.none_of.iter().any(none) {
            let hint = suggest(word, self.list.iter().map(|node| node.name.as_str()));
            mistakes.note(at, format!("node ({word}): there is no such node. {hint}"));
        }
        found
    }
    /// The nodes of a key with a name or a list of names.
    pub(super) fn of(&self, fields: &Fields<'_>, key: &'static str, example: &str) -> Vec<usize> {
        let words = fields.need(key, fields.words(key), example).unwrap_or_default();
        words.into_iter().flat_map(|word| self.find(word, fields.mistakes)).collect()
    }

    /// The hosts among them; nodes without a session are refused.
    pub(super) fn hosts_of(&self, fields: &Fields<'_>, key: &'static str) -> Vec<Host> {
        let host = |node: usize| {
            let host = self.host(node);
            if host.is_none() {
                let name = &self.list[node].name;
                let why = "has no session. Give it a fanfare flow, or name another";
                fields.mistakes.note(fields.at, format!("{}.{key} ({name}): {why}", fields.name));
            }
            host
        };
        self.of(fields, key, "\"name\"").into_iter().filter_map(host).collect()
    }
    /// Where a node is in the plan: hosts and routers are numbered in the order of the file.
    pub(super) fn place(&self, number: usize) -> Place {
        let same = |node: &&Node| node.is_host == self.list[number].is_host;
        let before = self.list[..number].iter().filter(same).count() as u16;
        if self.list[number].is_host {
            Place::Host(Host(before))
        } else {
            Place::Router(Router(before))
        }
    }
    /// The host that a node is, if it is one.
    pub(super) fn host(&self, number: usize) -> Option<Host> {
        match self.place(number) {
            Place::Host(host) => Some(host),
            _ => None,
        }
    }
}
