//! `[[change]]`: what happens when.

use fanfare_proto::Duration;

use super::{
    fields::Fields,
    links::{self, Ends, Rule},
    nodes::Nodes,
    traces::TraceFiles,
    units,
};
use crate::{hop::Hop, link::Link, network::Hosts, plan::Change};

/// One `[[change]]` as the plan takes it.
pub(super) type Timed = (Duration, Change);

/// Whether links are hops that all share, or paths of their own for each pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkSharing {
    Shared,
    Pairwise,
}

/// Reads one `[[change]]`; `rules` are the links as they are by then.
pub(super) fn read(
    fields: &Fields<'_>,
    nodes: &Nodes,
    roads: LinkSharing,
    rules: &mut Vec<Rule>,
    traces: &mut TraceFiles<'_>,
) -> Vec<Timed> {
    let at = at(fields).unwrap_or_default();
    let keys = ["link", "crash", "start", "partition", "heal"];
    let mut changes = Vec::new();
    if let Some(link) = fields.table("link") {
        changes.extend(link_changes(&link, nodes, roads, rules, traces));
    }
    for (key, change) in [
        ("crash", Change::Crash as fn(_) -> _),
        ("start", Change::Start as fn(_) -> _),
        ("partition", |host| Change::Partition(Hosts::One(host))),
    ] {
        if fields.has(key) {
            changes.extend(nodes.hosts_of(fields, key).into_iter().map(change));
        }
    }
    if fields.flag("heal") == Some(true) {
        changes.push(Change::Heal);
    }
    if !keys.iter().any(|key| fields.has(key)) {
        let text = "change: changes nothing. Write link, crash, start, partition or heal";
        fields.mistakes.note(fields.at, text);
    }
    fields.finish();
    changes.into_iter().map(|change| (at, change)).collect()
}

/// When a change happens.
pub(super) fn at(fields: &Fields<'_>) -> Option<Duration> {
    fields.need("at", fields.read("at", units::time), "\"10s\"")
}

fn link_changes(
    fields: &Fields<'_>,
    nodes: &Nodes,
    roads: LinkSharing,
    rules: &mut Vec<Rule>,
    traces: &mut TraceFiles<'_>,
) -> Vec<Change> {
    let ends = Ends::read(fields, nodes);
    let mut changes = Vec::new();
    for ends in ends.directions() {
        let all: Vec<usize> = (0..nodes.list.len()).collect();
        let pairs = match (&ends.from, &ends.to) {
            // Of every host: what the first of them has.
            (None, None) => vec![(0, 0)],
            (from, to) => {
                let (from, to) = (from.as_ref().unwrap_or(&all), to.as_ref().unwrap_or(&all));
                from.iter().flat_map(|a| to.iter().map(move |b| (*a, *b))).collect()
            }
        };
        for (from, to) in pairs {
            let rule = rules.iter().rev().find(|rule| rule.ends.contains(from, to));
            let base = rule.map(|rule| rule.hop);
            if base.is_none() && roads == LinkSharing::Shared {
                let (a, b) = (&nodes.list[from].name, &nodes.list[to].name);
                let text =
                    format!("link ({a} to {b}): there is no such link. Write a [[link]] first");
                fields.mistakes.note(fields.at, text);
                continue;
            }
            let hop = links::hop(fields, base.unwrap_or(Hop::from(Link::default())), traces);
            changes.extend(change(nodes, roads, &ends, (from, to), hop));
            let ends = match ends.is_open() && ends.from == ends.to {
                true => ends.clone(),
                false => Ends { from: Some(vec![from]), to: Some(vec![to]), both: false },
            };
            rules.push(Rule { ends, hop, at: fields.at });
        }
    }
    fields.finish();
    changes
}

fn change(
    nodes: &Nodes,
    roads: LinkSharing,
    ends: &Ends,
    (from, to): (usize, usize),
    hop: Hop,
) -> Option<Change> {
    if roads == LinkSharing::Shared {
        return Some(Change::Hop(nodes.place(from), nodes.place(to), hop));
    }
    if ends.from.is_none() && ends.to.is_none() {
        return Some(Change::Link(Hosts::All, Hosts::All, hop.link));
    }
    let (from, to) = (nodes.host(from)?, nodes.host(to)?);
    Some(Change::Link(from.into(), to.into(), hop.link))
}
