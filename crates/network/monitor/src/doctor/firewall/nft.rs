//! Reads what `nft -j list ruleset` prints: chains of all hooks, sets, maps, concatenations and verdict maps.

use std::{collections::BTreeMap, net::IpAddr};

use serde_json::{Map, Value};

use super::{Applies, Chain, Chains, Hook, Rule, Verdict, Wanted, covers, covers_port, names};

/// Family of tables that see what passes a bridge, by its ports.
const BRIDGE: &str = "bridge";

/// Tables, sets and maps, as the rules name them.
struct Ruleset<'a> {
    wanted: Wanted<'a>,
    /// Elements by `family table name`.
    sets: BTreeMap<String, &'a [Value]>,
    /// A rule somewhere sets marks, or keeps packets from being tracked.
    marks: bool,
    untracked: bool,
}

/// What nft 1.0.6 leaves out of its JSON, or writes there in a wrong way, from its own words: the devices of
/// chains, and which tables are switched off (their flags are garbage there).
#[derive(Debug, Default)]
struct Listing {
    dormant: Vec<String>,
    /// By `family table chain`.
    devices: BTreeMap<String, Vec<String>>,
}

impl Listing {
    fn read(text: &str) -> Self {
        let mut listing = Self::default();
        let (mut table, mut chain) = (String::new(), None::<String>);
        for line in text.lines().map(str::trim) {
            let name = |rest: &str| rest.trim_end_matches('{').trim().to_owned();
            if let Some(rest) = line.strip_prefix("table ") {
                (table, chain) = (name(rest), None);
            } else if let Some(rest) = line.strip_prefix("chain ") {
                chain = Some(format!("{table} {}", name(rest)));
            } else if let (None, Some(flags)) = (&chain, line.strip_prefix("flags ")) {
                if flags.split([',', ' ']).any(|flag| flag == "dormant") {
                    listing.dormant.push(table.clone());
                }
            } else if let (Some(chain), true) = (&chain, line.starts_with("type ")) {
                let at =
                    line.split_once(" device").and_then(|(_, rest)| rest.split_once("priority"));
                let quoted = at.map(|(devices, _)| devices.split('"').skip(1).step_by(2));
                let devices: Vec<String> =
                    quoted.into_iter().flatten().map(str::to_owned).collect();
                if !devices.is_empty() {
                    listing.devices.insert(chain.clone(), devices);
                }
            }
        }
        listing
    }
}

/// What a part of our datagram is.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    /// One of these words, as nft may write it.
    Words(Vec<String>),
    Number(u64),
    Address(IpAddr),
    /// The name of an interface; patterns may end with a star.
    Interface(String),
    /// Several, one after the other.
    All(Vec<Self>),
    /// It depends on what is not known.
    Unknown,
    /// Our datagram has no such part.
    Absent,
}

/// All chains of the tables that see the datagram, by `family table chain`. `None` for what is not a ruleset.
/// `listed`: the same in nft's own words, if they are known.
pub(super) fn parse(text: &str, listed: &str, wanted: Wanted<'_>) -> Option<Chains> {
    let listing = Listing::read(listed);
    let whole: Value = serde_json::from_str(text).ok()?;
    let items: Vec<(&str, &Map<String, Value>)> = whole
        .get("nftables")?
        .as_array()?
        .iter()
        .filter_map(|item| item.as_object()?.iter().next())
        .filter_map(|(kind, item)| Some((kind.as_str(), item.as_object()?)))
        .collect();
    let of =
        |kind: &'static str| items.iter().filter(move |item| item.0 == kind).map(|item| item.1);
    let own = if wanted.is_v6() { "ip6" } else { "ip" };
    let dormant: Vec<String> = of("table")
        .filter(|table| has_flag(table.get("flags"), "dormant"))
        .map(|table| format!("{} {}", word(table, "family"), word(table, "name")))
        .collect();
    let table =
        |item: &Map<String, Value>| format!("{} {}", word(item, "family"), word(item, "table"));
    let is_seen = |item: &&Map<String, Value>| {
        let family = word(item, "family");
        let passes_bridge = family == BRIDGE && wanted.bridge.is_some();
        let seen = ["inet", "netdev", own].contains(&family) || passes_bridge;
        let is_off = |tables: &[String]| tables.contains(&table(item));
        seen && !is_off(&dormant) && !is_off(&listing.dormant)
    };
    let mut sets = BTreeMap::new();
    for set in of("set").chain(of("map")) {
        let elements = set.get("elem").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        sets.insert(format!("{} {}", table(set), word(set, "name")), elements);
    }
    let statements = || of("rule").filter_map(|rule| rule.get("expr")?.as_array()).flatten();
    let marks = statements().any(|one| {
        let key = one.pointer("/mangle/key");
        key.is_some_and(|key| key.pointer("/meta/key").is_some_and(|key| key == "mark"))
    });
    let untracked = statements().any(|one| one.get("notrack").is_some());
    let ruleset = Ruleset { wanted, sets, marks, untracked };
    let mut chains = Chains::new();
    for chain in of("chain").filter(is_seen) {
        let name = format!("{} {}", table(chain), word(chain, "name"));
        // Those of a device see what passes that one alone.
        let devices = listing.devices.get(&name);
        let is_ours = match (chain.get("dev"), devices) {
            (Some(device), _) => is_named(device, wanted.interface),
            (None, Some(devices)) => devices.iter().any(|one| names(one, wanted.interface)),
            (None, None) => true,
        };
        let hook = Hook::named(word(chain, "hook")).filter(|_| is_ours);
        let policy_drops = word(chain, "policy") == "drop";
        chains.insert(name, Chain { hook, policy_drops, rules: Vec::new() });
    }
    for rule in of("rule").filter(is_seen) {
        let name = format!("{} {}", table(rule), word(rule, "chain"));
        let Some(chain) = chains.get_mut(&name) else { continue };
        let expr = rule.get("expr").and_then(Value::as_array);
        chain.rules.push(ruleset.rule(&table(rule), expr.map_or(&[][..], Vec::as_slice)));
    }
    Some(chains)
}

fn word<'a>(item: &'a Map<String, Value>, key: &str) -> &'a str {
    item.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A device, or one of several.
fn is_named(device: &Value, interface: &str) -> bool {
    match device {
        Value::Array(all) => all.iter().any(|one| is_named(one, interface)),
        one => one.as_str().is_some_and(|name| names(name, interface)),
    }
}

fn has_flag(flags: Option<&Value>, flag: &str) -> bool {
    match flags {
        Some(Value::Array(all)) => all.iter().any(|one| one == flag),
        Some(one) => one == flag,
        None => false,
    }
}

impl Ruleset<'_> {
    /// What a rule does to the datagram: its conditions, and the first verdict.
    fn rule(&self, table: &str, statements: &[Value]) -> Rule {
        let mut applies = Applies::Yes;
        for statement in statements {
            let Some((kind, value)) = statement.as_object().and_then(|one| one.iter().next())
            else {
                continue;
            };
            if let Some(verdict) = verdict(table, kind, value) {
                return Rule { applies, verdict };
            }
            match kind.as_str() {
                "match" => applies = applies.min(self.compare(table, value)),
                "vmap" => {
                    let (found, verdict) = self.look_up(table, value);
                    return Rule { applies: applies.min(found), verdict };
                }
                "xt" if word_of(value, "type") == "target" => {
                    let verdict = match word_of(value, "name") {
                        "REJECT" => Verdict::Drop,
                        _ => Verdict::Other,
                    };
                    return Rule { applies, verdict };
                }
                "counter" | "log" | "mangle" | "notrack" | "set" | "map" | "dup" | "last"
                | "ct helper" | "ct timeout" | "ct expectation" | "secmark" | "tproxy" => {}
                // Limits, quotas, matches of iptables, and what is new.
                _ => applies = applies.min(Applies::Maybe),
            }
        }
        Rule { applies, verdict: Verdict::Other }
    }

    fn compare(&self, table: &str, condition: &Value) -> Applies {
        let (Some(left), Some(right)) = (condition.get("left"), condition.get("right")) else {
            return Applies::Maybe;
        };
        let part = self.part(table, left);
        if part == Part::Absent {
            return Applies::No;
        }
        let holds = match word_of(condition, "op") {
            "==" | "in" | "" => self.fits(table, &part, right),
            "!=" => self.fits(table, &part, right).inverse(),
            order => in_order(&part, order, right),
        };
        if part == Part::Unknown { Applies::Maybe } else { holds }
    }

    /// The verdict of a map for the datagram.
    fn look_up(&self, table: &str, vmap: &Value) -> (Applies, Verdict) {
        let nothing = (Applies::No, Verdict::Other);
        let (Some(key), Some(data)) = (vmap.get("key"), vmap.get("data")) else { return nothing };
        let part = self.part(table, key);
        if part == Part::Absent {
            return nothing;
        }
        let elements = self.elements(table, data);
        let pairs = elements.iter().filter_map(|one| one.as_array());
        let mut uncertain = None;
        for pair in pairs {
            let (Some(key), Some(value)) = (pair.first(), pair.get(1)) else { continue };
            let known = value.as_object().and_then(|one| one.iter().next());
            let Some(verdict) = known.and_then(|(kind, value)| verdict(table, kind, value)) else {
                continue;
            };
            match self.fits(table, &part, key) {
                Applies::Yes => return (Applies::Yes, verdict),
                // An accept counts, as it does elsewhere.
                Applies::Maybe if verdict == Verdict::Accept || uncertain.is_none() => {
                    uncertain = Some(verdict);
                }
                Applies::Maybe | Applies::No => {}
            }
        }
        uncertain.map_or(nothing, |verdict| (Applies::Maybe, verdict))
    }

    fn elements<'b>(&'b self, table: &str, data: &'b Value) -> &'b [Value] {
        match data {
            Value::String(name) => {
                let name = format!("{table} {}", name.trim_start_matches('@'));
                self.sets.get(&name).copied().unwrap_or_default()
            }
            other => other.get("set").and_then(Value::as_array).map_or(&[][..], Vec::as_slice),
        }
    }

    /// Whether a part is one of what is on the right of a comparison.
    fn fits(&self, table: &str, part: &Part, right: &Value) -> Applies {
        if *part == Part::Unknown {
            return Applies::Maybe;
        }
        let any = |all: &[Value]| {
            all.iter().map(|one| self.fits(table, part, one)).max().unwrap_or(Applies::No)
        };
        match right {
            Value::Array(all) => any(all),
            Value::String(text) if text.starts_with('@') => any(self.elements(table, right)),
            Value::Object(object) => {
                let Some((kind, value)) = object.iter().next() else { return Applies::Maybe };
                match (kind.as_str(), part) {
                    ("set", _) => any(value.as_array().map_or(&[][..], Vec::as_slice)),
                    ("elem", _) => match value.get("val") {
                        Some(value) => self.fits(table, part, value),
                        None => Applies::Maybe,
                    },
                    ("concat", Part::All(parts)) => {
                        let values = value.as_array().map_or(&[][..], Vec::as_slice);
                        let pairs = parts.iter().zip(values);
                        pairs
                            .map(|(part, one)| self.fits(table, part, one))
                            .min()
                            .unwrap_or(Applies::No)
                    }
                    ("range", _) => {
                        let at = |n| value.get(n).map(text_of).unwrap_or_default();
                        is_in(part, &format!("{}-{}", at(0), at(1)))
                    }
                    ("prefix", _) => {
                        let length = value.get("len").map(text_of).unwrap_or_default();
                        is_in(part, &format!("{}/{length}", word_of(value, "addr")))
                    }
                    _ => Applies::Maybe,
                }
            }
            Value::Bool(_) | Value::Null => Applies::Maybe,
            plain => is_in(part, &text_of(plain)),
        }
    }

    /// The part of our datagram that an expression reads.
    fn part(&self, table: &str, left: &Value) -> Part {
        let Some((kind, value)) = left.as_object().and_then(|one| one.iter().next()) else {
            return Part::Unknown;
        };
        match kind.as_str() {
            "meta" => self.meta(table, word_of(value, "key")),
            "payload" => self.payload(word_of(value, "protocol"), word_of(value, "field")),
            "ct" => match (word_of(value, "key"), self.untracked) {
                // A group has no answers: what comes for it is new, or seen before without being an answer.
                ("state", false) => words(&["new"]),
                ("direction", false) => words(&["original"]),
                _ => Part::Unknown,
            },
            "fib" if word_of(value, "result") == "type" => {
                match has_flag(value.get("flags"), "daddr") {
                    true => self.kind(),
                    false => Part::Unknown,
                }
            }
            "concat" => {
                let all = value.as_array().map_or(&[][..], Vec::as_slice);
                let parts: Vec<Part> = all.iter().map(|one| self.part(table, one)).collect();
                if parts.contains(&Part::Absent) { Part::Absent } else { Part::All(parts) }
            }
            "&" => {
                let mask = value.get(1).and_then(Value::as_u64);
                match (value.get(0).map(|one| self.part(table, one)), mask) {
                    (Some(Part::Number(number)), Some(mask)) => Part::Number(number & mask),
                    (Some(Part::Absent), _) => Part::Absent,
                    _ => Part::Unknown,
                }
            }
            _ => Part::Unknown,
        }
    }

    /// The interface by which our datagram comes or goes: in tables of bridges a port, which is known where
    /// there is only one.
    fn interface(&self, table: &str) -> Part {
        let is_bridges = table.split(' ').next() == Some(BRIDGE);
        match self.wanted.bridge.filter(|_| is_bridges).map(|bridge| bridge.ports.as_slice()) {
            None => Part::Interface(self.wanted.interface.to_owned()),
            Some([port]) => Part::Interface(port.clone()),
            Some(_) => Part::Unknown,
        }
    }

    fn meta(&self, table: &str, key: &str) -> Part {
        let Wanted { is_out, protocol, bridge, .. } = self.wanted;
        let interface = || self.interface(table);
        match (key, is_out) {
            ("iifname" | "iif", false) | ("oifname" | "oif", true) => interface(),
            ("iifname" | "iif" | "oifname" | "oif", _) => Part::Absent,
            ("ibrname", false) | ("obrname", true) => {
                bridge.map_or(Part::Unknown, |bridge| Part::Interface(bridge.name.clone()))
            }
            ("l4proto", _) => words(protocol),
            ("nfproto", _) => words(if self.wanted.is_v6() { &["ipv6"] } else { &["ipv4"] }),
            ("protocol", _) => words(if self.wanted.is_v6() { &["ip6"] } else { &["ip"] }),
            ("pkttype", false) => match self.kind() {
                Part::Words(kind) if kind == ["multicast"] => words(&["multicast"]),
                _ => words(&["host", "unicast"]),
            },
            ("mark", _) if !self.marks => Part::Number(0),
            _ => Part::Unknown,
        }
    }

    fn kind(&self) -> Part {
        match (self.wanted.destination, self.wanted.is_out) {
            (Some(ip), _) if ip.is_multicast() => words(&["multicast"]),
            (_, false) => words(&["local"]),
            (_, true) => words(&["unicast"]),
        }
    }

    fn payload(&self, protocol: &str, field: &str) -> Part {
        let wanted = self.wanted;
        let port = || wanted.port.map_or(Part::Absent, |port| Part::Number(port.into()));
        match (protocol, field) {
            ("ip" | "ip6", _) if (protocol == "ip6") != wanted.is_v6() => Part::Absent,
            ("ip" | "ip6", "daddr") => wanted.destination.map_or(Part::Unknown, Part::Address),
            ("ip" | "ip6", "saddr") => wanted.source.map_or(Part::Unknown, Part::Address),
            ("ip", "protocol") | ("ip6", "nexthdr") => words(wanted.protocol),
            // What Fanfare sends has none of its own accord.
            ("ip" | "ip6", "dscp") => words(&["cs0", "0", "be"]),
            ("th", "dport") => port(),
            ("ether", "type") => words(if wanted.is_v6() { &["ip6"] } else { &["ip"] }),
            ("vlan" | "arp", _) => Part::Absent,
            ("ip" | "ip6" | "th" | "ether" | "", _) => Part::Unknown,
            (name, _) if !wanted.protocol.contains(&name) => Part::Absent,
            (_, "dport") => port(),
            _ => Part::Unknown,
        }
    }
}

fn verdict(table: &str, kind: &str, value: &Value) -> Option<Verdict> {
    let target = || format!("{table} {}", word_of(value, "target"));
    match kind {
        "accept" | "masquerade" | "snat" | "dnat" | "redirect" => Some(Verdict::Accept),
        "drop" | "reject" => Some(Verdict::Drop),
        "return" => Some(Verdict::Return),
        "jump" => Some(Verdict::Jump(target())),
        "goto" => Some(Verdict::Goto(target())),
        "continue" => Some(Verdict::Other),
        _ => None,
    }
}

fn word_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn words(all: &[&str]) -> Part {
    Part::Words(all.iter().map(|&one| one.to_owned()).collect())
}

fn is_in(part: &Part, text: &str) -> Applies {
    let holds = |yes| if yes { Applies::Yes } else { Applies::No };
    match part {
        _ if text == "*" => Applies::Yes,
        Part::Words(all) => holds(all.iter().any(|one| one == text)),
        Part::Number(number) => match u16::try_from(*number) {
            Ok(number) => holds(covers_port(text, Some(number))),
            Err(_) => holds(text == number.to_string()),
        },
        Part::Address(ip) => holds(covers(text, *ip)),
        Part::Interface(interface) => holds(names(text, interface)),
        Part::All(_) | Part::Unknown => Applies::Maybe,
        Part::Absent => Applies::No,
    }
}

fn in_order(part: &Part, order: &str, right: &Value) -> Applies {
    let (Part::Number(number), Some(right)) = (part, right.as_u64()) else { return Applies::Maybe };
    let holds = match order {
        "<" => *number < right,
        ">" => *number > right,
        "<=" => *number <= right,
        ">=" => *number >= right,
        _ => return Applies::Maybe,
    };
    if holds { Applies::Yes } else { Applies::No }
}

#[cfg(test)]
mod tests {
    use super::super::{FirewallFacts, closed_by, drops_to_hosts};
    use super::*;

    /// Rulesets as nft 1.0.6 lists them, and what a kernel (6.18) did with datagrams of the group both ways:
    /// ours is 10.0.0.2 on eth0.
    const RULESETS: &str = include_str!("../../../testdata/rulesets.json");

    fn facts(json: &Value) -> FirewallFacts {
        FirewallFacts {
            group: "239.255.42.1:6003".parse().unwrap(),
            interface: "eth0".to_owned(),
            bridge: None,
            root: true,
            manager: None,
            address: Some("10.0.0.2".parse().unwrap()),
            nft: Some(json.to_string()),
            listed: None,
            iptables: None,
        }
    }

    #[test]
    fn of_each_ruleset_it_is_known_whether_the_kernel_lets_the_group_in_and_out() {
        let all: Vec<Value> = serde_json::from_str(RULESETS).unwrap();
        assert!(all.len() > 90);
        let mut wrong = Vec::new();
        for one in &all {
            let listed = one["listed"].as_str().map(str::to_owned);
            let facts = FirewallFacts { listed, ..facts(&one["json"]) };
            let depends = one["depends"] == true;
            for (way, wanted) in [("in", Wanted::data(&facts)), ("out", Wanted::own_data(&facts))] {
                let drops = closed_by(&facts, wanted).is_some();
                // What depends on the sender or the rate is not called dropped.
                let truth = one[way] == "dropped" && !depends;
                if drops != truth {
                    wrong.push(format!("{way}: {} (says {drops}): {}", one["name"], one["listed"]));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn what_is_sent_to_single_hosts_is_dropped_by_output_chains_and_not_by_those_of_the_group() {
        let all: Vec<Value> = serde_json::from_str(RULESETS).unwrap();
        let named = |name: &str| {
            let one = all.iter().find(|one| one["name"] == name).unwrap();
            drops_to_hosts(&facts(&one["json"])).is_some()
        };
        assert!(named("output policy drop") && named("postrouting") && named("both ways closed"));
        assert!(
            !named("output opened") && !named("output from own address") && !named("in: accept")
        );
    }

    #[test]
    fn tables_of_bridges_are_read_where_the_interface_is_one() {
        // As nft 1.0.6 writes them.
        let ruleset = |hook: &str, policy: &str, exprs: &[&str]| -> Value {
            let chain = format!(
                r#"{{"chain": {{"family": "bridge", "table": "f", "name": "c", "type": "filter",
                "hook": "{hook}", "prio": 0, "policy": "{policy}"}}}}"#
            );
            let rule = |expr: &&str| {
                format!(
                    r#"{{"rule": {{"family": "bridge", "table": "f", "chain": "c", "expr": [{expr}]}}}}"#
                )
            };
            let all: Vec<String> = std::iter::once(chain).chain(exprs.iter().map(rule)).collect();
            serde_json::from_str(&format!(r#"{{"nftables": [{}]}}"#, all.join(","))).unwrap()
        };
        let matches = |left: &str, right: &str, verdict: &str| {
            format!(
                r#"{{"match": {{"op": "==", "left": {left}, "right": {right}}}}}, {{"{verdict}": null}}"#
            )
        };
        let ether = r#"{"payload": {"protocol": "ether", "field": "type"}}"#;
        let daddr = r#"{"payload": {"protocol": "ip", "field": "daddr"}}"#;
        let (port, name) = (r#"{"meta": {"key": "iifname"}}"#, r#"{"meta": {"key": "ibrname"}}"#);
        let drops = |ports: &[&str], ruleset: &Value| {
            let ports = ports.iter().map(|&port| port.to_owned()).collect();
            let bridge = Some(super::super::BridgePorts { name: "br0".to_owned(), ports });
            let facts = FirewallFacts { interface: "br0".to_owned(), bridge, ..facts(ruleset) };
            closed_by(&facts, Wanted::data(&facts)).is_some()
        };
        let one = &["eth0"][..];
        let closed = ruleset("input", "drop", &[]);
        assert!(drops(one, &closed));
        assert!(closed_by(&facts(&closed), Wanted::data(&facts(&closed))).is_none(), "no bridge");
        for (left, right, is_dropped) in [
            (ether, r#""ip""#, true),
            (ether, r#""arp""#, false),
            (ether, r#"{"set": ["ip6", "arp"]}"#, false),
            (daddr, r#""239.255.42.1""#, true),
            (port, r#""eth0""#, true),
            (port, r#""br0""#, false),
            (name, r#""br0""#, true),
            (name, r#""br1""#, false),
        ] {
            let dropped = ruleset("prerouting", "accept", &[&matches(left, right, "drop")]);
            assert_eq!(drops(one, &dropped), is_dropped, "{left} {right}");
            let accepted = ruleset("input", "drop", &[&matches(left, right, "accept")]);
            assert_eq!(drops(one, &accepted), !is_dropped, "{left} {right}");
        }
        // By which of several ports it comes is not known.
        let by_port = ruleset("input", "accept", &[&matches(port, r#""eth0""#, "drop")]);
        assert!(!drops(&["eth0", "eth1"], &by_port));
        assert!(!drops(one, &ruleset("forward", "drop", &[])), "what it passes on is not ours");
    }

    #[test]
    fn what_is_no_ruleset_is_not_read() {
        let (empty, facts) = (facts(&Value::Null), facts(&Value::Null));
        for text in ["", "table inet filter {", "{}", "[1]", "{\"nftables\": 7}"] {
            assert!(parse(text, "", Wanted::data(&empty)).is_none(), "{text}");
        }
        let odd = r#"{"nftables": [7, {"rule": 3}, {"rule": {"family": "inet"}}, {"chain": {}},
            {"chain": {"family": "inet", "table": "t", "name": "c", "hook": "input"}},
            {"rule": {"family": "inet", "table": "t", "chain": "c", "expr": [null, {}, {"new": 1}]}}]}"#;
        assert_eq!(
            parse(odd, "chain x {\ntype filter device", Wanted::data(&facts)).unwrap().len(),
            1
        );
    }
}
