//! Reads what `iptables-save` prints, and `iptables -S`.

use super::{Applies, Chains, Hook, Rule, Verdict, Wanted, covers, covers_port, names};

/// All chains, by `table chain`.
pub(super) fn parse(text: &str, wanted: Wanted<'_>) -> Chains {
    let mut chains = Chains::new();
    let mut table = "filter".to_owned();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [name] if name.starts_with('*') => table = name.trim_start_matches('*').to_owned(),
            ["-P", name, policy] => begin(&mut chains, &table, name, policy),
            [name, policy, _] if name.starts_with(':') => {
                begin(&mut chains, &table, name.trim_start_matches(':'), policy);
            }
            ["-A", name, ref rule @ ..] => {
                let rule = read_rule(rule, &table, wanted);
                chains.entry(format!("{table} {name}")).or_default().rules.push(rule);
            }
            _ => {}
        }
    }
    chains
}

fn begin(chains: &mut Chains, table: &str, name: &str, policy: &str) {
    let chain = chains.entry(format!("{table} {name}")).or_default();
    chain.hook = Hook::named(&name.to_ascii_lowercase());
    chain.policy_drops = policy == "DROP";
}

fn read_rule(mut words: &[&str], table: &str, wanted: Wanted<'_>) -> Rule {
    let (mut applies, mut verdict) = (Applies::Yes, Verdict::Other);
    let mut negated = false;
    while let [option, rest @ ..] = words {
        words = rest;
        if *option == "!" {
            negated = true;
            continue;
        }
        let value = rest.first().copied().unwrap_or_default();
        if matches!(*option, "-j" | "-g") {
            verdict = read_verdict(table, value);
            if let ("-g", Verdict::Jump(name)) = (*option, &verdict) {
                verdict = Verdict::Goto(name.clone());
            }
            break;
        }
        let holds = read_match(option, value, wanted);
        applies = applies.min(match (holds, negated) {
            (Applies::Yes, true) => Applies::No,
            (Applies::No, true) => Applies::Yes,
            (holds, _) => holds,
        });
        negated = false;
        // An option is followed by its value unless by another option.
        if !value.starts_with('-') && value != "!" {
            words = rest.get(1..).unwrap_or_default();
        }
    }
    Rule { applies, verdict }
}

fn read_verdict(table: &str, target: &str) -> Verdict {
    match target {
        "ACCEPT" | "MASQUERADE" | "SNAT" | "DNAT" | "REDIRECT" => Verdict::Accept,
        "DROP" | "REJECT" => Verdict::Drop,
        "RETURN" => Verdict::Return,
        "LOG" | "NFLOG" | "MARK" | "CONNMARK" | "CT" | "TOS" | "DSCP" | "TTL" | "" => {
            Verdict::Other
        }
        chain => Verdict::Jump(format!("{table} {chain}")),
    }
}

fn read_match(option: &str, value: &str, wanted: Wanted<'_>) -> Applies {
    let holds = |yes| if yes { Applies::Yes } else { Applies::No };
    let any = |fits: &dyn Fn(&str) -> bool| holds(value.split(',').any(fits));
    match option {
        "-i" => holds(!wanted.is_out && names(value, wanted.interface)),
        "-o" => holds(wanted.is_out && names(value, wanted.interface)),
        "-d" => wanted.destination.map_or(Applies::Maybe, |to| holds(covers(value, to))),
        "-s" => wanted.source.map_or(Applies::Maybe, |from| holds(covers(value, from))),
        "-p" => holds(value == "all" || wanted.protocol.contains(&value)),
        "--dport" | "--dports" | "--ports" => any(&|port| covers_port(port, wanted.port)),
        "--pkt-type" => holds(value == "multicast"),
        "--dst-type" if wanted.destination.is_some() => any(&|kind| kind == "MULTICAST"),
        "--state" | "--ctstate" => any(&|state| state == "NEW"),
        // It only loads what the next option uses.
        "-m" | "--comment" => Applies::Yes,
        _ if !option.starts_with('-') => Applies::Yes,
        _ => Applies::Maybe,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{closed_chain, tests::data_on};
    use super::*;

    fn closed(rules: &str) -> bool {
        closed_chain(&parse(rules, data_on("eth0")), false).is_some()
    }

    #[test]
    fn rules_that_take_the_group_open_a_dropping_chain() {
        for rule in [
            "-j ACCEPT",
            "-p udp -m udp --dport 6003 -j ACCEPT",
            "-p udp -m multiport --dports 53,6000:6010 -j ACCEPT",
            "-d 224.0.0.0/4 -j ACCEPT",
            "-i eth+ -m comment --comment \"the lan\" -j ACCEPT",
            "! -i wan0 -j ACCEPT",
            "-m pkttype --pkt-type multicast -j ACCEPT",
            "-m addrtype --dst-type MULTICAST -j ACCEPT",
            "-s 10.0.0.0/24 -j ACCEPT",
        ] {
            assert!(!closed(&format!("-P INPUT DROP\n-A INPUT {rule}\n")), "{rule}");
        }
    }

    #[test]
    fn rules_about_others_leave_it_closed() {
        for rule in [
            "-p tcp -m tcp --dport 22 -j ACCEPT",
            "-p udp -m udp --dport 53 -j ACCEPT",
            "-i lo -j ACCEPT",
            "! -i eth0 -j ACCEPT",
            "-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
            "-d 224.0.0.251/32 -p udp -m udp --dport 5353 -j ACCEPT",
            "-j LOG --log-prefix \"in: \"",
        ] {
            assert!(closed(&format!("-P INPUT DROP\n-A INPUT {rule}\n")), "{rule}");
        }
    }

    #[test]
    fn the_usual_last_rule_closes_an_open_chain_and_jumps_are_followed() {
        assert!(closed("-P INPUT ACCEPT\n-A INPUT -j REJECT --reject-with icmp-host-prohibited\n"));
        assert!(!closed("-P INPUT ACCEPT\n-A INPUT -p tcp -j DROP\n-P FORWARD DROP\n"));
        let jump =
            "-P INPUT DROP\n-N lan\n-A INPUT -i eth0 -j lan\n-A lan -d 239.0.0.0/8 -j ACCEPT";
        assert!(!closed(jump));
    }
}
