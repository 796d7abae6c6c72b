//! Reads what `nft list ruleset` prints.

use super::{Applies, Chain, Chains, Rule, Verdict, Wanted, covers, covers_port, names};

/// All chains of the tables that see the group's family, by `family table chain`.
pub(super) fn parse(text: &str, wanted: Wanted<'_>) -> Chains {
    let own_family = if wanted.is_v6() { "ip6" } else { "ip" };
    let mut chains = Chains::new();
    let (mut table, mut name) = (String::new(), None::<String>);
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("table ") {
            table = rest.trim_end_matches('{').trim().to_owned();
        } else if let Some(rest) = line.strip_prefix("chain ") {
            let seen = ["inet", own_family].contains(&table.split(' ').next().unwrap_or_default());
            name = seen.then(|| format!("{table} {}", rest.trim_end_matches('{').trim()));
        } else if line == "}" {
            name = None;
        } else if let Some(name) = &name {
            let chain: &mut Chain = chains.entry(name.clone()).or_default();
            read_line(line, &table, wanted, chain);
        }
    }
    chains
}

fn read_line(line: &str, table: &str, wanted: Wanted<'_>, chain: &mut Chain) {
    if line.starts_with("type ") {
        chain.at_input = line.contains("hook input");
        chain.policy_drops = line.contains("policy drop");
    } else if !line.is_empty() && !line.starts_with('#') {
        chain.rules.push(read_rule(line, table, wanted));
    }
}

fn read_rule(line: &str, table: &str, wanted: Wanted<'_>) -> Rule {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut rest = &words[..];
    let mut applies = Applies::Yes;
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        let verdict = match *word {
            "accept" => Some(Verdict::Accept),
            "drop" | "reject" => Some(Verdict::Drop),
            "return" => Some(Verdict::Return),
            "jump" | "goto" => after.first().map(|name| Verdict::Jump(format!("{table} {name}"))),
            _ => None,
        };
        if let Some(verdict) = verdict {
            return Rule { applies, verdict };
        }
        applies = applies.min(read_match(word, &mut rest, wanted));
    }
    Rule { applies, verdict: Verdict::Other }
}

/// One condition, or a statement that has none.
fn read_match(word: &str, rest: &mut &[&str], wanted: Wanted<'_>) -> Applies {
    match word {
        "iifname" | "iif" => compare(rest, |value| names(value, wanted.interface)),
        "meta" | "fib" | "th" => match next(rest) {
            "daddr" => compare_type(rest),
            "dport" => compare(rest, |value| covers_port(value, wanted.port)),
            key => read_match(key, rest, wanted),
        },
        "pkttype" => compare(rest, |value| value == "multicast"),
        "l4proto" | "protocol" | "nexthdr" => {
            compare(rest, |value| wanted.protocol.contains(&value))
        }
        "nfproto" => {
            let own = if wanted.is_v6() { "ipv6" } else { "ipv4" };
            compare(rest, |value| value == own)
        }
        "ip" | "ip6" => {
            let ours = (word == "ip6") == wanted.is_v6();
            let applies = match next(rest) {
                "daddr" => compare(rest, |value| covers(value, wanted.destination)),
                "protocol" | "nexthdr" => compare(rest, |value| wanted.protocol.contains(&value)),
                _ => unknown(rest),
            };
            if ours { applies } else { Applies::No }
        }
        _ if wanted.protocol.contains(&word) => match next(rest) {
            "dport" => compare(rest, |value| covers_port(value, wanted.port)),
            _ => unknown(rest),
        },
        "tcp" | "udp" | "icmp" | "icmpv6" | "igmp" | "sctp" | "dccp" | "esp" | "ah" => Applies::No,
        // A group has no answers: what comes for it is new, or seen before without being an answer.
        "ct" => match next(rest) {
            "state" => compare(rest, |value| value.split(',').any(|state| state == "new")),
            _ => unknown(rest),
        },
        "limit" => Applies::Maybe,
        "counter" | "packets" | "bytes" | "log" | "comment" => Applies::Yes,
        _ if word.starts_with(|c: char| c.is_ascii_digit() || c == '"') => Applies::Yes,
        _ => Applies::Maybe,
    }
}

/// `fib daddr type multicast`.
fn compare_type(rest: &mut &[&str]) -> Applies {
    while let Some((word, after)) = rest.split_first() {
        *rest = after;
        if *word == "type" {
            return compare(rest, |value| value == "multicast");
        }
    }
    Applies::Maybe
}

/// A value or a set of them, perhaps after `!=`; one that is named (`@set`) is not looked up.
fn compare(rest: &mut &[&str], fits: impl Fn(&str) -> bool) -> Applies {
    let negated = rest.first() == Some(&"!=");
    if negated {
        next(rest);
    }
    let values = take_values(rest);
    if values.iter().any(|value| value.starts_with('@')) {
        return Applies::Maybe;
    }
    let found = values.iter().any(|value| fits(value));
    if found == negated { Applies::No } else { Applies::Yes }
}

fn unknown(rest: &mut &[&str]) -> Applies {
    compare(rest, |_| true);
    Applies::Maybe
}

fn take_values<'a>(rest: &mut &[&'a str]) -> Vec<&'a str> {
    if rest.first() != Some(&"{") {
        return vec![next(rest)];
    }
    next(rest);
    let mut values = Vec::new();
    while !rest.is_empty() {
        match next(rest) {
            "}" => break,
            value => values.push(value.trim_end_matches(',')),
        }
    }
    values
}

fn next<'a>(rest: &mut &[&'a str]) -> &'a str {
    match rest.split_first() {
        Some((word, after)) => {
            *rest = after;
            word
        }
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::super::{closed_chain, tests::data_on};
    use super::*;

    /// The chain that drops us when the input's policy is to drop and it has this rule.
    fn closed(rule: &str, policy: &str) -> bool {
        let text = format!(
            "table inet filter {{\n\tchain input {{\n\
             \t\ttype filter hook input priority filter; policy {policy};\n\t\t{rule}\n\t}}\n}}"
        );
        closed_chain(&parse(&text, data_on("eth0"))).is_some()
    }

    #[test]
    fn rules_that_take_the_group_open_a_dropping_chain() {
        for rule in [
            "accept",
            "udp dport 6003 accept",
            "udp dport { 53, 6000-6010 } counter packets 0 bytes 0 accept",
            "ip daddr 239.0.0.0/8 accept",
            "ip daddr { 10.0.0.1, 224.0.0.0/4 } udp dport 1-65535 accept",
            "iifname \"eth*\" accept comment \"lan\"",
            "iifname != \"wan0\" accept",
            "meta l4proto udp accept",
            "meta l4proto { tcp, udp } th dport 6003 accept",
            "meta pkttype multicast accept",
            "fib daddr type multicast accept",
            "ip protocol udp accept",
            "ct state new,established accept",
            "ip saddr 10.0.0.0/24 accept",
            "ip daddr @groups accept",
        ] {
            assert!(!closed(rule, "drop"), "{rule}");
        }
    }

    #[test]
    fn rules_about_others_leave_it_closed() {
        for rule in [
            "tcp dport 22 accept",
            "udp dport 53 accept",
            "iif \"lo\" accept",
            "iifname != \"eth0\" accept",
            "ct state established,related accept",
            "ct state vmap { invalid : drop, established : accept, related : accept }",
            "ip daddr 224.0.0.251 udp dport 5353 accept",
            "ip6 daddr ff00::/8 accept",
            "meta l4proto { icmp, ipv6-icmp } accept",
            "icmp type echo-request accept",
            "fib daddr type local accept",
            "counter packets 0 bytes 0",
        ] {
            assert!(closed(rule, "drop"), "{rule}");
        }
    }

    #[test]
    fn an_open_chain_is_closed_by_a_rule_against_us_only() {
        for rule in ["drop", "reject with icmp admin-prohibited", "meta pkttype multicast drop"] {
            assert!(closed(rule, "accept"), "{rule}");
        }
        for rule in ["tcp dport 25 drop", "ip saddr 10.0.0.9 drop", "limit rate 5/second drop"] {
            assert!(!closed(rule, "accept"), "{rule}");
        }
    }

    #[test]
    fn jumps_are_followed_and_other_hooks_and_families_do_not_count() {
        let text = "table inet fw {\n chain lan {\n  udp dport 6003 accept\n }\n chain in {\n  \
                    type filter hook input priority 0; policy drop;\n  iifname \"eth0\" jump lan\n \
                    }\n chain fwd {\n  type filter hook forward priority 0; policy drop;\n }\n}\n\
                    table ip6 six {\n chain in {\n  type filter hook input priority 0; policy \
                    drop;\n }\n}\n";
        let on = |interface| closed_chain(&parse(text, data_on(interface))).map(str::to_owned);
        assert_eq!(on("eth0"), None);
        assert_eq!(on("eth1").as_deref(), Some("inet fw in"));
    }
}
