//! Does a packet filter of this machine drop what comes for the group?
//!
//! `nft` and `iptables` read the words of a ruleset into [`Chains`]; here a multicast datagram to the
//! group is led through them. Matches that are not understood count as taken by an accept and not
//! by a drop, so that the doctor does not cry wolf; sets and maps by name are not looked up. It
//! therefore warns and never condemns: whether probes come back is what counts.

mod iptables;
mod nft;

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
};

use super::finding::Finding;

/// Chains that jump deeper are not followed; the kernel has a bound of the same size.
const DEPTH_MAX: u32 = 16;

/// What was seen of packet filters.
#[derive(Debug, Clone)]
pub(crate) struct FirewallFacts {
    pub(crate) group: SocketAddr,
    pub(crate) interface: String,
    /// Only root may read rules.
    pub(crate) root: bool,
    /// `nft list ruleset`, when that worked.
    pub(crate) nft: Option<String>,
    /// `iptables -S` or `ip6tables -S`, when that worked.
    pub(crate) iptables: Option<String>,
}

/// The datagram that is led through the rules.
#[derive(Debug, Clone, Copy)]
struct Wanted<'a> {
    group: SocketAddr,
    interface: &'a str,
}

/// Chains by their full name.
type Chains = BTreeMap<String, Chain>;

/// One chain of rules.
#[derive(Debug, Default)]
struct Chain {
    /// Everything that comes to this machine passes it.
    at_input: bool,
    policy_drops: bool,
    rules: Vec<Rule>,
}

/// One rule, as far as our datagram is concerned.
#[derive(Debug)]
struct Rule {
    applies: Applies,
    verdict: Verdict,
}

/// Whether a rule's conditions hold for our datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Applies {
    No,
    /// It depends on what we do not know, such as the sender's address.
    Maybe,
    Yes,
}

/// What a rule does.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Accept,
    Drop,
    Jump(String),
    Return,
    /// Counts, logs, marks: no matter.
    Other,
}

/// Where our datagram ends in a chain.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Taken,
    Dropped,
    /// At the end of the chain.
    Through,
}

pub(crate) fn judge(facts: &FirewallFacts) -> Finding {
    let wanted = Wanted { group: facts.group, interface: &facts.interface };
    let nft = facts.nft.as_deref().map(|text| nft::parse(text, wanted));
    if let Some(place) = nft.as_ref().and_then(closed_chain) {
        return nft_drops(facts.group, place);
    }
    let iptables = facts.iptables.as_deref().map(|text| iptables::parse(text, wanted));
    if iptables.as_ref().and_then(closed_chain).is_some() {
        return iptables_drops(facts.group);
    }
    match (nft.is_some() || iptables.is_some(), facts.root) {
        (true, _) => {
            Finding::ok("firewall.ok", "no rule of this machine is seen to drop the group")
        }
        (false, false) => {
            Finding::ok("firewall.unseen", "cannot see the rules (needs root: sudo fanfare doctor)")
        }
        (false, true) => {
            Finding::ok("firewall.no_tool", "neither nft nor iptables is here to show rules")
        }
    }
}

fn nft_drops(group: SocketAddr, place: &str) -> Finding {
    let (ip, port) = (group.ip(), group.port());
    let (family, membership) = if group.is_ipv6() { ("ip6", "ipv6-icmp") } else { ("ip", "igmp") };
    Finding::warn(
        "firewall.drops",
        format!("the nft chain '{place}' drops what comes for {group}"),
        format!(
            "nft insert rule {place} {family} daddr {ip} udp dport {port} accept && \
             nft insert rule {place} meta l4proto {membership} accept"
        ),
    )
}

fn iptables_drops(group: SocketAddr) -> Finding {
    let (ip, port) = (group.ip(), group.port());
    let (tool, membership) =
        if group.is_ipv6() { ("ip6tables", "ipv6-icmp") } else { ("iptables", "igmp") };
    Finding::warn(
        "firewall.drops",
        format!("the {tool} chain INPUT drops what comes for {group}"),
        format!(
            "{tool} -I INPUT -d {ip} -p udp --dport {port} -j ACCEPT && \
             {tool} -I INPUT -p {membership} -j ACCEPT"
        ),
    )
}

/// The first chain at the input that drops our datagram.
fn closed_chain(chains: &Chains) -> Option<&str> {
    let closed = |(_, chain): &(&String, &Chain)| match walk(chains, chain, 0) {
        End::Taken => false,
        End::Dropped => true,
        End::Through => chain.policy_drops,
    };
    chains.iter().filter(|(_, chain)| chain.at_input).find(closed).map(|(name, _)| name.as_str())
}

fn walk(chains: &Chains, chain: &Chain, depth: u32) -> End {
    for Rule { applies, verdict } in &chain.rules {
        match (applies, verdict) {
            (Applies::No, _) | (_, Verdict::Other) => {}
            (_, Verdict::Accept) => return End::Taken,
            (Applies::Yes, Verdict::Drop) => return End::Dropped,
            (Applies::Yes, Verdict::Return) => return End::Through,
            (Applies::Maybe, Verdict::Drop | Verdict::Return) => {}
            (_, Verdict::Jump(_)) if depth == DEPTH_MAX => {}
            (applies, Verdict::Jump(name)) => {
                let end = chains.get(name).map(|to| walk(chains, to, depth + 1));
                match end {
                    Some(End::Taken) => return End::Taken,
                    Some(End::Dropped) if *applies == Applies::Yes => return End::Dropped,
                    _ => {}
                }
            }
        }
    }
    End::Through
}

/// Whether an address, a prefix or a range of addresses, as both tools write them, holds the group.
fn covers(text: &str, group: SocketAddr) -> bool {
    let text = text.trim_matches(['"', ',']);
    if let Some((from, to)) = text.split_once('-') {
        let (Ok(from), Ok(to)) = (from.parse::<IpAddr>(), to.parse::<IpAddr>()) else {
            return false;
        };
        return (from..=to).contains(&group.ip());
    }
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, length.parse().unwrap_or(u32::MAX)),
        None => (text, u32::MAX),
    };
    match (address.parse(), group.ip()) {
        (Ok(IpAddr::V4(net)), IpAddr::V4(own)) => {
            let shift = 32_u32.saturating_sub(length);
            (net.to_bits() ^ own.to_bits()).checked_shr(shift).unwrap_or(0) == 0
        }
        (Ok(IpAddr::V6(net)), IpAddr::V6(own)) => {
            let shift = 128_u32.saturating_sub(length);
            (net.to_bits() ^ own.to_bits()).checked_shr(shift).unwrap_or(0) == 0
        }
        _ => false,
    }
}

/// Whether a port or a range, `6000-6010` or `6000:6010`, holds the group's.
fn covers_port(text: &str, group: SocketAddr) -> bool {
    let text = text.trim_matches(['"', ',']);
    let (from, to) = text.split_once(['-', ':']).unwrap_or((text, text));
    let (Ok(from), Ok(to)) = (from.parse::<u16>(), to.parse::<u16>()) else { return false };
    (from..=to).contains(&group.port())
}

/// Whether `pattern`, perhaps with a star or plus for its rest, names the interface.
fn names(pattern: &str, interface: &str) -> bool {
    let pattern = pattern.trim_matches(['"', ',']);
    match pattern.strip_suffix(['*', '+']) {
        Some(start) => interface.starts_with(start),
        None => pattern == interface,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(nft: Option<&str>, iptables: Option<&str>) -> FirewallFacts {
        FirewallFacts {
            group: "239.255.42.1:6003".parse().unwrap(),
            interface: "eth0".to_owned(),
            root: true,
            nft: nft.map(str::to_owned),
            iptables: iptables.map(str::to_owned),
        }
    }

    #[test]
    fn a_dropping_nft_chain_is_named_with_the_rules_that_open_it() {
        let text = "table inet filter {\n\tchain input {\n\
                    \t\ttype filter hook input priority filter; policy drop;\n\
                    \t\tct state established,related accept\n\t\ttcp dport 22 accept\n\t}\n}\n";
        assert_eq!(
            judge(&facts(Some(text), None)).to_string(),
            "warn  firewall    the nft chain 'inet filter input' drops what comes for \
             239.255.42.1:6003; do: nft insert rule inet filter input ip daddr 239.255.42.1 \
             udp dport 6003 accept && nft insert rule inet filter input meta l4proto igmp accept"
        );
    }

    #[test]
    fn a_dropping_iptables_chain_comes_with_the_rules_that_open_it() {
        let text = "-P INPUT DROP\n-A INPUT -i lo -j ACCEPT\n";
        assert_eq!(
            judge(&facts(Some(""), Some(text))).advice.unwrap(),
            "iptables -I INPUT -d 239.255.42.1 -p udp --dport 6003 -j ACCEPT && \
             iptables -I INPUT -p igmp -j ACCEPT"
        );
    }

    #[test]
    fn without_root_it_says_that_it_cannot_see() {
        let finding = judge(&FirewallFacts { root: false, ..facts(None, None) });
        assert_eq!(
            finding.to_string(),
            "ok    firewall    cannot see the rules (needs root: sudo fanfare doctor)"
        );
        assert_eq!(judge(&facts(None, None)).code, "firewall.no_tool");
        assert_eq!(judge(&facts(Some(""), None)).code, "firewall.ok");
    }

    #[test]
    fn chains_that_jump_in_a_circle_end() {
        let text = "-P INPUT DROP\n-N a\n-A INPUT -j a\n-A a -j a\n";
        assert_eq!(judge(&facts(None, Some(text))).code, "firewall.drops");
    }

    #[test]
    fn prefixes_ranges_and_ports_are_compared_as_the_tools_mean_them() {
        let group = "239.255.42.1:6003".parse().unwrap();
        for text in
            ["239.255.42.1", "239.0.0.0/8", "224.0.0.0/4", "0.0.0.0/0", "239.0.0.0-239.255.255.255"]
        {
            assert!(covers(text, group), "{text}");
        }
        for text in ["239.255.42.2", "224.0.0.0/8", "ff00::/8", "239.0.0.0-239.1.0.0", "nonsense"] {
            assert!(!covers(text, group), "{text}");
        }
        assert!(covers("ff00::/8", "[ff15::1]:1".parse().unwrap()));
        assert!(covers_port("6000-6010", group) && covers_port("6000:6010", group));
        assert!(covers_port("6003", group) && !covers_port("6004", group));
        assert!(names("\"eth0\"", "eth0") && names("eth+", "eth0") && !names("wlan*", "eth0"));
    }
}
