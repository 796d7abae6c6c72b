//! Scenario files: TOML in, a plan out, and every mistake at once.
//!
//! The format is described in docs/scenario-files.md. Map, in reading order:
//! - `fields`: a table that is asked for its keys; `units`, `suggestion`: values and slips.
//! - `variables`: what is put into a text before it is read.
//! - `nodes`, `links`, `queues`, `traces`, `flows`, `groups`, `layered`, `programs`, `changes`, `reactions`: the sections.
//! - here: how they become a plan.

mod changes;
pub(crate) mod fields;
mod flows;
mod groups;
mod layered;
mod links;
mod nodes;
mod programs;
mod queues;
mod reactions;
pub(crate) mod suggestion;
#[cfg(test)]
mod tests;
mod traces;
pub(crate) mod units;
pub(crate) mod variables;

pub use fields::{Mistake, Mistakes, scalar, shown};
pub use programs::{ExpectedExit, Program, ProgramCommand};
pub use suggestion::nearest;
pub use traces::ReadFile;
pub use variables::Values;

use crate::{
    fabric::MembershipLatency,
    flow::{
        Flow,
        layered::{LayeredFlow, Reaching},
    },
    hop::Hop,
    link::Link,
    metrics::Metric,
    network::{Host, Hosts},
    plan::{Change, Plan, Publication, Until},
    reaction::Reaction,
    report::Report,
};
use changes::Roads;
use core::ops::Range;
use fanfare_proto::{Duration, SessionConfig};
use fields::Fields;
use flows::Role;
use layered::Sessions;
use links::{Ends, Rule};
use nodes::Nodes;
use std::collections::BTreeSet;
use toml::de::DeTable;
use traces::TraceFiles;

/// Most hops of one link.
const HOPS_MAX: usize = 1_000_000;

/// A scenario file, understood.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// One line about it; may be empty.
    pub about: String,
    /// The seed to begin with.
    pub seed: u64,
    /// The time that steady figures are taken from.
    pub window: Range<Duration>,
    /// Beginnings of the names of metrics to show; all when empty.
    pub metrics: Vec<String>,
    /// What runs on real hosts.
    pub programs: Vec<Program>,
    /// Changes whose reaction is measured.
    pub reactions: Vec<Reaction>,
    /// Shares that receivers of layers should come to.
    pub reachings: Vec<Reaching>,
    plan: Plan,
}

/// What a file is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Simulation,
    Laboratory,
}

impl Scenario {
    /// Reads a scenario. `read` gives the text of a file that it names.
    ///
    /// # Errors
    /// All mistakes, in the order of the file.
    pub fn parse(text: &str, read: &ReadFile<'_>) -> Result<Self, Vec<Mistake>> {
        Self::parse_with(text, &Values::new(), read)
    }
    /// The same, with values in the place of its variables.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_with(
        text: &str,
        values: &Values,
        read: &ReadFile<'_>,
    ) -> Result<Self, Vec<Mistake>> {
        Self::parse_for(Purpose::Simulation, (text, values), read)
    }
    /// The same for real hosts: programs alone are enough, and when no flow of ours, no program and
    /// no `host = true` says which nodes are hosts, all are.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_for_laboratory(text: &str, read: &ReadFile<'_>) -> Result<Self, Vec<Mistake>> {
        Self::parse_for(Purpose::Laboratory, (text, &Values::new()), read)
    }

    /// The variables of a scenario's text.
    #[must_use]
    pub fn variables(text: &str) -> BTreeSet<String> {
        variables::open(text)
    }

    fn parse_for(
        purpose: Purpose,
        (text, values): (&str, &Values),
        read: &ReadFile<'_>,
    ) -> Result<Self, Vec<Mistake>> {
        let open = Mistakes::new(text);
        let text = variables::fill(text, values, &open);
        let list = open.into_list();
        // Without their values most lines would be wrong.
        if list.is_empty() { Self::parse_filled(purpose, &text, read) } else { Err(list) }
    }

    fn parse_filled(
        purpose: Purpose,
        text: &str,
        read: &ReadFile<'_>,
    ) -> Result<Self, Vec<Mistake>> {
        let mistakes = Mistakes::new(text);
        let (root, broken) = DeTable::parse_recoverable(text);
        for error in &broken {
            let at = error.span().map_or(0, |span| span.start);
            mistakes.note(at, format!("TOML (): {}. Mend the file", error.message()));
        }
        // What is broken hides keys: complaints about them would mislead.
        let scenario = match broken.is_empty() {
            true => build(purpose, root.get_ref(), &mistakes, read),
            false => None,
        };
        let list = mistakes.into_list();
        scenario.filter(|_| list.is_empty()).ok_or(list)
    }

    /// Whether a run is meant to end with every receiver having everything.
    #[must_use]
    pub fn ends_complete(&self) -> bool {
        self.plan.until != Until::Limit
    }
    /// The figures of a run: those that the file asks for, and those of its reactions.
    #[must_use]
    pub fn metrics_of(&self, report: &Report) -> Vec<Metric> {
        // What never ends is never complete.
        let of_an_end = ["complete", "completion_s", "data_ratio"];
        let chosen = |(name, _): &Metric| {
            let ends = self.ends_complete() || !of_an_end.contains(&name.as_str());
            ends && (self.metrics.is_empty()
                || self.metrics.iter().any(|wanted| name.starts_with(wanted.as_str())))
        };
        let mut metrics = report.metrics(&self.window);
        metrics.extend(self.reactions.iter().flat_map(|reaction| reaction.metrics(report)));
        metrics.extend(self.reachings.iter().flat_map(|reaching| reaching.metrics(report)));
        metrics.into_iter().filter(chosen).collect()
    }
    /// The plan with this seed.
    #[must_use]
    pub fn plan(&self, seed: u64) -> Plan {
        Plan { seed, from_file: true, ..self.plan.clone() }
    }
}

/// Sections of the file, as tables that can be asked.
struct Sections<'a> {
    nodes: Vec<Fields<'a>>,
    links: Vec<Fields<'a>>,
    media: Vec<Fields<'a>>,
    flows: Vec<Fields<'a>>,
    programs: Vec<Fields<'a>>,
    changes: Vec<Fields<'a>>,
    reactions: Vec<Fields<'a>>,
    scenario: Option<Fields<'a>>,
    report: Option<Fields<'a>>,
}

impl<'a> Sections<'a> {
    fn of(root: &'a DeTable<'a>, mistakes: &'a Mistakes<'a>) -> Self {
        let top = Fields::new("file", 0, root, mistakes);
        let many = |key| top.tables(key);
        let sections = Self {
            scenario: top.need("scenario", top.table("scenario"), "{ … }, or a section [scenario]"),
            nodes: many("node"),
            links: many("link"),
            media: many("medium"),
            flows: many("flow"),
            programs: many("program"),
            changes: many("change"),
            reactions: many("reaction"),
            report: top.table("report"),
        };
        // Read before it was filled in.
        top.table("variables");
        top.finish();
        sections
    }
}

fn build(
    purpose: Purpose,
    root: &DeTable<'_>,
    mistakes: &Mistakes<'_>,
    read: &ReadFile<'_>,
) -> Option<Scenario> {
    let sections = Sections::of(root, mistakes);
    let mut nodes = Nodes::default();
    sections.nodes.iter().for_each(|fields| nodes.read(fields));
    let roles: Vec<Role> =
        sections.flows.iter().filter_map(|fields| Role::read(fields, &nodes)).collect();
    let programs: Vec<programs::Entry> = sections
        .programs
        .iter()
        .filter_map(|fields| programs::Entry::read(fields, &nodes))
        .collect();
    find_hosts(&mut nodes, &roles, &programs, purpose);
    let mut traces = TraceFiles::new(read);
    let mut plan = with_hosts(Plan::new(0), &nodes, &roles, mistakes);
    let (roads, mut rules) = read_links(&sections.links, &nodes, &mut traces);
    plan = with_links(plan, &nodes, roads, &rules, mistakes);
    for fields in &sections.media {
        plan = plan.medium(links::medium(fields, &nodes));
    }
    plan = with_flows(plan, &nodes, roles.clone(), mistakes);
    let mut by_time: Vec<&Fields<'_>> = sections.changes.iter().collect();
    by_time.sort_by_key(|fields| changes::at(fields));
    for fields in by_time {
        for (at, change) in changes::read(fields, &nodes, roads, &mut rules, &mut traces) {
            plan = plan.at(at, change);
        }
    }
    plan.traces = traces.traces;
    let endless = roles.iter().any(Role::is_endless);
    let sends = roles.iter().any(|role| match role {
        Role::Send { .. } => true,
        Role::Group(group) => group.publication.is_some(),
        Role::Receive { .. } | Role::Background { .. } | Role::Layered(..) => false,
    });
    let until = if sends && !endless { Until::Complete } else { Until::Limit };
    let programs: Vec<Program> = programs.iter().flat_map(|entry| entry.programs(&nodes)).collect();
    if purpose == Purpose::Simulation && roles.is_empty() {
        let what = if programs.is_empty() {
            "scenario (flow): nobody sends. Write a [[flow]]"
        } else {
            "scenario (program): programs run on real hosts. Use fanfare lab, or write a [[flow]]"
        };
        mistakes.note(sections.scenario.as_ref().map_or(0, |fields| fields.at), what);
    }
    refuse_layers(purpose, &roles, mistakes);
    let (of_layers, of_flows): (Vec<_>, Vec<_>) =
        sections.reactions.iter().partition(|fields| !fields.has("from"));
    let read = |fields| reactions::read(fields, &nodes, &plan.hops);
    let reactions = of_flows.into_iter().filter_map(read).collect();
    let read = |fields| reactions::read_reaching(fields, &nodes);
    let reachings = of_layers.into_iter().filter_map(read).collect();
    let scenario = finish(plan, (reactions, reachings), &sections, until)?;
    Some(Scenario { programs, ..scenario })
}

/// Hosts are the nodes where something of ours, or a program, runs. Others forward.
fn find_hosts(nodes: &mut Nodes, roles: &[Role], programs: &[programs::Entry], purpose: Purpose) {
    for role in roles {
        let on = match role {
            Role::Send { nodes: on, .. } | Role::Receive { nodes: on, .. } => on,
            Role::Group(group) => &group.nodes,
            Role::Background { .. } | Role::Layered(..) => continue,
        };
        on.iter().for_each(|node| nodes.list[*node].is_host = true);
    }
    for node in programs.iter().flat_map(|entry| &entry.nodes) {
        nodes.list[*node].is_host = true;
    }
    if purpose == Purpose::Laboratory && !nodes.list.iter().any(|node| node.is_host) {
        nodes.list.iter_mut().for_each(|node| node.is_host = true);
    }
}

fn with_hosts(mut plan: Plan, nodes: &Nodes, roles: &[Role], mistakes: &Mistakes<'_>) -> Plan {
    for (number, node) in nodes.list.iter().enumerate() {
        plan = plan.labelled(nodes.place(number), &node.name);
        let Some(host) = nodes.host(number) else {
            if !node.crashes.is_empty() || !node.restarts.is_empty() {
                let why = "has no session that could crash. Give it a fanfare flow";
                mistakes.note(node.at, format!("node.crash ({}): {why}", node.name));
            }
            continue;
        };
        let mut config = SessionConfig::default();
        let mut group_of = None;
        for role in roles {
            match role {
                Role::Send { nodes, sender, .. } if nodes.contains(&number) => {
                    config.sender = Some(sender.as_ref().clone());
                }
                Role::Receive { nodes, receiver, feedback } if nodes.contains(&number) => {
                    config.receiver = Some(receiver.as_ref().clone());
                    config.feedback = *feedback;
                }
                Role::Group(group) if group.nodes.contains(&number) => {
                    config.sender = Some(group.sender.clone());
                    config.receiver = Some(group.receiver.clone());
                    group_of = Some(group);
                }
                _ => {}
            }
        }
        plan = plan.host(config).group(host, node.group).joins(host, node.start);
        plan = plan.drift(host, node.drift_ppm);
        if let Some(group) = group_of {
            plan = plan.cooperate(host, group.config);
            plan = group.subscription.iter().fold(plan, |plan, s| plan.subscribe(host, s));
        }
        for (times, change) in [
            (&node.crashes, Change::Crash as fn(Host) -> Change),
            (&node.restarts, Change::Start as fn(Host) -> Change),
        ] {
            plan = times.iter().fold(plan, |plan, at| plan.at(*at, change(host)));
        }
    }
    plan
}

fn read_links(
    sections: &[Fields<'_>],
    nodes: &Nodes,
    traces: &mut TraceFiles<'_>,
) -> (Roads, Vec<Rule>) {
    let mut rules = Vec::new();
    for fields in sections {
        let ends = Ends::read(fields, nodes);
        let hop = links::hop(fields, Hop::from(Link::default()), traces);
        let hop = if ends.is_open() { links::pairwise(fields, hop) } else { hop };
        fields.finish();
        let rule = |ends| Rule { ends, hop, at: fields.at };
        rules.extend(ends.directions().into_iter().map(rule));
    }
    let open = rules.iter().any(|rule| rule.ends.is_open());
    (if open { Roads::Pairwise } else { Roads::Shared }, rules)
}

fn with_links(
    mut plan: Plan,
    nodes: &Nodes,
    roads: Roads,
    rules: &[Rule],
    mistakes: &Mistakes<'_>,
) -> Plan {
    for Rule { ends, hop, at } in rules {
        if roads == Roads::Pairwise {
            let hosts = |end: &Option<Vec<usize>>| match end {
                None => vec![Hosts::All],
                Some(list) => {
                    let host = |node: &usize| nodes.host(*node).map(Hosts::One);
                    if list.iter().any(|node| host(node).is_none()) {
                        let text = "link (): leads to a node without a session, and another link \
                                    has a *. Name the nodes at both ends of every link";
                        mistakes.note(*at, text);
                    }
                    list.iter().filter_map(host).collect()
                }
            };
            for from in hosts(&ends.from) {
                for to in hosts(&ends.to) {
                    plan = plan.path(from, to, hop.link);
                }
            }
            continue;
        }
        let count = |end: &Option<Vec<usize>>| end.as_ref().map_or(0, Vec::len);
        if count(&ends.from) * count(&ends.to) > HOPS_MAX {
            mistakes.note(*at, "link (from): makes more than a million hops. Put a node between");
            continue;
        }
        for from in ends.from.iter().flatten() {
            for to in ends.to.iter().flatten().filter(|to| *to != from) {
                plan = plan.hop(nodes.place(*from), nodes.place(*to), *hop);
            }
        }
    }
    plan
}

fn with_flows(mut plan: Plan, nodes: &Nodes, roles: Vec<Role>, mistakes: &Mistakes<'_>) -> Plan {
    for role in roles {
        match role {
            Role::Send { nodes: on, objects, at, stagger, .. } => {
                for (host, n) in on.iter().filter_map(|node| nodes.host(*node)).zip(0..) {
                    let send = |object| Change::Send(host, object);
                    let sends = objects.iter().cloned().map(send);
                    plan = sends.fold(plan, |plan, change| plan.at(at + stagger * n, change));
                }
            }
            Role::Background { from, to, kind, during, stagger, names } => {
                for node in [from, to] {
                    if !plan.reaches(nodes.place(node)) {
                        let name = &nodes.list[node].name;
                        let why = "no link leads there. Background flows need links with names";
                        mistakes.note(0, format!("flow ({name}): {why}"));
                    }
                }
                for (name, n) in names.into_iter().zip(0..) {
                    let flow = Flow::new(nodes.place(from), nodes.place(to), kind);
                    let start = during.start + stagger * n;
                    plan = plan.flow(Flow { name, ..flow.during(start..during.end) });
                }
            }
            Role::Group(group) => {
                for host in group.nodes.iter().filter_map(|node| nodes.host(*node)) {
                    let publish = |what: &Publication| Change::Publish(host, what.clone());
                    let changes = group.publication.iter().map(publish);
                    plan = changes.fold(plan, |plan, change| plan.at(group.at, change));
                }
            }
            Role::Layered(sessions, _) => plan = with_sessions(plan, nodes, *sessions, mistakes),
            Role::Receive { .. } => {}
        }
    }
    plan
}

/// A session for each source: with all receivers when there is one, else with one each.
fn with_sessions(
    mut plan: Plan,
    nodes: &Nodes,
    sessions: Sessions,
    mistakes: &Mistakes<'_>,
) -> Plan {
    for node in sessions.from.iter().chain(&sessions.to) {
        if !plan.reaches(nodes.place(*node)) {
            let name = &nodes.list[*node].name;
            let why = "no link leads there. Layered sessions need links with names";
            mistakes.note(0, format!("flow ({name}): {why}"));
        }
    }
    let receivers: Vec<_> = sessions
        .to
        .iter()
        .zip(0..)
        .map(|(node, n)| (nodes.place(*node), sessions.join + sessions.stagger * n))
        .collect();
    for (number, from) in sessions.from.iter().enumerate() {
        let to = match sessions.from.len() {
            1 => receivers.clone(),
            _ => receivers[number..=number].to_vec(),
        };
        let flow = LayeredFlow::new(nodes.place(*from), sessions.control, sessions.scheme.clone());
        plan = plan.layered(LayeredFlow {
            to,
            packet: sessions.packet,
            interval: sessions.interval,
            rtt: sessions.rtt,
            during: sessions.during.clone(),
            spread: sessions.spread,
            ..flow
        });
    }
    plan
}

fn refuse_layers(purpose: Purpose, roles: &[Role], mistakes: &Mistakes<'_>) {
    for role in roles {
        if let (Purpose::Laboratory, Role::Layered(_, at)) = (purpose, role) {
            let why = "runs in the simulator only. Leave it out for the laboratory";
            mistakes.note(*at, format!("flow.kind (layered): {why}"));
        }
    }
}

fn finish(
    mut plan: Plan,
    (reactions, reachings): (Vec<Reaction>, Vec<Reaching>),
    sections: &Sections<'_>,
    default: Until,
) -> Option<Scenario> {
    let fields = sections.scenario.as_ref()?;
    let name = fields.need("name", fields.text("name"), "\"a name\"");
    let about = fields.text("about").unwrap_or_default();
    let seed = fields.count("seed", 0..=u64::MAX).unwrap_or(1);
    let duration = fields.read("duration", units::time);
    let duration = fields.need("duration", duration, "\"60s\"");
    let warm_up = fields.read("warm_up", units::time).unwrap_or_default();
    let untils = [("complete", Until::Complete), ("quiet", Until::Quiet), ("limit", Until::Limit)];
    let until = fields.choice("until", &untils).unwrap_or(default);
    let latency = |key| fields.read(key, units::time).unwrap_or_default();
    let membership = MembershipLatency { join: latency("join"), leave: latency("leave") };
    fields.finish();
    let report = sections.report.as_ref();
    let words = report.and_then(|report| report.words("metrics")).unwrap_or_default();
    report.into_iter().for_each(Fields::finish);
    plan = plan.named(name?).membership(membership).warm_up(warm_up).until(until, duration?);
    Some(Scenario {
        name: name?.to_owned(),
        about: about.to_owned(),
        seed,
        window: warm_up..duration?,
        metrics: words.into_iter().map(|(word, _)| word.to_owned()).collect(),
        programs: Vec::new(),
        reactions,
        reachings,
        plan,
    })
}
