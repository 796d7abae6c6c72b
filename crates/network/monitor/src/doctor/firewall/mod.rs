//! Does a packet filter of this machine drop what comes for the group?
//!
//! `facts` is what was seen, `rule` what rules say. `nft` and `iptables` read a ruleset into [`Chains`]; here
//! datagrams are led through them: what comes for the group, what is sent to it, what keeps it a member, and
//! what is sent to single hosts. Matches that depend on what is not known count as taken by an accept and not
//! by a drop, so that the doctor does not cry wolf. It therefore warns and never condemns: whether probes come
//! back is what counts.

mod facts;
mod iptables;
mod nft;
mod rule;

pub(crate) use facts::{BridgePorts, FirewallFacts, Manager};
use rule::{Applies, Chain, Chains, Hook, Rule, Verdict, Wanted, covers, covers_port, names};
use std::net::SocketAddr;

use super::finding::Finding;

/// Chains that jump deeper are not followed; the kernel has a bound of the same size.
const DEPTH_MAX: u32 = 16;

/// Where our datagram ends in a chain.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Taken,
    Dropped,
    /// At the end of the chain.
    Through,
}

pub(crate) fn judge(facts: &FirewallFacts) -> Finding {
    if let Some(closed) = closed_by(facts, Wanted::data(facts)) {
        return drops_data(facts, &closed);
    }
    if let Some(closed) = closed_by(facts, Wanted::own_data(facts)) {
        return drops_own_data(facts, &closed);
    }
    if let Some(closed) = closed_by(facts, Wanted::query(facts)) {
        return drops_queries(facts, &closed);
    }
    if let Some(closed) = closed_by(facts, Wanted::report(facts)) {
        return drops_reports(facts, &closed);
    }
    let listed = facts.listed.as_deref().unwrap_or_default();
    let unread = |text: &str| nft::parse(text, listed, Wanted::data(facts)).is_none();
    if facts.nft.as_deref().is_some_and(unread) {
        return Finding::skip(
            "firewall.unread",
            "not looked at: what nft -j list ruleset prints cannot be read",
        )
        .advised("nft list ruleset, and look for rules about UDP and IGMP");
    }
    let by = facts.manager.map_or_else(String::new, |by| format!("; {} is on", by.name()));
    match (facts.nft.is_some() || facts.iptables.is_some(), facts.root) {
        (true, _) => Finding::ok(
            "firewall.ok",
            format!("no rule of this machine is seen to drop the group{by}"),
        ),
        (false, false) => Finding::skip(
            "firewall.unseen",
            format!("not looked at: the rules are shown to root alone{by}"),
        )
        .advised("sudo fanfare doctor"),
        (false, true) => Finding::skip(
            "firewall.no_tool",
            format!("not looked at: neither nft nor iptables shows rules here{by}"),
        )
        .advised("install nftables, where there are rules"),
    }
}

/// Which tool's chain drops.
enum Closed {
    /// Family, table and chain.
    Nft(String),
    /// Table and chain.
    Iptables(String),
}

/// The chain that drops what is sent to single hosts.
pub(crate) fn drops_to_hosts(facts: &FirewallFacts) -> Option<String> {
    let closed = closed_by(facts, Wanted::to_host(facts))?;
    Some(closed.sentence(facts.group, "what is sent to single hosts"))
}

fn closed_by(facts: &FirewallFacts, wanted: Wanted<'_>) -> Option<Closed> {
    let listed = facts.listed.as_deref().unwrap_or_default();
    let nft = facts.nft.as_deref().and_then(|text| nft::parse(text, listed, wanted));
    if let Some(place) = nft.as_ref().and_then(|chains| closed_chain(chains, wanted.is_out)) {
        return Some(Closed::Nft(place.to_owned()));
    }
    let iptables = facts.iptables.as_deref().map(|text| iptables::parse(text, wanted));
    let place = iptables.as_ref().and_then(|chains| closed_chain(chains, wanted.is_out));
    place.map(|place| Closed::Iptables(place.to_owned()))
}

impl Closed {
    fn sentence(&self, group: SocketAddr, what: &str) -> String {
        match self {
            Self::Nft(place) => format!("the nft chain '{place}' drops {what}"),
            Self::Iptables(place) => {
                let (table, chain) = place.split_once(' ').unwrap_or(("filter", place));
                let of = if table == "filter" { String::new() } else { format!(" of {table}") };
                format!("the {} chain {chain}{of} drops {what}", iptables_tool(group))
            }
        }
    }

    fn accept_data(&self, group: SocketAddr) -> String {
        let (ip, port) = (group.ip(), group.port());
        let family = if group.is_ipv6() { "ip6" } else { "ip" };
        match self {
            Self::Nft(place) => {
                format!("nft insert rule {place} {family} daddr {ip} udp dport {port} accept")
            }
            Self::Iptables(place) => {
                let (tool, place) = (iptables_tool(group), inserted(place));
                format!("{tool} {place} -d {ip} -p udp --dport {port} -j ACCEPT")
            }
        }
    }

    fn accept_queries(&self, group: SocketAddr) -> String {
        let protocol = if group.is_ipv6() { "ipv6-icmp" } else { "igmp" };
        match self {
            Self::Nft(place) => format!("nft insert rule {place} meta l4proto {protocol} accept"),
            Self::Iptables(place) => {
                let (tool, place) = (iptables_tool(group), inserted(place));
                format!("{tool} {place} -p {protocol} -j ACCEPT")
            }
        }
    }
}

/// `-I CHAIN`, with the table where it is not that for filters.
fn inserted(place: &str) -> String {
    match place.split_once(' ') {
        Some(("filter", chain)) => format!("-I {chain}"),
        Some((table, chain)) => format!("-t {table} -I {chain}"),
        None => format!("-I {place}"),
    }
}

fn iptables_tool(group: SocketAddr) -> &'static str {
    if group.is_ipv6() { "ip6tables" } else { "iptables" }
}

fn drops_data(facts: &FirewallFacts, closed: &Closed) -> Finding {
    let group = facts.group;
    let advice = match facts.manager {
        Some(by) => format!("{} && {}", by.accept_data(group), by.accept_queries(group)),
        None => format!("{} && {}", closed.accept_data(group), closed.accept_queries(group)),
    };
    let seen = closed.sentence(group, &format!("what comes for {group}"));
    Finding::warn("firewall.drops", managed(facts, &seen), advice)
}

fn drops_own_data(facts: &FirewallFacts, closed: &Closed) -> Finding {
    let group = facts.group;
    let seen = closed.sentence(group, &format!("what this machine sends to {group}"));
    Finding::warn("firewall.drops_own", managed(facts, &seen), closed.accept_data(group))
}

fn drops_reports(facts: &FirewallFacts, closed: &Closed) -> Finding {
    let group = facts.group;
    let protocol = if group.is_ipv6() { "MLD" } else { "IGMP" };
    let what = format!("{protocol} reports: switches and routers do not know that it is a member");
    let seen = managed(facts, &closed.sentence(group, &what));
    Finding::warn("firewall.reports", seen, closed.accept_queries(group))
}

/// With the name of the program whose rules these are.
fn managed(facts: &FirewallFacts, seen: &str) -> String {
    facts.manager.map_or_else(|| seen.to_owned(), |by| format!("{} is on: {seen}", by.name()))
}

fn drops_queries(facts: &FirewallFacts, closed: &Closed) -> Finding {
    let group = facts.group;
    let protocol = if group.is_ipv6() { "MLD" } else { "IGMP" };
    let what = format!(
        "{protocol} queries: a member that does not answer is forgotten by snooping switches, and \
         a transfer stalls after 260 s"
    );
    let advice = match facts.manager {
        Some(by) => by.accept_queries(group),
        None => closed.accept_queries(group),
    };
    let seen = managed(facts, &closed.sentence(group, &what));
    Finding::warn("firewall.queries", seen, advice)
}

/// The first chain on the way in, or out, that drops our datagram.
fn closed_chain(chains: &Chains, is_out: bool) -> Option<&str> {
    let closed = |(_, chain): &(&String, &Chain)| match walk(chains, chain, 0) {
        End::Taken => false,
        End::Dropped => true,
        End::Through => chain.policy_drops,
    };
    let sees = |(_, chain): &(&String, &Chain)| chain.hook.is_some_and(|hook| hook.sees(is_out));
    chains.iter().filter(sees).find(closed).map(|(name, _)| name.as_str())
}

fn walk(chains: &Chains, chain: &Chain, depth: u32) -> End {
    for Rule { applies, verdict } in &chain.rules {
        match (applies, verdict) {
            (Applies::No, _) | (_, Verdict::Other) => {}
            (_, Verdict::Accept) => return End::Taken,
            (Applies::Yes, Verdict::Drop) => return End::Dropped,
            (Applies::Yes, Verdict::Return) => return End::Through,
            (Applies::Maybe, Verdict::Drop | Verdict::Return) => {}
            (_, Verdict::Jump(_) | Verdict::Goto(_)) if depth == DEPTH_MAX => {}
            (applies, Verdict::Jump(name) | Verdict::Goto(name)) => {
                let end = chains.get(name).map(|to| walk(chains, to, depth + 1));
                let comes_back = matches!(verdict, Verdict::Jump(_));
                match end {
                    Some(End::Through) if !comes_back && *applies == Applies::Yes => {
                        return End::Through;
                    }
                    Some(End::Taken) => return End::Taken,
                    Some(End::Dropped) if *applies == Applies::Yes => return End::Dropped,
                    _ => {}
                }
            }
        }
    }
    End::Through
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// A datagram to the group that comes by this interface.
    pub(super) fn data_on(interface: &str) -> Wanted<'_> {
        let destination = Ipv4Addr::new(239, 255, 42, 1).into();
        Wanted {
            destination: Some(destination),
            source: None,
            ipv6: false,
            is_out: false,
            port: Some(6003),
            protocol: &["udp", "17"],
            interface,
            bridge: None,
        }
    }

    const OPEN: &str = r#"{"nftables": []}"#;

    /// A table with a chain at the input that drops.
    fn closed(table: &str, chain: &str) -> String {
        format!(
            r#"{{"nftables": [{{"chain": {{"family": "inet", "table": "{table}", "name": "{chain}",
            "type": "filter", "hook": "input", "prio": 0, "policy": "drop"}}}}]}}"#
        )
    }

    /// A chain `inet f in` at this hook, with one rule.
    fn with_rule(hook: &str, expr: &str) -> String {
        format!(
            r#"{{"nftables": [{{"chain": {{"family": "inet", "table": "f", "name": "in",
            "type": "filter", "hook": "{hook}", "prio": 0, "policy": "accept"}}}},
            {{"rule": {{"family": "inet", "table": "f", "chain": "in", "expr": {expr}}}}}]}}"#
        )
    }

    #[test]
    fn what_leaves_is_led_through_the_chains_at_the_output_and_reports_are_told_apart() {
        let drop = with_rule("output", r#"[{"drop": null}]"#);
        let finding = judge(&facts(Some(&drop), None));
        assert_eq!(finding.code, "firewall.drops_own");
        assert!(
            finding.seen.contains("'inet f in' drops what this machine sends to 239.255.42.1:6003")
        );
        let igmp = r#"[{"match": {"op": "==", "left": {"meta": {"key": "l4proto"}}, "right": "igmp"}},
            {"drop": null}]"#;
        assert_eq!(judge(&facts(Some(&with_rule("output", igmp)), None)).code, "firewall.reports");
        assert_eq!(judge(&facts(Some(&with_rule("forward", igmp)), None)).code, "firewall.ok");
        let saved = "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -j DROP\nCOMMIT\n";
        let finding = judge(&facts(None, Some(saved)));
        assert!(
            finding.seen.starts_with("the iptables chain PREROUTING of raw drops"),
            "{finding}"
        );
        assert!(
            finding.advice.unwrap().starts_with("iptables -t raw -I PREROUTING -d 239.255.42.1")
        );
        let saved = "*filter\n:OUTPUT DROP [0:0]\n-A OUTPUT -o lo -j ACCEPT\nCOMMIT\n";
        assert_eq!(judge(&facts(None, Some(saved))).code, "firewall.drops_own");
    }

    fn facts(nft: Option<&str>, iptables: Option<&str>) -> FirewallFacts {
        FirewallFacts {
            group: "239.255.42.1:6003".parse().unwrap(),
            interface: "eth0".to_owned(),
            bridge: None,
            root: true,
            manager: None,
            address: Some("10.0.0.2".parse().unwrap()),
            nft: nft.map(str::to_owned),
            listed: None,
            iptables: iptables.map(str::to_owned),
        }
    }

    #[test]
    fn a_dropping_nft_chain_is_named_with_the_rules_that_open_it() {
        assert_eq!(
            judge(&facts(Some(&closed("filter", "input")), None)).to_string(),
            "warn  firewall    the nft chain 'inet filter input' drops what comes for \
             239.255.42.1:6003; do: nft insert rule inet filter input ip daddr 239.255.42.1 \
             udp dport 6003 accept && nft insert rule inet filter input meta l4proto igmp accept"
        );
    }

    #[test]
    fn a_dropping_iptables_chain_comes_with_the_rules_that_open_it() {
        let text = "-P INPUT DROP\n-A INPUT -i lo -j ACCEPT\n";
        assert_eq!(
            judge(&facts(Some(OPEN), Some(text))).advice.unwrap(),
            "iptables -I INPUT -d 239.255.42.1 -p udp --dport 6003 -j ACCEPT && \
             iptables -I INPUT -p igmp -j ACCEPT"
        );
    }

    #[test]
    fn without_root_it_says_that_it_cannot_see() {
        let finding = judge(&FirewallFacts { root: false, ..facts(None, None) });
        assert_eq!(
            finding.to_string(),
            "skip  firewall    not looked at: the rules are shown to root alone; do: sudo fanfare doctor"
        );
        let managed = |manager, nft| FirewallFacts { manager: Some(manager), ..facts(nft, None) };
        let seen = judge(&managed(Manager::Ufw, Some(OPEN))).seen;
        assert!(seen.ends_with("; ufw is on"), "{seen}");
        let closed = closed("firewalld", "filter_INPUT");
        let finding = judge(&managed(Manager::Firewalld, Some(&closed)));
        assert_eq!(
            finding.advice.unwrap(),
            "firewall-cmd --permanent --add-port=6003/udp && firewall-cmd --reload && \
             firewall-cmd --permanent --add-protocol=igmp && firewall-cmd --reload"
        );
        let finding = judge(&managed(Manager::Ufw, Some(&closed)));
        assert_eq!(
            finding.advice.unwrap(),
            "ufw allow in proto udp to 239.255.42.1 port 6003 && \
             ufw allow in proto igmp to 224.0.0.0/4"
        );
        assert_eq!(judge(&facts(None, None)).code, "firewall.no_tool");
        let unread = judge(&facts(Some("{\"nftables\": [{\"table\": {\"flags\": "), None));
        assert_eq!((unread.code, unread.level), ("firewall.unread", crate::doctor::Level::Skip));
        assert_eq!(judge(&facts(Some(OPEN), None)).code, "firewall.ok");
    }

    #[test]
    fn chains_that_jump_in_a_circle_end() {
        let text = "-P INPUT DROP\n-N a\n-A INPUT -j a\n-A a -j a\n";
        assert_eq!(judge(&facts(None, Some(text))).code, "firewall.drops");
    }

    #[test]
    fn a_chain_that_takes_the_group_and_drops_queries_lets_a_transfer_stall() {
        let text = "-P INPUT DROP\n-A INPUT -p udp -j ACCEPT\n";
        let finding = judge(&facts(None, Some(text)));
        assert_eq!(finding.code, "firewall.queries");
        assert!(finding.seen.starts_with("the iptables chain INPUT drops IGMP queries"));
        assert_eq!(finding.advice.unwrap(), "iptables -I INPUT -p igmp -j ACCEPT");
        let open = format!("{text}-A INPUT -p igmp -j ACCEPT\n");
        assert_eq!(judge(&facts(None, Some(&open))).code, "firewall.ok");
        let igmp = r#"{"match": {"op": "==", "left": {"payload": {"protocol": "ip", "field": "protocol"}},
            "right": "igmp"}}"#;
        let nft = with_rule("input", &format!(r#"[{igmp}, {{"drop": null}}]"#));
        let finding = judge(&facts(Some(&nft), None));
        assert_eq!(finding.advice.unwrap(), "nft insert rule inet f in meta l4proto igmp accept");
    }

    #[test]
    fn prefixes_ranges_and_ports_are_compared_as_the_tools_mean_them() {
        let (group, port) = ("239.255.42.1".parse().unwrap(), Some(6003));
        for text in
            ["239.255.42.1", "239.0.0.0/8", "224.0.0.0/4", "0.0.0.0/0", "239.0.0.0-239.255.255.255"]
        {
            assert!(covers(text, group), "{text}");
        }
        for text in ["239.255.42.2", "224.0.0.0/8", "ff00::/8", "239.0.0.0-239.1.0.0", "nonsense"] {
            assert!(!covers(text, group), "{text}");
        }
        assert!(covers("ff00::/8", "ff15::1".parse().unwrap()));
        assert!(covers_port("6000-6010", port) && covers_port("6000:6010", port));
        assert!(covers_port("6003", port) && !covers_port("6004", port));
        assert!(!covers_port("6003", None));
        assert!(names("\"eth0\"", "eth0") && names("eth+", "eth0") && !names("wlan*", "eth0"));
    }
}
