//! How the sections of a file become a plan.

use fanfare_proto::{Duration, SessionConfig};
use toml::de::DeTable;

use super::{
    Mistakes, Program, Purpose, ReadFile, Scenario,
    changes::{self, LinkSharing},
    fields::Fields,
    flows::Role,
    gateways,
    groups::Group,
    layered::Sessions,
    links::{self, Ends, Rule},
    nodes::Nodes,
    programs, reactions,
    traces::TraceFiles,
    units,
};
use crate::{
    fabric::MembershipLatency,
    flow::{
        Flow,
        layered::{Convergence, LayeredFlow},
    },
    hop::Hop,
    link::Link,
    network::{Host, Hosts},
    plan::{Change, Plan, Until},
    results::reaction::Reaction,
};

/// Most hops of one link.
const HOPS_MAX: usize = 1_000_000;

/// Sections of the file, as tables that can be asked.
struct Sections<'a> {
    nodes: Vec<Fields<'a>>,
    links: Vec<Fields<'a>>,
    media: Vec<Fields<'a>>,
    gateways: Vec<Fields<'a>>,
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
            gateways: many("gateway"),
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

/// Makes the scenario that a file describes, or notes why not.
pub(super) fn build(
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
        plan = plan.medium(links::medium(fields, &nodes, read));
    }
    for fields in &sections.gateways {
        plan = gateways::read(fields, &nodes).into_iter().fold(plan, Plan::gateway);
    }
    let of_run = sections.scenario.as_ref().and_then(|fields| fields.text("duration"));
    let limit = of_run.and_then(|text| units::time(text).ok()).unwrap_or(Duration::MAX);
    plan = with_flows(plan, &nodes, roles.clone(), limit, mistakes);
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
            "scenario: nobody sends. Write a [[flow]]"
        } else {
            "scenario (program): programs run on real hosts. Use fanfare lab, or write a [[flow]]"
        };
        mistakes.note(sections.scenario.as_ref().map_or(0, |fields| fields.at), what);
    }
    refuse_simulated(purpose, &roles, mistakes);
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
        let mut groups: Vec<&Group> = Vec::new();
        for role in roles {
            match role {
                Role::Send { nodes, sender, .. } if nodes.contains(&number) => {
                    config.sender = Some(sender.as_ref().clone());
                }
                Role::Receive { nodes, receiver, feedback } if nodes.contains(&number) => {
                    config.receiver = Some(receiver.as_ref().clone());
                    config.feedback = *feedback;
                }
                Role::Group(group) if group.nodes.contains(&number) => groups.push(group),
                _ => {}
            }
        }
        // Of several the first says how it sends.
        if let Some(group) = groups.first() {
            config.sender = Some(group.sender.clone());
            config.receiver = Some(group.receiver.clone());
        }
        plan = plan.host(config).group(host, node.group).joins(host, node.start);
        plan = plan.drift(host, node.drift_ppm);
        if let Some(group) = groups.first() {
            plan = plan.cooperate(host, group.config);
        }
        let subscriptions = groups.iter().flat_map(|group| &group.subscriptions);
        plan = subscriptions.fold(plan, |plan, s| plan.subscribe(host, s));
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
) -> (LinkSharing, Vec<Rule>) {
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
    (if open { LinkSharing::Pairwise } else { LinkSharing::Shared }, rules)
}

fn with_links(
    mut plan: Plan,
    nodes: &Nodes,
    roads: LinkSharing,
    rules: &[Rule],
    mistakes: &Mistakes<'_>,
) -> Plan {
    for Rule { ends, hop, at } in rules {
        if roads == LinkSharing::Pairwise {
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

fn with_flows(
    mut plan: Plan,
    nodes: &Nodes,
    roles: Vec<Role>,
    limit: Duration,
    mistakes: &Mistakes<'_>,
) -> Plan {
    for role in roles {
        match role {
            Role::Send { nodes: on, to, described, objects, at, stagger, .. } => {
                for (from, to) in on.iter().zip(&to) {
                    let receiver = nodes.host(*to).filter(|to| plan.has_receiver(*to));
                    match (nodes.host(*from), receiver) {
                        (Some(from), Some(to)) => plan = plan.unicast(from, to),
                        _ => {
                            let name = &nodes.list[*to].name;
                            let why = "does not receive. Give it a fanfare-recv flow";
                            mistakes.note(described, format!("flow.to ({name}): {why}"));
                        }
                    }
                }
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
                let hosts = group.nodes.iter().filter_map(|node| nodes.host(*node));
                for (host, n) in hosts.zip(0..) {
                    let at = group.at + group.stagger * n;
                    let pieces = group.publication.iter();
                    let pieces = pieces.flat_map(|what| what.pieces(at, limit));
                    plan = pieces
                        .fold(plan, |plan, (at, piece)| plan.at(at, Change::Publish(host, piece)));
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

/// What the laboratory cannot do.
fn refuse_simulated(purpose: Purpose, roles: &[Role], mistakes: &Mistakes<'_>) {
    if purpose != Purpose::Laboratory {
        return;
    }
    for role in roles {
        let why = "runs in the simulator only. Leave it out for the laboratory";
        match role {
            Role::Layered(_, at) => mistakes.note(*at, format!("flow.kind (layered): {why}")),
            Role::Send { to, described, .. } if !to.is_empty() => {
                let why = "is for the simulator only. Write a [[program]] with --unicast";
                mistakes.note(*described, format!("flow.to: {why}"));
            }
            _ => {}
        }
    }
}

fn finish(
    mut plan: Plan,
    (reactions, reachings): (Vec<Reaction>, Vec<Convergence>),
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
    let pruned = fields.flag("prune").unwrap_or(false);
    fields.finish();
    let report = sections.report.as_ref();
    let words = report.and_then(|report| report.words("metrics")).unwrap_or_default();
    report.into_iter().for_each(Fields::finish);
    plan = plan.named(name?).membership(membership).pruned(pruned);
    plan = plan.warm_up(warm_up).until(until, duration?);
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
