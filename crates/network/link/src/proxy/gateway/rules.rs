//! The rules that bring packets to a gateway: nftables and routes, as text. Nothing is run here.
//!
//! A `tproxy` rule without a listener does not match. So the packets of new connections are forwarded
//! as ever while the gateway does not listen, unless a rule behind refuses them.

use std::{fmt::Write as _, net::SocketAddr};

use super::redirect::Redirect;

/// Refused destinations that are remembered at most.
const REFUSED_MAX: u32 = 4096;
/// So long a destination that the far side could not reach refuses at once, seconds.
pub const REFUSED_SECONDS: u32 = 10;
/// DNS and QUIC are left alone unless their port is named: names are asked for here, and QUIC has its
/// own congestion control, which a second one below does not help.
const UDP_LEFT_ALONE: &str = "{ 53, 443 }";

/// What the rules are made of.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The nftables table's name.
    pub table: String,
    /// Packets that came in here; none: anywhere.
    pub interfaces: Vec<String>,
    /// Destinations.
    pub redirects: Vec<Redirect>,
    /// Whether TCP is taken.
    pub tcp: bool,
    /// Whether UDP is taken.
    pub udp: bool,
    /// Where the gateway listens for IPv4.
    pub v4: SocketAddr,
    /// Where the gateway listens for IPv6.
    pub v6: SocketAddr,
    /// Mark of the packets, and the routing table that delivers what has it to this machine.
    pub mark: u32,
    /// The number of that routing table.
    pub route_table: u32,
    /// New connections are refused while nobody listens.
    pub refuse: bool,
}

/// Whether this can be an interface's name (the kernel: below 16 bytes, no slash, no space).
#[must_use]
pub fn is_interface(name: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    !name.is_empty() && name.len() < 16 && name.chars().all(known)
}

impl Rules {
    /// The table, for `nft -f -`.
    #[must_use]
    pub fn nft(&self) -> String {
        let mut text = format!("table inet {} {{\n", self.table);
        for (set, kind) in [("refused4", "ipv4_addr"), ("refused6", "ipv6_addr")] {
            let _ = writeln!(
                text,
                "\tset {set} {{\n\t\ttype {kind} . inet_service\n\t\tflags timeout\n\
                 \t\ttimeout {REFUSED_SECONDS}s\n\t\tsize {REFUSED_MAX}\n\t}}"
            );
        }
        text.push_str(
            "\tchain take {\n\t\ttype filter hook prerouting priority mangle; policy accept;\n",
        );
        if !self.interfaces.is_empty() {
            let names: Vec<String> = self.interfaces.iter().map(|n| format!("\"{n}\"")).collect();
            let _ = writeln!(text, "\t\tiifname != {{ {} }} return", names.join(", "));
        }
        text.push_str("\t\tfib daddr type { local, broadcast, multicast } return\n");
        if self.tcp {
            // Connections that the gateway has.
            let mark = self.mark;
            let _ = writeln!(
                text,
                "\t\tmeta l4proto tcp socket transparent 1 meta mark set {mark:#x} accept"
            );
            for (family, set) in [("ip", "refused4"), ("ip6", "refused6")] {
                let _ = writeln!(
                    text,
                    "\t\t{family} daddr . tcp dport @{set} tcp flags & (syn | ack) == syn \
                     reject with tcp reset"
                );
            }
        }
        for redirect in &self.redirects {
            self.take(redirect, &mut text);
        }
        text.push_str("\t}\n}\n");
        text
    }

    fn take(&self, redirect: &Redirect, text: &mut String) {
        let (family, listener) = match redirect.is_ipv6() {
            true => ("ip6", self.v6),
            false => ("ip", self.v4),
        };
        let prefix = redirect.prefix();
        for (protocol, wanted, refusal) in
            [("tcp", self.tcp, "reject with tcp reset"), ("udp", self.udp, "reject")]
        {
            if !wanted {
                continue;
            }
            let ports = match redirect.ports() {
                Some(ports) => format!("{protocol} dport {ports}"),
                None if protocol == "udp" => format!("udp dport != {UDP_LEFT_ALONE}"),
                None => format!("meta l4proto {protocol}"),
            };
            let about = format!("\t\t{family} daddr {prefix} {ports}");
            let mark = self.mark;
            let _ = writeln!(
                text,
                "{about} tproxy {family} to {listener} meta mark set {mark:#x} accept"
            );
            if self.refuse {
                let _ = writeln!(text, "{about} {refusal}");
            }
        }
    }

    /// The families of addresses that are taken, as `ip` writes them, and all their addresses.
    fn families(&self) -> Vec<(&'static str, &'static str)> {
        let v4 = self.redirects.iter().any(|redirect| !redirect.is_ipv6());
        let v6 = self.redirects.iter().any(Redirect::is_ipv6);
        let all = [(v4, ("-4", "0.0.0.0/0")), (v6, ("-6", "::/0"))];
        all.into_iter().filter_map(|(wanted, family)| wanted.then_some(family)).collect()
    }

    /// A script for `sh` that sets everything.
    #[must_use]
    pub fn apply(&self) -> String {
        let mut text = format!("set -e\nnft -f - <<'END'\n{}END\n", self.nft());
        let (mark, table) = (self.mark, self.route_table);
        for (family, all) in self.families() {
            let _ = writeln!(text, "ip {family} rule add fwmark {mark:#x} lookup {table}");
            let _ = writeln!(text, "ip {family} route replace local {all} dev lo table {table}");
        }
        text
    }

    /// A script for `sh` that takes everything back, also what is left of an earlier run.
    #[must_use]
    pub fn undo(&self) -> String {
        let mut text = format!("nft delete table inet {} 2>/dev/null\n", self.table);
        let (mark, table) = (self.mark, self.route_table);
        for (family, all) in [("-4", "0.0.0.0/0"), ("-6", "::/0")] {
            let _ = writeln!(
                text,
                "while ip {family} rule del fwmark {mark:#x} lookup {table} 2>/dev/null; do :; done"
            );
            let _ = writeln!(
                text,
                "ip {family} route del local {all} dev lo table {table} 2>/dev/null"
            );
        }
        text.push_str("true\n");
        text
    }

    /// For `nft -f -`: this destination refuses connections for a while.
    #[must_use]
    pub fn refuse(&self, destination: SocketAddr) -> String {
        let (set, ip) = match destination {
            SocketAddr::V4(v4) => ("refused4", v4.ip().to_string()),
            SocketAddr::V6(v6) => ("refused6", v6.ip().to_string()),
        };
        format!("add element inet {} {set} {{ {ip} . {} }}\n", self.table, destination.port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        Rules {
            table: "fanfare_gateway".to_owned(),
            interfaces: vec!["eth1".to_owned()],
            redirects: vec!["10.20.0.0/16".parse().unwrap(), "[fd20::/48]:443".parse().unwrap()],
            tcp: true,
            udp: true,
            v4: ([127, 0, 0, 1], 7003).into(),
            v6: "[::1]:7003".parse().unwrap(),
            mark: 0x7003,
            route_table: 7003,
            refuse: false,
        }
    }

    #[test]
    fn only_what_is_named_is_taken_and_dns_and_quic_only_by_their_ports() {
        let text = rules().nft();
        let taken: Vec<&str> =
            text.lines().filter(|line| line.contains("tproxy")).map(str::trim).collect();
        assert_eq!(
            taken,
            [
                "ip daddr 10.20.0.0/16 meta l4proto tcp tproxy ip to 127.0.0.1:7003 \
                 meta mark set 0x7003 accept",
                "ip daddr 10.20.0.0/16 udp dport != { 53, 443 } tproxy ip to 127.0.0.1:7003 \
                 meta mark set 0x7003 accept",
                "ip6 daddr fd20::/48 tcp dport 443 tproxy ip6 to [::1]:7003 \
                 meta mark set 0x7003 accept",
                "ip6 daddr fd20::/48 udp dport 443 tproxy ip6 to [::1]:7003 \
                 meta mark set 0x7003 accept",
            ]
        );
        assert!(text.contains("iifname != { \"eth1\" } return"));
        assert!(!text.contains("daddr 10.20.0.0/16 meta l4proto tcp reject"));
    }

    #[test]
    fn refusing_while_nobody_listens_is_a_rule_behind_each() {
        let text = Rules { refuse: true, udp: false, ..rules() }.nft();
        assert_eq!(text.matches("tproxy").count(), 2);
        assert!(text.contains("ip daddr 10.20.0.0/16 meta l4proto tcp reject with tcp reset"));
        assert!(!text.contains("udp"));
    }

    #[test]
    fn what_is_set_is_taken_back() {
        let (apply, undo) = (rules().apply(), rules().undo());
        assert!(apply.contains("ip -6 route replace local ::/0 dev lo table 7003"));
        assert!(undo.contains("ip -6 route del local ::/0 dev lo table 7003"));
        assert!(apply.contains("ip -4 rule add fwmark 0x7003 lookup 7003"));
        assert!(undo.contains("ip -4 rule del fwmark 0x7003 lookup 7003"));
        assert!(undo.contains("nft delete table inet fanfare_gateway"));
        let refused = rules().refuse("[fd20::1]:80".parse().unwrap());
        assert_eq!(refused, "add element inet fanfare_gateway refused6 { fd20::1 . 80 }\n");
    }

    #[test]
    fn a_name_that_could_end_a_rule_is_no_interface() {
        for name in ["", "eth1\" } accept", "a/b", "an-interface-that-is-long", "e 1"] {
            assert!(!is_interface(name), "{name}");
        }
        assert!(is_interface("eth1.20") && is_interface("wg-base_1"));
    }
}
